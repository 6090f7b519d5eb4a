//! apt with a private state: lists the archive's packages and downloads verified ones.
//!
//! apt verifies the archive's signature against Debian's keyring, the lists against the signature and each package
//! against the lists. All configuration is in one file, given by APT_CONFIG. It disables the host's directories of
//! configuration, sources, pins, keys and hooks, so none of these is used or changed.

mod configuration;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::cache_directory::{create_directory, write_json, write_whole};
use super::{Notice, PackageError, PackageStore, PackageVersion, version};
use crate::arch::Arch;
pub use configuration::{Mirrors, Suite};
pub use programs::Programs;

/// How long the lists count as current. `--refresh` updates them earlier.
const CURRENT_FOR: Duration = Duration::from_secs(3600);
/// The directory of downloaded archives, in the directory that is being filled.
const DOWNLOAD: &str = "download";

/// The last update of the lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListUpdate {
    /// Seconds since 1970.
    pub at_seconds: u64,
    /// The sources list.
    sources: String,
    /// The suites that have lists.
    pub suites: Vec<String>,
}

/// A version of a package in the archive, and a suite that has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Available {
    /// The package.
    pub package: PackageVersion,
    /// Such as `bookworm-security`.
    pub suite: String,
}

/// A package's archive file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Downloaded {
    /// The `.deb`.
    pub(crate) path: PathBuf,
    /// The SHA-256 that apt verified, in hexadecimal.
    pub(crate) sha256: String,
}

/// apt for one architecture.
#[derive(Debug)]
pub struct Apt<'a> {
    store: &'a PackageStore,
    arch: Arch,
    /// The directory of its private state.
    state: PathBuf,
    sources: String,
}

impl<'a> Apt<'a> {
    /// Writes the configuration. The cache must be locked.
    ///
    /// # Errors
    /// If the archive's keys or apt are missing, or the cache cannot be written.
    pub fn prepare(store: &'a PackageStore, arch: Arch) -> Result<Self, PackageError> {
        let state = store.cache.apt(arch);
        // First, because a missing apt is a more useful error than a missing keyring.
        let inherited = store.programs.host_configuration()?;
        if !store.mirrors.keyring.exists() {
            return Err(PackageError::MissingKeyring(store.mirrors.keyring.clone()));
        }
        let sources = configuration::sources(&store.mirrors);
        for directory in ["state/lists/partial", "cache/archives/partial"] {
            create_directory(&state.join(directory))?;
        }
        write_whole(&state.join("apt.conf"), configuration::apt_conf(&state, arch, &inherited)?.as_bytes())?;
        write_whole(&state.join("sources.list"), sources.as_bytes())?;
        write_whole(&state.join("preferences"), configuration::PREFERENCES.as_bytes())?;
        write_whole(&state.join("state/status"), b"")?;
        Ok(Self { store, arch, state, sources })
    }

    /// The last update; `None` if there was none from these sources.
    pub fn last_update(&self) -> Option<ListUpdate> {
        let update: ListUpdate =
            serde_json::from_slice(&fs::read(self.state.join("asked.json")).ok()?).ok()?;
        (update.sources == self.sources).then_some(update)
    }

    /// Updates the lists unless they are current.
    ///
    /// # Errors
    /// As for [`Apt::update`].
    pub fn update_unless_current(&self, notice: Notice<'_>) -> Result<ListUpdate, PackageError> {
        match self.last_update() {
            Some(update) if is_current(update.at_seconds, now()) => Ok(update),
            _ => self.update(notice),
        }
    }

    /// Updates the lists. Suites that cannot be read are left out, and `notice` receives their names.
    ///
    /// # Errors
    /// If no suite can be read.
    pub fn update(&self, notice: Notice<'_>) -> Result<ListUpdate, PackageError> {
        notice(&format!("updating the lists of Debian's archive for {}", self.arch.debian_name()));
        let output = self.run("apt-get", &["-q", "-o", "APT::Update::Error-Mode=any", "update"], None)?;
        let suites = self.suites()?;
        if !output.status.success() {
            let errors = output.error_output();
            // There may be lists of an earlier update.
            let is_reachable =
                output.stdout.lines().any(|line| line.starts_with("Get:") || line.starts_with("Hit:"));
            if !is_reachable || suites.is_empty() {
                return Err(PackageError::Unreachable {
                    mirror: self.store.mirrors.main.clone(),
                    output: errors,
                });
            }
            let wanted = self.store.mirrors.suites.iter().map(|suite| suite.name.as_str());
            let missing: Vec<&str> =
                wanted.filter(|name| !suites.iter().any(|suite| suite == name)).collect();
            if missing.is_empty() {
                notice(&format!(
                    "not all of Debian's archive could be read, so some lists may be outdated:\n{errors}"
                ));
            } else {
                notice(&format!("left out because they could not be read: {}\n{errors}", missing.join(", ")));
            }
        }
        let update = ListUpdate { at_seconds: now(), sources: self.sources.clone(), suites };
        write_json(&self.state.join("asked.json"), &update)?;
        Ok(update)
    }

