//! The kernel threads whose priorities the doctor changes.

use tardy_sys::kernel_files::KernelFiles;

use tardy_host::facts::{process_stat::ProcessStat, threads};
use tardy_host::settings::{Rank, ThreadRank};

/// The real-time kernel threads with these name prefixes. Both `old` and `new` are the present rank.
pub(super) fn find(files: &KernelFiles, prefixes: &[&str]) -> Vec<ThreadRank> {
    let found = threads::find(files);
    let all = found.get().map(Vec::as_slice).unwrap_or_default();
    let of_interest = all.iter().filter(|thread| prefixes.iter().any(|name| thread.name.starts_with(name)));
    of_interest
        .filter_map(|thread| {
            let line = files.text(&format!("/proc/{}/stat", thread.pid)).ok()?;
            let stat = ProcessStat::parse(&line)?;
            let old = Rank { policy: stat.policy, priority: stat.priority };
            let name = stat.name.to_owned();
            // SCHED_FIFO and SCHED_RR.
            matches!(old.policy, 1 | 2).then(|| ThreadRank {
                pid: thread.pid,
                start_ticks: stat.start,
                name,
                old,
                new: old,
            })
        })
        .collect()
}
