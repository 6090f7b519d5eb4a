//! A kernel image's processor and release.
//!
//! Formats: `Documentation/arch/x86/boot.rst` for x86's bzImage, `Documentation/arch/arm64/booting.rst` for arm64's
//! Image, `drivers/firmware/efi/libstub/zboot-header.S` for an Image packed for EFI.

use std::io::Read;

use flate2::read::GzDecoder;
use thiserror::Error;

use crate::arch::Arch;

/// The longest unpacked image in bytes. A packed image that would be longer is hostile.
const SIZE_LIMIT: u64 = 512 << 20;
/// The text before the release in every kernel (init/version.c).
const BANNER: &[u8] = b"Linux version ";
/// The longest release (uname(2) has 65 bytes including the final zero).
const RELEASE_LIMIT: usize = 64;

/// The metadata of a kernel image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Its processor.
    pub arch: Arch,
    /// Its release as in `uname -r`; `None` if the image does not contain it.
    pub release: Option<String>,
}

/// Why a file is not a kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    /// The format is unknown.
    #[error(
        "not a kernel image: expected an x86 bzImage, an arm64 Image (packed with gzip or not) or a vmlinux"
    )]
    Unknown,
    /// A kernel for a processor that no machine of the lab has.
    #[error("a kernel for {0}; the lab's machines have x86_64 and aarch64 processors")]
    Processor(&'static str),
    /// A kernel in a format that the emulator cannot boot.
    #[error(
        "packed for EFI (an arm64 vmlinuz.efi), which the emulator cannot boot directly; use arch/arm64/boot/Image of the same build"
    )]
    Efi,
    /// The file is truncated or damaged.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// Reads an image's processor and release. Does not panic on any bytes.
///
/// # Errors
/// If it is not a kernel for a machine of the lab.
pub fn inspect(image: &[u8]) -> Result<ImageFacts, ImageError> {
    if image.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        let mut reader = GzDecoder::new(image).take(SIZE_LIMIT);
        reader.read_to_end(&mut unpacked).map_err(|error| ImageError::Damaged(format!("gzip: {error}")))?;
        // The emulator boots a packed arm64 Image, but not a packed bzImage.
        return arm64(&unpacked).unwrap_or(Err(ImageError::Unknown));
    }
    arm64(image).or_else(|| x86(image)).or_else(|| elf(image)).unwrap_or_else(|| Err(other(image)))
}

fn arm64(image: &[u8]) -> Option<Result<ImageFacts, ImageError>> {
    (bytes(image, 0x38)? == *b"ARM\x64")
        .then(|| Ok(ImageFacts { arch: Arch::Aarch64, release: release_of_banner(image) }))
}

fn x86(image: &[u8]) -> Option<Result<ImageFacts, ImageError>> {
    if bytes(image, 0x1fe)? != [0x55, 0xaa] || bytes(image, 0x202)? != *b"HdrS" {
        return None;
    }
    let version = u16::from_le_bytes(bytes(image, 0x206)?);
    let is_64_bit = version >= 0x20c && u16::from_le_bytes(bytes(image, 0x236)?) & 1 == 1;
    if !is_64_bit {
        return Some(Err(ImageError::Processor("32-bit x86")));
    }
    // The offset of the release from the end of the boot sector; 0 for none.
    let release = match u16::from_le_bytes(bytes(image, 0x20e)?) {
        0 => None,
        offset => image.get(usize::from(offset) + 0x200..).and_then(first_word),
    };
    Some(Ok(ImageFacts { arch: Arch::X86_64, release }))
}

fn elf(image: &[u8]) -> Option<Result<ImageFacts, ImageError>> {
    if bytes(image, 0)? != *b"\x7fELF" {
        return None;
    }
    let machine = u16::from_le_bytes(bytes(image, 0x12)?);
    let release = release_of_banner(image);
    // Programs are ELF files too; only a kernel contains the banner.
    let arch = match (release.is_some(), machine) {
        (false, _) => return Some(Err(ImageError::Unknown)),
        (true, machine) if machine == Arch::X86_64.elf_machine() => Arch::X86_64,
        (true, machine) if machine == Arch::Aarch64.elf_machine() => Arch::Aarch64,
        (true, 40) => return Some(Err(ImageError::Processor("32-bit Arm"))),
        (true, 243) => return Some(Err(ImageError::Processor("RISC-V"))),
        (true, _) => return Some(Err(ImageError::Processor("another processor"))),
    };
    Some(Ok(ImageFacts { arch, release }))
}

fn other(image: &[u8]) -> ImageError {
    if bytes(image, 4) == Some(*b"zimg") {
        ImageError::Efi
    } else if bytes(image, 0x24) == Some(0x016f_2818_u32.to_le_bytes()) {
        ImageError::Processor("32-bit Arm")
    } else if bytes(image, 0x38) == Some(*b"RSC\x05") {
        ImageError::Processor("RISC-V")
    } else {
        ImageError::Unknown
    }
}

