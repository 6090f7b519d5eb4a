//! What several commands do in the same way: exit statuses, messages, output, and how runs are opened and shown.
//!
//! Commands are in `tardy` and in crates of their own, such as `tardy-tsn-command`, which use this one and not each other.

pub mod additions;
pub mod archives;
pub mod charset;
pub mod comparison;
pub mod executables;
pub mod exit;
pub mod file_tree;
pub mod identity;
pub mod messages;
pub mod opened;
pub mod origin;
pub mod output;
pub mod pages;
pub mod program;
pub mod published;
pub mod requirements;
mod show_run;
pub mod versus;

pub use exit::Exit;
pub use output::message;
pub use show_run::show_run;
