//! Runs tardy in a temporary directory and holds its output, for all tests of the command line.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A temporary directory in which tardy runs.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Writes a run file. It begins with its version, by which directories are searched for run files.
    pub(crate) fn write_run(&self, name: &str, mut run: Value) {
        let version = run.as_object_mut().unwrap().remove("schema_version").expect("a version");
        let text = run.to_string().replacen('{', &format!("{{\"schema_version\":{version},"), 1);
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `tardy` with these arguments, in this directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(arguments).current_dir(self.directory.path()).env("NO_COLOR", "1");
        command.env("LC_ALL", "C.UTF-8");
        command
    }

    /// `tardy` as root with these arguments, whose journal is in this directory. What it leaves when it is killed is restored neither by
    /// another test nor by the next start in one. It has the mounts of this thread.
    pub(crate) fn command_with_own_journal(&self, arguments: &[&str]) -> Command {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(self.path("journal")).unwrap();
        let mut command = Command::new("unshare");
        let script = "mkdir -p /run/tardy && mount --bind journal /run/tardy && exec \"$0\" \"$@\"";
        command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_tardy")]).args(arguments);
        command.current_dir(self.directory.path()).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
        command
    }

    /// Starts `tardy` with these arguments.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.command(arguments))
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

/// A command that runs. It is killed when this is dropped, so that a failed test leaves none behind.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tardy starts")))
    }

    /// Sends it a signal, such as `-INT`.
    pub(crate) fn signal(&self, signal: &str) {
        send(signal, self.id());
    }

    /// Waits for its end.
    pub(crate) fn printed(mut self) -> Printed {
        let child = self.0.take().expect("it is taken once");
        Printed::from(child.wait_with_output().expect("its output can be read"))
    }
}

/// Sends process or thread `pid` a signal, such as `-STOP`.
pub(crate) fn send(signal: &str, pid: u32) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill starts");
    assert!(status.success(), "kill {signal} {pid}");
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it was not taken")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it was not taken")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
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

/// Waits for what a test has caused. It ends long before this on any machine: a test that waits so long has found something.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}
