//! Debian's kernels: finds their packages, chooses among them, and fetches them into the cache.
//!
//! A series is found by the names and versions of all image packages, not through a metapackage: the name of 6.1's
//! (`linux-image-amd64`) contains no series, and refers to a different series in every release of Debian.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cache::{self, CachedKernel, MANIFEST, Manifest};
use super::image;
use super::kept_files;
use super::packaging::{Flavour, PREFIXES, Packaging, UnpackedKernel};
use super::preference::preference;
use super::spec::DebianKernel;
use super::vmlinux;
use super::{Kernel, KernelError, KernelSpec, Request};
use crate::arch::Arch;
use crate::checksum::sha256;
use crate::packages::apt::{Apt, Available, remove_downloads};
use crate::packages::cache_directory::{file_name, write_json};
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
    request: Request<'_>,
    notice: Notice<'_>,
) -> Result<Kernel, KernelError> {
    let Request { arch, refresh, .. } = request;
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
    let fetched = choose(&offers, wanted, arch).and_then(|offer| fetch(store, &apt, offer, request, notice));
    let kernel = match fetched {
        Err(_) if may_be_outdated => {
            // The archive may have changed since it was read.
            let offers = self::offers(store, &apt, arch, true, notice)?;
            fetch(store, &apt, choose(&offers, wanted, arch)?, request, notice)?
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
    let available = apt.available(&PREFIXES, |name| Flavour::of(name, arch).is_some())?;
    let kernels = offers_among(available, arch);
    let offers = Offers { asked_at_seconds: update.at_seconds, suites: update.suites, kernels };
    write_json(&store.cache.apt(arch).join(OFFERS), &offers)?;
    Ok(offers)
}

const OFFERS: &str = "offered-kernels.json";

/// The archive's offers when it was last read.
pub(super) fn known_offers(store: &PackageStore, arch: Arch) -> Option<Offers> {
    serde_json::from_slice(&fs::read(store.cache.apt(arch).join(OFFERS)).ok()?).ok()
}

fn offers_among(available: Vec<Available>, arch: Arch) -> Vec<Offer> {
    let mut kernels: Vec<Offer> = available.into_iter().filter_map(|one| offer(one, arch)).collect();
    remove_metapackages(&mut kernels, arch);
    kernels.sort_by(|a, b| {
        let by_package = preference(&a.package, &b.package);
        a.rt.cmp(&b.rt).then(by_package).then_with(|| a.suite.cmp(&b.suite))
    });
    // The same package is in more than one suite.
    kernels.dedup_by(|a, b| a.package == b.package);
    kernels
}

/// Removes `linux-image-RELEASE` where `linux-binary-RELEASE` has the image.
fn remove_metapackages(kernels: &mut Vec<Offer>, arch: Arch) {
    let has_image = |one: &Offer| one.package.name.starts_with(PREFIXES[1]);
    let release =
        |one: &Offer| Flavour::of(&one.package.name, arch).map(|flavour| flavour.release.to_owned());
    let split: BTreeSet<String> = kernels.iter().filter(|one| has_image(one)).filter_map(release).collect();
    kernels.retain(|one| has_image(one) || !release(one).is_some_and(|release| split.contains(&release)));
}

/// The offer of a package that the lab can use; `None` for metapackages and for the flavours for clouds, other page
/// sizes and debugging.
fn offer(available: Available, arch: Arch) -> Option<Offer> {
    let Available { package, suite } = available;
    let Flavour { abi, rt, .. } = Flavour::of(&package.name, arch)?;
    let series = series(&package.version)?;
    let is_image = abi.strip_prefix(&series).is_some_and(|rest| rest.starts_with(['.', '-', '+']));
    is_image.then_some(Offer { package, series, rt, suite })
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
    request: Request<'_>,
    notice: Notice<'_>,
) -> Result<CachedKernel, KernelError> {
    let Request { arch, keep, .. } = request;
    let package = &offer.package;
    let place = store.cache.kernels(arch).join(file_name(&package.name, &package.version));
    if let Some(cached) = CachedKernel::read(&place) {
        notice(&format!("{} {} is the newest and is cached", package.name, package.version));
        return Ok(cached);
    }
    let scratch = Scratch::new(&store.cache)?;
    let whole = scratch.path().join("whole");
    let release = Flavour::of(&package.name, arch).map_or("", |flavour| flavour.release);
    let packaging = Packaging::of(package, release);
    let package_sha256 = unpack(store, apt, package, scratch.path(), notice)?;
    for needed in &packaging.needed {
        unpack(store, apt, needed, scratch.path(), notice)?;
    }
    if let Some(base) = &packaging.base {
        match unpack(store, apt, base, scratch.path(), notice) {
            Err(PackageError::NoSuchPackage { .. }) => notice(&format!(
                "Debian no longer has {base}: {} is booted without its configuration, and it has no modules",
                package.name
            )),
            unpacked => drop(unpacked?),
        }
    }
    let unpacked = UnpackedKernel::find(&whole, package)?;
    let image = image_to_boot(&unpacked.image, arch)?;
    let mut manifest = Manifest {
        package: package.name.clone(),
        version: package.version.clone(),
        arch,
        series: offer.series.clone(),
        rt: offer.rt,
        release: unpacked.release.clone(),
        package_sha256,
        image: kept_files::image_name(&unpacked.release),
        image_sha256: sha256(&image),
        image_bytes: 0,
        modules_package: Some(packaging.modules),
    };
    manifest.image_bytes = kept_files::keep(&unpacked, &image, scratch.path())?;
    if let Some(modules) = &unpacked.modules {
        kept_files::keep_modules(modules, keep, scratch.path(), &manifest)?;
    }
    fs::remove_dir_all(&whole).map_err(PackageError::file("removing", &whole))?;
    write_json(&scratch.path().join(MANIFEST), &manifest)?;
    scratch.move_to(&place)?;
    Ok(CachedKernel { directory: place, manifest })
}

/// Downloads a package, unpacks it into the directory `whole` of `scratch`, and returns its SHA-256.
fn unpack(
    store: &PackageStore,
    apt: &Apt<'_>,
    package: &PackageVersion,
    scratch: &Path,
    notice: Notice<'_>,
) -> Result<String, PackageError> {
    let downloaded = apt.download(package, scratch, notice)?;
    notice(&format!("unpacking {}", package.name));
    extract(&store.programs, &downloaded.path, &scratch.join("whole"))?;
    remove_downloads(scratch)?;
    Ok(downloaded.sha256)
}

/// Adds the modules `wanted`, and those that they need, to a cached kernel that has only some of its modules. Returns whether there is
/// such a kernel.
///
/// # Errors
/// If the archive no longer has the package, or fetching it fails.
pub(super) fn add_modules(
    store: &PackageStore,
    kernel: &Kernel,
    wanted: &[String],
    notice: Notice<'_>,
) -> Result<bool, PackageError> {
    let directory = kernel.image.path.ancestors().nth(2);
    let cached = directory.filter(|_| kernel.package.is_some()).and_then(CachedKernel::read);
    let Some(CachedKernel { directory, manifest }) = cached else { return Ok(false) };
    let Some(package) = &manifest.modules_package else { return Ok(false) };
    let _lock = store.cache.lock(notice)?;
    let apt = Apt::prepare(store, kernel.arch)?;
    apt.update_unless_current(notice)?;
    let scratch = Scratch::new(&store.cache)?;
    unpack(store, &apt, package, scratch.path(), notice)?;
    let all = kept_files::modules_below(&scratch.path().join("whole"), package, &manifest.release)?;
    kept_files::keep_modules(&all, wanted, &directory, &manifest)?;
    Ok(true)
}

/// The image that guests boot: the kernel unpacked from the package's image, or that image if it cannot be unpacked.
fn image_to_boot(path: &Path, arch: Arch) -> Result<Vec<u8>, KernelError> {
    let packed = fs::read(path).map_err(PackageError::file("reading", path))?;
    let facts =
        image::inspect(&packed).map_err(|error| KernelError::Image { image: path.to_owned(), error })?;
    if facts.arch != arch {
        return Err(KernelError::Arch { image: path.to_owned(), is: facts.arch, wanted: arch });
    }
    Ok(vmlinux::unpack(&packed).unwrap_or(packed))
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
            ("linux-image-7.3.4+deb13-rt-amd64", "7.3.4-1~bpo13+1"),
            ("linux-binary-7.3.4+deb13-rt-amd64", "7.3.4-1~bpo13+1"),
            ("linux-binary-unsigned-7.3.4+deb13-rt-amd64", "7.3.4-1~bpo13+1"),
            ("linux-binary-7.3.4+deb13-cloud-amd64", "7.3.4-1~bpo13+1"),
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
        assert_eq!(chosen("debian:7.3-rt").unwrap(), "linux-binary-7.3.4+deb13-rt-amd64");
        let metapackage = |offer: &Offer| offer.package.name == "linux-image-7.3.4+deb13-rt-amd64";
        assert!(!offers().kernels.iter().any(metapackage));
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
