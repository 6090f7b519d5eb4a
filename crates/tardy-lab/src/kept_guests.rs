//! What guests were made of, by its hash, so that a run can be repeated after kernels and tardy have been replaced.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tardy_sys::files;
use thiserror::Error;

use crate::checksum::sha256;
use crate::packages::PackageError;
use crate::packages::cache_directory::CacheDirectory;

/// When the files together take more, those that were used least recently are removed.
const LIMIT_BYTES: u64 = 4 << 30;
/// The longest file, unpacked.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The cache of guests' files.
#[derive(Clone, Debug)]
pub struct KeptGuests {
    directory: PathBuf,
}

/// Why a file of a guest is not available.
#[derive(Debug, Error)]
pub enum Missing {
    /// It is not in the cache.
    #[error(
        "the run's {what} (SHA-256 {}...) is not in {}; 'tardy lab run' keeps it there on the machine that measured",
        &sha256[..12.min(sha256.len())],
        directory.display()
    )]
    NotKept {
        /// What it is.
        what: &'static str,
        /// Its hash.
        sha256: String,
        /// The cache.
        directory: PathBuf,
    },
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// Its content is not what its name says.
    #[error("{} is damaged; remove it, and measure again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl KeptGuests {
    /// The cache of this user.
    ///
    /// # Errors
    /// If there is none.
    pub fn of_this_user() -> Result<Self, PackageError> {
        Ok(Self::at(&CacheDirectory::of_this_user()?))
    }

    fn at(cache: &CacheDirectory) -> Self {
        Self { directory: cache.guests() }
    }

    /// Keeps a file with its hash, unless it is there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, hash: &str, content: &[u8]) -> io::Result<()> {
        let path = self.path(hash);
        if let Ok(file) = fs::File::open(&path) {
            return file.set_modified(SystemTime::now());
        }
        files::make_directories(&self.directory)?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(content)?;
        files::replace_own(&path, 0o600, &packed.finish()?)?;
        self.remove_oldest(LIMIT_BYTES)
    }

    /// Keeps a file that is packed already by a second name for it, or a copy if that is not possible.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_packed(&self, hash: &str, packed: &Path) -> io::Result<()> {
        let path = self.path(hash);
        if let Ok(file) = fs::File::open(&path) {
            return file.set_modified(SystemTime::now());
        }
        files::make_directories(&self.directory)?;
        if files::link_own(packed, &path).is_err() && !path.exists() {
            files::replace_own(&path, 0o600, &fs::read(packed)?)?;
        }
        self.remove_oldest(LIMIT_BYTES)
    }

    /// The content with this hash.
    ///
    /// # Errors
    /// If it is not there, or not what it should be.
    pub fn find(&self, what: &'static str, hash: &str) -> Result<Vec<u8>, Missing> {
        let missing =
            || Missing::NotKept { what, sha256: hash.to_owned(), directory: self.directory.clone() };
        // The hash comes from a run file, which may have been made to name another file.
        if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(missing());
        }
        let path = self.path(hash);
        let packed = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            read => read.map_err(|source| Missing::File { path: path.clone(), source })?,
        };
        let mut content = Vec::new();
        let unpacked = GzDecoder::new(&packed[..]).take(FILE_BYTES_MAX).read_to_end(&mut content);
        match unpacked.is_ok() && sha256(&content) == hash {
            true => Ok(content),
            false => Err(Missing::Damaged { path }),
        }
    }

    fn path(&self, hash: &str) -> PathBuf {
        self.directory.join(format!("{hash}.gz"))
    }

    fn remove_oldest(&self, limit: u64) -> io::Result<()> {
        let mut all: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            // Another guest may have finished or removed a file since.
            if let Some(about) = unless_gone(entry.metadata())? {
                all.push((about.modified()?, about.len(), entry.path()));
            }
        }
        all.sort();
        let mut total: u64 = all.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in all {
            if total <= limit {
                break;
            }
            unless_gone(fs::remove_file(path))?;
            total -= length;
        }
        Ok(())
    }
}

fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> (tempfile::TempDir, KeptGuests) {
        let directory = tempfile::tempdir().unwrap();
        let kept = KeptGuests::at(&CacheDirectory::at(directory.path()));
        (directory, kept)
    }

    fn keep(kept: &KeptGuests, content: &[u8]) {
        kept.keep(&sha256(content), content).unwrap();
    }

    #[test]
    fn what_was_kept_is_found_by_its_hash() {
        let (_directory, kept) = kept();
        keep(&kept, b"a kernel");
        keep(&kept, b"a kernel");
        assert_eq!(kept.find("kernel", &sha256(b"a kernel")).unwrap(), b"a kernel");
        let error = kept.find("kernel", &sha256(b"another")).unwrap_err().to_string();
        assert!(error.starts_with("the run's kernel (SHA-256 "), "{error}");
    }

    #[test]
    fn a_packed_file_is_kept_by_a_second_name() {
        let (directory, kept) = kept();
        keep(&kept, b"a kernel");
        let hash = sha256(b"a kernel");
        let packed = directory.path().join("vmlinux.gz");
        fs::rename(kept.path(&hash), &packed).unwrap();
        kept.keep_packed(&hash, &packed).unwrap();
        fs::remove_file(&packed).unwrap();
        assert_eq!(kept.find("kernel", &hash).unwrap(), b"a kernel");
    }

    #[test]
    fn a_file_with_other_content_is_not_used_and_a_name_is_no_path() {
        let (directory, kept) = kept();
        keep(&kept, b"a kernel");
        let hash = sha256(b"a kernel");
        fs::write(kept.path(&hash), b"damaged").unwrap();
        assert!(matches!(kept.find("kernel", &hash), Err(Missing::Damaged { .. })));
        fs::write(directory.path().join("secret.gz"), b"").unwrap();
        assert!(matches!(kept.find("kernel", "../secret"), Err(Missing::NotKept { .. })));
    }

    #[test]
    fn the_oldest_are_removed_first() {
        let (_directory, kept) = kept();
        for (age, content) in [(3, "a"), (2, "b"), (1, "c")] {
            keep(&kept, content.as_bytes());
            let when = SystemTime::now() - std::time::Duration::from_secs(age * 1000);
            fs::File::open(kept.path(&sha256(content.as_bytes()))).unwrap().set_modified(when).unwrap();
        }
        let one = fs::metadata(kept.path(&sha256(b"a"))).unwrap().len();
        kept.remove_oldest(2 * one).unwrap();
        assert!(kept.find("file", &sha256(b"a")).is_err());
        assert!(kept.find("file", &sha256(b"b")).is_ok());
    }
}
