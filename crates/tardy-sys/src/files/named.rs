//! Files that the user named.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::directory::{FileKind, blocking};
use super::{Directory, Existing, c_string, checked, refused, split};

/// How long another process may take to open or to fill a pipe that has a name in the file system. Any user may have put it
/// there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two attempts to open a pipe for writing, which has no event to wait for.
const RETRY: Duration = Duration::from_millis(20);

/// A file that the user named to be read.
#[derive(Debug)]
pub struct InputFile {
    file: File,
    /// Whether reading may wait for another process that the user did not name.
    is_named_pipe: bool,
    owner: Option<u32>,
}

/// Opens a file that the user named. It may belong to any user, and be a link or a pipe. A pipe without a name, as in
/// `show <(zcat a.run.json.gz)`, is read until its writer ends; a named pipe that delivers nothing for 10 s is an error.
///
/// # Errors
/// If it is a directory, a device or a socket, or the file system does not permit it.
pub fn open_to_read(path: &Path) -> io::Result<InputFile> {
    let place = located(path)?;
    let metadata = metadata_of(&place)?;
    let kind = metadata.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(refused(if kind.is_dir() { "it is a directory" } else { "it is not a file or a pipe" }));
    }
    let file = reopened(&place, libc::O_RDONLY | libc::O_NONBLOCK)?;
    let is_named_pipe = kind.is_fifo() && !is_anonymous(&file)?;
    if !is_named_pipe {
        blocking(&file)?;
    }
    Ok(InputFile { file, is_named_pipe, owner: kind.is_file().then_some(metadata.uid()) })
}

/// Opens a file to read it if it is a regular one. Nothing else is opened, and no lease of another process is waited for.
///
/// # Errors
/// If it is not a regular file, another process holds a lease on it, or the file system does not permit it.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let place = located(path)?;
    if !metadata_of(&place)?.is_file() {
        return Err(refused("it is not a regular file"));
    }
    reopened(&place, libc::O_RDONLY | libc::O_NONBLOCK)
}

/// A reference to the file at `path`, by which it can be neither read nor written. Links are followed.
///
/// # Errors
/// If there is no such file.
pub fn reference(path: &Path) -> io::Result<File> {
    located(path)
}

impl InputFile {
    /// The owner of a regular file; `None` for a pipe.
    pub fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_named_pipe {
            wait_for_input(self.file.as_raw_fd())?;
        }
        self.file.read(buffer)
    }
}

/// A file that the user named to be written.
#[derive(Debug)]
pub struct OutputFile {
    /// The file.
    pub file: File,
    /// Whether it is a new regular file, rather than a pipe, a device or the process's own output.
    pub is_new: bool,
}

/// Opens a file that the user named to be written piece by piece. A regular file must not exist, or is replaced by an empty one
/// if `force` is set; a pipe, a device or `/dev/stdout` is written as it is.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the file exists and `force` is not set; if it is a directory or a link to a regular file.
pub fn open_to_write(path: &Path, force: bool) -> io::Result<OutputFile> {
    if is_stream(path)? {
        return open_stream(path).map(|file| OutputFile { file, is_new: false });
    }
    let (directory, name) = split(path)?;
    let directory = Directory::named(&directory)?;
    let existing = if force { Existing::Replaced } else { Existing::Kept };
    check_replaceable(&directory, name)?;
    let file = directory.replace(name, 0o666, existing, |_| Ok(()))?;
    Ok(OutputFile { file, is_new: true })
}

/// Checks that `name` is missing or a regular file.
fn check_replaceable(directory: &Directory, name: &OsStr) -> io::Result<()> {
    match directory.metadata(name)? {
        None | Some(FileKind::Regular) => Ok(()),
        Some(FileKind::Link) => Err(refused("it is a symbolic link; name the file to which it points")),
        Some(_) => Err(refused("it is not a regular file")),
    }
}

