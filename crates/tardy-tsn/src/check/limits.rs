//! Deadlines and jitter limits of periodic flows: the latency that the gates alone cause.

use tardy_record::gates::Openings;
use tardy_record::units::format_duration_ns;

use super::{Found, Place, Ways};
use crate::network::{End, Flow, Network, Pace, PortId};
use crate::transmission_time::{OnCable, wire_ns};

/// Checks the flows whose last port is `place`, if that is the only port with gates on their way.
pub(super) fn of_port(
    network: &Network,
    id: PortId,
    place: &Place<'_>,
    ways: &Ways<'_>,
    found: &mut Found<'_>,
) {
    let gated = |port: &&PortId| network.switches[port.switch].ports[port.port].schedule.is_some();
    for (flow, way) in ways {
        let Some(way) = way.as_ref().filter(|way| way.last() == Some(&id)) else { continue };
        if way.iter().filter(gated).count() == 1
            && let Some(alone) = Alone::of(network, flow, (id, way), place)
        {
            deadline(place, flow, &alone, found);
            jitter(flow, &alone, found);
        }
    }
}

/// The latencies of a flow without other frames.
struct Alone {
    shortest_ns: u64,
    longest_ns: u64,
    /// When the frame with the longest latency is sent, in the cycle.
    sent_ns: u64,
    cycle_ns: u64,
    period_ns: u64,
}

impl Alone {
    fn of(network: &Network, flow: &Flow, (id, way): (PortId, &[PortId]), place: &Place<'_>) -> Option<Self> {
        let limits = &flow.limits;
        if limits.deadline_ns.is_none() && limits.jitter_ns.is_none() {
            return None;
        }
        let Pace::Periodic { period_ns, offset_ns, .. } = flow.pace else { return None };
        let speed = place.device.speed_for_kernel()?;
        let fitting_ns = wire_ns(place.on_wire(flow.size.value), speed);
        let cycle_ns = place.running_cycle_ns();
        let class = usize::from(place.switch.class_of(&flow.marks));
        let gate = Gate::of(&place.schedule.openings(class), cycle_ns, fitting_ns)?;
        let before_ns = before_ns(network, flow, way);
        let step_ns = common_divisor(period_ns, cycle_ns);
        let first_ns =
            (u128::from(offset_ns) + u128::from(before_ns)).rem_euclid(u128::from(cycle_ns)) as u64;
        let (longest_ns, arrives_ns) = gate.longest_wait(first_ns, step_ns);
        let rest_ns = before_ns + OnCable::of(flow.size.value, speed).sent_ns() + propagation_ns(network, id);
        Some(Self {
            shortest_ns: gate.shortest_wait_ns(first_ns, step_ns) + rest_ns,
            longest_ns: longest_ns + rest_ns,
            sent_ns: (arrives_ns + cycle_ns - before_ns % cycle_ns) % cycle_ns,
            cycle_ns,
            period_ns,
        })
    }
}

/// The time from the first bit sent to the queue of the last port. Wires of unknown speed count as 0.
fn before_ns(network: &Network, flow: &Flow, way: &[PortId]) -> u64 {
    let first = network.port_of_host(flow.talker.value).map(|(port, _)| port);
    let hops = first.into_iter().chain(way[..way.len() - 1].iter().copied());
    let on_cable = |id: PortId| {
        let speed = network.switches[id.switch].ports[id.port].speed.value.known();
        let sent_ns = speed.map_or(0, |speed| OnCable::of(flow.size.value, speed).sent_ns());
        sent_ns + propagation_ns(network, id)
    };
    let forwarding_ns = |id: &PortId| network.switches[id.switch].forwarding_ns;
    hops.map(on_cable).sum::<u64>() + way.iter().map(forwarding_ns).sum::<u64>()
}

/// The time of a bit on the cable of a port.
fn propagation_ns(network: &Network, id: PortId) -> u64 {
    let end = End::Port(id);
    let link = network.links.iter().find(|link| link.a == end || link.b == end);
    link.map_or(0, |link| link.propagation_ns)
}

/// When a frame of one class can start, in the cycle.
struct Gate {
    /// Start and end of each stretch, in ascending order; the last may end in the next cycle.
    stretches: Vec<(u64, u64)>,
    cycle_ns: u64,
}

impl Gate {
    /// For frames that take `wire_ns`, which must end before the gate closes; `None` if none fits.
    fn of(openings: &Openings, cycle_ns: u64, wire_ns: u64) -> Option<Self> {
        if cycle_ns == 0 {
            return None;
        }
        let stretches = match openings.is_always_open() {
            true => vec![(0, cycle_ns)],
            false => {
                let fits = openings.openings.iter().filter(|one| one.length_ns() > wire_ns);
                fits.map(|one| (one.open_ns, one.close_ns - wire_ns)).collect()
            }
        };
        (!stretches.is_empty()).then_some(Self { stretches, cycle_ns })
    }

    /// How long a frame waits that arrives at `at_ns` of the cycle.
    fn wait_ns(&self, at_ns: u64) -> u64 {
        let next = self.stretches.partition_point(|(open_ns, _)| *open_ns <= at_ns);
        let is_open = match next.checked_sub(1) {
            Some(before) => at_ns < self.stretches[before].1,
            None => self.stretches.last().is_some_and(|(_, end_ns)| at_ns + self.cycle_ns < *end_ns),
        };
        match (is_open, self.stretches.get(next)) {
            (true, _) => 0,
            (false, Some((open_ns, _))) => open_ns - at_ns,
            (false, None) => self.stretches[0].0 + self.cycle_ns - at_ns,
        }
    }

