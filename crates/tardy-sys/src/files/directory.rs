//! A directory that is held by its descriptor, and the files in it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{c_string, caller, callers_group, checked, random_name, refused};

/// Bytes of a file's name that its temporary name repeats. A name has at most 255 bytes.
const REPEATED_BYTES: usize = 200;

/// An open directory. All operations refer to it, whatever its path names later.
#[derive(Debug)]
pub struct Directory {
    file: File,
    path: PathBuf,
}

/// Whether [`Directory::replace`] may replace a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// An existing file is replaced.
    Replaced,
    /// An existing file is an error of the kind [`io::ErrorKind::AlreadyExists`].
    Kept,
}

/// A file that was written under a temporary name.
#[derive(Debug)]
pub struct StagedFile {
    temporary: OsString,
    name: OsString,
}

impl Directory {
    /// Opens a directory that the user named. It may belong to any user, and the path may be a link.
    ///
    /// # Errors
    /// If it is not a directory, or the file system does not permit it.
    pub fn named(path: &Path) -> io::Result<Self> {
        Self::open(path, 0)
    }

    /// Opens a directory that tardy chose: not a symbolic link, and only the caller can write into it.
    ///
    /// # Errors
    /// If it breaks one of these rules, or the file system does not permit it.
    pub fn own(path: &Path) -> io::Result<Self> {
        let directory = Self::open(path, libc::O_NOFOLLOW)?;
        directory.check_own()?;
        Ok(directory)
    }

