#![no_main]
//! Fuzzes the importer of `stress-ng-log`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("stress-ng-log", bytes));
