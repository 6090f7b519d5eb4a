//! Builds the series of a flow from its frames, in order of arrival, for a real listener or a simulator.

use std::collections::BTreeMap;

use crate::flow::{
    DRIFT_COUNT, DequeueCost, FlowSeries, FrameCount, OutOfSlot, PhaseClock, PhaseCounts, PhaseHistogram,
    PhaseSlice, Place, Window, place,
};
use crate::knowable::Knowable;
use crate::series::{Level, Quantity, Series, SeriesKind};
use crate::series_builder::{Reading, SeriesBuilder};

/// The size of the bitmap of received frames. Duplicates are recognised if they are less than this behind the highest
/// sequence number.
const MEMORY_FRAMES: u64 = 1 << 16;

/// A frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its sequence number, from 0 for the talker's first frame.
    pub sequence: u64,
    /// When it was sent, in ns on the schedule's clock.
    pub sent_ns: i64,
    /// When it was received, in ns on the schedule's clock.
    pub received_ns: i64,
    /// When it was received, in ns from the start of the run; not before the previous arrival.
    pub at_ns: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
}

/// Builds the series of a flow from its arrivals. The [`FlowSeries`] that it is created with describes the flow; the
/// recorder fills in its counts.
#[derive(Clone, Debug)]
pub struct FlowRecorder {
    about: FlowSeries,
    clock: PhaseClock,
    builder: SeriesBuilder,
    phases: PhaseCounts,
    frames: FrameCount,
    early: OutOfSlot,
    late: OutOfSlot,
    highest: Option<u64>,
    seen: Vec<u64>,
    drift: Drift,
}

impl FlowRecorder {
    /// Creates a recorder for the flow in `about`. Phases count from `base_ns`. Counting starts `start_ns` after the
    /// start of the run and takes about `planned_ns`.
    pub fn new(about: FlowSeries, base_ns: i64, start_ns: u64, planned_ns: u64) -> Self {
        let clock = PhaseClock { base_ns, cycle_ns: about.cycle_ns.max(1) };
        Self {
            clock,
            builder: SeriesBuilder::new(start_ns, None, planned_ns, &[]),
            phases: PhaseCounts::of_cycle(clock.cycle_ns),
            frames: FrameCount::default(),
            early: OutOfSlot::default(),
            late: OutOfSlot::default(),
            highest: None,
            seen: vec![0; (MEMORY_FRAMES / 64) as usize],
            drift: Drift::new(start_ns, planned_ns, clock.cycle_ns),
            about,
        }
    }

    /// Adds a frame, in the order of arrival.
    pub fn arrived(&mut self, arrival: Arrival) {
        if self.is_duplicate(arrival.sequence) {
            self.frames.duplicated += 1;
            return;
        }
        self.frames.received += 1;
        let phase_ns = self.clock.phase_ns(arrival.received_ns);
        self.phases.add(phase_ns, arrival.wire_bytes);
        match place(phase_ns, &self.about.windows, self.clock.cycle_ns) {
            Place::Inside => {}
            Place::Early(ns) => self.early.add(ns, Some(arrival.at_ns)),
            Place::Late(ns) => self.late.add(ns, Some(arrival.at_ns)),
        }
        self.drift.add(arrival.at_ns, phase_ns);
        self.builder.record(Reading {
            value_ns: arrival.received_ns.saturating_sub(arrival.sent_ns),
            at_ns: arrival.at_ns,
            cycle: arrival.sequence,
            missed: 0,
        });
    }

    /// The number of frames received so far, without duplicates.
    pub fn received(&self) -> u64 {
        self.frames.received
    }

    /// The windows of the flow's class.
    pub fn windows(&self) -> &[Window] {
        &self.about.windows
    }

    /// The series for phase `phase` of the run; `sent` frames were sent in the counted time.
    pub fn series(&self, phase: usize, sent: Option<u64>, cost: Option<DequeueCost>) -> Series {
        let lost = sent.map(|sent| sent.saturating_sub(self.frames.received));
        let kind = FlowSeries {
            phases: self.phases.so_far(),
            frames: FrameCount { sent: sent.into(), lost: lost.into(), ..self.frames },
            early: self.early,
            late: self.late,
            drift: self.drift.so_far(),
            dequeue_to_receive: cost,
            ..self.about.clone()
        };
        let label = kind.flow.clone();
        let kind = SeriesKind::Flow(Box::new(kind));
        let mut series = self.builder.series(label, phase, Quantity::Latency, Level::Wire, kind);
        // More frames arrive than were sent only if the talker's count was not available in time.
        series.tally.attempted = Knowable::from(sent.map(|sent| sent.max(self.frames.received)));
        series.tally.missed = lost.into();
        series
    }

