//! Kernels that this user built, in the cache: `build:NAME`.
//!
//! A build is found by the beginning of its key, which is a hash of everything that it was made of, or by a name that was given to
//! it. A name can be given to another build later; a key always means the same build.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tardy_sys::files;

use super::image_file::{self, ImageFile, PACKED};
use super::spec::KernelSpec;
use super::{Kernel, KernelError};
use crate::arch::Arch;
use crate::checksum::sha256;
use crate::packages::cache_directory::{CacheDirectory, create_directory, write_json, write_whole};
use crate::packages::{Notice, PackageError, cache_size};

/// The file that marks a directory as a complete build.
const MANIFEST: &str = "build.json";
/// The file with the names that were given to builds.
const NAMES: &str = "names.json";
/// The file with what was requested.
const REQUESTS: &str = "requests.json";
/// The first digits of a key, which name the build's directory.
pub const KEY_DIGITS: usize = 12;
/// The fewest digits by which a build is found.
const SHORTEST_KEY: usize = 8;

/// The description that is kept with a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildManifest {
    /// The SHA-256 of what it was made of, in hexadecimal.
    pub key: String,
    /// The processor.
    pub arch: Arch,
    /// The release as in `uname -r`.
    pub release: String,
    /// The source as `tardy lab build --source` takes it, of exactly this version.
    pub source: String,
    /// The commit of a source under git.
    pub commit: Option<String>,
    /// What identifies the source's contents.
    pub source_identity: String,
    /// The options that were requested in addition to the configuration that the build began with, such as `HZ=1000`.
    pub set: Vec<String>,
    /// The compiler, as it names itself.
    pub compiler: String,
    /// The SHA-256 of the image that is booted, in hexadecimal.
    pub image_sha256: String,
    /// The length of the image's file, in bytes.
    pub image_bytes: u64,
    /// How long it was built, in seconds.
    pub seconds: u64,
}

/// A build in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltKernel {
    /// Its directory.
    pub directory: PathBuf,
    /// Its description.
    pub manifest: BuildManifest,
}

/// The files of a build that is to be kept.
#[derive(Debug)]
pub struct BuiltFiles<'a> {
    /// The image that the emulator boots.
    pub image: &'a [u8],
    /// The configuration's text.
    pub config: &'a [u8],
    /// The list of modules that are part of the image (`modules.builtin`).
    pub built_in: &'a [u8],
    /// The directory of the modules, on the cache's disk, which is moved; `None` if the kernel has none.
    pub modules: Option<&'a Path>,
}

impl BuiltKernel {
    fn read(directory: &Path) -> Option<Self> {
        let manifest: BuildManifest =
            serde_json::from_slice(&fs::read(directory.join(MANIFEST)).ok()?).ok()?;
        let build = Self { directory: directory.to_owned(), manifest };
        // After a power failure the file may be too short.
        let length = fs::metadata(build.image().path).ok()?.len();
        (length == build.manifest.image_bytes).then_some(build)
    }

    /// The first digits of its key, by which it is found.
    pub fn short_key(&self) -> &str {
        short_key(&self.manifest.key)
    }

    /// The name of exactly this build for `--kernel`.
    pub fn exact_name(&self) -> String {
        format!("build:{}", self.short_key())
    }

    /// Its name for `--kernel`: the first that was given to it, or else that of exactly this build.
    pub fn spec(&self, names: &BTreeMap<String, String>) -> String {
        match names.iter().find(|(_, key)| **key == self.manifest.key) {
            Some((name, _)) => format!("build:{name}"),
            None => self.exact_name(),
        }
    }

    fn image(&self) -> ImageFile {
        let path = self.directory.join("boot").join(image_name(&self.manifest.release));
        ImageFile { path, packed: Some(self.manifest.image_sha256.clone()) }
    }

    /// The file of its configuration.
    pub fn config(&self) -> PathBuf {
        self.directory.join("boot").join(format!("config-{}", self.manifest.release))
    }

    /// What it takes on the disk, in bytes.
    pub fn bytes(&self) -> u64 {
        cache_size::of_directory(&self.directory)
    }

    /// The kernel, to be booted.
    pub fn kernel(&self, spec: &KernelSpec) -> Kernel {
        let BuildManifest { arch, release, .. } = &self.manifest;
        Kernel {
            spec: spec.to_string(),
            arch: *arch,
            release: release.clone(),
            package: None,
            build: Some(self.short_key().to_owned()),
            image: self.image(),
            config: Some(self.config()),
            modules: Some(self.directory.join("lib/modules").join(release)),
            device_trees: None,
            append: spec.append.clone(),
        }
    }
}

