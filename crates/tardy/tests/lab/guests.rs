//! Starting tardy's lab in tests.
//!
//! Each emulator has its own CPU of this machine. A test waits until as many CPUs are free as it runs guests at a
//! time, so tests may have more threads than there are CPUs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Condvar, Mutex, PoisonError};

use tardy_record::Run;
use tardy_sys::scheduling;

/// CPUs of this machine that no test uses. `None` until the first test asks for one.
static FREE: (Mutex<Option<Vec<u32>>>, Condvar) = (Mutex::new(None), Condvar::new());

/// Held by the test that gets CPUs next.
static NEXT: Mutex<()> = Mutex::new(());

/// CPUs of this machine that are reserved for a test's guests until this is dropped.
pub(crate) struct Turn {
    cores: Vec<u32>,
}

impl Turn {
    /// Waits for one CPU.
    pub(crate) fn on_one() -> Self {
        Self::when(|free, _| !free.is_empty(), 1)
    }

    /// Waits until all CPUs are free, and takes them.
    pub(crate) fn on_all() -> Self {
        Self::when(|free, all| free.len() == all, usize::MAX)
    }

    fn when(may_go: impl Fn(&[u32], usize) -> bool, count: usize) -> Self {
        let all = scheduling::affinity().expect("the CPUs of this process");
        // First come, first served. Else a test that needs all CPUs would wait until no other test runs.
        let _next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = FREE.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !may_go(free.get_or_insert_with(|| all.clone()), all.len()) {
            free = FREE.1.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        let free = free.get_or_insert_default();
        let count = count.min(free.len());
        Self { cores: free.drain(..count).collect() }
    }

    /// The first of its CPUs.
    pub(crate) fn core(&self) -> u32 {
        self.cores[0]
    }

    /// `command`, pinned to the first of the CPUs.
    pub(crate) fn pinned(&self, command: &Command) -> Command {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", &self.core().to_string()]).arg(command.get_program()).args(command.get_args());
        pinned
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut free = FREE.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.get_or_insert_default().append(&mut self.cores);
        FREE.1.notify_all();
    }
}

/// The directory of the guests' tardy binaries. `None`, with the reason printed, if these tests are off.
pub(crate) fn directory() -> Option<PathBuf> {
    let directory = std::env::var_os("TARDY_LAB_GUESTS").map(PathBuf::from);
    if directory.is_none() {
        eprintln!("skipped: TARDY_LAB_GUESTS is not set; `make test-lab` builds the guests and sets it");
    }
    directory
}

/// `tardy lab COMMAND` with the guests' tardy for the processor.
pub(crate) fn lab(guests: &Path, processor: &str, command: &str) -> Command {
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", command, "--guest-tardy"]).arg(guests.join(format!("tardy-guest-{processor}")));
    tardy
}

/// Runs the command on all CPUs. Asserts that it exits with `status`.
pub(crate) fn expect(tardy: Command, status: i32) -> Output {
    let _turn = Turn::on_all();
    ends_with(tardy, status)
}

/// The same on one CPU, for a command that runs one guest at a time.
pub(crate) fn expect_alone(tardy: &Command, status: i32) -> Output {
    let turn = Turn::on_one();
    ends_with(turn.pinned(tardy), status)
}

fn ends_with(mut tardy: Command, status: i32) -> Output {
    let output = tardy.output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{}", text_of(&output));
    output
}

/// Standard output, then standard error.
pub(crate) fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A run file.
pub(crate) fn run(path: &Path) -> Run {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    tardy_record::file::from_text(&text).unwrap()
}
