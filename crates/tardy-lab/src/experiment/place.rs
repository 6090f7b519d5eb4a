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
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("tardy-guest-{}-{number}", std::process::id()));
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

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is a few files in a temporary directory.
        let _ = fs::remove_dir_all(&self.path);
    }
}
