//! The journal of settings that tardy has changed, so that `tardy restore` can undo what a crash left.
//!
//! One small file per setting, written before the setting is changed and removed once it is restored. The journal is in
//! memory (`/run`), like the settings: neither survives a reboot. Every change has a guard that restores it; the
//! journal covers the case that the guard was killed.
//!
//! An entry determines what the next `tardy restore` writes. Therefore the directory and its entries must belong to the
//! caller, and a change is undone only if it is one of those that tardy makes.

mod restore;
mod undo;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_sys::files::{self, Directory};
use tardy_sys::kernel_files::KernelFiles;

pub use restore::{Fate, Restored, left_behind, restore, restore_only};
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
    /// This process's journal: root's is `/run/tardy/journal`. Another user's is below `$XDG_RUNTIME_DIR`, if that directory
    /// belongs to the user alone.
    pub fn own() -> Self {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        Self::choose(files::caller() == 0, runtime)
    }

    fn choose(is_root: bool, runtime: Option<PathBuf>) -> Self {
        let is_private = |path: &PathBuf| {
            path.is_absolute()
                && Directory::own(path).and_then(|runtime| runtime.is_private()).unwrap_or(false)
        };
        let runtime = runtime.filter(|_| !is_root).filter(is_private);
        let directory = runtime.map_or_else(|| PathBuf::from(DIRECTORY), |path| path.join("tardy/journal"));
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
        let owner = Owner { pid, started_ticks: self.started_ticks(pid) };
        let text = serde_json::to_string(&Line { owner, setting: setting.to_json() }).unwrap_or_default();
        let write = || {
            let directory = self.prepare()?;
            loop {
                let name = OsString::from(format!("{pid}-{}.json", NUMBER.fetch_add(1, Ordering::Relaxed)));
                match directory.create_new(&name, 0o600) {
                    // It belongs to a dead process that had the same id, and is still to be undone.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    created => {
                        let entry = Entry { path: self.directory.join(name) };
                        return created?.write_all(text.as_bytes()).map(|()| entry);
                    }
                }
            }
        };
        write().map_err(|error| {
            format!(
                "{} cannot be written ({error}), so a change could not be undone after a crash; nothing was \
                 changed",
                self.directory.display()
            )
        })
    }

    /// Creates the directory if it is missing, and opens it.
    fn prepare(&self) -> io::Result<Directory> {
        if let Some(parent) = self.directory.parent() {
            Directory::own_or_new(parent)?;
        }
        Directory::own_or_new(&self.directory)
    }

    /// Opens the directory. `None` if it does not exist.
    ///
    /// # Errors
    /// If the directory or the one that contains it does not belong to the caller alone.
    fn open(&self) -> io::Result<Option<Directory>> {
        let open = || {
            self.directory.parent().map(Directory::own).transpose()?;
            Directory::own(&self.directory)
        };
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// When a process started, in clock ticks since boot; `None` if it does not exist.
    fn started_ticks(&self, pid: u32) -> Option<u64> {
        let stat = self.files.text(&format!("/proc/{pid}/stat")).ok()?;
        // The command name ends at the last parenthesis, since it may contain others. The start time is field 22.
        stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
    }
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
        let _ = files::remove_own(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn root_uses_the_systems_journal_alone_and_a_user_the_private_runtime_directory() {
        let runtime = tempfile::tempdir().unwrap();
        fs::set_permissions(runtime.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let chosen = |is_root| Place::choose(is_root, Some(runtime.path().to_owned())).directory;
        assert_eq!(chosen(true), Path::new(DIRECTORY));
        assert_eq!(chosen(false), runtime.path().join("tardy/journal"));
        fs::set_permissions(runtime.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(chosen(false), Path::new(DIRECTORY), "others can read it");
        assert_eq!(Place::choose(false, Some("relative".into())).directory, Path::new(DIRECTORY));
    }
}
