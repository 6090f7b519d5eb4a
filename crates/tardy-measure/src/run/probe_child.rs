//! The probe as the house sees it: a child process that is spoken to in lines.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use tardy_probe::order::{Go, Order, Reply};

/// The variable that sets glibc's tunables, as `name=value:name=value`; other C libraries do not look at it.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// What [`TUNABLES`] is for a probe. glibc since 2.35 registers each thread for restartable sequences (rseq(2)), and the
/// kernel then writes to its memory whenever it comes back from a switch: about 180 instructions on x86_64 between each
/// wake-up and the reading of the clock, for something that a probe never uses. (A static tardy has musl, which registers
/// nothing.) The road not taken: taking the registration back in each thread, for which one has to know where this
/// version of glibc put it, and of what length.
fn without_restartable_sequences(inherited: Option<OsString>) -> OsString {
    let mut tunables = inherited.unwrap_or_default();
    if !tunables.is_empty() {
        tunables.push(":");
    }
    tunables.push("glibc.pthread.rseq=0");
    tunables
}

/// A running probe. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct ProbeChild {
    child: Child,
    order: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl ProbeChild {
    /// Starts the program `exe` as a probe and gives it its order. It is its own process group: a terminal's Ctrl-C is
    /// for the house alone.
    pub(super) fn start(exe: &Path, order: &Order) -> Result<Self, String> {
        let mut child = Command::new(exe)
            .arg("__probe")
            .env(TUNABLES, without_restartable_sequences(std::env::var_os(TUNABLES)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("the probe, {}, cannot be started: {error}", exe.display()))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both ends were asked for");
        };
        say(&mut stdin, order)?;
        Ok(Self { child, order: stdin, replies: BufReader::new(stdout) })
    }

    /// The descriptor that can be read when the probe has something to say, or has ended.
    pub(super) fn descriptor(&self) -> RawFd {
        self.replies.get_ref().as_raw_fd()
    }

    /// The probe's process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next reply. Waits for it.
    pub(super) fn reply(&mut self) -> Result<Reply, String> {
        let mut line = String::new();
        match self.replies.read_line(&mut line) {
            Ok(0) => Err(format!("the probe ended unasked: {}", self.how_it_ended())),
            Ok(_) => {
                serde_json::from_str(&line).map_err(|error| format!("the probe was not understood: {error}"))
            }
            Err(error) => Err(format!("the probe cannot be heard: {error}")),
        }
    }

    /// Starts the measurement.
    pub(super) fn go(&mut self, start_ns: u64) -> Result<(), String> {
        say(&mut self.order, &Go { start_ns })
    }

    /// Tells the probe to end, if it waits for something that may never come. One that is busy sees it in the map.
    pub(super) fn say_end(&mut self) {
        // It may have ended already.
        let _ = self.order.write_all(b"\n");
    }

    /// Waits for the end of a probe that has said its last word.
    pub(super) fn see_out(&mut self) {
        let _ = self.child.wait();
    }

    fn how_it_ended(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => in_words(status),
            Err(error) => format!("unknown ({error})"),
        }
    }
}

impl Drop for ProbeChild {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say<T: serde::Serialize>(to: &mut ChildStdin, what: &T) -> Result<(), String> {
    let mut line = serde_json::to_string(what).map_err(|error| error.to_string())?;
    line.push('\n');
    to.write_all(line.as_bytes()).map_err(|error| format!("the probe cannot be spoken to: {error}"))
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "for no reason known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunables_of_the_person_stay() {
        assert_eq!(without_restartable_sequences(None), "glibc.pthread.rseq=0");
        assert_eq!(without_restartable_sequences(Some(OsString::new())), "glibc.pthread.rseq=0");
        let inherited = Some("glibc.malloc.check=3".into());
        assert_eq!(without_restartable_sequences(inherited), "glibc.malloc.check=3:glibc.pthread.rseq=0");
    }
}
