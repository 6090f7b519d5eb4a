//! Records one wake-up: tardy's hot path.
//!
//! All data goes straight into the shared map's cells, which only this thread writes. Recording does not allocate, lock
//! or call the kernel. Nearly every wake-up is a usual one: only its bin, its time, its lateness and the square are
//! recorded. One comparison decides this ([`Usual`]). The code for the others, about 1 in 100, is out of line: a missed
//! deadline, an extreme, one of the worst, an exceeded threshold, the end of a block.
//!
//! Recorded wake-ups are not counted in addition to the histogram, since they are its sum. The number of the cycle
//! comes from the loop, so recorded + missed + dropped = attempted compares two counts that were kept independently.

use std::ops::Range;

use tardy_record::block_maxima::BLOCK_COUNT;
use tardy_record::layout::FINE;
use tardy_record::missed_periods;
use tardy_sys::cell64::Cell64;
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;

use super::trace_stopper::TraceStopper;
use super::wakeup::Wakeup;
use super::worst_samples::WorstSamples;
use crate::cells::{self, Stage, Threshold, Total};
use crate::sample_ring::{Sample, SampleWriter};

/// The latenesses without special treatment: not an extreme, not among the worst, above no threshold, and of a size for
/// which [`FINE`] needs no special case and 64 bits hold the square.
#[derive(Clone, Copy)]
struct Usual {
    from_ns: i64,
    /// The length of the range in ns; 0: none are usual.
    count: u64,
}

impl Usual {
    const NONE: Self = Self { from_ns: 0, count: 0 };

    /// From `lowest_ns` to `highest_ns`, limited by the size.
    fn between(lowest_ns: i64, highest_ns: i64) -> Self {
        let from_ns = lowest_ns.max(FINE.regular_from() as i64);
        let to_ns = highest_ns.min(i64::from(u32::MAX));
        Self { from_ns, count: to_ns.saturating_sub(from_ns).saturating_add(1).max(0) as u64 }
    }

    #[inline(always)]
    fn contains(self, late_ns: i64) -> bool {
        (late_ns.wrapping_sub(self.from_ns) as u64) < self.count
    }
}

/// The cells that every wake-up changes. Their number is known here, so the index of a total needs no bounds check.
#[derive(Clone, Copy)]
struct Tallies<'a>(Block<'a, [Cell64; cells::CELLS]>);

impl<'a> Tallies<'a> {
    #[inline(always)]
    fn total(self, total: Total) -> &'a Cell64 {
        &self.0.cells()[total as usize]
    }

    #[inline(always)]
    fn range(self, range: Range<usize>) -> &'a [Cell64] {
        &self.0.cells()[range]
    }

    /// Counts a wake-up that [`Usual`] contains.
    #[inline(always)]
    fn count_usual(self, late_ns: u64, at_ns: u64, cycle: u64) {
        self.range(cells::MEASURED..cells::EARLY)[FINE.regular_index(late_ns)].add(1);
        self.total(Total::Attempted).set(cycle + 1);
        self.total(Total::CountedTo).set(at_ns);
        self.total(Total::Sum).add(late_ns);
        self.total(Total::Last).set(late_ns);
        self.add_square(late_ns * late_ns, 0);
    }

    /// Counts any wake-up.
    fn count(self, wakeup: Wakeup) {
        let Wakeup { late_ns, at_ns, cycle, missed, .. } = wakeup;
        let magnitude = late_ns.unsigned_abs();
        let bins = if late_ns >= 0 { cells::MEASURED..cells::EARLY } else { cells::EARLY..cells::FILLED };
        self.range(bins)[FINE.index(magnitude)].add(1);
        self.total(Total::Attempted).set(cycle + missed + 1);
        self.total(Total::CountedTo).set(at_ns);
        self.total(Total::Sum).add(late_ns as u64);
        self.total(Total::Last).set(late_ns as u64);
        let square = u128::from(magnitude) * u128::from(magnitude);
        self.add_square(square as u64, (square >> 64) as u64);
    }

    /// Adds a square, in halves, to the sum of squares.
    #[inline(always)]
    fn add_square(self, low: u64, high: u64) {
        let (sum, carry) = self.total(Total::SquaresLow).get().overflowing_add(low);
        self.total(Total::SquaresLow).set(sum);
        let high = high + u64::from(carry);
        if high > 0 {
            self.total(Total::SquaresHigh).add(high);
        }
    }

    /// Accounts for the missed deadlines after the one that was waited for.
    fn fill(self, wakeup: Wakeup, interval_ns: u64) {
        let Wakeup { late_ns, missed, .. } = wakeup;
        self.total(Total::Missed).add(missed);
        self.total(Total::MissedSum).add(missed_periods::filled_sum_ns(late_ns, interval_ns, missed) as u64);
        let filled = self.range(cells::FILLED..cells::CELLS);
        missed_periods::fill(late_ns, interval_ns, missed, |bin, count| filled[bin].add(count));
    }
}

