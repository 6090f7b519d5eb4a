//! USDT probes of a program that mark stretches: their notes in an ELF file (section `.note.stapsdt`).
//!
//! Of probes of the provider `tardy`, `NAME__begin` and `NAME__end` are the ends of the stretch NAME. A probe is an instruction
//! that does nothing, which the note gives the address of. Probes with a semaphore, a counter that enables them, are
//! left out: tardy writes nothing into programs.

use crate::elf::{Budget, Content, Elf, Note, number};

/// The longest section of notes that is read, in bytes.
const SECTION_MAX: u64 = 4 << 20;
/// The most probes of a file, and the most of tardy's notes that are looked at.
pub const PROBES_MAX: usize = 64;
const NOTES_MAX: usize = 1024;
/// The type of a note of a probe, and its owner.
const TYPE: u64 = 3;
const OWNER: &[u8] = b"stapsdt\0";
const PROVIDER: &[u8] = b"tardy";
/// The longest name of a stretch, as for a text in trace_marker.
const NAME_MAX: usize = 64;

/// The instructions that do nothing of each processor, by its number in the ELF header. Probes are such instructions.
const NOPS: [(u64, &[&[u8]]); 8] = [
    // 386 and x86-64.
    (3, X86_NOPS),
    (62, X86_NOPS),
    // PowerPC of 32 and 64 bits.
    (20, POWERPC_NOPS),
    (21, POWERPC_NOPS),
    // S/390: bc 0,0.
    (22, &[&[0x47, 0, 0, 0], &[0x07, 0x07], &[0x07, 0]]),
    // ARM: nop, and mov r0, r0.
    (40, &[&0xe320_f000_u32.to_ne_bytes(), &0xe1a0_0000_u32.to_ne_bytes()]),
    // AArch64.
    (183, &[&0xd503_201f_u32.to_le_bytes()]),
    // RISC-V: c.nop, and addi x0, x0, 0.
    (243, &[&0x0001_u16.to_le_bytes(), &0x13_u32.to_le_bytes()]),
];
/// nop of one byte, and of five.
const X86_NOPS: &[&[u8]] = &[&[0x90], &[0x0f, 0x1f, 0x44, 0, 0]];
const POWERPC_NOPS: &[&[u8]] = &[&0x6000_0000_u32.to_ne_bytes()];

/// A probe at the begin or the end of a stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The stretch.
    pub name: String,
    /// Whether the stretch begins there.
    pub is_begin: bool,
    /// The instruction's offset in the file.
    pub offset: u64,
    /// Whether the instruction does nothing.
    pub is_nop: bool,
}

/// The probes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// The first ones.
    pub probes: Vec<Probe>,
    /// Whether it has more notes or probes than are looked at.
    pub has_more: bool,
}

/// The probes of a file; none if it is not an ELF file of this machine's byte order.
pub fn probes(content: &Content, budget: &Budget) -> Probes {
    of_file(content, budget).unwrap_or_default()
}

fn of_file(content: &Content, budget: &Budget) -> Option<Probes> {
    let elf = Elf::read(content, budget)?;
    let section = elf.section(".note.stapsdt")?;
    if section.bytes > SECTION_MAX {
        return Some(Probes { probes: Vec::new(), has_more: true });
    }
    let notes = section.content(content, SECTION_MAX, budget)?;
    let base = elf.sections.iter().find(|section| section.name == ".stapsdt.base");
    let base = base.map(|section| section.address);
    let mut rest = &*notes;
    let notes = std::iter::from_fn(|| {
        let (note, after) = Note::first(rest)?;
        rest = after;
        Some(note)
    });
    let mut marks = notes.filter_map(|note| mark(&note, elf.word_bytes(), base));
    let probe = |(name, is_begin, address)| {
        let (offset, rest) = elf.offset_of(address)?;
        let is_nop = does_nothing(&elf, content, offset, rest, budget);
        Some(Probe { name, is_begin, offset, is_nop })
    };
    let mut found = marks.by_ref().take(NOTES_MAX).filter_map(probe);
    let probes = found.by_ref().take(PROBES_MAX).collect();
    let has_more = found.next().is_some() || marks.next().is_some();
    Some(Probes { probes, has_more })
}

/// Whether the instruction at `offset`, where a segment has `rest` bytes more, does nothing.
fn does_nothing(elf: &Elf, content: &Content, offset: u64, rest: u64, budget: &Budget) -> bool {
    let nops = NOPS.iter().find(|(machine, _)| *machine == elf.machine).map_or(&[][..], |(_, nops)| nops);
    nops.iter().any(|nop| {
        let length = nop.len() as u64;
        length <= rest && content.bytes(offset, length, length, budget).as_deref() == Some(*nop)
    })
}

