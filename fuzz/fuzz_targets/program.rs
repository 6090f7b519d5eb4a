#![no_main]
//! Fuzzes files of watched programs: their ELF headers, notes, symbols, debug information, and the unwinding of stacks by their tables.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::program::read(bytes));