    /// As [`Self::own`]. A missing directory is created with its missing parents, with mode 0700.
    ///
    /// # Errors
    /// As for [`Self::own`].
    pub fn own_or_new(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        match Self::own(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                std::fs::DirBuilder::new().recursive(true).mode(super::PRIVATE).create(path)?;
                Self::own(path)
            }
            opened => opened,
        }
    }

    fn open(path: &Path, flags: libc::c_int) -> io::Result<Self> {
        let name = c_string(path.as_os_str())?;
        let flags = flags | libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: the name is a C string.
        let opened = checked(unsafe { libc::open(name.as_ptr(), flags) });
        let descriptor = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOTDIR | libc::ELOOP) if flags & libc::O_NOFOLLOW != 0 => {
                refused(format!("{} is not a directory, or is a link to one", path.display()))
            }
            _ => error,
        })?;
        // SAFETY: a new descriptor that nothing else owns.
        Ok(Self { file: unsafe { File::from_raw_fd(descriptor) }, path: path.to_owned() })
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that it belongs to the caller and that no other user can write into it.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check_own(&self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let (owner, mode) = (metadata.uid(), metadata.mode());
        let path = self.path.display();
        if owner != caller() {
            return Err(refused(format!(
                "directory {path} belongs to user {owner}, not to user {}",
                caller()
            )));
        }
        if is_writable_by_others(&metadata) {
            return Err(refused(format!(
                "other users can write into directory {path} (mode {:04o})",
                mode & 0o7777
            )));
        }
        Ok(())
    }

    /// Whether only its owner can use it.
    ///
    /// # Errors
    /// fstat(2)'s.
    pub fn is_private(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.mode() & 0o077 == 0)
    }

    /// Takes the rights of the group and of other users away, if it is the caller's. Returns whether it was changed.
    ///
    /// # Errors
    /// fchmod(2)'s.
    pub fn make_private(&self) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        if metadata.uid() != caller() || metadata.mode() & 0o077 == 0 {
            return Ok(false);
        }
        // SAFETY: the descriptor is open.
        checked(unsafe { libc::fchmod(self.file.as_raw_fd(), metadata.mode() & 0o7700) }).map(|_| true)
    }

    /// Checks that other users cannot replace the caller's files in it: it belongs to the caller or to root, and if others
    /// can write into it, its sticky bit is set.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check_keeps_files(&self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let is_sticky = metadata.mode() & libc::S_ISVTX != 0;
        let is_of_a_trusted_user = [0, caller()].contains(&metadata.uid());
        if is_of_a_trusted_user && (is_sticky || !is_writable_by_others(&metadata)) {
            return Ok(());
        }
        Err(refused(format!("other users can replace files in {}", self.path.display())))
    }

    /// The file's metadata, without following a link. `None` if there is no such file.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn metadata(&self, name: &OsStr) -> io::Result<Option<FileKind>> {
        let name = plain(name)?;
        let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
        let (directory, flags) = (self.file.as_raw_fd(), libc::AT_SYMLINK_NOFOLLOW);
        // SAFETY: the name is a C string, and the kernel writes a whole stat.
        match checked(unsafe { libc::fstatat(directory, name.as_ptr(), stat.as_mut_ptr(), flags) }) {
            // SAFETY: the call succeeded.
            Ok(_) => Ok(Some(FileKind::of(unsafe { stat.assume_init() }.st_mode))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a file that must not exist, to be read and written. The mode is reduced by the process's umask.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is a file, a link or anything else of this name.
    pub fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        self.open_at(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, mode)
    }

    /// Creates a named pipe. The mode is reduced by the process's umask.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is a file, a link or anything else of this name.
    pub fn create_pipe(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let name = plain(name)?;
        // SAFETY: the name is a C string.
        checked(unsafe { libc::mkfifoat(self.file.as_raw_fd(), name.as_ptr(), mode) }).map(drop)
    }

    /// Opens a named pipe for writing without blocking, if a process has opened it for reading; `None` if none has.
    ///
    /// # Errors
    /// If the file system does not permit it, or it is not a pipe.
    pub fn open_pipe_with_reader(&self, name: &OsStr) -> io::Result<Option<File>> {
        match self.open_at(name, libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY, 0) {
            Ok(file) if file.metadata()?.file_type().is_fifo() => Ok(Some(file)),
            Ok(_) => Err(refused("it is not a named pipe")),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a file without a name, which vanishes when it is closed.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn unnamed_file(&self) -> io::Result<File> {
        let (name, file) = self.temporary(OsStr::new("unnamed"), 0o600)?;
        self.remove(&name)?;
        Ok(file)
    }

    /// Writes a file completely or not at all: under a temporary name that cannot be guessed, to the disk, and then to its
    /// place. Returns the file, still open.
    ///
    /// # Errors
    /// An error of `write` or of the file system. Then an existing file is unchanged, and no temporary file is left.
    pub fn replace(
        &self,
        name: &OsStr,
        mode: u32,
        existing: Existing,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<File> {
        let (temporary, file) = self.written(name, mode, write)?;
        let put = file.sync_all().and_then(|()| self.put_in_place(&temporary, name, existing));
        put.inspect_err(|_| {
            let _ = self.remove(&temporary);
        })?;
        // The file is in its place. Some file systems cannot sync a directory.
        let _ = self.file.sync_all();
        Ok(file)
    }

    /// Writes a file under a temporary name that cannot be guessed, for [`Self::put_staged`], without waiting for the disk.
    ///
    /// # Errors
    /// An error of `write` or of the file system. Then no temporary file is left.
    pub fn stage(
        &self,
        name: &OsStr,
        mode: u32,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<StagedFile> {
        let (temporary, _) = self.written(name, mode, write)?;
        Ok(StagedFile { temporary, name: name.to_owned() })
    }

    /// Puts files of [`Self::stage`] in their places, after one wait for the disk: each is there completely or not at all, as
    /// with [`Self::replace`]. Returns what became of each; no temporary file is left.
    ///
    /// # Errors
    /// If the file system cannot be synchronised. Then no file is in its place.
    pub fn put_staged(&self, staged: &[StagedFile], existing: Existing) -> io::Result<Vec<io::Result<()>>> {
        if let Err(error) = self.sync_file_system() {
            staged.iter().for_each(|one| self.discard(one));
            return Err(error);
        }
        let outcomes = self.put_synced(staged, existing);
        // As in `replace`.
        let _ = self.file.sync_all();
        Ok(outcomes)
    }

    /// Waits until everything that was written to this file system is on its disk (syncfs(2)).
    ///
    /// # Errors
    /// If something could not be written.
    pub fn sync_file_system(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open.
        checked(unsafe { libc::syncfs(self.file.as_raw_fd()) }).map(drop)
    }

    /// As [`Self::put_staged`] for files of several directories: the caller calls [`Self::sync_file_system`] before, so that their
    /// contents are on the disk, and afterwards, so that their names are.
    pub fn put_synced(&self, staged: &[StagedFile], existing: Existing) -> Vec<io::Result<()>> {
        let put = |one: &StagedFile| {
            self.put_in_place(&one.temporary, &one.name, existing).inspect_err(|_| self.discard(one))
        };
        staged.iter().map(put).collect()
    }

    /// Removes a file of [`Self::stage`] that is not put in its place.
    pub fn discard(&self, staged: &StagedFile) {
        let _ = self.remove(&staged.temporary);
    }

    /// Checks that a file can be created here, by creating one that is removed again.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        let (temporary, _) = self.temporary(name, 0o600)?;
        self.remove(&temporary)
    }

    /// The output of `write` in a file with a temporary name. No file is left if that fails.
    fn written(
        &self,
        name: &OsStr,
        mode: u32,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<(OsString, File)> {
        let (temporary, mut file) = self.temporary(name, mode)?;
        write(&mut file).inspect_err(|_| {
            let _ = self.remove(&temporary);
        })?;
        Ok((temporary, file))
    }

    fn temporary(&self, name: &OsStr, mode: u32) -> io::Result<(OsString, File)> {
        plain(name)?;
        let repeated = &name.as_bytes()[..name.len().min(REPEATED_BYTES)];
        loop {
            let mut temporary = OsString::from(".");
            temporary.push(OsStr::from_bytes(repeated));
            temporary.push(format!(".{}.tmp", random_name()?));
            match self.create_new(&temporary, mode) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|file| (temporary, file)),
            }
        }
    }

    fn put_in_place(&self, temporary: &OsStr, name: &OsStr, existing: Existing) -> io::Result<()> {
        if existing == Existing::Kept {
            // A hard link does not replace a file. Some file systems have no hard links.
            match self.link(temporary, self, name) {
                Ok(()) => {
                    // The file is in its place, even if it keeps a second name.
                    let _ = self.remove(temporary);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
            }
            if self.metadata(name)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        self.rename(temporary, self, name)
    }

    /// Moves a file or directory, and replaces what has the name `new` in `to`.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        let (name, new) = (plain(name)?, plain(new)?);
        let (from, to) = (self.file.as_raw_fd(), to.file.as_raw_fd());
        // SAFETY: the names are C strings.
        checked(unsafe { libc::renameat(from, name.as_ptr(), to, new.as_ptr()) }).map(drop)
    }

    /// Gives the file `name` the second name `new` in `to`. A link is not followed.
    ///
    /// # Errors
    /// If the name is taken, or the file system does not permit it.
    pub fn link(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        let (name, new) = (plain(name)?, plain(new)?);
        let (from, to) = (self.file.as_raw_fd(), to.file.as_raw_fd());
        // SAFETY: the names are C strings.
        checked(unsafe { libc::linkat(from, name.as_ptr(), to, new.as_ptr(), 0) }).map(drop)
    }

    /// Opens a file of tardy for reading: not a link, a regular file with one name, owned by the caller.
    ///
    /// # Errors
    /// The rule that it breaks, or the error of the file system.
    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        self.open_checked(name, libc::O_RDONLY)
    }

    /// As [`Self::open_own`], for reading and writing.
    ///
    /// # Errors
    /// As for [`Self::open_own`].
    pub fn open_own_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_checked(name, libc::O_RDWR)
    }

    /// Opens a file of tardy for reading and writing, and creates it if it is missing.
    ///
    /// # Errors
    /// As for [`Self::open_own`].
    pub fn own_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        match self.create_new(name, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.open_own_to_write(name),
            created => created,
        }
    }

    fn open_checked(&self, name: &OsStr, access: libc::c_int) -> io::Result<File> {
        // Opening a pipe without a writer would wait for one.
        let file = self.open_at(name, access | libc::O_NONBLOCK | libc::O_NOCTTY, 0)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(refused("it is not a regular file"));
        }
        if metadata.uid() != caller() {
            return Err(refused(format!("it belongs to user {}, not to user {}", metadata.uid(), caller())));
        }
        if metadata.nlink() != 1 {
            return Err(refused(format!("it has {} names (hard links)", metadata.nlink())));
        }
        blocking(&file)?;
        Ok(file)
    }

    /// Opens the file `name` without following a link. `mode` is for a file that is created.
    fn open_at(&self, name: &OsStr, flags: libc::c_int, mode: u32) -> io::Result<File> {
        let name = plain(name)?;
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the name is a C string.
        let descriptor = unsafe { libc::openat(self.file.as_raw_fd(), name.as_ptr(), flags, mode) };
        let descriptor = checked(descriptor).map_err(explained_link)?;
        // SAFETY: a new descriptor that nothing else owns.
        Ok(unsafe { File::from_raw_fd(descriptor) })
    }

    /// Removes a file. A link is removed, not its target.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        let name = plain(name)?;
        // SAFETY: the name is a C string.
        checked(unsafe { libc::unlinkat(self.file.as_raw_fd(), name.as_ptr(), 0) }).map(drop)
    }

    /// Creates a directory that must not exist, with mode 0700, and opens it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is anything of this name.
    pub(super) fn create_directory(&self, name: &OsStr) -> io::Result<Self> {
        let plain = plain(name)?;
        // SAFETY: the name is a C string.
        checked(unsafe { libc::mkdirat(self.file.as_raw_fd(), plain.as_ptr(), 0o700) })?;
        let file = self.open_at(name, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
        let directory = Self { file, path: self.path.join(name) };
        directory.check_own()?;
        Ok(directory)
    }

    /// The names in the directory, in any order.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = std::fs::read_dir(format!("/proc/self/fd/{}", self.file.as_raw_fd()))?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket.
    Other,
}