/// Writes wake-ups into a block.
pub(crate) struct Recorder<'a> {
    tallies: Tallies<'a>,
    interval_ns: u64,
    counted_from_ns: u64,
    usual: Usual,
    /// When more than counting a wake-up is due: at the end of the open block, or always if samples are kept.
    due_ns: u64,
    min_ns: i64,
    max_ns: i64,
    worst: WorstSamples<'a>,
    /// The lowest threshold; `i64::MAX` if there is none.
    lowest_threshold_ns: i64,
    thresholds: usize,
    open_maximum_ns: i64,
    open_block_end_ns: u64,
    maxima_block_ns: u64,
    maxima_count: usize,
    /// The ring for every sample, if the user requested samples.
    samples: Option<SampleWriter<'a>>,
    /// Stops the kernel's trace, if causes are traced.
    stopper: Option<TraceStopper<'a>>,
}

impl<'a> Recorder<'a> {
    /// Prepares to record into `block`, whose cells are all 0, from `counted_from_ns` on.
    pub(crate) fn new(
        block: Block<'a>,
        interval_ns: u64,
        thresholds_ns: &[u64],
        counted_from_ns: u64,
    ) -> Self {
        let block = block.with_cells();
        let all = block.cells();
        let thresholds_ns = &thresholds_ns[..thresholds_ns.len().min(cells::THRESHOLD_COUNT)];
        for (slot, limit) in thresholds_ns.iter().enumerate() {
            all[cells::THRESHOLDS + slot * cells::THRESHOLD_CELLS + Threshold::Limit as usize].set(*limit);
        }
        all[cells::MAXIMA..cells::MEASURED].iter().for_each(|cell| cell.set(cells::NO_MAXIMUM as u64));
        let open_block_end_ns = counted_from_ns + cells::MAXIMA_BLOCK_NS;
        let recorder = Self {
            tallies: Tallies(block),
            interval_ns,
            counted_from_ns,
            usual: Usual::NONE,
            due_ns: open_block_end_ns,
            min_ns: i64::MAX,
            max_ns: i64::MIN,
            worst: WorstSamples::new(&all[cells::WORST..cells::MAXIMA], &all[Total::WorstCount as usize]),
            lowest_threshold_ns: thresholds_ns.first().map_or(i64::MAX, |limit| *limit as i64),
            thresholds: thresholds_ns.len(),
            open_maximum_ns: cells::NO_MAXIMUM,
            open_block_end_ns,
            maxima_block_ns: cells::MAXIMA_BLOCK_NS,
            maxima_count: 0,
            samples: None,
            stopper: None,
        };
        recorder.total(Total::CountedFrom).set(counted_from_ns);
        recorder.total(Total::MaximaBlock).set(recorder.maxima_block_ns);
        recorder
    }

    /// Puts every sample into `ring` as well, if there is one.
    pub(crate) fn with_samples(mut self, ring: Option<Ring<'a>>) -> Self {
        self.samples = ring.map(SampleWriter::new);
        self.set_due();
        self
    }

