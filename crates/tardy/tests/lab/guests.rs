//! Starting tardy's lab in tests.
//!
//! Each emulator has its own CPU of this machine. A test waits until as many CPUs are free as it runs guests at a
//! time, so tests may have more threads than there are CPUs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Condvar, Mutex, PoisonError};

use tardy_record::Run;
use tardy_sys::scheduling;

/// The CPUs of this machine, and the tests that wait for them.
#[derive(Default)]
struct Cpus {
    /// All of them. Empty until the first test asks for one.
    all: Vec<u32>,
    /// Those that no test uses.
    free: Vec<u32>,
    /// How much the waiting tests have to do.
    waiting: Vec<usize>,
}

static CPUS: (Mutex<Cpus>, Condvar) =
    (Mutex::new(Cpus { all: Vec::new(), free: Vec::new(), waiting: Vec::new() }), Condvar::new());

/// CPUs of this machine that are reserved for a test's guests until this is dropped.
pub(crate) struct Turn {
    cores: Vec<u32>,
}

impl Turn {
    /// Waits for one CPU, until no test that waits has more to do. `work` is the number of scenes and of their files.
    ///
    /// The longest boots begin first, so the CPUs become idle at nearly the same time.
    pub(crate) fn on_one(work: usize) -> Self {
        Self::when(work, |_| 1)
    }

    /// Waits until all CPUs are free, and takes them. Comes before tests that need one.
    pub(crate) fn on_all() -> Self {
        Self::when(usize::MAX, |all| all)
    }

    /// Waits until as many CPUs are free as `count` returns for all of them.
    fn when(work: usize, count: impl Fn(usize) -> usize) -> Self {
        let mut cpus = CPUS.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cpus.all.is_empty() {
            cpus.all = scheduling::affinity().expect("the CPUs of this process");
            cpus.free = cpus.all.clone();
        }
        let count = count(cpus.all.len());
        cpus.waiting.push(work);
        while cpus.free.len() < count || cpus.waiting.iter().any(|other| *other > work) {
            cpus = CPUS.1.wait(cpus).unwrap_or_else(PoisonError::into_inner);
        }
        let own = cpus.waiting.iter().position(|waiting| *waiting == work).expect("it was added above");
        cpus.waiting.swap_remove(own);
        // The tests that had to wait for this one may go if CPUs are left.
        CPUS.1.notify_all();
        Self { cores: cpus.free.drain(..count).collect() }
    }

    /// The first of its CPUs.
    pub(crate) fn core(&self) -> u32 {
        self.cores[0]
    }

    /// `command`, pinned to the first of the CPUs.
    pub(crate) fn pinned(&self, command: &Command) -> Command {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", &self.core().to_string()]).arg(command.get_program()).args(command.get_args());
        pinned.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        pinned
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        CPUS.0.lock().unwrap_or_else(PoisonError::into_inner).free.append(&mut self.cores);
        CPUS.1.notify_all();
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
    let turn = Turn::on_one(1);
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

/// A run file, compressed or not.
pub(crate) fn run(path: &Path) -> Run {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = match tardy_archive::is_compressed(&bytes) {
        true => tardy_archive::read_compressed(&bytes[..]).unwrap().content,
        false => bytes,
    };
    tardy_record::file::from_text(&text).unwrap()
}
