//! The journal of settings that tardy has changed, so that `tardy restore` can undo what a crash left.
//!
//! One small file per setting, written before the setting is changed and removed once it is restored. The journal is in
//! memory (`/run`), like the settings: neither survives a reboot. Every change has a guard that restores it; the
//! journal covers the case that the guard was killed.

mod restore;
mod undo;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_sys::kernel_files::KernelFiles;

pub use restore::{Fate, Restored, left_behind, restore};
pub use undo::{Kind, Undo, Undone, read, tagged};

/// The system-wide journal.
const DIRECTORY: &str = "/run/tardy/journal";

/// The location of a journal.
#[derive(Clone, Debug)]
pub struct Place {
    directory: PathBuf,
    /// Used to find out which processes are alive.
    files: KernelFiles,
}

impl Place {
    /// This process's journal: `/run/tardy/journal`, or a directory below `$XDG_RUNTIME_DIR` if that is not writable.
    pub fn own() -> Self {
        Self::choose(Path::new(DIRECTORY), std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from))
    }

    fn choose(first: &Path, runtime: Option<PathBuf>) -> Self {
        let first_will_do = prepare(first).is_ok();
        let second = runtime.filter(|path| path.is_absolute()).map(|path| path.join("tardy/journal"));
        let directory = match second {
            Some(second) if !first_will_do => second,
            _ => first.to_owned(),
        };
        Self { directory, files: KernelFiles::real() }
    }

    /// The journal for `files`: this process's for real kernel files, otherwise one inside the tree that represents a
    /// machine.
    pub fn of(files: &KernelFiles) -> Self {
        if files.is_real() { Self::own() } else { Self::at(&files.resolve(DIRECTORY)) }
    }

    /// The journal's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A journal in `directory`, for tests.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), files: KernelFiles::real() }
    }

    /// Records that `setting` is about to be changed.
    ///
    /// # Errors
    /// If the entry cannot be written. The setting must not be changed then.
    pub fn note(&self, setting: &dyn Undo) -> Result<Entry, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let name = format!("{pid}-{}.json", NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = self.directory.join(name);
        let owner = Owner { pid, started_ticks: self.started_ticks(pid) };
        let text = serde_json::to_string(&Line { owner, setting: setting.to_json() }).unwrap_or_default();
        let write = || {
            prepare(&self.directory)?;
            // An entry with this name belongs to a dead process that had the same id.
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())
        };
        write().map_err(|error| {
            format!(
                "{} cannot be written ({error}), so a change could not be undone after a crash; nothing was \
                 changed",
                path.display()
            )
        })?;
        Ok(Entry { path })
    }

    /// When a process started, in clock ticks since boot; `None` if it does not exist.
    fn started_ticks(&self, pid: u32) -> Option<u64> {
        let stat = self.files.text(&format!("/proc/{pid}/stat")).ok()?;
        // The command name ends at the last parenthesis, since it may contain others. The start time is field 22.
        stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
    }
}

/// Makes a directory that only its owner may read.
pub fn prepare(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Checked by writing, because an existing directory may belong to another user.
    let probe = directory.join(format!(".{}", std::process::id()));
    File::create(&probe)?;
    fs::remove_file(&probe)
}

/// The content of an entry's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    owner: Owner,
    setting: Value,
}

/// The process that changed a setting. The id alone may have been reused by another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    pid: u32,
    started_ticks: Option<u64>,
}

/// An entry of this process.
#[derive(Debug)]
#[must_use = "an entry is removed once its setting is restored"]
pub struct Entry {
    path: PathBuf,
}

impl Entry {
    /// Removes the entry: its setting is restored.
    pub fn strike(self) {
        let _ = fs::remove_file(&self.path);
    }
}
