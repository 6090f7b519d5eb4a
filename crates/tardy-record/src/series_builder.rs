//! Builds a series in memory from readings in order, from the kernel's trace or from another tool's file.
//!
//! The timer probe counts the same in a map that outlives it, with code that never allocates (tardy-probe,
//! `timer/recorder.rs`); a test there compares the two.

use crate::block_maxima::{BLOCK_COUNT, BLOCK_NS, BlockMaxima};
use crate::histogram::Histogram;
use crate::knowable::Knowable;
use crate::layout::{COARSE, FINE, LogLinear};
use crate::level::{Level, Quantity};
use crate::missed_periods;
use crate::series::{Change, Outlier, Series, SeriesKind, Tally, WORST_COUNT};
use crate::slice::{self, SLICE_COUNT, Slice};
use crate::threshold::{CLUSTER_GAP_CYCLES, THRESHOLD_BLOCK_NS, ThresholdCount};

/// The shortest first slice, in ns.
const SLICE_NS_MIN: u64 = 1_000_000_000;

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The value, in ns; a negative latency is early.
    pub value_ns: i64,
    /// When it was taken, in ns from the start of the run; not before the previous reading.
    pub at_ns: u64,
    /// The cycle's number, from 0 at the start of the counted part.
    pub cycle: u64,
    /// Further deadlines that passed before it.
    pub missed: u64,
}

/// Builds a [`Series`] from readings.
#[derive(Clone, Debug)]
pub struct SeriesBuilder {
    /// From one deadline to the next; `None` without a schedule.
    interval_ns: Option<u64>,
    start_ns: u64,
    end_ns: u64,
    recorded: u64,
    missed: u64,
    dropped: u64,
    min_ns: i64,
    max_ns: i64,
    max_at_ns: u64,
    sum_ns: i64,
    sum_of_squares_ns2: u128,
    missed_sum_ns: i64,
    measured: Dense,
    filled: Dense,
    maxima: Maxima,
    thresholds: Vec<Exceedances>,
    worst: Vec<Outlier>,
    slices: Vec<Slice>,
    slice: OpenSlice,
}

impl SeriesBuilder {
    /// Creates a builder for a series that counts from `start_ns` after the start of the run, for about `planned_ns`.
    /// `interval_ns` is the schedule of the readings, if they have one. Values above each of `thresholds_ns` are
    /// counted.
    pub fn new(start_ns: u64, interval_ns: Option<u64>, planned_ns: u64, thresholds_ns: &[u64]) -> Self {
        Self {
            interval_ns: interval_ns.map(|ns| ns.max(1)),
            start_ns,
            end_ns: start_ns,
            recorded: 0,
            missed: 0,
            dropped: 0,
            min_ns: i64::MAX,
            max_ns: i64::MIN,
            max_at_ns: 0,
            sum_ns: 0,
            sum_of_squares_ns2: 0,
            missed_sum_ns: 0,
            measured: Dense::new(FINE),
            filled: Dense::new(FINE),
            maxima: Maxima {
                open: None,
                end_ns: start_ns + BLOCK_NS,
                block_ns: BLOCK_NS,
                closed: Vec::new(),
            },
            thresholds: thresholds_ns.iter().map(|limit| Exceedances::of(*limit)).collect(),
            worst: Vec::new(),
            slices: Vec::new(),
            slice: OpenSlice {
                start_ns,
                length_ns: (planned_ns / SLICE_COUNT as u64).max(SLICE_NS_MIN),
                counts: Dense::new(COARSE),
            },
        }
    }

    /// The same for values that are multiples of `unit_ns`, truncated to it: bins are wider by that factor, so that
    /// none is finer than the measurement.
    ///
    /// # Panics
    /// If `unit_ns` is 0, or there is a schedule: missed periods have a resolution of 1 ns.
    pub fn of_unit(mut self, unit_ns: u32) -> Self {
        assert!(unit_ns == 1 || self.interval_ns.is_none(), "missed periods are filled in to the nanosecond");
        for counts in [&mut self.measured, &mut self.filled, &mut self.slice.counts] {
            counts.unit_ns = i64::from(unit_ns.max(1));
        }
        self
    }

