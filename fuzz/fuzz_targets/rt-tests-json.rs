#![no_main]
//! Fuzzes the importer of `rt-tests-json`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("rt-tests-json", bytes));
