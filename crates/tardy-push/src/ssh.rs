//! Pushing to an archive on a machine that is reached by the system's ssh, where `tardy archive add ARCHIVE - --json` keeps the run.

use std::io::Write;
use std::process::{Command, Stdio};

use tardy_archive::Address;
use tardy_sys::programs;

use crate::sender::{Failure, Sender};

/// ssh's own failures have this status.
const SSH_FAILED: i32 = 255;
/// The shell found no program of this name.
const NO_PROGRAM: i32 = 127;
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
    fn send(&mut self, _: &Address, compressed: &[u8]) -> Result<bool, Failure> {
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
        let failed = |error: std::io::Error| Failure::Later(format!("ssh: {error}"), None);
        let mut child = command.spawn().map_err(failed)?;
        // An ssh that ends early says why on its output.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(compressed));
        let output = child.wait_with_output().map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.trim().chars().take(OUTPUT_MAX).collect();
        match output.status.code() {
            Some(0) => Ok(outcome(&output.stdout) == Some("known")),
            Some(NO_PROGRAM) => Err(Failure::Stopped(format!("{}: there is no tardy: {said}", self.machine))),
            Some(SSH_FAILED) | None => Err(Failure::Later(said, None)),
            Some(_) if outcome(&output.stdout) == Some("refused") => Err(Failure::Refused(said)),
            Some(_) => Err(Failure::Later(said, None)),
        }
    }
}

/// What became of the run, as the other side's tardy printed it.
fn outcome(json: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(json);
    ["added", "known", "refused", "failed"]
        .into_iter()
        .find(|outcome| text.contains(&format!("\"outcome\": \"{outcome}\"")))
}

/// A word for the other machine's shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_one_word_of_the_shell() {
        assert_eq!(quoted("/srv/a b'; rm -r"), "'/srv/a b'\\''; rm -r'");
    }
}
