//! Whether the frames of each flow through a time-aware switch arrived within the windows of its class.

use serde::Serialize;
use tardy_record::flow::{DequeueCost, FlowSeries, GateCount, OutOfSlot, PhaseBin, StampSource, Window};
use tardy_record::plan::{FlowLimits, Misclassified, ProbePlan, SwitchPlan};
use tardy_record::switch::SwitchRecord;
use tardy_record::{Run, Series};

use crate::late;
use crate::ptp::{self, OffsetAt};

/// The flows of one phase of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowPhase {
    /// Index of the phase.
    pub phase: usize,
    /// Its label.
    pub label: String,
    /// Whether a schedule was in operation.
    pub shaped: bool,
    /// Whether its flows are judged by their slots and limits: a phase without the shaper serves for comparison.
    pub judged: bool,
    /// Its flows.
    pub flows: Vec<FlowFindings>,
}

/// The results of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowFindings {
    /// Index of its series in the run.
    pub series: usize,
    /// Its name.
    pub flow: String,
    /// Its traffic class.
    pub class: u8,
    /// The port that it leaves by.
    pub port: String,
    /// The source of the times of arrival.
    pub stamped_by: StampSource,
    /// Frames sent; `None` if they were not counted.
    pub sent: Option<u64>,
    /// Frames received, each once.
    pub received: u64,
    /// Frames that never arrived; `None` if those sent were not counted.
    pub lost: Option<u64>,
    /// Frames received after one that was sent later.
    pub reordered: u64,
    /// Frames received again.
    pub duplicated: u64,
    /// Its rate on the wire, in bit/s.
    pub rate_bps: f64,
    /// The share of its frames that arrived outside the windows of its class, from 0 to 1. Without a schedule in
    /// operation, the windows are those of the schedule that the run tested, and the share is precise to the width of a
    /// bin of the phase histogram. `None` if no frame arrived or there are no windows.
    pub outside: Option<f64>,
    /// Frames outside the windows that are nearer to the next opening, with the largest deviation.
    pub early: OutOfSlot,
    /// Frames outside the windows that are nearer to the last end, with the largest deviation.
    pub late: OutOfSlot,
    /// The time from dequeueing to receipt; `None` if it was not traced.
    pub dequeue_to_receive: Option<DequeueCost>,
    /// When its frames were sent at the gate; `None` if the trace does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_gate: Option<GateCount>,
    /// Its windows in the cycle, and the frames in each.
    pub slots: Vec<SlotFindings>,
    /// Whether its slots held.
    pub verdict: SlotVerdict,
    /// Its limits: the loss, and those that its file states.
    pub limits: Vec<LimitFindings>,
    /// Set if its frames got another class than its file declares. Its slots are then those of the class that they got at its
    /// last port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misclassified: Option<Misclassified>,
    /// Whether its slots held and its limits were met, with the declared class. `None` if that is undecidable, or the phase is
    /// not judged.
    pub held: Option<bool>,
    /// How far the clocks were from their sources, of a flow that did not hold: when its frame that was furthest from its slot
    /// arrived, or else its frame with the longest latency. Empty if no frame failed, or PTP was not followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<OffsetAt>,
}

impl FlowFindings {
    /// When the frame arrived for which the flow did not hold; `None` if it held, or if no frame arrived or was at fault.
    fn failed_at_ns(&self, series: &Series) -> Option<u64> {
        let worst = [self.early, self.late].into_iter().max_by_key(|out| out.worst_ns)?;
        let is_limit = |limit: &LimitFindings| limit.of != Limited::Loss && limit.kept() == Some(false);
        match self.verdict {
            _ if self.held != Some(false) => None,
            SlotVerdict::Broken => worst.worst_at_ns,
            _ if self.limits.iter().any(is_limit) => Some(series.worst.first()?.at_ns),
            _ => None,
        }
    }
}

