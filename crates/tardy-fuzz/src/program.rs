//! Files of watched programs.

use std::rc::Rc;
use std::sync::Arc;

use tardy_attach::elf::{Budget, Content, SECTION_MAX};
use tardy_attach::mappings::CodeMapping;
use tardy_attach::unwinding::Code;
use tardy_attach::usdt;
use tardy_sys::perf_event::{Registers, Sample};

/// Bytes at the end of an input that are registers and the stack.
const SAMPLE_BYTES: usize = 32;

/// Reads the file's probes, and unwinds a stack in it. The stack begins with the last words of the input, and goes on with the file.
pub fn read(bytes: &[u8]) {
    let file: Arc<[u8]> = Arc::from(bytes);
    let budget = || Budget::new(SECTION_MAX);
    for probe in usdt::probes(&Content::Bytes(Arc::clone(&file)), &budget()).probes {
        assert!(!probe.name.is_empty() && !probe.name.contains(|c: char| c.is_control()));
        assert!(!probe.is_nop || probe.offset < bytes.len() as u64, "an instruction is in the file");
    }
    let words = &bytes[bytes.len().saturating_sub(SAMPLE_BYTES)..];
    let word = |index: usize| {
        let word = words.get(index * 8..index * 8 + 8).and_then(|word| word.try_into().ok());
        word.map_or(0, u64::from_le_bytes)
    };
    // A program that is loaded at 4 MiB, and its stack.
    let (begin, stack) = (0x40_0000, 0x7fff_0000_0000);
    let mapping = "400000-500000 r-xp 00000000 fe:01 7 /opt/program";
    let mapping = CodeMapping::of(7, mapping).expect("it is a mapping");
    let registers = Registers {
        instruction: begin + word(0) % 0x10_0000,
        stack,
        frame: stack + word(1) % 0x1000,
        link: begin + word(2) % 0x10_0000,
    };
    // Some of its words are addresses in the program.
    let stack =
        (0..64_u64).flat_map(|index| (begin + (word(3).rotate_left(index as u32) & 0xf_ffff)).to_le_bytes());
    let sample = Sample { at_ns: 0, registers, stack: stack.collect() };
    let mut code = Code::of_file(mapping, Content::Bytes(file), &Rc::new(budget()));
    for step in 0..4 {
        let registers = Registers { instruction: begin + (word(0) >> (16 * step)) % 0x10_0000, ..registers };
        let _ = code.place(&Sample { registers, ..sample.clone() });
    }
}