impl FileKind {
    fn of(mode: u32) -> Self {
        match mode & libc::S_IFMT {
            libc::S_IFREG => Self::Regular,
            libc::S_IFDIR => Self::Directory,
            libc::S_IFLNK => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Clears O_NONBLOCK, which was needed only for opening.
pub(super) fn blocking(file: &File) -> io::Result<()> {
    // SAFETY: fcntl takes integers here.
    let flags = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) }).map(drop)
}

/// Whether users other than the caller and root can write into a directory. On systems with a group for each user, which has the
/// user's number, that group is the caller alone.
fn is_writable_by_others(metadata: &Metadata) -> bool {
    let (mode, group) = (metadata.mode(), metadata.gid());
    let is_group_of_one = group == 0 || group == caller() && group == callers_group();
    mode & 0o002 != 0 || mode & 0o020 != 0 && !is_group_of_one
}

/// `name` for a system call, if it names a file in a directory.
fn plain(name: &OsStr) -> io::Result<std::ffi::CString> {
    if name.is_empty() || name == "." || name == ".." || name.as_bytes().contains(&b'/') {
        return Err(refused(format!("'{}' is not the name of a file", name.display())));
    }
    c_string(name)
}

/// The kernel reports a link that is not followed as a loop.
fn explained_link(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ELOOP) { refused("it is a symbolic link") } else { error }
}
