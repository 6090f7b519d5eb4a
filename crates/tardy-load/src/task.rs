//! Properties of tasks: the number of counters, the programs that they need, and the length of their bursts.

use std::time::Duration;

use tardy_record::load_spec::{LoadSpec, LoadTask};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::programs;

use super::LoadError;

/// Builds that the compile load runs in parallel, as in the article.
pub(super) const BUILDS: usize = 2;
/// The C compiler that it runs. POSIX names it `c17`, but `cc` is the usual name.
pub(super) const COMPILER: &str = "cc";
/// The time between bursts of the network load, as in the article's script.
pub(super) const NETWORK_BURST_EVERY: Duration = Duration::from_secs(7);
/// The longest round of a tool that reports only at its end, including its start and exit.
const ROUND_NS: u64 = 3_000_000_000;
/// The maximum number of tasks of a load that has one task per CPU.
const COUNTED_CPUS_MAX: usize = 512;

/// The number of counters of a task: one for each process or thread that counts.
pub(super) fn counters(task: &LoadTask) -> usize {
    match task {
        LoadTask::Scheduler(shape) => shape.receivers(),
        LoadTask::Compile { .. } => BUILDS,
        LoadTask::Sink { .. } => 2,
        LoadTask::Command { .. } => 0,
        task if task.is_on_every_cpu() => possible_cpus(),
        _ => 1,
    }
}

/// Whether its first pass is slower than the later ones by design.
pub(super) fn has_first_pass(task: &LoadTask) -> bool {
    *task == LoadTask::Listing
}

/// The time between the starts of two bursts, if the task works or reports its work in bursts.
pub(super) fn burst_every_ns(task: &LoadTask) -> Option<u64> {
    match task {
        LoadTask::Network | LoadTask::Sink { .. } => Some(NETWORK_BURST_EVERY.as_nanos() as u64),
        LoadTask::StressNg { .. }
        | LoadTask::Hackbench { .. }
        | LoadTask::Iperf3 { .. }
        | LoadTask::Compile { .. } => Some(ROUND_NS),
        _ => None,
    }
}

/// Checks that the programs which a load runs are installed.
///
/// # Errors
/// Names the program and the Debian package that has it.
pub fn check_programs(load: &LoadSpec) -> Result<(), LoadError> {
    for (program, package) in load.tasks().iter().filter_map(program) {
        if programs::find(program).is_none() {
            return Err(LoadError::NoProgram { spec: load.text().to_owned(), program, package });
        }
    }
    Ok(())
}

/// The program that a task needs, and its Debian package.
fn program(task: &LoadTask) -> Option<(&'static str, &'static str)> {
    match task {
        LoadTask::StressNg { .. } => Some(("stress-ng", "stress-ng")),
        LoadTask::Hackbench { .. } => Some(("hackbench", "rt-tests")),
        LoadTask::Iperf3 { .. } => Some(("iperf3", "iperf3")),
        LoadTask::Compile { .. } => Some((COMPILER, "gcc")),
        _ => None,
    }
}

/// The number of possible CPUs. Unlike the number of CPUs that are present it is constant until the next boot, so that
/// every process that maps the counters computes the same number.
fn possible_cpus() -> usize {
    let list = KernelFiles::real().text("/sys/devices/system/cpu/possible").unwrap_or_default();
    last_cpu(&list).map_or(1, |last| last + 1).min(COUNTED_CPUS_MAX)
}

/// The highest number of a list such as `0-3,8`.
fn last_cpu(list: &str) -> Option<usize> {
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_reported_with_its_package() {
        let error =
            LoadError::NoProgram { spec: "iperf3:-s".to_owned(), program: "iperf3", package: "iperf3" };
        assert!(error.to_string().contains("apt install iperf3"), "{error}");
    }

    #[test]
    fn there_is_a_counter_for_each_task_that_counts() {
        let total =
            |text: &str| text.parse::<LoadSpec>().unwrap().tasks().iter().map(counters).sum::<usize>();
        assert_eq!(total("scheduler"), 20);
        assert_eq!(total("scheduler:3,7"), 21);
        assert_eq!(total("compile"), 2);
        assert_eq!(total("cmd:true"), 0);
        assert_eq!(total("ipi"), 2 * possible_cpus());
        for (list, last) in [("0", Some(0)), ("0-3\n", Some(3)), ("0-3,8", Some(8)), ("", None), ("x", None)]
        {
            assert_eq!(last_cpu(list), last, "{list}");
        }
    }
}
