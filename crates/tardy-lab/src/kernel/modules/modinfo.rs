//! A module's description of itself, from the `.modinfo` section of its ELF file.
//!
//! Layouts: `Elf64_Ehdr` and `Elf64_Shdr` of the System V ABI's gABI; the section holds `key=value` texts, each ended
//! by a zero byte (include/linux/moduleparam.h).

use thiserror::Error;

/// What the lab needs from a module's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Modinfo {
    /// Modules that must be loaded before this one.
    pub(super) depends: Vec<String>,
    /// Modules or aliases that should be loaded before this one.
    pub(super) soft_before: Vec<String>,
    /// Its other names.
    pub(super) aliases: Vec<String>,
    /// The release of the kernel for which it was built.
    pub(super) release: Option<String>,
}

/// Why a file is not a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum ModinfoError {
    #[error("not a 64-bit little-endian ELF file")]
    NotElf,
    #[error("its section headers point outside the file")]
    Sections,
    #[error("it has no .modinfo section")]
    NoModinfo,
}

/// Bytes in an `Elf64_Shdr`.
const SECTION_HEADER: usize = 64;

impl Modinfo {
    /// Reads a module's description. Does not panic on any bytes.
    pub(super) fn of(image: &[u8]) -> Result<Self, ModinfoError> {
        let section = section(image, b".modinfo")?;
        let mut info = Self::default();
        for text in section.split(|byte| *byte == 0) {
            let Some((key, value)) = std::str::from_utf8(text).ok().and_then(|text| text.split_once('='))
            else {
                continue;
            };
            match key {
                "depends" => {
                    info.depends.extend(value.split(',').filter(|name| !name.is_empty()).map(str::to_owned))
                }
                "softdep" => info.soft_before.extend(before(value)),
                "alias" => info.aliases.push(value.to_owned()),
                "vermagic" => info.release = value.split_whitespace().next().map(str::to_owned),
                _ => {}
            }
        }
        Ok(info)
    }
}

/// The names after `pre:` in `pre: a b post: c`.
fn before(softdep: &str) -> Vec<String> {
    let mut is_before = false;
    let mut names = Vec::new();
    for word in softdep.split_whitespace() {
        match word.strip_suffix(':') {
            Some(which) => is_before = which == "pre",
            None if is_before => names.push(word.to_owned()),
            None => {}
        }
    }
    names
}

fn section<'a>(image: &'a [u8], name: &[u8]) -> Result<&'a [u8], ModinfoError> {
    let is_elf = image.starts_with(b"\x7fELF\x02\x01");
    if !is_elf || image.len() < 64 {
        return Err(ModinfoError::NotElf);
    }
    let (first, size) = (number(image, 0x28, 8), number(image, 0x3a, 2));
    let (count, names) = (number(image, 0x3c, 2), number(image, 0x3e, 2));
    let (Some(first), Some(SECTION_HEADER), Some(count), Some(names)) = (first, size, count, names) else {
        return Err(ModinfoError::Sections);
    };
    let header = |index: usize| {
        let start = index.checked_mul(SECTION_HEADER)?.checked_add(first)?;
        image.get(start..start.checked_add(SECTION_HEADER)?)
    };
    let content = |header: &[u8]| {
        let (start, length) = (number(header, 0x18, 8)?, number(header, 0x20, 8)?);
        image.get(start..start.checked_add(length)?)
    };
    let names = header(names).and_then(content).ok_or(ModinfoError::Sections)?;
    for index in 0..count {
        let header = header(index).ok_or(ModinfoError::Sections)?;
        let own = number(header, 0, 4).and_then(|at| names.get(at..)).unwrap_or_default();
        if own.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0)) {
            return content(header).ok_or(ModinfoError::Sections);
        }
    }
    Err(ModinfoError::NoModinfo)
}

/// A little-endian number of `length` bytes, 8 at most.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(length)?)?;
    let mut number = [0; 8];
    number.get_mut(..length)?.copy_from_slice(field);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An ELF file with a `.modinfo` section and no other content.
    pub(crate) fn module(info: &[&str]) -> Vec<u8> {
        let section: Vec<u8> = info.iter().flat_map(|text| text.bytes().chain([0])).collect();
        let names = b"\0.shstrtab\0.modinfo\0";
        let mut image = vec![0_u8; 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let put = |bytes: &mut Vec<u8>, at: usize, value: u64, length: usize| {
            bytes[at..at + length].copy_from_slice(&value.to_le_bytes()[..length]);
        };
        let sections = 64 + names.len() + section.len();
        for (at, value, length) in [(0x28, sections as u64, 8), (0x3a, 64, 2), (0x3c, 3, 2), (0x3e, 1, 2)] {
            put(&mut image, at, value, length);
        }
        image.extend_from_slice(names);
        image.extend_from_slice(&section);
        for (name, start, length) in [(0, 0, 0), (1, 64, names.len()), (11, 64 + names.len(), section.len())]
        {
            let mut header = vec![0_u8; SECTION_HEADER];
            for (at, value, size) in [(0, name, 4), (0x18, start, 8), (0x20, length, 8)] {
                put(&mut header, at, value as u64, size);
            }
            image.extend_from_slice(&header);
        }
        image
    }

    #[test]
    fn the_section_is_read() {
        let image = module(&[
            "license=GPL",
            "alias=crypto-crc32c",
            "alias=crc32c",
            "depends=stp,llc",
            "softdep=pre: crc32c aes post: other pre: more",
            "vermagic=6.12.117+deb12-amd64 SMP preempt mod_unload",
            "nonsense",
        ]);
        let info = Modinfo::of(&image).unwrap();
        assert_eq!(info.depends, ["stp", "llc"]);
        assert_eq!(info.soft_before, ["crc32c", "aes", "more"]);
        assert_eq!(info.aliases, ["crypto-crc32c", "crc32c"]);
        assert_eq!(info.release.as_deref(), Some("6.12.117+deb12-amd64"));
        assert_eq!(Modinfo::of(&module(&["depends="])), Ok(Modinfo::default()));
    }

    #[test]
    fn a_file_that_is_not_a_module_is_refused() {
        assert_eq!(Modinfo::of(b"\x7fELF\x01\x01"), Err(ModinfoError::NotElf));
        let whole = module(&["depends="]);
        assert_eq!(Modinfo::of(&whole[..whole.len() - 1]), Err(ModinfoError::Sections));
        let mut renamed = whole;
        renamed[64 + 12] = b'M';
        assert_eq!(Modinfo::of(&renamed), Err(ModinfoError::NoModinfo));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(Modinfo::of(&bytes));
            let mut elf = b"\x7fELF\x02\x01".to_vec();
            elf.extend_from_slice(&bytes);
            drop(Modinfo::of(&elf));
        }

        #[test]
        fn no_change_of_a_module_panics(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            end in any::<prop::sample::Index>(),
        ) {
            let mut image = module(&["depends=a,b", "softdep=pre: c"]);
            for (at, byte) in changes {
                let at = at.index(image.len());
                image[at] = byte;
            }
            drop(Modinfo::of(&image));
            image.truncate(end.index(image.len()));
            drop(Modinfo::of(&image));
        }
    }
}
