//! timerlat's user thread: a separate process for each CPU, since the kernel kills the reader when the tracer stops.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use tardy_sys::scheduling::Scheduling;
use tardy_sys::{child, memory, scheduling, trace_files};

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
        format!("{} cannot be opened: {error}; another timerlat may be running", file.display())
    })?;
    check(&file)?;
    println!("ready");
    read_to_the_end(&mut file);
    Ok(())
}

/// Refuses a file whose reads do not wait: at this priority, the loop would take the CPU for ever.
fn check(file: &File) -> Result<(), String> {
    match trace_files::is_timerlat_file(file) {
        Ok(true) => Ok(()),
        Ok(false) => Err("the file is not timerlat_fd on tracefs".to_owned()),
        Err(error) => Err(format!("the file system of timerlat_fd is unknown: {error}")),
    }
}

/// Reads until an error or until there is data, which timerlat_fd never has. A read waits for the next period, records the
/// latency with which the thread returned, and returns 0: that is not the end of the file.
fn read_to_the_end(file: &mut impl Read) {
    let mut one = [0];
    while file.read(&mut one).is_ok_and(|count| count == 0) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// timerlat_fd for some periods, then `last`.
    struct Periods(u32, Option<u8>);

    impl Read for Periods {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            match (self.0.checked_sub(1), self.1) {
                (Some(left), _) => {
                    self.0 = left;
                    Ok(0)
                }
                (None, Some(byte)) => {
                    into[0] = byte;
                    Ok(1)
                }
                (None, None) => Err(std::io::ErrorKind::InvalidInput.into()),
            }
        }
    }

    #[test]
    fn empty_reads_are_periods_and_an_error_or_data_is_the_end() {
        for last in [None, Some(0)] {
            let mut file = Periods(3, last);
            read_to_the_end(&mut file);
            assert_eq!(file.0, 0);
        }
    }

    #[test]
    fn a_file_whose_reads_do_not_wait_is_refused() {
        let reason = check(&File::open("/dev/zero").unwrap()).unwrap_err();
        assert_eq!(reason, "the file is not timerlat_fd on tracefs");
    }
}
