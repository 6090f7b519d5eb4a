//! Blocks of instructions: what each means for the order of execution and for interrupts.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// Addresses from here on belong to the kernel (Documentation/arch/x86/x86_64/mm.rst).
pub const KERNEL: u64 = 1 << 63;

/// Instructions that are executed one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of the first instruction.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// The address of each instruction.
    pub instructions: Vec<u64>,
    /// How it ends.
    pub last: Last,
    /// Instructions within it that turn interrupts off or on, by their index.
    pub interrupts: Vec<(usize, Interrupts)>,
    /// Whether it was executed in the measured part of the run.
    pub was_measured: bool,
    /// How many instructions of it were executed before the first program.
    pub in_boot: u64,
}

/// The last instruction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Goes on after it, or to this address.
    Jump(u64),
    /// A jump to an address in a register or in memory.
    FarJump,
    /// A call of this address.
    Call(u64),
    /// A call of an address in a register or in memory.
    IndirectCall,
    /// Returns to its caller.
    Return,
    /// Returns from an interrupt or exception.
    InterruptReturn,
    /// Enters or leaves the kernel by a system call.
    SystemCall,
    /// Waits for an interrupt.
    Halt,
    /// A string instruction that is repeated, as a block of its own each time.
    Repeated,
    /// Anything else: goes on after it.
    Plain,
}

/// An instruction that turns interrupts off or on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// `cli`
    Off,
    /// `sti`
    On,
    /// `popf`: as a saved value says.
    Restored,
}

impl Block {
    /// Decodes the instructions, whose lengths are `sizes`.
    pub fn of(start: u64, sizes: &[u8], bytes: &[u8]) -> Self {
        let mut instructions = Vec::with_capacity(sizes.len());
        let mut interrupts = Vec::new();
        let mut last = Last::Plain;
        let mut at = 0;
        for (index, size) in sizes.iter().enumerate() {
            let address = start + at as u64;
            let end = at + usize::from(*size);
            let instruction = Decoder::with_ip(64, &bytes[at..end], address, DecoderOptions::NONE).decode();
            instructions.push(address);
            interrupts.extend(switch_of_interrupts(&instruction).map(|switch| (index, switch)));
            if index + 1 == sizes.len() {
                last = Last::of(&instruction);
            }
            at = end;
        }
        Self {
            start,
            end: start + bytes.len() as u64,
            instructions,
            last,
            interrupts,
            was_measured: false,
            in_boot: 0,
        }
    }

    /// Whether it belongs to a program, not to the kernel.
    pub fn is_of_program(&self) -> bool {
        self.start < KERNEL
    }

    /// Whether it is the kernel's and contains `popf`.
    pub fn restores_interrupts(&self) -> bool {
        !self.is_of_program() && self.interrupts.iter().any(|(_, switch)| *switch == Interrupts::Restored)
    }

    /// Whether a block that begins at `address` can follow without an interrupt.
    pub fn leads_to(&self, address: u64) -> bool {
        match self.last {
            Last::Jump(target) => address == target || address == self.end,
            Last::Call(target) => address == target,
            Last::Repeated => address == self.end || self.instructions.last() == Some(&address),
            Last::Plain | Last::Halt => address == self.end,
            Last::FarJump | Last::IndirectCall | Last::Return | Last::InterruptReturn | Last::SystemCall => {
                true
            }
        }
    }

    /// How many of its instructions stand before this address, if one of them is there.
    pub fn index_of(&self, address: u64) -> Option<usize> {
        self.instructions.iter().position(|own| *own == address)
    }
}

impl Last {
    fn of(instruction: &Instruction) -> Self {
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        match instruction.flow_control() {
            // QEMU names the part of an instruction that is on the page, and executes it as a block of its own.
            _ if instruction.is_invalid() => Self::Plain,
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                Self::Jump(instruction.near_branch_target())
            }
            FlowControl::IndirectBranch => Self::FarJump,
            FlowControl::IndirectCall => Self::IndirectCall,
            FlowControl::Return => match instruction.mnemonic() {
                Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq => Self::InterruptReturn,
                Mnemonic::Sysret | Mnemonic::Sysretq | Mnemonic::Sysexit | Mnemonic::Sysexitq => {
                    Self::SystemCall
                }
                _ => Self::Return,
            },
            FlowControl::Call => match instruction.code() {
                Code::Syscall => Self::SystemCall,
                _ => Self::Call(instruction.near_branch_target()),
            },
            _ if instruction.mnemonic() == Mnemonic::Hlt => Self::Halt,
            _ if repeated && instruction.is_string_instruction() => Self::Repeated,
            FlowControl::Interrupt | FlowControl::Exception => Self::SystemCall,
            _ => Self::Plain,
        }
    }
}

fn switch_of_interrupts(instruction: &Instruction) -> Option<Interrupts> {
    match instruction.mnemonic() {
        Mnemonic::Cli => Some(Interrupts::Off),
        Mnemonic::Sti => Some(Interrupts::On),
        Mnemonic::Popf | Mnemonic::Popfd | Mnemonic::Popfq => Some(Interrupts::Restored),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{CLI, HLT, IRET, NOP, OUTER, RET, STI, SYSRET, block, call};

    #[test]
    fn the_last_instruction_says_what_can_follow() {
        let to_there = call(OUTER + 0x100, OUTER + 5);
        for (bytes, last) in [
            (&[0x74, 0x10][..], Last::Jump(OUTER + 0x12)),
            (&[0xff, 0xe0], Last::FarJump),
            (&to_there, Last::Call(OUTER + 0x100)),
            (&[0xff, 0xd0], Last::IndirectCall),
            (RET, Last::Return),
            (IRET, Last::InterruptReturn),
            (SYSRET, Last::SystemCall),
            (&[0x0f, 0x05], Last::SystemCall),
            (HLT, Last::Halt),
            (&[0xf3, 0xa4], Last::Repeated),
            (&[0xf3, 0x90], Last::Plain),
            (NOP, Last::Plain),
            (&[0x41], Last::Plain),
            (&[0x0f, 0x0b], Last::SystemCall),
        ] {
            assert_eq!(block(OUTER, &[bytes]).last, last, "{bytes:x?}");
        }
    }

    #[test]
    fn changes_of_interrupts_are_found_within_a_block() {
        let block = block(OUTER, &[NOP, CLI, NOP, STI, &[0x9d]]);
        assert_eq!(block.interrupts, [(1, Interrupts::Off), (3, Interrupts::On), (4, Interrupts::Restored)]);
    }
}
