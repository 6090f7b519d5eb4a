//! The files of a Debian kernel that the cache keeps: the image, packed; the configuration; the modules that recipes name, and
//! what they need; the device trees of the lab's machines. The rest of its packages, mostly modules for hardware that no machine
//! of the lab has, is more than ten times as long.

use std::fs;
use std::path::{Path, PathBuf};

use tardy_sys::files;

use super::Kernel;
use super::cache::{CachedKernel, MANIFEST, Manifest};
use super::image_file::{self, ImageFile, PACKED};
use super::modules::{self, ModuleError};
use super::packaging::{Flavour, Packaging, UnpackedKernel};
use crate::machine::Machine;
use crate::packages::cache_directory::{create_directory, write_json};
use crate::packages::{PackageError, PackageVersion};

/// The list of modules that are built into the kernel.
const BUILT_IN: &str = "modules.builtin";

/// The name of the packed image of that release.
pub(super) fn image_name(release: &str) -> String {
    format!("vmlinux-{release}{PACKED}")
}

/// Keeps what guests need of an unpacked kernel in `to`, except modules, and returns the length of the packed image.
pub(super) fn keep(unpacked: &UnpackedKernel, image: &[u8], to: &Path) -> Result<u64, PackageError> {
    let UnpackedKernel { release, config, modules, device_trees, .. } = unpacked;
    let boot = to.join("boot");
    create_directory(&boot)?;
    let path = boot.join(image_name(release));
    let length = image_file::pack(image, &path).map_err(PackageError::file("writing", &path))?;
    if let Some(config) = config {
        move_file(config, &boot.join(format!("config-{release}")))?;
    }
    let kept_modules = to.join("lib/modules").join(release);
    create_directory(&kept_modules)?;
    let built_in = modules.as_ref().map(|modules| modules.join(BUILT_IN)).filter(|path| path.is_file());
    if let Some(built_in) = built_in {
        move_file(&built_in, &kept_modules.join(BUILT_IN))?;
    }
    for tree in device_trees.iter().flat_map(|place| machines_trees(place)) {
        let place = device_trees.as_deref().unwrap_or(Path::new(""));
        move_file(&place.join(tree), &to.join(format!("usr/lib/linux-image-{release}")).join(tree))?;
    }
    Ok(length)
}

/// The device trees of the lab's machines, as far as they are below `place`.
fn machines_trees(place: &Path) -> impl Iterator<Item = &'static str> {
    let all = Machine::ALL.into_iter().filter_map(Machine::device_tree);
    all.filter(move |tree| place.join(tree).is_file())
}

/// The directory of modules of the release `release` below `root`, where `package` was unpacked.
pub(super) fn modules_below(
    root: &Path,
    package: &PackageVersion,
    release: &str,
) -> Result<PathBuf, PackageError> {
    let places = ["lib/modules", "usr/lib/modules"].map(|place| root.join(place).join(release));
    places.into_iter().find(|place| place.is_dir()).ok_or_else(|| PackageError::Contents {
        package: package.to_string(),
        missing: format!("lib/modules/{release}"),
    })
}

/// Moves the modules `wanted` and those that they need from the directory `all` to the kernel in `to`. A module that the kernel does
/// not have is left out.
pub(super) fn keep_modules(
    all: &Path,
    wanted: &[String],
    to: &Path,
    manifest: &Manifest,
) -> Result<(), PackageError> {
    let target = to.join("lib/modules").join(&manifest.release);
    for path in needed(all, wanted, to, manifest)? {
        let place = path.strip_prefix(all).unwrap_or(&path);
        move_file(&path, &target.join(place))?;
    }
    Ok(())
}

/// The files of the modules `wanted` of the kernel in `directory`, and of those that they need, in the directory `all`.
fn needed(
    all: &Path,
    wanted: &[String],
    directory: &Path,
    manifest: &Manifest,
) -> Result<Vec<PathBuf>, PackageError> {
    let kept = directory.join("lib/modules").join(&manifest.release);
    let config = directory.join("boot").join(format!("config-{}", manifest.release));
    let kernel = Kernel {
        spec: manifest.package.clone(),
        arch: manifest.arch,
        release: manifest.release.clone(),
        package: Some(manifest.package_version()),
        build: None,
        image: ImageFile::plain(PathBuf::new()),
        config: Some(config).filter(|config| config.is_file()),
        modules: Some(all.to_owned()),
        device_trees: None,
        append: String::new(),
    };
    let mut found = Vec::new();
    for name in wanted {
        match modules::files_of(&kernel, &kept, name) {
            Ok(files) => found.extend(files),
            Err(ModuleError::Unknown { .. }) => {}
            Err(error) => {
                return Err(PackageError::Contents {
                    package: manifest.package_version().to_string(),
                    missing: format!("usable module {name}: {error}"),
                });
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Reduces a kernel of the cache to what [`keep`] and [`keep_modules`] would have kept. Returns whether it became smaller. The
/// cache must be locked.
pub(super) fn reduce(kernel: &CachedKernel, keep: &[String]) -> Result<bool, PackageError> {
    let CachedKernel { directory, manifest } = kernel;
    let mut reduced = manifest.clone();
    let plain = kernel.image();
    if plain.packed.is_none() {
        reduced.image = image_name(&manifest.release);
        let path = directory.join("boot").join(&reduced.image);
        let image = plain.read().map_err(PackageError::file("reading", &plain.path))?;
        reduced.image_bytes =
            image_file::pack(&image, &path).map_err(PackageError::file("writing", &path))?;
    }
    let flavour = Flavour::of(&manifest.package, manifest.arch).map_or("", |flavour| flavour.release);
    reduced.modules_package = Some(Packaging::of(&manifest.package_version(), flavour).modules);
    let modules = directory.join("lib/modules").join(&manifest.release);
    let kept = needed(&modules, keep, directory, manifest)?;
    write_json(&directory.join(MANIFEST), &reduced)?;
    let boot = [reduced.image.clone(), format!("config-{}", manifest.release)];
    let trees = directory.join("usr/lib").join(format!("linux-image-{}", manifest.release));
    let kept_trees: Vec<PathBuf> = machines_trees(&trees).map(|tree| trees.join(tree)).collect();
    let removed = [
        remove_but(&directory.join("boot"), &|path| boot.iter().any(|name| path.ends_with(name)))?,
        remove_but(&modules, &|path| path.ends_with(BUILT_IN) || kept.iter().any(|one| one == path))?,
        remove_but(&trees, &|path| kept_trees.iter().any(|one| one == path))?,
    ];
    Ok(removed.iter().sum::<usize>() > 0)
}

/// Removes the files below `directory` that are not to be kept, and the directories that become empty. Returns how many files it removed.
fn remove_but(directory: &Path, is_kept: &dyn Fn(&Path) -> bool) -> Result<usize, PackageError> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(0) };
    let mut removed = 0;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            removed += remove_but(&path, is_kept)?;
            // Fails unless it is empty.
            let _ = fs::remove_dir(&path);
        } else if !is_kept(&path) {
            fs::remove_file(&path).map_err(PackageError::file("removing", &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn move_file(from: &Path, to: &Path) -> Result<(), PackageError> {
    if let Some(parent) = to.parent() {
        create_directory(parent)?;
    }
    files::rename_own(from, to).map_err(PackageError::file("moving to", to))
}
