#![no_main]
//! Fuzzes the counters of a killed run.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::maps::recover(bytes));
