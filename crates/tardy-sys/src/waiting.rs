//! Waiting for a time, by each of the ways that Linux has.
//!
//! Each way is a type of its own, so that the measuring loop is compiled for each and decides nothing while it runs.
//! All of them return the time of the wake-up, read as the very next thing.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::clock::{Clock, timespec};
use crate::signals::{block, signal_set};

/// Sleeps until `deadline_ns` on `clock` with clock_nanosleep(2) and TIMER_ABSTIME.
#[inline(always)]
pub fn sleep_until(clock: Clock, deadline_ns: i64) -> io::Result<()> {
    let deadline = timespec(deadline_ns);
    loop {
        match absolute_sleep(clock.id(), &deadline) {
            0 => return Ok(()),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// The system call without the C library's wrapper, which makes every call a point where the thread may be cancelled
/// and so costs more than all else that the probe does between two sleeps.
#[cfg(target_pointer_width = "64")]
#[inline(always)]
fn absolute_sleep(clock: libc::clockid_t, deadline: &libc::timespec) -> i32 {
    let (flags, nothing) = (libc::TIMER_ABSTIME, std::ptr::null_mut::<libc::timespec>());
    // SAFETY: `deadline` is a valid timespec; for an absolute sleep nothing is written back.
    let status =
        unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, &raw const *deadline, nothing) };
    if status == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL) }
}

/// On 32-bit targets the C library knows which of the kernel's two layouts of a time it uses.
#[cfg(not(target_pointer_width = "64"))]
#[inline(always)]
fn absolute_sleep(clock: libc::clockid_t, deadline: &libc::timespec) -> i32 {
    // SAFETY: `deadline` is a valid timespec; for an absolute sleep nothing is written back.
    unsafe { libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &raw const *deadline, std::ptr::null_mut()) }
}

