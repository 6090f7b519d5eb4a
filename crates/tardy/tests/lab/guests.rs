//! Starting tardy's lab in tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tardy_record::Run;

/// Where the guests' tardys are; `None`, with a word about it, where these tests are not wanted.
pub(crate) fn directory() -> Option<PathBuf> {
    let directory = std::env::var_os("TARDY_LAB_GUESTS").map(PathBuf::from);
    if directory.is_none() {
        eprintln!("skipped: TARDY_LAB_GUESTS is not set; `make lab-tests` builds the guests and sets it");
    }
    directory
}

/// `tardy lab COMMAND` with the guests' tardy for the processor.
pub(crate) fn lab(guests: &Path, processor: &str, command: &str) -> Command {
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", command, "--guest-tardy"]).arg(guests.join(format!("tardy-guest-{processor}")));
    tardy
}

/// Runs it to its end, which must be the exit status `status`.
pub(crate) fn expect(mut tardy: Command, status: i32) -> Output {
    let output = tardy.output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    output
}

/// All that it said.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A run file.
pub(crate) fn run(path: &Path) -> Run {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    tardy_record::file::from_text(&text).unwrap()
}
