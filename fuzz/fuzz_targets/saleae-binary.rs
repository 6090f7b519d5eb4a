#![no_main]
//! Fuzzes the importer of `saleae-binary`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("saleae-binary", bytes));
