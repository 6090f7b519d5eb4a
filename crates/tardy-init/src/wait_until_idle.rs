//! Waits until the work of the boot is done.
//!
//! A kernel continues to work after its first program has started: it tests its ciphers, frees memory, and releases
//! CPUs and clocks. Without load, the latency of Debian's standard kernel is 293 us immediately after the boot and 15
//! us one second later. The guest therefore reads the CPU times window by window, and continues after several quiet
//! windows.

use std::io;
use std::time::Duration;

use tardy_record::lab::Settled;
use tardy_sys::clock;
use tardy_sys::kernel_files::KernelFiles;

use crate::orders::IdleCriterion;

/// Waits until the CPUs are idle or the limit has passed, and returns the windows.
///
/// # Errors
/// If /proc/stat cannot be read.
pub(super) fn wait_until_idle(criterion: &IdleCriterion, booted_at_ns: u64) -> io::Result<Settled> {
    let files = KernelFiles::real();
    let mut settled = Settled {
        booted_at_ns,
        settled_at_ns: booted_at_ns,
        window_ns: criterion.window_ns,
        ..Settled::default()
    };
    let mut before = cpu_time(&files)?;
    while settled.settled_at_ns - booted_at_ns < criterion.limit_ns {
        // This sleep is the measured window; it does not wait for a condition.
        std::thread::sleep(Duration::from_nanos(criterion.window_ns));
        let now = cpu_time(&files)?;
        settled.busy_percent.push(now.busy_percent_since(before));
        before = now;
        settled.settled_at_ns = clock::monotonic_ns();
        settled.quiet = is_quiet(&settled.busy_percent, criterion);
        if settled.quiet {
            break;
        }
    }
    Ok(settled)
}

fn is_quiet(busy_percent: &[u32], criterion: &IdleCriterion) -> bool {
    let wanted = criterion.quiet_windows as usize;
    busy_percent.len() >= wanted
        && busy_percent[busy_percent.len() - wanted..].iter().all(|busy| *busy <= criterion.busy_percent_max)
}

/// The time of all CPUs, in ticks of the kernel's accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTime {
    busy: u64,
    total: u64,
}

impl CpuTime {
    /// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)).
    fn parse(stat: &str) -> Option<Self> {
        let words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let ticks: Vec<u64> = words.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let total: u64 = ticks.iter().sum();
        let idle: u64 = ticks.get(3..5)?.iter().sum();
        Some(Self { busy: total - idle, total })
    }

    /// The share of work since `before` in percent, rounded up: a window with any work is not 0.
    fn busy_percent_since(self, before: Self) -> u32 {
        let total = self.total.saturating_sub(before.total).max(1);
        (self.busy.saturating_sub(before.busy) * 100).div_ceil(total).min(100) as u32
    }
}

fn cpu_time(files: &KernelFiles) -> io::Result<CpuTime> {
    let text = files.text("/proc/stat").map_err(|error| io::Error::other(error.reason()))?;
    CpuTime::parse(&text)
        .ok_or_else(|| io::Error::other("the first line of /proc/stat is not 'cpu' and eight times"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_idle_and_iowait_is_work() {
        let before = CpuTime::parse("cpu  100 0 50 1000 10 0 0 0 0 0\ncpu0 1 2").unwrap();
        let after = CpuTime::parse("cpu  101 0 50 1048 11 0 0 0 0 0\n").unwrap();
        assert_eq!(after.busy_percent_since(before), 2);
        assert_eq!(CpuTime::parse("intr 1 2 3"), None);
    }

    #[test]
    fn only_consecutive_quiet_windows_count() {
        let criterion = IdleCriterion::default();
        assert!(!is_quiet(&[0, 0], &criterion));
        assert!(!is_quiet(&[0, 0, 60, 1, 2], &criterion));
        assert!(is_quiet(&[60, 1, 2, 0], &criterion));
    }
}
