//! The ways to wait, as the measuring loop sees them.
//!
//! A waiter owns the schedule of its method: which deadline comes next, and which have passed. The loop only asks
//! for the next wake-up. It is compiled once for each waiter, so that nothing is decided while it runs.

use std::io;

use tardy_record::fill::missed_behind;
use tardy_sys::clock::Clock;
use tardy_sys::scheduling;
use tardy_sys::waiting::{self, IntervalTimer, PosixTimer, TimerFd};

/// One wake-up of a waiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Woken {
    /// The time that was waited for, on the waiter's clock.
    pub deadline_ns: i64,
    /// The time of the wake-up, on the same clock.
    pub now_ns: i64,
    /// Deadlines after that one that had passed as well.
    pub missed: u64,
    /// The same as the kernel counted it, for methods that it counts for.
    pub kernel_overruns: u64,
    /// Deadlines before that one whose wake-ups came and could not be used.
    pub dropped: u64,
}

/// A way to wait.
pub(super) trait Waiter {
    /// Waits for the next deadline.
    fn wait(&mut self) -> io::Result<Woken>;
}

/// A schedule of deadlines with seeded dither.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub clock: Clock,
    pub first_ns: i64,
    pub interval_ns: u64,
    pub dither_ns: u64,
    pub seed: u64,
}

/// The deadlines of a method that is told each one: where the grid stands, and how far dither puts it off.
struct Grid {
    schedule: Schedule,
    grid_ns: i64,
    deadline_ns: i64,
    state: u64,
}

impl Grid {
    fn new(schedule: Schedule) -> Self {
        // xorshift64 must not start from 0.
        let state = schedule.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut grid = Self { schedule, grid_ns: schedule.first_ns, deadline_ns: schedule.first_ns, state };
        grid.deadline_ns += grid.next_dither_ns();
        grid
    }

    #[inline(always)]
    fn next_dither_ns(&mut self) -> i64 {
        if self.schedule.dither_ns == 0 {
            return 0;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((u128::from(self.state) * u128::from(self.schedule.dither_ns)) >> 64) as i64
    }

    /// What a wake-up at `now_ns` means, and on to the first deadline after it.
    #[inline(always)]
    fn pass(&mut self, now_ns: i64) -> Woken {
        let deadline_ns = self.deadline_ns;
        // Missed periods are counted on the grid, without the dither that they would have had.
        let missed = if now_ns - self.grid_ns < self.schedule.interval_ns as i64 {
            0
        } else {
            missed_behind(now_ns - self.deadline_ns, self.schedule.interval_ns)
        };
        self.grid_ns += ((missed + 1) * self.schedule.interval_ns) as i64;
        self.deadline_ns = self.grid_ns + self.next_dither_ns();
        Woken { deadline_ns, now_ns, missed, kernel_overruns: 0, dropped: 0 }
    }
}

/// clock_nanosleep(2) to an absolute time.
pub(super) struct ClockNanosleep(Grid);

impl ClockNanosleep {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self(Grid::new(schedule))
    }
}

impl Waiter for ClockNanosleep {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let clock = self.0.schedule.clock;
        waiting::sleep_until(clock, self.0.deadline_ns)?;
        Ok(self.0.pass(clock.now_ns()))
    }
}

/// Spinning on the clock.
pub(super) struct Busy(Grid);

impl Busy {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self(Grid::new(schedule))
    }
}

impl Waiter for Busy {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        loop {
            let now_ns = self.0.schedule.clock.now_ns();
            if now_ns >= self.0.deadline_ns {
                return Ok(self.0.pass(now_ns));
            }
        }
    }
}

/// A relative sleep: there is no schedule, and each deadline is an interval after the clock read before the sleep.
pub(super) struct Nanosleep(Grid);

impl Nanosleep {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self(Grid::new(schedule))
    }
}

