#![no_main]
//! Fuzzes the importer of `isochron`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("isochron", bytes));
