#![no_main]
//! Fuzzes the importer of `jitterdebugger-samples`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("jitterdebugger-samples", bytes));
