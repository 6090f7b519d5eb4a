//! The lab: runs real kernels in an emulated machine. Its results are reproducible, byte for byte.
//!
//! A guest is a distribution's kernel, an initramfs with a measuring program in it, and an emulated machine whose clock counts
//! instructions. [`tardy_init`] has the code that runs inside.
//!
//! [`kernel`] finds kernels, [`guest`] builds the initramfs, [`machine`] generates QEMU's arguments, [`session`] runs
//! one guest from the host's side, [`parallel_guests`] runs several, and [`experiment`] runs one recipe on one kernel. [`replay`] runs
//! a guest again, from what [`kept_guests`] has of it, with an [`observer`] in the emulator.
//!
//! Alternatives not taken: virtio devices and a root file system on a disk, because their interrupts depend on the
//! host's timing and runs would not be reproducible; KVM by default, because it measures the host's latencies and not
//! the guest's.

pub mod arch;
pub mod checksum;
pub mod experiment;
pub mod guest;
mod guest_directory;
pub mod kept_guests;
pub mod kernel;
pub mod machine;
pub mod observer;
pub mod packages;
pub mod parallel_guests;
pub mod replay;
pub mod session;
