//! Builds of small sources that have the targets of a kernel's Makefile, by make, git and the compiler of this machine.

mod builds;
mod fake_source;
mod searches;
