//! Compares a simulation with an observation, frame by frame.

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_record::Run;
use tardy_record::flow::{FlowSeries, PhaseClock, Window};

use super::engine::{Arrival, Lost};

/// What happened to a network's frames, in a simulation or an observation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Frames that arrived.
    pub arrivals: Vec<Arrival>,
    /// Frames that did not.
    pub lost: Vec<Lost>,
}

/// How a flow's frames are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    /// The base of its phases, and its cycle.
    pub clock: PhaseClock,
    /// Its windows, from [`PortSchedule::windows`](tardy_record::switch::PortSchedule::windows).
    pub windows: Vec<Window>,
    /// The tolerance of an arrival time, in ns: the time of one frame and the measured latency of the gates.
    pub tolerance_ns: u64,
}

/// The rules for the flows of a phase of `run` at the port `at`, or each at its last port, in the order of the run: the
/// tolerance is a frame's time on the wire and `latency_ns`.
pub fn rules(run: &Run, phase: usize, at: Option<&str>, latency_ns: u64) -> Vec<FlowRule> {
    let ports = run.switch.as_ref().map_or(&[][..], |switch| &switch.ports);
    let flows = run.series.iter().filter(|series| series.phase == phase).filter_map(|series| series.flow());
    let rule = |flow: &FlowSeries| {
        let schedule = ports.iter().find(|port| port.port == at.unwrap_or(&flow.port));
        let frame_ns = flow.windows.iter().map(|window| window.guard_ns).max().unwrap_or(0);
        let is_last = at.is_none_or(|at| at == flow.port);
        let elsewhere = schedule.filter(|_| !is_last);
        FlowRule {
            clock: PhaseClock {
                base_ns: schedule.map_or(0, |schedule| schedule.base_ns),
                cycle_ns: elsewhere.map_or(flow.cycle_ns, |schedule| schedule.cycle_ns),
            },
            windows: elsewhere
                .map_or_else(|| flow.windows.clone(), |schedule| schedule.windows(flow.class, frame_ns)),
            tolerance_ns: frame_ns.saturating_add(latency_ns),
        }
    };
    flows.map(rule).collect()
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Frames that arrived in both.
    pub frames: u64,
    /// Frames that were lost in both, for the same observable reason ([`Fate::is_drop`]).
    ///
    /// [`Fate::is_drop`]: super::engine::Fate::is_drop
    pub lost: u64,
    /// Frames that were lost in both, but dropped in one and still in a queue at the end of the other.
    pub other_loss: u64,
    /// Frames that arrived only in the simulation.
    pub only_simulated: u64,
    /// Frames that arrived only in the observation.
    pub only_observed: u64,
    /// Frames whose order relative to another frame differs, by more than the tolerance explains.
    pub out_of_order: u64,
    /// Frames that arrived in another window or cycle.
    pub other_slot: u64,
    /// Frames whose arrival time differs by more than the tolerance.
    pub other_time: u64,
    /// The largest difference of an arrival time, observed minus simulated, in ns.
    pub latest_ns: i64,
    /// The smallest difference, in ns.
    pub earliest_ns: i64,
    /// Messages about the first frames that disagree.
    pub examples: Vec<String>,
}

impl Agreement {
    /// Whether all frames agree.
    pub fn is_whole(&self) -> bool {
        let wrong = [
            self.other_loss,
            self.only_simulated,
            self.only_observed,
            self.out_of_order,
            self.other_slot,
            self.other_time,
        ];
        self.frames + self.lost > 0 && wrong.iter().all(|count| *count == 0)
    }
}

/// The most examples in messages.
const EXAMPLES: usize = 8;

/// Compares the observed frames with the simulated ones. Both are of the same talkers, by flow and sequence number, with
/// times on the schedules' clock. `rules` has a rule for each flow, in the order of the flows.
pub fn agreement(simulated: &Frames, observed: &Frames, rules: &[FlowRule]) -> Agreement {
    let by_key = |frames: &Frames| -> BTreeMap<(u32, u64), Arrival> {
        frames.arrivals.iter().map(|arrival| ((arrival.flow, arrival.sequence), *arrival)).collect()
    };
    let (expected, seen) = (by_key(simulated), by_key(observed));
    let mut result = Agreement { latest_ns: i64::MIN, earliest_ns: i64::MAX, ..Agreement::default() };
    for arrival in expected.iter().filter(|(key, _)| !seen.contains_key(key)).map(|(_, arrival)| arrival) {
        result.only_simulated += 1;
        result.add_example((arrival.flow, arrival.sequence), "arrived only in the simulation");
    }
    let mut pairs: Vec<(&Arrival, &Arrival)> = Vec::with_capacity(seen.len());
    for (key, observed) in &seen {
        match expected.get(key) {
            Some(simulated) => pairs.push((simulated, observed)),
            None => {
                result.only_observed += 1;
                result.add_example(*key, "was lost only in the simulation");
            }
        }
    }
    result.compare_losses(simulated, observed);
    for (simulated, observed) in &pairs {
        result.compare(simulated, observed, rules.get(simulated.flow as usize));
    }
    result.frames = pairs.len() as u64;
    result.compare_order(&mut pairs, rules);
    if pairs.is_empty() {
        (result.latest_ns, result.earliest_ns) = (0, 0);
    }
    result
}

