//! What one cycle of a measuring thread costs, by the kernel's own account of its run time.
//!
//! Where a clock counts instructions this is exact, and so it tells two tools apart that a stopwatch cannot: tardy's
//! probe and cyclictest, each started in the same guest with a thread at a priority that nothing else has.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How often it is looked whether the thread has got far enough.
const LOOK: Duration = Duration::from_millis(50);
/// So many looks are taken at the most for each of the two readings.
const LOOKS_MAX: u32 = 1200;
/// Wake-ups that are left out at the start.
const FIRST: u64 = 100;

/// What so many cycles cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCost {
    /// Times that the thread got the CPU.
    pub cycles: u64,
    /// Its run time in them, in ns.
    pub run_ns: u64,
}

impl ThreadCost {
    /// Run time of one cycle, in ns.
    pub fn per_cycle_ns(self) -> f64 {
        self.run_ns as f64 / self.cycles.max(1) as f64
    }
}

/// Starts `words`, and looks what `cycles` cycles of the one real-time thread with `priority` cost. The command is
/// left to end by itself.
///
/// # Errors
/// When it cannot be started, or no such thread gets so far.
pub fn of(words: &[String], priority: u32, cycles: u64) -> io::Result<ThreadCost> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let first = reading_after(&mut child, priority, FIRST)?;
    let second = reading_after(&mut child, priority, first.cycles + cycles)?;
    child.wait()?;
    Ok(ThreadCost { cycles: second.cycles - first.cycles, run_ns: second.run_ns - first.run_ns })
}

/// The first reading at which the thread has had at least so many cycles.
fn reading_after(child: &mut Child, priority: u32, cycles: u64) -> io::Result<ThreadCost> {
    for _ in 0..LOOKS_MAX {
        if let Some(cost) = thread_of(priority).filter(|cost| cost.cycles >= cycles) {
            return Ok(cost);
        }
        if child.try_wait()?.is_some() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    Err(io::Error::other(format!("no thread with priority {priority} came to {cycles} cycles")))
}

/// The account of the one thread that has that real-time priority: /proc/PID/task/TID/schedstat, run time in ns,
/// waiting time, and times that it ran (Documentation/scheduler/sched-stats.rst).
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

/// Field 40 of proc_pid_stat(5), counted from behind the name, which may hold anything.
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
