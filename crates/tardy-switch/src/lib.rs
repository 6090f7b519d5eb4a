//! Sets this machine up as a time-aware switch: applies the settings of `tardy_tsn::settings`, removes them, shows the
//! switch, and restarts gates that the kernel has stopped.
//!
//! Every change is a [`Step`] that can be undone. While a switch is being set up, its steps are in the journal, so that
//! `tardy restore` undoes them after a crash. Once the switch is up, its steps are saved in a file ([`saved_states`]),
//! and `tardy tsn remove` undoes them, at any time and from any process.

mod apply;
mod bridge;
mod change;
mod change_journal;
mod children;
mod classifier;
mod displaced;
pub mod experiment;
mod gate_timers;
mod iptables_rule;
mod measured;
mod missing;
mod open_vswitch;
mod open_vswitch_bridge;
mod own_connection;
mod program;
mod remove;
pub mod saved_states;
mod shaper;
mod show;
mod survey;
mod timing;
mod undo;
mod vlans;
mod watch;

pub use apply::{Applied, Request, apply};
pub use change::{Change, Step};
pub use change_journal::ChangeJournal;
pub use measured::{FrameReceiver, SwitchTest, test_switch};
pub use open_vswitch::OpenVSwitch;
pub use remove::remove;
pub use shaper::{HANDLE, is_same, to_kernel};
pub use show::{PortView, ScheduleView, ShaperView, SwitchView, show};
pub use timing::Leak;
pub use undo::UNDO;
pub use watch::{Repaired, Watch};
