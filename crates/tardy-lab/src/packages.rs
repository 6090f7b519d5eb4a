//! Debian packages: fetched, verified and unpacked into a cache, but not installed.
//!
//! The host's package manager stays unchanged: apt runs with its own state, lists and sources in the cache directory ([`apt`]),
//! for any architecture of a guest. From the host's configuration it uses only the settings for access to the archive (proxies,
//! retries, validity dates). Packages in the cache are found without apt.
//!
//! Alternatives not taken: reading the archive over HTTP, which would mean verifying its signatures in tardy; and
//! `dpkg --add-architecture`, which changes the host.

pub mod apt;
pub mod cache_directory;
pub mod cache_size;
pub mod kernel_source;
mod tool_root;
mod unpack;
pub mod version;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::arch::Arch;
use apt::{Apt, Mirrors, Programs};
use cache_directory::CacheDirectory;
pub(crate) use unpack::{Scratch, extract};

/// Called with one line for the user before each step that takes time.
pub type Notice<'a> = &'a mut dyn FnMut(&str);

/// A package and its exact version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackageVersion {
    /// Its name, such as `rt-tests`.
    pub name: String,
    /// Its version, such as `2.6-1.1`.
    pub version: String,
}

impl fmt::Display for PackageVersion {
    /// `NAME=VERSION`, as apt takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.version)
    }
}

/// Unpacked packages in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpacked {
    /// The directory that corresponds to `/`.
    pub root: PathBuf,
    /// Its packages, sorted by name.
    pub packages: Vec<PackageVersion>,
}

/// Why packages could not be fetched.
#[derive(Debug, Error)]
pub enum PackageError {
    /// Neither XDG_CACHE_HOME nor HOME is an absolute path.
    #[error("no directory for a cache: set XDG_CACHE_HOME or HOME to an absolute path")]
    NoCacheDirectory,
    /// The cache's path cannot be written in apt's configuration.
    #[error("the path of the cache directory {} contains a quote, a backslash or a control character, which apt cannot read: set XDG_CACHE_HOME to another directory", .0.display())]
    CachePath(PathBuf),
    /// A program is not installed.
    #[error(
        "{program}, which fetches Debian's packages, is not installed: install {package}, or give a kernel by path"
    )]
    MissingProgram {
        /// The program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// The keys that verify the archive are missing.
    #[error("the keys of Debian's archive are not at {}: install debian-archive-keyring", .0.display())]
    MissingKeyring(PathBuf),
    /// An environment variable is not the address of an archive.
    #[error(
        "{name}={value:?} is not the address of an archive; expected one such as http://deb.debian.org/debian"
    )]
    Mirror {
        /// The environment variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// An environment variable names something that is not a suite.
    #[error(
        "TARDY_DEBIAN_SUITES: {0:?} is not the name of a suite; expected names such as noble, noble-updates"
    )]
    Suite(String),
    /// No suite could be read.
    #[error("no suite of Debian's archive at {mirror} could be read; apt reports:\n{output}")]
    Unreachable {
        /// The archive's address.
        mirror: String,
        /// What apt wrote.
        output: String,
    },
    /// The archive does not have a package.
    #[error("Debian has no {package} for {} in the suites {suites}; apt reports:\n{output}", arch.debian_name())]
    NoSuchPackage {
        /// The package's name and version.
        package: String,
        /// The architecture.
        arch: Arch,
        /// The suites that were searched.
        suites: String,
        /// What apt wrote.
        output: String,
    },
    /// A program failed.
    #[error("{what}: {program} failed with {status} and reports:\n{output}")]
    Failed {
        /// The step.
        what: String,
        /// The program.
        program: &'static str,
        /// How the program ended.
        status: std::process::ExitStatus,
        /// What the program wrote.
        output: String,
    },
    /// A file operation failed.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// The step.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A package lacks a file.
    #[error("{package} does not contain {missing}")]
    Contents {
        /// The package.
        package: String,
        /// The missing file.
        missing: String,
    },
}

impl PackageError {
    /// For `map_err`: adds the step and the file to an I/O error.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

/// The cache and the programs that fill it.
#[derive(Clone, Debug)]
pub struct PackageStore {
    /// The directory of all packages.
    pub cache: CacheDirectory,
    /// The programs of apt and dpkg.
    pub programs: Programs,
    /// The archive.
    pub mirrors: Mirrors,
}

/// The file that lists the packages in a directory of the cache.
const MANIFEST: &str = "packages.json";
/// The directory of the unpacked files next to it.
const ROOT: &str = "root";

impl PackageStore {
    /// The cache of the user, and the programs on the search path.
    ///
    /// # Errors
    /// If the environment has no directory for a cache, or a mirror that is not an address.
    pub fn of_this_user() -> Result<Self, PackageError> {
        Ok(Self {
            cache: CacheDirectory::of_this_user()?,
            programs: Programs::default(),
            mirrors: Mirrors::of_environment()?,
        })
    }

