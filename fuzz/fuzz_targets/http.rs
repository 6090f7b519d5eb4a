#![no_main]
//! Fuzzes the server.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::http::send(bytes));
