//! A series while its thread still counts: what the house adds to what the cells hold.

use std::collections::BTreeMap;

use tardy_record::Histogram;
use tardy_record::gaps::{Gap, GapKeeper, KeptGaps};
use tardy_record::layout::COARSE;
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::{Change, Series, SeriesKind};
use tardy_record::slice::{self, SLICE_COUNT, Slice};
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::SampleReader;
use tardy_probe::timer::reading::{Cells, Of, Place, mend};

/// The shortest first slice.
const SLICE_NS_MIN: u64 = 1_000_000_000;

/// One thread's series.
#[derive(Debug)]
pub(super) struct LiveSeries<'a> {
    block: Block<'a>,
    place: Place<'a>,
    copy: Vec<u64>,
    slices: Vec<Slice>,
    slice_ns: u64,
    slice_start_ns: Option<u64>,
    before_slice: Histogram,
    around: BTreeMap<u64, Vec<Change>>,
    /// Of a noise probe.
    gaps: Option<Gaps<'a>>,
}

/// Gaps as they come, and which of them are kept with their times.
#[derive(Debug)]
struct Gaps<'a> {
    ring: SampleReader<'a>,
    keeper: GapKeeper,
}

impl<'a> LiveSeries<'a> {
    /// The series of `thread`, which counts in `block`, for a phase of about `planned_ns`.
    pub(super) fn new(block: Block<'a>, place: Place<'a>, planned_ns: u64) -> Self {
        Self {
            block,
            place,
            copy: Vec::new(),
            slices: Vec::new(),
            slice_ns: (planned_ns / SLICE_COUNT as u64).max(SLICE_NS_MIN),
            slice_start_ns: None,
            before_slice: Histogram::default(),
            around: BTreeMap::new(),
            gaps: None,
        }
    }

    /// The same for a noise probe, which hands its gaps over in `ring`.
    pub(super) fn with_gaps(mut self, ring: Option<Ring<'a>>, planned_ns: u64) -> Self {
        self.gaps =
            ring.map(|ring| Gaps { ring: SampleReader::new(ring), keeper: GapKeeper::new(planned_ns) });
        self
    }

    /// Whether gaps come in a ring.
    pub(super) fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// Takes the gaps that wait in the ring, if there is one. Before the cells are read: so these count them all.
    pub(super) fn take_gaps(&mut self) {
        let Some(gaps) = &mut self.gaps else { return };
        for _ in 0..gaps.ring.waiting() {
            let Some(sample) = gaps.ring.take() else { break };
            let at_ns = sample.at_ns.saturating_sub(self.place.run_start_ns);
            gaps.keeper.add(Gap { at_ns, length_ns: sample.late_ns.unsigned_abs() });
        }
    }

    /// How the thread was granted to run, once it says so.
    pub(super) fn set_granted(&mut self, granted: Granted) {
        self.place.granted = granted;
    }

    /// How the thread was granted to run.
    pub(super) fn granted(&self) -> Granted {
        self.place.granted
    }

    /// Reads the cells. Whether the reading is whole; if not, the one before it is kept.
    pub(super) fn read(&mut self) -> bool {
        let mut copy = Vec::with_capacity(self.block.cells().len());
        let whole = self.block.read(&mut copy);
        if whole {
            self.copy = copy;
        }
        whole
    }

    /// Reads the cells of a thread that is dead, perhaps killed within a write.
    pub(super) fn read_remains(&mut self) {
        let mut copy = Vec::new();
        if !self.block.read(&mut copy) {
            mend(&mut copy, self.place.of.has_schedule());
        }
        self.copy = copy;
    }

    /// The last reading, if there has been one.
    pub(super) fn cells(&self) -> Option<Cells<'_>> {
        (!self.copy.is_empty()).then_some(Cells(&self.copy)).filter(|cells| cells.counts())
    }

    /// Whether it is of answers that come back to whoever makes the stimulus.
    pub(super) fn is_echo(&self) -> bool {
        matches!(self.place.of, Of::Echo(_))
    }

    /// The thread's CPU.
    pub(super) fn cpu(&self) -> u32 {
        self.place.of.cpu()
    }

    /// Cuts a slice if the open one is long enough, or in any case at the end.
    pub(super) fn cut_slice(&mut self, at_end: bool) {
        let Some(cells) = self.cells() else { return };
        let end_ns = cells.counted_to_ns().saturating_sub(self.place.run_start_ns);
        let counted_from_ns = cells.counted_from_ns().saturating_sub(self.place.run_start_ns);
        let start_ns = self.slice_start_ns.unwrap_or(counted_from_ns);
        if !at_end && end_ns.saturating_sub(start_ns) < self.slice_ns {
            return;
        }
        let now = cells.quoted(self.place.of).coarsened(COARSE);
        let histogram = now.since(&self.before_slice);
        if histogram.is_empty() {
            return;
        }
        let merged = self.slices.len() >= SLICE_COUNT;
        slice::push(&mut self.slices, Slice { start_ns, end_ns, histogram })
            .expect("slices of one series share a layout");
        if merged {
            self.slice_ns *= 2;
        }
        self.before_slice = now;
        self.slice_start_ns = Some(end_ns);
    }

    /// Goes on from slices that were cut by a house that is no more.
    pub(super) fn adopt_slices(&mut self, slices: Vec<Slice>) {
        self.slice_start_ns = slices.last().map(|slice| slice.end_ns);
        self.before_slice = Histogram::default();
        for slice in &slices {
            self.before_slice.merge(&slice.histogram).expect("slices of one series share a layout");
        }
        self.slices = slices;
    }

    /// Notes what the watchers saw around worst samples that are new since the last reading.
    pub(super) fn annotate_worst(&mut self, changes: &[Change]) {
        let Some(cells) = self.cells() else { return };
        let worst = cells.worst(self.place.run_start_ns);
        let worst: Vec<u64> = worst.iter().map(|outlier| outlier.at_ns).collect();
        self.around.retain(|at_ns, _| worst.contains(at_ns));
        for at_ns in worst {
            self.around.entry(at_ns).or_insert_with(|| changes.to_vec());
        }
    }

    /// The series as it stands, once the thread counts.
    pub(super) fn series(&self) -> Option<Series> {
        let mut series = self.cells()?.series(self.place);
        series.slices.clone_from(&self.slices);
        for outlier in &mut series.worst {
            outlier.around = self.around.get(&outlier.at_ns).cloned().unwrap_or_default();
        }
        if let (SeriesKind::Gaps(kind), Some(gaps)) = (&mut series.kind, &self.gaps) {
            let KeptGaps { first, windows, longest, longest_from_ns } = gaps.keeper.kept();
            (kind.first, kind.windows) = (first, windows);
            (kind.longest, kind.longest_from_ns) = (longest, longest_from_ns);
        }
        Some(series)
    }

    /// What the thread cost, once it has ended.
    pub(super) fn cost(&self) -> Option<ThreadCost> {
        self.cells()
            .filter(|cells| cells.done() && !self.place.of.is_beside())
            .map(|cells| cells.cost(self.place))
    }
}
