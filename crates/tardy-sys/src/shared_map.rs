//! Counters that the probe writes and the supervisor reads, in a file on tmpfs (ADR 0001).
//!
//! The file is a page of header and then a block for each measuring thread. A block has one writer and a sequence
//! count, which is odd while the writer changes the block: a reader copies the block and keeps the copy if the count
//! was even and did not change. The writer never waits. The count is followed by a request word, by which a reader asks
//! the writer to end. The map does not define the meaning of its cells; the measuring crate does. The blocks may be
//! followed by a ring for each (`ring.rs`), for samples that are kept individually.
//!
//! Count, request and the first cells share a cache line: after a sleep the caches hold another task's data, and each
//! line that a wake-up touches costs more than all its arithmetic.
//!
//! Alternative not taken: counting from a pipe or ring of samples, which can fill up, must be drained, and loses its
//! contents when the reader dies; counters in a file survive `kill -9` of both. Rings are therefore an addition to the
//! counters.

mod block;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use thiserror::Error;

use crate::cell64::Cell64;
use crate::files::Directory;
use crate::ring::{Ring, SLOT_CELLS};

use block::{BLOCK_HEAD_BYTES, BlockMemory};

pub use block::{Block, Writing};

const MAGIC: u64 = u64::from_le_bytes(*b"tardymap");
const VERSION: u64 = 4;
const HEADER_BYTES: usize = 4096;
const CACHE_LINE: usize = 64;
/// A ring's head and tail, with a cache line each.
const RING_HEAD_BYTES: usize = 2 * CACHE_LINE;
/// Cells at the start of the header: magic, version, blocks, cells per block, slots per ring.
const FIXED_CELLS: usize = 5;
/// Header cells whose meaning the user of the map defines.
pub const HEADER_CELLS: usize = 16;
/// The largest map that is opened, in bytes.
const SIZE_MAX: u64 = 4 << 30;
/// The number of times that a reader of the file tries to copy a block between two writes before it gives up.
const FILE_READ_ATTEMPTS: usize = 100;

/// A problem with a map.
#[derive(Debug, Error)]
pub enum MapError {
    /// The kernel refused.
    #[error("{path}: {what}: {source}")]
    Io {
        /// The map's file.
        path: PathBuf,
        /// The action that failed.
        what: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The file is not a map of this version.
    #[error("{path} is not a map of this tardy ({reason}); remove it if no tardy is running")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why it is not a map.
        reason: String,
    },
}

/// A mapped file of counters. While any process has it open, it counts as in use ([`is_in_use`]).
#[derive(Debug)]
pub struct SharedMap {
    path: PathBuf,
    start: NonNull<u8>,
    bytes: usize,
    shape: Shape,
    /// The locked file; `None` for a copy in memory.
    file: Option<File>,
}

/// The dimensions of a map.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    blocks: usize,
    cells: usize,
    /// Slots of each block's ring, a power of two; 0 for no rings.
    ring_slots: usize,
}

// SAFETY: the mapping lives as long as the value, and everything in it is reached through atomics.
unsafe impl Send for SharedMap {}
// SAFETY: as above.
unsafe impl Sync for SharedMap {}

impl SharedMap {
    /// Creates a map of `blocks` blocks of `cells` cells each, all zero, faulted in, readable by its owner only.
    pub fn create(path: &Path, blocks: usize, cells: usize) -> Result<Self, MapError> {
        Self::create_with_rings(path, blocks, cells, 0)
    }

