//! Runs tardy in a temporary directory and holds its output, for all tests of the command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A temporary directory in which tardy runs.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `tardy` with these arguments, in this directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(arguments).current_dir(self.directory.path()).env("NO_COLOR", "1");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Printed {
        Printed::from(self.command(arguments).output().expect("tardy starts"))
    }

    /// A run file as plain JSON, as any other program would read it.
    pub(crate) fn json(&self, name: &str) -> Value {
        json(&self.path(name))
    }
}

pub(crate) fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("a run file is JSON")
}

/// The output and the exit status of a command.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Printed {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("tardy prints UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Printed {
    /// Asserts the exit status, and shows everything if it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }
}

/// A summary without tardy's own cost, which is measured even with a fake probe.
pub(crate) fn without_own_cost(text: &str) -> String {
    let blocks = text.split("\n\n").filter(|block| !block.starts_with("tardy itself:"));
    blocks.collect::<Vec<_>>().join("\n\n")
}
