//! The program `tardy-probe`: the processes that measure, and nothing else, so that little memory is locked. tardy contains it
//! and starts it from memory. Its commands are hidden commands of tardy too.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Executed from memory, it would be named for its descriptor.
    let _ = tardy_sys::processes::set_own_command("tardy-probe");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    tardy_probe::run_command(&arguments).unwrap_or_else(|| {
        eprintln!("tardy-probe: started by tardy only; run `tardy run` to measure");
        ExitCode::from(2)
    })
}
