#![no_main]
//! Fuzzes the importer of `sigrok`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("sigrok", bytes));
