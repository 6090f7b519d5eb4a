//! The temporary directory of a guest's files.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tardy_sys::files::PrivateDirectory;

/// A guest's directory. Dropping it removes the directory and its files.
#[derive(Debug)]
pub(crate) struct GuestDirectory {
    directory: PrivateDirectory,
}

impl GuestDirectory {
    /// Creates a directory below the system's temporary directory. Only this user can access it.
    pub(crate) fn create() -> io::Result<Self> {
        remove_leftovers();
        let directory = PrivateDirectory::create(&format!("{PREFIX}{}-", std::process::id()))?;
        Ok(Self { directory })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.directory.directory().create_new(name.as_ref(), 0o644)?.write_all(content)
    }
}

const PREFIX: &str = "tardy-guest-";

/// Removes this user's directories of processes that were killed.
fn remove_leftovers() {
    for directory in PrivateDirectory::left_over(PREFIX) {
        let name = directory.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(is_gone) {
            let _ = fs::remove_dir_all(directory.path());
        }
    }
}

/// Whether no process has the id `pid`.
fn is_gone(pid: &str) -> bool {
    pid.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_dead_processes_are_removed_and_others_stay() {
        // Process ids are at most 2^22 (pid_max, proc_sys_kernel(5)).
        let dead = std::env::temp_dir().join(format!("{PREFIX}4194999-0"));
        fs::create_dir_all(&dead).unwrap();
        let (first, second) = (GuestDirectory::create().unwrap(), GuestDirectory::create().unwrap());
        assert!(!dead.exists());
        assert!(first.path().is_dir() && second.path().is_dir() && first.path() != second.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
