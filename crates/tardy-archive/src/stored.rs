//! A run file as it is stored: compressed by gzip, so that zcat reads it.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The first bytes of a file of gzip (RFC 1952).
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The most bytes that a stored run file may have before compression: far more than any run file.
const CONTENT_MAX: u64 = 1 << 30;

/// Writes `content` compressed.
pub(crate) fn write_compressed(content: &[u8], file: &mut dyn Write) -> io::Result<()> {
    let mut encoder = GzEncoder::new(file, Compression::default());
    encoder.write_all(content)?;
    encoder.finish().map(drop)
}

/// Whether a file that begins with `beginning` is compressed by gzip.
pub fn is_compressed(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// The content of a compressed run file.
///
/// # Errors
/// If it is damaged or cut off, or has more than 1 GiB.
pub fn read_compressed(file: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    MultiGzDecoder::new(file).take(CONTENT_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > CONTENT_MAX {
        return Err(io::Error::other("it has more than 1 GiB when decompressed"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_comes_back_and_a_damaged_file_does_not() {
        let content = b"{\"schema_version\": 1}".repeat(1000);
        let mut stored = Vec::new();
        write_compressed(&content, &mut stored).unwrap();
        assert!(is_compressed(&stored) && stored.len() < content.len() / 10);
        assert_eq!(read_compressed(stored.as_slice()).unwrap(), content);
        assert!(read_compressed(&stored[..stored.len() - 1]).is_err(), "cut off");
        let middle = stored.len() / 2;
        stored[middle] ^= 1;
        assert!(read_compressed(stored.as_slice()).is_err(), "a flipped bit");
    }
}
