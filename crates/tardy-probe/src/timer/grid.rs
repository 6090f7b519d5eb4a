//! The deadlines of a schedule: at equal intervals, optionally with a random delay (dither).
//!
//! Each kind is a type, so that a measuring loop without dither does not have to check for dither at each wake-up.
//! Times are in ns on the waiter's clock.

use tardy_record::missed_periods::missed_behind;
use tardy_sys::clock::Clock;

use super::woken::Woken;

/// A schedule of deadlines with seeded dither.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The clock of the deadlines.
    pub clock: Clock,
    /// The first deadline on that clock.
    pub first_ns: i64,
    /// From one deadline to the next, before dither.
    pub interval_ns: u64,
    /// Each deadline is delayed at random by less than this.
    pub dither_ns: u64,
    /// Seed of the dither.
    pub seed: u64,
}

/// The deadlines of a method that waits for each one.
pub trait Deadlines {
    /// The deadline to wait for.
    fn next_ns(&self) -> i64;

    /// The result of a wake-up at `now_ns`. Advances to the first deadline after it.
    fn pass(&mut self, now_ns: i64) -> Woken;
}

/// Deadlines at equal intervals.
pub struct Grid {
    interval_ns: u64,
    next_ns: i64,
}

impl Grid {
    /// The grid of `schedule`, without its dither.
    pub fn new(schedule: Schedule) -> Self {
        Self { interval_ns: schedule.interval_ns, next_ns: schedule.first_ns }
    }

    /// The interval between two deadlines.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Makes `next_ns` the deadline to wait for.
    pub fn move_to(&mut self, next_ns: i64) {
        self.next_ns = next_ns;
    }

    /// Advances to the first deadline after `now_ns`. Returns how many were missed after `deadline_ns`, which was
    /// waited for.
    #[inline(always)]
    fn advance(&mut self, deadline_ns: i64, now_ns: i64) -> u64 {
        self.next_ns += self.interval_ns as i64;
        if now_ns < self.next_ns { 0 } else { self.miss(now_ns - deadline_ns) }
    }

    #[cold]
    fn miss(&mut self, late_ns: i64) -> u64 {
        let missed = missed_behind(late_ns, self.interval_ns);
        self.next_ns += (missed * self.interval_ns) as i64;
        missed
    }
}

impl Deadlines for Grid {
    #[inline(always)]
    fn next_ns(&self) -> i64 {
        self.next_ns
    }

    #[inline(always)]
    fn pass(&mut self, now_ns: i64) -> Woken {
        let deadline_ns = self.next_ns;
        let missed = self.advance(deadline_ns, now_ns);
        Woken { deadline_ns, now_ns, missed, kernel_overruns: 0, dropped: 0 }
    }
}

/// The random delays of deadlines, below a bound (xorshift64).
pub struct Dither {
    bound_ns: u64,
    state: u64,
}

impl Dither {
    /// The dither of `schedule`.
    pub fn new(schedule: Schedule) -> Self {
        // xorshift64 must not start from 0.
        Self { bound_ns: schedule.dither_ns, state: schedule.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// The delay of the next deadline.
    #[inline(always)]
    pub fn next_ns(&mut self) -> i64 {
        if self.bound_ns == 0 {
            return 0;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((u128::from(self.state) * u128::from(self.bound_ns)) >> 64) as i64
    }
}

/// Deadlines on a grid, each with a random delay.
pub struct DitheredGrid {
    grid: Grid,
    dither: Dither,
    put_off_ns: i64,
}

impl DitheredGrid {
    /// The deadlines of `schedule`.
    pub fn new(schedule: Schedule) -> Self {
        let mut dither = Dither::new(schedule);
        let put_off_ns = dither.next_ns();
        Self { grid: Grid::new(schedule), dither, put_off_ns }
    }
}

impl Deadlines for DitheredGrid {
    #[inline(always)]
    fn next_ns(&self) -> i64 {
        self.grid.next_ns + self.put_off_ns
    }

    #[inline(always)]
    fn pass(&mut self, now_ns: i64) -> Woken {
        let deadline_ns = self.next_ns();
        // Missed periods are counted on the grid, without the dither that they would have had.
        let missed = self.grid.advance(deadline_ns, now_ns);
        self.put_off_ns = self.dither.next_ns();
        Woken { deadline_ns, now_ns, missed, kernel_overruns: 0, dropped: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(dither_ns: u64) -> Schedule {
        Schedule { clock: Clock::Monotonic, first_ns: 1000, interval_ns: 100, dither_ns, seed: 1 }
    }

    #[test]
    fn a_late_wakeup_passes_the_deadlines_behind_it() {
        let mut grid = Grid::new(schedule(0));
        let woken = grid.pass(1340);
        assert_eq!((woken.deadline_ns, woken.missed, grid.next_ns()), (1000, 3, 1400));
        let woken = grid.pass(1399);
        assert_eq!((woken.now_ns - woken.deadline_ns, woken.missed, grid.next_ns()), (-1, 0, 1500));
    }

    #[test]
    fn a_wakeup_on_the_next_deadline_has_missed_it() {
        let mut grid = Grid::new(schedule(0));
        assert_eq!(grid.pass(1100).missed, 1);
        assert_eq!(grid.next_ns(), 1200);
    }

    #[test]
    fn a_dither_of_zero_is_an_even_grid() {
        let (mut even, mut dithered) = (Grid::new(schedule(0)), DitheredGrid::new(schedule(0)));
        for now_ns in [1003, 1099, 1200, 1550, 1600, 1601] {
            let (one, other) = (even.pass(now_ns), dithered.pass(now_ns));
            assert_eq!((one.deadline_ns, one.missed), (other.deadline_ns, other.missed));
            assert_eq!(even.next_ns(), dithered.next_ns());
        }
    }

    #[test]
    fn missed_periods_are_counted_from_the_dithered_deadline() {
        let mut grid = DitheredGrid::new(schedule(50));
        let deadline_ns = grid.next_ns();
        // After the grid's next deadline, but less than an interval after its own.
        let woken = grid.pass(deadline_ns + 99);
        assert_eq!((woken.deadline_ns, woken.missed), (deadline_ns, 0));
        assert!((1100..1150).contains(&grid.next_ns()));
    }

    #[test]
    fn dither_stays_within_its_bound_and_does_not_drift() {
        let mut grid = DitheredGrid::new(schedule(50));
        let mut seen = std::collections::BTreeSet::new();
        for cycle in 0..1000 {
            let offset = grid.next_ns() - (1000 + cycle * 100);
            assert!((0..50).contains(&offset), "{offset}");
            seen.insert(offset);
            grid.pass(grid.next_ns());
        }
        assert!(seen.len() > 40, "the dither hardly varies: {seen:?}");
    }
}
