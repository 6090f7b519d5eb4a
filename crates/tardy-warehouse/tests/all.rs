//! Tests of the stores.

mod engine;
mod exports;
mod services;
mod services_that_fail;
