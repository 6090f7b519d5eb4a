//! Kernel threads that affect the latency of interrupts, timers and deferred work.

use tardy_record::facts::{Fact, KernelThread};
use tardy_sys::kernel_files::KernelFiles;

use super::look::not_from;
use super::process_stat::ProcessStat;

/// Name prefixes of these threads: threaded interrupts (`irq/…`, before 3.0 `IRQ-…`), timers and softirqs of RT
/// kernels (`ktimers/`, `ktimersoftd/`, `sirq-…`), deferred softirqs, RCU callbacks and boosting.
const BEGINNINGS: [&str; 8] =
    ["irq/", "IRQ-", "ktimers/", "ktimersoftd/", "sirq-", "ksoftirqd/", "rcuc/", "rcub/"];

/// Finds these threads in one pass over /proc.
pub fn find(files: &KernelFiles) -> Fact<Vec<KernelThread>> {
    let names = match files.names("/proc") {
        Ok(names) => names,
        Err(error) => return Fact::unknown(not_from("/proc", &error)),
    };
    let mut seen = false;
    let mut threads = Vec::new();
    for pid in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
        // A process may end between the listing and the reading.
        let Ok(line) = files.text(&format!("/proc/{pid}/stat")) else { continue };
        let Some(stat) = ProcessStat::parse(&line).filter(ProcessStat::is_kernel_thread) else { continue };
        seen = true;
        if BEGINNINGS.iter().any(|beginning| stat.name.starts_with(beginning)) {
            threads.push(KernelThread {
                name: stat.name.to_owned(),
                pid,
                policy: stat.policy_name().to_owned(),
                priority: stat.priority,
            });
        }
    }
    if seen { Fact::known(threads, "/proc/PID/stat") } else { Fact::unknown("/proc lists no kernel threads") }
}
