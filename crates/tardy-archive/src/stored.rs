//! A run file as it is stored: compressed by gzip, with the name that it had, so that `zcat` and `gunzip -N` read it.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

/// The first bytes of a file of gzip (RFC 1952).
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The most bytes that a stored run file may have before compression: far more than any run file.
const CONTENT_MAX: u64 = 1 << 30;

/// The content of a stored run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The name that the file had when it was added; empty if it had none.
    pub name: String,
    /// The run file.
    pub content: Vec<u8>,
}

/// Writes `content` compressed, with the name of its file. The time is left out, so that the same file has the same bytes.
///
/// # Errors
/// If `file` fails.
pub fn write_compressed(content: &[u8], name: &str, file: &mut dyn Write) -> io::Result<()> {
    let name: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
    let mut encoder = GzBuilder::new().filename(name).write(file, Compression::default());
    encoder.write_all(content)?;
    encoder.finish().map(drop)
}

/// Whether a file that begins with `beginning` is compressed by gzip.
pub fn is_compressed(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// Reads a compressed run file.
///
/// # Errors
/// If it is damaged or cut off, or has more than 1 GiB.
pub fn read_compressed(file: impl Read) -> io::Result<Stored> {
    read_compressed_up_to(file, CONTENT_MAX)
}

/// Reads a compressed run file that may have at most `most` bytes.
///
/// # Errors
/// If it is damaged or cut off, or has more.
pub fn read_compressed_up_to(file: impl Read, most: u64) -> io::Result<Stored> {
    let mut decoder = GzDecoder::new(file).take(most + 1);
    let mut content = Vec::new();
    decoder.read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes when decompressed")));
    }
    let header = decoder.get_ref().header();
    let name = header.and_then(|header| header.filename()).unwrap_or_default();
    Ok(Stored { name: String::from_utf8_lossy(name).into_owned(), content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_comes_back_and_a_damaged_file_does_not() {
        let content = b"{\"schema_version\": 1}".repeat(1000);
        let mut stored = Vec::new();
        write_compressed(&content, "idle.run.json", &mut stored).unwrap();
        assert!(is_compressed(&stored) && stored.len() < 1000);
        let expected = Stored { name: "idle.run.json".to_owned(), content };
        assert_eq!(read_compressed(stored.as_slice()).unwrap(), expected);
        assert!(read_compressed(&stored[..stored.len() - 1]).is_err(), "cut off");
        let middle = stored.len() / 2;
        stored[middle] ^= 1;
        assert!(read_compressed(stored.as_slice()).is_err(), "a flipped bit");
    }
}
