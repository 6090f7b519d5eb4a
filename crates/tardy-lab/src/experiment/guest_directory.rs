//! The temporary directory of a guest's files.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A guest's directory. Dropping it removes the directory and its files.
#[derive(Debug)]
pub(super) struct GuestDirectory {
    path: PathBuf,
}

impl GuestDirectory {
    /// Creates a directory below the system's temporary directory. Only this user can access it.
    pub(super) fn create() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        remove_leftovers();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("{PREFIX}{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                // It belongs to a killed tardy with the same process id: try the next name.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        fs::write(self.path.join(name), content)
    }
}

const PREFIX: &str = "tardy-guest-";

/// Removes the directories of processes that were killed. Other users' directories stay, because removing them fails.
fn remove_leftovers() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(is_gone) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether no process has the id `pid`.
fn is_gone(pid: &str) -> bool {
    pid.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

impl Drop for GuestDirectory {
    fn drop(&mut self) {
        // A failure leaves a few temporary files, which a later guest removes.
        let _ = fs::remove_dir_all(&self.path);
    }
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
