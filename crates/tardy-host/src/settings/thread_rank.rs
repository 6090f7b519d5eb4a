//! The policy and priority of a kernel thread, changed temporarily.
//!
//! When a change is undone after a crash, the process id may belong to another thread, so the thread's start time is
//! kept with it. In a tree that represents a machine, policy and priority are written into the thread's /proc/PID/stat
//! file instead of set by a system call.

use serde::{Deserialize, Serialize};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling::{self, Scheduling};

use serde_json::Value;

use crate::facts::process_stat::ProcessStat;
use crate::journal::{Undo, Undone, tagged};

/// Name prefixes of threads that serve interrupts (kernel/irq/manage.c).
pub const INTERRUPT_THREADS: &[&str] = &["irq/", "IRQ-"];
/// Name prefixes of threads that expire timers on RT kernels: since Linux 6.2, and in the RT patches for 4.x.
pub const TIMER_THREADS: &[&str] = &["ktimers/", "ktimersoftd/"];

/// A scheduling policy, numbered as in the kernel (sched(7)), and a real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// SCHED_… number: 0 other, 1 fifo, 2 rr.
    pub policy: u32,
    /// 1 to 99; 0 if the policy has none.
    pub priority: u32,
}

impl Rank {
    /// SCHED_FIFO at this priority.
    pub fn fifo(priority: u32) -> Self {
        Self { policy: 1, priority }
    }

    /// The rank for messages, such as `fifo 50`.
    pub fn describe(self) -> String {
        match self.policy {
            0 => "other".to_owned(),
            1 => format!("fifo {}", self.priority),
            2 => format!("rr {}", self.priority),
            policy => format!("policy {policy}"),
        }
    }

    fn scheduling(self) -> Option<Scheduling> {
        match self.policy {
            0 => Some(Scheduling::Other),
            1 => Some(Scheduling::Fifo(self.priority)),
            2 => Some(Scheduling::Rr(self.priority)),
            _ => None,
        }
    }
}

/// A kernel thread, with its old and its new policy and priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRank {
    /// Its process id.
    pub pid: u32,
    /// Start time in clock ticks after boot.
    pub start_ticks: u64,
    /// Its name, such as `irq/39-dwc_otg`.
    pub name: String,
    /// The rank before the change.
    pub old: Rank,
    /// The rank that tardy sets.
    pub new: Rank,
}

impl Undo for ThreadRank {
    fn kind(&self) -> &'static str {
        super::THREAD_RANK.name
    }

    fn describe(&self) -> String {
        format!("thread {} ({}), which was {}", self.pid, self.name, self.old.describe())
    }

    fn to_json(&self) -> Value {
        tagged(self.kind(), self)
    }

    /// Restores the thread, unless it has ended or another process has changed it since.
    fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        let Ok(line) = files.text(&stat_of(self.pid)) else { return Ok(Undone::Done) };
        let Some(stat) = ProcessStat::parse(&line) else { return Ok(Undone::Done) };
        let is_another = stat.start != self.start_ticks || !stat.is_kernel_thread();
        let now = Rank { policy: stat.policy, priority: stat.priority };
        if is_another || now == self.old {
            return Ok(Undone::Done);
        }
        let mut prefixes = INTERRUPT_THREADS.iter().chain(TIMER_THREADS);
        if !prefixes.any(|prefix| stat.name.starts_with(prefix)) {
            return Err(format!("{} ({}) is not a thread that tardy changes", self.pid, stat.name));
        }
        if now != self.new {
            let [old, new, now] = [self.old, self.new, now].map(Rank::describe);
            let (pid, name) = (self.pid, &self.name);
            let what = format!("thread {pid} ({name}) was {old}, tardy set {new}, and now it is {now}");
            return Ok(Undone::LeftAlone(what));
        }
        set(files, self.pid, self.old).map(|()| Undone::Done)
    }
}

