//! A synthetic kernel for tests: functions of few instructions, and records of their execution.

use crate::block::Block;
use crate::kallsyms::Symbols;
use crate::observed::{Reading, Switch, Wakeup};
use crate::orders::Entry;
use crate::task::Task;

/// The first address of each function; they are 0x100 apart.
pub(crate) const OUTER: u64 = 0xffff_ffff_8100_0000;
pub(crate) const INNER: u64 = OUTER + 0x100;
pub(crate) const INTERRUPT: u64 = OUTER + 0x200;
pub(crate) const EXCEPTION: u64 = OUTER + 0x300;
pub(crate) const SWITCH: u64 = OUTER + 0x400;
pub(crate) const PROGRAM: u64 = 0x40_0000;

pub(crate) const NOP: &[u8] = &[0x90];
pub(crate) const CLI: &[u8] = &[0xfa];
pub(crate) const STI: &[u8] = &[0xfb];
pub(crate) const RET: &[u8] = &[0xc3];
pub(crate) const IRET: &[u8] = &[0x48, 0xcf];
pub(crate) const HLT: &[u8] = &[0xf4];
pub(crate) const SYSRET: &[u8] = &[0x48, 0x0f, 0x07];

pub(crate) fn symbols() -> Symbols {
    let all = [
        ("outer", OUTER),
        ("inner", INNER),
        ("asm_sysvec_timer", INTERRUPT),
        ("asm_exc_page_fault", EXCEPTION),
        ("__switch_to_asm", SWITCH),
        ("_etext", OUTER + 0x1000),
    ];
    Symbols::from_all(all.into_iter().map(|(name, address)| (format!("t{name}"), address)))
}

pub(crate) fn entries() -> Vec<Entry> {
    [(INTERRUPT, false), (EXCEPTION, true)]
        .map(|(from, is_exception)| Entry { from, to: from + 1, is_exception })
        .to_vec()
}

/// A block of these instructions.
pub(crate) fn block(start: u64, instructions: &[&[u8]]) -> Block {
    let sizes: Vec<u8> = instructions.iter().map(|one| one.len() as u8).collect();
    Block::of(start, &sizes, &instructions.concat())
}

/// `call` of an address by an instruction that ends at `after`.
pub(crate) fn call(target: u64, after: u64) -> [u8; 5] {
    let [a, b, c, d] = (target.wrapping_sub(after) as u32).to_le_bytes();
    [0xe8, a, b, c, d]
}

/// A record of the blocks 0, 1, 2 and so on, with switches before some.
pub(crate) fn wakeup(count: usize, switches: &[usize]) -> Wakeup {
    let task = |number: u32| Task { address: u64::from(number), pid: number, name: format!("task{number}") };
    let switches = switches.iter().enumerate();
    Wakeup {
        task: task(9),
        reading: reading(9, 0, 0),
        blocks: (0..count as u32).collect(),
        woken: None,
        switches: switches
            .map(|(number, index)| Switch { index: *index, from: task(number as u32), is_blocked: true })
            .collect(),
    }
}

/// A wake-up of this thread.
pub(crate) fn reading(pid: u32, due_ns: u64, late_ns: i64) -> Reading {
    Reading { pid, due_ns, late_ns, lag: 0, ahead_ns: None, switched_ns: late_ns }
}
