//! Limits for a process that works on other users' data: its memory, and the CPU time of each piece of work.

use std::io;
use std::time::Duration;

/// RLIMIT_AS, RLIMIT_CORE and RLIMIT_FSIZE of prlimit(2): libc's constants have another type for each C library.
const ADDRESS_SPACE: libc::c_int =
    if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 6 } else { 9 };

/// Limits the address space of this process, so that memory beyond it is an error. A process with less keeps its limit.
///
/// # Errors
/// prlimit(2)'s.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    crate::confinement::limit(ADDRESS_SPACE, bytes)?;
    // No file of what another user's data made of this process.
    crate::confinement::limit(crate::confinement::CORE, 0)
}

/// Ends this process by SIGPROF when it has used so much CPU time from now on; `None`: no longer.
///
/// # Errors
/// setitimer(2)'s.
pub fn limit_cpu_time(time: Option<Duration>) -> io::Result<()> {
    let time = time.unwrap_or_default();
    let once = libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
        it_value: libc::timeval { tv_sec: time.as_secs() as _, tv_usec: time.subsec_micros() as _ },
    };
    // SAFETY: the timer is readable, and the old one is not requested.
    match unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const once, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};
    use std::time::Instant;

    /// Tells the process that a test starts what to do.
    const PART: &str = "TARDY_TEST_WORK_LIMITS";

    /// How another process of this test ends, which does `part`.
    fn part(part: &str) -> ExitStatus {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "work_limits::tests::work_beyond_its_limits_ends";
        command.args(["--exact", name, "--test-threads=1"]).env(PART, part).output().unwrap().status
    }

    #[test]
    fn work_beyond_its_limits_ends() {
        let limit = Duration::from_millis(50);
        match std::env::var(PART).as_deref() {
            Ok("too long") => {
                limit_cpu_time(Some(limit)).unwrap();
                loop {
                    std::hint::black_box(0);
                }
            }
            Ok("in time") => {
                limit_cpu_time(Some(limit)).unwrap();
                limit_cpu_time(None).unwrap();
                let begun = Instant::now();
                while begun.elapsed() < limit * 4 {
                    std::hint::black_box(0);
                }
            }
            Ok("too much") => {
                limit_memory(1 << 30).unwrap();
                assert!(Vec::<u8>::new().try_reserve_exact(1 << 30).is_err());
                assert!(Vec::<u8>::new().try_reserve_exact(1 << 24).is_ok());
            }
            _ => {
                assert_eq!(part("too long").signal(), Some(libc::SIGPROF));
                assert!(part("in time").success());
                assert!(part("too much").success());
            }
        }
    }
}
