//! Restricts what a process may do with files (landlock(7), Linux 5.13): everything that no rule allows is denied.
//!
//! The kernel states the version of its interface. A later one handles more kinds of access, and all that it knows are
//! handled here, TCP and signals among them, for which there are no rules. Not covered by any version so far: chmod(2),
//! chown(2), utime(2), stat(2), and descriptors that are already open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// System calls, whose numbers are the same on every processor that tardy runs on (Linux 5.13).
const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;

/// Asks `CREATE_RULESET` for the version.
const VERSION: libc::c_uint = 1;
/// A rule about a file, or about a directory with everything in it.
const PATH_BENEATH: libc::c_uint = 1;

// Kinds of access to files (linux/landlock.h).
const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// Kinds of access that each version handles: the number of the lowest bits of files, TCP and scopes.
const HANDLED: [[u32; 3]; 6] = [[13, 0, 0], [14, 0, 0], [15, 0, 0], [15, 2, 0], [16, 2, 0], [16, 2, 2]];

/// What a rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads a file, or a directory and everything in it.
    Read,
    /// Reads and executes a file.
    Execute,
    /// Writes and truncates an existing file.
    Write,
    /// Reads, writes and controls a device.
    Device,
}

impl Access {
    fn bits(self, is_directory: bool) -> u64 {
        match self {
            Self::Read if is_directory => READ_FILE | READ_DIR,
            Self::Read => READ_FILE,
            Self::Execute => READ_FILE | EXECUTE,
            Self::Write => WRITE_FILE | TRUNCATE,
            Self::Device => READ_FILE | WRITE_FILE | IOCTL_DEV,
        }
    }
}

/// `struct landlock_ruleset_attr`. The kernel ignores zeros beyond the part that it knows.
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    tcp: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

/// The version of the kernel's Landlock; `None` if it has none or it is disabled at boot.
pub fn version() -> Option<u32> {
    let none: *const RulesetAttributes = std::ptr::null();
    // SAFETY: with this flag the kernel takes no attributes.
    let version = unsafe { libc::syscall(CREATE_RULESET, none, 0usize, VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Rules that allow access to files. All other access is denied to the process that the rules are applied to.
#[derive(Debug)]
pub struct Ruleset {
    descriptor: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// Rules that allow nothing.
    ///
    /// # Errors
    /// If the kernel does not have Landlock.
    pub fn deny_all() -> io::Result<Self> {
        let version = version().ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
        let [files, tcp, scopes] =
            HANDLED[(version as usize).min(HANDLED.len()) - 1].map(|bits| (1 << bits) - 1);
        let attributes = RulesetAttributes { files, tcp, scopes };
        let size = size_of::<RulesetAttributes>();
        // SAFETY: the kernel reads `size` bytes of the attributes.
        let descriptor = unsafe { libc::syscall(CREATE_RULESET, &raw const attributes, size, 0u32) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) };
        Ok(Self { descriptor, handled: files })
    }

    /// Allows `access` to the file or directory `path`, whatever is its name later.
    ///
    /// # Errors
    /// open(2)'s if there is no such file.
    pub fn allow(&mut self, path: &Path, access: Access) -> io::Result<()> {
        let file = open_path(path)?;
        let allowed = access.bits(file.metadata()?.is_dir()) & self.handled;
        let rule = PathBeneath { allowed, parent: file.as_raw_fd() };
        let ruleset = self.descriptor.as_raw_fd();
        // SAFETY: the kernel reads the rule, whose descriptor is open.
        check(unsafe { libc::syscall(ADD_RULE, ruleset, PATH_BENEATH, &raw const rule, 0u32) })
    }

    /// Applies the rules to the calling thread and its future children. There is no way back. The thread must have set
    /// PR_SET_NO_NEW_PRIVS before. Async-signal-safe.
    pub(crate) fn restrict_self(&self) -> io::Result<()> {
        // SAFETY: the call takes integers only.
        check(unsafe { libc::syscall(RESTRICT_SELF, self.descriptor.as_raw_fd(), 0u32) })
    }
}

/// Opens a file for use in a rule only, which needs no permission to read it.
fn open_path(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)
}

fn check(status: libc::c_long) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
