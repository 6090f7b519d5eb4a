//! The house: conducting a run from its plan to its sealed file.

mod cause_watch;
mod checkpoint;
mod command_phase;
mod conduct;
mod echo_series;
mod echo_watch;
mod fake_moment;
mod fake_trace;
mod fake_tracer;
mod foreign_phase;
mod house;
mod house_clock;
mod level_watch;
mod live_series;
mod map_place;
mod observer;
mod phase;
mod phase_steps;
mod probe_child;
mod program;
pub mod recover;
mod request;
pub mod result_file;
mod sample_drain;
mod sample_file;
mod surroundings;
mod tracer_phase;
mod tracer_series;
mod wire_series;
mod wire_watch;

pub use conduct::conduct;
pub use observer::{Observer, Standing};
pub use request::{Outcome, Request, RunError};
pub use sample_file::SampleFileError;
