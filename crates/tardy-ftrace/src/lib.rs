//! The kernel's trace of one late wake-up, in the formats of other tools: ftrace text ([`text`]), which Perfetto opens, and
//! trace.dat ([`trace_dat`]), which trace-cmd and KernelShark open.
//!
//! A run keeps the events of its latest wake-ups without the fields that the causes do not need
//! ([`tardy_record::moment`]). What was not recorded is left out of both formats; nothing is invented. The exception is
//! the state of a task that leaves the CPU, without which no tool can draw the scheduler's decisions: it follows from the
//! later events of the excerpt ([`excerpt::Excerpt`]).
//!
//! Times are those of the report, in ns from the start of the run.

mod event;
mod excerpt;
pub mod text;
pub mod trace_dat;

pub use excerpt::{Excerpt, NoExcerpt};
