//! All that happens inside a guest, and what it is made of.

pub mod cpio;
pub mod init;
pub mod initramfs;
pub mod libraries;
pub mod orders;
mod peer;
mod settle;
pub mod thread_cost;
pub mod words;
