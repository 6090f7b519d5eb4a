//! One module for each command: it reads the input, calls the crates that do the work, and prints the result.

#[cfg(feature = "server")]
pub(crate) mod archive;
#[cfg(not(feature = "server"))]
#[path = "without_archive.rs"]
pub(crate) mod archive;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod duration;
pub(crate) mod exec;
pub(crate) mod export;
mod file_tree;
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod generate;
pub(crate) mod gpio;
pub(crate) mod gpio_stimulate;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod inner;
pub(crate) mod lab;
mod late;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod name;
mod overview;
pub(crate) mod plot;
pub(crate) mod programs;
mod progress;
pub(crate) mod push;
pub(crate) mod recover;
pub(crate) mod reflect;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod run;
mod runs_below;
pub(crate) mod schema;
#[cfg(feature = "server")]
pub(crate) mod serve;
#[cfg(not(feature = "server"))]
#[path = "without_server.rs"]
pub(crate) mod serve;
pub(crate) mod share;
pub(crate) mod show;
mod versus;
pub(crate) mod watch;