    /// The longest wait of frames that arrive at `first_ns` and every `step_ns` after it, and when such a frame arrives.
    fn longest_wait(&self, first_ns: u64, step_ns: u64) -> (u64, u64) {
        let first_too_late = |(_, end_ns): &(u64, u64)| {
            let end_ns = end_ns % self.cycle_ns;
            let at_ns = end_ns + (first_ns % step_ns + step_ns - end_ns % step_ns) % step_ns;
            at_ns % self.cycle_ns
        };
        let waits = self.stretches.iter().map(first_too_late).map(|at_ns| (self.wait_ns(at_ns), at_ns));
        waits.max().unwrap_or_default()
    }

    /// The shortest wait of these frames.
    fn shortest_wait_ns(&self, first_ns: u64, step_ns: u64) -> u64 {
        let last_in_time = |(_, end_ns): &(u64, u64)| {
            let last_ns = end_ns - 1 + self.cycle_ns;
            let at_ns = last_ns - (last_ns % step_ns + step_ns - first_ns % step_ns) % step_ns;
            self.wait_ns(at_ns % self.cycle_ns)
        };
        self.stretches.iter().map(last_in_time).min().unwrap_or(0)
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn deadline(place: &Place<'_>, flow: &Flow, alone: &Alone, found: &mut Found<'_>) {
    let Some(limit) = &flow.limits.deadline_ns else { return };
    let (name, text) = (&flow.name.value, format_duration_ns);
    let (longest, permitted) = (text(alone.longest_ns), text(limit.value));
    if alone.longest_ns > limit.value {
        let class = place.class(usize::from(place.switch.class_of(&flow.marks)));
        let what = format!("flow '{name}' cannot keep its deadline of {permitted}");
        let effect = format!(
            "A frame that is sent {} after the start of a cycle of {} arrives after {longest}, {} too late, even without other frames: it waits for the gate of {class}.",
            text(alone.sent_ns),
            text(alone.cycle_ns),
            text(alone.longest_ns - limit.value),
        );
        let change =
            "Open that gate more often, or change the flow's offset so that its frames arrive in a window.";
        found.accepted("deadline-out-of-reach", limit.span, [what, effect, change.to_owned()]);
    } else {
        let what = format!("flow '{name}' alone needs {longest} of its deadline of {permitted}");
        let effect =
            format!("{} remain for frames that are sent before it.", text(limit.value - alone.longest_ns));
        found.note("deadline-margin", limit.span, [what, effect, with_all_flows()]);
    }
}

fn jitter(flow: &Flow, alone: &Alone, found: &mut Found<'_>) {
    let Some(limit) = &flow.limits.jitter_ns else { return };
    let (name, text) = (&flow.name.value, format_duration_ns);
    let spread_ns = alone.longest_ns - alone.shortest_ns;
    let (spread, permitted) = (text(spread_ns), text(limit.value));
    if spread_ns > limit.value {
        let what = format!("flow '{name}' cannot keep its jitter limit of {permitted}");
        let effect = format!(
            "Even without other frames its latencies are {} to {}: they differ by {spread}, {} too much.",
            text(alone.shortest_ns),
            text(alone.longest_ns),
            text(spread_ns - limit.value),
        );
        let change = if alone.period_ns.is_multiple_of(alone.cycle_ns) {
            "Make the windows longer, or the limit larger.".to_owned()
        } else {
            format!(
                "Its period of {} is not a multiple of the cycle of {}, so its frames arrive in different parts of the cycle. Change one of them.",
                text(alone.period_ns),
                text(alone.cycle_ns)
            )
        };
        found.accepted("jitter-out-of-reach", limit.span, [what, effect, change]);
    } else {
        let what =
            format!("latencies of flow '{name}' alone differ by {spread}; its jitter limit is {permitted}");
        let effect = format!("{} remain for frames that are sent before it.", text(limit.value - spread_ns));
        found.note("jitter-margin", limit.span, [what, effect, with_all_flows()]);
    }
}

fn with_all_flows() -> String {
    "No change is needed; `tardy tsn simulate` computes the latencies with all flows.".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate { stretches: vec![(100, 200), (900, 1050)], cycle_ns: 1000 }
    }

    #[test]
    fn a_frame_waits_for_the_next_stretch_across_the_end_of_the_cycle() {
        let waits = [0, 49, 50, 99, 100, 199, 200, 899, 900, 999].map(|at_ns| gate().wait_ns(at_ns));
        assert_eq!(waits, [0, 0, 50, 1, 0, 0, 700, 1, 0, 0]);
    }

    #[test]
    fn the_longest_and_the_shortest_wait_equal_those_of_every_frame() {
        for (first_ns, step_ns) in
            [(0, 1000), (950, 1000), (300, 500), (17, 250), (3, 1), (60, 200), (999, 8)]
        {
            let frames = (0..1000 / step_ns).map(|frame| gate().wait_ns((first_ns + frame * step_ns) % 1000));
            let (longest_ns, at_ns) = gate().longest_wait(first_ns, step_ns);
            assert_eq!(frames.clone().max(), Some(longest_ns), "{first_ns} {step_ns}");
            assert_eq!(gate().wait_ns(at_ns), longest_ns);
            assert_eq!(
                frames.min(),
                Some(gate().shortest_wait_ns(first_ns, step_ns)),
                "{first_ns} {step_ns}"
            );
        }
    }
}
