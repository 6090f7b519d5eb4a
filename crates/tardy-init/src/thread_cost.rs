//! The CPU time of one cycle of a measuring thread, from the kernel's accounting.
//!
//! With a clock that counts instructions this is exact. It resolves the difference between tardy's probe and
//! cyclictest, each started in the same guest with a thread at a priority that no other thread has.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time between two readings of the thread's accounting.
const READING_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum number of readings until the thread has reached a number of cycles.
const READINGS_MAX: u32 = 1200;
/// The number of cycles at the start that are not measured.
const WARM_UP_CYCLES: u64 = 100;

/// The CPU time of a number of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCost {
    /// How many times the thread ran.
    pub cycles: u64,
    /// Its run time in these cycles, in ns.
    pub run_ns: u64,
}

impl ThreadCost {
    /// The run time of one cycle, in ns.
    pub fn per_cycle_ns(self) -> f64 {
        self.run_ns as f64 / self.cycles.max(1) as f64
    }
}

/// Starts `command` and measures `cycles` cycles of the only real-time thread with `priority`. Waits until the command
/// ends.
///
/// # Errors
/// If the command cannot be started, or no thread with that priority reaches that many cycles.
pub fn of(command: &[String], priority: u32, cycles: u64) -> io::Result<ThreadCost> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let first = reading_after(&mut child, priority, WARM_UP_CYCLES)?;
    let second = reading_after(&mut child, priority, first.cycles + cycles)?;
    child.wait()?;
    Ok(ThreadCost { cycles: second.cycles - first.cycles, run_ns: second.run_ns - first.run_ns })
}

/// The first reading at which the thread has run at least `cycles` times.
fn reading_after(child: &mut Child, priority: u32, cycles: u64) -> io::Result<ThreadCost> {
    for _ in 0..READINGS_MAX {
        if let Some(cost) = thread_of(priority).filter(|cost| cost.cycles >= cycles) {
            return Ok(cost);
        }
        if child.try_wait()?.is_some() {
            break;
        }
        std::thread::sleep(READING_INTERVAL);
    }
    Err(io::Error::other(format!("no thread with priority {priority} reached {cycles} cycles")))
}

/// The accounting of the one thread with that real-time priority: /proc/PID/task/TID/schedstat has its run time in ns,
/// its waiting time, and how many times it ran (Documentation/scheduler/sched-stats.rst).
fn thread_of(priority: u32) -> Option<ThreadCost> {
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let tasks = process.path().join("task");
        for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            if real_time_priority(&read("stat")) != Some(priority) {
                continue;
            }
            let account = read("schedstat");
            let numbers: Vec<u64> = account.split_whitespace().flat_map(str::parse).collect();
            if let [run_ns, _, cycles] = numbers[..] {
                return Some(ThreadCost { cycles, run_ns });
            }
        }
    }
    None
}

/// Field 40 of proc_pid_stat(5). Counting starts after the name, which may contain blanks and brackets.
fn real_time_priority(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(40 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_shift_the_fields() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a b) c) {}", fields.join(" "));
        assert_eq!(real_time_priority(&stat), Some(40));
        assert_eq!(real_time_priority("nonsense"), None);
    }
}