    /// Stops the kernel's trace at late wake-ups, if causes are traced.
    pub(super) fn with_stopper(mut self, stopper: Option<TraceStopper<'a>>) -> Self {
        self.stopper = stopper;
        self
    }

    /// Publishes the thread's stage.
    pub(crate) fn set_stage(&self, stage: Stage) {
        let _writing = self.tallies.0.writing();
        self.total(Total::Stage).set(stage as u64);
    }

    /// Records a wake-up that answers one deadline, with no other missed or dropped. Its parameters are numbers, as in
    /// the rare paths called from here: a struct would be assembled in memory in every cycle.
    #[inline(always)]
    pub(crate) fn record_single(&mut self, late_ns: i64, at_ns: u64, cycle: u64) {
        let tallies = self.tallies;
        let _writing = tallies.0.writing();
        if self.usual.contains(late_ns) {
            tallies.count_usual(late_ns as u64, at_ns, cycle);
        } else {
            self.record_unusual(late_ns, at_ns, cycle);
        }
        self.attend(late_ns, at_ns, cycle);
    }

    #[cold]
    #[inline(never)]
    fn record_unusual(&mut self, late_ns: i64, at_ns: u64, cycle: u64) {
        self.record_itself(Wakeup { late_ns, at_ns, cycle, missed: 0, dropped: 0 });
    }

    /// Records any wake-up.
    #[cold]
    #[inline(never)]
    pub(super) fn record(&mut self, wakeup: Wakeup) {
        let _writing = self.tallies.0.writing();
        self.record_itself(wakeup);
        if wakeup.missed > 0 {
            self.tallies.fill(wakeup, self.interval_ns);
        }
        if wakeup.dropped > 0 {
            self.total(Total::Dropped).add(wakeup.dropped);
        }
        self.attend(wakeup.late_ns, wakeup.at_ns, wakeup.cycle);
    }

    /// Records a wake-up without its missed and dropped deadlines, and updates the range of usual latenesses.
    fn record_itself(&mut self, wakeup: Wakeup) {
        // First, because anything before it would be in the trace as well.
        if let Some(stopper) = &mut self.stopper {
            stopper.consider(&wakeup);
        }
        self.tallies.count(wakeup);
        self.keep_extremes(wakeup);
        if wakeup.late_ns > self.worst.floor_ns() {
            self.worst.keep(&wakeup);
        }
        if wakeup.late_ns > self.lowest_threshold_ns {
            self.pass_thresholds(wakeup);
        }
        let highest_ns = self.max_ns.min(self.worst.floor_ns()).min(self.lowest_threshold_ns);
        self.usual = Usual::between(self.min_ns, highest_ns);
    }

    /// Does the work that depends on time: closes finished blocks, and keeps the maximum of the open one.
    #[inline(always)]
    fn attend(&mut self, late_ns: i64, at_ns: u64, cycle: u64) {
        if at_ns >= self.due_ns {
            self.do_what_is_due(late_ns, at_ns, cycle);
        }
        if late_ns > self.open_maximum_ns {
            self.raise_open_maximum(late_ns);
        }
    }

    fn keep_extremes(&mut self, wakeup: Wakeup) {
        if wakeup.late_ns < self.min_ns {
            self.min_ns = wakeup.late_ns;
            self.total(Total::Min).set(wakeup.late_ns as u64);
        }
        if wakeup.late_ns > self.max_ns {
            self.max_ns = wakeup.late_ns;
            self.total(Total::Max).set(wakeup.late_ns as u64);
            self.total(Total::MaxAt).set(wakeup.at_ns);
        }
    }

    /// Out of line; otherwise the compiler turns it into a conditional move whose result every wake-up stores.
    #[cold]
    #[inline(never)]
    fn raise_open_maximum(&mut self, late_ns: i64) {
        self.open_maximum_ns = late_ns;
    }

