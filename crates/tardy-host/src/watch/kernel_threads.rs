//! CPU time of kernel threads, to show for example an `irq/39-dwc_otg` that uses a third of a CPU.
//!
//! At most [`POLLED`] files stay open and are read every second. Machines with many CPUs have thousands of threads:
//! every [`LIST_EVERY`]th round all are listed and read, and those that ran most since the last listing are polled
//! until the next. A thread's total is therefore accurate to ten seconds for any number of threads.

use std::collections::BTreeSet;

use tardy_record::environment::{Environment, Merge, ThreadTime};
use tardy_sys::kernel_files::KernelFiles;

use crate::facts::process_stat::ProcessStat;

use super::number::{whole, words};
use super::polled::Polled;
use super::readings::{Head, Quota, Readings, Slot};
use super::room::Room;
use super::{Round, Watcher};

/// Threads that are read each round.
const POLLED: usize = 128;
/// All threads are listed and read every this many rounds.
const LIST_EVERY: u64 = 10;
/// Limit on known threads; no machine has more.
const KNOWN: usize = 16_384;
/// Threads in the record.
const RECORDED: usize = 64;
/// A thread that uses this share of a CPU in one round gets a series.
const SHARE_OF_NOTE: f64 = 0.005;
/// Parent of all kernel threads.
const KTHREADD: u32 = 2;
/// Length of the ticks in /proc/PID/stat, in ns (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// Watches kernel threads.
pub(super) struct KernelThreads {
    files: KernelFiles,
    threads: Vec<Thread>,
    /// The CPU time of threads that ended, up to their last reading.
    gone: Vec<ThreadTime>,
    quota: Quota,
    buffer: Vec<u8>,
    none_seen: bool,
    /// Time of the last listing.
    listed_at_ns: u64,
}

/// One thread.
struct Thread {
    pid: u32,
    name: String,
    /// Open while it is polled.
    file: Option<Polled>,
    source: Source,
    last_ns: u64,
    last_at_ns: u64,
    /// CPU time since the first reading.
    total_ns: u64,
    /// CPU time since the last listing.
    recent_ns: u64,
    series: Slot,
}

/// The source of a thread's CPU time.
#[derive(Clone, Copy)]
enum Source {
    /// First number of /proc/PID/schedstat, in ns; needs CONFIG_SCHED_INFO.
    Schedstat,
    /// Ticks in /proc/PID/stat.
    Stat,
}

impl KernelThreads {
    pub(super) fn new(files: &KernelFiles) -> Self {
        Self {
            files: files.clone(),
            threads: Vec::new(),
            gone: Vec::new(),
            quota: Quota(64),
            buffer: Vec::new(),
            none_seen: false,
            listed_at_ns: 0,
        }
    }

    /// Finds new threads and drops those that ended.
    fn list(&mut self, round: &Round<'_>) {
        let pids: BTreeSet<u32> = self.pids().into_iter().collect();
        self.none_seen = pids.is_empty();
        let ended: Vec<usize> =
            (0..self.threads.len()).rev().filter(|index| !pids.contains(&self.threads[*index].pid)).collect();
        for index in ended {
            self.drop_ended(index);
        }
        let known: BTreeSet<u32> = self.threads.iter().map(|thread| thread.pid).collect();
        for pid in pids.difference(&known).take(KNOWN.saturating_sub(known.len())) {
            let born_at_ns = (round.number > 0).then_some(self.listed_at_ns);
            self.threads.extend(Thread::find(&self.files, *pid, born_at_ns));
        }
        self.listed_at_ns = round.now_ns;
    }

    /// The children of kthreadd, from one file if the kernel has CONFIG_PROC_CHILDREN, otherwise by scanning /proc.
    fn pids(&self) -> Vec<u32> {
        let is_kthreadd = self.files.text("/proc/2/comm").is_ok_and(|name| name == "kthreadd");
        let children = format!("/proc/{KTHREADD}/task/{KTHREADD}/children");
        match self.files.text(&children) {
            Ok(list) if is_kthreadd => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
            _ => {
                let names = self.files.names("/proc").unwrap_or_default();
                names.iter().filter_map(|name| name.parse().ok()).filter(|pid| *pid != KTHREADD).collect()
            }
        }
    }

    /// Reads the polled threads, or all.
    fn read_threads(&mut self, all: bool, round: &Round<'_>, readings: &mut Readings) {
        let mut index = 0;
        while index < self.threads.len() {
            let thread = &mut self.threads[index];
            if !all && thread.file.is_none() {
                index += 1;
                continue;
            }
            match thread.time_ns(&self.files, &mut self.buffer, round.room) {
                Some(now_ns) => {
                    thread.take(now_ns, round, readings, &mut self.quota);
                    index += 1;
                }
                None => self.drop_ended(index),
            }
        }
    }

    /// Drops a thread that ended and keeps its CPU time.
    fn drop_ended(&mut self, index: usize) {
        let thread = self.threads.swap_remove(index);
        if thread.total_ns > 0 {
            self.gone.push(thread.time(0));
            // Worker threads are created and end often; those that hardly ran are not kept.
            if self.gone.len() > 4 * RECORDED {
                self.gone.sort_by_key(|time| std::cmp::Reverse(time.cpu_ns));
                self.gone.truncate(RECORDED);
            }
        }
    }

