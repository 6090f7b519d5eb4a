#![no_main]
//! Fuzzes the importer of `stress-ng-yaml`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("stress-ng-yaml", bytes));
