//! The file in shared memory in which cyclictest shows its state: `get_cyclictest_snapshot` finds running instances by it,
//! sends SIGUSR2 and reads it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

const DIRECTORY: &str = "/dev/shm";

/// `/dev/shm/cyclictestPID`, there as long as this is. Where it cannot be made, nobody will find this instance, which is no
/// reason not to measure: cyclictest measures too.
pub(super) struct StatusFile {
    open: Option<(PathBuf, File)>,
}

impl StatusFile {
    pub(super) fn create() -> Self {
        let path = PathBuf::from(format!("{DIRECTORY}/cyclictest{}", std::process::id()));
        // What a process of the same number left behind.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path);
        Self { open: file.ok().map(|file| (path, file)) }
    }

    /// Replaces what the file says. It is never empty in between: whoever reads it meanwhile sees one state or the other.
    pub(super) fn write(&mut self, text: &str) {
        if let Some((_, file)) = &self.open {
            let written =
                file.write_all_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64));
            // No room for a few lines: the file would lie.
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
