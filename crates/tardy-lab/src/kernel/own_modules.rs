//! tardy's own modules, `tardy_pins` and `tardy_disturb`, built for a Debian kernel from sources that are part of this
//! program.
//!
//! The headers come from the same archive as the kernel and are not installed. The built modules are kept in the cache.
//! Alternative not taken: prebuilt modules, which would be needed for each release of each kernel.

use std::fs;
use std::path::{Path, PathBuf};

use tardy_sys::{files, programs};
use thiserror::Error;

use super::Kernel;
use super::module_build;
use super::module_request::{ModuleRequest, ModuleSource};
use crate::arch::Arch;
use crate::checksum::sha256;
use crate::packages::{Notice, PackageError, PackageStore, PackageVersion, Scratch};

/// A module and its sources.
struct OwnModule {
    name: &'static str,
    source: &'static str,
    makefile: &'static str,
}

const OWN: [OwnModule; 2] = [
    OwnModule {
        name: "tardy_pins",
        source: include_str!("../../../../kernel/pins/tardy_pins.c"),
        makefile: include_str!("../../../../kernel/pins/Makefile"),
    },
    OwnModule {
        name: "tardy_disturb",
        source: include_str!("../../../../kernel/disturb/tardy_disturb.c"),
        makefile: include_str!("../../../../kernel/disturb/Makefile"),
    },
];

/// The directory in which the packages' makefiles include each other.
const SOURCES: &str = "/usr/src/";

/// Why a module of tardy is not available.
#[derive(Debug, Error)]
pub enum OwnModuleError {
    /// The kernel is not one of Debian's.
    #[error(
        "tardy builds {module} for Debian's kernels only, and {kernel} is not one: build it from kernel/ of tardy's sources \
         against that kernel, and give the file's path"
    )]
    NoHeaders {
        /// The module.
        module: &'static str,
        /// The kernel's spec.
        kernel: String,
    },
    /// The guest has another processor than this machine.
    #[error(
        "{module} cannot be built for {} on this machine: the programs that build modules run on that processor only",
        arch.debian_name()
    )]
    Foreign {
        /// The module.
        module: &'static str,
        /// The guest's processor.
        arch: Arch,
    },
    /// The headers could not be fetched, or the cache not written.
    #[error("tardy's own modules cannot be built without the headers of {kernel}: {error}")]
    Packages {
        /// The kernel's spec.
        kernel: String,
        /// The error.
        error: PackageError,
    },
    /// make(1) could not be started.
    #[error("tardy's own modules cannot be built, because make does not start ({0}): install make and gcc")]
    NoMake(std::io::Error),
    /// make(1) failed.
    #[error("{module} cannot be built; make (with gcc) reports:\n{output}")]
    Build {
        /// The module.
        module: &'static str,
        /// What make wrote.
        output: String,
    },
}

impl OwnModuleError {
    /// Whether this machine lacks something, as opposed to an error in the module.
    pub fn is_of_the_machine(&self) -> bool {
        !matches!(self, Self::Build { .. })
    }
}

/// Builds each module of tardy among `wanted`, and returns `wanted` with the built files in place of the names.
///
/// # Errors If a module is not available for `kernel`.
pub fn build_wanted(
    store: &PackageStore,
    kernel: &Kernel,
    wanted: &[ModuleRequest],
    notice: Notice<'_>,
) -> Result<Vec<ModuleRequest>, OwnModuleError> {
    let mut all = Vec::new();
    for one in wanted {
        let is_wanted = |own: &&OwnModule| one.module == ModuleSource::Named(own.name.to_owned());
        let mut one = one.clone();
        if let Some(own) = OWN.iter().find(is_wanted) {
            let file = directory(store, kernel, own, notice)?.join(format!("{}.ko", own.name));
            one.module = ModuleSource::File(file.display().to_string());
        }
        all.push(one);
    }
    Ok(all)
}

