#![no_main]
//! Fuzzes operations on names that another process changes.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::names::operate(bytes));
