//! The distribution's kernels that are on this machine.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Kernel;
use super::debian;
use super::spec::{DebianKernel, KernelSpec, Source};
use crate::arch::Arch;
use crate::packages::cache_directory::CacheDirectory;
use crate::packages::{Notice, PackageError};

/// The file that makes a directory a kernel.
pub(super) const MANIFEST: &str = "kernel.json";

/// What is written beside an unpacked kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The package, such as `linux-image-6.12.117+deb12-rt-amd64`.
    pub package: String,
    /// Its version, such as `6.12.117-1~deb12u1`.
    pub version: String,
    /// The processor.
    pub arch: Arch,
    /// The first two numbers of its version, such as `6.12`.
    pub series: String,
    /// Whether it is Debian's PREEMPT_RT kernel.
    pub rt: bool,
    /// As `uname -r` will say.
    pub release: String,
    /// The package archive's checksum, in hexadecimal: apt held it against the signed list.
    pub package_sha256: String,
    /// The image's file in `boot`: the package's own, or the kernel that was unpacked from it.
    pub image: String,
    /// The image's, computed here.
    pub image_sha256: String,
    /// The image's length, in bytes.
    pub image_bytes: u64,
}

/// A kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedKernel {
    /// Its directory.
    pub directory: PathBuf,
    /// What is known of it.
    pub manifest: Manifest,
}

impl CachedKernel {
    /// Reads a kernel's directory; absent where it is not a whole kernel.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let manifest: Manifest = serde_json::from_slice(&fs::read(directory.join(MANIFEST)).ok()?).ok()?;
        let is_plain =
            [&manifest.release, &manifest.image].iter().all(|name| !name.is_empty() && !name.contains('/'));
        let kernel = Self { directory: directory.to_owned(), manifest };
        // After a power cut a file may be shorter than it was.
        let length = fs::metadata(kernel.image()).ok()?.len();
        (is_plain && length == kernel.manifest.image_bytes).then_some(kernel)
    }

    fn image(&self) -> PathBuf {
        self.directory.join("boot").join(&self.manifest.image)
    }

    /// Whether this is what was asked for.
    pub(super) fn answers(&self, wanted: &DebianKernel) -> bool {
        self.manifest.series == wanted.series
            && self.manifest.rt == wanted.rt
            && wanted.exact.as_ref().is_none_or(|exact| *exact == self.manifest.version)
    }

    /// The order of preference: later is better.
    pub(super) fn preference(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.manifest, &other.manifest);
        debian::preference((&a.package, &a.version), (&b.package, &b.version))
    }

    /// As something that can be booted.
    pub fn kernel(&self, spec: &KernelSpec) -> Kernel {
        let Manifest { package, version, arch, release, .. } = &self.manifest;
        let existing = |path: PathBuf| path.exists().then_some(path);
        Kernel {
            spec: spec.to_string(),
            arch: *arch,
            release: release.clone(),
            package: Some(format!("{package}={version}")),
            image: self.image(),
            config: existing(self.directory.join("boot").join(format!("config-{release}"))),
            modules: existing(self.directory.join("lib/modules").join(release)),
            device_trees: existing(self.directory.join("usr/lib").join(format!("linux-image-{release}"))),
            append: spec.append.clone(),
        }
    }
}

/// All kernels in the cache for a processor, the preferred one of each series last.
pub fn list(cache: &CacheDirectory, arch: Arch) -> Vec<CachedKernel> {
    let Ok(entries) = fs::read_dir(cache.kernels(arch)) else { return Vec::new() };
    let mut kernels: Vec<CachedKernel> =
        entries.filter_map(|entry| CachedKernel::read(&entry.ok()?.path())).collect();
    kernels.sort_by(|a, b| a.manifest.rt.cmp(&b.manifest.rt).then_with(|| a.preference(b)));
    kernels
}

/// The preferred one of the kernels in the cache that answer a wish.
pub fn best(cache: &CacheDirectory, arch: Arch, wanted: &DebianKernel) -> Option<CachedKernel> {
    list(cache, arch).into_iter().filter(|kernel| kernel.answers(wanted)).max_by(CachedKernel::preference)
}

/// Removes the cached kernels that answer a wish, all versions of them unless it names one, and says which they were.
///
/// # Errors
/// When a directory cannot be removed.
pub fn forget(
    cache: &CacheDirectory,
    arch: Arch,
    spec: &KernelSpec,
    notice: Notice<'_>,
) -> Result<Vec<Manifest>, PackageError> {
    let Source::Debian(wanted) = &spec.source else { return Ok(Vec::new()) };
    let _lock = cache.lock(notice)?;
    let mut removed = Vec::new();
    for kernel in list(cache, arch).into_iter().filter(|kernel| kernel.answers(wanted)) {
        // Without its manifest it is no kernel, however far the rest comes.
        let manifest = kernel.directory.join(MANIFEST);
        fs::remove_file(&manifest).map_err(PackageError::file("removing", &manifest))?;
        fs::remove_dir_all(&kernel.directory).map_err(PackageError::file("removing", &kernel.directory))?;
        removed.push(kernel.manifest);
    }
    Ok(removed)
}
