//! Debian's programs with all their dependencies.

use std::collections::BTreeSet;

use super::apt;
use super::{Notice, PackageError, PackageStore, ROOT, Unpacked, unpack};
use crate::arch::Arch;

impl PackageStore {
    /// Packages and their dependencies (Depends and Pre-Depends, not Recommends) in one directory. Cached packages are
    /// not updated, because their versions are part of a guest's identity.
    ///
    /// # Errors
    /// If the archive lacks one of them, or fetching or unpacking fails.
    pub fn fetch_tool_root(
        &self,
        arch: Arch,
        names: &[&str],
        notice: Notice<'_>,
    ) -> Result<Unpacked, PackageError> {
        let names: Vec<&str> = names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let place = self.cache.tools(arch).join(unpack::short_name(&names, &names.join(" ")));
        self.cached_or(arch, place, notice, |apt, directory, notice| {
            let mut packages = Vec::new();
            for archive in apt.download_with_dependencies(&names, directory, notice)? {
                packages.push(apt::package_of_archive(&archive)?);
                unpack::extract_over(&self.programs, &archive, &directory.join(ROOT))?;
            }
            apt::remove_downloads(directory)?;
            Ok(packages)
        })
    }
}