    /// The suites that have lists.
    fn suites(&self) -> Result<Vec<String>, PackageError> {
        let arguments = ["indextargets", "--format", "$(RELEASE)", "Identifier: Packages"];
        let output = self.run("apt-get", &arguments, None)?.expect("listing the suites")?;
        let mut suites: Vec<String> = output.lines().map(str::to_owned).collect();
        suites.sort();
        suites.dedup();
        Ok(suites)
    }

    /// The packages whose names begin with one of `prefixes` and for which `is_wanted` is true, in all versions.
    ///
    /// # Errors
    /// If apt fails.
    pub fn available(
        &self,
        prefixes: &[&str],
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Available>, PackageError> {
        let mut all = String::new();
        for prefix in prefixes {
            all += &self.run("apt-cache", &["pkgnames", prefix], None)?.expect("listing the packages")?;
        }
        let mut names: Vec<&str> = all.lines().filter(|name| is_wanted(name)).collect();
        names.sort_unstable();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        names.insert(0, "madison");
        Ok(madison(&self.run("apt-cache", &names, None)?.expect("listing the versions")?))
    }

    /// The newest version of a package, or `version`.
    ///
    /// # Errors
    /// If the archive does not have it.
    pub fn newest(&self, name: &str, version: Option<&str>) -> Result<PackageVersion, PackageError> {
        let output = self.run("apt-cache", &["madison", name], None)?;
        madison(&output.stdout)
            .into_iter()
            .map(|available| available.package)
            .filter(|package| {
                package.name == name && version.is_none_or(|version| version == package.version)
            })
            .max_by(|a, b| version::compare(&a.version, &b.version))
            .ok_or_else(|| {
                let version = version.map(|version| format!(" {version}")).unwrap_or_default();
                self.no_such_package(format!("{name}{version}"), output.error_output())
            })
    }

    /// Downloads a package and verifies it. The file is in a directory below `directory`, which [`remove_downloads`]
    /// removes.
    pub(crate) fn download(
        &self,
        package: &PackageVersion,
        directory: &Path,
        notice: Notice<'_>,
    ) -> Result<Downloaded, PackageError> {
        let full = package.to_string();
        let shown = self.run("apt-cache", &["show", &full], None)?;
        let field =
            |name: &str| shown.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let (Some(size), Some(sha256)) = (field("Size"), field("SHA256")) else {
            return Err(self.no_such_package(full, shown.error_output()));
        };
        notice(&format!("fetching {} {} ({})", package.name, package.version, megabytes(size)));
        let directory = directory.join(DOWNLOAD);
        create_directory(&directory)?;
        self.run("apt-get", &["-q", "download", &full], Some(&directory))?
            .expect(&format!("fetching {} {}", package.name, package.version))?;
        let path = match archives(&directory)?.as_slice() {
            [archive] => archive.clone(),
            _ => return Err(PackageError::Contents { package: full, missing: "single .deb file".into() }),
        };
        Ok(Downloaded { path, sha256: sha256.to_owned() })
    }

    /// Downloads packages and their dependencies, as [`Apt::download`] downloads one.
    pub(crate) fn download_with_dependencies(
        &self,
        names: &[&str],
        directory: &Path,
        notice: Notice<'_>,
    ) -> Result<Vec<PathBuf>, PackageError> {
        notice(&format!("fetching {} and their dependencies", names.join(", ")));
        let directory = directory.join(DOWNLOAD);
        create_directory(&directory.join("partial"))?;
        let place = format!("Dir::Cache::archives={}", directory.display());
        let mut arguments = vec![
            "-q",
            "-y",
            "--download-only",
            "--no-install-recommends",
            "-o",
            place.as_str(),
            "install",
            "--",
        ];
        arguments.extend(names);
        self.run("apt-get", &arguments, None)?.expect(&format!("fetching {}", names.join(", ")))?;
        archives(&directory)
    }

    fn no_such_package(&self, package: String, output: String) -> PackageError {
        let suites = self.last_update().map(|update| update.suites.join(", ")).unwrap_or_default();
        PackageError::NoSuchPackage { package, arch: self.arch, suites, output }
    }

    fn run(
        &self,
        program: &'static str,
        arguments: &[&str],
        directory: Option<&Path>,
    ) -> Result<programs::Finished, PackageError> {
        self.store.programs.run(program, arguments, directory, Some(&self.state.join("apt.conf")))
    }
}

/// Removes the archives that [`Apt::download`] put below `directory`.
pub(crate) fn remove_downloads(directory: &Path) -> Result<(), PackageError> {
    let path = directory.join(DOWNLOAD);
    fs::remove_dir_all(&path).map_err(PackageError::file("removing", &path))
}

/// The package in an archive file, from its name: `NAME_VERSION_ARCH.deb`, colons written as `%3a`.
pub(crate) fn package_of_archive(archive: &Path) -> Result<PackageVersion, PackageError> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = name.splitn(3, '_');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(package), Some(version), Some(_)) => {
            Ok(PackageVersion { name: package.to_owned(), version: version.replace("%3a", ":") })
        }
        _ => {
            Err(PackageError::Contents { package: name.into_owned(), missing: "version in its name".into() })
        }
    }
}