    /// Whether this frame was received before. A frame [`MEMORY_FRAMES`] or more behind the highest number counts as
    /// new.
    fn is_duplicate(&mut self, sequence: u64) -> bool {
        match self.highest {
            Some(highest) if sequence <= highest => {
                self.frames.reordered += u64::from(sequence < highest && !self.is_marked(sequence, highest));
                if self.is_marked(sequence, highest) {
                    return true;
                }
            }
            Some(highest) => {
                // The numbers in between have not arrived yet; their bits are from earlier numbers.
                let cleared = (sequence - highest).min(MEMORY_FRAMES);
                (0..cleared).for_each(|back| self.mark(sequence - back, false));
                self.highest = Some(sequence);
            }
            None => self.highest = Some(sequence),
        }
        self.mark(sequence, true);
        false
    }

    fn is_marked(&self, sequence: u64, highest: u64) -> bool {
        let bit = sequence % MEMORY_FRAMES;
        highest - sequence < MEMORY_FRAMES && self.seen[(bit / 64) as usize] & (1 << (bit % 64)) != 0
    }

    fn mark(&mut self, sequence: u64, seen: bool) {
        let bit = sequence % MEMORY_FRAMES;
        let word = &mut self.seen[(bit / 64) as usize];
        *word = if seen { *word | (1 << (bit % 64)) } else { *word & !(1 << (bit % 64)) };
    }
}

/// Slices of the phase. Their length doubles when there are too many.
#[derive(Clone, Debug)]
struct Drift {
    start_ns: u64,
    length_ns: u64,
    cycle_ns: u64,
    slices: Vec<OpenPhases>,
}

#[derive(Clone, Debug, Default)]
struct OpenPhases {
    index: u64,
    counts: BTreeMap<u64, u64>,
    min_ns: u64,
    max_ns: u64,
}

impl Drift {
    fn new(start_ns: u64, planned_ns: u64, cycle_ns: u64) -> Self {
        let length_ns = planned_ns.div_ceil(DRIFT_COUNT as u64).max(cycle_ns);
        Self { start_ns, length_ns, cycle_ns, slices: Vec::new() }
    }

    fn add(&mut self, at_ns: u64, phase_ns: u64) {
        let mut index = at_ns.saturating_sub(self.start_ns) / self.length_ns;
        while index >= DRIFT_COUNT as u64 {
            self.halve();
            index /= 2;
        }
        if self.slices.last().is_none_or(|last| last.index < index) {
            self.slices.push(OpenPhases { index, min_ns: u64::MAX, ..OpenPhases::default() });
        }
        let bin_ns = PhaseHistogram::bin_ns_for(self.cycle_ns);
        let Some(last) = self.slices.last_mut() else { return };
        *last.counts.entry(phase_ns / bin_ns).or_default() += 1;
        last.min_ns = last.min_ns.min(phase_ns);
        last.max_ns = last.max_ns.max(phase_ns);
    }

    /// Doubles the length of the slices by merging neighbours.
    fn halve(&mut self) {
        self.length_ns = self.length_ns.saturating_mul(2);
        let mut merged: Vec<OpenPhases> = Vec::new();
        for mut slice in std::mem::take(&mut self.slices) {
            slice.index /= 2;
            match merged.last_mut().filter(|last| last.index == slice.index) {
                Some(last) => {
                    last.min_ns = last.min_ns.min(slice.min_ns);
                    last.max_ns = last.max_ns.max(slice.max_ns);
                    for (bin, count) in slice.counts {
                        *last.counts.entry(bin).or_default() += count;
                    }
                }
                None => merged.push(slice),
            }
        }
        self.slices = merged;
    }

