//! What the observer counted: sections with interrupts or preemption off, by the blocks in which they begin and end, and interrupts.

use tardy_record::census::{Context, SectionKind};

use crate::task::Task;

/// Buckets of lengths.
pub(crate) const BUCKETS: usize = 320;
/// Distances of a vector: of 2 to 33 interrupts.
pub(crate) const DISTANCES: usize = 32;

/// The kinds and contexts, by their numbers in emulator/observer/observer.h and census.c.
const KINDS: [SectionKind; 7] = [
    SectionKind::InterruptsOff,
    SectionKind::PreemptionOff,
    SectionKind::Interrupt,
    SectionKind::Postponed,
    SectionKind::Switching,
    SectionKind::ToSwitch,
    SectionKind::ToScheduler,
];
const CONTEXTS: [Context; 3] = [Context::Thread, Context::SoftInterrupt, Context::Interrupt];

/// All that was counted in a guest. Empty if nothing was to be counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// The sections.
    pub sections: Vec<SectionsOfBlocks>,
    /// For each kind, how many sections are in each bucket ([`bucket_ends`]).
    pub lengths: Vec<(SectionKind, Vec<u64>)>,
    /// The interrupts by their entry.
    pub vectors: Vec<Vector>,
}

/// Sections that begin and end in the same blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionsOfBlocks {
    /// What is off.
    pub kind: SectionKind,
    /// The context in which they begin.
    pub context: Context,
    /// The number of the block in which they begin.
    pub from: u32,
    /// The number of the block in which they end.
    pub to: u32,
    /// How many there are.
    pub count: u64,
    /// Their instructions together.
    pub total: u64,
    /// The instructions of the longest.
    pub longest: u64,
    /// When it began, in ns of the guest's monotonic clock.
    pub longest_at_ns: u64,
    /// The task in which it ended.
    pub task: Task,
}

/// Interrupts of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The address of the entry.
    pub entry: u64,
    /// How many came.
    pub count: u64,
    /// The shortest times in which 2 to 33 came, as far as so many came.
    pub distances_ns: Vec<u64>,
}

/// The kind with this number, if there is one.
pub(crate) fn kind(number: u64) -> Option<SectionKind> {
    KINDS.get(usize::try_from(number).ok()?).copied()
}

/// The context with this number, if there is one.
pub(crate) fn context(number: u64) -> Option<Context> {
    CONTEXTS.get(usize::try_from(number).ok()?).copied()
}

/// The lower end of a bucket and the end after it: below 8 each length has a bucket, and above each power of two has eight.
pub fn bucket_ends(bucket: usize) -> (u64, u64) {
    let lower = |bucket: usize| match bucket {
        0..8 => bucket as u64,
        _ => (8 + bucket as u64 % 8) << (bucket / 8 - 1),
    };
    (lower(bucket), lower(bucket + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        assert_eq!(bucket_ends(0), (0, 1));
        assert_eq!(bucket_ends(7), (7, 8));
        // The observer: length 8 is in bucket 8 * (3 - 2) + 0, length 37 in 8 * (5 - 2) + 1.
        assert_eq!(bucket_ends(8), (8, 9));
        assert_eq!(bucket_ends(25), (36, 40));
        for bucket in 0..BUCKETS - 1 {
            assert_eq!(bucket_ends(bucket).1, bucket_ends(bucket + 1).0);
        }
    }
}
