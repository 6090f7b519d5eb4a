//! Which functions that turn interrupts or preemption off ran, and which never did.
//!
//! They are found in the guest's memory, where the kernel has replaced its own indirect calls by the instructions that it uses on this
//! processor (`alternative_instructions()` in arch/x86/kernel/alternative.c): those with `cli`, those that write the preemption count, and
//! those that call a function which does so for its caller, such as `_raw_spin_lock()`.

use std::collections::BTreeSet;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};
use tardy_record::census::Coverage;

use crate::guest_memory::GuestMemory;
use crate::modules::ModuleFunction;
use crate::observed::Observed;
use crate::orders::{KernelImage, Unwatchable, turns_off_for_caller};

/// A function and where its instructions are.
struct Function<'a> {
    name: &'a str,
    start: u64,
    end: u64,
}

/// The functions of the kernel and of the modules that turn interrupts or preemption off.
///
/// # Errors
/// If the kernel lacks a symbol that is needed.
pub fn coverage(
    kernel: &KernelImage,
    modules: &[ModuleFunction],
    observed: &Observed,
    memory: &GuestMemory<'_>,
) -> Result<Coverage, Unwatchable> {
    let finder = Finder::of(kernel)?;
    let executed: BTreeSet<u64> =
        observed.blocks.iter().filter(|block| block.was_measured).map(|block| block.start).collect();
    let functions = of_kernel(kernel)?.into_iter().chain(modules.iter().map(|function| Function {
        name: &function.name,
        start: function.address,
        end: function.address + function.length,
    }));
    let (mut ran, mut never) = (BTreeSet::new(), BTreeSet::new());
    for function in functions {
        let length = (function.end - function.start) as usize;
        let Some(bytes) = memory.bytes(function.start, length) else { continue };
        if finder.turns_off(&bytes, function.start) {
            let has_run = executed.range(function.start..function.end).next().is_some();
            if has_run { &mut ran } else { &mut never }.insert(function.name.to_owned());
        }
    }
    // Of functions with the same name, one that ran is enough.
    never.retain(|name| !ran.contains(name));
    Ok(Coverage { ran: ran.into_iter().collect(), never: never.into_iter().collect() })
}

/// The kernel's functions, but for those of its start, whose memory is used again, and those that turn off for their caller.
fn of_kernel(kernel: &KernelImage) -> Result<Vec<Function<'_>>, Unwatchable> {
    let (from, to) = (kernel.address("_stext")?, kernel.address("_etext")?);
    let functions = kernel.symbols.functions();
    let ends = functions.iter().skip(1).map(|(address, _)| *address).chain([to]);
    let all = functions.iter().zip(ends).map(|((start, name), end)| Function { name, start: *start, end });
    let is_wanted = |function: &Function<'_>| {
        function.start >= from
            && function.end <= to
            && function.start < function.end
            && !turns_off_for_caller(function.name)
    };
    Ok(all.filter(is_wanted).collect())
}

/// Finds instructions that turn off.
struct Finder {
    /// The offset of the preemption count in the CPU's variables.
    count: u64,
    /// Functions that turn off for their caller.
    for_caller: BTreeSet<u64>,
}

const CLI: u8 = 0xfa;
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;

impl Finder {
    fn of(kernel: &KernelImage) -> Result<Self, Unwatchable> {
        let functions = kernel.symbols.functions().iter();
        let for_caller = functions.filter(|(_, name)| turns_off_for_caller(name) && !is_unlock(name));
        Ok(Self { count: kernel.preempt_count()?, for_caller: for_caller.map(|(start, _)| *start).collect() })
    }

    /// Whether one of a function's instructions turns interrupts or preemption off.
    fn turns_off(&self, bytes: &[u8], start: u64) -> bool {
        self.may_turn_off(bytes, start) && self.decoded_turns_off(bytes, start)
    }

    /// A look at the bytes alone, which decodes nothing: most functions end here.
    fn may_turn_off(&self, bytes: &[u8], start: u64) -> bool {
        let distance = |at: usize| {
            let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(i64::from(i32::from_le_bytes(four)))
        };
        let leads_to_one = |at: usize| {
            let target =
                distance(at + 1).map(|distance| (start + at as u64 + 5).wrapping_add_signed(distance));
            target.is_some_and(|target| self.for_caller.contains(&target))
        };
        bytes.iter().enumerate().any(|(at, byte)| match *byte {
            CLI | 0x65 => true,
            CALL | JUMP => leads_to_one(at),
            _ => false,
        })
    }

    fn decoded_turns_off(&self, bytes: &[u8], start: u64) -> bool {
        Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).iter().any(|instruction| {
            match instruction.flow_control() {
                FlowControl::Call | FlowControl::UnconditionalBranch => {
                    self.for_caller.contains(&instruction.near_branch_target())
                }
                _ if instruction.mnemonic() == Mnemonic::Cli => true,
                // An increment, or an addition of a number that is not negative.
                _ => {
                    instruction.segment_prefix() == iced_x86::Register::GS
                        && instruction.memory_displacement64() == self.count
                        && match instruction.mnemonic() {
                            Mnemonic::Inc => true,
                            Mnemonic::Add => (instruction.immediate(1) as i32) > 0,
                            _ => false,
                        }
                }
            }
        })
    }
}

fn is_unlock(name: &str) -> bool {
    name.contains("unlock") || name.contains("enable") || name.contains("_sub")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{CLI, INNER, NOP, OUTER, RET, STI, call};

    #[test]
    fn what_turns_off_is_found_by_its_instructions() {
        let finder = Finder { count: 0x35e08, for_caller: BTreeSet::from([INNER]) };
        // incl %gs:0x35e08, absolute; and relative to the next instruction.
        let absolute = [0x65, 0xff, 0x04, 0x25, 0x08, 0x5e, 0x03, 0x00];
        let away = (0x35e08_u64.wrapping_sub(OUTER + 7) as u32).to_le_bytes();
        let relative = [&[0x65, 0xff, 0x05][..], &away].concat();
        let decrement = [0x65, 0xff, 0x0c, 0x25, 0x08, 0x5e, 0x03, 0x00];
        let (to_inner, elsewhere) = (call(INNER, OUTER + 5), call(INNER + 1, OUTER + 5));
        // mov $0xfa, %eax: the byte of cli within another instruction.
        let hidden = [0xb8, 0xfa, 0, 0, 0];
        for (bytes, expected) in [
            (&[NOP, CLI, RET].concat()[..], true),
            (&absolute, true),
            (&relative, true),
            (&to_inner, true),
            (&decrement, false),
            (&elsewhere, false),
            (&hidden, false),
            (&[STI, RET].concat(), false),
        ] {
            assert_eq!(finder.turns_off(bytes, OUTER), expected, "{bytes:x?}");
        }
    }
}
