//! The lines of source code of a file's addresses, from its debug information (DWARF).

use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::{CompressedData, CompressionFormat};

use crate::elf::{Budget, Content, Elf, SECTION_MAX, Section, number};

/// The flag of a section that is compressed. Its content begins with a header: the method, a number without meaning, the length of what
/// was compressed, and its alignment.
const IS_COMPRESSED: u64 = 1 << 11;
const COMPRESSION_HEADER: usize = 24;

/// The debug information of a file.
pub struct SourceLines(Context<EndianArcSlice<RunTimeEndian>>);

/// A function with the line at which it calls or is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The function's name as linkers have it.
    pub function: String,
    /// The name of the source file, without directories.
    pub file: String,
    /// The line.
    pub number: u32,
}

impl SourceLines {
    /// Reads those of an ELF file of 64 bits; `None` if it has none, or exceeds a limit. What is read is subtracted from `budget`.
    pub fn read(content: &Content, budget: &Budget) -> Option<Self> {
        let elf = Elf::read(content, budget).filter(|elf| elf.is_64)?;
        let section = |id: SectionId| read_section(elf.section(id.name())?, content, budget);
        let info = section(SectionId::DebugInfo)?;
        let endian = if cfg!(target_endian = "little") { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let load = |id: SectionId| {
            let data = if id == SectionId::DebugInfo { Some(Arc::clone(&info)) } else { section(id) };
            Ok::<_, gimli::Error>(EndianArcSlice::new(data.unwrap_or_default(), endian))
        };
        Some(Self(Context::from_dwarf(Dwarf::load(load).ok()?).ok()?))
    }

    /// The functions that an address is in: first the one that was compiled into the others.
    pub fn at(&self, address: u64) -> Vec<Line> {
        let Ok(mut frames) = self.0.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut lines = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let function =
                frame.function.as_ref().and_then(|function| Some(function.raw_name().ok()?.into_owned()));
            let location = frame.location.and_then(|location| Some((location.file?, location.line?)));
            let (Some(function), Some((path, number))) = (function, location) else { return Vec::new() };
            let file = path.rsplit('/').next().unwrap_or(path).to_owned();
            lines.push(Line { function, file, number });
        }
        lines
    }
}

/// The content of a section, which may be compressed.
fn read_section(section: &Section, content: &Content, budget: &Budget) -> Option<Arc<[u8]>> {
    let stored = section.content(content, SECTION_MAX, budget)?;
    if section.flags & IS_COMPRESSED == 0 {
        return Some(stored);
    }
    let (format, uncompressed_size) = (number(&stored, 0, 4)?, number(&stored, 8, 8)?);
    let format = match format {
        1 => CompressionFormat::Zlib,
        2 => CompressionFormat::Zstandard,
        _ => return None,
    };
    budget.take(Some(uncompressed_size).filter(|size| *size <= SECTION_MAX)?)?;
    let data = stored.get(COMPRESSION_HEADER..)?;
    CompressedData { format, data, uncompressed_size }.decompress().ok().map(|data| Arc::from(&*data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_says_at_most_its_limit_when_it_is_compressed() {
        let of = |format: u32, length: u64| {
            let mut stored = format.to_ne_bytes().to_vec();
            stored.resize(8, 0);
            stored.extend(length.to_ne_bytes());
            stored.resize(COMPRESSION_HEADER, 0);
            let (flags, bytes) = (IS_COMPRESSED, stored.len() as u64);
            let section =
                Section { name: String::new(), kind: 1, flags, address: 0, offset: 0, bytes, link: 0 };
            let budget = Budget::new(2 * SECTION_MAX);
            let data = read_section(&section, &Content::Bytes(stored.into()), &budget);
            (data.is_some(), budget.take(2 * SECTION_MAX - bytes).is_some())
        };
        for format in [0, 1, 2, 3] {
            // Nothing is taken for what is not read.
            assert_eq!(of(format, SECTION_MAX + 1), (false, true), "{format}");
            assert_eq!(of(format, u64::MAX), (false, true), "{format}");
        }
        assert_eq!(of(1, 100), (false, false), "zlib, without data");
    }
}
