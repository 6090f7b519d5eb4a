//! The sources of kernels: Debian's packages `linux-source-*`, each of which has one archive of a tree.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::apt::{Apt, remove_downloads};
use super::cache_directory::{create_directory, file_name, write_json};
use super::unpack::{self, Scratch};
use super::{Notice, PackageError, PackageStore, PackageVersion, version};
use crate::arch::Arch;

/// The file that marks a directory as a complete source.
const MANIFEST: &str = "source.json";
/// The directory of the tree next to it.
const TREE: &str = "tree";

/// An unpacked source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// The package.
    pub package: PackageVersion,
    /// The SHA-256 of the package archive in hexadecimal, which apt compared with the signed list.
    pub sha256: String,
    /// The top of the tree.
    pub tree: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    package: PackageVersion,
    sha256: String,
}

impl PackageStore {
    /// The source of a series such as `6.12`, unpacked. Without `version` this is the newest in the cache, or the newest in the archive
    /// if the cache has none.
    ///
    /// # Errors
    /// If neither cache nor archive has it, or fetching or unpacking fails.
    pub fn kernel_source(
        &self,
        series: &str,
        version: Option<&str>,
        notice: Notice<'_>,
    ) -> Result<KernelSource, PackageError> {
        let name = format!("linux-source-{series}");
        if let Some(source) = self.cached_source(&name, version) {
            return Ok(source);
        }
        let _lock = self.cache.lock(notice)?;
        if let Some(source) = self.cached_source(&name, version) {
            return Ok(source);
        }
        // The package is for all processors.
        let apt = Apt::prepare(self, Arch::of_this_program().unwrap_or(Arch::X86_64))?;
        apt.update_unless_current(notice)?;
        let package = apt.newest(&name, version)?;
        let scratch = Scratch::new(&self.cache)?;
        let archive = apt.download(&package, scratch.path(), notice)?;
        let unpacked = scratch.path().join("package");
        unpack::extract(&self.programs, &archive.path, &unpacked)?;
        remove_downloads(scratch.path())?;
        notice(&format!("unpacking {name} {} (2 GB)", package.version));
        let tree = scratch.path().join(TREE);
        create_directory(&tree)?;
        let packed = packed_tree(&unpacked.join("usr/src"), &package)?;
        self.programs.tar(&format!("unpacking {name}"), packed.as_os_str(), tree.as_os_str())?;
        fs::remove_dir_all(&unpacked).map_err(PackageError::file("removing", &unpacked))?;
        let place = self.cache.sources().join(file_name(&package.name, &package.version));
        let manifest = Manifest { package: package.clone(), sha256: archive.sha256.clone() };
        write_json(&scratch.path().join(MANIFEST), &manifest)?;
        scratch.move_to(&place)?;
        Ok(KernelSource { package, sha256: archive.sha256, tree: place.join(TREE) })
    }

    fn cached_source(&self, name: &str, version: Option<&str>) -> Option<KernelSource> {
        fs::read_dir(self.cache.sources())
            .ok()?
            .filter_map(|entry| read(&entry.ok()?.path()))
            .filter(|source| {
                source.package.name == name && version.is_none_or(|version| version == source.package.version)
            })
            .max_by(|a, b| version::compare(&a.package.version, &b.package.version))
    }
}

fn read(place: &Path) -> Option<KernelSource> {
    let Manifest { package, sha256 } = serde_json::from_slice(&fs::read(place.join(MANIFEST)).ok()?).ok()?;
    Some(KernelSource { package, sha256, tree: place.join(TREE) })
}

/// The archive of the tree, such as `linux-source-6.12.tar.xz`.
fn packed_tree(directory: &Path, package: &PackageVersion) -> Result<PathBuf, PackageError> {
    let start = format!("{}.tar", package.name);
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut archives = entries
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)));
    archives.next().ok_or_else(|| PackageError::Contents {
        package: package.to_string(),
        missing: format!("usr/src/{start}.xz"),
    })
}
