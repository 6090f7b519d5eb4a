//! One module for each command: it reads the input, calls the crates that do the work, and prints the result.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod export;
mod file_tree;
pub(crate) mod generate;
pub(crate) mod gpio;
pub(crate) mod gpio_stimulate;
pub(crate) mod import;
pub(crate) mod inner;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod name;
pub(crate) mod origin;
pub(crate) mod output;
mod overview;
pub(crate) mod plot;
pub(crate) mod programs;
mod progress;
mod published;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod tsn;
