//! Debian's kernels: finds their packages, chooses among them, and fetches them into the cache.
//!
//! A series is found by the names and versions of all image packages, not through a metapackage: the name of 6.1's
//! (`linux-image-amd64`) contains no series, and refers to a different series in every release of Debian.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tardy_sys::files;

use super::cache::{self, CachedKernel, MANIFEST, Manifest};
use super::image;
use super::preference::preference;
use super::spec::DebianKernel;
use super::vmlinux;
use super::{Kernel, KernelError, KernelSpec};
use crate::arch::Arch;
use crate::checksum::sha256;
use crate::packages::apt::{self, Apt, Available};
use crate::packages::cache_directory::{create_directory, file_name, write_json};
use crate::packages::{Notice, PackageError, PackageStore, PackageVersion, Scratch, extract, version};

/// A kernel in Debian's archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Offer {
    /// The image package and its version.
    pub package: PackageVersion,
    /// The first two numbers of its version.
    pub series: String,
    /// Whether it is the PREEMPT_RT kernel.
    pub rt: bool,
    /// A suite that has it, such as `bookworm-security`.
    pub suite: String,
}

/// The kernels that Debian offers for one processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// When the archive was read, in seconds since 1970.
    pub asked_at_seconds: u64,
    /// The suites that answered.
    pub suites: Vec<String>,
    /// All image packages that the lab can use. The preferred one of each series is the last of the series.
    pub kernels: Vec<Offer>,
}

/// Finds one of Debian's kernels: in the cache or, if the cache has none or with `refresh`, in the archive.
pub(super) fn find(
    store: &PackageStore,
    spec: &KernelSpec,
    wanted: &DebianKernel,
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Kernel, KernelError> {
    let cached = || if refresh { None } else { cache::best(&store.cache, arch, wanted) };
    if let Some(cached) = cached() {
        return Ok(cached.kernel(spec));
    }
    let _lock = store.cache.lock(notice)?;
    // Another process may have fetched the kernel while it held the lock.
    if let Some(cached) = cached() {
        return Ok(cached.kernel(spec));
    }
    let apt = Apt::prepare(store, arch)?;
    let may_be_outdated = !refresh && apt.last_update().is_some();
    let offers = offers(store, &apt, arch, refresh, notice)?;
    let fetched = choose(&offers, wanted, arch).and_then(|offer| fetch(store, &apt, offer, arch, notice));
    let kernel = match fetched {
        Err(_) if may_be_outdated => {
            // The archive may have changed since it was read.
            let offers = self::offers(store, &apt, arch, true, notice)?;
            fetch(store, &apt, choose(&offers, wanted, arch)?, arch, notice)?
        }
        fetched => fetched?,
    };
    Ok(kernel.kernel(spec))
}

/// The archive's offers. The cache must be locked.
pub(super) fn offers(
    store: &PackageStore,
    apt: &Apt<'_>,
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Offers, PackageError> {
    let update = if refresh { apt.update(notice)? } else { apt.update_unless_current(notice)? };
    let known = if refresh { None } else { known_offers(store, arch) };
    if let Some(known) = known.filter(|known| known.asked_at_seconds == update.at_seconds) {
        return Ok(known);
    }
    let available = apt.available("linux-image-", |name| flavour(name, arch).is_some())?;
    let kernels = offers_among(available, arch);
    let offers = Offers { asked_at_seconds: update.at_seconds, suites: update.suites, kernels };
    write_json(&store.cache.apt(arch).join(OFFERS), &offers)?;
    Ok(offers)
}

const OFFERS: &str = "offered.json";

/// The archive's offers when it was last read.
pub(super) fn known_offers(store: &PackageStore, arch: Arch) -> Option<Offers> {
    serde_json::from_slice(&fs::read(store.cache.apt(arch).join(OFFERS)).ok()?).ok()
}

fn offers_among(available: Vec<Available>, arch: Arch) -> Vec<Offer> {
    let mut kernels: Vec<Offer> = available.into_iter().filter_map(|one| offer(one, arch)).collect();
    kernels.sort_by(|a, b| {
        let by_package = preference(&a.package, &b.package);
        a.rt.cmp(&b.rt).then(by_package).then_with(|| a.suite.cmp(&b.suite))
    });
    // The same package is in more than one suite.
    kernels.dedup_by(|a, b| a.package == b.package);
    kernels
}

/// The offer of a package that the lab can use; `None` for metapackages and for the flavours for clouds, other page
/// sizes and debugging.
fn offer(available: Available, arch: Arch) -> Option<Offer> {
    let Available { package, suite } = available;
    let (abi, rt) = flavour(&package.name, arch)?;
    let series = series(&package.version)?;
    let is_image = abi.strip_prefix(&series).is_some_and(|rest| rest.starts_with(['.', '-', '+']));
    is_image.then_some(Offer { package, series, rt, suite })
}

/// The `ABI` of `linux-image-ABI[-rt]-ARCH[-unsigned]`, and whether the name has the `-rt`.
fn flavour(name: &str, arch: Arch) -> Option<(&str, bool)> {
    let name = name.strip_prefix("linux-image-")?;
    let name = name.strip_suffix("-unsigned").unwrap_or(name);
    let name = name.strip_suffix(arch.debian_name())?.strip_suffix('-')?;
    let (abi, rt) = name.strip_suffix("-rt").map_or((name, false), |abi| (abi, true));
    let is_abi = abi.starts_with(|c: char| c.is_ascii_digit()) && !abi.split('-').any(|part| part == "cloud");
    is_abi.then_some((abi, rt))
}

/// The first two numbers of a version.
fn series(version: &str) -> Option<String> {
    let mut numbers = version::upstream(version).split('.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        &part[..end]
    });
    match (numbers.next()?, numbers.next()?) {
        ("", _) | (_, "") => None,
        (major, minor) => Some(format!("{major}.{minor}")),
    }
}

fn choose<'a>(offers: &'a Offers, wanted: &DebianKernel, arch: Arch) -> Result<&'a Offer, KernelError> {
    let of_kind = |offer: &&Offer| offer.series == wanted.series && offer.rt == wanted.rt;
    let found = offers
        .kernels
        .iter()
        .filter(of_kind)
        .filter(|offer| wanted.exact.as_ref().is_none_or(|exact| *exact == offer.package.version));
    if let Some(offer) = found.max_by(|a, b| preference(&a.package, &b.package)) {
        return Ok(offer);
    }
    let mut available: Vec<String> = if offers.kernels.iter().any(|offer| of_kind(&offer)) {
        offers.kernels.iter().filter(of_kind).map(|offer| offer.package.version.clone()).collect()
    } else {
        let name = |offer: &Offer| {
            DebianKernel { series: offer.series.clone(), rt: offer.rt, exact: None }.to_string()
        };
        offers.kernels.iter().map(name).collect()
    };
    available.dedup();
    let suites = offers.suites.join(", ");
    Err(KernelError::NotOffered { spec: wanted.to_string(), arch, suites, available: available.join(", ") })
}

