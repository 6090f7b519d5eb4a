//! USDT probes of a program that mark stretches: their notes in an ELF file (section `.note.stapsdt`).
//!
//! Of probes of the provider `tardy`, `NAME__begin` and `NAME__end` are the ends of the stretch NAME. A probe is an instruction
//! that does nothing, which the note gives the address of. Probes with a semaphore, a counter that enables them, are
//! left out: tardy writes nothing into programs.

/// The longest section of notes, of section headers or of names that is read, in bytes.
const SECTION_MAX: u64 = 4 << 20;
/// The most probes of a file.
const PROBES_MAX: usize = 64;
/// The type of a note of a probe, and its owner.
const TYPE: u64 = 3;
const OWNER: &[u8] = b"stapsdt\0";
const PROVIDER: &[u8] = b"tardy";

/// A probe at the begin or the end of a stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The stretch.
    pub name: String,
    /// Whether the stretch begins there.
    pub is_begin: bool,
    /// The instruction's offset in the file.
    pub offset: u64,
}

/// Reads bytes of a file at an offset. `false` if there are fewer.
pub type ReadAt<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

/// The probes of a file; empty if it has none, or if it is not an ELF file of this machine's byte order.
pub fn probes(read: ReadAt<'_>) -> Vec<Probe> {
    of_file(read).unwrap_or_default()
}

/// The header of an ELF file, and where its fields are.
struct Elf<'a> {
    read: ReadAt<'a>,
    is_64: bool,
    segments: Table,
    sections: Table,
    names_index: u64,
}

/// Entries of one size.
#[derive(Clone, Copy)]
struct Table {
    offset: u64,
    entry_bytes: u64,
    count: u64,
}

struct Section {
    name: u64,
    address: u64,
    offset: u64,
    bytes: u64,
}

fn of_file(read: ReadAt<'_>) -> Option<Vec<Probe>> {
    let elf = Elf::of(read)?;
    let names = elf.section(elf.names_index)?;
    let names = elf.content(&names)?;
    let named = |section: &Section, name: &str| {
        let rest = usize::try_from(section.name).ok().and_then(|at| names.get(at..));
        rest.is_some_and(|rest| {
            rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
        })
    };
    let (mut notes, mut base) = (None, None);
    for index in 0..elf.sections.count {
        let section = elf.section(index)?;
        if named(&section, ".note.stapsdt") {
            notes = Some(elf.content(&section)?);
        } else if named(&section, ".stapsdt.base") {
            base = Some(section.address);
        }
    }
    let notes = notes?;
    let mut found = Vec::new();
    let mut rest = notes.as_slice();
    while let Some((note, after)) = Note::first(rest) {
        rest = after;
        let Some((name, is_begin, address)) = note.mark(elf.word_bytes(), base) else { continue };
        if let Some(offset) = elf.offset_of(address).filter(|_| found.len() < PROBES_MAX) {
            found.push(Probe { name, is_begin, offset });
        }
    }
    Some(found)
}

impl<'a> Elf<'a> {
    fn of(read: ReadAt<'a>) -> Option<Self> {
        let mut header = [0; 64];
        // The header of a 32-bit file has 52 bytes, and its tables follow.
        if !read(0, &mut header) || &header[..4] != b"\x7fELF" {
            return None;
        }
        let is_native = header[5] == if cfg!(target_endian = "little") { 1 } else { 2 };
        let is_64 = match header[4] {
            2 => true,
            1 => false,
            _ => return None,
        };
        let (offsets, sizes) = if is_64 { ([32, 40], 54) } else { ([28, 32], 42) };
        let word = if is_64 { 8 } else { 4 };
        let at = |from: usize, bytes: usize| number(&header, from, bytes);
        let table = |offset: usize, size: usize| {
            Some(Table { offset: at(offset, word)?, entry_bytes: at(size, 2)?, count: at(size + 2, 2)? })
        };
        let segments = table(offsets[0], sizes)?;
        let sections = table(offsets[1], sizes + 4)?;
        is_native.then_some(Self { read, is_64, segments, sections, names_index: at(sizes + 8, 2)? })
    }

    fn word_bytes(&self) -> usize {
        if self.is_64 { 8 } else { 4 }
    }

    fn entry(&self, table: Table, index: u64) -> Option<Vec<u8>> {
        let mut entry = vec![0; usize::try_from(table.entry_bytes).ok()?];
        let at = table.offset.checked_add(index.checked_mul(table.entry_bytes)?)?;
        (index < table.count && (self.read)(at, &mut entry)).then_some(entry)
    }

    fn section(&self, index: u64) -> Option<Section> {
        let entry = self.entry(self.sections, index)?;
        let word = self.word_bytes();
        // sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size.
        let field = |index: usize| number(&entry, 8 + index * word, word);
        Some(Section { name: number(&entry, 0, 4)?, address: field(1)?, offset: field(2)?, bytes: field(3)? })
    }

    fn content(&self, section: &Section) -> Option<Vec<u8>> {
        let mut content =
            vec![0; usize::try_from(section.bytes).ok().filter(|_| section.bytes <= SECTION_MAX)?];
        (self.read)(section.offset, &mut content).then_some(content)
    }

    /// The offset in the file of the byte that is loaded to this address.
    fn offset_of(&self, address: u64) -> Option<u64> {
        const LOAD: u64 = 1;
        (0..self.segments.count).find_map(|index| {
            let entry = self.entry(self.segments, index)?;
            let [offset, loaded, bytes] = if self.is_64 { [8, 16, 32] } else { [4, 8, 16] };
            let field = |at: usize| number(&entry, at, self.word_bytes());
            let within = address.checked_sub(field(loaded)?)?;
            (number(&entry, 0, 4)? == LOAD && within < field(bytes)?)
                .then_some(field(offset)?.checked_add(within)?)
        })
    }
}

