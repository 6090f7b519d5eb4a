//! timerlat's user thread: a separate process for each CPU, since the kernel kills the reader when the tracer stops.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use tardy_sys::scheduling::Scheduling;
use tardy_sys::{child, memory, scheduling};

/// Reads `file` on `cpu` until the tracer or this process ends; prints `ready` before its first wait.
pub fn main(supervisor_pid: u32, cpu: u32, priority: u32, file: &Path) -> ExitCode {
    match run(supervisor_pid, cpu, priority, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(supervisor_pid: u32, cpu: u32, priority: u32, file: &Path) -> Result<(), String> {
    child::tie_to_parent(supervisor_pid, child::signal::KILL)
        .map_err(|error| format!("the supervisor is gone: {error}"))?;
    scheduling::set_affinity(&[cpu]).map_err(|error| format!("cannot pin to CPU {cpu}: {error}"))?;
    scheduling::set(Scheduling::Fifo(priority))
        .map_err(|error| format!("SCHED_FIFO was refused ({error})"))?;
    memory::lock_all().map_err(|error| format!("memory could not be locked ({error})"))?;
    memory::prefault_stack();
    let mut file = File::open(file).map_err(|error| {
        format!("{} cannot be opened: {error}; is another timerlat running?", file.display())
    })?;
    println!("ready");
    let mut one = [0];
    // A read waits for the next period, and then records the latency with which the thread returned.
    while file.read(&mut one).is_ok() {}
    Ok(())
}
