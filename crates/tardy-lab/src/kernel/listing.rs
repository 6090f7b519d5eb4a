//! The list of kernels in the cache and in Debian's archive.

use std::path::PathBuf;

use serde::Serialize;

use super::KernelError;
use super::built::{self, BuildManifest};
use super::cache::{self, CachedKernel};
use super::debian::{self, Offer, Offers};
use super::selection::AvailableKernel;
use super::spec::DebianKernel;
use crate::arch::Arch;
use crate::packages::apt::Apt;
use crate::packages::cache_directory::CacheDirectory;
use crate::packages::cache_size::{self, CacheSize};
use crate::packages::{Notice, PackageError, PackageStore};

/// The available kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The kernels on this machine.
    pub cached: Vec<Cached>,
    /// The kernels that this user built.
    pub built: Vec<Built>,
    /// The newest of each series and flavour in the archive.
    pub offered: Vec<Offered>,
    /// What the cache takes on the disk.
    pub size: CacheSize,
    /// When the archive was last read, per processor.
    pub asked: Vec<Asked>,
}

/// A kernel on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cached {
    /// The spec of exactly this kernel, such as `debian:6.12=6.12.117-1~deb12u1`.
    pub spec: String,
    /// The spec without a version, if it selects this kernel too.
    pub short_spec: Option<String>,
    /// Its processor.
    pub arch: Arch,
    /// Its package.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// Its release as in `uname -r`.
    pub release: String,
    /// Its directory.
    pub directory: PathBuf,
    /// The SHA-256 of its image, in hexadecimal.
    pub image_sha256: String,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
}

/// A kernel that this user built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Built {
    /// Its spec: by its name if it has one, or else by its key.
    pub spec: String,
    /// Its directory.
    pub directory: PathBuf,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
    /// What it was made of.
    #[serde(flatten)]
    pub manifest: BuildManifest,
}

/// A kernel in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// Its spec, such as `debian:6.12-rt`.
    pub spec: String,
    /// Its processor.
    pub arch: Arch,
    /// Its package.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// A suite that has it.
    pub suite: String,
    /// Whether the cache has it.
    pub state: OfferState,
}

/// Whether the cache has an offered kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferState {
    /// The cache has this version.
    Cached,
    /// The cache has this other version of the series, which is used until `--refresh`.
    Instead(String),
    /// The cache has no kernel of the series.
    NotCached,
}

/// When the archive was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The processor.
    pub arch: Arch,
    /// Seconds since 1970.
    pub at_seconds: u64,
    /// The suites that answered.
    pub suites: Vec<String>,
}

/// Lists the kernels for `arches`. Reads the archive if `refresh` is set or if it has never been read. If reading fails
/// without `refresh`, `notice` receives the error and the list lacks the archive's offers.
///
/// # Errors
/// If the archive cannot be read with `refresh`.
pub fn list(
    store: &PackageStore,
    arches: &[Arch],
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Listing, KernelError> {
    let mut listing = Listing { size: CacheSize::of(&store.cache), ..Listing::default() };
    for arch in arches.iter().copied() {
        let cached = cache::list(&store.cache, arch);
        listing.cached.extend(cached.iter().map(|kernel| describe(&store.cache, kernel)));
        let names = built::names(&store.cache, arch);
        listing.built.extend(built::list(&store.cache, arch).into_iter().map(|build| Built {
            spec: build.spec(&names),
            bytes: build.bytes(),
            directory: build.directory,
            manifest: build.manifest,
        }));
        let Some(offers) = offers(store, arch, refresh, notice)? else { continue };
        listing.offered.extend(newest(&offers.kernels).map(|offer| Offered {
            spec: debian_kernel(&offer.series, offer.rt, None).to_string(),
            arch,
            package: offer.package.name.clone(),
            version: offer.package.version.clone(),
            suite: offer.suite.clone(),
            state: state(&store.cache, arch, offer),
        }));
        listing.asked.push(Asked { arch, at_seconds: offers.asked_at_seconds, suites: offers.suites });
    }
    Ok(listing)
}

/// The versions of the kernels for `arch` in the cache and in the archive. The archive is read as by [`list`].
///
/// # Errors
/// If the archive cannot be read with `refresh`.
pub fn versions(
    store: &PackageStore,
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Vec<AvailableKernel>, KernelError> {
    let cached = cache::list(&store.cache, arch).into_iter().map(|kernel| AvailableKernel {
        package: kernel.manifest.package_version(),
        series: kernel.manifest.series,
        rt: kernel.manifest.rt,
    });
    let mut all: Vec<AvailableKernel> = cached.collect();
    let offers = offers(store, arch, refresh, notice)?;
    for Offer { package, series, rt, .. } in offers.into_iter().flat_map(|offers| offers.kernels) {
        all.push(AvailableKernel { package, series, rt });
    }
    Ok(all)
}

/// What the archive offered when it was last read, or offers now. `None` if it cannot be read; `notice` receives the error.
fn offers(
    store: &PackageStore,
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Option<Offers>, KernelError> {
    let known = if refresh { None } else { debian::known_offers(store, arch) };
    if known.is_some() {
        return Ok(known);
    }
    match read_archive(store, arch, refresh, notice) {
        Ok(offers) => Ok(Some(offers)),
        Err(error) if refresh => Err(error.into()),
        Err(error) => {
            notice(&format!("Debian's kernels for {} are not known: {error}", arch.debian_name()));
            Ok(None)
        }
    }
}

fn read_archive(
    store: &PackageStore,
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Offers, PackageError> {
    let _lock = store.cache.lock(notice)?;
    debian::offers(store, &Apt::prepare(store, arch)?, arch, refresh, notice)
}

fn debian_kernel(series: &str, rt: bool, exact: Option<&str>) -> DebianKernel {
    DebianKernel { series: series.to_owned(), rt, exact: exact.map(str::to_owned) }
}

fn describe(cache: &CacheDirectory, kernel: &CachedKernel) -> Cached {
    let manifest = &kernel.manifest;
    let short = debian_kernel(&manifest.series, manifest.rt, None);
    let is_taken = cache::best(cache, manifest.arch, &short).is_some_and(|best| best == *kernel);
    Cached {
        spec: debian_kernel(&manifest.series, manifest.rt, Some(&manifest.version)).to_string(),
        short_spec: is_taken.then(|| short.to_string()),
        arch: manifest.arch,
        package: manifest.package.clone(),
        version: manifest.version.clone(),
        release: manifest.release.clone(),
        directory: kernel.directory.clone(),
        image_sha256: manifest.image_sha256.clone(),
        bytes: cache_size::of_directory(&kernel.directory),
    }
}

/// The last offer of each series and flavour, which is the preferred one.
fn newest(offers: &[Offer]) -> impl Iterator<Item = &Offer> {
    offers.iter().enumerate().filter_map(|(index, offer)| {
        let next = offers.get(index + 1);
        next.is_none_or(|next| (&next.series, next.rt) != (&offer.series, offer.rt)).then_some(offer)
    })
}

fn state(cache: &CacheDirectory, arch: Arch, offer: &Offer) -> OfferState {
    match cache::best(cache, arch, &debian_kernel(&offer.series, offer.rt, None)) {
        Some(best) if best.manifest.version == offer.package.version => OfferState::Cached,
        Some(best) => OfferState::Instead(best.manifest.version),
        None => OfferState::NotCached,
    }
}
