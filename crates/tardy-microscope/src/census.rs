//! The sections with interrupts or preemption off of a whole run, by the functions in which they begin and end.

use std::collections::BTreeMap;

use tardy_record::census::{Census, Context, InterruptEntry, Lengths, SectionKind, Sections};
use thiserror::Error;

use crate::bound::bound;
use crate::counted::{self, Counted, SectionsOfBlocks, Vector};
use crate::guest_memory::GuestMemory;
use crate::names::{Name, Names};
use crate::observed::{Observed, Reading, Sums};
use crate::orders::KernelImage;

/// Why the sections of a run are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Uncounted {
    /// The kernel restores interrupts by `popf`.
    #[error(
        "{kernel} turns interrupts on with popf, {count} times in {function}() and others, which the observer cannot follow; Linux \
         does so before 5.12"
    )]
    Restored {
        /// The kernel.
        kernel: String,
        /// How often.
        count: u64,
        /// A function that does.
        function: String,
    },
    /// The observer lost track.
    #[error(
        "the observer lost track of the sections: {contradictions} interrupts came while it took them to be off, {unplaced} changes of \
         the preemption count were by instructions that it does not know"
    )]
    LostTrack {
        /// Interrupts that came while they were off.
        contradictions: u64,
        /// Changes that are not understood.
        unplaced: u64,
    },
    /// There was no room.
    #[error("the observer had no room for {0} sections")]
    NoRoom(u64),
}

/// The census of a run. `kernel_name` is for messages; `measured` are the wake-ups of a kernel to which the model applies, those with
/// `PREEMPT_RT`.
///
/// # Errors
/// If the observer could not follow the kernel.
pub fn census(
    kernel: &KernelImage,
    observed: &Observed,
    memory: &GuestMemory<'_>,
    kernel_name: &str,
    measured: Option<&[Reading]>,
) -> Result<Census, Uncounted> {
    let mut names = Names::of(&kernel.symbols);
    check(observed, &mut names, kernel_name)?;
    let sections = sections(observed, &mut names);
    let entries = interrupts(observed, &mut names, memory);
    let bound = measured.and_then(|readings| bound(&sections, &entries, readings));
    Ok(Census { lengths: lengths(&observed.counted), interrupts: entries, bound, sections })
}

fn check(observed: &Observed, names: &mut Names<'_>, kernel: &str) -> Result<(), Uncounted> {
    let Sums { contradictions, restored, unplaced, lost_sections, .. } = observed.sums;
    if restored > 0 {
        let block = observed.blocks.iter().find(|block| block.restores_interrupts());
        let function = block.map_or("unknown".to_owned(), |block| {
            let (name, _) = names.at(block.start);
            names.text(name).to_owned()
        });
        return Err(Uncounted::Restored { kernel: kernel.to_owned(), count: restored, function });
    }
    if contradictions > 0 || unplaced > 0 {
        return Err(Uncounted::LostTrack { contradictions, unplaced });
    }
    if lost_sections > 0 {
        return Err(Uncounted::NoRoom(lost_sections));
    }
    Ok(())
}

/// Adds up the sections of all blocks of the same functions.
fn sections(observed: &Observed, names: &mut Names<'_>) -> Vec<Sections> {
    let mut all: BTreeMap<(SectionKind, Context, Name, Name), Sections> = BTreeMap::new();
    for counted in &observed.counted.sections {
        let SectionsOfBlocks { kind, context, .. } = *counted;
        let (from, _) = names.at(observed.blocks[counted.from as usize].start);
        let (to, _) = names.at(observed.blocks[counted.to as usize].start);
        let sections = all.entry((kind, context, from, to)).or_insert_with(|| Sections {
            kind,
            context,
            from: names.text(from).to_owned(),
            to: names.text(to).to_owned(),
            count: 0,
            total: 0,
            longest: 0,
            longest_at_ns: 0,
            task: String::new(),
        });
        if counted.longest >= sections.longest {
            sections.longest = counted.longest;
            sections.longest_at_ns = counted.longest_at_ns;
            sections.task = format!("{} {}", counted.task.name, counted.task.pid);
        }
        sections.count += counted.count;
        sections.total += counted.total;
    }
    let mut sections: Vec<Sections> = all.into_values().collect();
    sections.sort_by(|a, b| (a.kind, b.longest).cmp(&(b.kind, a.longest)));
    sections
}

fn lengths(counted: &Counted) -> Vec<Lengths> {
    let of_kind = |(kind, counts): &(SectionKind, Vec<u64>)| {
        let bins = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let bins = bins.map(|(bucket, count)| {
            let (from, to) = counted::bucket_ends(bucket);
            (from, to, *count)
        });
        Lengths { kind: *kind, bins: bins.collect() }
    };
    counted.lengths.iter().map(of_kind).filter(|lengths| !lengths.bins.is_empty()).collect()
}

/// The interrupts by their entry. All devices have one function with an entry for each, so the function does not tell them apart.
fn interrupts(observed: &Observed, names: &mut Names<'_>, memory: &GuestMemory<'_>) -> Vec<InterruptEntry> {
    let Observed { counted, blocks, .. } = observed;
    let interrupts: Vec<&SectionsOfBlocks> =
        counted.sections.iter().filter(|one| one.kind == SectionKind::Interrupt).collect();
    let of_vector = |vector: &Vector| {
        let of_entry = || interrupts.iter().filter(|one| blocks[one.from as usize].start == vector.entry);
        let (function, is_start) = names.at(vector.entry);
        let function = names.text(function).to_owned();
        InterruptEntry {
            name: if is_start { function } else { device_name(memory, vector.entry).unwrap_or(function) },
            count: vector.count,
            longest: of_entry().map(|one| one.longest).max().unwrap_or(0),
            total: of_entry().map(|one| one.total).sum(),
            distances_ns: vector.distances_ns.clone(),
        }
    };
    counted.vectors.iter().map(of_vector).collect()
}

/// Stubs of devices push their vector: `push imm8` (arch/x86/include/asm/idtentry.h).
fn device_name(memory: &GuestMemory<'_>, entry: u64) -> Option<String> {
    const PUSH: u8 = 0x6a;
    let stub = memory.bytes(entry, 8)?;
    let at = stub.iter().position(|byte| *byte == PUSH)?;
    Some(format!("device, vector {}", stub.get(at + 1)?))
}
