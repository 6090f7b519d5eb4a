//! The lab: runs real kernels in an emulated machine. Its results are reproducible, byte for byte.
//!
//! A guest is a distribution's kernel, an initramfs with tardy in it, and an emulated machine whose clock counts
//! instructions. tardy is the guest's first program ([`guest::init`]): it waits until the CPUs are idle after the boot,
//! runs `tardy run`, sends the run files through the emulator's port, and shuts the machine down.
//!
//! [`kernel`] finds kernels, [`guest`] runs inside the guest, [`machine`] generates QEMU's arguments, [`session`] runs
//! one guest from the host's side, [`parallel_guests`] runs several, and [`experiment`] runs one recipe on one kernel.
//!
//! Alternatives not taken: virtio devices and a root file system on a disk, because their interrupts depend on the
//! host's timing and runs would not be reproducible; KVM by default, because it measures the host's latencies and not
//! the guest's.

pub mod arch;
mod checksum;
pub mod experiment;
pub mod guest;
pub mod kernel;
pub mod machine;
pub mod packages;
pub mod parallel_guests;
pub mod session;
