//! The ways to wait, as the measuring loop uses them.
//!
//! A waiter has the schedule of its method: the next deadline, and the missed ones. The loop only requests the next wake-up. It
//! is compiled once for each waiter, so that it needs no dispatch at run time.

use std::io;

use tardy_record::missed_periods::missed_behind;
use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::scheduling;
use tardy_sys::waiting::{IntervalTimer, PosixTimer, Sleeper, TimerFd};

use super::grid::{Deadlines, Dither, DitheredGrid, Grid, Schedule};
use super::woken::Woken;

/// A way to wait.
pub trait Waiter {
    /// Whether the method may have no schedule, so that only the clock can end the counted time.
    const MAY_END_BY_CLOCK: bool = false;

    /// Waits for the next deadline.
    ///
    /// # Errors
    /// `Interrupted` if a signal arrived, or if the clock was set back while the waiter spins. The next call waits for the
    /// same deadline.
    fn wait(&mut self) -> io::Result<Woken>;
}

/// clock_nanosleep(2) to an absolute time.
pub struct ClockNanosleep<D> {
    deadlines: D,
    sleeper: Sleeper,
    clock: ClockReader,
}

impl<D: Deadlines> ClockNanosleep<D> {
    /// Waits for `deadlines` on `clock`.
    pub fn new(deadlines: D, clock: Clock) -> Self {
        Self { deadlines, sleeper: Sleeper::new(clock), clock: ClockReader::new(clock) }
    }
}

impl<D: Deadlines> Waiter for ClockNanosleep<D> {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        self.sleeper.sleep_until(self.deadlines.next_ns())?;
        Ok(self.deadlines.pass(self.clock.now_ns()))
    }
}

/// A spinning thread that is further than this ahead of its deadline, in addition to an interval, reports an interruption, in
/// ns: its clock was set back. The common start is less than this ahead.
const AHEAD_NS: u64 = 1_000_000_000;

/// Spinning on the clock.
pub struct Busy {
    grid: DitheredGrid,
    clock: ClockReader,
    /// The longest possible time to a deadline, unless the clock was set back.
    ahead_ns: u64,
}

impl Busy {
    /// Waits on `schedule`.
    pub fn new(schedule: Schedule) -> Self {
        let ahead_ns = schedule.interval_ns + schedule.dither_ns + AHEAD_NS;
        Self { grid: DitheredGrid::new(schedule), clock: ClockReader::new(schedule.clock), ahead_ns }
    }
}

impl Waiter for Busy {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        // One comparison for both: without a sign, a time after the deadline is far ahead.
        let mut now_ns = self.clock.now_ns();
        while (self.grid.next_ns() - now_ns - 1).cast_unsigned() < self.ahead_ns {
            now_ns = self.clock.now_ns();
        }
        if now_ns < self.grid.next_ns() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(self.grid.pass(now_ns))
    }
}

/// A relative sleep: there is no schedule, and each deadline is an interval after the clock read before the sleep.
pub struct Nanosleep {
    interval_ns: u64,
    dither: Dither,
    sleeper: Sleeper,
    clock: ClockReader,
}

impl Nanosleep {
    /// Waits on `schedule`.
    pub fn new(schedule: Schedule) -> Self {
        let Schedule { clock, interval_ns, .. } = schedule;
        let (sleeper, clock) = (Sleeper::new(clock), ClockReader::new(clock));
        Self { interval_ns, dither: Dither::new(schedule), sleeper, clock }
    }
}

impl Waiter for Nanosleep {
    const MAY_END_BY_CLOCK: bool = true;

    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let duration_ns = self.interval_ns + self.dither.next_ns() as u64;
        let deadline_ns = self.clock.now_ns() + duration_ns as i64;
        self.sleeper.sleep_for(duration_ns)?;
        Ok(Woken { deadline_ns, now_ns: self.clock.now_ns(), missed: 0, kernel_overruns: 0, dropped: 0 })
    }
}

/// A POSIX timer and its signal. The kernel counts missed deadlines.
pub struct TimerSettime {
    timer: PosixTimer,
    clock: ClockReader,
    deadline_ns: i64,
    interval_ns: u64,
}

