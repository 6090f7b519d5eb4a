//! Finds the programs that tardy itself chooses to run: `nft`, `qemu-system-x86_64`, `cc` and others.
//!
//! Root's programs come from fixed directories, because its PATH may name a directory in which another user writes, or
//! the current directory: an empty entry stands for it. The same holds for a program that gained privileges
//! ([`privileges`]). Another user's come from PATH, except from empty and relative entries.
//!
//! A command that the user wrote is not searched for here: it is found by the user's PATH ([`path_of_user`]).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::privileges;

/// Directories of the administrator. Root uses them only if no other user can write to them.
const LOCAL: [&str; 2] = ["/usr/local/sbin", "/usr/local/bin"];
/// Directories of the distribution.
const FIXED: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Directories of the distribution that are often missing in a user's PATH.
const OF_ROOT: [&str; 2] = ["/usr/sbin", "/sbin"];
/// Bits of a mode that permit the group and others to write.
const OTHERS_WRITE: u32 = 0o022;

/// The file of the program `name`. `None` if it is in none of the directories.
pub fn find(name: &str) -> Option<PathBuf> {
    in_directories(name, &directories())
}

/// A command that runs the program `name`. The command's PATH contains the directories in which it was searched for.
///
/// # Errors
/// NotFound if it is in none of the directories.
pub fn command(name: &str) -> io::Result<Command> {
    command_in(name, &[])
}

/// As [`command`]; `more` are absolute directories that are searched last.
///
/// # Errors
/// NotFound if it is in none of the directories.
pub fn command_in(name: &str, more: &[&str]) -> io::Result<Command> {
    let mut all = directories();
    all.extend(more.iter().map(PathBuf::from));
    let program = in_directories(name, &all).ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.env("PATH", joined(&all));
    Ok(command)
}

/// PATH for a command that the user wrote: the user's own, or the fixed directories if it is not set. Some shells begin
/// with the current directory if PATH is not set.
pub fn path_of_user() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| joined(&fixed()))
}

/// The directories in which programs are searched for, in this order.
pub fn directories() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").filter(|_| !privileges::are_high());
    path.map_or_else(fixed, |path| of_path(&path))
}

fn of_path(path: &OsStr) -> Vec<PathBuf> {
    let absolute = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    absolute.chain(OF_ROOT.map(PathBuf::from)).collect()
}

fn fixed() -> Vec<PathBuf> {
    let local = LOCAL.into_iter().filter(|directory| only_root_writes(Path::new(directory)));
    local.chain(FIXED).map(PathBuf::from).collect()
}

/// Whether `directory` and those that contain it belong to root, and no other user may write to them.
fn only_root_writes(directory: &Path) -> bool {
    directory.ancestors().all(|path| {
        path.symlink_metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == 0 && found.mode() & OTHERS_WRITE == 0)
    })
}

/// The first executable file `name` in `directories`.
pub fn in_directories(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    directories.iter().map(|directory| directory.join(name)).find(is_program)
}

fn joined(directories: &[PathBuf]) -> OsString {
    // A directory of a PATH contains no colon, so joining cannot fail.
    std::env::join_paths(directories).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_and_their_commands_have_absolute_paths() {
        assert!(find("sh").is_some_and(|file| file.is_absolute()));
        assert_eq!(find("no-such-program-of-tardy"), None);
        let missing = command("no-such-program-of-tardy").map(drop).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let output = command("sh").unwrap().args(["-c", "echo \"$PATH\""]).output().unwrap();
        let path = String::from_utf8(output.stdout).unwrap();
        assert!(path.trim().split(':').all(|directory| directory.starts_with('/')), "{path}");
    }

    #[test]
    fn empty_and_relative_entries_of_path_are_ignored() {
        let found = of_path(OsStr::new(":/a::bin:.:/b:"));
        assert_eq!(found, ["/a", "/b", "/usr/sbin", "/sbin"].map(PathBuf::from));
        assert_eq!(of_path(OsStr::new("")), OF_ROOT.map(PathBuf::from));
    }

    #[test]
    fn further_directories_are_searched_last() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program-of-tardys-test");
        std::fs::write(&program, "").unwrap();
        let more = directory.path().to_str().unwrap();
        let name = "program-of-tardys-test";
        assert!(command_in(name, &[more]).is_err(), "it is not executable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(command_in(name, &[more]).unwrap().get_program(), program.as_os_str());
    }

    #[test]
    fn a_directory_in_which_others_write_is_not_roots() {
        assert!(only_root_writes(Path::new("/usr/bin")));
        assert!(!only_root_writes(Path::new("/tmp")));
        assert!(!only_root_writes(Path::new("/nonexistent")));
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!only_root_writes(directory.path()));
    }
}
