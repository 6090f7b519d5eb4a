//! The code that runs inside a guest, and the files that a guest is made of.

pub mod cpio;
pub mod init;
pub mod initramfs;
pub mod libraries;
pub mod messages;
pub mod orders;
mod peer_namespace;
pub mod thread_cost;
mod wait_until_idle;
