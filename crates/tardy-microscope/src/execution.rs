//! The order of execution in a kept wake-up: which block after which, how many instructions of each, and why.
//!
//! QEMU reports a block before it executes it. Three things end a block early: an exception; an access to a device, after which
//! QEMU begins a new block at the next instruction (`cpu_io_recompile()` in accel/tcg/translate-all.c); and an instruction that reaches into
//! the next page, which it reports at the end of one block and executes as the next (`i386_tr_translate_insn()` in
//! target/i386/tcg/translate.c). How far a block got that an exception ended shows when the exception returns into it.

use crate::block::{Block, Last};
use crate::observed::Wakeup;
use crate::orders::Entry;

/// The emulator's clock counts an instruction as so many ns (`-icount shift=1`).
pub const NS_PER_INSTRUCTION: u64 = 2;

/// A block that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The block.
    pub block: &'a Block,
    /// The number of its instructions that were executed.
    pub executed: usize,
    /// Instructions from the beginning of the record to the block.
    pub start: u64,
    /// How it came to be executed.
    pub arrival: Arrival,
}

/// How a block came to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// By the instructions before it.
    Flow,
    /// By an interrupt, between two blocks.
    Interrupt,
    /// By an exception, within the block before.
    Exception,
    /// By a switch to another task, in the middle of which it stands.
    Switch,
}

impl Step<'_> {
    /// Instructions from the beginning of the record to after the block.
    pub fn end(&self) -> u64 {
        self.start + self.executed as u64
    }
}

/// The steps of a wake-up on a kernel whose interrupts and exceptions begin at `entries`, which are in the order of their addresses.
pub fn steps<'a>(blocks: &'a [Block], wakeup: &Wakeup, entries: &[Entry]) -> Vec<Step<'a>> {
    let executed: Vec<&Block> = wakeup.blocks.iter().map(|number| &blocks[*number as usize]).collect();
    let mut counts: Vec<usize> = executed.iter().map(|block| block.instructions.len()).collect();
    let mut interrupted: Vec<usize> = Vec::new();
    let mut arrivals = vec![Arrival::Flow; executed.len()];
    for switch in &wakeup.switches {
        arrivals[switch.index] = Arrival::Switch;
    }
    for index in 1..executed.len() {
        let (before, block) = (executed[index - 1], executed[index]);
        if let Some(entry) = entry_at(entries, block.start) {
            arrivals[index] = if entry.is_exception { Arrival::Exception } else { Arrival::Interrupt };
            interrupted.push(index);
        } else if before.last == Last::InterruptReturn {
            let returns_to = |index: &usize| {
                let candidate = executed[index - 1];
                candidate.index_of(block.start).is_some() || candidate.leads_to(block.start)
            };
            if let Some(found) = interrupted.iter().rposition(returns_to) {
                let index = interrupted.remove(found);
                let candidate = executed[index - 1];
                if arrivals[index] == Arrival::Exception || !candidate.leads_to(block.start) {
                    counts[index - 1] = part_before(candidate, block.start);
                }
            }
        } else if is_split(before, block.start) {
            counts[index - 1] = part_before(before, block.start);
        }
    }
    let mut start = 0;
    let mut steps = Vec::with_capacity(executed.len());
    for ((block, executed), arrival) in executed.into_iter().zip(counts).zip(arrivals) {
        steps.push(Step { block, executed, start, arrival });
        start += executed as u64;
    }
    steps
}

/// Whether a block did not get to its end, since execution goes on at `address` within it: no jump leads there from a block that ends with
/// one to an address which is not in the instruction.
fn is_split(block: &Block, address: u64) -> bool {
    let is_jump_elsewhere =
        matches!(block.last, Last::FarJump | Last::IndirectCall | Last::Return | Last::SystemCall);
    !block.leads_to(address) || (is_jump_elsewhere && address > block.start && address < block.end)
}

/// The entry that contains the address.
fn entry_at(entries: &[Entry], address: u64) -> Option<&Entry> {
    let after = entries.partition_point(|entry| entry.from <= address);
    entries[..after].last().filter(|entry| address < entry.to)
}

/// How many instructions of the block were executed if execution goes on at `address`.
fn part_before(block: &Block, address: u64) -> usize {
    block.index_of(address).unwrap_or(block.instructions.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{EXCEPTION, INTERRUPT, IRET, NOP, OUTER, RET, block, entries, wakeup};

    fn executed(blocks: &[Block]) -> Vec<usize> {
        steps(blocks, &wakeup(blocks.len(), &[]), &entries()).iter().map(|step| step.executed).collect()
    }

    #[test]
    fn a_block_that_an_exception_ends_is_executed_up_to_where_the_exception_returns() {
        let blocks = [
            block(OUTER, &[NOP, NOP, NOP, NOP]),
            block(EXCEPTION, &[NOP, IRET]),
            block(OUTER + 1, &[NOP, NOP, NOP]),
        ];
        assert_eq!(executed(&blocks), [1, 2, 3]);
    }

    /// It returns to the beginning of a loop, which is in the block: that was executed as a whole.
    #[test]
    fn a_block_before_an_interrupt_is_executed_as_a_whole() {
        let back: &[u8] = &[0xeb, 0xfd];
        let blocks =
            [block(OUTER, &[NOP, NOP, back]), block(INTERRUPT, &[NOP, IRET]), block(OUTER + 1, &[NOP, back])];
        assert_eq!(executed(&blocks), [3, 2, 2]);
    }

    #[test]
    fn a_block_that_is_split_after_an_access_to_a_device_is_counted_up_to_there() {
        let blocks = [block(OUTER, &[NOP, NOP, NOP]), block(OUTER + 2, &[NOP, NOP])];
        assert_eq!(executed(&blocks), [2, 2]);
        let before_its_return = [block(OUTER, &[NOP, RET]), block(OUTER + 1, &[RET])];
        assert_eq!(executed(&before_its_return), [1, 1]);
    }

    /// The last instruction reaches into the next page.
    #[test]
    fn an_instruction_in_two_pages_is_counted_once() {
        let blocks = [block(OUTER, &[NOP, &[0x41]]), block(OUTER + 1, &[&[0x41, 0x54]])];
        assert_eq!(executed(&blocks), [1, 1]);
    }

    #[test]
    fn each_repetition_of_a_string_instruction_is_counted_once() {
        let repeated: &[u8] = &[0xf3, 0xa4];
        let blocks =
            [block(OUTER, &[NOP, repeated]), block(OUTER + 1, &[repeated]), block(OUTER + 3, &[NOP])];
        assert_eq!(executed(&blocks), [2, 1, 1]);
    }
}
