//! The program `tardy-probe`: the processes that measure, and nothing else, so that little memory is locked. tardy contains it
//! and starts it from memory. Its commands are hidden commands of tardy too.

use std::path::Path;
use std::process::ExitCode;

use tardy_probe::timerlat_thread;

fn main() -> ExitCode {
    // Executed from memory, it would be named for its descriptor.
    let _ = tardy_sys::processes::set_own_command("tardy-probe");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["__probe"] => tardy_probe::main(),
        ["__timerlat", supervisor_pid, cpu, priority, file] => {
            match (supervisor_pid.parse(), cpu.parse(), priority.parse()) {
                (Ok(pid), Ok(cpu), Ok(priority)) => {
                    timerlat_thread::main(pid, cpu, priority, Path::new(file))
                }
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("tardy-probe: started by tardy only; run `tardy run` to measure");
    ExitCode::from(2)
}
