//! Programs of the distribution with everything that they need to run.

use std::collections::BTreeSet;

use super::apt::{self, Apt};
use super::{Notice, PackageError, PackageStore, ROOT, Scratch, Unpacked, read, unpack};
use crate::arch::Arch;

impl PackageStore {
    /// Packages with all that they depend on (Depends and Pre-Depends, not Recommends), unpacked over each other. What
    /// is cached stays as it is: its versions are part of a guest's identity.
    ///
    /// # Errors
    /// When the archive lacks one of them, and when fetching or unpacking fails.
    pub fn fetch_tool_root(
        &self,
        arch: Arch,
        names: &[&str],
        notice: Notice<'_>,
    ) -> Result<Unpacked, PackageError> {
        let names: Vec<&str> = names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let place = self.cache.tools(arch).join(unpack::short_name(&names, &names.join(" ")));
        if let Some(unpacked) = read(&place) {
            return Ok(unpacked);
        }
        let _lock = self.cache.lock(notice)?;
        if let Some(unpacked) = read(&place) {
            return Ok(unpacked);
        }
        let apt = Apt::prepare(self, arch)?;
        apt.update_unless_fresh(notice)?;
        let scratch = Scratch::new(&self.cache)?;
        let mut packages = Vec::new();
        for archive in apt.download_with_dependencies(&names, scratch.path(), notice)? {
            packages.push(apt::package_of_archive(&archive)?);
            unpack::extract_over(&self.programs, &archive, &scratch.path().join(ROOT))?;
        }
        apt::remove_downloads(scratch.path())?;
        self.keep(scratch, place, packages)
    }
}
