#![no_main]
//! Fuzzes the importer of `cyclictest`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("cyclictest", bytes));
