//! The probe's process as the supervisor sees it: a child that exchanges lines of JSON with it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use tardy_probe::order::{Go, Order, Reply};

use tardy_sys::child;

use crate::engine::Clock;
use crate::probe_program::ProbeProgram;

/// The variable that sets glibc's tunables, as `name=value:name=value`. Other C libraries ignore it.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Time limit for a probe to become ready: it locks and touches its memory, perhaps on a slow board under load.
const READY_NS: u64 = 30_000_000_000;

/// The value of [`TUNABLES`] for a probe. glibc since 2.35 registers each thread for restartable sequences (rseq(2)),
/// and the kernel then writes to the thread's memory whenever it resumes after a switch: about 180 instructions on
/// x86_64 between each wake-up and the reading of the clock, for a feature that a probe does not use. (A static tardy
/// uses musl, which does not register.) Alternative not chosen: unregistering in each thread, which requires the
/// address and the length of the registration in this version of glibc.
fn without_restartable_sequences(inherited: Option<OsString>) -> OsString {
    let mut tunables = inherited.unwrap_or_default();
    if !tunables.is_empty() {
        tunables.push(":");
    }
    tunables.push("glibc.pthread.rseq=0");
    tunables
}

/// A running probe. Dropping this kills it.
#[derive(Debug)]
pub(super) struct ProbeProcess {
    child: Child,
    threads: Vec<usize>,
    order: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl ProbeProcess {
    /// Starts the program as a probe in the cgroup of that directory, or in tardy's own, and sends it the order. It has its own process
    /// group, so that a terminal's Ctrl-C reaches only the supervisor.
    pub(super) fn start(program: &ProbeProgram, cgroup: Option<&str>, order: &Order) -> Result<Self, String> {
        let prepare = |command: &mut Command| {
            command
                .arg("__probe")
                .env(TUNABLES, without_restartable_sequences(std::env::var_os(TUNABLES)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .process_group(0);
        };
        let mut child = program.spawn(cgroup, prepare).map_err(|error| format!("the probe, {error}"))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both ends were requested");
        };
        send(&mut stdin, order)?;
        let threads = order.threads.clone();
        Ok(Self { child, threads, order: stdin, replies: BufReader::new(stdout) })
    }

    /// The descriptor that is readable once the probe has replied or ended.
    pub(super) fn descriptor(&self) -> RawFd {
        self.replies.get_ref().as_raw_fd()
    }

    /// The numbers of its threads, in the order of its replies.
    pub(super) fn threads(&self) -> &[usize] {
        &self.threads
    }

    /// The probe's process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the probe reports that it is ready or has failed.
    pub(super) fn wait_until_ready(&mut self, clock: &dyn Clock) -> Result<Reply, String> {
        let readable = clock.wait(&[self.descriptor()], READY_NS).map_err(|error| error.to_string())?;
        if !readable[0] {
            let (pid, seconds) = (self.pid(), READY_NS / 1_000_000_000);
            return Err(format!("the probe (pid {pid}) was not ready within {seconds} s"));
        }
        self.reply()
    }

    /// Waits for the next reply.
    pub(super) fn reply(&mut self) -> Result<Reply, String> {
        let mut line = String::new();
        match self.replies.read_line(&mut line) {
            Ok(0) => Err(format!("the probe has ended: {}", self.how_it_ended())),
            Ok(_) => {
                serde_json::from_str(&line).map_err(|error| format!("the probe's reply is invalid: {error}"))
            }
            Err(error) => Err(format!("the probe's reply cannot be read: {error}")),
        }
    }

    /// Starts the measurement at `start_ns` on the monotonic clock.
    pub(super) fn start_measuring(&mut self, start_ns: u64) -> Result<(), String> {
        send(&mut self.order, &Go { start_ns })
    }

    /// Asks the probe to end if it waits for an edge, which may never come. A probe that does not wait sees the request
    /// in the map.
    pub(super) fn ask_to_end(&mut self) {
        // The probe may have ended already, so an error is ignored.
        let _ = self.order.write_all(b"\n");
    }

    /// Whether a signal has stopped the probe since the last call, even if another one has continued it.
    pub(super) fn was_stopped(&self) -> bool {
        child::was_stopped(self.pid())
    }

    /// Waits for the exit of a probe that has sent its last reply.
    pub(super) fn wait_for_exit(&mut self) {
        let _ = self.child.wait();
    }

    fn how_it_ended(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => describe(status),
            Err(error) => format!("unknown ({error})"),
        }
    }
}

impl Drop for ProbeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send<T: serde::Serialize>(to: &mut ChildStdin, message: &T) -> Result<(), String> {
    let mut line = serde_json::to_string(message).map_err(|error| error.to_string())?;
    line.push('\n');
    to.write_all(line.as_bytes()).map_err(|error| format!("cannot write to the probe: {error}"))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunables_of_the_user_are_kept() {
        assert_eq!(without_restartable_sequences(None), "glibc.pthread.rseq=0");
        assert_eq!(without_restartable_sequences(Some(OsString::new())), "glibc.pthread.rseq=0");
        let inherited = Some("glibc.malloc.check=3".into());
        assert_eq!(without_restartable_sequences(inherited), "glibc.malloc.check=3:glibc.pthread.rseq=0");
    }
}
