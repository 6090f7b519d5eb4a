//! Debian's kernels on this machine.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Kernel;
use super::image_file::{ImageFile, PACKED};
use super::preference::preference;
use super::spec::{DebianKernel, KernelSpec, Source};
use crate::arch::Arch;
use crate::packages::cache_directory::CacheDirectory;
use crate::packages::{Notice, PackageError, PackageVersion};

/// The file that marks a directory as a complete kernel.
pub(super) const MANIFEST: &str = "kernel.json";

/// The description that is kept with an unpacked kernel.
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
    /// The release as in `uname -r`.
    pub release: String,
    /// The SHA-256 of the package archive in hexadecimal, which apt compared with the signed list.
    pub package_sha256: String,
    /// The image's file name in `boot`.
    pub image: String,
    /// The SHA-256 of the image that is booted, in hexadecimal; a packed image is hashed unpacked.
    pub image_sha256: String,
    /// The length of the image's file, in bytes.
    pub image_bytes: u64,
    /// The package with all of its modules, of which the cache has only some; `None` if it has all.
    #[serde(default)]
    pub modules_package: Option<PackageVersion>,
}

impl Manifest {
    pub(super) fn package_version(&self) -> PackageVersion {
        PackageVersion { name: self.package.clone(), version: self.version.clone() }
    }
}

/// A kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedKernel {
    /// Its directory.
    pub directory: PathBuf,
    /// Its description.
    pub manifest: Manifest,
}

impl CachedKernel {
    /// Reads a kernel's directory; `None` if it is not a complete kernel.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let manifest: Manifest = serde_json::from_slice(&fs::read(directory.join(MANIFEST)).ok()?).ok()?;
        let is_plain =
            [&manifest.release, &manifest.image].iter().all(|name| !name.is_empty() && !name.contains('/'));
        let kernel = Self { directory: directory.to_owned(), manifest };
        // After a power failure the file may be too short.
        let length = fs::metadata(kernel.image().path).ok()?.len();
        (is_plain && length == kernel.manifest.image_bytes).then_some(kernel)
    }

    pub(super) fn image(&self) -> ImageFile {
        let Manifest { image, image_sha256, .. } = &self.manifest;
        let packed = image.ends_with(PACKED).then(|| image_sha256.clone());
        ImageFile { path: self.directory.join("boot").join(image), packed }
    }

    /// Whether this is a kernel that `wanted` names.
    pub(super) fn matches(&self, wanted: &DebianKernel) -> bool {
        self.manifest.series == wanted.series
            && self.manifest.rt == wanted.rt
            && wanted.exact.as_ref().is_none_or(|exact| *exact == self.manifest.version)
    }

    /// The order of preference: the greater kernel is used.
    pub(super) fn preference(&self, other: &Self) -> Ordering {
        preference(&self.manifest.package_version(), &other.manifest.package_version())
    }

    /// The kernel, to be booted.
    pub fn kernel(&self, spec: &KernelSpec) -> Kernel {
        let Manifest { arch, release, .. } = &self.manifest;
        let existing = |path: PathBuf| path.exists().then_some(path);
        Kernel {
            spec: spec.to_string(),
            arch: *arch,
            release: release.clone(),
            package: Some(self.manifest.package_version()),
            build: None,
            image: self.image(),
            config: existing(self.directory.join("boot").join(format!("config-{release}"))),
            modules: existing(self.directory.join("lib/modules").join(release)),
            device_trees: existing(self.directory.join("usr/lib").join(format!("linux-image-{release}"))),
            append: spec.append.clone(),
        }
    }
}

/// The cached kernels for a processor. The preferred one of each series is the last of the series.
pub fn list(cache: &CacheDirectory, arch: Arch) -> Vec<CachedKernel> {
    let Ok(entries) = fs::read_dir(cache.kernels(arch)) else { return Vec::new() };
    let mut kernels: Vec<CachedKernel> =
        entries.filter_map(|entry| CachedKernel::read(&entry.ok()?.path())).collect();
    kernels.sort_by(|a, b| a.manifest.rt.cmp(&b.manifest.rt).then_with(|| a.preference(b)));
    kernels
}

/// The preferred cached kernel that `wanted` names.
pub fn best(cache: &CacheDirectory, arch: Arch, wanted: &DebianKernel) -> Option<CachedKernel> {
    list(cache, arch).into_iter().filter(|kernel| kernel.matches(wanted)).max_by(CachedKernel::preference)
}

/// Removes the cached kernels that `spec` names, in all versions unless it names one, and returns them.
///
/// # Errors
/// If a directory cannot be removed.
pub fn remove(
    cache: &CacheDirectory,
    arch: Arch,
    spec: &KernelSpec,
    notice: Notice<'_>,
) -> Result<Vec<Manifest>, PackageError> {
    let Source::Debian(wanted) = &spec.source else { return Ok(Vec::new()) };
    let _lock = cache.lock(notice)?;
    let mut removed = Vec::new();
    for kernel in list(cache, arch).into_iter().filter(|kernel| kernel.matches(wanted)) {
        // Without its manifest the directory is not a kernel, even if removing the rest fails.
        let manifest = kernel.directory.join(MANIFEST);
        fs::remove_file(&manifest).map_err(PackageError::file("removing", &manifest))?;
        fs::remove_dir_all(&kernel.directory).map_err(PackageError::file("removing", &kernel.directory))?;
        removed.push(kernel.manifest);
    }
    Ok(removed)
}