/// A limit of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LimitFindings {
    /// What is limited.
    pub of: Limited,
    /// The largest permitted value: ns, or frames for the loss.
    pub limit: u64,
    /// The observed value; `None` if it is unknown.
    pub observed: Option<u64>,
    /// How much larger the observed value could be; negative if the limit was exceeded.
    pub margin: Option<i64>,
    /// The frames that certainly exceeded a deadline; `None` for other limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
}

/// What a limit of a flow is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limited {
    /// The longest latency.
    Deadline,
    /// The difference between the longest and the shortest latency.
    Jitter,
    /// The number of lost frames.
    Loss,
}

impl LimitFindings {
    /// Whether the limit was met; `None` if that is unknown.
    pub fn kept(&self) -> Option<bool> {
        self.margin.map(|margin| margin >= 0)
    }
}

/// The frames that arrived in one window of a flow's class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlotFindings {
    /// The window.
    pub window: Window,
    /// Frames that arrived in it, to the width of a bin of the phase histogram.
    pub frames: u64,
    /// Mean rate in it, in bit/s.
    pub rate_bps: f64,
    /// Mean rate in its first tenth, in bit/s; while a queue is emptied it is the rate of the port.
    pub opening_rate_bps: f64,
}

/// Whether the slots of a flow held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum SlotVerdict {
    /// Every frame arrived in its slot.
    Held,
    /// All frames left the gate in time: each was dequeued and sent within its slot. Or, if the time at which each was
    /// dequeued is unknown or does not decide: no frame arrived before its slot, and no frame was later than the longest
    /// time from dequeueing to receipt.
    HeldAtTheGate {
        /// Number of frames that arrived after the slot's end.
        late: u64,
    },
    /// Frames arrived outside their slot.
    Broken,
    /// Frames arrived outside their slot, but a frame takes longer from the gate to its receipt than half of the time
    /// that the gate is closed, and the time at which each was dequeued is unknown or does not decide.
    CannotTell {
        /// How long the gate is closed in a cycle, in ns.
        shut_ns: u64,
    },
    /// Nothing arrived.
    NothingCame,
    /// The flow's port has a schedule and frames arrived, but none of its windows was in force: it starts later, or it has no
    /// window for the flow's class.
    NotInForce,
    /// No schedule was in operation, so there was no slot.
    NotShaped,
}

/// The flows of each phase of a switch's test; empty for any other run.
pub fn of(run: &Run) -> Vec<FlowPhase> {
    let of_phase = |phase: usize| {
        let flows: Vec<FlowFindings> = run
            .series
            .iter()
            .enumerate()
            .filter(|(_, series)| series.phase == phase)
            .filter_map(|(index, series)| {
                let found =
                    flow_findings(run.switch.as_ref(), plan(run, phase), index, series, series.flow()?);
                let clocks = found.failed_at_ns(series).map(|at_ns| ptp::at(run, at_ns)).unwrap_or_default();
                Some(FlowFindings { clocks, ..found })
            })
            .collect();
        let unshaped = [SlotVerdict::NotShaped, SlotVerdict::NotInForce];
        let shaped = flows.iter().any(|flow| !unshaped.contains(&flow.verdict));
        let judged = plan(run, phase).is_none_or(|plan| plan.shaped);
        FlowPhase { phase, label: run.phases[phase].label.clone(), shaped, judged, flows }
    };
    (0..run.phases.len()).map(of_phase).filter(|phase| !phase.flows.is_empty()).collect()
}

/// The plan of a phase of a switch's test.
fn plan(run: &Run, phase: usize) -> Option<&SwitchPlan> {
    match &run.plan.phases.get(phase)?.probe {
        ProbePlan::Switch(plan) => Some(plan),
        _ => None,
    }
}

/// Whether the switch held in the judged phases: every flow stayed within its slots and its limits. `None` if no flow was
/// judged, or if the result of some is undecidable and all others held.
pub fn held(phases: &[FlowPhase]) -> Option<bool> {
    let judged = || phases.iter().filter(|phase| phase.judged).flat_map(|phase| &phase.flows);
    if judged().any(|flow| flow.held == Some(false)) {
        return Some(false);
    }
    (judged().count() > 0 && judged().all(|flow| flow.held == Some(true))).then_some(true)
}

