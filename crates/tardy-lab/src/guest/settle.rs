//! Waiting until the boot's own work has died down.
//!
//! A kernel goes on working after its first program has started: it tests its ciphers, frees its memory, lets go of
//! CPUs and clocks. Measured then, Debian's standard kernel is 293 us late without any load, and 15 us a second
//! later. So the guest looks at what the CPUs did, window by window, and goes on when several in a row were quiet.

use std::io;
use std::time::Duration;

use tardy_record::lab::Settled;
use tardy_sys::clock;
use tardy_sys::kernel_files::KernelFiles;

use super::orders::Settle;

/// Waits, and tells how it went.
///
/// # Errors
/// Where /proc/stat cannot be read.
pub(super) fn settle(order: &Settle, booted_at_ns: u64) -> io::Result<Settled> {
    let files = KernelFiles::real();
    let mut settled = Settled {
        booted_at_ns,
        settled_at_ns: booted_at_ns,
        window_ns: order.window_ns,
        ..Settled::default()
    };
    let mut before = cpu_time(&files)?;
    while settled.settled_at_ns - booted_at_ns < order.limit_ns {
        // The window is what is looked at; nothing is being waited for with it.
        std::thread::sleep(Duration::from_nanos(order.window_ns));
        let now = cpu_time(&files)?;
        settled.busy_percent.push(now.busy_percent_since(before));
        before = now;
        settled.settled_at_ns = clock::monotonic_ns();
        settled.quiet = is_quiet(&settled.busy_percent, order);
        if settled.quiet {
            break;
        }
    }
    Ok(settled)
}

fn is_quiet(busy_percent: &[u32], order: &Settle) -> bool {
    let wanted = order.quiet_windows as usize;
    busy_percent.len() >= wanted
        && busy_percent[busy_percent.len() - wanted..].iter().all(|busy| *busy <= order.busy_percent_max)
}

/// Time of all CPUs, in ticks of the accounting.
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

    /// Share of work, rounded up: a window in which anything was accounted is not 0.
    fn busy_percent_since(self, before: Self) -> u32 {
        let total = self.total.saturating_sub(before.total).max(1);
        (self.busy.saturating_sub(before.busy) * 100).div_ceil(total).min(100) as u32
    }
}

fn cpu_time(files: &KernelFiles) -> io::Result<CpuTime> {
    let text = files.text("/proc/stat").map_err(|error| io::Error::other(error.reason()))?;
    CpuTime::parse(&text).ok_or_else(|| io::Error::other("/proc/stat does not begin with the CPUs' times"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_all_but_idle_and_waiting_for_disks() {
        let before = CpuTime::parse("cpu  100 0 50 1000 10 0 0 0 0 0\ncpu0 1 2").unwrap();
        let after = CpuTime::parse("cpu  101 0 50 1048 11 0 0 0 0 0\n").unwrap();
        assert_eq!(after.busy_percent_since(before), 2);
        assert_eq!(CpuTime::parse("intr 1 2 3"), None);
    }

    #[test]
    fn quiet_is_several_in_a_row() {
        let order = Settle::default();
        assert!(!is_quiet(&[0, 0], &order));
        assert!(!is_quiet(&[0, 0, 60, 1, 2], &order));
        assert!(is_quiet(&[60, 1, 2, 0], &order));
    }
}
