//! Processes of this machine, by pid, and their descendants.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// How long an expected event may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A process, distinct from a later one with the same pid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    start_time: u64,
    pub(crate) name: String,
}

impl Process {
    /// A key that orders processes by their start.
    pub(crate) fn started(&self) -> (u64, u32) {
        (self.start_time, self.pid)
    }
}

struct Status {
    process: Process,
    parent: u32,
    ended: bool,
    stopped: bool,
}

fn status(pid: u32) -> Option<Status> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = (stat.find('(')?, stat.rfind(')')?);
    let fields: Vec<&str> = stat[tail + 1..].split_whitespace().collect();
    let process =
        Process { pid, start_time: fields[19].parse().ok()?, name: stat[head + 1..tail].to_owned() };
    Some(Status {
        process,
        parent: fields[1].parse().ok()?,
        ended: matches!(fields[0], "Z" | "X"),
        stopped: fields[0] == "T",
    })
}

/// All living descendants of a process.
pub(crate) fn descendants(root: u32) -> Vec<Process> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let all: BTreeMap<u32, Status> = pids.filter_map(|pid| Some((pid, status(pid)?))).collect();
    let is_below = |mut pid: u32| {
        for _ in 0..all.len() {
            match all.get(&pid) {
                Some(status) if status.parent == root => return true,
                Some(status) => pid = status.parent,
                None => return false,
            }
        }
        false
    };
    all.values()
        .filter(|status| !status.ended && is_below(status.process.pid))
        .map(|status| status.process.clone())
        .collect()
}

/// All living descendants of this process.
pub(crate) fn own_descendants() -> Vec<Process> {
    descendants(std::process::id())
}

pub(crate) fn is_alive(process: &Process) -> bool {
    status(process.pid).is_some_and(|status| status.process.start_time == process.start_time && !status.ended)
}

pub(crate) fn is_stopped(process: &Process) -> bool {
    status(process.pid).is_none_or(|status| status.process.start_time != process.start_time || status.stopped)
}

/// Polls until the condition is true. Fails after [`PATIENCE`].
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Fails unless all of them end soon.
pub(crate) fn assert_all_end(processes: &[Process]) {
    assert!(!processes.is_empty(), "there was nothing to end");
    let mut left = Vec::new();
    eventually("every load process has ended", || {
        left = processes.iter().filter(|process| is_alive(process)).collect();
        left.is_empty()
    });
}

/// Their names.
pub(crate) fn names(processes: &[Process]) -> Vec<&str> {
    processes.iter().map(|process| process.name.as_str()).collect()
}

pub(crate) fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t"))
}
