//! What /proc shows of a program to any user that may see it: its settings, and how often its threads ran.

use tardy_host::facts::cpu_quotas;
use tardy_host::facts::threads;
use tardy_record::cpu_list;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::processes;

use crate::rules::{ProgramFacts, ThreadFacts};
use crate::targets::{self, Found};

/// What a thread used, since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time, in ns.
    pub cpu_ns: u64,
    /// Time for which it was ready and others had the CPU, in ns.
    pub waited_ns: u64,
    /// How often it slept or waited.
    pub sleeps: u64,
    /// How often another task took its CPU.
    pub preemptions: u64,
    /// Page faults, without and with disk access.
    pub faults: (u64, u64),
}

impl Used {
    /// That of a thread; `None` if it has ended, or this user may not read it.
    pub fn of(thread: &Found) -> Option<Self> {
        let file = |name: &str| processes::thread_file(thread.pid, thread.tid, name);
        let schedstat = file("schedstat")?;
        let mut times = schedstat.split_ascii_whitespace().map_while(|word| word.parse().ok());
        let status = file("status")?;
        let number = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        Some(Self {
            cpu_ns: times.next()?,
            waited_ns: times.next()?,
            sleeps: number("voluntary_ctxt_switches:")?,
            preemptions: number("nonvoluntary_ctxt_switches:")?,
            faults: faults_of(thread)?,
        })
    }

    /// What was used since an earlier time.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            sleeps: self.sleeps.saturating_sub(earlier.sleeps),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
            faults: faults_since(self.faults, earlier.faults),
        }
    }
}

/// Page faults of a thread since it began, without and with disk access; `None` if it has ended.
pub fn faults_of(thread: &Found) -> Option<(u64, u64)> {
    faults(&processes::thread_file(thread.pid, thread.tid, "stat")?)
}

/// The page faults between two counts of a thread.
pub fn faults_since(later: (u64, u64), earlier: (u64, u64)) -> (u64, u64) {
    (later.0.saturating_sub(earlier.0), later.1.saturating_sub(earlier.1))
}

/// minflt and majflt, fields 10 and 12 (proc_pid_stat(5)).
fn faults(stat: &str) -> Option<(u64, u64)> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    // The first field after the name is the third.
    let minor = fields.nth(7)?.parse().ok()?;
    Some((minor, fields.nth(1)?.parse().ok()?))
}

/// Threads and what they used, at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The time, on the monotonic clock.
    pub at_ns: u64,
    /// The threads.
    pub threads: Vec<(Found, Used)>,
}

impl Snapshot {
    /// The present state of these threads.
    pub fn of(threads: &[Found]) -> Self {
        let used = |thread: &Found| Some((thread.clone(), Used::of(thread)?));
        Self { at_ns: monotonic_ns(), threads: threads.iter().filter_map(used).collect() }
    }

    /// The threads that were there at an earlier time too, with what they used since.
    pub fn since(&self, earlier: &Self) -> Vec<(Found, Used)> {
        let before = |tid: u32| earlier.threads.iter().find(|(known, _)| known.tid == tid);
        let since =
            |(thread, used): &(Found, Used)| Some((thread.clone(), used.since(before(thread.tid)?.1)));
        self.threads.iter().filter_map(since).collect()
    }
}

/// The settings of the process `pid`; `None` if there is none.
pub fn facts(files: &KernelFiles, pid: u32) -> Option<ProgramFacts> {
    let status = files.text(&format!("/proc/{pid}/status")).ok()?;
    let field = |key: &str| status.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()));
    let kib = |key: &str| field(key)?.split(' ').next()?.parse::<u64>().ok();
    let quota = cpu_quotas(files, &pid.to_string());
    let quota = quota.get().and_then(|quotas| quotas.first().cloned());
    Some(ProgramFacts {
        pid,
        name: processes::command_of(pid).unwrap_or_default(),
        memory_kib: kib("VmRSS:").zip(kib("VmLck:")),
        rt_time_limit_us: rt_time_limit_us(files, pid),
        cpu_quota: quota
            .map(|quota| (format!("{} us of each {} us", quota.quota_us, quota.period_us), quota.file)),
        cpus: field("Cpus_allowed_list:")
            .and_then(|list| cpu_list::parse(&list))
            .map(|cpus| (cpus.len(), online_cpus(files))),
        interrupt_priority: interrupt_priority(files),
        threads: targets::threads_of(pid).iter().map(|thread| thread_facts(files, thread)).collect(),
        observed_ns: None,
        monitors: None,
    })
}

fn thread_facts(files: &KernelFiles, thread: &Found) -> ThreadFacts {
    ThreadFacts {
        tid: thread.tid,
        name: thread.name.clone(),
        scheduling: targets::scheduling_of(thread.tid),
        slack_ns: files.number(&format!("/proc/{}/timerslack_ns", thread.tid)).ok(),
        ..ThreadFacts::default()
    }
}

/// RLIMIT_RTTIME's soft limit; `None` if there is none.
fn rt_time_limit_us(files: &KernelFiles, pid: u32) -> Option<u64> {
    let limits = files.text(&format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn online_cpus(files: &KernelFiles) -> usize {
    let list = files.text("/sys/devices/system/cpu/online").unwrap_or_default();
    cpu_list::parse(&list).map_or(1, |cpus| cpus.len())
}

/// The highest priority of threads of interrupts.
fn interrupt_priority(files: &KernelFiles) -> Option<u32> {
    let threads = threads::find(files);
    let threads = threads.get()?.iter().filter(|thread| thread.name.starts_with("irq/"));
    threads.map(|thread| thread.priority).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_after_a_name_with_brackets() {
        assert_eq!(faults("7 (a) b) S 1 7 7 0 -1 4194560 123 0 45 0 1 2"), Some((123, 45)));
        assert_eq!(faults("7 (a"), None);
    }

    #[test]
    fn this_process_has_settings_and_used_cpu_time() {
        let pid = std::process::id();
        let facts = facts(&KernelFiles::real(), pid).unwrap();
        assert!(facts.threads.iter().any(|thread| thread.tid == pid && thread.scheduling.is_some()));
        assert!(facts.memory_kib.unwrap().0 > 0);
        let threads = targets::threads_of(pid);
        let before = Snapshot::of(&threads);
        let since = Snapshot::of(&threads).since(&before);
        assert!(since.iter().any(|(thread, _)| thread.tid == pid));
    }
}
