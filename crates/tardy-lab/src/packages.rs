//! Packages of the distribution: fetched, checked and unpacked into a cache, never installed.
//!
//! The host's package manager is not touched: apt runs with a state, lists and sources of its own under the cache
//! directory ([`apt`]), for whichever architecture a guest needs. Only what says how to reach an archive (proxies,
//! retries, dates) is taken from the host's configuration. What the cache holds is found without apt.
//!
//! The roads not taken: reading the archive over HTTP ourselves, which would mean to check signatures ourselves;
//! and `dpkg --add-architecture`, which changes the host.

pub mod apt;
pub mod cache_directory;
mod tool_root;
mod unpack;
pub mod version;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::arch::Arch;
use apt::{Apt, Mirrors, Programs};
use cache_directory::CacheDirectory;
pub(crate) use unpack::{Scratch, extract};

/// Takes one line at a time that tells a person what goes on.
pub type Notice<'a> = &'a mut dyn FnMut(&str);

/// A package and its exact version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackageVersion {
    /// Its name, such as `rt-tests`.
    pub name: String,
    /// Its version, such as `2.6-1.1`.
    pub version: String,
}

/// Packages that are unpacked in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpacked {
    /// The directory that stands for `/`.
    pub root: PathBuf,
    /// What is in it, by name.
    pub packages: Vec<PackageVersion>,
}

/// Why packages could not be had.
#[derive(Debug, Error)]
pub enum PackageError {
    /// Neither XDG_CACHE_HOME nor HOME says where the cache is.
    #[error("no place for a cache: set XDG_CACHE_HOME or HOME to an absolute path")]
    NoCacheDirectory,
    /// A path that apt's configuration cannot hold.
    #[error("the cache directory {} has a quote, a backslash or a control character in its name, which apt cannot read: set XDG_CACHE_HOME to another", .0.display())]
    CachePath(PathBuf),
    /// A program is not on this machine.
    #[error(
        "{program} is not on this machine, and Debian's packages are fetched with it: install {package}, or name a kernel by path"
    )]
    MissingProgram {
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The keys that the archive is checked with are missing.
    #[error("the keys of Debian's archive are not at {}: install debian-archive-keyring", .0.display())]
    MissingKeyring(PathBuf),
    /// An archive address that is none.
    #[error("{name}={value:?} is no address of an archive: write one such as http://deb.debian.org/debian")]
    Mirror {
        /// The environment variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// No suite could be read.
    #[error(
        "no suite of Debian's archive at {mirror} answered, so nothing new can be had; apt says:\n{said}"
    )]
    Unreachable {
        /// Where it was looked for.
        mirror: String,
        /// In apt's words.
        said: String,
    },
    /// A package that the archive does not have.
    #[error("Debian has no {package} for {} in the suites {suites}; apt says:\n{said}", arch.debian_name())]
    NoSuchPackage {
        /// As asked for.
        package: String,
        /// For this architecture.
        arch: Arch,
        /// The suites that were looked in.
        suites: String,
        /// In apt's words.
        said: String,
    },
    /// A program failed.
    #[error("{what}: {program} ended with {status} and says:\n{said}")]
    Failed {
        /// What was being done.
        what: String,
        /// The program.
        program: &'static str,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it wrote.
        said: String,
    },
    /// The file system said no.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What was being done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A package without what it should hold.
    #[error("{package} has no {missing} in it, so it is not what it was taken for")]
    Contents {
        /// The package.
        package: String,
        /// What was looked for.
        missing: String,
    },
}

impl PackageError {
    /// For `map_err`: an I/O error with what was being done to which file.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

/// The cache, and the programs that fill it.
#[derive(Clone, Debug)]
pub struct PackageStore {
    /// Where everything is kept.
    pub cache: CacheDirectory,
    /// apt and dpkg.
    pub programs: Programs,
    /// Where packages come from.
    pub mirrors: Mirrors,
}

/// What is written beside an unpacked package.
const MANIFEST: &str = "packages.json";
/// The unpacked files beside it.
const ROOT: &str = "root";

impl PackageStore {
    /// The cache of the user who runs this, filled with the programs on the search path.
    ///
    /// # Errors
    /// When the environment names no place for a cache, or something for a mirror that is none.
    pub fn of_this_user() -> Result<Self, PackageError> {
        Ok(Self {
            cache: CacheDirectory::of_this_user()?,
            programs: Programs::default(),
            mirrors: Mirrors::of_environment()?,
        })
    }

    /// One package, without what it depends on, unpacked; `version` to the letter, or the newest that the cache holds,
    /// or if it holds none the newest that the archive offers.
    ///
    /// # Errors
    /// When neither cache nor archive has it, and when fetching or unpacking fails.
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
        apt.update_unless_fresh(notice)?;
        let package = apt.newest(name, version)?;
        let scratch = Scratch::new(&self.cache)?;
        let archive = apt.download(&package, scratch.path(), notice)?;
        unpack::extract(&self.programs, &archive.path, &scratch.path().join(ROOT))?;
        apt::remove_downloads(scratch.path())?;
        let place = self.package_place(arch, &package);
        self.keep(scratch, place, vec![package])
    }

    /// Several packages of given versions, without what they depend on, unpacked over each other: such as a kernel's
    /// headers, whose files are in three packages.
    ///
    /// # Errors
    /// As [`PackageStore::fetch_package`]'s.
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

    /// What is unpacked at `place`; or what `fill` unpacks into the directory that it is given, once it has been seen
    /// under the lock that no other process was faster.
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
        apt.update_unless_fresh(notice)?;
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

    /// Moves what a scratch directory holds to its place in the cache, its manifest last.
    fn keep(
        &self,
        scratch: Scratch,
        place: PathBuf,
        mut packages: Vec<PackageVersion>,
    ) -> Result<Unpacked, PackageError> {
        packages.sort();
        cache_directory::write_json(&scratch.path().join(MANIFEST), &packages)?;
        scratch.become_directory(&place)?;
        Ok(Unpacked { root: place.join(ROOT), packages })
    }
}

fn read(place: &Path) -> Option<Unpacked> {
    let packages: Vec<PackageVersion> = serde_json::from_slice(&fs::read(place.join(MANIFEST)).ok()?).ok()?;
    let root = place.join(ROOT);
    root.is_dir().then_some(Unpacked { root, packages })
}