impl ThreadRank {
    /// Gives the thread its new policy and priority.
    ///
    /// # Errors If the kernel refuses, the thread has ended, or its policy or priority is no longer `old`.
    pub(super) fn make(&self, files: &KernelFiles) -> Result<(), String> {
        let line = files.text(&stat_of(self.pid)).map_err(|error| error.to_string())?;
        let now = ProcessStat::parse(&line).filter(|stat| stat.start == self.start_ticks);
        let now = now.map(|stat| Rank { policy: stat.policy, priority: stat.priority });
        match now {
            Some(now) if now == self.old => set(files, self.pid, self.new),
            Some(now) => Err(format!("{}, is {} now", self.describe(), now.describe())),
            None => Err(format!("{}, has ended", self.describe())),
        }
    }
}

fn stat_of(pid: u32) -> String {
    format!("/proc/{pid}/stat")
}

fn set(files: &KernelFiles, pid: u32, rank: Rank) -> Result<(), String> {
    let words = rank.describe();
    if !files.is_real() {
        let line = files.text(&stat_of(pid)).map_err(|error| error.to_string())?;
        let line = with_rank(&line, rank).ok_or_else(|| format!("{} is not a thread's", stat_of(pid)))?;
        return files.write(&stat_of(pid), &line).map_err(|error| error.to_string());
    }
    let scheduling =
        rank.scheduling().ok_or_else(|| format!("{words} is not a policy that a thread can be given"))?;
    scheduling::set_of(pid, scheduling)
        .map_err(|error| format!("thread {pid} cannot be set to {words}: {error}"))
}

/// A line of /proc/PID/stat with another policy and priority: fields 40 and 41 (proc_pid_stat(5)).
fn with_rank(line: &str, rank: Rank) -> Option<String> {
    let (name, fields) = line.rsplit_once(')')?;
    let mut fields: Vec<String> = fields.split_ascii_whitespace().map(str::to_owned).collect();
    *fields.get_mut(40 - 3)? = rank.priority.to_string();
    *fields.get_mut(41 - 3)? = rank.policy.to_string();
    Some(format!("{name}) {}", fields.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "39 (irq/39-dwc_otg) S 2 0 0 0 -1 2129984 0 0 0 0 7 350 0 0 -51 0 1 0 88 0 0 4294967295 0 0 0 0 \
                        0 0 0 2147483647 0 0 0 0 17 0 50 1 0 0 0";

    #[test]
    fn a_thread_is_restored_if_it_and_its_priority_are_unchanged() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        std::fs::create_dir_all(root.path().join("proc/39")).unwrap();
        let path = root.path().join("proc/39/stat");
        std::fs::write(&path, LINE).unwrap();
        let change = |start_ticks| ThreadRank {
            pid: 39,
            start_ticks,
            name: "irq/39-dwc_otg".to_owned(),
            old: Rank::fifo(50),
            new: Rank::fifo(91),
        };
        let rank = || {
            let text = std::fs::read_to_string(&path).unwrap();
            let stat = ProcessStat::parse(&text).unwrap();
            Rank { policy: stat.policy, priority: stat.priority }
        };
        assert!(change(89).make(&files).unwrap_err().contains("has ended"));
        change(88).make(&files).unwrap();
        assert!(change(88).make(&files).unwrap_err().contains("fifo 91 now"));
        assert_eq!(rank(), Rank::fifo(91));
        assert_eq!(change(89).undo(&files), Ok(Undone::Done), "the id belongs to another thread");
        assert_eq!(rank(), Rank::fifo(91));
        assert_eq!(change(88).undo(&files), Ok(Undone::Done));
        assert_eq!((rank(), std::fs::read_to_string(&path).unwrap().trim()), (Rank::fifo(50), LINE));
        set(&files, 39, Rank { policy: 2, priority: 7 }).unwrap();
        assert!(matches!(change(88).undo(&files), Ok(Undone::LeftAlone(what)) if what.contains("rr 7")));
        std::fs::write(&path, LINE.replace("irq/39-dwc_otg", "kworker/0:1")).unwrap();
        set(&files, 39, Rank::fifo(91)).unwrap();
        assert!(change(88).undo(&files).unwrap_err().contains("is not a thread that tardy changes"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(change(88).undo(&files), Ok(Undone::Done), "it has ended");
    }
}
