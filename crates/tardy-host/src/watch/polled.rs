//! A kernel file and its buffer, read once per round.

use std::io;

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
    /// Time of the last reading, in ns from the start of the run.
    read_at_ns: Option<u64>,
}

/// One reading of a file.
pub(super) struct Read<'file> {
    pub(super) content: &'file [u8],
    /// Seconds since the previous reading of this file, both taken right before the first system call; `None` at the first.
    pub(super) seconds: Option<f64>,
}

impl Polled {
    /// Opens a file; the error is a short reason with the path.
    pub(super) fn open(files: &KernelFiles, path: &str) -> Result<Self, String> {
        let error = |error: KernelFileError| format!("{path}: {}", error.reason());
        let file = files.open(path).map_err(error)?;
        Ok(Self { file, buffer: Vec::new(), longest_ns: 0, read_at_ns: None })
    }

    /// Its current content; `None` if it cannot be read this time.
    pub(super) fn read(&mut self, room: &Room) -> Option<Read<'_>> {
        let mut at_ns = None;
        let (file, longest_ns) = (&self.file, &mut self.longest_ns);
        let piece = if room.is_shared() { PIECE } else { usize::MAX };
        let call_at = |call: &mut dyn FnMut() -> io::Result<usize>| {
            room.run(longest_ns, || {
                at_ns.get_or_insert_with(|| room.at_ns());
                call()
            })
        };
        let content = file.read_in_pieces(&mut self.buffer, piece, call_at).ok()?;
        let before_ns = std::mem::replace(&mut self.read_at_ns, at_ns);
        let lasted_ns = at_ns.zip(before_ns).and_then(|(at_ns, before_ns)| at_ns.checked_sub(before_ns));
        let seconds = lasted_ns.filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9);
        Some(Read { content, seconds })
    }
}