impl TimerSettime {
    /// A timer on `schedule`. Fails if the kernel has no resources for it.
    pub fn new(schedule: Schedule) -> io::Result<Self> {
        let timer = PosixTimer::start(schedule.clock, schedule.first_ns, schedule.interval_ns)?;
        let Schedule { clock, first_ns: deadline_ns, interval_ns, .. } = schedule;
        Ok(Self { timer, clock: ClockReader::new(clock), deadline_ns, interval_ns })
    }
}

impl Waiter for TimerSettime {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        self.timer.wait()?;
        let now_ns = self.clock.now_ns();
        let overruns = self.timer.overruns();
        let deadline_ns = self.deadline_ns;
        // An expiry after the signal was accepted raises another signal. The kernel's count, not the clock, determines which
        // deadlines this wake-up answers.
        self.deadline_ns += ((overruns + 1) * self.interval_ns) as i64;
        Ok(Woken { deadline_ns, now_ns, missed: overruns, kernel_overruns: overruns, dropped: 0 })
    }
}

/// A timer behind a descriptor. The kernel counts missed deadlines.
pub struct Timerfd {
    timer: TimerFd,
    clock: ClockReader,
    deadline_ns: i64,
    interval_ns: u64,
}

impl Timerfd {
    /// A timer on `schedule`. Fails if the kernel has no resources for it.
    pub fn new(schedule: Schedule) -> io::Result<Self> {
        let timer = TimerFd::start(schedule.clock, schedule.first_ns, schedule.interval_ns)?;
        let Schedule { clock, first_ns: deadline_ns, interval_ns, .. } = schedule;
        Ok(Self { timer, clock: ClockReader::new(clock), deadline_ns, interval_ns })
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

/// The process's interval timer. The kernel restarts it when its signal is accepted, a whole number of intervals after it was
/// due. The kernel does not count missed deadlines, so the waiter reads the next expiry from the timer.
pub struct Setitimer {
    timer: IntervalTimer,
    clock: ClockReader,
    deadline_ns: i64,
    interval_ns: u64,
}

impl Setitimer {
    /// A timer on `schedule`. Fails if the kernel has no resources for it.
    pub fn new(schedule: Schedule) -> io::Result<Self> {
        let Schedule { clock, first_ns, interval_ns, .. } = schedule;
        // The timer starts from a clock that the kernel reads later than this, so the fraction of a us between the two
        // counts as latency. This error can only increase the reported latency.
        let now_ns = clock.now_ns();
        let first_in_ns = (first_ns - now_ns).max(1000) as u64 / 1000 * 1000;
        let timer = IntervalTimer::start(first_in_ns, interval_ns)?;
        let deadline_ns = now_ns + first_in_ns as i64;
        Ok(Self { timer, clock: ClockReader::new(clock), deadline_ns, interval_ns })
    }
}

impl Waiter for Setitimer {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        self.timer.wait()?;
        let now_ns = self.clock.now_ns();
        let deadline_ns = self.deadline_ns;
        let then_ns = self.clock.now_ns();
        let left_ns = self.timer.due_in_ns()?;
        let [late_ns, later_ns] = [now_ns, then_ns].map(|at_ns| at_ns - deadline_ns);
        let missed = match left_ns {
            0 => missed_before_expired(late_ns, later_ns, self.interval_ns),
            _ => missed_before_due(late_ns, later_ns + left_ns as i64, self.interval_ns),
        };
        self.deadline_ns += (missed as i64 + 1) * self.interval_ns as i64;
        Ok(Woken { deadline_ns, now_ns, missed, kernel_overruns: 0, dropped: 0 })
    }
}

/// How many deadlines were missed before a wake-up that was `late_ns` late, if the timer is due next `due_in_ns` after the
/// deadline.
fn missed_before_due(late_ns: i64, due_in_ns: i64, interval_ns: u64) -> u64 {
    let interval = interval_ns as i64;
    let passed = ((due_in_ns + interval / 2) / interval).max(1);
    ((passed - 1) as u64).min(missed_behind(late_ns, interval_ns))
}

/// The same if, at `later_ns` after the deadline, the timer has expired again. The signal was accepted before `late_ns`, and
/// the kernel restarted the timer for the first deadline after that, which may be between the two.
fn missed_before_expired(late_ns: i64, later_ns: i64, interval_ns: u64) -> u64 {
    let expired = missed_behind(later_ns, interval_ns);
    expired.min(missed_behind(late_ns, interval_ns) + 1).saturating_sub(1)
}

/// SCHED_DEADLINE's period, ended by sched_yield(2). The kernel does not report when a period begins; the earliest of
/// several wake-ups shows it. After a stall the kernel may have moved the periods (update_dl_entity in
/// kernel/sched/deadline.c). They are then searched for again, which costs a few cycles that count as dropped.
pub struct DeadlinePeriod {
    grid: Grid,
    clock: ClockReader,
    stalled: bool,
    /// As for [`Busy`].
    ahead_ns: i64,
}

impl DeadlinePeriod {
    /// Wake-ups from which the period's beginning is determined.
    const CALIBRATION: usize = 32;

