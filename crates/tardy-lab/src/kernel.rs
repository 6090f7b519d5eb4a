//! Kernels to boot: what was asked for, and what was found.

use std::path::PathBuf;

use crate::arch::Arch;

/// A kernel that can be booted: its files are on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// As a person asked for it, such as `debian:6.12-rt` or `debian:6.12,append='preempt=none'`.
    pub spec: String,
    /// Its processor.
    pub arch: Arch,
    /// As `uname -r` will say, such as `6.12.117+deb12-rt-amd64`.
    pub release: String,
    /// The distribution's package and its exact version; absent for a kernel given by path.
    pub package: Option<String>,
    /// The image that the emulator boots.
    pub image: PathBuf,
    /// Its configuration, where it is known.
    pub config: Option<PathBuf>,
    /// The directory that holds its modules, such as `…/lib/modules/6.12.117+deb12-rt-amd64`; absent where it has
    /// none.
    pub modules: Option<PathBuf>,
    /// The directory that holds its device trees, such as `…/usr/lib/linux-image-6.1.0-56-arm64`.
    pub device_trees: Option<PathBuf>,
    /// Words added to its command line.
    pub append: String,
}
