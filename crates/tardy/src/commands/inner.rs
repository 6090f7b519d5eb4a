//! tardy's own processes, started by tardy.

use std::path::Path;

use anyhow::Result;

use crate::exit::Exit;

/// The probe.
pub(crate) fn probe() -> Result<Exit> {
    // The house gets the reason through the pipe; this status is for nobody.
    let _ = tardy_probe::main();
    Ok(Exit::Done)
}

/// Gives pins back once the house is gone.
pub(crate) fn pins_guard(pins: &str) -> Result<Exit> {
    let _ = tardy_measure::pins::guard_main(pins);
    Ok(Exit::Done)
}

/// The first program of a lab's guest.
pub(crate) fn guest() -> Result<Exit> {
    match tardy_lab::guest::init::main() {
        Ok(never) => match never {},
        Err(error) => Err(error.into()),
    }
}

/// What a cycle of another command's real-time thread costs.
pub(crate) fn thread_cost(command: &[String], priority: u32, cycles: u64) -> Result<Exit> {
    let cost = tardy_lab::guest::thread_cost::of(command, priority, cycles)?;
    super::output::print(&(serde_json::to_string(&cost)? + "\n"))?;
    Ok(Exit::Done)
}

/// timerlat's user thread.
pub(crate) fn timerlat(house_pid: u32, cpu: u32, priority: u32, file: &Path) -> Result<Exit> {
    let _ = tardy_probe::timerlat_thread::main(house_pid, cpu, priority, file);
    Ok(Exit::Done)
}

/// A load's process.
pub(crate) fn load(arguments: Vec<String>) -> Result<Exit> {
    let _ = tardy_load::worker::worker_main(arguments);
    Ok(Exit::Done)
}
