//! Waits until a given time, by each of Linux's methods.
//!
//! Each method is a separate type, so that the measuring loop is compiled for each and has no branch on the method.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::clock::{Clock, timespec};
use crate::signals::{block, signal_set};

const SECOND_NS: i64 = 1_000_000_000;

/// Sleeps until `deadline_ns` on `clock` with clock_nanosleep(2) and TIMER_ABSTIME, also if signals arrive.
pub fn sleep_until(clock: Clock, deadline_ns: i64) -> io::Result<()> {
    let mut sleeper = Sleeper::new(clock);
    loop {
        match sleeper.sleep_until(deadline_ns) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// clock_nanosleep(2) prepared for a measuring loop.
#[derive(Debug)]
pub struct Sleeper {
    clock: libc::clockid_t,
    /// The second of the last deadline. The next deadline is mostly in the same second, which saves a division.
    second_ns: i64,
    deadline: libc::timespec,
}

impl Sleeper {
    /// Prepares to sleep on `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { clock: clock.id(), second_ns: 0, deadline: timespec(0) }
    }

    /// Sleeps until `deadline_ns`, in ns since the clock's epoch.
    ///
    /// # Errors
    /// `Interrupted` if a signal arrives.
    #[inline(always)]
    pub fn sleep_until(&mut self, deadline_ns: i64) -> io::Result<()> {
        let within_second_ns = deadline_ns.wrapping_sub(self.second_ns);
        if (0..SECOND_NS).contains(&within_second_ns) {
            self.deadline.tv_nsec = within_second_ns as _;
        } else {
            self.enter_second(deadline_ns);
        }
        match clock_nanosleep(self.clock, libc::TIMER_ABSTIME, &self.deadline, std::ptr::null_mut()) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    #[cold]
    fn enter_second(&mut self, deadline_ns: i64) {
        self.deadline = timespec(deadline_ns);
        self.second_ns = deadline_ns.max(0) / SECOND_NS * SECOND_NS;
    }

    /// Sleeps for `duration_ns`, relative.
    #[inline(always)]
    pub fn sleep_for(&mut self, duration_ns: u64) -> io::Result<()> {
        // CLOCK_TAI has no relative sleep; all clocks run at the same rate except for steps.
        let clock = if self.clock == libc::CLOCK_TAI { libc::CLOCK_MONOTONIC } else { self.clock };
        let mut left = timespec(duration_ns as i64);
        loop {
            let request = left;
            match clock_nanosleep(clock, 0, &request, &raw mut left) {
                0 => return Ok(()),
                error => unless_interrupted(error)?,
            }
        }
    }
}

/// Returns the error unless a signal interrupted the sleep, which then continues.
#[cold]
fn unless_interrupted(error: i32) -> io::Result<()> {
    if error == libc::EINTR { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// clock_nanosleep(2) without the C library, which makes each call a cancellation point: that costs more than tardy's
/// own work for a wake-up, and part of it would count as the kernel's latency. Returns 0 or an error number.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
#[inline(always)]
fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: i32,
    request: &libc::timespec,
    left: *mut libc::timespec,
) -> i32 {
    let status: isize;
    // SAFETY: `request` is a valid timespec, and `left` null or one to write to; syscall(2) lists the registers.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_nanosleep as isize => status,
            in("rdi") clock as isize,
            in("rsi") flags as isize,
            in("rdx") &raw const *request,
            in("r10") left,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    -status as i32
}

/// As above.
#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
#[inline(always)]
fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: i32,
    request: &libc::timespec,
    left: *mut libc::timespec,
) -> i32 {
    let status: isize;
    // SAFETY: `request` is a valid timespec, and `left` null or one to write to; syscall(2) lists the registers.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") libc::SYS_clock_nanosleep as isize,
            inlateout("x0") clock as isize => status,
            in("x1") flags as isize,
            in("x2") &raw const *request,
            in("x3") left,
            options(nostack),
        );
    }
    -status as i32
}

/// On other processors through the C library, which also knows which of a 32-bit kernel's two time layouts to use.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64")))]
#[inline(always)]
fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: i32,
    request: &libc::timespec,
    left: *mut libc::timespec,
) -> i32 {
    // SAFETY: `request` is a valid timespec, and `left` null or one to write to.
    unsafe { libc::clock_nanosleep(clock, flags, &raw const *request, left) }
}

/// A POSIX timer that signals its own thread (timer_create(2), SIGEV_THREAD_ID).
#[derive(Debug)]
pub struct PosixTimer {
    id: libc::timer_t,
    signals: libc::sigset_t,
}

