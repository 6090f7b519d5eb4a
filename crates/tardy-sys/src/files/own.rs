//! tardy's own files by path: the same rules as in a [`Directory`], for files that are opened once.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::{Directory, Existing, split};

/// Opens a file of tardy for reading ([`Directory::open_own`]).
///
/// # Errors
/// The rule that it breaks, or the error of the file system.
pub fn open_own(path: &Path) -> io::Result<File> {
    let (directory, name) = split(path)?;
    Directory::named(&directory)?.open_own(name)
}

/// Writes a file of tardy completely or not at all, in a directory into which only the caller can write.
///
/// # Errors
/// If the directory breaks this rule, or the file system does not permit it.
pub fn replace_own(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let (directory, name) = split(path)?;
    let write = |file: &mut File| file.write_all(content);
    Directory::own(&directory)?.replace(name, mode, Existing::Replaced, write).map(drop)
}

/// Moves a file or directory between directories into which only the caller can write. The paths of the directories may be links,
/// as in an unpacked package, whose `lib` points to `usr/lib`.
///
/// # Errors
/// If a directory breaks this rule, or the file system does not permit it.
pub fn rename_own(from: &Path, to: &Path) -> io::Result<()> {
    let ((source, old), (target, new)) = (split(from)?, split(to)?);
    let (source, target) = (Directory::named(&source)?, Directory::named(&target)?);
    source.check_own()?;
    target.check_own()?;
    source.rename(old, &target, new)
}

/// Gives a file a second name, between directories as those of [`rename_own`].
///
/// # Errors
/// If a directory breaks this rule, the name is taken, or the file system does not permit it.
pub fn link_own(from: &Path, to: &Path) -> io::Result<()> {
    let ((source, old), (target, new)) = (split(from)?, split(to)?);
    let (source, target) = (Directory::named(&source)?, Directory::named(&target)?);
    source.check_own()?;
    target.check_own()?;
    source.link(old, &target, new)
}

/// Removes a file, without following a link.
///
/// # Errors
/// If the file system does not permit it.
pub fn remove_own(path: &Path) -> io::Result<()> {
    let (directory, name) = split(path)?;
    Directory::named(&directory)?.remove(name)
}
