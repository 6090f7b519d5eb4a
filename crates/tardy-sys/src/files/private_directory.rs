//! A temporary directory that only the caller can use.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::{Directory, random_name, refused};

/// A new directory with mode 0700 and a name that cannot be guessed, below the system's directory for temporary files. Dropping it
/// removes it with its content.
#[derive(Debug)]
pub struct PrivateDirectory {
    directory: Directory,
}

impl PrivateDirectory {
    /// Creates the directory. Its name begins with `prefix`.
    ///
    /// # Errors
    /// If the file system does not permit it, or other users could replace the directory.
    pub fn create(prefix: &str) -> io::Result<Self> {
        Self::create_in(&std::env::temp_dir(), prefix)
    }

    fn create_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let explained =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", parent.display()));
        let parent = match Directory::named(parent) {
            // As in a guest of the lab.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Directory::own_or_new(parent),
            opened => opened,
        };
        let parent = parent.map_err(explained)?;
        parent.check_keeps_files().map_err(|error| refused(format!("{error}; choose another TMPDIR")))?;
        loop {
            let name = format!("{prefix}{}", random_name()?);
            match parent.create_directory(OsStr::new(&name)) {
                Ok(directory) => return Ok(Self { directory }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(explained(error)),
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory, to create files in it.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The directories that calls of [`Self::create`] by this user have left, with names that begin with `prefix`.
    pub fn left_over(prefix: &str) -> Vec<Directory> {
        let parent = std::env::temp_dir();
        let names = Directory::named(&parent).and_then(|parent| parent.names()).unwrap_or_default();
        let own = names.into_iter().filter(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
        own.filter_map(|name| Directory::own(&parent.join(name)).ok()).collect()
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn it_is_new_accessible_to_its_owner_alone_and_removed_with_its_content() {
        let (one, two) = (
            PrivateDirectory::create("tardy-test-").unwrap(),
            PrivateDirectory::create("tardy-test-").unwrap(),
        );
        assert_ne!(one.path(), two.path());
        assert_eq!(fs::metadata(one.path()).unwrap().mode() & 0o7777, 0o700);
        let path = one.path().to_owned();
        one.directory().create_new(OsStr::new("file"), 0o600).unwrap();
        drop(one);
        assert!(!path.exists());
    }

    #[test]
    fn a_parent_in_which_others_can_replace_files_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = PrivateDirectory::create_in(parent.path(), "x").unwrap_err();
        assert!(error.to_string().contains("choose another TMPDIR"), "{error}");
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        PrivateDirectory::create_in(parent.path(), "x").unwrap();
    }
}
