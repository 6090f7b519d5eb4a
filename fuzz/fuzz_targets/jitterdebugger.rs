#![no_main]
//! Fuzzes the importer of `jitterdebugger`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("jitterdebugger", bytes));
