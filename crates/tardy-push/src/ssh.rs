//! Pushing to an archive on a machine that is reached by the system's ssh, where `tardy archive add ARCHIVE - --json` keeps the run.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use tardy_archive::Address;
use tardy_load::quoted;
use tardy_sys::child::{self, signal};
use tardy_sys::programs;

use crate::sender::{Failure, Sender};

/// How long the other side may take for a run.
const ANSWER_WITHIN: Duration = Duration::from_secs(300);
/// ssh's own failures have this status.
const SSH_FAILED: i32 = 255;
/// The shell found no program of this name.
const NO_PROGRAM: i32 = 127;
/// The most bytes of the other side's output that are read: it prints a few lines.
const READ_MAX: u64 = 64 << 10;
/// The most characters of the other side's output that are shown.
const OUTPUT_MAX: usize = 1000;
/// Options of ssh: it asks nothing, and notices a connection that is dead.
const OPTIONS: [&str; 8] = [
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=4",
];

/// A machine with an archive.
pub(crate) struct Machine {
    machine: String,
    port: Option<u16>,
    archive: String,
}

impl Machine {
    pub(crate) fn new(machine: String, port: Option<u16>, archive: String) -> Self {
        Self { machine, port, archive }
    }
}

impl Sender for Machine {
    fn send(&mut self, address: &Address, compressed: &[u8]) -> Result<bool, Failure> {
        let ssh = programs::find("ssh").ok_or_else(|| {
            Failure::Stopped(
                "there is no program 'ssh'; install openssh-client, or push to a server".to_owned(),
            )
        })?;
        let mut command = Command::new(ssh);
        command.args(OPTIONS);
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        command
            .arg("--")
            .arg(&self.machine)
            .arg(format!("tardy archive add {} - --json", quoted(&self.archive)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: io::Error| Failure::Later(format!("ssh: {error}"), None);
        let process = command.spawn().map_err(failed)?;
        let output = output_of(process, compressed.to_vec()).map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.trim().chars().take(OUTPUT_MAX).collect();
        let outcome = Outcome::of(&output.stdout, address);
        match (output.status.code(), outcome) {
            (Some(0), Some("added")) => Ok(false),
            (Some(0), Some("known")) => Ok(true),
            (Some(NO_PROGRAM), _) => {
                Err(Failure::Stopped(format!("{}: there is no tardy: {said}", self.machine)))
            }
            (Some(SSH_FAILED) | None, _) => Err(Failure::Later(said, None)),
            (Some(_), Some("refused")) => Err(Failure::Refused(said)),
            (Some(0), _) => {
                let reason =
                    "the command there did not report that it kept the run; is it 'tardy archive add'?";
                Err(Failure::Later(format!("{}: {reason}", self.machine), None))
            }
            (Some(_), _) => Err(Failure::Later(said, None)),
        }
    }
}

/// Sends `input` to a process, and returns its output. A process that takes too long is ended.
fn output_of(mut process: Child, input: Vec<u8>) -> io::Result<Output> {
    let pid = process.id();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let out = thread::spawn(move || stdout.map_or_else(|| Ok(Vec::new()), beginning));
        let err = thread::spawn(move || stderr.map_or_else(|| Ok(Vec::new()), beginning));
        // An ssh that ends early says why on its output.
        let _ = process.stdin.take().map(|mut stdin| stdin.write_all(&input));
        let read = |reading: thread::JoinHandle<io::Result<Vec<u8>>>| {
            reading.join().unwrap_or_else(|_| Err(io::Error::other("its output cannot be read")))
        };
        // Both end when it ends, or when one has printed too much, which ends it.
        let (stdout, stderr) = (read(out), read(err));
        let status = process.wait();
        let output = || Ok(Output { status: status?, stdout: stdout?, stderr: stderr? });
        let _ = sender.send(output());
    });
    match receiver.recv_timeout(ANSWER_WITHIN) {
        Ok(output) => output,
        Err(_) => {
            // It is not waited for yet, so the number is still its own.
            let _ = child::send(pid, signal::KILL);
            Err(io::Error::new(io::ErrorKind::TimedOut, "the command there did not end in time"))
        }
    }
}

/// All that is printed, if it is not too much. The pipe is closed then, which ends what goes on printing.
fn beginning(pipe: impl Read) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    pipe.take(READ_MAX + 1).read_to_end(&mut read)?;
    match read.len() as u64 <= READ_MAX {
        true => Ok(read),
        false => Err(io::Error::other(format!("the command there printed more than {} KiB", READ_MAX >> 10))),
    }
}

/// What became of a run, as the other side's tardy printed it.
#[derive(Deserialize)]
struct Outcome {
    outcome: String,
    run: Option<String>,
}

impl Outcome {
    /// The outcome of the run with this address. That of a run that is kept has its path there.
    fn of(json: &[u8], address: &Address) -> Option<&'static str> {
        let all: Vec<Self> = serde_json::from_slice(json).ok()?;
        let [one] = &all[..] else { return None };
        let path = one.run.as_deref().unwrap_or_default();
        let outcomes = ["added", "known", "refused", "failed"];
        let outcome = outcomes.into_iter().find(|outcome| one.outcome == *outcome)?;
        // 'runs/ab/cdef….run.json.gz', or an object's name with the whole address.
        let is_kept = path.replace('/', "").contains(address.as_str());
        (is_kept || !matches!(outcome, "added" | "known")).then_some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_one_word_of_the_shell() {
        assert_eq!(quoted("/srv/a b'; rm -r"), "'/srv/a b'\\''; rm -r'");
    }

    #[test]
    fn a_command_that_prints_for_ever_is_ended() {
        let mut endless = Command::new("yes");
        endless.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let error = output_of(endless.spawn().unwrap(), b"run".to_vec()).unwrap_err();
        assert!(error.to_string().contains("more than 64 KiB"), "{error}");
    }

    #[test]
    fn only_the_address_of_the_run_acknowledges_it() {
        let address = Address::of(b"run");
        let path = format!("/srv/runs/{}/{}.run.json.gz", &address.as_str()[..2], &address.as_str()[2..]);
        let of = |json: &str| Outcome::of(json.as_bytes(), &address);
        assert_eq!(
            of(&format!("[{{\"file\": \"-\", \"outcome\": \"added\", \"run\": \"{path}\"}}]")),
            Some("added")
        );
        assert_eq!(of("[{\"outcome\": \"added\", \"run\": \"runs/ab/cd.run.json.gz\"}]"), None);
        assert_eq!(of("[{\"outcome\": \"refused\", \"error\": \"not a run\"}]"), Some("refused"));
        for wrong in ["", "[]", "added", "[{\"outcome\": \"known\"}]"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
