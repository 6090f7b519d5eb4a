//! Compressed module files: `.ko`, `.ko.xz`, `.ko.gz`, `.ko.zst`.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// The longest uncompressed module in bytes; a debug build of amdgpu is about half as long. A longer file is treated as
/// hostile.
const SIZE_LIMIT: u64 = 1 << 30;

/// Uncompresses a file by the extension of its name.
pub(super) fn unpack(path: &Path, packed: Vec<u8>) -> io::Result<Vec<u8>> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "xz" => read_all("xz", XzReader::new(packed.as_slice(), false)),
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
    if unpacked.len() as u64 > SIZE_LIMIT {
        return Err(invalid(format, "longer than any module"));
    }
    Ok(unpacked)
}

fn invalid(format: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{format}: {error}"))
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use lzma_rust2::{XzOptions, XzWriter};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// A file's bytes, compressed by the extension of its name.
    pub(crate) fn pack(name: &str, bytes: &[u8]) -> Vec<u8> {
        match name.rsplit_once('.').unwrap().1 {
            "xz" => {
                let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).unwrap();
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
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
