#![no_main]
//! Fuzzes entries of the journal.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::journal::read(bytes));
