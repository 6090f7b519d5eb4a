#![no_main]
//! Fuzzes detection, decompression and archives.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_detected(bytes));
