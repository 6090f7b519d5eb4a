#![no_main]
//! Fuzzes the importer of `latmus-plot`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tardy_fuzz::import_as("latmus-plot", bytes));