/// The limits of `flow`, and what was observed.
fn limits(limits: &FlowLimits, series: &Series, flow: &FlowSeries) -> Vec<LimitFindings> {
    let finding = |of, limit: u64, observed: Option<u64>| LimitFindings {
        of,
        limit,
        observed,
        margin: observed.map(|observed| signed(limit).saturating_sub(signed(observed))),
        late: None,
    };
    let worst = series.max_ns.map(|ns| u64::try_from(ns).unwrap_or(0));
    let spread = series.max_ns.zip(series.min_ns).map(|(max, min)| max.abs_diff(min));
    let deadline = limits.deadline_ns.map(|limit_ns| LimitFindings {
        late: Some(late::beyond(series, limit_ns).at_least),
        ..finding(Limited::Deadline, limit_ns, worst)
    });
    let jitter = limits.jitter_ns.map(|limit_ns| finding(Limited::Jitter, limit_ns, spread));
    let sent = flow.frames.sent.get();
    let permitted = sent.map_or(0, |sent| limits.frames_lost_max(sent));
    let loss = finding(Limited::Loss, permitted, flow.frames.lost.get());
    deadline.into_iter().chain(jitter).chain([loss]).collect()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Whether a flow of a judged phase held, if its frames had the declared class.
fn flow_held(verdict: SlotVerdict, limits: &[LimitFindings]) -> Option<bool> {
    let slot = match verdict {
        SlotVerdict::Held | SlotVerdict::HeldAtTheGate { .. } | SlotVerdict::NotShaped => Some(true),
        SlotVerdict::Broken | SlotVerdict::NothingCame | SlotVerdict::NotInForce => Some(false),
        SlotVerdict::CannotTell { .. } => None,
    };
    // Talkers on other machines are not counted, so an unknown loss decides nothing.
    let stated = limits.iter().filter(|limit| limit.of != Limited::Loss || limit.margin.is_some());
    let all: Vec<Option<bool>> = stated.map(LimitFindings::kept).chain([slot]).collect();
    if all.contains(&Some(false)) { Some(false) } else { all.iter().all(Option::is_some).then_some(true) }
}

fn flow_findings(
    switch: Option<&SwitchRecord>,
    plan: Option<&SwitchPlan>,
    index: usize,
    series: &Series,
    flow: &FlowSeries,
) -> FlowFindings {
    let windows = if flow.windows.is_empty() { scheduled(switch, flow) } else { flow.windows.clone() };
    let cycles = series.counted_ns as f64 / flow.cycle_ns as f64;
    let planned = plan.and_then(|plan| plan.flows.iter().find(|planned| planned.name == flow.flow));
    let limits = limits(&planned.map_or_else(FlowLimits::default, |planned| planned.limits), series, flow);
    let judged = plan.is_none_or(|plan| plan.shaped);
    let gated = plan.is_some_and(|plan| plan.shaped) && has_schedule(switch, flow);
    let verdict = verdict(flow, gated);
    let misclassified = planned.and_then(|planned| planned.misclassified.clone());
    let held = if misclassified.is_some() { Some(false) } else { flow_held(verdict, &limits) };
    FlowFindings {
        series: index,
        flow: flow.flow.clone(),
        class: flow.class,
        port: flow.port.clone(),
        stamped_by: flow.stamped_by,
        sent: flow.frames.sent.get(),
        received: flow.frames.received,
        lost: flow.frames.lost.get(),
        reordered: flow.frames.reordered,
        duplicated: flow.frames.duplicated,
        rate_bps: rate_bps(flow.phases.bins.iter(), series.counted_ns as f64),
        outside: outside(flow, &windows),
        early: flow.early,
        late: flow.late,
        dequeue_to_receive: flow.dequeue_to_receive,
        at_gate: flow.at_gate,
        slots: windows.iter().map(|window| slot_findings(flow, *window, cycles)).collect(),
        verdict,
        held: held.filter(|_| judged),
        clocks: Vec::new(),
        limits,
        misclassified,
    }
}

/// Whether the flow's last port has a schedule.
fn has_schedule(switch: Option<&SwitchRecord>, flow: &FlowSeries) -> bool {
    switch.is_some_and(|switch| switch.ports.iter().any(|port| port.port == flow.port))
}

/// The windows of the flow's class in the schedule that the run tested, whether or not it was in operation.
fn scheduled(switch: Option<&SwitchRecord>, flow: &FlowSeries) -> Vec<Window> {
    let mut ports = switch.into_iter().flat_map(|switch| &switch.ports);
    let port = ports.find(|port| port.port == flow.port && port.cycle_ns == flow.cycle_ns);
    port.map(|port| port.windows(flow.class, 0)).unwrap_or_default()
}

fn outside(flow: &FlowSeries, windows: &[Window]) -> Option<f64> {
    if flow.frames.received == 0 || windows.is_empty() {
        return None;
    }
    let frames = if flow.windows.is_empty() {
        let inside = windows.iter().map(|window| frames_of(in_window(flow, *window))).sum::<u64>();
        flow.frames.received.saturating_sub(inside)
    } else {
        flow.out_of_slot()
    };
    Some(frames as f64 / flow.frames.received as f64)
}

fn slot_findings(flow: &FlowSeries, window: Window, cycles: f64) -> SlotFindings {
    let length_ns = window.close_ns - window.open_ns;
    // At least one bin, so that a short slot has a rate at its opening as well.
    let opening_ns = (length_ns / 10).max(flow.phases.bin_ns).min(length_ns);
    let opening = Window { close_ns: window.open_ns + opening_ns, ..window };
    SlotFindings {
        window,
        frames: frames_of(in_window(flow, window)),
        rate_bps: rate_bps(in_window(flow, window), cycles * length_ns as f64),
        opening_rate_bps: rate_bps(in_window(flow, opening), cycles * opening_ns as f64),
    }
}

/// The bins whose middle is in a window, which may extend into the next cycle.
fn in_window(flow: &FlowSeries, window: Window) -> impl Iterator<Item = &PhaseBin> {
    let FlowSeries { phases, cycle_ns, .. } = flow;
    let middle_ns = |bin: &PhaseBin| u64::from(bin.index) * phases.bin_ns + phases.bin_ns / 2;
    // A schedule of hundreds of windows has thousands of bins.
    let before = |ns: u64| phases.bins.partition_point(|bin| middle_ns(bin) < ns);
    let in_this = before(window.open_ns)..before(window.close_ns);
    let in_next = 0..before(window.close_ns.saturating_sub(*cycle_ns)).min(in_this.start);
    phases.bins[in_this].iter().chain(&phases.bins[in_next])
}

fn frames_of<'a>(bins: impl Iterator<Item = &'a PhaseBin>) -> u64 {
    bins.map(|bin| bin.frames).fold(0, u64::saturating_add)
}

