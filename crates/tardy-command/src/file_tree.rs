//! The files below a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Deepest nesting of directories.
const DEPTH_MAX: usize = 16;

/// The regular files below a directory, each once.
#[derive(Debug, Default)]
pub struct FileTree {
    /// The files, in the order of their paths.
    pub files: Vec<PathBuf>,
    /// Directories and links that cannot be read, with the error.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Symbolic links that lead out of the directory. They are not followed: the directory may belong to another user.
    pub links_outside: Vec<PathBuf>,
}

/// The files below `directory`. A file with several names in it, by hard or symbolic links, is found once.
///
/// # Errors
/// If `directory` cannot be read.
pub fn below(directory: &Path) -> io::Result<FileTree> {
    let mut walk =
        Walk { root: directory.canonicalize()?, known: BTreeSet::new(), found: FileTree::default() };
    let metadata = directory.metadata()?;
    walk.is_new(&metadata);
    walk.directory(directory, 0)?;
    walk.found.files.sort();
    Ok(walk.found)
}

struct Walk {
    root: PathBuf,
    /// Device and inode of every file and directory that was visited.
    known: BTreeSet<(u64, u64)>,
    found: FileTree,
}

impl Walk {
    fn is_new(&mut self, metadata: &fs::Metadata) -> bool {
        self.known.insert((metadata.dev(), metadata.ino()))
    }

    fn directory(&mut self, directory: &Path, depth: usize) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other(format!("directories are nested more than {DEPTH_MAX} deep")));
        }
        let entries = fs::read_dir(directory)?;
        let mut entries: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        entries.sort();
        for entry in entries {
            if let Err(error) = self.entry(&entry, depth) {
                self.found.unreadable.push((entry, error));
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        let metadata = path.symlink_metadata()?;
        if metadata.is_symlink() {
            // The walk reaches a target below the root by its own name.
            if !path.canonicalize()?.starts_with(&self.root) {
                self.found.links_outside.push(path.to_owned());
            }
            return Ok(());
        }
        if metadata.is_dir() {
            return if self.is_new(&metadata) { self.directory(path, depth + 1) } else { Ok(()) };
        }
        if metadata.is_file() && self.is_new(&metadata) {
            self.found.files.push(path.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_file_is_found_once_and_links_neither_loop_nor_lead_out() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "").unwrap();
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("b/c")).unwrap();
        fs::write(path("b/c/2"), "").unwrap();
        fs::write(path("a1"), "").unwrap();
        fs::hard_link(path("a1"), path("b/hard")).unwrap();
        symlink("a1", path("a0")).unwrap();
        symlink("..", path("b/c/up")).unwrap();
        symlink(outside.path(), path("out")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        let found = below(root.path()).unwrap();
        assert_eq!(found.files, [path("a1"), path("b/c/2")]);
        assert_eq!(found.links_outside, [path("out")]);
        assert_eq!(found.unreadable.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&path("dangling")]);
    }

    #[test]
    fn a_directory_that_is_named_by_a_link_is_read() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("real")).unwrap();
        fs::write(root.path().join("real/1"), "").unwrap();
        symlink("real", root.path().join("link")).unwrap();
        assert_eq!(below(&root.path().join("link")).unwrap().files, [root.path().join("link/1")]);
    }
}
