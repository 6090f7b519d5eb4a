//! cyclictest's status file in shared memory. `get_cyclictest_snapshot` finds running instances by this file, sends SIGUSR2 and
//! reads it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

const DIRECTORY: &str = "/dev/shm";

/// `/dev/shm/cyclictestPID`, removed on drop. If it cannot be created, the measurement runs without it, as in cyclictest.
pub(super) struct StatusFile {
    open: Option<(PathBuf, File)>,
}

impl StatusFile {
    pub(super) fn create() -> Self {
        let path = PathBuf::from(format!("{DIRECTORY}/cyclictest{}", std::process::id()));
        // Left by an earlier process with the same id.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path);
        Self { open: file.ok().map(|file| (path, file)) }
    }

    /// Replaces the content. The file is never empty, so that a concurrent reader sees the old or the new state.
    pub(super) fn write(&mut self, text: &str) {
        if let Some((_, file)) = &self.open {
            let written =
                file.write_all_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64));
            // After a failed write, for lack of space, the file would show a wrong state.
            if written.is_err() {
                self.remove();
            }
        }
    }

    fn remove(&mut self) {
        if let Some((path, _)) = self.open.take() {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        self.remove();
    }
}