impl Waiter for Nanosleep {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let Schedule { clock, interval_ns, .. } = self.0.schedule;
        let duration_ns = interval_ns + self.0.next_dither_ns() as u64;
        let deadline_ns = clock.now_ns() + duration_ns as i64;
        waiting::sleep_for(clock, duration_ns)?;
        Ok(Woken { deadline_ns, now_ns: clock.now_ns(), missed: 0, kernel_overruns: 0, dropped: 0 })
    }
}

/// A POSIX timer and its signal. The kernel counts what is missed.
pub(super) struct TimerSettime {
    timer: PosixTimer,
    clock: Clock,
    deadline_ns: i64,
    interval_ns: u64,
}

impl TimerSettime {
    pub(super) fn new(schedule: Schedule) -> io::Result<Self> {
        let timer = PosixTimer::start(schedule.clock, schedule.first_ns, schedule.interval_ns)?;
        let Schedule { clock, first_ns: deadline_ns, interval_ns, .. } = schedule;
        Ok(Self { timer, clock, deadline_ns, interval_ns })
    }
}

impl Waiter for TimerSettime {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        self.timer.wait()?;
        let now_ns = self.clock.now_ns();
        let overruns = self.timer.overruns();
        let deadline_ns = self.deadline_ns;
        // An expiry after the signal was taken has a signal of its own, so that the kernel's count and not the clock
        // says which deadlines this wake-up stands for.
        self.deadline_ns += ((overruns + 1) * self.interval_ns) as i64;
        Ok(Woken { deadline_ns, now_ns, missed: overruns, kernel_overruns: overruns, dropped: 0 })
    }
}

/// A timer behind a descriptor. The kernel counts what is missed.
pub(super) struct Timerfd {
    timer: TimerFd,
    clock: Clock,
    deadline_ns: i64,
    interval_ns: u64,
}

impl Timerfd {
    pub(super) fn new(schedule: Schedule) -> io::Result<Self> {
        let timer = TimerFd::start(schedule.clock, schedule.first_ns, schedule.interval_ns)?;
        let Schedule { clock, first_ns: deadline_ns, interval_ns, .. } = schedule;
        Ok(Self { timer, clock, deadline_ns, interval_ns })
    }
}

impl Waiter for Timerfd {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let expiries = self.timer.wait()?;
        let now_ns = self.clock.now_ns();
        let deadline_ns = self.deadline_ns;
        self.deadline_ns += (expiries * self.interval_ns) as i64;
        let missed = expiries.saturating_sub(1);
        Ok(Woken { deadline_ns, now_ns, missed, kernel_overruns: missed, dropped: 0 })
    }
}

/// The process's interval timer. It is set going again whole intervals after it was due, when its signal is taken;
/// the kernel counts nothing, so the timer is asked when it is due next.
pub(super) struct Setitimer {
    timer: IntervalTimer,
    clock: Clock,
    deadline_ns: i64,
    interval_ns: u64,
}

impl Setitimer {
    pub(super) fn new(schedule: Schedule) -> io::Result<Self> {
        let Schedule { clock, first_ns, interval_ns, .. } = schedule;
        // The timer starts from a clock that the kernel reads later than this, so that the fraction of a us between
        // the two counts as latency. Late rather than early: no wake-up looks better than it was.
        let now_ns = clock.now_ns();
        let first_in_ns = (first_ns - now_ns).max(1000) as u64 / 1000 * 1000;
        let timer = IntervalTimer::start(first_in_ns, interval_ns)?;
        Ok(Self { timer, clock, deadline_ns: now_ns + first_in_ns as i64, interval_ns })
    }
}

impl Waiter for Setitimer {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        self.timer.wait()?;
        let now_ns = self.clock.now_ns();
        let deadline_ns = self.deadline_ns;
        let interval_ns = self.interval_ns as i64;
        let due_ns = self.clock.now_ns() + self.timer.due_in_ns()? as i64;
        let passed = ((due_ns - deadline_ns + interval_ns / 2) / interval_ns).max(1);
        let missed = ((passed - 1) as u64).min(missed_behind(now_ns - deadline_ns, self.interval_ns));
        self.deadline_ns += (missed as i64 + 1) * interval_ns;
        Ok(Woken { deadline_ns, now_ns, missed, kernel_overruns: 0, dropped: 0 })
    }
}

