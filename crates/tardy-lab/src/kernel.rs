//! Kernels to boot: the request ([`spec`]), and the files that were found.
//!
//! A kernel is one of Debian's ([`debian`]), fetched once and kept in the [`cache`], one that this user built ([`built`]), or given by
//! path ([`by_path`]).
//! [`modules`] are loaded into it, some of them tardy's own ([`own_modules`]).

pub mod built;
pub mod by_path;
pub mod cache;
pub mod config;
pub mod debian;
pub mod image;
pub mod image_file;
mod kept_files;
pub mod listing;
mod module_build;
pub mod module_request;
pub mod modules;
pub mod own_modules;
mod packaging;
mod preference;
pub mod pruning;
pub mod selection;
pub mod spec;
pub mod vmlinux;

use std::path::PathBuf;

use thiserror::Error;

use crate::arch::Arch;
use crate::packages::{Notice, PackageError, PackageStore, PackageVersion};
use image_file::ImageFile;
use module_request::ModuleRequest;
use modules::{Module, ModuleError};
pub use selection::KernelSelection;
use spec::Source;
pub use spec::{KernelSpec, SpecError};

/// A kernel that can be booted. Its files are on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The request, such as `debian:6.12-rt` or `debian:6.12,append='preempt=none'`.
    pub spec: String,
    /// Its processor.
    pub arch: Arch,
    /// Its release as in `uname -r`, such as `6.12.117+deb12-rt-amd64`.
    pub release: String,
    /// Debian's package; `None` for a kernel by path.
    pub package: Option<PackageVersion>,
    /// The first digits of the key of a kernel that this user built.
    pub build: Option<String>,
    /// The image that the emulator boots.
    pub image: ImageFile,
    /// Its configuration, if it is known.
    pub config: Option<PathBuf>,
    /// The directory of its modules, such as `…/lib/modules/6.12.117+deb12-rt-amd64`; `None` if it has none.
    pub modules: Option<PathBuf>,
    /// The directory of its device trees, such as `…/usr/lib/linux-image-6.1.0-56-arm64`.
    pub device_trees: Option<PathBuf>,
    /// Parameters added to its command line.
    pub append: String,
}

impl Kernel {
    /// The name of exactly this kernel: of one of Debian's with its version, of a build with its key.
    pub fn exact_spec(&self) -> Result<KernelSpec, SpecError> {
        let mut spec = KernelSpec::parse(&self.spec)?;
        if let (Source::Debian(kernel), Some(package)) = (&mut spec.source, &self.package) {
            kernel.exact = Some(package.version.clone());
        }
        if let (Source::Build(name), Some(key)) = (&mut spec.source, &self.build) {
            name.clone_from(key);
        }
        Ok(spec)
    }
}

/// Why a kernel was not found.
#[derive(Debug, Error)]
pub enum KernelError {
    /// Packages could not be fetched.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// The archive has no such kernel.
    #[error(
        "Debian has no {spec} for {} in the suites {suites}, which have: {available}. For an older version, set \
         TARDY_DEBIAN_MIRROR and TARDY_DEBIAN_SECURITY_MIRROR to a day of snapshot.debian.org; for any other kernel, give \
         its path",
        arch.debian_name()
    )]
    NotOffered {
        /// The request.
        spec: String,
        /// The guest's processor.
        arch: Arch,
        /// The suites that were searched.
        suites: String,
        /// What the suites have.
        available: String,
    },
    /// No kernel of that name was built.
    #[error(
        "no kernel build:{name} for {} in the cache, which has: {known}; `tardy lab build` builds one, and `tardy lab kernels` \
         lists them",
        arch.debian_name()
    )]
    NotBuilt {
        /// The name after `build:`.
        name: String,
        /// The guest's processor.
        arch: Arch,
        /// The builds in the cache.
        known: String,
    },
    /// A module is not available.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// No kernel is among those that were asked for.
    #[error(transparent)]
    Selection(#[from] selection::SelectionError),
    /// A file is not a kernel that can be booted.
    #[error("{}: {error}", image.display())]
    Image {
        /// The file.
        image: PathBuf,
        /// The error.
        error: image::ImageError,
    },
    /// A kernel is for another processor than the guest's.
    #[error("{} is a kernel for {}, but the guest's processor is {}: choose another kernel or another machine", image.display(), is.name(), wanted.name())]
    Arch {
        /// The file.
        image: PathBuf,
        /// The kernel's processor.
        is: Arch,
        /// The guest's processor.
        wanted: Arch,
    },
    /// One of the paths of a kernel by path is wrong.
    #[error("{what} {}: {problem}", path.display())]
    Path {
        /// The path's meaning.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
}

/// What kernels are wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The guest's processor.
    pub arch: Arch,
    /// Whether the archive is asked, even if the cache has such a kernel.
    pub refresh: bool,
    /// The modules that the cache keeps of a kernel that is fetched.
    pub keep: &'a [String],
}

