//! Series from cycles: the latency at each level, relative to the same deadline.
//!
//! Each level has counts like the thread itself: recorded cycles, deadlines missed while waiting for the level, and
//! lost cycles add up to the attempted ones. A deadline that passed while the thread was late at a higher level was
//! never attempted at a lower one, because no timer was started for it.

use tardy_record::missed_periods::missed_behind;
use tardy_record::series::{Change, Level, Quantity, Series, SeriesKind, TraceSeries, TraceSource};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use super::cycles::Cycle;

/// The levels that events show, lowest first.
pub const LEVELS: [Level; 3] = [Level::Irq, Level::Wakeup, Level::KernelThread];

/// The label of a level's series, such as `cpu 1, timer IRQ`.
pub fn label(cpu: u32, level: Level) -> String {
    format!("cpu {cpu}, {}", level.name())
}

/// The part of a thread's schedule that its levels need. Times on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The thread's CPU.
    pub cpu: u32,
    /// The thread's first deadline, without dither.
    pub first_ns: u64,
    /// The interval between deadlines.
    pub interval_ns: u64,
    /// The maximum number of counted cycles.
    pub cycles: u64,
    /// Start of the run.
    pub run_start_ns: u64,
}

/// The levels of one thread.
#[derive(Clone, Debug)]
pub struct ThreadLevels {
    grid: Grid,
    /// The deadline of cycle 0, without dither.
    first_counted_ns: u64,
    levels: [LevelCount; 3],
}

#[derive(Clone, Debug)]
struct LevelCount {
    builder: SeriesBuilder,
    /// The first cycle that has not been seen yet.
    next_cycle: u64,
}

impl ThreadLevels {
    /// Levels that count from `counted_from_ns` on the monotonic clock, for about `planned_ns`.
    pub fn new(grid: Grid, counted_from_ns: u64, planned_ns: u64, thresholds_ns: &[u64]) -> Self {
        let passed = counted_from_ns.saturating_sub(grid.first_ns).div_ceil(grid.interval_ns);
        let start_ns = counted_from_ns.saturating_sub(grid.run_start_ns);
        let builder = SeriesBuilder::new(start_ns, Some(grid.interval_ns), planned_ns, thresholds_ns);
        let level = LevelCount { builder, next_cycle: 0 };
        Self {
            grid,
            first_counted_ns: grid.first_ns + passed * grid.interval_ns,
            levels: [level.clone(), level.clone(), level],
        }
    }

    /// Adds a cycle; ignores it if its deadline is outside the counted part.
    pub fn add(&mut self, cycle: Cycle) {
        let since_first =
            u64::try_from(cycle.expires_ns).ok().and_then(|at| at.checked_sub(self.first_counted_ns));
        let Some(number) = since_first.map(|ns| ns / self.grid.interval_ns) else { return };
        if number >= self.grid.cycles {
            return;
        }
        for (level, at_ns) in self.levels.iter_mut().zip([cycle.irq_ns, cycle.wakeup_ns, cycle.switch_ns]) {
            if number < level.next_cycle {
                continue;
            }
            if cycle.after_loss {
                level.builder.drop_readings(number - level.next_cycle);
            }
            let value_ns = (at_ns as i64).saturating_sub(cycle.expires_ns);
            let missed = missed_behind(value_ns, self.grid.interval_ns).min(self.grid.cycles - number - 1);
            let at_ns = at_ns.saturating_sub(self.grid.run_start_ns);
            level.builder.record(Reading { value_ns, at_ns, cycle: number, missed });
            level.next_cycle = number + 1 + missed;
        }
    }

    /// Completes the counts: if events were `lost`, the thread's `attempted` cycles after the last one seen are
    /// dropped.
    pub fn finish(&mut self, attempted: u64, lost: bool) {
        for level in self.levels.iter_mut().filter(|_| lost) {
            level.builder.drop_readings(attempted.saturating_sub(level.next_cycle));
            level.next_cycle = level.next_cycle.max(attempted);
        }
    }

