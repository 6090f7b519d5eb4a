//! What kernels there are: in the cache, and in the distribution's archive.

use std::path::PathBuf;

use serde::Serialize;

use super::KernelError;
use super::cache::{self, CachedKernel};
use super::debian::{self, Offer, Offers};
use super::spec::DebianKernel;
use crate::arch::Arch;
use crate::packages::apt::Apt;
use crate::packages::cache_directory::CacheDirectory;
use crate::packages::{Notice, PackageError, PackageStore};

/// The kernels that can be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Those on this machine.
    pub cached: Vec<Cached>,
    /// The newest of each series and flavour in the archive.
    pub offered: Vec<Offered>,
    /// When the archive was asked, for each processor for which it ever was.
    pub asked: Vec<Asked>,
}

/// A kernel on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cached {
    /// What to ask for to get exactly this one, such as `debian:6.12=6.12.117-1~deb12u1`.
    pub spec: String,
    /// What to ask for without its version, if that gets this one too.
    pub short_spec: Option<String>,
    /// Its processor.
    pub arch: Arch,
    /// The package that it is from.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// As `uname -r` will say.
    pub release: String,
    /// Where it is.
    pub directory: PathBuf,
    /// The checksum of its image, in hexadecimal.
    pub image_sha256: String,
}

/// A kernel in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// What to ask for, such as `debian:6.12-rt`.
    pub spec: String,
    /// Its processor.
    pub arch: Arch,
    /// The package that it is in.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// A suite that has it.
    pub suite: String,
    /// How it stands to the cache.
    pub state: OfferState,
}

/// How an offered kernel stands to the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferState {
    /// It is there: asking for the series takes it, and refreshing brings nothing new.
    Cached,
    /// The cache has this other version, which is taken until somebody refreshes.
    Instead(String),
    /// The cache has none of the series: asking for it fetches this one.
    NotCached,
}

/// When the archive was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// About this processor.
    pub arch: Arch,
    /// Seconds since 1970.
    pub at_seconds: u64,
    /// The suites that answered.
    pub suites: Vec<String>,
}

/// Lists the kernels for some processors. The archive is asked if `refresh`, or if it never was; where it cannot be
/// asked and need not be, `notice` says so and the list is without its offers.
///
/// # Errors
/// When the archive should be asked anew and does not answer.
pub fn list(
    store: &PackageStore,
    arches: &[Arch],
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Listing, KernelError> {
    let mut listing = Listing::default();
    for arch in arches.iter().copied() {
        let cached = cache::list(&store.cache, arch);
        listing.cached.extend(cached.iter().map(|kernel| describe(&store.cache, kernel)));
        let known = if refresh { None } else { debian::known_offers(store, arch) };
        let offers = match known {
            Some(offers) => offers,
            None => match ask(store, arch, refresh, notice) {
                Ok(offers) => offers,
                Err(error) if refresh => return Err(error.into()),
                Err(error) => {
                    notice(&format!("what Debian offers for {} is not known: {error}", arch.debian_name()));
                    continue;
                }
            },
        };
        listing.offered.extend(newest(&offers.kernels).map(|offer| Offered {
            spec: wish(&offer.series, offer.rt, None).to_string(),
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

fn ask(store: &PackageStore, arch: Arch, refresh: bool, notice: Notice<'_>) -> Result<Offers, PackageError> {
    let _lock = store.cache.lock(notice)?;
    debian::offers(store, &Apt::prepare(store, arch)?, arch, refresh, notice)
}

fn wish(series: &str, rt: bool, exact: Option<&str>) -> DebianKernel {
    DebianKernel { series: series.to_owned(), rt, exact: exact.map(str::to_owned) }
}

fn describe(cache: &CacheDirectory, kernel: &CachedKernel) -> Cached {
    let manifest = &kernel.manifest;
    let short = wish(&manifest.series, manifest.rt, None);
    let is_taken = cache::best(cache, manifest.arch, &short).is_some_and(|best| best == *kernel);
    Cached {
        spec: wish(&manifest.series, manifest.rt, Some(&manifest.version)).to_string(),
        short_spec: is_taken.then(|| short.to_string()),
        arch: manifest.arch,
        package: manifest.package.clone(),
        version: manifest.version.clone(),
        release: manifest.release.clone(),
        directory: kernel.directory.clone(),
        image_sha256: manifest.image_sha256.clone(),
    }
}

/// The last of each series and flavour: offers come with the preferred ones last.
fn newest(offers: &[Offer]) -> impl Iterator<Item = &Offer> {
    offers.iter().enumerate().filter_map(|(index, offer)| {
        let next = offers.get(index + 1);
        next.is_none_or(|next| (&next.series, next.rt) != (&offer.series, offer.rt)).then_some(offer)
    })
}

fn state(cache: &CacheDirectory, arch: Arch, offer: &Offer) -> OfferState {
    match cache::best(cache, arch, &wish(&offer.series, offer.rt, None)) {
        Some(best) if best.manifest.version == offer.package.version => OfferState::Cached,
        Some(best) => OfferState::Instead(best.manifest.version),
        None => OfferState::NotCached,
    }
}
