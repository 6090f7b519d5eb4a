//! How long talkers, switches, gates and listeners take: each frame of a schedule, followed from port to port in the kernel's trace.
//!
//! Events of the kernel do not name a flow. In a schedule without conflicts a frame is alone in its queue from the earliest time at
//! which it can be there until it leaves, so the first frame that enters the queue of its class is the one that is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tardy_record::flow::Window;
use tardy_record::switch::PortSchedule;
use tardy_record::units::counted;
use tardy_tsn::intervals::{Interval, Intervals};
use tardy_tsn::network::{Flow, Network, Pace, PortId, Speed, VirtualPorts};
use tardy_tsn::transmission_time::OnCable;

use super::dequeue::{FrameEvent, PortTimes};
use super::observed::ObservedFrame;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The shortest and the longest times.
    pub intervals: Intervals,
    /// The number of frames that were followed to their listener.
    pub frames: u64,
}

impl Followed {
    /// A file of the intervals, for `tardy tsn synthesize --intervals`. `name` is the switch file's.
    pub fn text(&self, name: &str) -> String {
        let frames = counted(self.frames, "frame", "frames");
        self.intervals.text(&format!("`tardy tsn test {name} --netns`, {frames}"))
    }
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", counted(self.frames, "frame", "frames"), self.intervals)
    }
}

/// The trace of a phase, and what is needed to read it.
pub(super) struct Trace<'t> {
    /// The network.
    pub(super) network: &'t Network,
    /// The events of each port.
    pub(super) ports: &'t PortTimes,
    /// The schedules of the ports.
    pub(super) schedules: &'t [PortSchedule],
    /// How far the schedules' clock is ahead of CLOCK_REALTIME, the clock of the trace, in ns.
    pub(super) ahead_ns: i64,
    /// The delta of the talkers' ETF, in ns: how long before its launch time a frame can leave.
    pub(super) etf_delta_ns: i64,
}

/// The times of one frame.
#[derive(Clone, Debug, Default)]
struct Times {
    talker_ns: i64,
    gates_ns: Vec<i64>,
    forwarding_ns: Vec<i64>,
    listener_ns: i64,
}

/// The events of a port.
struct PortEvents<'t> {
    /// When frames entered the queue of each class, with the address of the frame in kernel memory, in order.
    queued: BTreeMap<u8, Vec<(i64, u64)>>,
    /// When the frame at each address left, in order.
    left: BTreeMap<u64, Vec<i64>>,
    schedule: &'t PortSchedule,
    bits_per_second: u64,
}

