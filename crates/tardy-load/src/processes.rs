//! Short-lived processes on every CPU: fork, write some pages, exit, wait.

use tardy_sys::child::{self, Ended as ChildEnded, How};
use tardy_sys::counters::Counter;

use super::forked_tasks;
use super::worker::{Ended, Worker};

/// Memory of the parent that each child writes to, so that it is copied page by page.
const BYTES: usize = 256 << 10;
const PAGE_BYTES: usize = 4096;

pub(super) fn run(worker: &Worker) -> Ended {
    forked_tasks::run(worker, forked_tasks::one_per_cpu(worker), |_| Ok(fork_and_wait()))
}

/// One step is one process.
fn fork_and_wait() -> impl FnMut(&Counter) -> Result<(), String> {
    let mut memory = vec![0_u8; BYTES];
    move |ended| {
        let write = || {
            memory.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
            std::hint::black_box(&memory);
            0
        };
        child::fork(write).map_err(|error| format!("no process can be forked: {error}; raise ulimit -u"))?;
        let child = ChildEnded::wait().map_err(|error| format!("a process was lost: {error}"))?;
        if child.how != How::Exited(0) {
            return Err(format!("a process ended too early: {}", child.how));
        }
        ended.add(1);
        Ok(())
    }
}
