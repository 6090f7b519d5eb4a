//! Reads ELF files of other users (elf(5)): every number in them may be wrong, and each limit applies before the work.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The longest section that is read, in bytes. The symbols of a web browser's debug build are shorter.
pub const SECTION_MAX: u64 = 256 << 20;
/// The most segments and sections of a file. Linkers make about 12 and 40.
const SEGMENTS_MAX: u64 = 1024;
const SECTIONS_MAX: u64 = 4096;
/// The longest table of the names of sections.
const NAMES_MAX: u64 = 1 << 20;
/// User space ends below this address on every processor.
const ADDRESS_MAX: u64 = 1 << 56;

/// A segment that is loaded into memory.
pub const LOAD: u64 = 1;
/// The segment that names the dynamic linker.
pub const INTERPRETER: u64 = 3;
/// The bit of a segment's flags that makes it code.
pub const IS_CODE: u64 = 1;
/// A section without content in the file.
const NO_CONTENT: u64 = 8;

/// How many bytes may still be read, of all files together.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
    was_exceeded: Cell<bool>,
}

impl Budget {
    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), was_exceeded: Cell::new(false) }
    }

    /// Takes `bytes`; `None`, and takes none, if fewer are left.
    pub fn take(&self, bytes: u64) -> Option<()> {
        let left = self.left.get().checked_sub(bytes);
        self.was_exceeded.set(self.was_exceeded.get() || left.is_none());
        self.left.set(left?);
        Some(())
    }

    /// Whether something was not read because too few bytes were left.
    pub fn was_exceeded(&self) -> bool {
        self.was_exceeded.get()
    }
}

/// The bytes of a file.
#[derive(Debug)]
pub enum Content {
    /// A regular file. It may change while it is read.
    File(File),
    /// A file in memory.
    Bytes(Arc<[u8]>),
}

impl Content {
    /// Fills `into` from the bytes at `offset`; `None` if there are fewer.
    fn fill(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        match self {
            Self::File(file) => file.read_exact_at(into, offset).ok(),
            Self::Bytes(bytes) => {
                let from = usize::try_from(offset).ok()?;
                into.copy_from_slice(bytes.get(from..from.checked_add(into.len())?)?);
                Some(())
            }
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            Self::File(file) => Some(file.metadata().ok()?.len()),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
        }
    }

    /// The bytes of a range that has at most `most`; `None` if the file or the budget has fewer.
    pub fn bytes(&self, offset: u64, length: u64, most: u64, budget: &Budget) -> Option<Arc<[u8]>> {
        let is_within = length <= most && offset.checked_add(length)? <= self.length()?;
        let count = usize::try_from(length).ok().filter(|_| is_within)?;
        budget.take(length)?;
        let mut bytes = vec![0; count];
        self.fill(offset, &mut bytes)?;
        Some(Arc::from(bytes))
    }
}

/// A part of the file that is loaded, or that states how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its type.
    pub kind: u64,
    /// What it permits.
    pub flags: u64,
    /// Where it is in the file.
    pub offset: u64,
    /// The address to which it is loaded.
    pub address: u64,
    /// Its bytes in the file.
    pub bytes: u64,
}

/// A part of the file that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: u64,
    /// Its flags.
    pub flags: u64,
    /// The address to which it is loaded.
    pub address: u64,
    /// Where it is in the file.
    pub offset: u64,
    /// Its bytes in the file.
    pub bytes: u64,
    /// The index of the section that belongs to it.
    pub link: u64,
}

/// The header of an ELF file and its tables. Addresses and lengths in it are checked: their sums are addresses, too.
#[derive(Debug)]
pub struct Elf {
    /// Whether words have 64 bits.
    pub is_64: bool,
    /// The processor.
    pub machine: u64,
    /// Where the program begins.
    pub entry: u64,
    /// The segments.
    pub segments: Vec<Segment>,
    /// The sections.
    pub sections: Vec<Section>,
}

/// Entries of one size.
#[derive(Clone, Copy)]
struct Table {
    offset: u64,
    entry_bytes: u64,
    count: u64,
}

