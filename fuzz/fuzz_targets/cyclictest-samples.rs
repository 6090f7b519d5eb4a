#![no_main]
//! Fuzzes the importer of `cyclictest-samples`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("cyclictest-samples", bytes));
