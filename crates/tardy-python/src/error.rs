//! The exception of the module: the messages of the command line.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(tardy, Error, PyValueError, "What is wrong, where, and what to do next.");

/// An [`Error`] with `message`.
pub(crate) fn error(message: impl ToString) -> PyErr {
    Error::new_err(message.to_string())
}