/// Follows `frames`, which arrived and count.
///
/// # Errors
/// A message for the user: what cannot be measured in this network, or which frames could not be followed.
pub(super) fn follow<'f>(
    trace: &Trace<'_>,
    frames: impl Iterator<Item = &'f ObservedFrame>,
) -> Result<Followed, String> {
    if trace.network.netns.ports == VirtualPorts::Veth {
        return Err("veth has no time on the wire; write ports = \"tap\" in [netns]".to_owned());
    }
    let mut routes: BTreeMap<usize, Vec<PortId>> = BTreeMap::new();
    for (number, flow) in trace.network.flows.iter().enumerate() {
        if matches!(flow.pace, Pace::Periodic { .. }) {
            routes.insert(number, trace.network.way_out(flow).unwrap_or_default());
        }
    }
    let passed: BTreeSet<PortId> = routes.values().flatten().copied().collect();
    let ports: BTreeMap<PortId, PortEvents<'_>> =
        passed.into_iter().map(|port| Ok((port, trace.events(port)?))).collect::<Result<_, String>>()?;
    let mut all = Vec::new();
    for frame in frames {
        let number = frame.arrival.flow as usize;
        let Some(route) = routes.get(&number) else { continue };
        let flow = &trace.network.flows[number];
        let route: Vec<(&PortEvents<'_>, u8)> = route
            .iter()
            .map(|port| (&ports[port], trace.network.switches[port.switch].class_of(&flow.marks)))
            .collect();
        let times = trace.times(number, frame, &route).ok_or_else(|| {
            format!(
                "frame {} of flow '{}' cannot be followed in the kernel's trace: schedule the flows so that no two are in a queue at \
                 once ('tardy tsn synthesize --intervals' with longer intervals), and test again",
                frame.arrival.sequence, flow.name.value
            )
        })?;
        all.push(times);
    }
    let interval = |of: &dyn Fn(&Times) -> Vec<i64>| Interval::of(all.iter().flat_map(of));
    let none = || "no scheduled frame arrived, so there is nothing to measure".to_owned();
    Ok(Followed {
        intervals: Intervals {
            talker: interval(&|times| vec![times.talker_ns]).ok_or_else(none)?,
            // With a single switch nothing is forwarded to another port.
            forwarding: interval(&|times| times.forwarding_ns.clone()).unwrap_or_default(),
            gate: interval(&|times| times.gates_ns.clone()).ok_or_else(none)?,
            listener: interval(&|times| vec![times.listener_ns]).ok_or_else(none)?,
        },
        frames: all.len() as u64,
    })
}

impl Trace<'_> {
    /// The events of a port, by class.
    fn events(&self, id: PortId) -> Result<PortEvents<'_>, String> {
        let switch = &self.network.switches[id.switch];
        let port = &switch.ports[id.port];
        let name = &port.interface.value;
        let Speed::BitsPerSecond(bits_per_second) = port.speed.value else {
            return Err(format!(
                "{name} has no speed, so the time of a frame on its cable is not known; add speed ="
            ));
        };
        let schedule = self.schedules.iter().find(|schedule| schedule.port == *name).ok_or_else(|| {
            format!("{name} has no gates, and only ports with gates are traced; schedule the flows first")
        })?;
        let events = self.ports.events(id);
        let crossing = self
            .network
            .flows
            .iter()
            .filter(|flow| self.network.way_out(flow).unwrap_or_default().contains(&id));
        let mut classes: Vec<u8> = crossing.map(|flow| switch.class_of(&flow.marks)).collect();
        classes.sort_unstable_by_key(|class| switch.queues_of(usize::from(*class)).offset);
        classes.dedup();
        // The addresses of a port's queues have the order of the queues.
        let queues: BTreeSet<u64> = events.iter().filter_map(|event| event.queue).collect();
        if queues.len() != classes.len()
            || classes.iter().any(|class| switch.queues_of(usize::from(*class)).count != 1)
        {
            return Err(format!(
                "{name} sent frames in {} queues, and the flows have {} classes there; give each class one queue, and send no other \
                 traffic",
                queues.len(),
                classes.len()
            ));
        }
        let class_of: BTreeMap<u64, u8> = queues.into_iter().zip(classes).collect();
        let mut of_port =
            PortEvents { queued: BTreeMap::new(), left: BTreeMap::new(), schedule, bits_per_second };
        for FrameEvent { at_ns, frame, queue } in events {
            match queue {
                Some(queue) => of_port.queued.entry(class_of[queue]).or_default().push((*at_ns, *frame)),
                None => of_port.left.entry(*frame).or_default().push(*at_ns),
            }
        }
        Ok(of_port)
    }

    /// The times of a frame along its ports; `None` if it is not found at one of them.
    fn times(&self, number: usize, frame: &ObservedFrame, route: &[(&PortEvents<'_>, u8)]) -> Option<Times> {
        let flow = &self.network.flows[number];
        let launch_ns = frame.arrival.sent_ns - self.ahead_ns;
        let mut times = Times::default();
        let mut received_ns = launch_ns + self.host_wire_ns(flow);
        let mut from_ns = launch_ns - self.etf_delta_ns;
        for (place, (port, class)) in route.iter().enumerate() {
            let queued = port.queued.get(class)?;
            let (queued_ns, address) = *queued.get(queued.partition_point(|(at_ns, _)| *at_ns < from_ns))?;
            let left = port.left.get(&address)?;
            let left_ns = *left.get(left.partition_point(|at_ns| *at_ns < queued_ns))?;
            match place {
                0 => times.talker_ns = queued_ns - received_ns,
                _ => times.forwarding_ns.push(queued_ns - received_ns),
            }
            let opened_ns = opening_ns(port.schedule, *class, left_ns + self.ahead_ns) - self.ahead_ns;
            times.gates_ns.push(left_ns - opened_ns.max(queued_ns));
            received_ns = left_ns + sent_ns(flow, port.bits_per_second);
            from_ns = left_ns;
        }
        times.listener_ns = frame.arrival.arrived_ns - self.ahead_ns - received_ns;
        Some(times)
    }

    /// The time of a frame on its talker's cable, in ns.
    fn host_wire_ns(&self, flow: &Flow) -> i64 {
        let port = self.network.port_of_host(flow.talker.value).map(|(port, _)| port);
        let speed =
            port.and_then(|port| self.network.switches[port.switch].ports[port.port].speed.value.known());
        speed.map_or(0, |bits_per_second| sent_ns(flow, bits_per_second))
    }
}

/// From the first bit of a flow's frame to the last on a cable of this rate, in ns.
fn sent_ns(flow: &Flow, bits_per_second: u64) -> i64 {
    OnCable::of(flow.size.value, bits_per_second).sent_ns().cast_signed()
}

/// The last opening of the gate of `class` up to `at_ns` on the schedule's clock.
fn opening_ns(schedule: &PortSchedule, class: u8, at_ns: i64) -> i64 {
    let cycle_ns = schedule.cycle_ns.cast_signed().max(1);
    let phase_ns = (at_ns - schedule.base_ns).rem_euclid(cycle_ns);
    let since = |window: Window| (phase_ns - window.open_ns.cast_signed()).rem_euclid(cycle_ns);
    let since_ns = schedule.windows(class, 0).into_iter().map(since).min();
    at_ns - since_ns.unwrap_or(0)
}