/// Fetches an offered kernel into the cache. The cache must be locked.
fn fetch(
    store: &PackageStore,
    apt: &Apt<'_>,
    offer: &Offer,
    arch: Arch,
    notice: Notice<'_>,
) -> Result<CachedKernel, KernelError> {
    let package = &offer.package;
    let place = store.cache.kernels(arch).join(file_name(&package.name, &package.version));
    if let Some(cached) = CachedKernel::read(&place) {
        notice(&format!("{} {} is the newest and is cached", package.name, package.version));
        return Ok(cached);
    }
    let scratch = Scratch::new(&store.cache)?;
    let downloaded = apt.download(package, scratch.path(), notice)?;
    notice(&format!("unpacking {}", package.name));
    let whole = scratch.path().join("whole");
    extract(&store.programs, &downloaded.path, &whole)?;
    let release = keep_kernel(&whole, scratch.path(), package)?;
    fs::remove_dir_all(&whole).map_err(PackageError::file("removing", &whole))?;
    apt::remove_downloads(scratch.path())?;
    let (image, bytes) = image_to_boot(&scratch.path().join("boot"), &release, arch)?;
    let manifest = Manifest {
        package: package.name.clone(),
        version: package.version.clone(),
        arch,
        series: offer.series.clone(),
        rt: offer.rt,
        release,
        package_sha256: downloaded.sha256,
        image,
        image_sha256: sha256(&bytes),
        image_bytes: bytes.len() as u64,
    };
    write_json(&scratch.path().join(MANIFEST), &manifest)?;
    scratch.move_to(&place)?;
    Ok(CachedKernel { directory: place, manifest })
}

/// The file name and the bytes of the image in `boot` that guests boot: the kernel unpacked from the package's image,
/// which it replaces, or that image if it cannot be unpacked.
fn image_to_boot(boot: &Path, release: &str, arch: Arch) -> Result<(String, Vec<u8>), KernelError> {
    let name = format!("vmlinuz-{release}");
    let path = boot.join(&name);
    let packed = fs::read(&path).map_err(PackageError::file("reading", &path))?;
    let facts = image::inspect(&packed).map_err(|error| KernelError::Image { image: path.clone(), error })?;
    if facts.arch != arch {
        return Err(KernelError::Arch { image: path, is: facts.arch, wanted: arch });
    }
    let Some(kernel) = vmlinux::unpack(&packed) else { return Ok((name, packed)) };
    fs::remove_file(&path).map_err(PackageError::file("removing", &path))?;
    let name = format!("vmlinux-{release}");
    let path = boot.join(&name);
    files::replace_own(&path, 0o644, &kernel).map_err(PackageError::file("writing", &path))?;
    Ok((name, kernel))
}