    /// Waits on `schedule`.
    pub fn new(schedule: Schedule) -> Self {
        let (grid, clock) = (Grid::new(schedule), ClockReader::new(schedule.clock));
        let ahead_ns = (schedule.interval_ns + AHEAD_NS).cast_signed();
        let mut waiter = Self { grid, clock, stalled: false, ahead_ns };
        waiter.find_period();
        waiter
    }

    /// Finds where periods begin, and makes the beginning of the next one the next deadline. Returns how many have passed
    /// during the search.
    fn find_period(&mut self) -> u64 {
        let (interval_ns, was_next_ns) = (self.grid.interval_ns() as i64, self.grid.next_ns());
        let mut phase_ns = i64::MAX;
        for _ in 0..Self::CALIBRATION {
            scheduling::yield_now();
            phase_ns = phase_ns.min((self.clock.now_ns() - was_next_ns).rem_euclid(interval_ns));
        }
        let passed = (self.clock.now_ns() - was_next_ns - phase_ns).div_euclid(interval_ns) + 1;
        self.grid.move_to(was_next_ns + phase_ns + passed * interval_ns);
        passed.max(0) as u64
    }
}

impl Waiter for DeadlinePeriod {
    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let dropped = if self.stalled { self.find_period() } else { 0 };
        let early_ns = self.grid.interval_ns() as i64 / 2;
        loop {
            scheduling::yield_now();
            let now_ns = self.clock.now_ns();
            // A task that is behind receives its periods in immediate succession; those are counted as missed.
            if now_ns >= self.grid.next_ns() - early_ns {
                let woken = self.grid.pass(now_ns);
                self.stalled = woken.missed > 0;
                return Ok(Woken { dropped, ..woken });
            }
            if now_ns < self.grid.next_ns() - self.ahead_ns {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deadline in an hour, as after the clock was set back by an hour.
    #[test]
    fn a_spinning_thread_notices_that_its_clock_was_set_back() {
        let clock = Clock::Realtime;
        let in_an_hour_ns = clock.now_ns() + 3_600_000_000_000;
        let schedule =
            Schedule { clock, first_ns: in_an_hour_ns, interval_ns: 1_000_000, dither_ns: 0, seed: 1 };
        let error = Busy::new(schedule).wait().err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::Interrupted));
        let due_ns = clock.now_ns() + 100_000;
        let woken = Busy::new(Schedule { first_ns: due_ns, ..schedule }).wait().unwrap();
        assert!(woken.now_ns >= due_ns && woken.deadline_ns == due_ns);
    }

    #[test]
    fn deadlines_up_to_the_next_expiry_are_missed() {
        assert_eq!(missed_before_due(30, 200, 200), 0);
        assert_eq!(missed_before_due(450, 600, 200), 2);
    }

    #[test]
    fn an_expiry_after_the_signal_was_taken_is_the_next_wake_up_and_not_missed() {
        assert_eq!(missed_before_expired(205, 207, 200), 0, "taken before 200, running after it");
        assert_eq!(missed_before_expired(30, 210, 200), 0, "expired between the two readings");
        assert_eq!(missed_before_expired(30, 450, 200), 0, "200 is pending; 400 is missed then");
        assert_eq!(missed_before_expired(405, 410, 200), 1);
    }
}
