#![no_main]
//! Fuzzes the decoder of a guest's output.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::guest::decode(bytes));
