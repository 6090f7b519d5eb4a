//! Tasks that migrate between CPUs with sched_setaffinity(2). The kernel carries out each migration in its
//! highest-priority thread on the old CPU (kernel/sched/core.c, migration_cpu_stop).

use tardy_sys::counters::Counter;
use tardy_sys::scheduling;

use super::forked_tasks;
use super::random::Random;
use super::worker::{Ended, Worker};

pub(super) fn run(worker: &Worker) -> Ended {
    let cpus = scheduling::affinity().map_err(|error| format!("the CPUs are unknown: {error}"))?;
    let (seed, tasks) = (worker.seed, forked_tasks::one_per_cpu(worker));
    forked_tasks::run(worker, tasks, |index| Ok(hop(seed.wrapping_add(index as u64), &cpus)))
}

/// One step is one migration.
fn hop(seed: u64, cpus: &[u32]) -> impl FnMut(&Counter) -> Result<(), String> + '_ {
    let (mut random, mut here) = (Random::new(seed), 0);
    move |moved| {
        // Any CPU except the current one. With a single CPU, the system call does not migrate the task.
        here = (here + 1 + random.below(cpus.len().saturating_sub(1).max(1))) % cpus.len();
        scheduling::set_affinity(&cpus[here..=here])
            .map_err(|error| format!("a task cannot move to CPU {}: {error}", cpus[here]))?;
        moved.add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_move_goes_to_another_cpu_and_is_counted() {
        std::thread::spawn(|| {
            let cpus = scheduling::affinity().unwrap();
            let (counter, mut step) = (Counter::default(), hop(1, &cpus));
            let mut last = Vec::new();
            for _ in 0..50 {
                step(&counter).unwrap();
                let now = scheduling::affinity().unwrap();
                assert!(now.len() == 1 && (now != last || cpus.len() == 1), "{now:?} after {last:?}");
                last = now;
            }
            assert_eq!(counter.get(), 50);
        })
        .join()
        .unwrap();
    }
}
