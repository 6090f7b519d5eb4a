//! Switches on the real kernel: what it refuses, how it is set up and taken back, lists of all lengths, classifiers, what
//! stops the gates, and schedules that take each other's place.
//!
//! Each test boots one guest (`machine.rs`), runs a shell script in it, and goes by what that prints; `prelude.sh` has
//! what the scripts share. Frames come from the kernel's own generator (pktgen), and when and by which queue they leave
//! is what its trace says.

mod classifiers;
mod healing;
mod lifecycle;
mod lists;
pub(crate) mod machine;
mod openvswitch;
mod refusals;
mod replacement;
mod slots;