    /// The same with a ring of `ring_slots` slots for each block: a power of two, or 0 for none.
    pub fn create_with_rings(
        path: &Path,
        blocks: usize,
        cells: usize,
        ring_slots: usize,
    ) -> Result<Self, MapError> {
        let shape = Shape { blocks, cells, ring_slots };
        let fail = |what, source| MapError::Io { path: path.to_owned(), what, source };
        let bytes = shape.map_bytes().ok_or_else(|| fail("too large", io::ErrorKind::InvalidInput.into()))?;
        let file = directory_of(path)
            .and_then(|directory| directory.create_new(name_of(path), 0o600))
            .map_err(|error| fail("cannot be created", error))?;
        // Allocated rather than only sized: on a full tmpfs a write to a hole raises SIGBUS, an allocation returns an
        // error. SAFETY: posix_fallocate takes integers only.
        let status = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) };
        let allocated = match status {
            0 => Ok(()),
            error => Err(fail("cannot be allocated", io::Error::from_raw_os_error(error))),
        };
        let map = allocated.and_then(|()| Self::map(path, file, bytes, shape)).inspect_err(|_| {
            let _ = directory_of(path).and_then(|directory| directory.remove(name_of(path)));
        })?;
        let fixed = [MAGIC, VERSION, blocks as u64, cells as u64, ring_slots as u64];
        for (cell, value) in fixed.into_iter().enumerate() {
            map.fixed(cell).set(value);
        }
        Ok(map)
    }

    /// Opens a map that another process created. It must be a regular file of the caller.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let (file, shape, size) = open_checked(path, true)?;
        Self::map(path, file, size, shape)
    }

    /// Reads the header and the counters of a map that another process created or left into memory, without its rings. The
    /// file is only read, and not mapped: a file that is truncated at this moment is an error, not a signal. It must be a
    /// regular file of the caller, of `owner`, and have this many blocks and cells.
    pub fn read(path: &Path, owner: u32, blocks: usize, cells: usize) -> Result<Self, MapError> {
        let fail = |what, source| MapError::Io { path: path.to_owned(), what, source };
        let foreign = |reason: String| MapError::Foreign { path: path.to_owned(), reason };
        let (file, shape, _) = open_checked(path, false)?;
        let of = file.metadata().map_err(|error| fail("cannot be examined", error))?.uid();
        if of != owner {
            return Err(foreign(format!("it belongs to user {of}, not to user {owner}")));
        }
        if (shape.blocks, shape.cells) != (blocks, cells) {
            return Err(foreign(format!("{} blocks of {} cells", shape.blocks, shape.cells)));
        }
        let shape = Shape { ring_slots: 0, ..shape };
        let bytes = shape.map_bytes().ok_or_else(|| foreign("it is too large".to_owned()))?;
        let mut map = Self::in_memory(path, bytes, shape).map_err(|error| fail("cannot be copied", error))?;
        let copy = map.bytes_mut();
        let cannot = |error| fail("cannot be read", error);
        file.read_exact_at(&mut copy[..HEADER_BYTES], 0).map_err(cannot)?;
        for index in 0..blocks {
            let start = HEADER_BYTES + index * shape.block_bytes();
            read_block(&file, &mut copy[start..start + shape.block_bytes()], start as u64).map_err(cannot)?;
        }
        Ok(map)
    }

    /// A map in memory that no other process has.
    fn in_memory(path: &Path, bytes: usize, shape: Shape) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("mmap succeeded");
        Ok(Self { path: path.to_owned(), start, bytes, shape, file: None })
    }

    /// The bytes of a map in memory.
    fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.file.is_none(), "other processes change a map's file");
        // SAFETY: the mapping is private, has this many bytes, and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    fn map(path: &Path, file: File, bytes: usize, shape: Shape) -> Result<Self, MapError> {
        let fail = |what, source| MapError::Io { path: path.to_owned(), what, source };
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping of a file that we hold open, at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(fail("cannot be mapped", io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast()).expect("mmap succeeded");
        let descriptor = file.as_raw_fd();
        let map = Self { path: path.to_owned(), start, bytes, shape, file: Some(file) };
        // A shared lock marks the map as in use, and the kernel releases the lock in whatever way the process ends.
        // SAFETY: flock takes integers only.
        match unsafe { libc::flock(descriptor, libc::LOCK_SH) } {
            0 => Ok(map),
            _ => Err(fail("cannot be locked", io::Error::last_os_error())),
        }
    }

    /// The map's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.shape.blocks
    }

    /// The number of cells per block.
    pub fn cell_count(&self) -> usize {
        self.shape.cells
    }

    /// Header cell `index` of [`HEADER_CELLS`].
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn header(&self, index: usize) -> &Cell64 {
        assert!(index < HEADER_CELLS, "no header cell {index}");
        self.fixed(FIXED_CELLS + index)
    }

    fn fixed(&self, index: usize) -> &Cell64 {
        // SAFETY: the header has 512 cells, of which fewer than 32 are used; every bit pattern is a valid cell, and
        // the mapping lives as long as `self`.
        unsafe { &*self.start.cast::<Cell64>().as_ptr().add(index) }
    }

    /// Block `index`.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block(&self, index: usize) -> Block<'_> {
        assert!(index < self.shape.blocks, "no block {index}");
        let offset = HEADER_BYTES + index * self.shape.block_bytes();
        // SAFETY: `create` and `open` made sure that the file holds all blocks; offsets are multiples of 64, and
        // every bit pattern is a valid count and a valid cell. The mapping lives as long as `self`.
        unsafe {
            let start = self.start.as_ptr().add(offset);
            let memory = std::ptr::slice_from_raw_parts(start, self.shape.cells);
            Block { memory: &*(memory as *const BlockMemory<[Cell64]>) }
        }
    }

    /// The ring of block `index`; `None` if the map has no rings.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn ring(&self, index: usize) -> Option<Ring<'_>> {
        let Shape { blocks, ring_slots, .. } = self.shape;
        assert!(index < blocks, "no block {index}");
        if ring_slots == 0 {
            return None;
        }
        let offset = HEADER_BYTES + blocks * self.shape.block_bytes() + index * self.shape.ring_bytes();
        // SAFETY: as for `block`; a slot is an array of cells, and any bit pattern is valid for head, tail and cells.
        let ring = unsafe {
            let start = self.start.as_ptr().add(offset);
            let slots = start.add(RING_HEAD_BYTES).cast::<[Cell64; SLOT_CELLS]>();
            Ring {
                head: &*start.cast::<AtomicU32>(),
                tail: &*start.add(CACHE_LINE).cast::<AtomicU32>(),
                slots: std::slice::from_raw_parts(slots, ring_slots),
            }
        };
        Some(ring)
    }

    /// The contents of a file that [`Self::open`] reads: this map's header and counters, without rings.
    pub fn counters(&self) -> Vec<u8> {
        let shape = Shape { ring_slots: 0, ..self.shape };
        let mut bytes = Vec::with_capacity(HEADER_BYTES + shape.blocks * shape.block_bytes());
        let header = (0..FIXED_CELLS + HEADER_CELLS).map(|index| self.fixed(index).get());
        for (index, value) in header.enumerate() {
            let is_ring_slots = index == FIXED_CELLS - 1;
            bytes.extend((if is_ring_slots { 0 } else { value }).to_ne_bytes());
        }
        bytes.resize(HEADER_BYTES, 0);
        let mut copy = Vec::new();
        for index in 0..shape.blocks {
            self.block(index).read(&mut copy);
            bytes.extend([0; BLOCK_HEAD_BYTES]);
            bytes.extend(copy.iter().flat_map(|value| value.to_ne_bytes()));
            bytes.resize(HEADER_BYTES + (index + 1) * shape.block_bytes(), 0);
        }
        bytes
    }

    /// Removes the file. The mapping remains until the value is dropped.
    pub fn remove(&self) -> io::Result<()> {
        directory_of(&self.path)?.remove(name_of(&self.path))
    }
}

