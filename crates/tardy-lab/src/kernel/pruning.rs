//! Reduces the cache to what guests need.

use std::fs;

use super::cache::{Manifest, list};
use super::kept_files;
use crate::arch::Arch;
use crate::packages::cache_directory::CacheDirectory;
use crate::packages::{Notice, PackageError};

/// Reduces the cached kernels to what guests need: packs images, and removes the modules that are neither in `keep` nor needed by
/// one in it, which are fetched again when a recipe names them. Returns the kernels that became smaller.
///
/// # Errors
/// If a file cannot be read or written.
pub fn prune(
    cache: &CacheDirectory,
    arch: Arch,
    keep: &[String],
    notice: Notice<'_>,
) -> Result<Vec<Manifest>, PackageError> {
    let _lock = cache.lock(notice)?;
    let mut pruned = Vec::new();
    for kernel in list(cache, arch) {
        if kept_files::reduce(&kernel, keep)? {
            pruned.push(kernel.manifest);
        }
    }
    Ok(pruned)
}

/// Removes the headers of kernels, which are fetched again when a module of tardy is built.
///
/// # Errors
/// If they cannot be removed.
pub fn remove_headers(cache: &CacheDirectory, arch: Arch, notice: Notice<'_>) -> Result<(), PackageError> {
    let place = cache.unions(arch);
    if !place.exists() {
        return Ok(());
    }
    let _lock = cache.lock(notice)?;
    fs::remove_dir_all(&place).map_err(PackageError::file("removing", &place))
}
