//! tardy's way to the kernel.
//!
//! The only crate that may hold `unsafe`, name libc or open a raw kernel file; everything it offers is safe to call.
//! It knows nothing of runs, series or histograms.

pub mod clock_properties;
pub mod kernel_files;
pub mod kernel_log;
pub mod uname;