    /// Adds a reading.
    #[inline]
    pub fn record(&mut self, reading: Reading) {
        let Reading { value_ns, at_ns, .. } = reading;
        let at_ns = at_ns.max(self.end_ns);
        self.end_ns = at_ns;
        self.recorded += 1;
        self.min_ns = self.min_ns.min(value_ns);
        if value_ns > self.max_ns {
            (self.max_ns, self.max_at_ns) = (value_ns, at_ns);
        }
        self.sum_ns = self.sum_ns.saturating_add(value_ns);
        let magnitude = u128::from(value_ns.unsigned_abs());
        self.sum_of_squares_ns2 = self.sum_of_squares_ns2.saturating_add(magnitude * magnitude);
        let units = self.measured.in_units(value_ns);
        let fine = FINE.index(units.unsigned_abs());
        self.measured.count_bin(units < 0, fine, 1);
        self.slice.counts.count_bin(units < 0, COARSE.of_fine(fine), 1);
        if reading.missed > 0 {
            self.fill(reading);
        }
        if at_ns >= self.maxima.end_ns {
            self.maxima.close(at_ns);
        }
        if self.maxima.open.is_none_or(|open_ns| open_ns < value_ns) {
            self.maxima.open = Some(value_ns);
        }
        if self.worst.len() < WORST_COUNT || value_ns > self.worst[WORST_COUNT - 1].latency_ns {
            self.keep_among_worst(reading, at_ns);
        }
        let since_start_ns = at_ns - self.start_ns;
        for exceedances in &mut self.thresholds {
            exceedances.add(reading, self.interval_ns, since_start_ns);
        }
        if at_ns - self.slice.start_ns >= self.slice.length_ns {
            self.cut_slice(at_ns);
        }
    }

    /// Adds readings that were lost.
    pub fn drop_readings(&mut self, count: u64) {
        self.dropped += count;
    }

    /// Adds missed readings of which only the number is known, because they have no schedule.
    pub fn miss_readings(&mut self, count: u64) {
        self.missed += count;
    }

    /// The number of readings.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// The highest value so far.
    pub fn max_ns(&self) -> Option<i64> {
        (self.recorded > 0).then_some(self.max_ns)
    }

    /// Stores the changes that the watchers detected around the worst readings that came at or after `since_ns`.
    pub fn annotate_worst(&mut self, since_ns: u64, changes: &[Change]) {
        let new = self.worst.iter_mut().filter(|one| one.at_ns >= since_ns && one.around.is_empty());
        new.for_each(|outlier| outlier.around = changes.to_vec());
    }

    /// The series so far.
    pub fn series(
        &self,
        label: String,
        phase: usize,
        quantity: Quantity,
        level: Level,
        kind: SeriesKind,
    ) -> Series {
        let has_schedule = self.interval_ns.is_some();
        let known = |value: i64| (self.recorded > 0).then_some(value);
        let measured = self.measured.histogram();
        let corrected = has_schedule.then(|| {
            let mut corrected = measured.clone();
            corrected.merge(&self.filled.histogram()).expect("one layout");
            corrected
        });
        let mut slices = self.slices.clone();
        if self.slice.counts.occupied {
            // Readings at the moment when the previous slice ended make a slice of 1 ns.
            let end_ns = self.end_ns.max(self.slice.start_ns + 1);
            slice::push(&mut slices, self.slice.cut(end_ns)).expect("one layout");
        }
        Series {
            label,
            phase,
            quantity,
            level,
            counted_ns: self.end_ns - self.start_ns,
            tally: Tally {
                attempted: Knowable::Known(self.recorded + self.missed + self.dropped),
                recorded: self.recorded,
                missed: Knowable::Known(self.missed),
                dropped: Knowable::Known(self.dropped),
            },
            min_ns: known(self.min_ns),
            max_ns: known(self.max_ns),
            max_at_ns: (self.recorded > 0).then_some(self.max_at_ns),
            sum_ns: Knowable::Known(self.sum_ns),
            sum_of_squares_ns2: Knowable::Known(self.sum_of_squares_ns2),
            max_at_least: false,
            missed_sum_ns: self.missed_sum_ns,
            measured,
            corrected,
            slices,
            block_maxima: self.maxima.so_far(self.start_ns),
            thresholds: self
                .thresholds
                .iter()
                .map(|one| one.so_far(has_schedule, self.counted_ns()))
                .collect(),
            worst: self.worst_first(),
            kind,
        }
    }

