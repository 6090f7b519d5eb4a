#![no_main]
//! Fuzzes the importer of `rtla-hist`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("rtla-hist", bytes));