    /// Attaches the watchers' changes to the worst samples that came at or after `since_ns` of the run.
    pub fn annotate_worst(&mut self, since_ns: u64, changes: &[Change]) {
        self.levels.iter_mut().for_each(|level| level.builder.annotate_worst(since_ns, changes));
    }

    /// The series so far, lowest level first.
    pub fn series(&self, phase: usize, lost_events: u64) -> impl Iterator<Item = Series> {
        let Grid { cpu, interval_ns, .. } = self.grid;
        LEVELS.into_iter().zip(&self.levels).map(move |(level, count)| {
            let trace =
                TraceSeries { cpu, source: TraceSource::Events, interval_ns, beside: true, lost_events };
            let kind = SeriesKind::Trace(trace);
            count.builder.series(label(cpu, level), phase, Quantity::Latency, level, kind)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GRID: Grid = Grid { cpu: 1, first_ns: 1500, interval_ns: 100, cycles: 1000, run_start_ns: 1000 };

    fn cycle(expires_ns: i64, late: [u64; 3], after_loss: bool) -> Cycle {
        let at = |late: u64| expires_ns as u64 + late;
        let [irq_ns, wakeup_ns, switch_ns] = late.map(at);
        Cycle { thread: 0, expires_ns, irq_ns, wakeup_ns, switch_ns, after_loss }
    }

    fn tallies(levels: &ThreadLevels) -> Vec<[u64; 4]> {
        let known = |series: Series| {
            let tally = series.tally;
            [tally.attempted.get(), Some(tally.recorded), tally.missed.get(), tally.dropped.get()]
                .map(Option::unwrap)
        };
        levels.series(0, 0).map(known).collect()
    }

    #[test]
    fn warm_up_does_not_count() {
        let mut levels = ThreadLevels::new(GRID, 1703, 0, &[]);
        for expires in [1600, 1700, 1800, 1900] {
            levels.add(cycle(expires, [1, 2, 3], false));
        }
        assert_eq!(tallies(&levels), [[2, 2, 0, 0]; 3]);
        let irq = levels.series(0, 0).next().unwrap();
        assert_eq!((irq.min_ns, irq.max_ns, irq.label.as_str()), (Some(1), Some(1), "cpu 1, timer IRQ"));
        assert_eq!(irq.worst[0].cycle, 0);
    }

    #[test]
    fn a_level_misses_deadlines_that_passed_during_its_wait() {
        let mut levels = ThreadLevels::new(GRID, 1500, 0, &[]);
        levels.add(cycle(1500, [5, 120, 350], false));
        levels.add(cycle(1900, [5, 6, 7], false));
        assert_eq!(tallies(&levels), [[2, 2, 0, 0], [3, 2, 1, 0], [5, 2, 3, 0]]);
    }

    #[test]
    fn cycles_lost_with_events_count_as_dropped() {
        let mut levels = ThreadLevels::new(GRID, 1500, 0, &[]);
        levels.add(cycle(1500, [5, 6, 7], false));
        levels.add(cycle(2000, [5, 6, 7], true));
        levels.finish(10, true);
        assert_eq!(tallies(&levels), [[10, 2, 0, 8]; 3]);
        levels.finish(10, true);
        assert_eq!(tallies(&levels), [[10, 2, 0, 8]; 3]);
    }

    proptest! {
        #[test]
        fn counts_always_add_up(cycles in prop::collection::vec((any::<i64>(), 0i64..3000, any::<bool>()), 0..50)) {
            let mut levels = ThreadLevels::new(GRID, 1600, 0, &[50]);
            for (wild, near, after_loss) in cycles {
                levels.add(Cycle { expires_ns: wild, ..cycle(near, [1, 2, 3], after_loss) });
                levels.add(cycle(1500 + near, [near as u64, near as u64 + 1, 5000], after_loss));
            }
            for [attempted, recorded, missed, dropped] in tallies(&levels) {
                prop_assert_eq!(attempted, recorded + missed + dropped);
                prop_assert!(attempted <= GRID.cycles);
            }
        }
    }
}