fn bytes<const N: usize>(image: &[u8], at: usize) -> Option<[u8; N]> {
    image.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The release in the first banner that contains one. The banner's text is also in format strings, before a `%`.
fn release_of_banner(image: &[u8]) -> Option<String> {
    let mut rest = image;
    while let Some(at) = rest.iter().position(|byte| *byte == BANNER[0]) {
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(BANNER)
            && after.first().is_some_and(u8::is_ascii_digit)
        {
            return first_word(after);
        }
        rest = &rest[1..];
    }
    None
}

fn first_word(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().take(RELEASE_LIMIT + 1).position(|byte| matches!(byte, b' ' | 0))?;
    let word = std::str::from_utf8(&bytes[..end]).ok()?;
    // The release becomes part of paths.
    let is_plain = word.chars().all(|c| c.is_ascii_graphic() && c != '/') && !word.starts_with('.');
    (!word.is_empty() && is_plain).then(|| word.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    /// The header of a bzImage.
    pub(crate) fn bzimage(release: &str) -> Vec<u8> {
        let mut image = vec![0_u8; 0x400];
        image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x236] = 1;
        let text = format!("{release} (who@where) #1 SMP\0");
        image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
        image
    }

    /// The header of an Image and a banner.
    pub(crate) fn arm_image(release: &str) -> Vec<u8> {
        let mut image = vec![0_u8; 0x40];
        image[0x38..0x3c].copy_from_slice(b"ARM\x64");
        image.extend_from_slice(b"LLinux version %s (%s)\0Linux version ");
        image.extend_from_slice(format!("{release} (who@where)\0").as_bytes());
        image
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_header_has_processor_and_release() {
        let x86 = ImageFacts { arch: Arch::X86_64, release: Some("6.12.1+x".into()) };
        assert_eq!(inspect(&bzimage("6.12.1+x")), Ok(x86));
        let arm = ImageFacts { arch: Arch::Aarch64, release: Some("6.1.0-56-rt-arm64".into()) };
        assert_eq!(inspect(&arm_image("6.1.0-56-rt-arm64")), Ok(arm.clone()));
        assert_eq!(inspect(&packed(&arm_image("6.1.0-56-rt-arm64"))), Ok(arm));
    }

    #[test]
    fn a_vmlinux_is_a_kernel_and_a_program_is_not() {
        let mut elf = vec![0_u8; 0x40];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[0x12] = 62;
        assert_eq!(inspect(&elf), Err(ImageError::Unknown));
        elf.extend_from_slice(b"Linux version 6.6.1 (x)");
        assert_eq!(inspect(&elf).unwrap().release.as_deref(), Some("6.6.1"));
        elf[0x12] = 40;
        assert_eq!(inspect(&elf), Err(ImageError::Processor("32-bit Arm")));
    }

    #[test]
    fn kernels_for_other_processors_are_recognised() {
        let mut old = bzimage("2.6");
        old[0x236] = 0;
        assert_eq!(inspect(&old), Err(ImageError::Processor("32-bit x86")));
        let mut zimage = vec![0_u8; 0x40];
        zimage[0x24..0x28].copy_from_slice(&[0x18, 0x28, 0x6f, 0x01]);
        assert_eq!(inspect(&zimage), Err(ImageError::Processor("32-bit Arm")));
        let mut efi = vec![0_u8; 0x40];
        efi[..8].copy_from_slice(b"MZ\0\0zimg");
        assert_eq!(inspect(&efi), Err(ImageError::Efi));
        assert_eq!(inspect(b"\x7fELF"), Err(ImageError::Unknown));
        assert_eq!(inspect(&[]), Err(ImageError::Unknown));
        assert!(matches!(inspect(&[0x1f, 0x8b, 8]), Err(ImageError::Damaged(_))));
    }

    #[test]
    fn a_release_that_is_not_a_file_name_is_ignored() {
        assert_eq!(inspect(&bzimage("../../etc")).unwrap().release, None);
        assert_eq!(inspect(&bzimage(&"6".repeat(65))).unwrap().release, None);
        assert_eq!(inspect(&bzimage("")).unwrap().release, None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            image in proptest::collection::vec(any::<u8>(), 0..0x300),
            which in 0..5_usize,
            end in any::<prop::sample::Index>(),
        ) {
            drop(inspect(&image));
            let mut known = match which {
                0 => bzimage("6.1"),
                1 => arm_image("6.1"),
                2 => packed(&arm_image("6.1")),
                3 => b"\x7fELF".to_vec(),
                _ => vec![0; 0x40],
            };
            known.truncate(end.index(known.len() + 1));
            drop(inspect(&known));
            known.extend_from_slice(&image);
            drop(inspect(&known));
        }
    }
}
