//! A kernel file and its buffer, read once per round.

use tardy_sys::kernel_files::{KernelFileError, KernelFiles, PolledFile};

use super::room::Room;

/// On a measured CPU, one system call reads this many bytes at most. The kernel's tables are generated while they are read,
/// line by line, so that a smaller read is a shorter call: 195 us for the whole of /proc/interrupts in the lab.
const PIECE: usize = 512;

/// A file that stays open, with its read buffer.
pub(super) struct Polled {
    file: PolledFile,
    buffer: Vec<u8>,
    /// Longest system call so far, in ns.
    longest_ns: u64,
}

impl Polled {
    /// Opens a file; the error is a short reason with the path.
    pub(super) fn open(files: &KernelFiles, path: &str) -> Result<Self, String> {
        let error = |error: KernelFileError| format!("{path}: {}", error.reason());
        Ok(Self { file: files.open(path).map_err(error)?, buffer: Vec::new(), longest_ns: 0 })
    }

    /// Its current content; `None` if it cannot be read this time.
    pub(super) fn read(&mut self, room: &Room) -> Option<&[u8]> {
        if !room.is_shared() {
            return self.file.read(&mut self.buffer).ok();
        }
        let (file, longest_ns) = (&self.file, &mut self.longest_ns);
        file.read_in_pieces(&mut self.buffer, PIECE, |call| room.run(longest_ns, call)).ok()
    }
}