/// A note: its type, its owner and its content.
struct Note<'a> {
    kind: u64,
    owner: &'a [u8],
    content: &'a [u8],
}

impl<'a> Note<'a> {
    /// The first of several notes, and the others.
    fn first(notes: &'a [u8]) -> Option<(Self, &'a [u8])> {
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

    /// The name of the stretch, whether it begins, and the address of the instruction; `None` for another note.
    fn mark(&self, word: usize, base_now: Option<u64>) -> Option<(String, bool, u64)> {
        if self.kind != TYPE || self.owner != OWNER {
            return None;
        }
        let [address, base, semaphore] = [0, 1, 2].map(|index| number(self.content, index * word, word));
        let mut texts = self.content.get(3 * word..)?.split(|byte| *byte == 0);
        let (provider, name) = (texts.next()?, std::str::from_utf8(texts.next()?).ok()?);
        if provider != PROVIDER || semaphore? != 0 {
            return None;
        }
        let (name, is_begin) = match (name.strip_suffix("__begin"), name.strip_suffix("__end")) {
            (Some(name), _) => (name, true),
            (_, Some(name)) => (name, false),
            _ => return None,
        };
        // A linker that moved the program left the notes as they were.
        let moved = match (base_now, base?) {
            (Some(now), then) if then != 0 => now.wrapping_sub(then),
            _ => 0,
        };
        (!name.is_empty()).then(|| Some((name.to_owned(), is_begin, address?.wrapping_add(moved))))?
    }
}

fn number(bytes: &[u8], from: usize, length: usize) -> Option<u64> {
    let field = bytes.get(from..from.checked_add(length)?)?;
    Some(match length {
        2 => u64::from(u16::from_ne_bytes(field.try_into().ok()?)),
        4 => u64::from(u32::from_ne_bytes(field.try_into().ok()?)),
        8 => u64::from_ne_bytes(field.try_into().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_of(file: &[u8]) -> impl Fn(u64, &mut [u8]) -> bool + '_ {
        move |at, into| {
            let from = usize::try_from(at).ok();
            let bytes = from.and_then(|from| file.get(from..from.checked_add(into.len())?));
            bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
        }
    }

    fn note(provider: &str, name: &str, words: [u64; 3]) -> Vec<u8> {
        let mut content: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        content.extend(format!("{provider}\0{name}\0\0").bytes());
        let head = [OWNER.len() as u32, content.len() as u32, TYPE as u32];
        let mut note: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
        note.extend(OWNER);
        note.extend(content);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    /// A 64-bit file with one segment, loaded 0x1000 above its offset, and these notes.
    fn file(notes: &[u8], base: u64) -> Vec<u8> {
        const NAMES: &[u8] = b"\0.shstrtab\0.note.stapsdt\0.stapsdt.base\0";
        let mut file = vec![0; 64];
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        file[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, order]);
        let segment = [1, 0, 0x1000, 0, 0x800, 0x800, 0];
        let mut table: Vec<u8> = segment.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        let section = |name: u32, address: u64, offset: usize, bytes: usize| -> Vec<u8> {
            let mut entry: Vec<u8> = [name, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
            let fields = [0, address, offset as u64, bytes as u64, 0, 0, 0];
            entry.extend(fields.iter().flat_map(|word| word.to_ne_bytes()));
            entry
        };
        let content_at = 64 + table.len() + 3 * 64;
        let sections = [
            section(1, 0, content_at, NAMES.len()),
            section(11, 0, content_at + NAMES.len(), notes.len()),
            section(25, base, 0, 1),
        ];
        file[32..40].copy_from_slice(&64u64.to_ne_bytes());
        file[40..48].copy_from_slice(&(64 + table.len() as u64).to_ne_bytes());
        for (at, value) in [(54, 56u16), (56, 1), (58, 64), (60, 3), (62, 0)] {
            file[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        table.extend(sections.concat());
        file.extend(table);
        file.extend(NAMES);
        file.extend(notes);
        file
    }

    #[test]
    fn probes_of_tardy_are_found_with_their_offsets() {
        let notes = [
            note("libc", "setjmp", [0x1100, 0x1500, 0]),
            note("tardy", "control__begin", [0x1200, 0x1500, 0]),
            note("tardy", "control__end", [0x1300, 0, 0]),
            note("tardy", "enabled__begin", [0x1200, 0x1500, 0x1600]),
            note("tardy", "elsewhere__begin", [0x9000, 0x1500, 0]),
            note("tardy", "other", [0x1200, 0x1500, 0]),
        ];
        let found = probes(&read_of(&file(&notes.concat(), 0x1510)));
        let probe = |is_begin, offset| Probe { name: "control".to_owned(), is_begin, offset };
        assert_eq!(found, [probe(true, 0x210), probe(false, 0x300)]);
    }

    #[test]
    fn other_files_have_no_probes() {
        assert!(probes(&read_of(b"#!/bin/sh\n")).is_empty());
        assert!(probes(&read_of(&file(b"", 0)[..100])).is_empty());
    }

    proptest! {
        #[test]
        fn no_file_causes_a_panic(changes in prop::collection::vec((0usize..600, any::<u8>()), 0..20)) {
            let mut file = file(&note("tardy", "control__begin", [0x1200, 0x1500, 0]), 0x1500);
            for (at, byte) in changes {
                if let Some(known) = file.get_mut(at) {
                    *known = byte;
                }
            }
            let _ = probes(&read_of(&file));
        }
    }
}
