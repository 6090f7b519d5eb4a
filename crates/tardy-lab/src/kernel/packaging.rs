//! The packages that hold a kernel, and where its files are in them.
//!
//! Until 6.18, `linux-image-RELEASE` has the image, the configuration and the modules. From 6.19 on that is a metapackage:
//! the image is in `linux-binary-RELEASE`, the configuration and the device trees in `linux-base-RELEASE`, the modules in
//! `linux-modules-RELEASE`. Of past versions Debian's backports keep the image alone. Ubuntu's `linux-image-RELEASE` has the image alone.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::packages::{PackageError, PackageVersion};

/// The prefixes of the names of packages that may hold an image.
pub(super) const PREFIXES: [&str; 2] = ["linux-image-", "linux-binary-"];
/// The part of the name of a package whose image is not signed, behind the prefix in some packages and at the end in others.
const UNSIGNED: &str = "unsigned";

/// What the name of an image package states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flavour<'a> {
    /// The release without processor and flavour, such as `6.12.117+deb12` or `6.1.0-56`.
    pub(super) abi: &'a str,
    /// Whether it is the PREEMPT_RT kernel.
    pub(super) rt: bool,
    /// The release as in `uname -r`, such as `6.12.117+deb12-rt-amd64`.
    pub(super) release: &'a str,
}

impl<'a> Flavour<'a> {
    /// Reads `linux-image-ABI[-rt]-ARCH[-unsigned]`, `linux-binary-[unsigned-]ABI[-rt]-ARCH` and Ubuntu's
    /// `linux-image-[unsigned-]ABI-generic`. `None` for every other name, among them metapackages and the flavours for clouds, other
    /// page sizes and debugging.
    pub(super) fn of(name: &'a str, arch: Arch) -> Option<Self> {
        let rest = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let rest = rest.strip_prefix("unsigned-").unwrap_or(rest);
        let release = rest.strip_suffix("-unsigned").unwrap_or(rest);
        let stem = release.strip_suffix(arch.debian_name()).or_else(|| release.strip_suffix("generic"));
        let stem = stem?.strip_suffix('-')?;
        let (abi, rt) = stem.strip_suffix("-rt").map_or((stem, false), |abi| (abi, true));
        let is_abi =
            abi.starts_with(|c: char| c.is_ascii_digit()) && !abi.split('-').any(|part| part == "cloud");
        is_abi.then_some(Self { abi, rt, release })
    }
}

/// Whether the name is that of a package with an image that is not signed.
pub(super) fn is_unsigned(name: &str) -> bool {
    name.split('-').any(|part| part == UNSIGNED)
}

/// The packages of a kernel, next to the one with its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packaging {
    /// Those without which it cannot be booted.
    pub(super) needed: Vec<PackageVersion>,
    /// The one with its configuration and its device trees, without which it can be booted.
    pub(super) base: Option<PackageVersion>,
    /// The one with its modules.
    pub(super) modules: PackageVersion,
}

impl Packaging {
    /// Of the kernel with the release `release` whose image is in `image`.
    pub(super) fn of(image: &PackageVersion, release: &str) -> Self {
        let named = |prefix: &str| PackageVersion {
            name: format!("{prefix}{release}"),
            version: image.version.clone(),
        };
        let modules = named("linux-modules-");
        if image.name.starts_with("linux-binary-") {
            Self { needed: Vec::new(), base: Some(named("linux-base-")), modules }
        } else if release.ends_with("-generic") {
            Self { needed: vec![modules.clone()], base: None, modules }
        } else {
            Self { needed: Vec::new(), base: None, modules: image.clone() }
        }
    }
}

/// The files of a kernel in its unpacked packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnpackedKernel {
    pub(super) release: String,
    pub(super) image: PathBuf,
    pub(super) config: Option<PathBuf>,
    /// `None` if they are in a package of their own.
    pub(super) modules: Option<PathBuf>,
    pub(super) device_trees: Option<PathBuf>,
}

impl UnpackedKernel {
    /// Finds the files below `root`, where `package` and the others of the kernel were unpacked.
    ///
    /// # Errors
    /// If there is no image, or no directory of modules though `package` should have them.
    pub(super) fn find(root: &Path, package: &PackageVersion) -> Result<Self, PackageError> {
        let missing = |what: &str| PackageError::Contents {
            package: format!("{} {}", package.name, package.version),
            missing: what.to_owned(),
        };
        // From trixie on, modules are under /usr/lib, because /lib is a link to it.
        let all_modules = ["lib/modules", "usr/lib/modules"].map(|place| root.join(place));
        let (release, image) = image_in_boot(&root.join("boot"))?
            .or_else(|| all_modules.iter().find_map(|place| image_among_modules(place)))
            .ok_or_else(|| missing("image (boot/vmlinuz-RELEASE or usr/lib/modules/RELEASE/vmlinuz)"))?;
        let of_release = |place: &PathBuf| Some(place.join(&release)).filter(|place| place.is_dir());
        let modules = all_modules.iter().find_map(of_release);
        if modules.is_none() && package.name.starts_with(PREFIXES[0]) {
            return Err(missing(&format!("lib/modules/{release}")));
        }
        let below_modules = |name: &str| modules.as_ref().map(|modules| modules.join(name));
        let config = [Some(root.join("boot").join(format!("config-{release}"))), below_modules("config")];
        let trees = [Some(root.join(format!("usr/lib/linux-image-{release}"))), below_modules("dtb")];
        Ok(Self {
            image,
            config: config.into_iter().flatten().find(|path| path.is_file()),
            device_trees: trees.into_iter().flatten().find(|path| path.is_dir()),
            modules,
            release,
        })
    }
}