/// SCHED_DEADLINE's own period, ended by sched_yield(2). The kernel does not say when a period begins; the earliest of
/// a few wake-ups does. After a stall the kernel may have moved its periods (update_dl_entity in
/// kernel/sched/deadline.c), so that they have to be found anew, at the price of a few cycles that count as dropped.
pub(super) struct DeadlinePeriod {
    grid: Grid,
    stalled: bool,
}

impl DeadlinePeriod {
    /// Wake-ups that find the period's beginning.
    const CALIBRATION: usize = 32;

    pub(super) fn new(schedule: Schedule) -> Self {
        let mut waiter = Self { grid: Grid::new(Schedule { dither_ns: 0, ..schedule }), stalled: false };
        waiter.find_period();
        waiter
    }

    /// Finds where periods begin, and makes the next one the next deadline. Tells how many have passed meanwhile.
    fn find_period(&mut self) -> u64 {
        let Schedule { clock, interval_ns, .. } = self.grid.schedule;
        let (interval_ns, was_next_ns) = (interval_ns as i64, self.grid.grid_ns);
        let mut phase_ns = i64::MAX;
        for _ in 0..Self::CALIBRATION {
            scheduling::yield_now();
            phase_ns = phase_ns.min((clock.now_ns() - was_next_ns).rem_euclid(interval_ns));
        }
        let passed = (clock.now_ns() - was_next_ns - phase_ns).div_euclid(interval_ns) + 1;
        self.grid.grid_ns = was_next_ns + phase_ns + passed * interval_ns;
        self.grid.deadline_ns = self.grid.grid_ns;
        passed.max(0) as u64
    }
}

impl Waiter for DeadlinePeriod {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let dropped = if self.stalled { self.find_period() } else { 0 };
        let early_ns = self.grid.schedule.interval_ns as i64 / 2;
        loop {
            scheduling::yield_now();
            let now_ns = self.grid.schedule.clock.now_ns();
            // A task that is behind gets its periods one after the other at once; those are counted as missed.
            if now_ns >= self.grid.deadline_ns - early_ns {
                let woken = self.grid.pass(now_ns);
                self.stalled = woken.missed > 0;
                return Ok(Woken { dropped, ..woken });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dither_ns: u64) -> Grid {
        Grid::new(Schedule { clock: Clock::Monotonic, first_ns: 1000, interval_ns: 100, dither_ns, seed: 1 })
    }

    #[test]
    fn a_late_wakeup_passes_the_deadlines_behind_it() {
        let mut grid = grid(0);
        let woken = grid.pass(1340);
        assert_eq!((woken.deadline_ns, woken.missed, grid.deadline_ns), (1000, 3, 1400));
        let woken = grid.pass(1399);
        assert_eq!((woken.now_ns - woken.deadline_ns, woken.missed, grid.deadline_ns), (-1, 0, 1500));
    }

    #[test]
    fn a_wakeup_on_the_next_deadline_has_passed_it() {
        let mut grid = grid(0);
        assert_eq!(grid.pass(1100).missed, 1);
        assert_eq!(grid.deadline_ns, 1200);
    }

    #[test]
    fn dither_stays_within_its_bound_and_does_not_drift() {
        let mut grid = grid(50);
        let mut seen = std::collections::BTreeSet::new();
        for cycle in 0..1000 {
            let offset = grid.deadline_ns - (1000 + cycle * 100);
            assert!((0..50).contains(&offset), "{offset}");
            seen.insert(offset);
            grid.pass(grid.deadline_ns);
        }
        assert!(seen.len() > 40, "the dither hardly varies: {seen:?}");
    }
}
