#![no_main]
//! Fuzzes the header, the size and the content of a map.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::maps::open(bytes));
