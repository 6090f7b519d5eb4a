#![no_main]
//! Fuzzes the importer of `vcd`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("vcd", bytes));