fn short_key(key: &str) -> &str {
    &key[..KEY_DIGITS.min(key.len())]
}

fn image_name(release: &str) -> String {
    format!("vmlinux-{release}{PACKED}")
}

/// The build that `name` names: a name that was given to it, or the beginning of its key.
pub fn find(cache: &CacheDirectory, arch: Arch, name: &str) -> Option<BuiltKernel> {
    if let Some(key) = names(cache, arch).get(name) {
        return with_key(cache, arch, key);
    }
    let is_key = name.len() >= SHORTEST_KEY && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = list(cache, arch).into_iter().filter(|build| build.manifest.key.starts_with(name));
    found.next().filter(|_| is_key)
}

/// The build with exactly that key.
pub fn with_key(cache: &CacheDirectory, arch: Arch, key: &str) -> Option<BuiltKernel> {
    BuiltKernel::read(&place(cache, arch, key)).filter(|build| build.manifest.key == key)
}

/// As [`find`].
///
/// # Errors
/// If there is no such build; the error names those that there are.
pub(super) fn kernel(
    cache: &CacheDirectory,
    arch: Arch,
    spec: &KernelSpec,
    name: &str,
) -> Result<Kernel, KernelError> {
    let found = find(cache, arch, name).map(|build| build.kernel(spec));
    found.ok_or_else(|| {
        let names = names(cache, arch);
        let known = list(cache, arch).into_iter().map(|build| build.spec(&names));
        let known: Vec<String> = known.collect();
        KernelError::NotBuilt {
            name: name.to_owned(),
            arch,
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        }
    })
}

/// All builds for a processor, in the order of their keys.
pub fn list(cache: &CacheDirectory, arch: Arch) -> Vec<BuiltKernel> {
    let Ok(entries) = fs::read_dir(cache.builds(arch)) else { return Vec::new() };
    let mut all: Vec<BuiltKernel> =
        entries.filter_map(|entry| BuiltKernel::read(&entry.ok()?.path())).collect();
    all.sort_by(|a, b| a.manifest.key.cmp(&b.manifest.key));
    all
}

/// The names that were given to builds, with the keys.
pub fn names(cache: &CacheDirectory, arch: Arch) -> BTreeMap<String, String> {
    keys_in(&cache.builds(arch).join(NAMES))
}

/// What was requested of builds, as a hash, with the keys of the builds that came of it.
pub fn requests(cache: &CacheDirectory, arch: Arch) -> BTreeMap<String, String> {
    keys_in(&cache.builds(arch).join(REQUESTS))
}

