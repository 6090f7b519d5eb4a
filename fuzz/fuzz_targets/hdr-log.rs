#![no_main]
//! Fuzzes the importer of `hdr-log`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("hdr-log", bytes));
