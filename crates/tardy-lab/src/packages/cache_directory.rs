//! The cache directory.
//!
//! ```text
//! tardy/lock                             held by the process that changes the cache
//! tardy/apt/amd64/                       apt's state: sources, lists, offered.json
//! tardy/kernels/amd64/NAME_VERSION/      a kernel: kernel.json, boot, lib/modules
//! tardy/packages/amd64/NAME_VERSION/     a package: packages.json, root
//! tardy/unions/amd64/NAMES/              several packages in one directory, with the same files
//! tardy/tools/amd64/NAMES/               packages with their dependencies, with the same files
//! tardy/modules/amd64/RELEASE_HASH/      tardy's own kernel modules
//! tardy/guests/                           kernels and initramfs that were booted, by their hash
//! tardy/builds/amd64/KEY/                a kernel that this user built: build.json, boot, lib/modules; names.json next to them
//! tardy/sources/NAME_VERSION/             the unpacked source of kernels
//! tardy/trees/amd64/SOURCE/               configuration and object files of the last build of a source
//! tardy/scratch/                         a directory that is being filled
//! ```
//!
//! Each directory is filled elsewhere and renamed to its place: a reader needs no lock, and a crash leaves no
//! incomplete directory.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tardy_sys::files::{self, Directory};

use super::{Notice, PackageError};
use crate::arch::Arch;

/// The name of the lock's file.
const LOCK: &str = "lock";
/// The name of the file of the lock for builds.
const BUILDS_LOCK: &str = "lock-builds";

/// The directory of files that tardy can fetch or build again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDirectory {
    root: PathBuf,
}

/// The lock of the cache. Until the lock is dropped, only this process may change the cache.
#[derive(Debug)]
#[must_use]
pub struct Lock {
    file: File,
}

impl AsRawFd for Lock {
    /// A process that inherits the descriptor holds the lock too.
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl CacheDirectory {
    /// The cache below XDG_CACHE_HOME, or below `~/.cache` if that is not an absolute path (XDG Base Directory
    /// Specification).
    ///
    /// # Errors
    /// If the environment has neither, or the cache belongs to another user, as under sudo with the user's HOME.
    pub fn of_this_user() -> Result<Self, PackageError> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".cache")))
            .ok_or(PackageError::NoCacheDirectory)?;
        let root = base.join("tardy");
        match Directory::own(&root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(PackageError::file("using the cache", &root)(error))
            }
            _ => Ok(Self { root }),
        }
    }

    /// The cache at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// apt's private state for an architecture.
    pub fn apt(&self, arch: Arch) -> PathBuf {
        self.root.join("apt").join(arch.debian_name())
    }

    /// The kernels of an architecture.
    pub fn kernels(&self, arch: Arch) -> PathBuf {
        self.root.join("kernels").join(arch.debian_name())
    }

    /// Single packages.
    pub fn packages(&self, arch: Arch) -> PathBuf {
        self.root.join("packages").join(arch.debian_name())
    }

    /// Several packages in one directory.
    pub fn unions(&self, arch: Arch) -> PathBuf {
        self.root.join("unions").join(arch.debian_name())
    }

    /// Packages with their dependencies.
    pub fn tools(&self, arch: Arch) -> PathBuf {
        self.root.join("tools").join(arch.debian_name())
    }

    /// tardy's own kernel modules.
    pub fn own_modules(&self, arch: Arch) -> PathBuf {
        self.root.join("modules").join(arch.debian_name())
    }

    /// The kernels of an architecture that this user built.
    pub fn builds(&self, arch: Arch) -> PathBuf {
        self.all_builds().join(arch.debian_name())
    }

    /// All kernels that this user built.
    pub fn all_builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// Unpacked sources of kernels.
    pub fn sources(&self) -> PathBuf {
        self.root.join("sources")
    }

    /// The directories in which sources are built.
    pub fn build_trees(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// What guests were made of.
    pub fn guests(&self) -> PathBuf {
        self.root.join("guests")
    }

    /// The directory that is being filled.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Waits until no other process has the lock, and takes it.
    ///
    /// # Errors
    /// If the directory cannot be written.
    pub fn lock(&self, notice: Notice<'_>) -> Result<Lock, PackageError> {
        self.lock_file(LOCK, "another tardy is filling the cache; waiting for it", notice)
    }

    /// The same for builds, which take minutes. A process that takes both takes this one first.
    ///
    /// # Errors
    /// If the directory cannot be written.
    pub fn lock_builds(&self, notice: Notice<'_>) -> Result<Lock, PackageError> {
        self.lock_file(BUILDS_LOCK, "another tardy is building a kernel; waiting for it", notice)
    }

    fn lock_file(&self, name: &str, waiting: &str, notice: Notice<'_>) -> Result<Lock, PackageError> {
        let path = self.root.join(name);
        let failed = || PackageError::file("locking the cache with", &path);
        let root = Directory::own_or_new(&self.root).map_err(failed())?;
        let file = root.own_file(name.as_ref(), 0o600).map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                notice(waiting);
                file.lock().map_err(failed())?;
            }
            Err(TryLockError::Error(error)) => return Err(failed()(error)),
        }
        Ok(Lock { file })
    }
}

/// The name of a package's directory. Slashes, which Debian's names and versions do not contain, are replaced too.
pub(crate) fn file_name(name: &str, version: &str) -> String {
    format!("{name}_{version}").replace(['/', ':'], "%")
}

pub(crate) fn create_directory(path: &Path) -> Result<(), PackageError> {
    files::make_directories(path).map_err(PackageError::file("creating the directory", path))
}

/// Writes a file completely or not at all. Only its owner can read it, because it may contain a proxy's password.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PackageError> {
    files::replace_own(path, 0o600, bytes).map_err(PackageError::file("writing", path))
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), PackageError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| PackageError::file("writing", path)(error.into()))?;
    text.push(b'\n');
    write_whole(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_second_process_waits_and_reports_that() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(directory.path().join("deeper/cache"));
        let mut notices = Vec::new();
        let lock = cache.lock(&mut |line| notices.push(line.to_owned())).unwrap();
        assert!(notices.is_empty());
        let (send, receive) = std::sync::mpsc::channel();
        let other = std::thread::spawn({
            let cache = cache.clone();
            move || {
                let _lock = cache.lock(&mut |line| send.send(line.to_owned()).unwrap()).unwrap();
            }
        });
        // The notice precedes the waiting.
        assert!(receive.recv().unwrap().contains("waiting"));
        drop(lock);
        other.join().unwrap();
    }

    #[test]
    fn a_file_is_replaced_and_no_temporary_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write_json(&path, &[1, 2]).unwrap();
        write_json(&path, &[3]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  3\n]\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
