#![no_main]
//! Fuzzes the importer of `level-csv`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("level-csv", bytes));
