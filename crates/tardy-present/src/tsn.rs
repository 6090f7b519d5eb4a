//! What `tardy tsn` prints.

pub mod check;