impl Elf {
    /// Reads the header and the tables; `None` if it is not an ELF file of this machine's byte order, or a number in it exceeds its
    /// limit.
    pub fn read(content: &Content, budget: &Budget) -> Option<Self> {
        let mut header = [0; 64];
        // The header of a 32-bit file has 52 bytes, and its tables follow.
        content.fill(0, &mut header)?;
        let is_native = header[5] == if cfg!(target_endian = "little") { 1 } else { 2 };
        if &header[..4] != b"\x7fELF" || !is_native {
            return None;
        }
        let is_64 = match header[4] {
            2 => true,
            1 => false,
            _ => return None,
        };
        let word = if is_64 { 8 } else { 4 };
        let (offsets, sizes) = if is_64 { ([32, 40], 54) } else { ([28, 32], 42) };
        let at = |from: usize, bytes: usize| number(&header, from, bytes);
        let table = |offset: usize, size: usize| {
            Some(Table { offset: at(offset, word)?, entry_bytes: at(size, 2)?, count: at(size + 2, 2)? })
        };
        let entries = |table: Table, size: u64, most: u64| {
            let is_known = table.count == 0 || table.count <= most && table.entry_bytes == size;
            let length = table.count.checked_mul(size).filter(|_| is_known)?;
            content.bytes(table.offset, length, length, budget)
        };
        let (segment_bytes, section_bytes) = if is_64 { (56, 64) } else { (32, 40) };
        let segments = entries(table(offsets[0], sizes)?, segment_bytes, SEGMENTS_MAX)?;
        let sections = entries(table(offsets[1], sizes + 4)?, section_bytes, SECTIONS_MAX)?;
        let segments = segments.chunks_exact(segment_bytes as usize).map(|entry| Segment::of(entry, is_64));
        let sections = sections.chunks_exact(section_bytes as usize).map(|entry| Section::of(entry, word));
        let sections: Vec<(u64, Section)> = sections.collect::<Option<_>>()?;
        let elf = Self {
            is_64,
            machine: at(18, 2)?,
            entry: at(24, word)?,
            segments: segments.collect::<Option<_>>()?,
            sections: Vec::new(),
        };
        let names_at = usize::try_from(at(sizes + 8, 2)?).ok()?;
        let names = match sections.get(names_at) {
            Some((_, names)) => content.bytes(names.offset, names.bytes, NAMES_MAX, budget)?,
            None => Arc::default(),
        };
        let named = |(at, section): (u64, Section)| Section { name: text_at(&names, at), ..section };
        Some(Self { sections: sections.into_iter().map(named).collect(), ..elf })
    }

    /// The bytes of a word.
    pub fn word_bytes(&self) -> usize {
        if self.is_64 { 8 } else { 4 }
    }

    /// The first section with this name and content.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.kind != NO_CONTENT)
    }

    /// The offset in the file of the byte that is loaded to this address, and how many bytes follow it there.
    pub fn offset_of(&self, address: u64) -> Option<(u64, u64)> {
        self.segments.iter().filter(|segment| segment.kind == LOAD).find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            let rest = segment.bytes.checked_sub(within).filter(|rest| *rest > 0)?;
            Some((segment.offset.checked_add(within)?, rest))
        })
    }
}

impl Segment {
    /// `None` if an end of it is not an address.
    fn of(entry: &[u8], is_64: bool) -> Option<Self> {
        let word = if is_64 { 8 } else { 4 };
        let [flags, offset, address, bytes] = if is_64 { [4, 8, 16, 32] } else { [24, 4, 8, 16] };
        let field = |at: usize| number(entry, at, word);
        let segment = Self {
            kind: number(entry, 0, 4)?,
            flags: number(entry, flags, 4)?,
            offset: field(offset)?,
            address: field(address)?,
            bytes: field(bytes)?,
        };
        let is_used = segment.kind == LOAD;
        (!is_used || are_addresses([segment.address, segment.offset], segment.bytes)).then_some(segment)
    }
}

