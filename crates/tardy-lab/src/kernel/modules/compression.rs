//! Compressed module files: `.ko`, `.ko.xz`, `.ko.gz`, `.ko.zst`.

use std::io::{self, Read, Write};
use std::path::Path;

use flate2::read::GzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// The longest uncompressed module in bytes; a debug build of amdgpu is about half as long. A longer file is treated as
/// hostile.
const SIZE_LIMIT: u64 = 1 << 30;

/// Uncompresses a file by the extension of its name.
pub(super) fn unpack(path: &Path, packed: Vec<u8>) -> io::Result<Vec<u8>> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "xz" => {
            let mut unpacked = Limited(Vec::new());
            lzma_rs::xz_decompress(&mut packed.as_slice(), &mut unpacked)
                .map_err(|error| invalid("xz", error))?;
            Ok(unpacked.0)
        }
        "gz" => read_all("gzip", GzDecoder::new(packed.as_slice())),
        "zst" => {
            let decoder = StreamingDecoder::new(packed.as_slice()).map_err(|error| invalid("zstd", error))?;
            read_all("zstd", decoder)
        }
        _ => Ok(packed),
    }
}

fn read_all(format: &str, reader: impl Read) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    reader.take(SIZE_LIMIT + 1).read_to_end(&mut unpacked).map_err(|error| invalid(format, error))?;
    if unpacked.len() as u64 > SIZE_LIMIT { Err(invalid(format, too_long())) } else { Ok(unpacked) }
}

fn invalid(format: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{format}: {error}"))
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "longer than any module")
}

/// A buffer that accepts at most the length of the longest module.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > SIZE_LIMIT {
            return Err(too_long());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// A file's bytes, compressed by the extension of its name.
    pub(crate) fn pack(name: &str, bytes: &[u8]) -> Vec<u8> {
        match name.rsplit_once('.').unwrap().1 {
            "xz" => {
                let mut packed = Vec::new();
                lzma_rs::xz_compress(&mut &*bytes, &mut packed).unwrap();
                packed
            }
            "gz" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "zst" => compress_to_vec(bytes, CompressionLevel::Fastest),
            _ => bytes.to_owned(),
        }
    }

    #[test]
    fn every_compression_is_undone() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for name in ["a.ko", "a.ko.xz", "a.ko.gz", "a.ko.zst"] {
            assert!(unpack(Path::new(name), pack(name, &bytes)).unwrap() == bytes, "{name}");
        }
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        for name in ["a.ko.xz", "a.ko.gz", "a.ko.zst"] {
            let mut packed = pack(name, &[7; 5000]);
            packed.truncate(packed.len() / 2);
            let error = unpack(Path::new(name), packed).unwrap_err().to_string();
            assert!(error.contains(": "), "{error}");
            assert!(unpack(Path::new(name), b"nonsense".to_vec()).is_err());
        }
    }
}
