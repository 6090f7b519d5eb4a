//! Making this machine a time-aware switch: applying what `tardy_tsn::settings` says, taking it back, looking at it, and
//! keeping it alive.
//!
//! Every change is a [`Step`] that knows how to be undone. While a switch is being set up its steps lie in the journal,
//! so that a crash is undone by `tardy restore`; once it is up they lie beside each other in a file of their own
//! ([`state`]), by which `tardy tsn remove` takes it back, whoever set it up and however long ago.

mod apply;
mod bridge;
mod classifier;
mod displaced;
pub mod experiment;
mod gate_timers;
mod ledger;
mod missing;
mod open_vswitch;
mod own_connection;
mod program;
mod remove;
mod shaper;
mod show;
pub mod state;
mod step;
mod survey;
mod timing;
mod watch;

pub use apply::{Applied, Request, apply};
pub use ledger::Ledger;
pub use open_vswitch::OpenVSwitch;
pub use remove::remove;
pub use shaper::{HANDLE, is_same, to_kernel};
pub use show::{PortView, ScheduleView, ShaperView, SwitchView, show};
pub use step::{Change, Step, UNDO};
pub use timing::Leak;
pub use watch::{Healed, Watch};