/// The signal of the POSIX timers: a real-time signal that neither glibc nor musl uses.
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
        // SAFETY: the timer exists and `schedule` is valid; the old setting is not requested.
        let status = unsafe {
            libc::timer_settime(timer.id, libc::TIMER_ABSTIME, &raw const schedule, std::ptr::null_mut())
        };
        if status == 0 { Ok(timer) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits for the next signal of the timer.
    ///
    /// # Errors
    /// `Interrupted` if another signal arrives.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<()> {
        wait_for_signal(&self.signals)
    }

    /// The number of expiries that the last signal represents in addition to its own (timer_getoverrun(2)).
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
    // SAFETY: `signals` is a valid set; no information is requested.
    match unsafe { libc::sigwaitinfo(signals, std::ptr::null_mut()) } > 0 {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// The process's interval timer (setitimer(2), ITIMER_REAL). A process has only one.
#[derive(Debug)]
pub struct IntervalTimer {
    signals: libc::sigset_t,
}

impl IntervalTimer {
    /// Blocks SIGALRM in this thread and those that it starts; it must be called before any other thread exists, since
    /// the signal goes to the process.
    pub fn claim() -> io::Result<()> {
        block(&signal_set(&[libc::SIGALRM]))
    }

    /// A periodic timer, first due `first_in_ns` from now. Both times are rounded down to whole us, the unit of the
    /// interface.
    pub fn start(first_in_ns: u64, interval_ns: u64) -> io::Result<Self> {
        let timeval = |ns: u64| libc::timeval {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_usec: (ns % 1_000_000_000 / 1000) as _,
        };
        let schedule =
            libc::itimerval { it_value: timeval(first_in_ns.max(1000)), it_interval: timeval(interval_ns) };
        // SAFETY: `schedule` is valid; the old setting is not requested.
        let status = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const schedule, std::ptr::null_mut()) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { signals: signal_set(&[libc::SIGALRM]) })
    }

    /// Waits for the next SIGALRM.
    ///
    /// # Errors
    /// `Interrupted` if another signal arrives.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<()> {
        wait_for_signal(&self.signals)
    }

    /// The time until the timer is due next (getitimer(2)), in us resolution. The kernel restarted it when the signal
    /// was delivered (kernel/time/itimer.c), whole intervals after the previous expiry.
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

/// A timer with a descriptor (timerfd_create(2)).
#[derive(Debug)]
pub struct TimerFd {
    fd: OwnedFd,
}

impl TimerFd {
    /// A periodic timer on `clock`, first due at `first_ns`.
    ///
    /// # Errors
    /// EINVAL for CLOCK_TAI, which timerfd does not support.
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
        // SAFETY: the descriptor is a timer and `schedule` is valid; the old setting is not requested.
        let status = unsafe {
            libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &raw const schedule, std::ptr::null_mut())
        };
        if status == 0 { Ok(timer) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until the timer has expired, and returns the number of expiries since the last wait.
    ///
    /// # Errors
    /// `Interrupted` if a signal arrives.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<u64> {
        let mut expiries: u64 = 0;
        // SAFETY: `expiries` is writable for 8 bytes.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut expiries).cast(), 8) };
        if read == 8 { Ok(expiries) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsRawFd for TimerFd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn every_method_wakes_at_or_after_its_time() {
        let now = || Clock::Monotonic.now_ns();
        let due = now() + 2_000_000;
        sleep_until(Clock::Monotonic, due).unwrap();
        assert!(now() >= due);

        let due = now() + 2_000_000;
        Sleeper::new(Clock::Monotonic).sleep_for(2 * MS).unwrap();
        assert!(now() >= due);

        let due = now() + 2_000_000;
        PosixTimer::start(Clock::Monotonic, due, MS).unwrap().wait().unwrap();
        assert!(now() >= due);

        let due = now() + 2_000_000;
        assert!(TimerFd::start(Clock::Monotonic, due, MS).unwrap().wait().unwrap() >= 1);
        assert!(now() >= due);
    }

    #[test]
    fn a_sleeper_converts_deadlines_in_any_second() {
        let mut sleeper = Sleeper::new(Clock::Monotonic);
        // All deadlines are in the past, so nothing waits.
        for deadline_ns in
            [7, 999_999_999, 1_000_000_000, 1_000_000_001, 3_500_000_000, 3_499_999_999, 1, -1, 0]
        {
            sleeper.sleep_until(deadline_ns).unwrap();
            let expected = timespec(deadline_ns);
            let told = sleeper.deadline;
            assert_eq!((told.tv_sec, told.tv_nsec), (expected.tv_sec, expected.tv_nsec), "{deadline_ns}");
        }
    }

    #[test]
    fn the_kernel_counts_missed_expiries() {
        let first = Clock::Monotonic.now_ns() + MS as i64;
        let timer = PosixTimer::start(Clock::Monotonic, first, MS).unwrap();
        let fd = TimerFd::start(Clock::Monotonic, first, MS).unwrap();
        sleep_until(Clock::Monotonic, first + 10_400_000).unwrap();
        timer.wait().unwrap();
        assert!(timer.overruns() >= 10, "{}", timer.overruns());
        assert!(fd.wait().unwrap() >= 11);
    }
}