/// The directory of a map's file.
fn directory_of(path: &Path) -> io::Result<Directory> {
    Directory::named(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

fn name_of(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or_default()
}

/// Opens a map's file and checks its header against its size, which is returned in bytes.
fn open_checked(path: &Path, to_write: bool) -> Result<(File, Shape, usize), MapError> {
    let fail = |what, source| MapError::Io { path: path.to_owned(), what, source };
    let foreign = |reason: String| MapError::Foreign { path: path.to_owned(), reason };
    let open = |directory: Directory| match to_write {
        true => directory.open_own_to_write(name_of(path)),
        false => directory.open_own(name_of(path)),
    };
    let file = directory_of(path).and_then(open).map_err(|error| fail("cannot be opened", error))?;
    let size = file.metadata().map_err(|error| fail("cannot be examined", error))?.len();
    if size < HEADER_BYTES as u64 || size > SIZE_MAX {
        return Err(foreign(format!("{size} bytes")));
    }
    let mut header = [0; FIXED_CELLS * size_of::<u64>()];
    file.read_exact_at(&mut header, 0).map_err(|error| fail("cannot be read", error))?;
    let cell =
        |index: usize| u64::from_ne_bytes(header[index * 8..][..8].try_into().expect("a cell has 8 bytes"));
    let [magic, version, blocks, cells, ring_slots] = [0, 1, 2, 3, 4].map(cell);
    if magic != MAGIC || version != VERSION {
        return Err(foreign(format!("magic {magic:#x}, version {version}")));
    }
    match Shape::new(blocks, cells, ring_slots) {
        Some(shape) if shape.map_bytes().is_some_and(|bytes| bytes as u64 == size) => {
            Ok((file, shape, size as usize))
        }
        _ => {
            let what = format!("{blocks} blocks of {cells} cells and {ring_slots} slots in {size} bytes");
            Err(foreign(what))
        }
    }
}

/// Reads a block at `offset` as of one moment, if its writer permits that within [`FILE_READ_ATTEMPTS`].
fn read_block(file: &File, block: &mut [u8], offset: u64) -> io::Result<()> {
    let sequence = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    for _ in 0..FILE_READ_ATTEMPTS {
        file.read_exact_at(block, offset)?;
        let mut after = [0; 4];
        file.read_exact_at(&mut after, offset)?;
        let before = sequence(block);
        if before.is_multiple_of(2) && before == sequence(&after) {
            return Ok(());
        }
    }
    // A writer that died during a write leaves an odd count, and a block that is complete except for that write.
    Ok(())
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        if let Some(file) = &self.file {
            unlock(file);
        }
    }
}

/// Releases a lock at once. Closing the file would not: a child that another thread forks at this moment also has the
/// descriptor until it executes its program, and the lock with it.
fn unlock(file: &File) {
    // SAFETY: flock takes integers only.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

/// Whether any process has the map at `path` open. It must be a regular file of the caller.
pub fn is_in_use(path: &Path) -> io::Result<bool> {
    let file = directory_of(path)?.open_own(name_of(path))?;
    // SAFETY: flock takes integers only.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        unlock(&file);
        return Ok(false);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        error => Err(error),
    }
}

impl Shape {
    /// The dimensions in a header, if they are possible.
    fn new(blocks: u64, cells: u64, ring_slots: u64) -> Option<Self> {
        let [blocks, cells, ring_slots] = [blocks, cells, ring_slots].map(|n| usize::try_from(n).ok());
        Some(Self { blocks: blocks?, cells: cells?, ring_slots: ring_slots? })
    }

    fn block_bytes(self) -> usize {
        (BLOCK_HEAD_BYTES + self.cells * size_of::<Cell64>()).next_multiple_of(CACHE_LINE)
    }

    /// The size of a block's ring, in bytes.
    fn ring_bytes(self) -> usize {
        if self.ring_slots == 0 {
            return 0;
        }
        (RING_HEAD_BYTES + self.ring_slots * SLOT_CELLS * size_of::<Cell64>()).next_multiple_of(CACHE_LINE)
    }

    /// The size of the whole file, if it is possible: checked, since a header may contain anything.
    fn map_bytes(self) -> Option<usize> {
        let slots_are_sound = self.ring_slots == 0 || self.ring_slots.is_power_of_two();
        // Bounded first, so that the sums for one block cannot overflow, even in 32 bits, and a ring's 32-bit counts
        // can distinguish full from empty.
        let in_bounds = self.cells as u64 <= SIZE_MAX / 64 && self.ring_slots as u64 <= SIZE_MAX / 64;
        if !slots_are_sound || !in_bounds {
            return None;
        }
        let block = self.block_bytes().checked_add(self.ring_bytes())?;
        let bytes = self.blocks.checked_mul(block)?.checked_add(HEADER_BYTES)?;
        (bytes as u64 <= SIZE_MAX).then_some(bytes)
    }
}

#[cfg(test)]
mod tests;
