//! The lines of source code of a file's addresses, from its debug information (DWARF).

use std::fs::File;
use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ReadCache};

/// The longest section that is read, in bytes. The symbols of a web browser's debug build are shorter.
pub(crate) const SECTION_MAX: u64 = 256 << 20;

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
    /// Reads those of an ELF file of 64 bits; `None` if it has none.
    pub fn read(file: &File) -> Option<Self> {
        let cache = ReadCache::new(file);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let content = |name: &str| {
            let stored = elf.section_by_name(name)?.compressed_data().ok()?;
            Some(stored).filter(|stored| stored.uncompressed_size <= SECTION_MAX)?.decompress().ok()
        };
        content(SectionId::DebugInfo.name())?;
        let load = |id: SectionId| {
            let data = content(id.name()).unwrap_or_default();
            Ok::<_, gimli::Error>(EndianArcSlice::new(Arc::from(&*data), endian))
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
