//! Hidden commands: the processes that tardy starts itself.

use std::path::Path;

use anyhow::Result;

use crate::exit::Exit;

/// Runs as the probe process.
pub(crate) fn probe() -> Result<Exit> {
    // The supervisor receives the error over the pipe and ignores this status.
    let _ = tardy_probe::main();
    Ok(Exit::Done)
}

/// Releases GPIO lines once the supervisor has ended.
pub(crate) fn pins_guard(pins: &str) -> Result<Exit> {
    let _ = tardy_measure::pins::guard_main(pins);
    Ok(Exit::Done)
}

/// Runs as the first program of a lab's guest.
pub(crate) fn guest() -> Result<Exit> {
    match tardy_init::first_program::main() {
        Ok(never) => match never {},
        Err(error) => Err(error.into()),
    }
}

/// Measures the CPU time per cycle of another command's real-time thread, and prints it as JSON.
pub(crate) fn thread_cost(command: &[String], priority: u32, cycles: u64) -> Result<Exit> {
    let cost = tardy_init::thread_cost::of(command, priority, cycles)?;
    super::output::print(&(serde_json::to_string(&cost)? + "\n"))?;
    Ok(Exit::Done)
}

/// Runs as timerlat's user thread.
pub(crate) fn timerlat(supervisor_pid: u32, cpu: u32, priority: u32, file: &Path) -> Result<Exit> {
    let _ = tardy_probe::timerlat_thread::main(supervisor_pid, cpu, priority, file);
    Ok(Exit::Done)
}

/// Runs as a process of a load.
pub(crate) fn load(arguments: Vec<String>) -> Result<Exit> {
    let _ = tardy_load::worker_main(arguments);
    Ok(Exit::Done)
}