    fn counted_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Counts the further deadlines that passed before a late reading.
    fn fill(&mut self, reading: Reading) {
        let Reading { value_ns, missed, .. } = reading;
        let Some(interval_ns) = self.interval_ns else { return };
        self.missed += missed;
        self.missed_sum_ns += missed_periods::filled_sum_ns(value_ns, interval_ns, missed);
        let (filled, slice) = (&mut self.filled, &mut self.slice.counts);
        missed_periods::fill(value_ns, interval_ns, missed, |bin, count| {
            let lower_ns = FINE.edges(bin).0;
            filled.count(lower_ns, count);
            slice.count(lower_ns, count);
        });
    }

    /// Ends the open slice with the reading at `at_ns`.
    #[cold]
    fn cut_slice(&mut self, at_ns: u64) {
        let merged = self.slices.len() >= SLICE_COUNT;
        slice::push(&mut self.slices, self.slice.cut(at_ns)).expect("one layout");
        self.slice.length_ns *= if merged { 2 } else { 1 };
        self.slice.start_ns = at_ns;
        self.slice.counts.clear();
    }

    /// Adds a reading to the worst ones.
    #[cold]
    fn keep_among_worst(&mut self, reading: Reading, at_ns: u64) {
        let outlier = Outlier {
            latency_ns: reading.value_ns,
            at_ns,
            cycle: reading.cycle,
            around: Vec::new(),
            overlaps: None,
            moment: None,
        };
        if self.worst.len() < WORST_COUNT {
            self.worst.push(outlier);
        } else {
            self.worst[WORST_COUNT - 1] = outlier;
        }
        // Sorted, so that the least is last; readings in ascending order are inserted without a search.
        let last = self.worst.len() - 1;
        let place = self.worst[..last].partition_point(|one| one.latency_ns >= reading.value_ns);
        self.worst[place..].rotate_right(1);
    }

    fn worst_first(&self) -> Vec<Outlier> {
        let mut worst = self.worst.clone();
        worst.sort_by_key(|outlier| (std::cmp::Reverse(outlier.latency_ns), outlier.at_ns));
        worst
    }
}

/// A counter for each bin of a layout: the most frequent operation needs no search.
#[derive(Clone, Debug)]
struct Dense {
    layout: LogLinear,
    /// The unit that values are multiples of, in ns: bins are wider by this factor.
    unit_ns: i64,
    positive: Vec<u64>,
    /// Empty until the first negative value.
    negative: Vec<u64>,
    occupied: bool,
}

impl Dense {
    fn new(layout: LogLinear) -> Self {
        let positive = vec![0; layout.bin_count()];
        Self { layout, unit_ns: 1, positive, negative: Vec::new(), occupied: false }
    }

    /// The value in units. The two usual units have a branch each, because division by a constant compiles to a
    /// multiplication.
    #[inline]
    fn in_units(&self, value_ns: i64) -> i64 {
        match self.unit_ns {
            1 => value_ns,
            1000 => value_ns.div_euclid(1000),
            unit_ns => value_ns.div_euclid(unit_ns),
        }
    }