fn keys_in(file: &Path) -> BTreeMap<String, String> {
    let read = fs::read(file).ok();
    read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Gives a name to a build, and takes it from another that has it.
///
/// # Errors
/// If the file cannot be written.
pub fn give_name(
    cache: &CacheDirectory,
    build: &BuiltKernel,
    name: &str,
    notice: Notice<'_>,
) -> Result<(), PackageError> {
    let _lock = cache.lock_builds(notice)?;
    add_key(&cache.builds(build.manifest.arch).join(NAMES), name, build)
}

/// Records what was requested of a build, so that the same request finds it before its source is configured. The lock of builds
/// must be held.
///
/// # Errors
/// If the file cannot be written.
pub fn record_request(
    cache: &CacheDirectory,
    arch: Arch,
    request: &str,
    build: &BuiltKernel,
) -> Result<(), PackageError> {
    add_key(&cache.builds(arch).join(REQUESTS), request, build)
}

fn add_key(file: &Path, name: &str, build: &BuiltKernel) -> Result<(), PackageError> {
    let mut keys = keys_in(file);
    keys.insert(name.to_owned(), build.manifest.key.clone());
    write_json(file, &keys)
}

/// Keeps a build in the cache. `manifest` lacks the hash and the length of the image. The directory has no manifest until it is
/// complete, so that a full disk or a crash leaves no build. The lock of builds must be held.
///
/// # Errors
/// If a file cannot be written.
pub fn keep(
    cache: &CacheDirectory,
    mut manifest: BuildManifest,
    built: &BuiltFiles<'_>,
) -> Result<BuiltKernel, PackageError> {
    let place = place(cache, manifest.arch, &manifest.key);
    if place.exists() {
        fs::remove_dir_all(&place)
            .map_err(PackageError::file("removing the incomplete directory", &place))?;
    }
    let boot = place.join("boot");
    let modules = place.join("lib/modules").join(&manifest.release);
    create_directory(&boot)?;
    match built.modules {
        None => create_directory(&modules)?,
        Some(directory) => {
            create_directory(&place.join("lib/modules"))?;
            files::rename_own(directory, &modules).map_err(PackageError::file("moving to", &modules))?;
        }
    }
    let image = boot.join(image_name(&manifest.release));
    manifest.image_sha256 = sha256(built.image);
    manifest.image_bytes =
        image_file::pack(built.image, &image).map_err(PackageError::file("writing", &image))?;
    write_whole(&boot.join(format!("config-{}", manifest.release)), built.config)?;
    write_whole(&modules.join("modules.builtin"), built.built_in)?;
    write_json(&place.join(MANIFEST), &manifest)?;
    Ok(BuiltKernel { directory: place, manifest })
}

fn place(cache: &CacheDirectory, arch: Arch, key: &str) -> PathBuf {
    cache.builds(arch).join(short_key(key))
}

/// Removes all builds, and the sources and the object files that they were made of.
///
/// # Errors
/// If a directory cannot be removed.
pub fn remove_all(cache: &CacheDirectory, notice: Notice<'_>) -> Result<(), PackageError> {
    let _lock = cache.lock_builds(notice)?;
    let places = [cache.all_builds(), cache.sources(), cache.build_trees()];
    for place in places.iter().filter(|place| place.exists()) {
        fs::remove_dir_all(place).map_err(PackageError::file("removing", place))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Request;
    use super::*;
    use crate::packages::PackageStore;
    use crate::packages::apt::{Mirrors, Programs};

    fn manifest(key: &str) -> BuildManifest {
        BuildManifest {
            key: key.to_owned(),
            arch: Arch::X86_64,
            release: "6.12.117".to_owned(),
            source: "debian:6.12=6.12.117-1".to_owned(),
            commit: None,
            source_identity: "x".to_owned(),
            set: vec!["HZ=1000".to_owned()],
            compiler: "gcc 12".to_owned(),
            image_sha256: String::new(),
            image_bytes: 0,
            seconds: 500,
        }
    }

    fn keep_one(cache: &CacheDirectory, key: &str) -> BuiltKernel {
        let files = BuiltFiles {
            image: b"image",
            config: b"CONFIG_HZ=1000\n",
            built_in: b"kernel/a.ko\n",
            modules: None,
        };
        keep(cache, manifest(key), &files).unwrap()
    }

    fn store(cache: &CacheDirectory) -> PackageStore {
        let mirrors = Mirrors::of_environment().unwrap();
        PackageStore { cache: cache.clone(), programs: Programs::default(), mirrors }
    }

    fn kernel(cache: &CacheDirectory, spec: &str) -> Result<Kernel, String> {
        let spec = KernelSpec::parse(spec).unwrap();
        let request = Request { arch: Arch::X86_64, refresh: false, keep: &[] };
        super::super::find_in(&store(cache), &spec, request, &mut |_| {}).map_err(|error| error.to_string())
    }

    #[test]
    fn a_build_is_found_by_its_name_and_by_its_key() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(directory.path());
        let build = keep_one(&cache, "0123456789abcdef");
        keep_one(&cache, "fedcba9876543210");
        give_name(&cache, &build, "rt-1000", &mut |_| {}).unwrap();
        assert_eq!(list(&cache, Arch::X86_64).len(), 2);
        for spec in ["build:rt-1000", "build:0123456789ab", "build:01234567"] {
            let kernel = kernel(&cache, spec).unwrap();
            assert_eq!((kernel.spec.as_str(), kernel.build.as_deref()), (spec, Some("0123456789ab")));
            assert_eq!(kernel.image.read().unwrap(), b"image");
            assert_eq!(kernel.exact_spec().unwrap().to_string(), "build:0123456789ab");
        }
        insta::assert_snapshot!(kernel(&cache, "build:other").unwrap_err());
        insta::assert_snapshot!(kernel(&CacheDirectory::at("/nowhere"), "build:0123").unwrap_err());
    }

    #[test]
    fn an_incomplete_build_is_not_found_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(directory.path());
        let build = keep_one(&cache, "0123456789abcdef");
        fs::remove_file(build.directory.join(MANIFEST)).unwrap();
        assert_eq!(find(&cache, Arch::X86_64, "0123456789ab"), None);
        let build = keep_one(&cache, "0123456789abcdef");
        fs::write(build.image().path, b"short").unwrap();
        assert_eq!(find(&cache, Arch::X86_64, "0123456789ab"), None);
        keep_one(&cache, "0123456789abcdef");
        assert!(find(&cache, Arch::X86_64, "0123456789ab").is_some());
        remove_all(&cache, &mut |_| {}).unwrap();
        assert_eq!(list(&cache, Arch::X86_64), []);
    }
}