/// The directory with all of tardy's modules, built for `kernel`. `own` is the module that errors name.
fn directory(
    store: &PackageStore,
    kernel: &Kernel,
    own: &OwnModule,
    notice: Notice<'_>,
) -> Result<PathBuf, OwnModuleError> {
    let Some(PackageVersion { version, .. }) = &kernel.package else {
        return Err(OwnModuleError::NoHeaders { module: own.name, kernel: kernel.spec.clone() });
    };
    if Arch::of_this_program() != Some(kernel.arch) {
        return Err(OwnModuleError::Foreign { module: own.name, arch: kernel.arch });
    }
    let failed = |error| OwnModuleError::Packages { kernel: kernel.spec.clone(), error };
    let place = place(store, kernel);
    if place.is_dir() {
        return Ok(place);
    }
    let packages = headers(kernel, version);
    let headers = store.fetch_union(kernel.arch, &packages, notice).map_err(failed)?;
    let libraries = module_build::lacking_libraries(store, kernel.arch, &headers.root, &packages[0], notice);
    let libraries = libraries.map_err(failed)?;
    let _lock = store.cache.lock(notice).map_err(failed)?;
    if place.is_dir() {
        return Ok(place);
    }
    notice(&format!("building tardy's own modules for {}", kernel.release));
    let tree = headers.root.join("usr/src").join(format!("linux-headers-{}", kernel.release));
    relocate(&headers.root).map_err(failed)?;
    if let Some(libraries) = libraries {
        libraries.make_programs_run(&headers.root).map_err(failed)?;
    }
    let scratch = Scratch::new(&store.cache).map_err(failed)?;
    for own in &OWN {
        build(own, &tree, scratch.path())?;
    }
    scratch.move_to(&place).map_err(failed)?;
    Ok(place)
}

/// The directory of the modules built from these sources for that release.
fn place(store: &PackageStore, kernel: &Kernel) -> PathBuf {
    let sources: String = OWN.iter().flat_map(|own| [own.source, own.makefile]).collect();
    let name = format!("{}_{}", kernel.release, &sha256(sources.as_bytes())[..16]);
    store.cache.own_modules(kernel.arch).join(name.replace('/', "%"))
}

/// The packages with a kernel's headers: its own, the common one of all flavours, and the build's programs. The last is
/// named by series for kernels that are not named by version (6.1.0-56 as opposed to 6.12.117+deb12).
fn headers(kernel: &Kernel, version: &str) -> Vec<PackageVersion> {
    let release = kernel.release.as_str();
    let flavoured = release.strip_suffix(&format!("-{}", kernel.arch.debian_name())).unwrap_or(release);
    let flavoured = flavoured.strip_suffix("-cloud").unwrap_or(flavoured);
    let (base, rt) = flavoured.strip_suffix("-rt").map_or((flavoured, ""), |base| (base, "-rt"));
    let by_version = base.contains('+');
    let series = base.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let names = [
        format!("linux-kbuild-{}", if by_version { base } else { series.as_str() }),
        format!("linux-headers-{base}-common{rt}"),
        format!("linux-headers-{release}"),
    ];
    names.map(|name| PackageVersion { name, version: version.to_owned() }).into()
}

/// Changes the paths in the packages' makefiles, and the links between packages, from installed places to places below
/// `root`.
fn relocate(root: &Path) -> Result<(), PackageError> {
    let sources = root.join(SOURCES.trim_start_matches('/'));
    let trees = fs::read_dir(&sources).map_err(PackageError::file("reading", &sources))?;
    for tree in trees.filter_map(Result::ok).map(|entry| entry.path()) {
        let makefile = tree.join("Makefile");
        if let Ok(text) = fs::read_to_string(&makefile) {
            files::replace_own(&makefile, 0o644, relocated(&text, root).as_bytes())
                .map_err(PackageError::file("writing", &makefile))?;
        }
        for link in fs::read_dir(&tree).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
        {
            let Ok(target) = fs::read_link(&link) else { continue };
            let moved = target.strip_prefix("/usr").map(|rest| root.join("usr").join(rest));
            if let Ok(moved) = moved
                && !target.starts_with(root)
            {
                let failed = || PackageError::file("relocating", &link);
                fs::remove_file(&link).map_err(failed())?;
                std::os::unix::fs::symlink(moved, &link).map_err(failed())?;
            }
        }
    }
    Ok(())
}

fn relocated(makefile: &str, root: &Path) -> String {
    let there = format!("{}{SOURCES}", root.display());
    let mut text = makefile.to_owned();
    for before in ['=', ' '] {
        text = text.replace(&format!("{before}{SOURCES}"), &format!("{before}{there}"));
    }
    text
}