/// The name of the stretch, whether it begins, and the address of the instruction; `None` for another note.
fn mark(note: &Note<'_>, word: usize, base_now: Option<u64>) -> Option<(String, bool, u64)> {
    if note.kind != TYPE || note.owner != OWNER {
        return None;
    }
    let [address, base, semaphore] = [0, 1, 2].map(|index| number(note.content, index * word, word));
    let mut texts = note.content.get(3 * word..)?.split(|byte| *byte == 0);
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
    let is_name = !name.is_empty() && name.len() <= NAME_MAX && !name.contains(|c: char| c.is_control());
    is_name.then(|| Some((name.to_owned(), is_begin, address?.wrapping_add(moved))))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::{self, tests::TestSection};
    use proptest::prelude::*;

    fn found(file: &[u8]) -> Vec<Probe> {
        all_of(file).probes
    }

    fn all_of(file: &[u8]) -> Probes {
        probes(&Content::Bytes(file.into()), &Budget::new(SECTION_MAX))
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

    /// Where the file of a test has an instruction that does nothing: in a part of the header without meaning.
    const NOP_AT: usize = 9;
    /// Its address.
    const NOP: u64 = 0x1009;

    /// A file with these notes.
    fn file(notes: &[u8], base: u64) -> Vec<u8> {
        let section = |name, kind, address, content| TestSection { name, kind, address, content };
        let mut file = elf::tests::file(&[
            section(".note.stapsdt", 7, 0, notes),
            section(".stapsdt.base", 1, base, &[0]),
        ]);
        let (_, nops) = NOPS.iter().find(|(machine, _)| *machine == MACHINE).unwrap();
        file[NOP_AT..NOP_AT + nops[0].len()].copy_from_slice(nops[0]);
        file
    }

    /// The processor of the test's files.
    const MACHINE: u64 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

    #[test]
    fn probes_of_tardy_are_found_with_their_offsets() {
        let long = format!("{}__begin", "x".repeat(NAME_MAX + 1));
        let notes = [
            note("libc", "setjmp", [NOP, 0x1500, 0]),
            note("tardy", "control__begin", [NOP - 16, 0x1500, 0]),
            note("tardy", "control__end", [0x1020, 0, 0]),
            note("tardy", "enabled__begin", [NOP, 0x1500, 0x1600]),
            note("tardy", "elsewhere__begin", [0x9000, 0x1500, 0]),
            note("tardy", "other", [NOP, 0x1500, 0]),
            note("tardy", "a\tb__begin", [NOP, 0x1500, 0]),
            note("tardy", &long, [NOP, 0x1500, 0]),
        ];
        let probe = |is_begin, offset, is_nop| Probe { name: "control".to_owned(), is_begin, offset, is_nop };
        // The instruction at the end is another one.
        assert_eq!(
            found(&file(&notes.concat(), 0x1510)),
            [probe(true, NOP_AT as u64, true), probe(false, 0x20, false)]
        );
    }

    #[test]
    fn the_nops_of_other_processors_do_nothing_there_only() {
        for (machine, nops) in NOPS {
            for nop in nops {
                let mut file = file(&note("tardy", "control__begin", [NOP, 0, 0]), 0);
                file[18..20].copy_from_slice(&(machine as u16).to_ne_bytes());
                file[NOP_AT..NOP_AT + nop.len()].copy_from_slice(nop);
                assert!(found(&file)[0].is_nop, "{machine} {nop:?}");
                file[18..20].copy_from_slice(&0u16.to_ne_bytes());
                assert!(!found(&file)[0].is_nop, "{machine} {nop:?}");
            }
        }
    }

    #[test]
    fn a_file_has_few_probes_however_many_notes_it_has() {
        let notes = note("tardy", "control__begin", [NOP, 0, 0]).repeat(50_000);
        let found = all_of(&file(&notes, 0));
        assert_eq!((found.probes.len(), found.has_more), (PROBES_MAX, true));
        let all = note("tardy", "control__begin", [NOP, 0, 0]).repeat(PROBES_MAX);
        let found = all_of(&file(&all, 0));
        assert_eq!((found.probes.len(), found.has_more), (PROBES_MAX, false));
        // None of the first ones is in the file.
        let elsewhere = note("tardy", "control__begin", [0x9000, 0, 0]).repeat(NOTES_MAX);
        let notes = [elsewhere, note("tardy", "control__begin", [NOP, 0, 0])].concat();
        assert_eq!(all_of(&file(&notes, 0)), Probes { probes: Vec::new(), has_more: true });
        // A section that is too long for all of it.
        let notes = note("libc", "setjmp", [NOP, 0, 0]).repeat(SECTION_MAX as usize / 32);
        assert!(all_of(&file(&notes, 0)).has_more);
    }

    #[test]
    fn other_files_have_no_probes() {
        assert!(found(b"#!/bin/sh\n").is_empty());
        assert!(found(&file(b"", 0)[..100]).is_empty());
    }

    proptest! {
        #[test]
        fn no_file_causes_a_panic(changes in prop::collection::vec((0usize..700, any::<u8>()), 0..20)) {
            let mut file = file(&note("tardy", "control__begin", [0x1200, 0x1500, 0]), 0x1500);
            for (at, byte) in changes {
                if let Some(known) = file.get_mut(at) {
                    *known = byte;
                }
            }
            let _ = found(&file);
        }
    }
}
