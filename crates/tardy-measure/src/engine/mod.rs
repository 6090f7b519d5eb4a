//! The phase engine: runs a plan phase by phase, from its first checkpoint to its sealed file.
//!
//! The engine does not know what is measured. A source (`source.rs`) yields the readings of a phase, observers
//! (`observer.rs`) watch the machine at the same time, and `Sources` creates both from a phase's plan. This process is
//! the supervisor: it wakes once per second and for the descriptors of the source, reads, reports and writes
//! checkpoints.

pub mod checkpoint;
mod clock;
mod counters_file;
mod interruption;
mod listener;
mod live;
mod loads;
mod observer;
mod phase;
mod phase_map;
mod phase_record;
mod progress;
mod reading;
mod request;
pub mod result_file;
mod run;
mod sample_file;
mod source;
mod supervisor;
#[cfg(test)]
mod tests;

pub use listener::{Listener, UserRequest};
pub use live::{LiveSeries, LiveState};
pub use progress::RunProgress;
pub use reading::{Counted, Reading, SourceProgress};
pub use request::{Outcome, Request, RunError};
pub use sample_file::SampleFileError;
pub use source::{Finished, KillReason, PhaseContext, Ready, Source};
pub use supervisor::Supervisor;

pub(crate) use clock::Clock;
pub(crate) use counters_file::counters_of_phase;
pub(crate) use live::newest;
pub(crate) use observer::Observer;
pub(crate) use phase_map::{MapLayout, map_of_phase};
pub(crate) use reading::BrokenWait;
pub(crate) use run::run;
pub(crate) use sample_file::Owner;
pub(crate) use source::{Parts, Sources};
pub(crate) use supervisor::Outside;
