#![no_main]
//! Fuzzes the inspection of kernels.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::guest::inspect(bytes));