impl Section {
    /// A section without its name, and where the name begins; `None` if an end of it is not an address.
    fn of(entry: &[u8], word: usize) -> Option<(u64, Self)> {
        // sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link.
        let field = |index: usize| number(entry, 8 + index * word, word);
        let section = Self {
            name: String::new(),
            kind: number(entry, 4, 4)?,
            flags: field(0)?,
            address: field(1)?,
            offset: field(2)?,
            bytes: field(3)?,
            link: number(entry, 8 + 4 * word, 4)?,
        };
        let is_valid = are_addresses([section.address, section.offset], section.bytes);
        is_valid.then_some((number(entry, 0, 4)?, section))
    }

    /// Its addresses.
    pub fn addresses(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.bytes)
    }

    /// Its content, if it has at most `most` bytes.
    pub fn content(&self, content: &Content, most: u64, budget: &Budget) -> Option<Arc<[u8]>> {
        content.bytes(self.offset, self.bytes, most, budget)
    }
}

/// Whether so many bytes at each of these addresses end at an address.
fn are_addresses(begins: [u64; 2], bytes: u64) -> bool {
    begins.iter().all(|begin| begin.checked_add(bytes).is_some_and(|end| end < ADDRESS_MAX))
}

/// The text that begins at `at` and ends before a NUL; empty if there is none.
pub fn text_at(bytes: &[u8], at: u64) -> String {
    /// The longest name of a function is that of a C++ template, with some kilobytes.
    const TEXT_MAX: usize = 4096;
    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let rest = &rest[..rest.len().min(TEXT_MAX)];
    let end = rest.iter().position(|byte| *byte == 0);
    end.and_then(|end| std::str::from_utf8(&rest[..end]).ok()).unwrap_or_default().to_owned()
}

/// The number of 2, 4 or 8 bytes at `from`, in this machine's byte order.
pub fn number(bytes: &[u8], from: usize, length: usize) -> Option<u64> {
    let field = bytes.get(from..from.checked_add(length)?)?;
    Some(match length {
        2 => u64::from(u16::from_ne_bytes(field.try_into().ok()?)),
        4 => u64::from(u32::from_ne_bytes(field.try_into().ok()?)),
        8 => u64::from_ne_bytes(field.try_into().ok()?),
        _ => return None,
    })
}

/// A note: its type, its owner and its content.
#[derive(Debug)]
pub struct Note<'a> {
    /// Its type.
    pub kind: u64,
    /// Its owner, with a NUL at the end.
    pub owner: &'a [u8],
    /// Its content.
    pub content: &'a [u8],
}