    /// Returns one unpacked package without its dependencies, and fetches it if necessary. Without `version`, this is
    /// the newest package in the cache, or the newest in the archive if the cache has none.
    ///
    /// # Errors
    /// If neither cache nor archive has it, or fetching or unpacking fails.
    pub fn fetch_package(
        &self,
        arch: Arch,
        name: &str,
        version: Option<&str>,
        notice: Notice<'_>,
    ) -> Result<Unpacked, PackageError> {
        if let Some(unpacked) = self.cached_package(arch, name, version) {
            return Ok(unpacked);
        }
        let _lock = self.cache.lock(notice)?;
        if let Some(unpacked) = self.cached_package(arch, name, version) {
            return Ok(unpacked);
        }
        let apt = Apt::prepare(self, arch)?;
        apt.update_unless_current(notice)?;
        let package = apt.newest(name, version)?;
        let scratch = Scratch::new(&self.cache)?;
        let archive = apt.download(&package, scratch.path(), notice)?;
        unpack::extract(&self.programs, &archive.path, &scratch.path().join(ROOT))?;
        apt::remove_downloads(scratch.path())?;
        let place = self.package_place(arch, &package);
        self.keep(scratch, place, vec![package])
    }

    /// Unpacks several packages of given versions into one directory, without their dependencies: for example a
    /// kernel's headers, which are in three packages.
    ///
    /// # Errors
    /// As for [`PackageStore::fetch_package`].
    pub fn fetch_union(
        &self,
        arch: Arch,
        packages: &[PackageVersion],
        notice: Notice<'_>,
    ) -> Result<Unpacked, PackageError> {
        let place = self.cache.unions(arch).join(unpack::union_name(packages));
        self.cached_or(arch, place, notice, |apt, directory, notice| {
            for package in packages {
                let archive = apt.download(package, directory, notice)?;
                unpack::extract_over(&self.programs, &archive.path, &directory.join(ROOT))?;
                apt::remove_downloads(directory)?;
            }
            Ok(packages.to_vec())
        })
    }

    /// Returns the packages at `place`. If there are none, takes the lock, checks again, and calls `fill` to unpack the
    /// packages into a scratch directory.
    fn cached_or(
        &self,
        arch: Arch,
        place: PathBuf,
        notice: Notice<'_>,
        fill: impl FnOnce(&Apt<'_>, &Path, Notice<'_>) -> Result<Vec<PackageVersion>, PackageError>,
    ) -> Result<Unpacked, PackageError> {
        if let Some(unpacked) = read(&place) {
            return Ok(unpacked);
        }
        let _lock = self.cache.lock(notice)?;
        if let Some(unpacked) = read(&place) {
            return Ok(unpacked);
        }
        let apt = Apt::prepare(self, arch)?;
        apt.update_unless_current(notice)?;
        let scratch = Scratch::new(&self.cache)?;
        let packages = fill(&apt, scratch.path(), notice)?;
        self.keep(scratch, place, packages)
    }

    fn package_place(&self, arch: Arch, package: &PackageVersion) -> PathBuf {
        self.cache.packages(arch).join(cache_directory::file_name(&package.name, &package.version))
    }

    fn cached_package(&self, arch: Arch, name: &str, version: Option<&str>) -> Option<Unpacked> {
        let entries = fs::read_dir(self.cache.packages(arch)).ok()?;
        entries
            .filter_map(|entry| read(&entry.ok()?.path()))
            .filter(|unpacked| {
                let [package] = unpacked.packages.as_slice() else { return false };
                package.name == name && version.is_none_or(|version| version == package.version)
            })
            .max_by(|a, b| version::compare(&a.packages[0].version, &b.packages[0].version))
    }

    /// Writes the manifest and moves a scratch directory to its place in the cache.
    fn keep(
        &self,
        scratch: Scratch,
        place: PathBuf,
        mut packages: Vec<PackageVersion>,
    ) -> Result<Unpacked, PackageError> {
        packages.sort();
        cache_directory::write_json(&scratch.path().join(MANIFEST), &packages)?;
        scratch.move_to(&place)?;
        Ok(Unpacked { root: place.join(ROOT), packages })
    }
}

fn read(place: &Path) -> Option<Unpacked> {
    let packages: Vec<PackageVersion> = serde_json::from_slice(&fs::read(place.join(MANIFEST)).ok()?).ok()?;
    let root = place.join(ROOT);
    root.is_dir().then_some(Unpacked { root, packages })
}
