//! The interface for programs, version 1. `openapi.json` describes it.

pub(crate) mod alerts;
pub(crate) mod push;
pub(crate) mod read;

/// The description of the interface, OpenAPI 3.1.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");
