//! Opens and creates files so that another user of the machine cannot redirect or delay that.
//!
//! The rules, which hold for root too (ADR 20):
//!
//! - A file whose name tardy chooses is opened by [`Directory::open_own`] or [`open_own`]: no symbolic link, a regular file
//!   with one link, owned by the caller, and the open never blocks.
//! - A file is created with O_EXCL, under a name that cannot be guessed if it is temporary, and moved to its place when it is
//!   complete ([`Directory::replace`]).
//! - A directory is held by its descriptor, so that replacing it by another one has no effect.
//! - A file that the user named to be read may belong to any user and may be a link or a pipe ([`open_to_read`]). Its
//!   content is hostile until it is parsed.
//!
//! The caller is the effective user.

mod directory;
mod named;
mod own;
mod private_directory;
mod supervision;
#[cfg(test)]
mod tests;
mod writers;

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use directory::{Directory, Existing, FileKind, StagedFile};
pub use named::{InputFile, OutputFile, is_stream, open_regular, open_to_read, open_to_write, reference};
pub use own::{link_own, open_own, remove_own, rename_own, replace_own};
pub use private_directory::PrivateDirectory;
pub use supervision::{hold, hold_when_free, is_held};
pub use writers::only_writable_by;

/// The mode of a directory that only its owner can use.
const PRIVATE: u32 = 0o700;

/// Creates a directory and its missing parents, as `mkdir -p`. The user named it, or it is inside a directory that only the
/// caller can write.
///
/// # Errors
/// If the file system does not permit it.
pub fn make_directories(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Creates a directory that only its owner can use, whatever the umask is, and its missing parents as [`make_directories`]. One that
/// exists stays as it is.
///
/// # Errors
/// If the file system does not permit it.
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_directories(parent)?;
    }
    match std::fs::DirBuilder::new().mode(PRIVATE).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        created => created,
    }
}

/// The effective user id of this process.
pub fn caller() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The caller's effective group id.
fn callers_group() -> u32 {
    // SAFETY: getegid takes nothing and cannot fail.
    unsafe { libc::getegid() }
}

/// The directory of `path`, and the name in it.
///
/// # Errors
/// If `path` does not end with a name.
pub fn split(path: &Path) -> io::Result<(PathBuf, &OsStr)> {
    let name = path.file_name().ok_or_else(|| refused("it does not name a file"))?;
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    Ok((directory.unwrap_or(Path::new(".")).to_owned(), name))
}

/// `text` for a system call.
fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| refused("the name contains a NUL byte"))
}

/// The error of a file that breaks one of the rules.
fn refused(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason.into())
}

/// The error of a system call that returned a negative number.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// 64 random bits in hexadecimal: a name that cannot be guessed.
///
/// # Errors
/// If the kernel has no random numbers.
pub fn random_name() -> io::Result<String> {
    let mut bytes = [0u8; 8];
    // SAFETY: the kernel writes at most `bytes.len()` bytes into `bytes`. Called by number because of C libraries without
    // a wrapper.
    let count = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    if count != bytes.len() as libc::c_long {
        // Before Linux 3.17 there is no such call.
        use std::io::Read;
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    }
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}
