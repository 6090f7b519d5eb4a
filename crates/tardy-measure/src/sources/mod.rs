//! The sources of readings.

pub(crate) mod kernel_tracer;
pub(crate) mod other_program;
pub(crate) mod own_probe;
mod program;
pub(crate) mod switch_test;
mod synthetic_tracer;
mod tracer_series;
pub(crate) mod wiggle_program;
