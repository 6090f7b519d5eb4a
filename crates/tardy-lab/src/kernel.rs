//! Kernels to boot: what was asked for, and what was found.
//!
//! A kernel is one of the distribution's ([`debian`]), fetched once and kept in the [`cache`], or files of one's
//! own ([`own`]). [`modules`] are what is loaded into it, some of them tardy's own ([`own_modules`]).

pub mod cache;
pub mod config;
pub mod debian;
pub mod image;
pub mod listing;
pub mod modules;
pub mod own;
pub mod own_modules;
pub mod spec;
pub mod vmlinux;

use std::path::PathBuf;

use thiserror::Error;

use crate::arch::Arch;
use crate::packages::{Notice, PackageError, PackageStore};
use spec::Source;
pub use spec::{KernelSpec, SpecError};

/// A kernel that can be booted: its files are on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// As a person asked for it, such as `debian:6.12-rt` or `debian:6.12,append='preempt=none'`.
    pub spec: String,
    /// Its processor.
    pub arch: Arch,
    /// As `uname -r` will say, such as `6.12.117+deb12-rt-amd64`.
    pub release: String,
    /// The distribution's package and its exact version, as `NAME=VERSION`; absent for a kernel given by path.
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

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// Packages could not be had.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// The archive has no such kernel.
    #[error(
        "Debian has no {spec} for {} in the suites {suites}; there are: {there}. (An older version: set \
         TARDY_DEBIAN_MIRROR and TARDY_DEBIAN_SECURITY_MIRROR to a day of snapshot.debian.org; any other kernel: name \
         it by path)",
        arch.debian_name()
    )]
    NotOffered {
        /// What was asked for.
        spec: String,
        /// For this processor.
        arch: Arch,
        /// Where it was looked for.
        suites: String,
        /// What there is instead.
        there: String,
    },
    /// A file is no kernel that can be booted.
    #[error("{}: {error}", image.display())]
    Image {
        /// The file.
        image: PathBuf,
        /// What it is not.
        error: image::ImageError,
    },
    /// A kernel for another processor than the guest's.
    #[error("{} is a kernel for {}, and the guest's processor is {}: name another kernel or another machine", image.display(), is.name(), wanted.name())]
    Arch {
        /// The file.
        image: PathBuf,
        /// What it is for.
        is: Arch,
        /// What it should be for.
        wanted: Arch,
    },
    /// One of the paths of a kernel of one's own is not what it should be.
    #[error("{what} {}: {problem}", path.display())]
    Path {
        /// Which of them.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// Finds the kernel that `spec` means, for a guest with the processor `arch`.
///
/// Of Debian's kernels the newest cached one of the series is taken, without asking anybody; if none is cached, or if
/// `refresh`, the newest that Debian offers is fetched. `notice` is told what takes time.
///
/// # Errors
/// When there is no such kernel, and when fetching it fails.
pub fn find(spec: &KernelSpec, arch: Arch, refresh: bool, notice: Notice<'_>) -> Result<Kernel, KernelError> {
    match &spec.source {
        Source::Own(own) => own::find(spec, own, arch),
        Source::Debian(_) => find_in(&PackageStore::of_this_user()?, spec, arch, refresh, notice),
    }
}

/// As [`find`], with a cache of one's own.
///
/// # Errors
/// As [`find`]'s.
pub fn find_in(
    store: &PackageStore,
    spec: &KernelSpec,
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Kernel, KernelError> {
    match &spec.source {
        Source::Own(own) => own::find(spec, own, arch),
        Source::Debian(wanted) => debian::find(store, spec, wanted, arch, refresh, notice),
    }
}