impl<'a> Note<'a> {
    /// The first of several notes, and the others.
    pub fn first(notes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let [owner, content, kind] = [0, 4, 8].map(|at| number(notes, at, 4));
        let [owner, content] = [owner, content].map(|bytes| usize::try_from(bytes?).ok());
        let (owner, content) = (owner?, content?);
        let aligned = |bytes: usize| bytes.checked_next_multiple_of(4);
        let content_at = aligned(owner)?.checked_add(12)?;
        let end = content_at.checked_add(content)?;
        let note = Self {
            kind: kind?,
            owner: notes.get(12..12usize.checked_add(owner)?)?,
            content: notes.get(content_at..end)?,
        };
        Some((note, notes.get(aligned(end)?..).unwrap_or_default()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A segment and a section of a file that a test writes.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct TestSection<'a> {
        pub(crate) name: &'a str,
        pub(crate) kind: u32,
        pub(crate) address: u64,
        pub(crate) content: &'a [u8],
    }

    /// A 64-bit file of this processor with one segment, whose first 4,096 bytes are those of the file and are loaded 0x1000 above
    /// their offset, and these sections.
    pub(crate) fn file(sections: &[TestSection<'_>]) -> Vec<u8> {
        let mut names = vec![0];
        let mut name = |text: &str| {
            let at = names.len() as u32;
            names.extend(text.bytes().chain([0]));
            at
        };
        let own_name = name(".shstrtab");
        let named: Vec<u32> = sections.iter().map(|section| name(section.name)).collect();
        let mut file = vec![0; 64];
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        file[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, order]);
        let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
        file[18..20].copy_from_slice(&machine.to_ne_bytes());
        let flags_and_kind: u64 = if cfg!(target_endian = "little") { 5 << 32 | 1 } else { 1 << 32 | 5 };
        let segment = [flags_and_kind, 0, 0x1000, 0, 0x1000, 0x1000, 0];
        file.extend(segment.iter().flat_map(|word: &u64| word.to_ne_bytes()));
        let table_at = file.len();
        let mut content_at = table_at + (sections.len() + 1) * 64;
        let mut contents: Vec<u8> = Vec::new();
        let all = [(own_name, 3, 0, names.as_slice())];
        let others =
            sections.iter().zip(&named).map(|(one, name)| (*name, one.kind, one.address, one.content));
        for (name, kind, address, content) in all.into_iter().chain(others) {
            file.extend([name, kind].iter().flat_map(|word: &u32| word.to_ne_bytes()));
            let fields = [0, address, content_at as u64, content.len() as u64, 0, 0, 0];
            file.extend(fields.iter().flat_map(|word: &u64| word.to_ne_bytes()));
            content_at += content.len();
            contents.extend(content);
        }
        file[32..40].copy_from_slice(&64u64.to_ne_bytes());
        file[40..48].copy_from_slice(&(table_at as u64).to_ne_bytes());
        let count = sections.len() as u16 + 1;
        for (at, value) in [(54, 56u16), (56, 1), (58, 64), (60, count), (62, 0)] {
            file[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        file.extend(contents);
        file
    }

    fn read(file: Vec<u8>) -> Option<Elf> {
        Elf::read(&Content::Bytes(file.into()), &Budget::new(SECTION_MAX))
    }

    const NOTES: TestSection<'_> = TestSection { name: ".notes", kind: 7, address: 0x1200, content: b"text" };

    #[test]
    fn sections_have_names_and_contents() {
        let file = file(&[NOTES]);
        let content = Content::Bytes(file.into());
        let elf = Elf::read(&content, &Budget::new(SECTION_MAX)).unwrap();
        let section = elf.section(".notes").unwrap();
        assert_eq!(section.addresses(), 0x1200..0x1204);
        let bytes = |most, budget| section.content(&content, most, &Budget::new(budget));
        assert_eq!(bytes(4, 4).as_deref(), Some(&b"text"[..]));
        assert_eq!(bytes(3, 4), None, "too long");
        assert_eq!(bytes(4, 3), None, "more than is left");
        assert!(elf.section(".other").is_none());
        assert_eq!(elf.offset_of(0x1ffe), Some((0xffe, 2)));
        assert_eq!((elf.offset_of(0xfff), elf.offset_of(0x2000)), (None, None));
    }

    #[test]
    fn numbers_beyond_their_limits_are_refused() {
        let changed = |at: usize, value: &[u8]| {
            let mut file = file(&[NOTES]);
            file[at..at + value.len()].copy_from_slice(value);
            read(file)
        };
        assert!(changed(56, &1u16.to_ne_bytes()).is_some());
        // The number of segments and of sections, their size, and where their tables are.
        for at in [56, 60] {
            assert!(changed(at, &60_000u16.to_ne_bytes()).is_none(), "{at}");
        }
        for at in [54, 58] {
            assert!(changed(at, &1u16.to_ne_bytes()).is_none(), "{at}");
        }
        for at in [32, 40] {
            assert!(changed(at, &u64::MAX.to_ne_bytes()).is_none(), "{at}");
        }
        // The segment's offset, address and size, and those of the second section.
        for at in [64 + 8, 64 + 16, 64 + 32, 120 + 64 + 16, 120 + 64 + 24, 120 + 64 + 32] {
            assert!(changed(at, &u64::MAX.to_ne_bytes()).is_none(), "{at}");
        }
    }

    #[test]
    fn a_sparse_file_takes_no_memory() {
        let sparse = tempfile::tempfile().unwrap();
        sparse.set_len(1 << 40).unwrap();
        let content = Content::File(sparse);
        let budget = Budget::new(100);
        assert_eq!(content.bytes(0, 1 << 39, SECTION_MAX, &budget), None);
        assert_eq!(content.bytes(0, 101, SECTION_MAX, &budget), None);
        assert_eq!(content.bytes(1 << 40, 1, SECTION_MAX, &budget), None);
        assert_eq!(content.bytes((1 << 40) - 100, 100, SECTION_MAX, &budget).unwrap().len(), 100);
    }
}