/// Mean rate over `over_ns`, in bit/s.
fn rate_bps<'a>(bins: impl Iterator<Item = &'a PhaseBin>, over_ns: f64) -> f64 {
    let bytes = bins.map(|bin| bin.wire_bytes).fold(0, u64::saturating_add);
    if over_ns > 0.0 { bytes as f64 * 8e9 / over_ns } else { 0.0 }
}

/// The verdict on a flow's slots; `gated`: in a phase with the shaper, its last port has a schedule.
fn verdict(flow: &FlowSeries, gated: bool) -> SlotVerdict {
    let takes_ns = flow.dequeue_to_receive.map_or(0, |cost| cost.max_ns);
    let at_gate = flow.at_gate.map(|count| (count.outside.frames, count.undecided));
    let open_ns: u64 = flow.windows.iter().map(|window| window.close_ns - window.open_ns).sum();
    let shut_ns = flow.cycle_ns.saturating_sub(open_ns);
    if flow.windows.is_empty() && !gated {
        SlotVerdict::NotShaped
    } else if flow.frames.received == 0 {
        SlotVerdict::NothingCame
    } else if flow.windows.is_empty() {
        SlotVerdict::NotInForce
    } else if flow.out_of_slot() == 0 {
        SlotVerdict::Held
    } else if let Some((0, 0)) = at_gate {
        SlotVerdict::HeldAtTheGate { late: flow.out_of_slot() }
    } else if let Some((1.., _)) = at_gate {
        SlotVerdict::Broken
    } else if takes_ns > shut_ns / 2 {
        SlotVerdict::CannotTell { shut_ns }
    } else if flow.early.frames == 0 && flow.late.worst_ns <= takes_ns {
        SlotVerdict::HeldAtTheGate { late: flow.late.frames }
    } else {
        SlotVerdict::Broken
    }
}

