//! The resources used by a thread, from the kernel's counters.

use std::fs;
use std::io;
use std::time::Duration;

/// The resources used by a thread since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time in ns, exact (CLOCK_THREAD_CPUTIME_ID and CLOCK_PROCESS_CPUTIME_ID: the scheduler's sum).
    pub cpu_ns: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Migrations to another CPU; `None` if the kernel does not count them (CONFIG_SCHED_DEBUG).
    pub migrations: Option<u64>,
}

/// The usage of the calling thread, without migrations (getrusage(2) with RUSAGE_THREAD). Allocates nothing.
pub fn of_this_thread() -> io::Result<ThreadUsage> {
    let mut usage = rusage(libc::RUSAGE_THREAD)?;
    usage.cpu_ns = cpu_time_ns(libc::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(usage)
}

/// The migrations of the calling thread; `None` if the kernel does not count them.
pub fn migrations_of_this_thread() -> Option<u64> {
    migrations("/proc/thread-self/sched")
}

/// The migrations of the thread `tid`; `None` if the kernel does not count them, or the thread has ended.
pub fn migrations_of(tid: u32) -> Option<u64> {
    migrations(&format!("/proc/{tid}/sched"))
}

/// How long the thread `tid` has been runnable and waited for a CPU, in ns since it started (Documentation/scheduler/
/// sched-stats.rst). `None` if the kernel does not measure it (CONFIG_SCHED_INFO), or the thread has ended.
pub fn run_delay_ns_of(tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// How often the calling thread has slept (getrusage(2), `ru_nvcsw`).
pub fn sleeps_of_this_thread() -> u64 {
    rusage(libc::RUSAGE_THREAD).map_or(0, |usage| usage.voluntary_switches)
}

/// The usage of the whole process.
pub fn of_this_process() -> io::Result<ThreadUsage> {
    let mut usage = rusage(libc::RUSAGE_SELF)?;
    usage.cpu_ns = cpu_time_ns(libc::CLOCK_PROCESS_CPUTIME_ID)?;
    usage.migrations = migrations("/proc/self/sched");
    Ok(usage)
}

/// CPU time of all threads of the process `pid` (clock_getcpuclockid(3)).
///
/// # Errors
/// ESRCH if there is no such process, and EPERM if the kernel hides other users' processes.
pub fn of_process(pid: u32) -> io::Result<Duration> {
    let mut clock = 0;
    // SAFETY: `clock` is valid to write to.
    match unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) } {
        0 => cpu_time_ns(clock).map(Duration::from_nanos),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn rusage(who: libc::c_int) -> io::Result<ThreadUsage> {
    // SAFETY: rusage consists of integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage to write to.
    if unsafe { libc::getrusage(who, &raw mut usage) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(ThreadUsage {
        cpu_ns: 0,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        migrations: None,
    })
}

fn cpu_time_ns(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

fn migrations(path: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

impl ThreadUsage {
    /// The usage since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            migrations: self.migrations.zip(earlier.migrations).map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_of_a_thread_is_counted() {
        let before = sleeps_of_this_thread();
        let until_ns = crate::clock::Clock::Monotonic.now_ns() + 2_000_000;
        crate::waiting::sleep_until(crate::clock::Clock::Monotonic, until_ns).unwrap();
        assert!(sleeps_of_this_thread() > before);
        let own = crate::scheduling::thread_id();
        assert_eq!(migrations_of(own).is_some(), migrations_of_this_thread().is_some());
        assert_eq!((migrations_of(i32::MAX as u32), run_delay_ns_of(i32::MAX as u32)), (None, None));
    }

    #[test]
    fn touching_new_memory_is_counted() {
        let before = of_this_thread().unwrap();
        let pages = vec![1u8; 8 << 20];
        std::hint::black_box(&pages);
        let used = of_this_thread().unwrap().since(&before);
        assert!(used.minor_faults > 0, "{used:?}");
        assert!(used.cpu_ns > 0);
    }
}