/// Finds the kernel `spec`.
///
/// Of Debian's kernels it uses the newest cached one of the series, without network access. If none is cached, or with
/// `refresh`, it fetches the newest that Debian offers. `notice` is called before steps that take time.
///
/// # Errors
/// If there is no such kernel, or fetching it fails.
pub fn find(spec: &KernelSpec, request: Request<'_>, notice: Notice<'_>) -> Result<Kernel, KernelError> {
    match &spec.source {
        Source::Path(files) => by_path::find(spec, files, request.arch),
        Source::Debian(_) | Source::Build(_) => {
            find_in(&PackageStore::of_this_user()?, spec, request, notice)
        }
    }
}

/// As [`find`], with the cache of `store`.
///
/// # Errors
/// As for [`find`].
pub fn find_in(
    store: &PackageStore,
    spec: &KernelSpec,
    request: Request<'_>,
    notice: Notice<'_>,
) -> Result<Kernel, KernelError> {
    match &spec.source {
        Source::Path(files) => by_path::find(spec, files, request.arch),
        Source::Debian(wanted) => debian::find(store, spec, wanted, request, notice),
        Source::Build(name) => built::kernel(&store.cache, request.arch, spec, name),
    }
}

/// The modules to load, as [`modules::resolve`] finds them. Modules of a cached kernel that the cache has not kept are fetched again.
///
/// # Errors
/// If the kernel does not have a module, or the archive no longer has the kernel's modules.
pub fn modules_of(
    store: &PackageStore,
    kernel: &Kernel,
    [wanted, at_rest]: [&[ModuleRequest]; 2],
    notice: Notice<'_>,
) -> Result<Vec<Module>, KernelError> {
    let missing = match modules::resolve(kernel, wanted, at_rest) {
        Err(missing @ ModuleError::Unknown { .. }) => missing,
        resolved => return Ok(resolved?),
    };
    let named = wanted.iter().chain(at_rest).filter_map(ModuleRequest::name);
    let mut names: Vec<String> = named.map(str::to_owned).collect();
    if let ModuleError::Unknown { module, .. } = &missing {
        names.push(module.clone());
    }
    match debian::add_modules(store, kernel, &names, notice)? {
        true => Ok(modules::resolve(kernel, wanted, at_rest)?),
        false => Err(missing.into()),
    }
}

/// The kernels that `selections` name, in their order. For several of Debian's kernels, the archive is read if `refresh` is set
/// or if it has never been read; `notice` receives the error if it cannot be read without `refresh`.
///
/// # Errors
/// If a selection names no kernel, or the archive cannot be read with `refresh`.
pub fn expand(
    store: &PackageStore,
    selections: &[KernelSelection],
    arch: Arch,
    refresh: bool,
    notice: Notice<'_>,
) -> Result<Vec<KernelSpec>, KernelError> {
    let mut available = None;
    let mut all = Vec::new();
    for selection in selections {
        if let KernelSelection::One(spec) = selection {
            all.push(spec.clone());
            continue;
        }
        if available.is_none() {
            available = Some(listing::versions(store, arch, refresh, notice)?);
        }
        all.extend(selection.among(available.as_deref().unwrap_or_default())?);
    }
    Ok(all)
}
