//! make(1), on a source that is configured and built outside of its tree.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tardy_lab::packages::cache_directory::Lock;
use tardy_sys::files::{self, Directory};
use tardy_sys::{child, programs};

use crate::error::BuildError;
use crate::toolchain::Toolchain;

/// The name of the log.
const LOG: &str = "build.log";
/// How many of the log's last lines an error shows.
const LINES: usize = 12;
/// How much of the log's end is read for them, in bytes.
const TAIL: u64 = 16 << 10;
/// What a kernel states about its build, which would make each image different from the last.
const FIXED: [&str; 5] = [
    "KBUILD_BUILD_TIMESTAMP=2020-01-01",
    "KBUILD_BUILD_USER=tardy",
    "KBUILD_BUILD_HOST=tardy",
    "KBUILD_BUILD_VERSION=1",
    // Without it, the release of a source under git ends with a mark of its commit.
    "LOCALVERSION=",
];

/// A source, the directory in which it is built, and the programs.
pub(crate) struct Make<'a> {
    pub(crate) source: &'a Path,
    pub(crate) place: &'a Path,
    pub(crate) tools: &'a Toolchain,
    /// The lock of builds. Programs that make has started may outlive a tardy that is killed, and hold it until they have ended.
    pub(crate) lock: &'a Lock,
}

impl Make<'_> {
    /// The log of the last command.
    pub(crate) fn log(&self) -> PathBuf {
        self.place.join(LOG)
    }

    /// Runs make to its end. Its output is in the log.
    pub(crate) fn run(&self, what: &'static str, arguments: &[&str]) -> Result<(), BuildError> {
        let path = self.log();
        let log = empty_log(self.place).map_err(BuildError::file("writing", &path))?;
        let errors = log.try_clone().map_err(BuildError::file("writing", &path))?;
        let missing = |_| BuildError::Tools(vec![("make".to_owned(), "make".to_owned())]);
        let mut make = programs::command("make").map_err(missing)?;
        let path_of_programs = std::env::join_paths(programs::directories()).unwrap_or_default();
        // Variables such as KCFLAGS and MAKEFLAGS would change what is built.
        make.env_clear().env("PATH", path_of_programs).env("LC_ALL", "C");
        for name in ["HOME", "TMPDIR"] {
            make.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        // A kernel's scripts ask git about the tree, and git runs what the tree's own configuration names.
        make.env("GIT_DIR", "/dev/null");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.args(["--silent", "--no-print-directory", &format!("--jobs={jobs}"), "--directory"]);
        make.arg(self.source).arg(format!("O={}", self.place.display()));
        make.arg(format!("ARCH={}", self.tools.kernel_arch()));
        make.arg(format!("CROSS_COMPILE={}", self.tools.prefix)).args(FIXED).args(arguments);
        make.stdin(Stdio::null()).stdout(log).stderr(errors);
        child::prepare(&mut make, &[self.lock.as_raw_fd()]);
        let status = make.status().map_err(BuildError::file("running make in", self.source))?;
        if status.success() {
            return Ok(());
        }
        Err(BuildError::Make { what, lines: last_lines(&path), log: path })
    }
}

fn empty_log(place: &Path) -> io::Result<File> {
    let log = Directory::own(place)?.own_file(LOG.as_ref(), 0o600)?;
    log.set_len(0)?;
    Ok(log)
}

/// The log's last lines, indented.
fn last_lines(log: &Path) -> String {
    let mut end = Vec::new();
    if let Ok(mut file) = files::open_own(log) {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
        let _ = file.take(TAIL).read_to_end(&mut end);
    }
    let text = String::from_utf8_lossy(&end);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    match last {
        [] => "  (nothing)".to_owned(),
        last => last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"),
    }
}