#[cfg(test)]
mod tests {
    use tardy_record::Knowable;
    use tardy_record::flow::{FrameCount, PhaseHistogram};
    use tardy_record::flow_recorder::{Arrival, FlowRecorder};
    use tardy_record::gates::GateEntry;
    use tardy_record::plan::FlowPlan;
    use tardy_record::series::SeriesKind;
    use tardy_record::switch::{PortSchedule, Ptp, ScheduleSource, SwitchPlace};

    use super::*;

    const CYCLE_NS: u64 = 1_000_000;
    const CYCLES: u64 = 100;

    fn about(windows: Vec<Window>) -> FlowSeries {
        FlowSeries {
            flow: "blue".into(),
            class: 0,
            port: "swp1".into(),
            listener: "listeners".into(),
            stamped_by: StampSource::Software,
            cycle_ns: CYCLE_NS,
            phases: PhaseHistogram::default(),
            windows,
            frames: FrameCount::default(),
            early: OutOfSlot::default(),
            late: OutOfSlot::default(),
            drift: Vec::new(),
            dequeue_to_receive: None,
            at_gate: None,
            tai_minus_utc_s: Knowable::Known(37),
        }
    }

    /// One frame of 1,250 bytes a cycle at each of `phases_ns`.
    fn series(windows: Vec<Window>, phases_ns: &[u64], cost: Option<u64>) -> Series {
        let mut recorder = FlowRecorder::new(about(windows), 0, 0, CYCLES * CYCLE_NS);
        for number in 0..CYCLES * phases_ns.len() as u64 {
            let (cycle, place) = (number / phases_ns.len() as u64, number as usize % phases_ns.len());
            let at_ns = cycle * CYCLE_NS + phases_ns[place];
            recorder.arrived(Arrival {
                sequence: number,
                sent_ns: at_ns as i64 - 1000,
                received_ns: at_ns as i64,
                at_ns,
                wire_bytes: 1250,
            });
        }
        let cost = cost.and_then(|ns| DequeueCost::of(&[ns]));
        let mut series = recorder.series(0, Some(CYCLES * phases_ns.len() as u64 + 3), cost);
        series.counted_ns = CYCLES * CYCLE_NS;
        series
    }

    fn switch() -> SwitchRecord {
        let schedule = PortSchedule {
            port: "swp1".into(),
            source: ScheduleSource::ReadBack,
            clock: "CLOCK_TAI".into(),
            base_ns: 0,
            cycle_ns: CYCLE_NS,
            entries: vec![GateEntry::set(1, 800_000), GateEntry::set(2, 200_000)],
            link_bps: Knowable::Known(100_000_000),
            overhead_bytes: 24,
        };
        SwitchRecord {
            name: "tsn0".into(),
            file_name: "tsn.toml".into(),
            file: String::new(),
            place: SwitchPlace::Namespaces,
            ports: vec![schedule],
            ptp: Ptp::default(),
            tai_minus_utc_s: Knowable::Known(37),
            remarks: Vec::new(),
        }
    }

