//! The series of a thread that still counts: the contents of the cells, and the data that the supervisor adds.

use std::collections::BTreeMap;
use std::rc::Rc;

use tardy_record::Histogram;
use tardy_record::gaps::{Gap, GapKeeper, KeptGaps};
use tardy_record::layout::COARSE;
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::{Change, Outlier, Series, SeriesKind};
use tardy_record::slice::{self, SLICE_COUNT, Slice};
use tardy_sys::shared_map::{Block, SharedMap};

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::SampleReader;
use tardy_probe::timer::reading::{Cells, Place, mend};

use crate::engine::{self, Reading, newest};

/// The shortest first slice.
const SLICE_NS_MIN: u64 = 1_000_000_000;

/// The watchers' data on one of the worst samples.
#[derive(Clone, Debug)]
struct Around {
    changes: Vec<Change>,
    /// The watcher that was reading while the thread was due.
    overlaps: Option<&'static str>,
}

/// One thread's series.
#[derive(Debug)]
pub(crate) struct LiveSeries<'r> {
    map: Rc<SharedMap>,
    /// Number of its block in the map.
    index: usize,
    place: Place<'r>,
    copy: Vec<u64>,
    /// Where the next reading goes. Memory that is allocated for each reading is mapped and freed each time, which keeps the CPU.
    spare: Vec<u64>,
    slices: Vec<Slice>,
    slice_ns: u64,
    slice_start_ns: Option<u64>,
    before_slice: Histogram,
    around: BTreeMap<u64, Around>,
    /// Selects the gaps that are kept with their times, if the thread puts gaps into a ring.
    gaps: Option<GapKeeper>,
}

impl<'r> LiveSeries<'r> {
    /// The series of block `index` of `map`, for a phase of about `planned_ns`.
    pub(crate) fn new(map: Rc<SharedMap>, index: usize, place: Place<'r>, planned_ns: u64) -> Self {
        Self {
            map,
            index,
            place,
            copy: Vec::new(),
            spare: Vec::new(),
            slices: Vec::new(),
            slice_ns: (planned_ns / SLICE_COUNT as u64).max(SLICE_NS_MIN),
            slice_start_ns: None,
            before_slice: Histogram::default(),
            around: BTreeMap::new(),
            gaps: None,
        }
    }

    /// Makes this the series of a thread that puts gaps into its block's ring.
    pub(super) fn with_gaps(mut self, planned_ns: u64) -> Self {
        self.gaps = Some(GapKeeper::new(planned_ns));
        self
    }

