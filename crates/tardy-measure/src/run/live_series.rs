//! A series while its thread still counts: what the house adds to what the cells hold.

use std::collections::BTreeMap;

use tardy_record::Histogram;
use tardy_record::layout::COARSE;
use tardy_record::plan::{ThreadPlan, TimerPlan};
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::{Change, Series};
use tardy_record::slice::{self, SLICE_COUNT, Slice};
use tardy_sys::shared_map::Block;

use crate::probe::order::Granted;
use crate::probe::timer::reading::{Cells, Place, mend};

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
            mend(&mut copy);
        }
        self.copy = copy;
    }

    /// The last reading, if there has been one.
    pub(super) fn cells(&self) -> Option<Cells<'_>> {
        (!self.copy.is_empty()).then_some(Cells(&self.copy)).filter(|cells| cells.counts())
    }

    /// The thread's plan.
    pub(super) fn thread(&self) -> &ThreadPlan {
        self.place.thread
    }

    /// Cuts a slice if the open one is long enough, or in any case at the end.
    pub(super) fn cut_slice(&mut self, at_end: bool) {
        let Some(cells) = self.cells() else { return };
        let timer: &TimerPlan = self.place.timer;
        let end_ns = cells.counted_to_ns().saturating_sub(self.place.run_start_ns);
        let counted_from_ns = cells.counted_from_ns().saturating_sub(self.place.run_start_ns);
        let start_ns = self.slice_start_ns.unwrap_or(counted_from_ns);
        if !at_end && end_ns.saturating_sub(start_ns) < self.slice_ns {
            return;
        }
        let now = cells.quoted(timer.wake).coarsened(COARSE);
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
        Some(series)
    }

    /// What the thread cost, once it has ended.
    pub(super) fn cost(&self) -> Option<ThreadCost> {
        self.cells().filter(|cells| cells.done()).map(|cells| cells.cost(self.place))
    }
}