    fn findings(series: Series) -> FlowFindings {
        findings_with(FlowLimits { loss_ppm: 10_000, ..FlowLimits::default() }, &series)
    }

    fn findings_with(limits: FlowLimits, series: &Series) -> FlowFindings {
        let flow =
            FlowPlan { name: "blue".into(), frame_bytes: 1226, period_ns: None, limits, misclassified: None };
        findings_in(&SwitchPlan { shaped: true, flows: vec![flow] }, series)
    }

    fn findings_in(plan: &SwitchPlan, series: &Series) -> FlowFindings {
        flow_findings(Some(&switch()), Some(plan), 0, series, series.flow().unwrap())
    }

    fn slot() -> Vec<Window> {
        vec![Window { open_ns: 0, close_ns: 800_000, guard_ns: 10_000 }]
    }

    #[test]
    fn frames_in_their_slot_hold_it() {
        let flow = findings(series(slot(), &[10_000, 20_000, 400_100, 799_000], None));
        assert_eq!(flow.verdict, SlotVerdict::Held);
        assert_eq!((flow.outside, flow.lost, flow.received), (Some(0.0), Some(3), 400));
        // 4 x 1,250 bytes in a millisecond; two of them in the first tenth of 800 us.
        assert!((flow.rate_bps - 40e6).abs() < 1.0, "{}", flow.rate_bps);
        assert_eq!(flow.slots[0].frames, 400);
        assert!((flow.slots[0].rate_bps - 50e6).abs() < 1.0);
        assert!((flow.slots[0].opening_rate_bps - 250e6).abs() < 1.0);
    }

    #[test]
    fn lateness_within_the_time_from_gate_to_listener_is_not_a_fault_of_the_schedule() {
        let late = series(slot(), &[10_000, 815_000], Some(20_000));
        assert_eq!(findings(late).verdict, SlotVerdict::HeldAtTheGate { late: 100 });
        let later = series(slot(), &[10_000, 821_000], Some(20_000));
        assert_eq!(findings(later).verdict, SlotVerdict::Broken);
        let unexplained = series(slot(), &[10_000, 815_000], None);
        assert_eq!(findings(unexplained).verdict, SlotVerdict::Broken);
        let early = series(slot(), &[990_000], Some(20_000));
        assert_eq!(findings(early).verdict, SlotVerdict::Broken);
        // The gate is closed for 200 us: frames that take more than half of that to arrive could have left at any time.
        let slow = series(slot(), &[10_000, 815_000], Some(100_001));
        assert_eq!(findings(slow).verdict, SlotVerdict::CannotTell { shut_ns: 200_000 });
    }

    #[test]
    fn the_times_at_the_gate_decide_where_they_can() {
        let at_gate = |outside: u64, undecided: u64| {
            // A quarter of the frames arrive outside their slot, and a frame takes up to 3.6 ms from the gate.
            let mut series = series(slot(), &[10_000, 20_000, 30_000, 890_000], Some(3_600_000));
            let SeriesKind::Flow(flow) = &mut series.kind else { unreachable!() };
            let outside = OutOfSlot { frames: outside, worst_ns: outside, worst_at_ns: None };
            flow.at_gate = Some(GateCount { inside: 100, outside, undecided });
            findings(series)
        };
        assert_eq!(at_gate(0, 0).verdict, SlotVerdict::HeldAtTheGate { late: 100 });
        assert_eq!(at_gate(1, 1).verdict, SlotVerdict::Broken);
        assert_eq!(at_gate(0, 1).verdict, SlotVerdict::CannotTell { shut_ns: 200_000 });
    }

