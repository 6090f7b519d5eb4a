//! The kernel inside an x86 bzImage, which the emulator can boot directly.
//!
//! A bzImage is a small program that unpacks the kernel and starts it. In the emulator that takes about a second of
//! every boot; on the host it takes a fraction of that, once. QEMU enters the unpacked kernel by the PVH protocol, at
//! the address in one of its ELF notes. An image that cannot be unpacked here, such as one packed with LZ4, is booted
//! unchanged.
//!
//! Formats: `Documentation/arch/x86/boot.rst` (setup_sects, payload_offset), elf(5), and `XEN_ELFNOTE_PHYS32_ENTRY` in
//! `include/xen/interface/elfnote.h` for the note.

use std::io::Read;

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// The longest unpacked kernel in bytes.
const SIZE_LIMIT: u64 = 512 << 20;
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const XZ: [u8; 6] = *b"\xfd7zXZ\0";
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The type of a program header for notes.
const PT_NOTE: u32 = 4;
/// The length of the note's name; the length of its description follows, and then its type and its name.
const NAME_LENGTH: [u8; 4] = 4_u32.to_le_bytes();
const PHYS32_ENTRY: [u8; 8] = *b"\x12\0\0\0Xen\0";

/// Unpacks the kernel in a bzImage; `None` if it cannot be unpacked or cannot be entered directly. Does not panic on
/// any bytes.
pub fn unpack(bzimage: &[u8]) -> Option<Vec<u8>> {
    let kernel = decompress(payload(bzimage)?)?;
    has_direct_entry(&kernel).then_some(kernel)
}

/// The compressed kernel. Its offset counts from the end of the part that runs in real mode.
fn payload(bzimage: &[u8]) -> Option<&[u8]> {
    if bzimage.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    // In the boot protocol, 0 means 4.
    let sectors = match *bzimage.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = ((sectors + 1) * 512).checked_add(number(bzimage, 0x248)?)?;
    bzimage.get(start..start.checked_add(number(bzimage, 0x24c)?)?)
}

/// Decompresses the kernel and ignores the uncompressed length that follows it.
fn decompress(packed: &[u8]) -> Option<Vec<u8>> {
    let reader: Box<dyn Read + '_> = if packed.starts_with(&ZSTD) {
        Box::new(StreamingDecoder::new(packed).ok()?)
    } else if packed.starts_with(&GZIP) {
        Box::new(GzDecoder::new(packed))
    } else if packed.starts_with(&XZ) {
        Box::new(XzReader::new(packed, false))
    } else {
        return None;
    };
    let mut kernel = Vec::new();
    reader.take(SIZE_LIMIT).read_to_end(&mut kernel).ok()?;
    Some(kernel)
}

/// Whether a 64-bit ELF file has the note with the entry point for PVH loaders.
fn has_direct_entry(kernel: &[u8]) -> bool {
    kernel.starts_with(b"\x7fELF\x02\x01") && notes(kernel).any(has_entry_point)
}

fn notes(kernel: &[u8]) -> impl Iterator<Item = &[u8]> {
    let first = number(kernel, 0x20).unwrap_or(usize::MAX);
    let size = short(kernel, 0x36).unwrap_or_default();
    let count = short(kernel, 0x38).unwrap_or_default();
    (0..count).filter_map(move |index| {
        let header = kernel.get(first.checked_add(index * size)?..)?;
        let start = number(header, 0x08)?;
        let notes = kernel.get(start..start.checked_add(number(header, 0x20)?)?)?;
        (number(header, 0)? == PT_NOTE as usize).then_some(notes)
    })
}

fn has_entry_point(notes: &[u8]) -> bool {
    notes.windows(16).step_by(4).any(|note| note[..4] == NAME_LENGTH && note[8..] == PHYS32_ENTRY)
}

/// Four bytes, little-endian. The lower half of a longer number suffices, because the files are shorter than 4 GiB.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
    Some(usize::from(u16::from_le_bytes(two)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use lzma_rust2::{CheckType, FilterType, XzOptions, XzWriter};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// An ELF file with one program header and one note of type `kind`.
    fn elf(kind: u8) -> Vec<u8> {
        let mut file = vec![0; 0x98];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x20] = 0x40;
        file[0x36] = 0x38;
        file[0x38] = 1;
        file[0x40] = 4;
        file[0x48] = 0x80;
        file[0x60] = 0x18;
        file[0x80..0x90].copy_from_slice(&[4, 0, 0, 0, 8, 0, 0, 0, kind, 0, 0, 0, b'X', b'e', b'n', 0]);
        file
    }

    /// A bzImage with compressed bytes and the uncompressed length after them.
    fn around(packed: &[u8]) -> Vec<u8> {
        let mut image = super::super::image::tests::bzimage("6.12");
        image[0x1f1] = 1;
        image[0x248..0x24c].copy_from_slice(&0x10_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(packed.len() as u32 + 4).to_le_bytes());
        image.resize(0x400 + 0x10, 0);
        image.extend_from_slice(packed);
        image.extend_from_slice(&0x98_u32.to_le_bytes());
        image
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// As the kernel's build packs it: arch/x86/boot/compressed/Makefile, scripts/xz_wrap.sh.
    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut options = XzOptions::with_preset(0);
        options.set_check_sum_type(CheckType::Crc32);
        options.prepend_pre_filter(FilterType::BcjX86, 0);
        let mut encoder = XzWriter::new(Vec::new(), options).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn zstd_gzip_and_xz_are_decompressed() {
        let mut kernel = elf(0x12);
        // Calls, which the filter for x86 code changes.
        kernel.extend([0xe8, 1, 2, 0, 0].repeat(50));
        assert_eq!(unpack(&around(&xz(&kernel))), Some(kernel.clone()));
        let zstd = compress_to_vec(kernel.as_slice(), CompressionLevel::Fastest);
        assert_eq!(unpack(&around(&zstd)), Some(kernel.clone()));
        assert_eq!(unpack(&around(&gzip(&kernel))), Some(kernel));
    }

    #[test]
    fn a_kernel_without_a_pvh_entry_point_is_not_unpacked() {
        assert_eq!(unpack(&around(&gzip(&elf(0x11)))), None);
        assert_eq!(unpack(&around(&gzip(b"no ELF file"))), None);
        assert_eq!(unpack(&around(b"\xfd7zXZ\0 packed otherwise")), None);
        assert_eq!(unpack(&super::super::image::tests::arm_image("6.1")), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..0x300),
            at in any::<prop::sample::Index>(),
            value in any::<u8>(),
        ) {
            drop(unpack(&noise));
            drop(unpack(&around(&gzip(&noise))));
            let mut kernel = elf(0x12);
            let at = at.index(kernel.len());
            kernel[at] = value;
            drop(unpack(&around(&gzip(&kernel))));
            let mut image = around(&gzip(&elf(0x12)));
            image[0x1f1 + at] = value;
            drop(unpack(&image));
        }
    }
}
