//! cyclictest's status file in shared memory. `get_cyclictest_snapshot` finds running instances by this file, sends SIGUSR2 and
//! reads it.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tardy_sys::files::Directory;

const DIRECTORY: &str = "/dev/shm";

/// `/dev/shm/cyclictestPID`, removed on drop. If it cannot be created, the measurement runs without it, as in cyclictest.
pub struct StatusFile {
    open: Option<(Directory, OsString, File)>,
}

impl StatusFile {
    /// Creates the file; without the permission to, an object that does nothing.
    pub fn create() -> Self {
        let name = OsString::from(format!("cyclictest{}", std::process::id()));
        let open = Directory::named(Path::new(DIRECTORY)).and_then(|directory| {
            // Left by an earlier process with the same id.
            let _ = directory.remove(&name);
            let file = directory.create_new(&name, 0o644)?;
            Ok((directory, name, file))
        });
        Self { open: open.ok() }
    }

    /// Replaces the content. The file is never empty, so that a concurrent reader sees the old or the new state.
    pub fn write(&mut self, text: &str) {
        if let Some((_, _, file)) = &self.open {
            let written =
                file.write_all_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64));
            // After a failed write, for lack of space, the file would show a wrong state.
            if written.is_err() {
                self.remove();
            }
        }
    }

    fn remove(&mut self) {
        if let Some((directory, name, _)) = self.open.take() {
            let _ = directory.remove(&name);
        }
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        self.remove();
    }
}
