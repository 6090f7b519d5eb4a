//! The lab: real kernels, no board, the same bytes every time.
//!
//! A guest is a kernel of a distribution, an initramfs with tardy in it, and an emulated machine whose clock counts
//! instructions. The guest's first program is tardy ([`guest::init`]); it lets the boot die down, runs `tardy run`,
//! hands the run files out through the emulator's own port, and ends the machine.
//!
//! [`kernel`] finds kernels, [`guest`] is all that happens inside, [`machine`] is what QEMU is told, [`session`] is
//! one guest from its start to its end as the host sees it, and [`experiment`] is one recipe on several kernels.
//!
//! The roads not taken: virtio devices and a root file system, whose interrupts come when the host gets round to
//! them, so that no two runs are the same; KVM as the default, whose latencies are the host's and not the guest's.

pub mod arch;
mod checksum;
pub mod crew;
pub mod experiment;
pub mod guest;
pub mod kernel;
pub mod machine;
pub mod packages;
pub mod session;
