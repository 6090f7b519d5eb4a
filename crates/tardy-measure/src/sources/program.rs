//! A program that runs for a phase, in its own process group, and its output.

use std::io::{PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use tardy_sys::child::{self, signal};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::programs;
use tardy_sys::signals::wait_readable;

/// Time that the program may take to end when asked.
pub(super) const STOP_GRACE_NS: u64 = 5_000_000_000;
/// How often the exit of a program that has closed its output is polled.
const END_LOOK_NS: u64 = 5_000_000;
/// Limit on the output, larger than any histogram: a program that prints endlessly must not exhaust the memory.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// A running program. Dropping this kills it.
pub(super) struct Program {
    child: Child,
    output: PipeReader,
}

impl Program {
    /// Starts `command`: a program and its arguments.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) fn start(command: &[String]) -> Result<Self, String> {
        let (program, arguments) =
            command.split_first().ok_or("the plan names no program; please report it")?;
        let cannot = |error: std::io::Error| format!("{program} cannot be started: {error}");
        let (output, writer) = std::io::pipe().map_err(cannot)?;
        child::do_not_wait_on(&output).map_err(cannot)?;
        let mut command = Command::new(program);
        command.env("PATH", programs::path_of_user());
        command.args(arguments).stdin(Stdio::null());
        child::prepare(&mut command, &[]);
        // A separate process group, so that its children are killed with it.
        command.process_group(0);
        command.stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
        let child = command.spawn().map_err(cannot)?;
        Ok(Self { child, output })
    }

    /// The descriptor of its output.
    pub(super) fn output_fd(&self) -> RawFd {
        self.output.as_raw_fd()
    }

    /// Reads the available output. Returns whether the output has ended.
    pub(super) fn read(&mut self, into: &mut Vec<u8>) -> bool {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.output.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => {
                    let room = OUTPUT_BYTES_MAX.saturating_sub(into.len());
                    into.extend_from_slice(&chunk[..count.min(room)]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
    }

    /// Whether it has ended. Its children may still hold its output.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the program's end, and returns its status. Kills a program that does not end in time, and in any case
    /// its remaining children.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        let end_ns = monotonic_ns() + STOP_GRACE_NS;
        while monotonic_ns() < end_ns && !self.has_ended() {
            // poll(2) cannot wait for the exit of a process without a pidfd.
            let _ = wait_readable(&[], END_LOOK_NS);
        }
        self.kill();
        self.child.wait().ok()
    }

    /// Asks the program to end, as Ctrl-C would.
    pub(super) fn interrupt(&self) {
        let _ = child::send(self.child.id(), signal::INTERRUPT);
    }

    /// Kills the program and its children.
    pub(super) fn kill(&mut self) {
        let _ = child::send_to_group(self.child.id(), signal::KILL);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// How a program ended, for a message.
pub(super) fn how(status: ExitStatus) -> String {
    status.code().map_or_else(
        || format!("signal {}", status.signal().unwrap_or_default()),
        |code| format!("exit status {code}"),
    )
}

/// The last line that is not empty, in which programs usually report an error; at most 200 characters.
pub(super) fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    line.trim().chars().take(200).collect()
}
