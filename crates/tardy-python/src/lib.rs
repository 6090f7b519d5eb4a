//! The native part of the Python module `tardy`.
//!
//! It opens files, and computes tables, verdicts, comparisons, reports and plots, by the crates that the command line uses. The
//! public interface, with its types and documentation, is the Python code in `python/tardy`, which wraps what is here. Tables
//! leave through the Arrow C stream interface or as plain buffers, so the module needs neither polars, pandas, NumPy nor pyarrow.
//!
//! The unsafe code is that of pyo3's macros and of arrow's foreign-function interface (ADR 28).

mod analyses;
mod error;
mod open;
mod pages;
mod run;
mod table;
mod tables;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::analyses::{compare, gate, versus};
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::open::{formats, read_bytes, read_path};
    #[pymodule_export]
    use super::pages::{plot, report};
    #[pymodule_export]
    use super::run::NativeRun;
    #[pymodule_export]
    use super::table::NativeTable;
}