    /// The work that not every wake-up or configuration has: the end of a block, and passing samples to the ring.
    #[cold]
    #[inline(never)]
    fn do_what_is_due(&mut self, late_ns: i64, at_ns: u64, cycle: u64) {
        if at_ns >= self.open_block_end_ns {
            self.close_blocks(at_ns);
            self.set_due();
        }
        if let Some(samples) = &mut self.samples
            && !samples.put(Sample { cycle, at_ns, late_ns })
        {
            self.total(Total::SamplesLost).add(1);
        }
    }

    fn set_due(&mut self) {
        self.due_ns = if self.samples.is_some() { 0 } else { self.open_block_end_ns };
    }

    fn total(&self, total: Total) -> &'a Cell64 {
        self.tallies.total(total)
    }

    /// Stores the open block's maximum, and leaves a block empty for each that passed without a wake-up.
    fn close_blocks(&mut self, at_ns: u64) {
        while at_ns >= self.open_block_end_ns {
            if self.maxima_count == BLOCK_COUNT {
                self.double_blocks();
                if at_ns < self.open_block_end_ns {
                    break;
                }
            }
            self.maxima()[self.maxima_count].set(self.open_maximum_ns as u64);
            self.maxima_count += 1;
            self.open_maximum_ns = cells::NO_MAXIMUM;
            self.open_block_end_ns += self.maxima_block_ns;
        }
        self.total(Total::MaximaCount).set(self.maxima_count as u64);
    }

    /// Merges neighbours. The open block becomes the first half of a block twice as long.
    fn double_blocks(&mut self) {
        for index in 0..BLOCK_COUNT / 2 {
            let pair = [self.maxima()[2 * index].get() as i64, self.maxima()[2 * index + 1].get() as i64];
            self.maxima()[index].set(pair[0].max(pair[1]) as u64);
        }
        self.maxima_count = BLOCK_COUNT / 2;
        self.open_block_end_ns += self.maxima_block_ns;
        self.maxima_block_ns *= 2;
        self.total(Total::MaximaBlock).set(self.maxima_block_ns);
    }

    fn pass_thresholds(&self, wakeup: Wakeup) {
        let all = self.tallies.0.cells();
        let time_block = (wakeup.at_ns - self.counted_from_ns) / cells::THRESHOLD_BLOCK_NS;
        for slot in 0..self.thresholds {
            let cell =
                |field: Threshold| &all[cells::THRESHOLDS + slot * cells::THRESHOLD_CELLS + field as usize];
            let limit_ns = cell(Threshold::Limit).get();
            if wakeup.late_ns <= limit_ns as i64 {
                break;
            }
            let beyond =
                missed_periods::filled_beyond(wakeup.late_ns, self.interval_ns, wakeup.missed, limit_ns);
            cell(Threshold::Measured).add(1);
            cell(Threshold::Corrected).add(1 + beyond);
            let last_cycle = cell(Threshold::LastCycle).get();
            if last_cycle == 0 || wakeup.cycle + 1 - last_cycle > cells::CLUSTER_GAP_CYCLES {
                cell(Threshold::Clusters).add(1);
            }
            cell(Threshold::LastCycle).set(wakeup.cycle + beyond + 1);
            if cell(Threshold::Block).get() != time_block {
                let counted = cell(Threshold::InBlock).get();
                cell(Threshold::SquaredCounts).add(counted * counted);
                cell(Threshold::InBlock).set(0);
                cell(Threshold::Block).set(time_block);
            }
            cell(Threshold::InBlock).add(1 + beyond);
        }
    }

    /// Counts `missed` and `dropped` attempts of which only the number is known, up to the `attempted`th. There is no
    /// schedule from which to fill them in.
    pub(crate) fn pass_over(&self, missed: u64, dropped: u64, attempted: u64) {
        let _writing = self.tallies.0.writing();
        self.total(Total::Missed).add(missed);
        self.total(Total::Dropped).add(dropped);
        self.total(Total::Attempted).set(attempted);
    }

    /// Counts missed periods as the kernel reports them.
    #[inline(always)]
    pub(super) fn add_kernel_overruns(&self, overruns: u64) {
        if overruns > 0 {
            self.total(Total::KernelOverruns).add(overruns);
        }
    }

    /// Closes the last block and stores the cost of the counted part.
    pub(crate) fn finish(&mut self, usage: tardy_sys::thread_usage::ThreadUsage) {
        let _writing = self.tallies.0.writing();
        if self.open_maximum_ns != cells::NO_MAXIMUM {
            if self.maxima_count == BLOCK_COUNT {
                self.double_blocks();
            }
            self.maxima()[self.maxima_count].set(self.open_maximum_ns as u64);
            self.maxima_count += 1;
            self.total(Total::MaximaCount).set(self.maxima_count as u64);
        }
        self.total(Total::CpuTime).set(usage.cpu_ns);
        self.total(Total::MinorFaults).set(usage.minor_faults);
        self.total(Total::MajorFaults).set(usage.major_faults);
        self.total(Total::VoluntarySwitches).set(usage.voluntary_switches);
        self.total(Total::InvoluntarySwitches).set(usage.involuntary_switches);
        self.total(Total::Stage).set(Stage::Done as u64);
    }

    fn maxima(&self) -> &'a [Cell64] {
        self.tallies.range(cells::MAXIMA..cells::MEASURED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::CELLS;
    use crate::order::Granted;
    use crate::timer::reading::{Cells, Of, Place, mend};
    use proptest::prelude::*;
    use tardy_record::Series;
    use tardy_record::plan::{ClockId, Policy, ThreadPlan, TimerPlan, Wake};
    use tardy_record::series::WORST_COUNT;
    use tardy_record::series_builder::{Reading, SeriesBuilder};
    use tardy_sys::shared_map::SharedMap;
    use tardy_sys::thread_usage::ThreadUsage;

    const INTERVAL_NS: u64 = 1_000_000;
    const START_NS: u64 = 5_000_000_000;
    const LIMITS: [u64; 2] = [50_000, 2_500_000];

    /// The series that results from recording these latenesses in succession on a schedule.
    fn recorded(lates: &[i64], write: impl FnOnce(&mut [u64])) -> Series {
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 1, CELLS).unwrap();
        let mut recorder = Recorder::new(map.block(0), INTERVAL_NS, &LIMITS, START_NS);
        recorder.set_stage(Stage::Counting);
        for wakeup in wakeups(lates) {
            let Wakeup { late_ns, at_ns, cycle, missed, .. } = wakeup;
            if missed == 0 { recorder.record_single(late_ns, at_ns, cycle) } else { recorder.record(wakeup) }
        }
        recorder.finish(ThreadUsage::default());
        let mut copy = Vec::new();
        assert!(map.block(0).read(&mut copy));
        write(&mut copy);
        let thread =
            ThreadPlan { cpu: 0, pinned: true, priority: 90, interval_ns: INTERVAL_NS, offset_ns: 0 };
        let timer = TimerPlan {
            wake: Wake::ClockNanosleep,
            clock: ClockId::Monotonic,
            dither_ns: 0,
            policy: Policy::Fifo,
            memory_locked: true,
            dma_latency_us: None,
            causes: None,
            threads: vec![thread],
        };
        let granted = Granted { policy: Policy::Fifo, priority: 90, pinned: true };
        Cells(&copy).series(Place {
            phase: 0,
            of: Of::Timer { timer: &timer, thread: &thread },
            granted,
            run_start_ns: START_NS,
        })
    }

    fn wakeups(lates: &[i64]) -> Vec<Wakeup> {
        let mut cycle = 0;
        let wakeup = |late_ns: &i64| {
            let missed = missed_periods::missed_behind(*late_ns, INTERVAL_NS);
            let at_ns = (START_NS + cycle * INTERVAL_NS).saturating_add_signed(*late_ns);
            let wakeup = Wakeup { late_ns: *late_ns, at_ns, cycle, missed, dropped: 0 };
            cycle += 1 + missed;
            wakeup
        };
        lates.iter().map(wakeup).collect()
    }

    fn lates() -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(
            prop_oneof![8 => 0i64..40_000, 1 => -900i64..0, 1 => 0i64..9_000_000, 1 => 0i64..20_000_000_000],
            1..400,
        )
    }

    proptest! {
        #[test]
        fn the_totals_are_those_of_the_samples(lates in lates()) {
            let series = recorded(&lates, |_| {});
            let all = wakeups(&lates);
            let missed: u64 = all.iter().map(|wakeup| wakeup.missed).sum();
            prop_assert_eq!(series.tally.recorded, lates.len() as u64);
            prop_assert_eq!(series.tally.missed.get(), Some(missed));
            prop_assert_eq!(series.tally.attempted.get(), Some(lates.len() as u64 + missed));
            prop_assert_eq!(series.min_ns, lates.iter().min().copied());
            prop_assert_eq!(series.max_ns, lates.iter().max().copied());
            prop_assert_eq!(series.sum_ns.get(), Some(lates.iter().sum::<i64>()));
            let squares: u128 = lates.iter().map(|late| u128::from(late.unsigned_abs()).pow(2)).sum();
            prop_assert_eq!(series.sum_of_squares_ns2.get(), Some(squares));
            prop_assert_eq!(series.measured.total(), lates.len() as u64);
            prop_assert_eq!(series.corrected.as_ref().unwrap().total(), lates.len() as u64 + missed);
        }

        #[test]
        fn a_builder_makes_the_same_series_of_the_same_samples(lates in lates()) {
            let series = recorded(&lates, |_| {});
            let mut builder = SeriesBuilder::new(0, Some(INTERVAL_NS), 0, &LIMITS);
            for wakeup in wakeups(&lates) {
                let Wakeup { late_ns: value_ns, at_ns, cycle, missed, .. } = wakeup;
                // An early first wake-up is before the start, which times in a run cannot represent.
                builder.record(Reading { value_ns, at_ns: at_ns.saturating_sub(START_NS), cycle, missed });
            }
            let Series { label, phase, quantity, level, kind, .. } = series.clone();
            let mut built = builder.series(label, phase, quantity, level, kind);
            built.slices.clear();
            // Times may differ if a wake-up was so early that it preceded the one before it.
            if lates.iter().all(|late| *late >= 0) {
                prop_assert_eq!(built, series);
            } else {
                prop_assert_eq!(built.thresholds, series.thresholds);
                prop_assert_eq!((built.measured, built.corrected), (series.measured, series.corrected));
            }
        }

        #[test]
        fn thresholds_count_every_wait_above_them(lates in lates()) {
            let series = recorded(&lates, |_| {});
            for (count, limit) in series.thresholds.iter().zip(LIMITS) {
                let waits = wakeups(&lates).into_iter().flat_map(|wakeup| {
                    (0..=wakeup.missed).map(move |j| wakeup.late_ns - (j * INTERVAL_NS) as i64)
                });
                let above = |late: &i64| *late > limit as i64;
                prop_assert_eq!(count.measured, lates.iter().filter(|late| above(late)).count() as u64);
                prop_assert_eq!(count.corrected, Some(waits.filter(above).count() as u64));
                prop_assert!(count.clusters <= count.measured);
                prop_assert_eq!(count.clusters == 0, count.measured == 0);
                prop_assert!(count.sum_of_squared_block_counts >= count.corrected.unwrap());
            }
        }

        #[test]
        fn the_worst_samples_are_kept(lates in lates()) {
            let series = recorded(&lates, |_| {});
            let kept: Vec<i64> = series.worst.iter().map(|outlier| outlier.latency_ns).collect();
            let mut expected = lates.clone();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(WORST_COUNT);
            prop_assert_eq!(kept, expected);
        }

        #[test]
        fn a_write_cut_off_anywhere_is_mended_into_a_valid_series(lates in lates(), done in 0u32..u32::MAX) {
            // The writer died in its last sample: any of the totals, of the exceedances and of the missed attempts may still
            // have its value from before it.
            let mut before = Vec::new();
            recorded(&lates[..lates.len() - 1], |copy| before = copy.to_vec());
            let series = recorded(&lates, |copy| {
                let later = (0..cells::WORST).chain(cells::FILLED..cells::CELLS);
                later.filter(|cell| done >> (cell % 32) & 1 == 0).for_each(|cell| copy[cell] = before[cell]);
                mend(copy, true);
            });
            for threshold in &series.thresholds {
                let (at_least, at_most) = series.measured.counts_above(threshold.limit_ns as i64);
                prop_assert!((at_least..=at_most).contains(&threshold.measured));
                let corrected = series.corrected.as_ref().unwrap();
                let (at_least, at_most) = corrected.counts_above(threshold.limit_ns as i64);
                prop_assert!((at_least..=at_most).contains(&threshold.corrected.unwrap()));
            }
            let missed = series.tally.missed.get().unwrap();
            prop_assert_eq!(series.tally.recorded, series.measured.total());
            prop_assert_eq!(series.tally.attempted.get(), Some(series.tally.recorded + missed));
            prop_assert_eq!(series.corrected.as_ref().unwrap().total(), series.tally.recorded + missed);
            let (first, last) = (series.measured.bins()[0], *series.measured.bins().last().unwrap());
            prop_assert!((first.lower_ns..first.upper_ns).contains(&series.min_ns.unwrap()));
            prop_assert!((last.lower_ns..last.upper_ns).contains(&series.max_ns.unwrap()));
        }
    }

    #[test]
    fn the_sum_of_squares_of_usual_samples_may_exceed_64_bits() {
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 1, CELLS).unwrap();
        let mut recorder = Recorder::new(map.block(0), INTERVAL_NS, &[], START_NS);
        let (late_ns, count) = (4_000_000_000, 2 * WORST_COUNT as u64);
        (0..count).for_each(|cycle| recorder.record_single(late_ns, START_NS + cycle, cycle));
        assert!(recorder.usual.contains(late_ns), "as late as all the others");
        let half = |total: Total| u128::from(map.block(0).cells()[total as usize].get());
        let expected = u128::from(count) * u128::from(late_ns.unsigned_abs()).pow(2);
        assert_eq!(half(Total::SquaresHigh) << 64 | half(Total::SquaresLow), expected);
    }

    #[test]
    fn doubling_blocks_keeps_every_maximum_and_the_time_axis() {
        // Ten times as many blocks as fit, plus one that is still open at the end.
        for blocks in [BLOCK_COUNT * 10, BLOCK_COUNT + 1] {
            doubling_keeps_every_maximum_of(blocks);
        }
    }

    fn doubling_keeps_every_maximum_of(blocks: usize) {
        let lates: Vec<i64> = (0..blocks)
            .map(|i| if i == 12_345 || i + 1 == blocks { 777_000 } else { 1000 + (i % 10) as i64 })
            .collect();
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 1, CELLS).unwrap();
        let mut recorder = Recorder::new(map.block(0), cells::MAXIMA_BLOCK_NS, &[], START_NS);
        for (cycle, late_ns) in lates.iter().enumerate() {
            let at_ns = START_NS + cycle as u64 * cells::MAXIMA_BLOCK_NS + *late_ns as u64;
            recorder.record_single(*late_ns, at_ns, cycle as u64);
        }
        recorder.finish(ThreadUsage::default());
        let count = recorder.maxima_count;
        let maxima: Vec<i64> = recorder.maxima()[..count].iter().map(|cell| cell.get() as i64).collect();
        assert!(count > BLOCK_COUNT / 2 && count <= BLOCK_COUNT);
        assert!(count as u64 * recorder.maxima_block_ns >= blocks as u64 * cells::MAXIMA_BLOCK_NS);
        let per_block = (recorder.maxima_block_ns / cells::MAXIMA_BLOCK_NS) as usize;
        for (block, maximum) in maxima.iter().enumerate() {
            let of_block = &lates[block * per_block..blocks.min((block + 1) * per_block)];
            assert_eq!(Some(maximum), of_block.iter().max(), "block {block}");
        }
    }
}
