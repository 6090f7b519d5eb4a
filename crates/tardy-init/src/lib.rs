//! The inside of a lab's guest: its first program, which carries out orders, and the protocol with the host.
//!
//! The host writes [`orders`] into the initramfs. [`first_program`] waits until the CPUs are idle after the boot, runs the commands, sends
//! [`messages`] and result files through the emulator's port, and shuts the machine down. `tardy-lab` has the host's side.

pub mod first_program;
pub mod messages;
pub mod orders;
mod peer_namespace;
pub mod thread_cost;
mod wait_until_idle;
