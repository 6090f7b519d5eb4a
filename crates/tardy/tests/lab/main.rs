//! The lab on real kernels.
//!
//! These tests take minutes and need an emulator, the distribution's kernels and a tardy for the guests, so `make test-lab`
//! runs them. Without the variable that it sets each test prints that it is skipped. Tests of one kernel share a boot
//! (`scripted.rs`): add a scene to a boot rather than a boot. A new test belongs in the file of its subject.

mod agreement;
mod answer_cost;
mod attach;
mod attach_cost;
mod c_program;
mod causes;
mod cost;
mod documented;
mod early_ends;
mod explain;
mod explain_disturbances;
mod faults;
mod guests;
mod hostile_guest;
mod hostile_users;
mod isolated;
mod noise;
mod own_kernel;
mod own_modules;
mod pins;
mod repeated;
mod restore;
mod round_trip;
mod rtla;
mod runs;
mod same_bytes;
mod scripted;
mod semihosting_program;
mod switch;
mod two_flows;
mod upset;
mod which_kernel;
mod wiggle;