    fn block(&self) -> Block<'_> {
        self.map.block(self.index)
    }

    /// Whether the thread puts gaps into a ring.
    pub(super) fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// Takes the gaps in the ring. Call it before reading the cells, so that the cells' counts include all of them.
    pub(super) fn take_gaps(&mut self) {
        let (Some(keeper), Some(ring)) = (&mut self.gaps, self.map.ring(self.index)) else { return };
        let mut ring = SampleReader::new(ring);
        for _ in 0..ring.waiting() {
            let Some(sample) = ring.take() else { break };
            let at_ns = sample.at_ns.saturating_sub(self.place.run_start_ns);
            keeper.add(Gap { at_ns, length_ns: sample.late_ns.unsigned_abs() });
        }
    }

    /// Sets how the thread is scheduled, once that is known.
    pub(super) fn set_granted(&mut self, granted: Granted) {
        self.place.granted = granted;
    }

    /// How the thread is scheduled.
    pub(crate) fn granted(&self) -> Granted {
        self.place.granted
    }

    /// Reads the cells. A reading that was interrupted by a write is discarded, and the previous one is kept.
    pub(super) fn read(&mut self) {
        let mut copy = std::mem::take(&mut self.spare);
        copy.clear();
        if self.block().read(&mut copy) {
            std::mem::swap(&mut self.copy, &mut copy);
        }
        self.spare = copy;
    }

    /// Reads the cells of a thread that has ended, perhaps killed during a write. Cells that no probe can have written count as
    /// never written.
    pub(crate) fn read_remains(&mut self) {
        let mut copy = Vec::new();
        let whole = self.block().read(&mut copy);
        if !Cells(&copy).are_possible() {
            copy.clear();
        } else if !whole {
            mend(&mut copy, self.place.of.has_schedule());
        }
        self.copy = copy;
    }

    /// The last reading, if the thread counted then.
    pub(crate) fn cells(&self) -> Option<Cells<'_>> {
        (!self.copy.is_empty()).then_some(Cells(&self.copy)).filter(|cells| cells.counts())
    }

    /// The thread's CPU.
    pub(super) fn cpu(&self) -> u32 {
        self.place.of.cpu()
    }

    /// The worst samples of the last reading; none before the thread counts.
    pub(super) fn worst(&self) -> Vec<Outlier> {
        self.cells().map_or_else(Vec::new, |cells| cells.worst(self.place.run_start_ns))
    }

    /// Closes the open slice if it is long enough, or at the end.
    pub(crate) fn cut_slice(&mut self, at_end: bool) {
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

    /// Continues after the slices of a killed supervisor. Slices of another layout, which no supervisor writes, are dropped.
    pub(crate) fn adopt_slices(&mut self, slices: Vec<Slice>) {
        let mut before = Histogram::default();
        let fits = |slice: &Slice| {
            slice.histogram == slice.histogram.coarsened(COARSE) && before.merge(&slice.histogram).is_ok()
        };
        if slices.iter().all(fits) {
            self.slice_start_ns = slices.last().map(|slice| slice.end_ns);
            self.before_slice = before;
            self.slices = slices;
        }
    }

    /// Attaches the watchers' changes, and their own reads, to the worst samples that are new since the last reading.
    pub(super) fn annotate_worst(&mut self, reading: &Reading<'_>) {
        let Some(cells) = self.cells() else { return };
        let (worst, cpu) = (cells.worst(self.place.run_start_ns), self.cpu());
        self.around.retain(|at_ns, _| worst.iter().any(|outlier| outlier.at_ns == *at_ns));
        for outlier in worst {
            self.around.entry(outlier.at_ns).or_insert_with(|| Around {
                changes: reading.changes.to_vec(),
                overlaps: reading.overlaps.during(cpu, &outlier),
            });
        }
    }

    /// The series so far; `None` before the thread counts.
    pub(crate) fn series(&self) -> Option<Series> {
        let mut series = self.cells()?.series(self.place);
        series.slices.clone_from(&self.slices);
        series.worst.iter_mut().for_each(|outlier| self.annotate(outlier));
        if let (SeriesKind::Gaps(kind), Some(keeper)) = (&mut series.kind, &self.gaps) {
            let KeptGaps { first, windows, longest, longest_from_ns } = keeper.kept();
            (kind.first, kind.windows) = (first, windows);
            (kind.longest, kind.longest_from_ns) = (longest, longest_from_ns);
        }
        Some(series)
    }

    fn annotate(&self, outlier: &mut Outlier) {
        if let Some(around) = self.around.get(&outlier.at_ns) {
            outlier.around.clone_from(&around.changes);
            outlier.overlaps = around.overlaps.map(str::to_owned);
        }
    }

    /// The numbers so far, for a listener that shows them; `None` before the thread counts.
    pub(super) fn live(&self) -> Option<engine::LiveSeries> {
        let cells = self.cells()?;
        let recorded = cells.recorded();
        let mut newest_outlier = newest(self.worst());
        newest_outlier.iter_mut().for_each(|outlier| self.annotate(outlier));
        Some(engine::LiveSeries {
            label: self.place.of.label(),
            recorded,
            missed: self.place.of.knows_what_it_missed().then(|| cells.missed()),
            last_ns: cells.last_ns(),
            mean_ns: (recorded > 0).then(|| cells.sum_ns() as f64 / recorded as f64),
            worst_ns: cells.max_ns(),
            histogram: cells.measured(),
            newest_outlier,
        })
    }

    /// The cost of the thread; `None` before it has ended.
    pub(super) fn cost(&self) -> Option<ThreadCost> {
        self.cells()
            .filter(|cells| cells.done() && !self.place.of.is_beside())
            .map(|cells| cells.cost(self.place))
    }
}
