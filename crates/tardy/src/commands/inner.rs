//! Hidden commands of the lab's guests.

use anyhow::Result;

use tardy_command::Exit;

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
    tardy_command::output::print_data(&(serde_json::to_string(&cost)? + "\n"))?;
    Ok(Exit::Done)
}