    fn count(&mut self, value_ns: i64, count: u64) {
        let units = self.in_units(value_ns);
        self.count_bin(units < 0, self.layout.index(units.unsigned_abs()), count);
    }

    /// Counts in a bin of negative values or of the others.
    #[inline(always)]
    fn count_bin(&mut self, is_negative: bool, index: usize, count: u64) {
        self.occupied = true;
        if !is_negative {
            self.positive[index] += count;
            return;
        }
        if self.negative.is_empty() {
            self.negative = vec![0; self.layout.bin_count()];
        }
        self.negative[index] += count;
    }

    fn clear(&mut self) {
        if self.occupied {
            self.positive.fill(0);
            self.negative.clear();
            self.occupied = false;
        }
    }

    fn histogram(&self) -> Histogram {
        Histogram::from_dense_of(self.layout, self.unit_ns, &self.negative, &self.positive)
    }
}

/// The open slice.
#[derive(Clone, Debug)]
struct OpenSlice {
    start_ns: u64,
    length_ns: u64,
    counts: Dense,
}

impl OpenSlice {
    fn cut(&self, end_ns: u64) -> Slice {
        Slice { start_ns: self.start_ns, end_ns, histogram: self.counts.histogram() }
    }
}

/// Block maxima that merge in pairs when full.
#[derive(Clone, Debug)]
struct Maxima {
    open: Option<i64>,
    end_ns: u64,
    block_ns: u64,
    closed: Vec<Option<i64>>,
}

impl Maxima {
    /// Closes the blocks that end before `at_ns`.
    #[cold]
    fn close(&mut self, at_ns: u64) {
        while at_ns >= self.end_ns {
            if self.closed.len() == BLOCK_COUNT {
                self.double();
                if at_ns < self.end_ns {
                    break;
                }
            }
            self.closed.push(self.open.take());
            self.end_ns += self.block_ns;
        }
    }

    /// Merges the closed blocks in pairs. The open block becomes the first half of a block twice as long.
    fn double(&mut self) {
        self.closed = self.closed.chunks(2).map(|pair| pair.iter().copied().max().flatten()).collect();
        self.end_ns += self.block_ns;
        self.block_ns *= 2;
    }

    fn so_far(&self, start_ns: u64) -> BlockMaxima {
        let mut all = self.clone();
        if all.open.is_some() {
            if all.closed.len() == BLOCK_COUNT {
                all.double();
            }
            all.closed.push(all.open);
        }
        BlockMaxima { start_ns, block_ns: all.block_ns, maxima_ns: all.closed }
    }
}

/// The exceedances of one threshold.
#[derive(Clone, Debug)]
struct Exceedances {
    limit_ns: u64,
    measured: u64,
    corrected: u64,
    clusters: u64,
    last_cycle: Option<u64>,
    in_block: u64,
    block: u64,
    squared_counts: u64,
}

impl Exceedances {
    fn of(limit_ns: u64) -> Self {
        Self {
            limit_ns,
            measured: 0,
            corrected: 0,
            clusters: 0,
            last_cycle: None,
            in_block: 0,
            block: 0,
            squared_counts: 0,
        }
    }

    fn add(&mut self, reading: Reading, interval_ns: Option<u64>, since_start_ns: u64) {
        let Reading { value_ns, cycle, missed, .. } = reading;
        if value_ns <= 0 || value_ns.unsigned_abs() <= self.limit_ns {
            return;
        }
        let beyond =
            interval_ns.map_or(0, |ns| missed_periods::filled_beyond(value_ns, ns, missed, self.limit_ns));
        self.measured += 1;
        self.corrected += 1 + beyond;
        if self.last_cycle.is_none_or(|last| cycle.saturating_sub(last) > CLUSTER_GAP_CYCLES) {
            self.clusters += 1;
        }
        self.last_cycle = Some(cycle + beyond);
        let block = since_start_ns / THRESHOLD_BLOCK_NS;
        if block != self.block {
            self.squared_counts += self.in_block * self.in_block;
            (self.in_block, self.block) = (0, block);
        }
        self.in_block += 1 + beyond;
    }

