//! Unpacks package archives into directories of the cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tardy_sys::files;

use super::apt::Programs;
use super::cache_directory::{CacheDirectory, create_directory};
use super::{PackageError, PackageVersion};

use crate::checksum::sha256;

/// A directory that is being filled. It becomes part of the cache in one step or is removed.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates an empty directory and removes that of an earlier process. The cache must be locked.
    pub(crate) fn new(cache: &CacheDirectory) -> Result<Self, PackageError> {
        let path = cache.scratch();
        if path.exists() {
            fs::remove_dir_all(&path)
                .map_err(PackageError::file("removing the leftover directory", &path))?;
        }
        create_directory(&path)?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the directory to `place`. An existing directory is replaced: it is incomplete, or it would have been used.
    pub(crate) fn move_to(self, place: &Path) -> Result<(), PackageError> {
        if let Some(parent) = place.parent() {
            create_directory(parent)?;
        }
        if place.exists() {
            fs::remove_dir_all(place)
                .map_err(PackageError::file("removing the incomplete directory", place))?;
        }
        files::rename_own(&self.path, place).map_err(PackageError::file("creating", place))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After `move_to` there is nothing to remove. After a failure, the next Scratch removes the directory.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Unpacks a package archive into a separate directory.
pub(crate) fn extract(programs: &Programs, archive: &Path, directory: &Path) -> Result<(), PackageError> {
    create_directory(directory)?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    programs
        .dpkg_deb(&format!("unpacking {name}"), ["-x".as_ref(), archive.as_os_str(), directory.as_os_str()])
}

/// Unpacks a package archive into a directory with other packages' files.
///
/// Releases before and after the merge of `/lib` into `/usr/lib` have libraries in different directories. All files go
/// below `usr`, with links as on an installed system.
pub(super) fn extract_over(programs: &Programs, archive: &Path, root: &Path) -> Result<(), PackageError> {
    for name in ["bin", "lib", "lib64", "sbin"] {
        create_directory(&root.join("usr").join(name))?;
        let link = root.join(name);
        if link.symlink_metadata().is_err() {
            symlink(Path::new("usr").join(name), &link)
                .map_err(PackageError::file("creating the link", &link))?;
        }
    }
    let own = root.with_extension("one");
    extract(programs, archive, &own)?;
    move_over(&own, root)?;
    fs::remove_dir_all(&own).map_err(PackageError::file("removing", &own))
}

/// Moves a tree's files into another tree, where they replace files of the same path.
fn move_over(from: &Path, to: &Path) -> Result<(), PackageError> {
    let reading = || PackageError::file("reading", from);
    for entry in fs::read_dir(from).map_err(reading())? {
        let entry = entry.map_err(reading())?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let is_directory = entry.file_type().map_err(reading())?.is_dir();
        // `is_dir` follows links, so that lib is moved into usr/lib through the link.
        if is_directory && target.is_dir() {
            move_over(&source, &target)?;
        } else {
            files::rename_own(&source, &target).map_err(PackageError::file("moving to", &target))?;
        }
    }
    Ok(())
}

/// A directory name for several packages: their names and a hash of the versions.
pub(super) fn union_name(packages: &[PackageVersion]) -> String {
    let all: Vec<String> = packages.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    short_name(&names, &all.join(" "))
}

/// The beginning of the names, at most 120 characters, and a hash of `everything`.
pub(super) fn short_name(names: &[&str], everything: &str) -> String {
    let hash = &sha256(everything.as_bytes())[..12];
    let names: String = names.join("_").chars().filter(|c| c.is_ascii() && *c != '/').take(120).collect();
    format!("{names}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_files_replace_those_of_the_same_path() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        for (path, text) in
            [("from/lib/a", "new"), ("from/usr/share/b", "b"), ("to/usr/lib/a", "old"), ("to/usr/c", "c")]
        {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("usr/lib", to.join("lib")).unwrap();
        symlink("b", from.join("usr/share/link")).unwrap();
        move_over(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("usr/lib/a")).unwrap(), "new");
        assert_eq!(fs::read_to_string(to.join("usr/share/link")).unwrap(), "b");
        assert!(to.join("lib").is_symlink() && to.join("usr/c").exists());
    }

    #[test]
    fn a_scratch_directory_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(directory.path());
        let left_over = cache.scratch().join("old/file");
        fs::create_dir_all(&left_over).unwrap();
        let scratch = Scratch::new(&cache).unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
        drop(scratch);
        assert!(!cache.scratch().exists());
    }

    #[test]
    fn an_incomplete_directory_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(directory.path());
        let place = directory.path().join("kernels/amd64/one");
        fs::create_dir_all(place.join("half")).unwrap();
        let scratch = Scratch::new(&cache).unwrap();
        fs::write(scratch.path().join("whole"), "").unwrap();
        scratch.move_to(&place).unwrap();
        assert!(place.join("whole").exists() && !place.join("half").exists());
    }

    #[test]
    fn union_names_are_short_and_different() {
        let one =
            PackageVersion { name: "linux-headers-6.12.117+deb12-common".into(), version: "1:1/2".into() };
        let mut other = one.clone();
        other.version = "2".into();
        let many: Vec<PackageVersion> = std::iter::repeat_n(one.clone(), 20).collect();
        assert!(union_name(&many).len() < 140);
        assert_ne!(union_name(&[one]), union_name(&[other]));
    }
}