/// Sleeps for `duration_ns` with clock_nanosleep(2), relative.
#[inline(always)]
pub fn sleep_for(clock: Clock, duration_ns: u64) -> io::Result<()> {
    let mut left = timespec(duration_ns as i64);
    // CLOCK_TAI has no relative sleep of its own; all clocks run at the same rate but for steps.
    let id = if clock == Clock::Tai { libc::CLOCK_MONOTONIC } else { clock.id() };
    loop {
        let request = left;
        // SAFETY: both are valid timespecs.
        match unsafe { libc::clock_nanosleep(id, 0, &raw const request, &raw mut left) } {
            0 => return Ok(()),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// A POSIX timer that signals its own thread (timer_create(2), SIGEV_THREAD_ID).
#[derive(Debug)]
pub struct PosixTimer {
    id: libc::timer_t,
    signals: libc::sigset_t,
}

/// Signal of the POSIX timers: a real-time one that neither glibc nor musl uses itself.
fn timer_signal() -> i32 {
    libc::SIGRTMIN() + 5
}

impl PosixTimer {
    /// A periodic timer on `clock`, first due at `first_ns`. Its signal stays blocked in this thread for good.
    pub fn start(clock: Clock, first_ns: i64, interval_ns: u64) -> io::Result<Self> {
        let signals = signal_set(&[timer_signal()]);
        block(&signals)?;
        // SAFETY: sigevent is plain data, for which zero is valid; gettid takes nothing.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = timer_signal();
        // SAFETY: gettid takes nothing and cannot fail.
        event.sigev_notify_thread_id = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let mut id = MaybeUninit::uninit();
        // SAFETY: `event` is valid and `id` may be written to.
        if unsafe { libc::timer_create(clock.id(), &raw mut event, id.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: timer_create succeeded and wrote the id.
        let timer = Self { id: unsafe { id.assume_init() }, signals };
        let schedule =
            libc::itimerspec { it_value: timespec(first_ns), it_interval: timespec(interval_ns as i64) };
        // SAFETY: the timer exists and `schedule` is valid; the old one is not asked for.
        let status = unsafe {
            libc::timer_settime(timer.id, libc::TIMER_ABSTIME, &raw const schedule, std::ptr::null_mut())
        };
        if status == 0 { Ok(timer) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits for the next signal.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<()> {
        wait_for_signal(&self.signals)
    }

    /// How many expiries the last signal stands for beside its own (timer_getoverrun(2)).
    #[inline(always)]
    pub fn overruns(&self) -> u64 {
        // SAFETY: the timer exists.
        unsafe { libc::timer_getoverrun(self.id) }.max(0) as u64
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer exists, and nothing uses it after this.
        unsafe { libc::timer_delete(self.id) };
    }
}

#[inline(always)]
fn wait_for_signal(signals: &libc::sigset_t) -> io::Result<()> {
    loop {
        // SAFETY: `signals` is a valid set; no information is asked for.
        if unsafe { libc::sigwaitinfo(signals, std::ptr::null_mut()) } > 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The process's interval timer (setitimer(2), ITIMER_REAL). A process has only one.
#[derive(Debug)]
pub struct IntervalTimer {
    signals: libc::sigset_t,
}

impl IntervalTimer {
    /// Blocks SIGALRM in this thread and those that it starts; to be called before any other thread exists, since
    /// the signal goes to the process.
    pub fn claim() -> io::Result<()> {
        block(&signal_set(&[libc::SIGALRM]))
    }

    /// A periodic timer, first due `first_in_ns` from now. Both times are rounded down to whole us, as
    /// the interface has it.
    pub fn start(first_in_ns: u64, interval_ns: u64) -> io::Result<Self> {
        let timeval = |ns: u64| libc::timeval {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_usec: (ns % 1_000_000_000 / 1000) as _,
        };
        let schedule =
            libc::itimerval { it_value: timeval(first_in_ns.max(1000)), it_interval: timeval(interval_ns) };
        // SAFETY: `schedule` is valid; the old one is not asked for.
        let status = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const schedule, std::ptr::null_mut()) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { signals: signal_set(&[libc::SIGALRM]) })
    }

    /// Waits for the next SIGALRM.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<()> {
        wait_for_signal(&self.signals)
    }

    /// How long until the timer is due next (getitimer(2)), to the us. The kernel set it going again when the
    /// signal was taken (kernel/time/itimer.c), whole intervals after the last time that it was due.
    #[inline(always)]
    pub fn due_in_ns(&self) -> io::Result<u64> {
        let mut schedule = MaybeUninit::<libc::itimerval>::uninit();
        // SAFETY: `schedule` may be written to.
        if unsafe { libc::getitimer(libc::ITIMER_REAL, schedule.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: getitimer succeeded and filled it in.
        let left = unsafe { schedule.assume_init() }.it_value;
        Ok(left.tv_sec as u64 * 1_000_000_000 + left.tv_usec as u64 * 1000)
    }
}

impl Drop for IntervalTimer {
    fn drop(&mut self) {
        // SAFETY: itimerval consists of integers; zero disarms the timer.
        unsafe {
            let off: libc::itimerval = std::mem::zeroed();
            libc::setitimer(libc::ITIMER_REAL, &raw const off, std::ptr::null_mut());
        }
    }
}

/// A timer behind a descriptor (timerfd_create(2)).
#[derive(Debug)]
pub struct TimerFd {
    fd: OwnedFd,
}

impl TimerFd {
    /// A periodic timer on `clock`, first due at `first_ns`.
    ///
    /// # Errors
    /// EINVAL for CLOCK_TAI, which timerfd does not have.
    pub fn start(clock: Clock, first_ns: i64, interval_ns: u64) -> io::Result<Self> {
        // SAFETY: timerfd_create takes integers only.
        let fd = unsafe { libc::timerfd_create(clock.id(), libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        let timer = Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } };
        let schedule =
            libc::itimerspec { it_value: timespec(first_ns), it_interval: timespec(interval_ns as i64) };
        // SAFETY: the descriptor is a timer and `schedule` is valid; the old one is not asked for.
        let status = unsafe {
            libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &raw const schedule, std::ptr::null_mut())
        };
        if status == 0 { Ok(timer) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until the timer has expired, and tells how often it has since the last wait.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<u64> {
        let mut expiries: u64 = 0;
        loop {
            // SAFETY: `expiries` is writable for 8 bytes.
            let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut expiries).cast(), 8) };
            if read == 8 {
                return Ok(expiries);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn every_way_wakes_at_or_after_its_time() {
        let now = || Clock::Monotonic.now_ns();
        let due = now() + 2_000_000;
        sleep_until(Clock::Monotonic, due).unwrap();
        assert!(now() >= due);

        let due = now() + 2_000_000;
        sleep_for(Clock::Monotonic, 2 * MS).unwrap();
        assert!(now() >= due);

        let due = now() + 2_000_000;
        PosixTimer::start(Clock::Monotonic, due, MS).unwrap().wait().unwrap();
        assert!(now() >= due);

        let due = now() + 2_000_000;
        assert!(TimerFd::start(Clock::Monotonic, due, MS).unwrap().wait().unwrap() >= 1);
        assert!(now() >= due);
    }

    #[test]
    fn the_kernel_counts_the_expiries_that_were_slept_through() {
        let first = Clock::Monotonic.now_ns() + MS as i64;
        let timer = PosixTimer::start(Clock::Monotonic, first, MS).unwrap();
        let fd = TimerFd::start(Clock::Monotonic, first, MS).unwrap();
        sleep_until(Clock::Monotonic, first + 10_400_000).unwrap();
        timer.wait().unwrap();
        assert!(timer.overruns() >= 10, "{}", timer.overruns());
        assert!(fd.wait().unwrap() >= 11);
    }
}