    fn so_far(&self, has_schedule: bool, counted_ns: u64) -> ThresholdCount {
        ThresholdCount {
            limit_ns: self.limit_ns,
            measured: self.measured,
            corrected: has_schedule.then_some(self.corrected),
            clusters: self.clusters,
            cluster_gap_cycles: CLUSTER_GAP_CYCLES,
            sum_of_squared_block_counts: self.squared_counts + self.in_block * self.in_block,
            blocks: counted_ns.div_ceil(THRESHOLD_BLOCK_NS).max(1),
            block_ns: THRESHOLD_BLOCK_NS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{TraceSeries, TraceSource};
    use proptest::prelude::*;

    const INTERVAL_NS: u64 = 1_000_000;

    fn series(builder: &SeriesBuilder) -> Series {
        let trace = TraceSeries {
            cpu: 0,
            source: TraceSource::Events,
            interval_ns: INTERVAL_NS,
            beside: true,
            lost_events: 0,
        };
        builder.series("x".to_owned(), 0, Quantity::Latency, Level::Irq, SeriesKind::Trace(trace))
    }

    #[test]
    fn a_reading_at_the_edge_of_a_slice_is_in_one() {
        let mut builder = SeriesBuilder::new(0, Some(INTERVAL_NS), 0, &[]);
        for at_ns in [SLICE_NS_MIN / 2, SLICE_NS_MIN, SLICE_NS_MIN, 3 * SLICE_NS_MIN] {
            builder.record(Reading { value_ns: 7, at_ns, cycle: 0, missed: 0 });
            let series = series(&builder);
            let in_slices: u64 = series.slices.iter().map(|slice| slice.histogram.total()).sum();
            assert_eq!(in_slices, series.tally.recorded, "at {at_ns}");
            assert!(series.slices.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        }
    }

    #[test]
    fn without_readings_there_is_no_minimum() {
        let series = series(&SeriesBuilder::new(5, Some(INTERVAL_NS), 0, &[7]));
        assert_eq!((series.min_ns, series.max_ns, series.max_at_ns), (None, None, None));
        assert!(series.slices.is_empty() && series.block_maxima.maxima_ns.is_empty());
    }

    proptest! {
        #[test]
        fn every_reading_is_in_every_part(lates in prop::collection::vec(-900i64..9_000_000, 1..3000), dropped in 0u64..5) {
            let mut builder = SeriesBuilder::new(1000, Some(INTERVAL_NS), 0, &[50_000]);
            let (mut cycle, mut missed_all) = (0, 0);
            for late in &lates {
                let missed = missed_periods::missed_behind(*late, INTERVAL_NS);
                let at_ns = 2000 + (cycle * INTERVAL_NS).saturating_add_signed(*late);
                builder.record(Reading { value_ns: *late, at_ns, cycle, missed });
                cycle += 1 + missed;
                missed_all += missed;
            }
            builder.drop_readings(dropped);
            let series = series(&builder);
            let total = lates.len() as u64 + missed_all;
            prop_assert_eq!(series.tally.attempted.get(), Some(total + dropped));
            prop_assert_eq!(series.measured.total(), lates.len() as u64);
            prop_assert_eq!(series.corrected.as_ref().unwrap().total(), total);
            prop_assert_eq!(series.slices.iter().map(|slice| slice.histogram.total()).sum::<u64>(), total);
            prop_assert_eq!(series.sum_ns.get(), Some(lates.iter().sum::<i64>()));
            let mut expected = lates.clone();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(WORST_COUNT);
            let worst: Vec<i64> = series.worst.iter().map(|one| one.latency_ns).collect();
            prop_assert_eq!(worst, expected);
            prop_assert_eq!(series.block_maxima.maxima_ns.iter().flatten().max(), lates.iter().max());
        }
    }
}
