//! The file of a kernel's image. The cache has images packed with gzip.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tardy_sys::files;

use crate::checksum::sha256;

/// The ending of a packed image's name.
pub(super) const PACKED: &str = ".gz";
/// The longest unpacked image in bytes.
const SIZE_LIMIT: u64 = 512 << 20;

/// The file of a kernel's image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// The file.
    pub path: PathBuf,
    /// Of a file that the lab packed, the SHA-256 of the image in it, in hexadecimal.
    pub packed: Option<String>,
}

impl ImageFile {
    /// A file that the emulator boots as it is.
    pub fn plain(path: PathBuf) -> Self {
        Self { path, packed: None }
    }

    /// The image, as the emulator boots it.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let bytes = fs::read(&self.path)?;
        let Some(hash) = &self.packed else { return Ok(bytes) };
        let mut image = Vec::new();
        GzDecoder::new(&bytes[..]).take(SIZE_LIMIT).read_to_end(&mut image)?;
        if sha256(&image) != *hash {
            let problem = "the file is damaged; remove its directory, so that the kernel is fetched again";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(image)
    }
}

/// Packs an image into a file, and returns the file's length.
pub(super) fn pack(image: &[u8], path: &Path) -> io::Result<u64> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(image)?;
    let packed = packed.finish()?;
    files::replace_own(path, 0o644, &packed)?;
    Ok(packed.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_image_is_read_as_it_was_and_a_damaged_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vmlinux-6.12.gz");
        let image = b"kernel".repeat(1000);
        let length = pack(&image, &path).unwrap();
        assert_eq!(length, fs::metadata(&path).unwrap().len());
        assert!(length < 1000);
        let file = ImageFile { path, packed: Some(sha256(&image)) };
        assert_eq!(file.read().unwrap(), image);
        pack(b"another kernel", &file.path).unwrap();
        let error = file.read().unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}
