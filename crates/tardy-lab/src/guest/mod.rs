//! The files that a guest is made of.

pub mod cpio;
pub mod initramfs;
pub mod libraries;
