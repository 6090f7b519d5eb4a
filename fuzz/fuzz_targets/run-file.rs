#![no_main]
//! Fuzzes run files.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::run_file::read(bytes));