    #[test]
    fn without_a_schedule_frames_are_compared_with_the_tested_one() {
        let phases: Vec<u64> = (0..10).map(|i| i * 100_000 + 50_000).collect();
        let series = series(Vec::new(), &phases, None);
        let flow = findings_in(&SwitchPlan { shaped: false, flows: Vec::new() }, &series);
        assert_eq!((flow.verdict, flow.held), (SlotVerdict::NotShaped, None));
        assert_eq!(flow.outside, Some(0.2));
        assert_eq!(flow.slots.len(), 1);
    }

    #[test]
    fn frames_that_arrive_while_no_window_is_in_force_do_not_hold_their_slot() {
        let flow = findings(series(Vec::new(), &[10_000], None));
        assert_eq!((flow.verdict, flow.held), (SlotVerdict::NotInForce, Some(false)));
    }

    #[test]
    fn a_slot_across_the_end_of_the_cycle_is_one_slot() {
        let round = vec![Window { open_ns: 900_000, close_ns: 1_100_000, guard_ns: 0 }];
        let flow = findings(series(round, &[50_000, 950_000], None));
        assert_eq!((flow.verdict, flow.slots[0].frames), (SlotVerdict::Held, 200));
    }

    #[test]
    fn a_flow_without_frames_does_not_hold_its_slot() {
        assert_eq!(findings(series(slot(), &[], None)).verdict, SlotVerdict::NothingCame);
    }

    #[test]
    fn a_flow_that_loses_frames_or_exceeds_a_limit_has_not_held_although_its_slot_did() {
        // 400 of 403 frames arrive, each 1 us after it was sent.
        let series = series(slot(), &[10_000, 20_000, 400_100, 799_000], None);
        let held = |limits: FlowLimits| findings_with(limits, &series).held;
        let lossy = FlowLimits { loss_ppm: 10_000, ..FlowLimits::default() };
        assert_eq!(findings_with(FlowLimits::default(), &series).verdict, SlotVerdict::Held);
        assert_eq!(held(FlowLimits::default()), Some(false), "3 of 403 frames are lost");
        assert_eq!(held(lossy), Some(true));
        assert_eq!(held(FlowLimits { deadline_ns: Some(1000), ..lossy }), Some(true));
        assert_eq!(held(FlowLimits { deadline_ns: Some(999), ..lossy }), Some(false));
        assert_eq!(held(FlowLimits { jitter_ns: Some(0), ..lossy }), Some(true));
        let late = findings_with(FlowLimits { deadline_ns: Some(400), ..lossy }, &series);
        let deadline = late.limits.iter().find(|limit| limit.of == Limited::Deadline).unwrap();
        assert_eq!((deadline.observed, deadline.margin, deadline.late), (Some(1000), Some(-600), Some(400)));
        let loss = late.limits.last().unwrap();
        assert_eq!((loss.limit, loss.observed, loss.margin), (4, Some(3), Some(1)));
    }

    #[test]
    fn a_windows_bins_are_those_whose_middle_is_open() {
        let bins =
            (0..100).filter(|index| index % 3 > 0).map(|index| PhaseBin { index, frames: 1, wire_bytes: 1 });
        let mut flow = about(Vec::new());
        flow.phases = PhaseHistogram { bin_ns: CYCLE_NS / 100, bins: bins.collect(), ..flow.phases };
        for (open_ns, length_ns) in [
            (0, 300_000),
            (15_000, 1),
            (14_000, 2_000),
            (900_000, 250_000),
            (400_000, CYCLE_NS),
            (999_999, 1),
        ] {
            let window = Window { open_ns, close_ns: open_ns + length_ns, guard_ns: 0 };
            let is_open = |bin: &&PhaseBin| {
                let middle_ns = u64::from(bin.index) * 10_000 + 5_000;
                (middle_ns + CYCLE_NS - open_ns) % CYCLE_NS < length_ns
            };
            let mut found: Vec<u32> = in_window(&flow, window).map(|bin| bin.index).collect();
            found.sort_unstable();
            let expected: Vec<u32> = flow.phases.bins.iter().filter(is_open).map(|bin| bin.index).collect();
            assert_eq!(found, expected, "{window:?}");
        }
    }
}