/// Builds a module in a directory below `directory`, and moves the file to `directory`.
fn build(own: &OwnModule, tree: &Path, directory: &Path) -> Result<(), OwnModuleError> {
    let at = directory.join("build").join(own.name);
    let failed =
        |error: std::io::Error| OwnModuleError::Build { module: own.name, output: error.to_string() };
    files::make_directories(&at).map_err(failed)?;
    files::replace_own(&at.join("Makefile"), 0o644, own.makefile.as_bytes()).map_err(failed)?;
    files::replace_own(&at.join(format!("{}.c", own.name)), 0o644, own.source.as_bytes()).map_err(failed)?;
    let output = programs::command("make")
        .map_err(OwnModuleError::NoMake)?
        .arg("--silent")
        .arg("-C")
        .arg(tree)
        .arg(format!("M={}", at.display()))
        // Debugging information contains paths, and that for BPF needs another program (pahole).
        .args(["KCFLAGS=-g0", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
        .args(module_build::compiler(tree))
        .output()
        .map_err(OwnModuleError::NoMake)?;
    if !output.status.success() {
        let output = [output.stdout, output.stderr].concat();
        return Err(OwnModuleError::Build {
            module: own.name,
            output: String::from_utf8_lossy(&output).into_owned(),
        });
    }
    let file = format!("{}.ko", own.name);
    files::rename_own(&at.join(&file), &directory.join(&file)).map_err(failed)?;
    fs::remove_dir_all(directory.join("build")).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(release: &str) -> Kernel {
        Kernel {
            spec: "debian:x".to_owned(),
            arch: Arch::X86_64,
            release: release.to_owned(),
            package: None,
            build: None,
            image: crate::kernel::image_file::ImageFile::plain(PathBuf::new()),
            config: None,
            modules: None,
            device_trees: None,
            append: String::new(),
        }
    }

    #[test]
    fn each_kernel_has_three_packages_of_headers() {
        for (release, names) in [
            (
                "6.12.117+deb12-rt-amd64",
                [
                    "linux-kbuild-6.12.117+deb12",
                    "linux-headers-6.12.117+deb12-common-rt",
                    "linux-headers-6.12.117+deb12-rt-amd64",
                ],
            ),
            (
                "6.12.117+deb12-cloud-amd64",
                [
                    "linux-kbuild-6.12.117+deb12",
                    "linux-headers-6.12.117+deb12-common",
                    "linux-headers-6.12.117+deb12-cloud-amd64",
                ],
            ),
            (
                "6.1.0-56-amd64",
                ["linux-kbuild-6.1", "linux-headers-6.1.0-56-common", "linux-headers-6.1.0-56-amd64"],
            ),
        ] {
            let packages = headers(&kernel(release), "1");
            assert_eq!(packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), names);
            assert!(packages.iter().all(|package| package.version == "1"));
        }
    }

    #[test]
    fn makefiles_are_relocated_only_once() {
        let text = "KBUILD_OUTPUT=/usr/src/a\ninclude /usr/src/b/Makefile\n";
        let once = relocated(text, Path::new("/c"));
        assert_eq!(once, "KBUILD_OUTPUT=/c/usr/src/a\ninclude /c/usr/src/b/Makefile\n");
        assert_eq!(relocated(&once, Path::new("/c")), once);
    }

    #[test]
    fn own_modules_are_not_built_for_a_kernel_by_path() {
        let cache = tempfile::tempdir().unwrap();
        let store = PackageStore {
            cache: crate::packages::cache_directory::CacheDirectory::at(cache.path()),
            programs: crate::packages::apt::Programs::default(),
            mirrors: crate::packages::apt::Mirrors::of_environment().unwrap(),
        };
        let wanted = ["veth", "tardy_pins period_us=1000"].map(ModuleRequest::parse);
        let error = build_wanted(&store, &kernel("6.1"), &wanted, &mut |_: &str| {}).unwrap_err();
        assert!(error.to_string().contains("give the file's path") && error.is_of_the_machine(), "{error}");
        assert_eq!(
            build_wanted(&store, &kernel("6.1"), &wanted[..1], &mut |_: &str| {}).unwrap(),
            wanted[..1]
        );
    }
}