/// Whether writing to `path` means writing to something that already exists and is not a regular file: a pipe, a device, or one of
/// this process's own descriptors.
///
/// # Errors
/// If the file system does not permit to find out.
pub fn is_stream(path: &Path) -> io::Result<bool> {
    if own_descriptor(path).is_some() {
        return Ok(true);
    }
    match located(path) {
        Ok(place) => {
            let kind = metadata_of(&place)?.file_type();
            Ok(!kind.is_file() && !kind.is_dir())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn open_stream(path: &Path) -> io::Result<File> {
    if let Some(descriptor) = own_descriptor(path) {
        // SAFETY: fcntl takes integers here.
        let copy = checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) })?;
        // SAFETY: a new descriptor that nothing else owns.
        return Ok(unsafe { File::from_raw_fd(copy) });
    }
    let place = located(path)?;
    let kind = metadata_of(&place)?.file_type();
    if kind.is_file() || kind.is_dir() || kind.is_socket() {
        return Err(refused("it is not a pipe or a device"));
    }
    let started = Instant::now();
    loop {
        match reopened(&place, libc::O_WRONLY | libc::O_NONBLOCK) {
            // A pipe that no process reads yet. The kernel reports no event for its first reader: poll(2) needs a descriptor,
            // which only this open gives, and an open that waits in the kernel could not be ended after PATIENCE.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) && kind.is_fifo() => {
                if started.elapsed() >= PATIENCE {
                    return Err(refused("it is a pipe, and no process reads it"));
                }
                std::thread::sleep(RETRY);
            }
            opened => {
                let file = opened?;
                blocking(&file)?;
                return Ok(file);
            }
        }
    }
}

/// The descriptor of this process that `path` names.
fn own_descriptor(path: &Path) -> Option<RawFd> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        path => {
            let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok().filter(|number| *number >= 0)
        }
    }
}

/// A reference to the file at `path`, which has no effect on a device or a pipe (O_PATH). Links are followed.
fn located(path: &Path) -> io::Result<File> {
    let name = c_string(path.as_os_str())?;
    // SAFETY: the name is a C string.
    let descriptor = checked(unsafe { libc::open(name.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) })?;
    // SAFETY: a new descriptor that nothing else owns.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// The metadata of the file that `place` refers to. Before Linux 3.6, fstat(2) refuses such references.
fn metadata_of(place: &File) -> io::Result<Metadata> {
    std::fs::metadata(format!("/proc/self/fd/{}", place.as_raw_fd()))
}

/// Opens the file that `place` refers to, whatever its path names by now.
fn reopened(place: &File, flags: libc::c_int) -> io::Result<File> {
    let name = c_string(OsStr::new(&format!("/proc/self/fd/{}", place.as_raw_fd())))?;
    // SAFETY: the name is a C string.
    let descriptor = checked(unsafe { libc::open(name.as_ptr(), flags | libc::O_CLOEXEC | libc::O_NOCTTY) })?;
    // SAFETY: a new descriptor that nothing else owns.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Whether a pipe has no name in a file system, so that this process's parent has made it for this process.
fn is_anonymous(pipe: &File) -> io::Result<bool> {
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the kernel writes a whole statfs.
    checked(unsafe { libc::fstatfs(pipe.as_raw_fd(), stat.as_mut_ptr()) })?;
    // SAFETY: the call succeeded.
    let kind = unsafe { stat.assume_init() }.f_type;
    // PIPEFS_MAGIC (linux/magic.h). The type of the field differs between C libraries.
    Ok(kind == 0x5049_5045)
}

fn wait_for_input(descriptor: RawFd) -> io::Result<()> {
    let mut one = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    loop {
        // SAFETY: `one` is a pollfd.
        match checked(unsafe { libc::poll(&raw mut one, 1, PATIENCE.as_millis() as libc::c_int) }) {
            Ok(0) => return Err(refused("it is a pipe, and nothing was written to it for 10 s")),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
