#![no_main]
//! Fuzzes the importer of `xenomai-plot`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("xenomai-plot", bytes));