impl Agreement {
    fn compare(&mut self, simulated: &Arrival, observed: &Arrival, rule: Option<&FlowRule>) {
        let late_ns = observed.arrived_ns.saturating_sub(simulated.arrived_ns);
        self.latest_ns = self.latest_ns.max(late_ns);
        self.earliest_ns = self.earliest_ns.min(late_ns);
        let tolerance_ns = rule.map_or(0, |rule| rule.tolerance_ns);
        if late_ns.unsigned_abs() > tolerance_ns {
            self.other_time += 1;
            self.add_example(
                (simulated.flow, simulated.sequence),
                &format!("arrived {late_ns} ns after the simulated time"),
            );
        }
        let Some(rule) = rule else { return };
        // A frame that leaves at the end of its window is received a little later: its slot is that of its departure.
        let slot = |at_ns: i64, slack_ns: u64| slot_of(rule, at_ns.saturating_sub_unsigned(slack_ns));
        let expected = slot(simulated.arrived_ns, 0);
        if expected != slot(observed.arrived_ns, 0) && expected != slot(observed.arrived_ns, tolerance_ns) {
            self.other_slot += 1;
            self.add_example((simulated.flow, simulated.sequence), "arrived in another slot");
        }
    }

    /// Counts the frames that were lost in both.
    fn compare_losses(&mut self, simulated: &Frames, observed: &Frames) {
        let dropped = |frames: &Frames| -> BTreeMap<(u32, u64), bool> {
            frames.lost.iter().map(|lost| ((lost.flow, lost.sequence), lost.fate.is_drop())).collect()
        };
        let expected = dropped(simulated);
        for (key, was_dropped) in dropped(observed) {
            match expected.get(&key) {
                Some(drops) if *drops == was_dropped => self.lost += 1,
                Some(true) => {
                    self.other_loss += 1;
                    self.add_example(key, "was dropped in the simulation, and queued to the end");
                }
                Some(false) => {
                    self.other_loss += 1;
                    self.add_example(key, "was dropped, and queued to the end in the simulation");
                }
                None => {}
            }
        }
    }

    /// Counts the frames whose order differs between simulation and observation.
    fn compare_order(&mut self, pairs: &mut [(&Arrival, &Arrival)], rules: &[FlowRule]) {
        pairs.sort_by_key(|(simulated, _)| (simulated.arrived_ns, simulated.flow, simulated.sequence));
        let mut latest: Option<&(&Arrival, &Arrival)> = None;
        for pair in pairs.iter() {
            if let Some(before) = latest
                && pair.1.arrived_ns < before.1.arrived_ns
            {
                let tolerance = |flow: u32| rules.get(flow as usize).map_or(0, |rule| rule.tolerance_ns);
                let apart_ns = pair.0.arrived_ns - before.0.arrived_ns;
                let same_flow = pair.0.flow == before.0.flow;
                // Frames of two flows that arrive nearly at once may come in either order.
                if same_flow || apart_ns.unsigned_abs() > tolerance(pair.0.flow).max(tolerance(before.0.flow))
                {
                    self.out_of_order += 1;
                    self.add_example(
                        (pair.0.flow, pair.0.sequence),
                        "arrived before a frame that it follows in the simulation",
                    );
                }
            }
            if latest.is_none_or(|before| pair.1.arrived_ns >= before.1.arrived_ns) {
                latest = Some(pair);
            }
        }
    }

    fn add_example(&mut self, (flow, sequence): (u32, u64), what: &str) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("flow {flow} frame {sequence}: {what}"));
        }
    }
}

/// The cycle and the window that contain `at_ns`, or the next window if none does; `None` without windows.
fn slot_of(rule: &FlowRule, at_ns: i64) -> Option<(i128, usize)> {
    let cycle_ns = i128::from(rule.clock.cycle_ns.max(1));
    let since_ns = i128::from(at_ns) - i128::from(rule.clock.base_ns);
    let mut cycle = since_ns.div_euclid(cycle_ns);
    let phase_ns = rule.clock.phase_ns(at_ns);
    // A window that continues past the end of the cycle belongs to the cycle in which it opens.
    if rule
        .windows
        .last()
        .is_some_and(|last| u64::try_from(cycle_ns).is_ok_and(|cycle| phase_ns + cycle <= last.close_ns))
    {
        return Some((cycle - 1, rule.windows.len() - 1));
    }
    let place = rule.windows.iter().position(|window| phase_ns <= window.close_ns);
    let place = match (place, rule.windows.is_empty()) {
        (_, true) => return None,
        (Some(place), _) => place,
        (None, _) => {
            cycle += 1;
            0
        }
    };
    Some((cycle, place))
}