/// Moves what the lab needs from an unpacked package to `to`, and returns the kernel's release.
fn keep_kernel(whole: &Path, to: &Path, package: &PackageVersion) -> Result<String, PackageError> {
    let missing = |what: &str| PackageError::Contents {
        package: format!("{} {}", package.name, package.version),
        missing: what.to_owned(),
    };
    let release = file_names(&whole.join("boot"))?
        .iter()
        .find_map(|name| name.strip_prefix("vmlinuz-").map(str::to_owned))
        .ok_or_else(|| missing("boot/vmlinuz-RELEASE"))?;
    let device_trees = format!("usr/lib/linux-image-{release}");
    // From trixie on, modules are under /usr/lib, because /lib is a link to it.
    for (from, place, is_needed) in [
        ("boot", "boot", true),
        ("lib/modules", "lib/modules", false),
        ("usr/lib/modules", "lib/modules", false),
        (device_trees.as_str(), device_trees.as_str(), false),
    ] {
        let (from, target) = (whole.join(from), to.join(place));
        if !is_needed && !from.is_dir() {
            continue;
        }
        if let Some(parent) = target.parent() {
            create_directory(parent)?;
        }
        files::rename_own(&from, &target).map_err(PackageError::file("moving to", &target))?;
    }
    let modules = format!("lib/modules/{release}");
    if to.join(&modules).is_dir() { Ok(release) } else { Err(missing(&modules)) }
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

    fn available(name: &str, version: &str) -> Available {
        Available {
            package: PackageVersion { name: name.into(), version: version.into() },
            suite: "trixie-security".into(),
        }
    }

    fn offers() -> Offers {
        let names = [
            ("linux-image-6.1.0-50-amd64", "6.1.176-1"),
            ("linux-image-6.1.0-56-amd64", "6.1.192-2"),
            ("linux-image-6.1.0-56-amd64-unsigned", "6.1.192-2"),
            ("linux-image-6.1.0-56-cloud-amd64", "6.1.192-2"),
            ("linux-image-6.1.0-56-rt-amd64-unsigned", "6.1.192-2"),
            ("linux-image-6.12-amd64", "6.12.117-1~deb12u1"),
            ("linux-image-6.12-rt-amd64", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb12-amd64", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb12-amd64", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb12-amd64-dbg", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb12-amd64-unsigned", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb13-amd64", "6.12.117-1"),
            ("linux-image-6.12.95+deb12-amd64", "6.12.95-1~bpo12+1"),
            ("linux-image-6.12.117+deb12-rt-amd64", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb12-arm64", "6.12.117-1~deb12u1"),
            ("linux-image-6.12.117+deb12-arm64-16k", "6.12.117-1~deb12u1"),
            ("linux-image-amd64", "6.12.117-1"),
            ("linux-image-amd64-signed-template", "6.12.117-1"),
            ("linux-image-6.17-amd64", "nonsense"),
        ];
        let available = names.iter().map(|(name, version)| available(name, version)).collect();
        Offers {
            asked_at_seconds: 0,
            suites: vec!["bookworm".into(), "trixie-security".into()],
            kernels: offers_among(available, Arch::X86_64),
        }
    }

    fn chosen(text: &str) -> Result<String, String> {
        let spec = KernelSpec::parse(text).unwrap();
        let super::super::spec::Source::Debian(wanted) = &spec.source else { panic!() };
        let offers = offers();
        choose(&offers, wanted, Arch::X86_64)
            .map(|offer| offer.package.name.clone())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_newest_signed_image_of_a_series_is_taken() {
        assert_eq!(chosen("debian:6.1").unwrap(), "linux-image-6.1.0-56-amd64");
        assert_eq!(chosen("debian:6.1-rt").unwrap(), "linux-image-6.1.0-56-rt-amd64-unsigned");
        assert_eq!(chosen("debian:6.12").unwrap(), "linux-image-6.12.117+deb12-amd64");
        assert_eq!(chosen("debian:6.12=6.12.117-1").unwrap(), "linux-image-6.12.117+deb13-amd64");
        assert_eq!(chosen("debian:6.12=6.12.95-1~bpo12+1").unwrap(), "linux-image-6.12.95+deb12-amd64");
    }

    #[test]
    fn an_unknown_kernel_is_answered_with_the_available_ones() {
        insta::assert_snapshot!(chosen("debian:6.6-rt").unwrap_err());
        insta::assert_snapshot!(chosen("debian:6.12=6.12.1-1").unwrap_err());
    }

    #[test]
    fn a_series_is_two_numbers() {
        assert_eq!(series("6.12.117-1~deb12u1").as_deref(), Some("6.12"));
        assert_eq!(series("1:6.17~rc1-1~exp1").as_deref(), Some("6.17"));
        assert_eq!(series("nonsense"), None);
        assert_eq!(series("6"), None);
    }
}