    fn so_far(&self) -> Vec<PhaseSlice> {
        let bin_ns = PhaseHistogram::bin_ns_for(self.cycle_ns);
        let slice = |one: &OpenPhases| {
            let frames: u64 = one.counts.values().sum();
            let mut rest = frames / 2;
            let median = one.counts.iter().find(|(_, count)| match rest.checked_sub(**count) {
                Some(left) => {
                    rest = left;
                    false
                }
                None => true,
            });
            let median_ns = median.map_or(one.max_ns, |(bin, _)| bin * bin_ns + bin_ns / 2);
            let start_ns = self.start_ns + one.index * self.length_ns;
            PhaseSlice {
                start_ns,
                end_ns: start_ns + self.length_ns,
                frames,
                min_ns: one.min_ns,
                median_ns: median_ns.clamp(one.min_ns, one.max_ns),
                max_ns: one.max_ns,
            }
        };
        self.slices.iter().map(slice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::StampSource;

    fn recorder(windows: Vec<Window>) -> FlowRecorder {
        let about = FlowSeries {
            flow: "red".to_owned(),
            class: 1,
            port: "p2".to_owned(),
            listener: "listener".to_owned(),
            stamped_by: StampSource::Simulated,
            cycle_ns: 1_000_000,
            phases: PhaseHistogram::default(),
            windows,
            frames: FrameCount::default(),
            early: OutOfSlot::default(),
            late: OutOfSlot::default(),
            drift: Vec::new(),
            dequeue_to_receive: None,
            at_gate: None,
            tai_minus_utc_s: Knowable::Known(37),
        };
        FlowRecorder::new(about, 0, 0, 1_000_000_000)
    }

    fn arrival(sequence: u64, received_ns: i64) -> Arrival {
        let at_ns = received_ns as u64;
        Arrival { sequence, sent_ns: received_ns - 10, received_ns, at_ns, wire_bytes: 1538 }
    }

    fn flow(series: &Series) -> &FlowSeries {
        series.flow().expect("a flow's series")
    }

    #[test]
    fn duplicate_late_and_lost_frames_are_counted_separately() {
        let mut recorder = recorder(Vec::new());
        for (at, sequence) in [0, 1, 3, 2, 3, 7].into_iter().enumerate() {
            recorder.arrived(arrival(sequence, 1000 * at as i64));
        }
        let series = recorder.series(0, Some(8), None);
        let frames = flow(&series).frames;
        assert_eq!((frames.received, frames.reordered, frames.duplicated), (5, 1, 1));
        assert_eq!(frames.lost, Knowable::Known(3));
        assert_eq!(series.tally.missed, Knowable::Known(3));
        assert_eq!((series.min_ns, series.max_ns), (Some(10), Some(10)));
    }

    #[test]
    fn frames_outside_their_slot_are_counted_with_their_margin() {
        let window = Window { open_ns: 100_000, close_ns: 900_000, guard_ns: 1_000 };
        let mut recorder = recorder(vec![window]);
        for (sequence, phase) in [(0, 99_000), (1, 100_000), (2, 900_500), (3, 910_000)] {
            recorder.arrived(arrival(sequence, phase));
        }
        let series = recorder.series(0, None, DequeueCost::of(&[3, 1, 2]));
        let flow = flow(&series);
        let (early_ns, late_ns) = (Some(arrival(0, 99_000).at_ns), Some(arrival(3, 910_000).at_ns));
        assert_eq!(flow.early, OutOfSlot { frames: 1, worst_ns: 1_000, worst_at_ns: early_ns });
        assert_eq!(flow.late, OutOfSlot { frames: 2, worst_ns: 10_000, worst_at_ns: late_ns });
        assert_eq!(
            flow.dequeue_to_receive.map(|cost| (cost.min_ns, cost.median_ns, cost.max_ns)),
            Some((1, 2, 3))
        );
        assert_eq!(flow.phases.frames(), 4);
        assert!(crate::flow::contradiction(flow, 4).is_none());
    }

    #[test]
    fn drift_is_bounded_for_runs_of_any_length() {
        let mut recorder = recorder(Vec::new());
        for sequence in 0..20_000u64 {
            // Each arrives 10 ns later in its cycle.
            recorder.arrived(arrival(sequence, sequence as i64 * 1_000_010));
        }
        let series = recorder.series(0, Some(20_000), None);
        let drift = &flow(&series).drift;
        assert!((DRIFT_COUNT / 2..=DRIFT_COUNT).contains(&drift.len()), "{}", drift.len());
        assert_eq!(drift.iter().map(|slice| slice.frames).sum::<u64>(), 20_000);
        assert!(drift.windows(2).all(|pair| pair[0].median_ns <= pair[1].median_ns));
    }
}
