//! Another's program that runs for a phase, in a group of its own, with what it prints.

use std::io::{PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use tardy_sys::child::{self, signal};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::wait_readable;

/// How long it may take to end when it is asked to.
pub(super) const STOP_GRACE_NS: u64 = 5_000_000_000;
/// How often a program that has said its last word is looked at.
const END_LOOK_NS: u64 = 5_000_000;
/// More than any histogram of it: a program that prints without end must not fill the memory.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// The program. It is killed when this is dropped.
pub(super) struct Program {
    child: Child,
    output: PipeReader,
}

impl Program {
    /// Starts `words`: a program and its arguments.
    ///
    /// # Errors
    /// In words.
    pub(super) fn start(words: &[String]) -> Result<Self, String> {
        let (program, arguments) =
            words.split_first().ok_or("the plan names no program; please report it")?;
        let cannot = |error: std::io::Error| format!("{program} cannot be started: {error}");
        let (output, writer) = std::io::pipe().map_err(cannot)?;
        child::do_not_wait_on(&output).map_err(cannot)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        child::prepare(&mut command, &[]);
        // What it starts itself goes with it.
        command.process_group(0);
        command.stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
        let child = command.spawn().map_err(cannot)?;
        Ok(Self { child, output })
    }

    /// What its output can be waited for by.
    pub(super) fn output_fd(&self) -> RawFd {
        self.output.as_raw_fd()
    }

    /// Reads what there is. Whether its output is at its end.
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
}

impl Program {
    /// Whether it has ended: whatever it started may still hold its output.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// How it ended. One that has closed its output and does not end is killed, and so is what it leaves behind.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        let end_ns = monotonic_ns() + STOP_GRACE_NS;
        while monotonic_ns() < end_ns && !self.has_ended() {
            // The end of a process cannot be waited for together with a time; it is due at any moment.
            let _ = wait_readable(&[], END_LOOK_NS);
        }
        self.kill();
        self.child.wait().ok()
    }

    /// Asks it to end, as Ctrl-C would.
    pub(super) fn interrupt(&self) {
        let _ = child::send(self.child.id(), signal::INTERRUPT);
    }

    /// Kills it, and what it has started.
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

/// How a program ended, in words.
pub(super) fn how(status: ExitStatus) -> String {
    status.code().map_or_else(
        || format!("signal {}", status.signal().unwrap_or_default()),
        |code| format!("exit status {code}"),
    )
}

/// The last line that is not empty, as the reason that programs give.
pub(super) fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    line.trim().chars().take(200).collect()
}