    /// Selects the threads to poll until the next listing: all if they are few, otherwise those that ran most.
    fn choose(&mut self) {
        if self.threads.len() > POLLED {
            self.threads
                .sort_by_key(|thread| (std::cmp::Reverse(thread.recent_ns), !thread.serves_interrupts()));
        }
        for (index, thread) in self.threads.iter_mut().enumerate() {
            if index < POLLED {
                thread.file = thread.file.take().or_else(|| thread.open(&self.files));
            } else {
                thread.file = None;
            }
            thread.recent_ns = 0;
        }
    }
}

impl Watcher for KernelThreads {
    fn name(&self) -> &'static str {
        "kernel threads"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        let all = round.number.is_multiple_of(LIST_EVERY);
        if all {
            self.list(round);
        }
        self.read_threads(all, round, readings);
        if all {
            self.choose();
        }
    }

    fn left_out(&self) -> Option<String> {
        if self.none_seen || (self.threads.is_empty() && self.gone.is_empty()) {
            return Some("/proc lists no kernel threads, as in a container".to_owned());
        }
        (self.threads.len() > POLLED).then(|| {
            format!(
                "of {} threads the {POLLED} that run most are read each time, all of them every {LIST_EVERY}th time",
                self.threads.len()
            )
        })
    }

    fn add_totals(&self, watched_ns: u64, environment: &mut Environment) {
        let ran =
            self.threads.iter().filter(|thread| thread.total_ns > 0).map(|thread| thread.time(watched_ns));
        let gone = self
            .gone
            .iter()
            .cloned()
            .map(|time| ThreadTime { share: share(time.cpu_ns, watched_ns), ..time });
        let mut times: Vec<ThreadTime> = ran.chain(gone).collect();
        times.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then_with(|| a.pid.cmp(&b.pid)));
        times.truncate(RECORDED);
        environment.kernel_threads.extend(times);
    }
}

impl Thread {
    /// A kernel thread. CPU time before `born_at_ns` is not counted; `None` for a thread older than the first reading.
    fn find(files: &KernelFiles, pid: u32, born_at_ns: Option<u64>) -> Option<Self> {
        let line = files.text(&format!("/proc/{pid}/stat")).ok()?;
        let stat = ProcessStat::parse(&line).filter(ProcessStat::is_kernel_thread)?;
        let source =
            if files.exists(&format!("/proc/{pid}/schedstat")) { Source::Schedstat } else { Source::Stat };
        let mut thread = Self {
            pid,
            name: stat.name.to_owned(),
            file: None,
            source,
            last_ns: 0,
            last_at_ns: born_at_ns.unwrap_or(0),
            total_ns: 0,
            recent_ns: 0,
            series: Slot::Unused,
        };
        if born_at_ns.is_none() {
            thread.last_ns = source.time_ns(files.open(&thread.path()).ok()?.read(&mut Vec::new()).ok()?)?;
        }
        Some(thread)
    }

    fn path(&self) -> String {
        match self.source {
            Source::Schedstat => format!("/proc/{}/schedstat", self.pid),
            Source::Stat => format!("/proc/{}/stat", self.pid),
        }
    }

    fn open(&self, files: &KernelFiles) -> Option<Polled> {
        Polled::open(files, &self.path()).ok()
    }

    /// CPU time since the thread began; `None` once it has ended.
    fn time_ns(&mut self, files: &KernelFiles, buffer: &mut Vec<u8>, room: &Room) -> Option<u64> {
        let source = self.source;
        match &mut self.file {
            Some(file) => source.time_ns(file.read(room)?.content),
            None => source.time_ns(files.open(&self.path()).ok()?.read(buffer).ok()?),
        }
    }

    fn take(&mut self, now_ns: u64, round: &Round<'_>, readings: &mut Readings, quota: &mut Quota) {
        let by = now_ns.saturating_sub(self.last_ns);
        let at_ns = round.room.at_ns();
        let stretch_ns = at_ns.saturating_sub(self.last_at_ns);
        (self.last_ns, self.last_at_ns) = (now_ns, at_ns);
        if round.seconds.is_none() || stretch_ns == 0 {
            return;
        }
        self.total_ns += by;
        self.recent_ns += by;
        let share = share(by, stretch_ns);
        if self.series.is_unused() && share < SHARE_OF_NOTE {
            return;
        }
        readings.put(&mut self.series, quota, 100.0 * share, 1000.0 * share, || Head {
            name: "kernel thread",
            of: self.name.clone(),
            cpu: None,
            unit: "%",
            merge: Merge::Mean,
            change: format!("kernel thread {}", self.name),
            change_unit: "ms/s",
            grain: 1.0,
        });
    }

    fn serves_interrupts(&self) -> bool {
        ["irq/", "ktimers", "ksoftirqd/"].iter().any(|beginning| self.name.starts_with(beginning))
    }

    fn time(&self, watched_ns: u64) -> ThreadTime {
        let share = share(self.total_ns, watched_ns);
        ThreadTime { name: self.name.clone(), pid: self.pid, cpu_ns: self.total_ns, share }
    }
}

impl Source {
    fn time_ns(self, content: &[u8]) -> Option<u64> {
        match self {
            Self::Schedstat => words(content).next().and_then(whole),
            Self::Stat => {
                let line = String::from_utf8_lossy(content);
                ProcessStat::parse(&line)?.ticks.checked_mul(TICK_NS)
            }
        }
    }
}

/// A time as a share of a span; 0 if the span is empty.
fn share(cpu_ns: u64, stretch_ns: u64) -> f64 {
    if stretch_ns == 0 { 0.0 } else { cpu_ns as f64 / stretch_ns as f64 }
}