/// The release and the path of `vmlinuz-RELEASE`.
fn image_in_boot(boot: &Path) -> Result<Option<(String, PathBuf)>, PackageError> {
    if !boot.is_dir() {
        return Ok(None);
    }
    let names = file_names(boot)?;
    let image = names.iter().find_map(|name| Some((name.strip_prefix("vmlinuz-")?, name)));
    Ok(image.map(|(release, name)| (release.to_owned(), boot.join(name))))
}

/// The release and the path of `RELEASE/vmlinuz`.
fn image_among_modules(place: &Path) -> Option<(String, PathBuf)> {
    let names = file_names(place).ok()?;
    let release = names.into_iter().find(|name| place.join(name).join("vmlinuz").is_file())?;
    let image = place.join(&release).join("vmlinuz");
    Some((release, image))
}

fn file_names(directory: &Path) -> Result<Vec<String>, PackageError> {
    let reading = || PackageError::file("reading", directory);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(reading())? {
        names.push(entry.map_err(reading())?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_image_packages_are_read() {
        let read = |name| Flavour::of(name, Arch::X86_64).map(|one| (one.abi, one.rt, one.release));
        for (name, expected) in [
            ("linux-image-6.1.0-56-amd64", Some(("6.1.0-56", false, "6.1.0-56-amd64"))),
            (
                "linux-image-6.12.1+deb12-rt-amd64-unsigned",
                Some(("6.12.1+deb12", true, "6.12.1+deb12-rt-amd64")),
            ),
            ("linux-binary-7.3.4+deb13-rt-amd64", Some(("7.3.4+deb13", true, "7.3.4+deb13-rt-amd64"))),
            ("linux-binary-unsigned-7.3.4+deb13-amd64", Some(("7.3.4+deb13", false, "7.3.4+deb13-amd64"))),
            ("linux-image-unsigned-6.8.0-31-generic", Some(("6.8.0-31", false, "6.8.0-31-generic"))),
            ("linux-image-6.1.0-56-cloud-amd64", None),
            ("linux-image-6.12.1+deb12-amd64-dbg", None),
            ("linux-image-amd64", None),
            ("linux-image-7.3.4+deb13-arm64-16k", None),
            ("linux-modules-7.3.4+deb13-amd64", None),
        ] {
            assert_eq!(read(name), expected, "{name}");
        }
        assert!(is_unsigned("linux-binary-unsigned-7.3.4+deb13-amd64"));
        assert!(is_unsigned("linux-image-6.12.1+deb12-rt-amd64-unsigned"));
        assert!(!is_unsigned("linux-image-6.12.1+deb12-amd64"));
    }

    #[test]
    fn a_kernel_is_in_one_package_or_in_several() {
        let package = |name: &str| PackageVersion { name: name.into(), version: "1".into() };
        let one = Packaging::of(&package("linux-image-6.12.1+deb12-amd64"), "6.12.1+deb12-amd64");
        assert_eq!((one.needed.len(), one.modules.name.as_str()), (0, "linux-image-6.12.1+deb12-amd64"));
        let split = Packaging::of(&package("linux-binary-7.3.4+deb13-amd64"), "7.3.4+deb13-amd64");
        assert_eq!(split.base, Some(package("linux-base-7.3.4+deb13-amd64")));
        assert_eq!(split.modules, package("linux-modules-7.3.4+deb13-amd64"));
        let ubuntu = Packaging::of(&package("linux-image-unsigned-6.8.0-31-generic"), "6.8.0-31-generic");
        assert_eq!(ubuntu.needed, [package("linux-modules-6.8.0-31-generic")]);
    }

    #[test]
    fn the_files_are_found_in_both_layouts() {
        for (files, config) in [
            (["boot/vmlinuz-6.12", "boot/config-6.12", "lib/modules/6.12/kernel/a.ko"], "boot/config-6.12"),
            (
                ["usr/lib/modules/6.12/vmlinuz", "usr/lib/modules/6.12/config", "usr/share/doc/a"],
                "usr/lib/modules/6.12/config",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            for file in files {
                let path = root.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            let package = PackageVersion { name: "linux-image-6.12".into(), version: "1".into() };
            let found = UnpackedKernel::find(root.path(), &package).unwrap();
            assert_eq!(found.release, "6.12");
            assert_eq!(found.image, root.path().join(files[0]));
            assert_eq!(found.config, Some(root.path().join(config)));
            assert!(found.modules.is_some_and(|path| path.is_dir()) && found.device_trees.is_none());
        }
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("boot")).unwrap();
        fs::write(root.path().join("boot/vmlinuz-7.1"), "").unwrap();
        let find = |name: &str| {
            let package = PackageVersion { name: name.into(), version: "1".into() };
            UnpackedKernel::find(root.path(), &package)
        };
        assert_eq!(find("linux-binary-7.1").unwrap().modules, None);
        assert!(find("linux-image-7.1").unwrap_err().to_string().contains("lib/modules/7.1"));
    }
}
