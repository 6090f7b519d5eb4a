//! The journal of kernel settings that tardy has changed, so that `tardy restore` undoes what a crash left.
//!
//! One small file for each setting, written before the setting is changed and removed once it is put back. It lies in
//! memory (`/run`), as the settings do: neither outlives a boot. Whoever changes a setting holds a guard that puts it
//! back; the journal is for the guard that was killed.

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

/// Where the administrator's tardy keeps its journal.
const DIRECTORY: &str = "/run/tardy/journal";

/// Where a journal lies.
#[derive(Clone, Debug)]
pub struct Place {
    directory: PathBuf,
    /// Files that tell which processes are alive.
    files: KernelFiles,
}

impl Place {
    /// This process's: `/run/tardy/journal`, or below `$XDG_RUNTIME_DIR` for one that may not write there.
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

    /// That of the machine whose kernel files these are: this process's, or one in the tree that stands in for a
    /// machine.
    pub fn of(files: &KernelFiles) -> Self {
        if files.is_real() { Self::own() } else { Self::at(&files.resolve(DIRECTORY)) }
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// One in `directory`, for tests.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), files: KernelFiles::real() }
    }

    /// Writes down that `setting` is about to be changed.
    ///
    /// # Errors
    /// In words, if it cannot be: then the setting must not be changed.
    pub fn note(&self, setting: &dyn Undo) -> Result<Entry, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let name = format!("{pid}-{}.json", NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = self.directory.join(name);
        let owner = Owner { pid, started_ticks: self.started_ticks(pid) };
        let text = serde_json::to_string(&Line { owner, setting: setting.to_json() }).unwrap_or_default();
        let write = || {
            prepare(&self.directory)?;
            // An entry of this name is of a dead process that had the same id.
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())
        };
        write().map_err(|error| {
            format!(
                "{} cannot be written ({error}), so that a crash could not be undone; nothing was changed",
                path.display()
            )
        })?;
        Ok(Entry { path })
    }

    /// When a process started, in clock ticks since boot; nothing if there is none of that id.
    fn started_ticks(&self, pid: u32) -> Option<u64> {
        let stat = self.files.text(&format!("/proc/{pid}/stat")).ok()?;
        // The command's name may hold blanks and brackets; the last bracket ends it. Start time is the 22nd field.
        stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
    }
}

/// Makes a directory that only its owner may look into.
pub fn prepare(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Whether it may be written is asked, since a directory that is there may be another user's.
    let probe = directory.join(format!(".{}", std::process::id()));
    File::create(&probe)?;
    fs::remove_file(&probe)
}

/// A line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    owner: Owner,
    setting: Value,
}

/// The process that changed a setting. Its id alone may belong to another by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    pid: u32,
    started_ticks: Option<u64>,
}

/// An entry of this process's.
#[derive(Debug)]
#[must_use = "an entry is struck once its setting is put back"]
pub struct Entry {
    path: PathBuf,
}

impl Entry {
    /// Strikes the entry: its setting is as it was.
    pub fn strike(self) {
        let _ = fs::remove_file(&self.path);
    }
}