#[cfg(test)]
mod tests {
    use super::super::engine::Fate;
    use super::*;

    const CYCLE_NS: u64 = 1_000_000;

    fn rule(open_ns: u64, close_ns: u64) -> FlowRule {
        let window = Window { open_ns, close_ns, guard_ns: 0 };
        let clock = PhaseClock { base_ns: 0, cycle_ns: CYCLE_NS };
        FlowRule { clock, windows: vec![window], tolerance_ns: 1_000 }
    }

    fn arrivals(times: &[(u32, u64, i64)]) -> Frames {
        let arrival =
            |&(flow, sequence, arrived_ns)| Arrival { flow, sequence, sent_ns: 0, arrived_ns, bytes: 1538 };
        Frames { arrivals: times.iter().map(arrival).collect(), lost: Vec::new() }
    }

    fn compare(simulated: &[(u32, u64, i64)], observed: &[(u32, u64, i64)]) -> Agreement {
        let rules = [rule(0, 800_000), rule(800_000, 1_000_000)];
        agreement(&arrivals(simulated), &arrivals(observed), &rules)
    }

    #[test]
    fn a_small_delay_agrees() {
        let simulated = [(0, 0, 100), (0, 1, 800_000), (1, 0, 800_500), (0, 2, 1_000_100)];
        let observed = [(0, 0, 900), (0, 1, 800_700), (1, 0, 800_600), (0, 2, 1_000_100)];
        let agreed = compare(&simulated, &observed);
        assert!(agreed.is_whole(), "{agreed:?}");
        assert_eq!((agreed.frames, agreed.earliest_ns, agreed.latest_ns), (4, 0, 800));
    }

    #[test]
    fn an_empty_observation_does_not_agree() {
        assert!(!compare(&[], &[]).is_whole());
        let one = compare(&[(0, 0, 1)], &[(0, 1, 1)]);
        assert_eq!((one.frames, one.only_simulated, one.only_observed), (0, 1, 1));
        assert!(!one.is_whole());
    }

    #[test]
    fn losses_are_compared() {
        let lost = |fates: &[(u64, Fate)]| {
            let lost = |&(sequence, fate)| Lost { flow: 1, sequence, sent_ns: 0, bytes: 1538, fate };
            Frames { lost: fates.iter().map(lost).collect(), ..arrivals(&[(0, 0, 100)]) }
        };
        let simulated = lost(&[(0, Fate::QueueFull), (1, Fate::TooLong), (2, Fate::AtGates)]);
        let compare = |observed: &Frames| agreement(&simulated, observed, &[]);
        let same = compare(&lost(&[(0, Fate::TooLong), (1, Fate::TooLong), (2, Fate::InQueue)]));
        assert!(same.is_whole(), "a drop's reason is not observed: {same:?}");
        assert_eq!(same.lost, 3);
        let other = compare(&lost(&[(0, Fate::AtGates), (1, Fate::TooLong), (2, Fate::TooLong)]));
        assert_eq!((other.lost, other.other_loss), (1, 2), "{:?}", other.examples);
        assert!(!other.is_whole());
        let mut arrived = lost(&[(1, Fate::TooLong), (2, Fate::AtGates)]);
        arrived.arrivals.push(Arrival { flow: 1, sequence: 0, sent_ns: 0, arrived_ns: 200, bytes: 1538 });
        assert_eq!(compare(&arrived).only_observed, 1);
    }

    #[test]
    fn each_kind_of_difference_is_counted() {
        let late = compare(&[(0, 0, 100)], &[(0, 0, 1_101)]);
        assert_eq!((late.other_time, late.other_slot, late.out_of_order), (1, 0, 0));
        let slot = compare(&[(0, 0, 700_000)], &[(0, 0, 1_700_000)]);
        assert_eq!((slot.other_time, slot.other_slot), (1, 1), "the same phase, a cycle later");
        let order = compare(&[(0, 0, 100), (0, 1, 200)], &[(0, 0, 201), (0, 1, 200)]);
        assert_eq!(
            (order.other_time, order.out_of_order),
            (0, 1),
            "within the tolerance, but frames of one flow must keep their order"
        );
        let between = compare(&[(0, 0, 5_000), (1, 0, 7_000)], &[(0, 0, 5_900), (1, 0, 5_800)]);
        assert_eq!(between.out_of_order, 1, "2,000 ns apart are more than the tolerance");
        assert_eq!(between.examples.len(), 2, "{:?}", between.examples);
    }

    #[test]
    fn a_window_across_the_end_of_the_cycle_is_one_slot() {
        let rules = [rule(900_000, 1_100_000)];
        let compare = |simulated: i64, observed: i64| {
            agreement(&arrivals(&[(0, 0, simulated)]), &arrivals(&[(0, 0, observed)]), &rules).other_slot
        };
        assert_eq!(compare(999_900, 1_000_100), 0);
        assert_eq!(compare(1_050_000, 1_950_000), 1);
    }
}
