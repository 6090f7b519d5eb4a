#![no_main]
//! Fuzzes netlink messages.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::netlink::parse(bytes));
