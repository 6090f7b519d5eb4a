#![no_main]
//! Fuzzes the importer of `rtla-top`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("rtla-top", bytes));
