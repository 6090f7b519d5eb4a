#![no_main]
//! Fuzzes what the commands do with run files.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::run_structure::change_and_use(bytes));
