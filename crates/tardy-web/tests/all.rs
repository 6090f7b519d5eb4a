//! The tests of all files: a program each would take minutes to link.

mod bench;
mod files;
mod opening;
mod sharing;
mod uses;
