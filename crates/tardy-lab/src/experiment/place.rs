//! A guest's own directory, gone with the guest.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The directory. Dropping it removes it with all that is in it.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
}

impl Place {
    /// Makes a directory that nobody else can enter, where temporary files go.
    pub(super) fn make() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        remove_left_behind();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("{PREFIX}{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                // Left by a tardy of the same number that was killed: another name, since it is not ours to remove.
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

/// Removes what a tardy left behind that was killed. Others' directories cannot be removed, and are not ours to.
fn remove_left_behind() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(is_gone) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether `pid` is the number of no process that there is.
fn is_gone(pid: &str) -> bool {
    pid.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is a few files in a temporary directory.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_tardy_left_is_removed_and_what_lives_is_not() {
        // No kernel gives out process ids above 2^22 (pid_max, proc_sys_kernel(5)).
        let dead = std::env::temp_dir().join(format!("{PREFIX}4194999-0"));
        fs::create_dir_all(&dead).unwrap();
        let (first, second) = (Place::make().unwrap(), Place::make().unwrap());
        assert!(!dead.exists());
        assert!(first.path().is_dir() && second.path().is_dir() && first.path() != second.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