/// The package archives in a directory, by name.
fn archives(directory: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let reading = || PackageError::file("reading", directory);
    let mut archives = Vec::new();
    for entry in fs::read_dir(directory).map_err(reading())? {
        let path = entry.map_err(reading())?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            archives.push(path);
        }
    }
    archives.sort();
    Ok(archives)
}

/// Parses the output of `apt-cache madison`: `NAME | VERSION | ADDRESS SUITE/COMPONENT ARCH Packages`.
fn madison(text: &str) -> Vec<Available> {
    text.lines()
        .filter_map(|line| {
            let mut columns = line.split('|').map(str::trim);
            let (name, version, place) = (columns.next()?, columns.next()?, columns.next()?);
            let suite = place.split_whitespace().nth(1)?.rsplit_once('/')?.0;
            let package = PackageVersion { name: name.to_owned(), version: version.to_owned() };
            (!version.is_empty()).then(|| Available { package, suite: suite.to_owned() })
        })
        .collect()
}

fn megabytes(bytes: &str) -> String {
    match bytes.parse::<u64>() {
        Ok(bytes) if bytes >= 1_000_000 => format!("{} MB", bytes / 1_000_000),
        Ok(bytes) => format!("{} kB", bytes.div_ceil(1000)),
        Err(_) => format!("{bytes} bytes"),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whether lists of the time `at` are current. A time in the future means that the clock was set back.
fn is_current(at: u64, now: u64) -> bool {
    now.checked_sub(at).is_some_and(|age| age < CURRENT_FOR.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_suites_are_parsed() {
        let text = "linux-image-6.12-amd64 | 6.12.117-1~deb12u1 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages\n  rt-tests |    2.6-1.1 | http://deb.debian.org/debian trixie/main amd64 Packages\nnonsense\na | | b c/d\n";
        let read = madison(text);
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].suite, "bookworm-security");
        assert_eq!(read[1].package, PackageVersion { name: "rt-tests".into(), version: "2.6-1.1".into() });
    }

    #[test]
    fn the_package_comes_from_the_archives_name() {
        let package = |name| package_of_archive(Path::new(name)).ok();
        let zlib = package("x/zlib1g_1%3a1.3.dfsg-1_amd64.deb").unwrap();
        assert_eq!((zlib.name.as_str(), zlib.version.as_str()), ("zlib1g", "1:1.3.dfsg-1"));
        assert_eq!(package("zlib.deb"), None);
    }

    #[test]
    fn lists_are_current_for_an_hour() {
        assert!(is_current(100, 100) && is_current(100, 100 + 3599));
        assert!(!is_current(100, 100 + 3600) && !is_current(101, 100));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            [megabytes("107158204"), megabytes("142001"), megabytes("?")],
            ["107 MB", "143 kB", "? bytes"]
        );
    }
}
