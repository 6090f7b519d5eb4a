//! tardy's own modules, the lab's pins and the disturber, built for a kernel of Debian's from sources that are part of this
//! program.
//!
//! Headers come from the same archive as the kernel and are not installed; what was built is kept beside them in the cache.
//! The road not taken: modules that are built beforehand, which would be one for each release of each kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use super::Kernel;
use crate::arch::Arch;
use crate::checksum::sha256;
use crate::packages::{Notice, PackageError, PackageStore, PackageVersion, Scratch};

/// A module, and the files that it is made of.
struct Own {
    name: &'static str,
    source: &'static str,
    makefile: &'static str,
}

const OWN: [Own; 2] = [
    Own {
        name: "tardy_pins",
        source: include_str!("../../../../kernel/pins/tardy_pins.c"),
        makefile: include_str!("../../../../kernel/pins/Makefile"),
    },
    Own {
        name: "tardy_disturb",
        source: include_str!("../../../../kernel/disturb/tardy_disturb.c"),
        makefile: include_str!("../../../../kernel/disturb/Makefile"),
    },
];

/// Where the packages' makefiles name each other from the root.
const SOURCES: &str = "/usr/src/";

/// Why a module of tardy's own cannot be had.
#[derive(Debug, Error)]
pub enum OwnModuleError {
    /// A kernel that is not Debian's.
    #[error(
        "{module} is built for Debian's kernels, and {kernel} is none: build it from kernel/ of tardy's sources against \
         that kernel, and name the file"
    )]
    NoHeaders {
        /// The module.
        module: &'static str,
        /// The kernel as asked for.
        kernel: String,
    },
    /// A guest of another processor.
    #[error(
        "{module} cannot be built for {} here: the programs that build modules are that processor's own", arch.debian_name()
    )]
    Foreign {
        /// The module.
        module: &'static str,
        /// The guest's processor.
        arch: Arch,
    },
    /// Headers could not be had, or the cache not be written.
    #[error("the headers of {kernel}, against which tardy's own modules are built: {error}")]
    Packages {
        /// The kernel as asked for.
        kernel: String,
        /// What went wrong.
        error: PackageError,
    },
    /// make(1) could not be started.
    #[error("make cannot be started ({0}), and tardy's own modules are built with it: install make and gcc")]
    NoMake(std::io::Error),
    /// make(1) failed.
    #[error("{module} cannot be built (with make and gcc); make says:\n{said}")]
    Build {
        /// The module.
        module: &'static str,
        /// In make's words.
        said: String,
    },
}

impl OwnModuleError {
    /// Whether it is this machine that lacks something, and not the module that is wrong.
    pub fn is_of_the_machine(&self) -> bool {
        !matches!(self, Self::Build { .. })
    }
}

/// `wanted` with the file of each module of tardy's own in the place of its name, for [`super::modules::resolve`].
///
/// # Errors
/// When one of them cannot be had for `kernel`.
pub fn in_place(
    store: &PackageStore,
    kernel: &Kernel,
    wanted: &[String],
    notice: Notice<'_>,
) -> Result<Vec<String>, OwnModuleError> {
    let mut all = Vec::new();
    for one in wanted {
        let (name, parameters) = one.split_once(' ').unwrap_or((one, ""));
        all.push(match OWN.iter().find(|own| own.name == name) {
            Some(own) => {
                let file = directory(store, kernel, own, notice)?.join(format!("{}.ko", own.name));
                format!("{} {parameters}", file.display())
            }
            None => one.clone(),
        });
    }
    Ok(all)
}

/// The directory that has all of them, built for `kernel`; `own` is the one that is wanted.
fn directory(
    store: &PackageStore,
    kernel: &Kernel,
    own: &Own,
    notice: Notice<'_>,
) -> Result<PathBuf, OwnModuleError> {
    let package = kernel.package.as_deref().and_then(|package| package.split_once('='));
    let Some((_, version)) = package else {
        return Err(OwnModuleError::NoHeaders { module: own.name, kernel: kernel.spec.clone() });
    };
    if Arch::of_this_program() != Some(kernel.arch) {
        return Err(OwnModuleError::Foreign { module: own.name, arch: kernel.arch });
    }
    let told = |error| OwnModuleError::Packages { kernel: kernel.spec.clone(), error };
    let place = place(store, kernel);
    if place.is_dir() {
        return Ok(place);
    }
    let headers = store.fetch_union(kernel.arch, &headers(kernel, version), notice).map_err(told)?;
    let _lock = store.cache.lock(notice).map_err(told)?;
    if place.is_dir() {
        return Ok(place);
    }
    notice(&format!("building tardy's own modules for {}", kernel.release));
    let tree = headers.root.join("usr/src").join(format!("linux-headers-{}", kernel.release));
    relocate(&headers.root).map_err(told)?;
    let scratch = Scratch::new(&store.cache).map_err(told)?;
    for own in &OWN {
        build(own, &tree, scratch.path())?;
    }
    scratch.become_directory(&place).map_err(told)?;
    Ok(place)
}

/// Where they lie once they are built from these sources for that release.
fn place(store: &PackageStore, kernel: &Kernel) -> PathBuf {
    let sources: String = OWN.iter().flat_map(|own| [own.source, own.makefile]).collect();
    let name = format!("{}_{}", kernel.release, &sha256(sources.as_bytes())[..16]);
    store.cache.own_modules(kernel.arch).join(name.replace('/', "%"))
}

/// The packages that a kernel's headers are in: its own, those of all flavours, and the programs of the build, which
/// Debian named by series before it named kernels by version (6.1.0-56, 6.12.117+deb12).
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

/// Makes packages' makefiles, and a link between packages, lead to where they are and not to where they would be installed.
fn relocate(root: &Path) -> Result<(), PackageError> {
    let sources = root.join(SOURCES.trim_start_matches('/'));
    let trees = fs::read_dir(&sources).map_err(PackageError::file("reading", &sources))?;
    for tree in trees.filter_map(Result::ok).map(|entry| entry.path()) {
        let makefile = tree.join("Makefile");
        if let Ok(text) = fs::read_to_string(&makefile) {
            fs::write(&makefile, relocated(&text, root)).map_err(PackageError::file("writing", &makefile))?;
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

/// Builds one below `directory`, and leaves its file there.
fn build(own: &Own, tree: &Path, directory: &Path) -> Result<(), OwnModuleError> {
    let at = directory.join("build").join(own.name);
    let failed = |error: std::io::Error| OwnModuleError::Build { module: own.name, said: error.to_string() };
    fs::create_dir_all(&at).map_err(failed)?;
    fs::write(at.join("Makefile"), own.makefile).map_err(failed)?;
    fs::write(at.join(format!("{}.c", own.name)), own.source).map_err(failed)?;
    let output = Command::new("make")
        .arg("--silent")
        .arg("-C")
        .arg(tree)
        .arg(format!("M={}", at.display()))
        // Debugging information has paths in it; that for BPF would take a program which nothing else here needs.
        .args(["KCFLAGS=-g0", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
        .output()
        .map_err(OwnModuleError::NoMake)?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(OwnModuleError::Build {
            module: own.name,
            said: String::from_utf8_lossy(&said).into_owned(),
        });
    }
    let file = format!("{}.ko", own.name);
    fs::rename(at.join(&file), directory.join(&file)).map_err(failed)?;
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
            image: PathBuf::new(),
            config: None,
            modules: None,
            device_trees: None,
            append: String::new(),
        }
    }

    #[test]
    fn headers_are_in_three_packages_each() {
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
    fn makefiles_lead_into_the_cache_and_only_once() {
        let text = "KBUILD_OUTPUT=/usr/src/a\ninclude /usr/src/b/Makefile\n";
        let once = relocated(text, Path::new("/c"));
        assert_eq!(once, "KBUILD_OUTPUT=/c/usr/src/a\ninclude /c/usr/src/b/Makefile\n");
        assert_eq!(relocated(&once, Path::new("/c")), once);
    }

    #[test]
    fn a_kernel_by_path_has_no_headers() {
        let cache = tempfile::tempdir().unwrap();
        let store = PackageStore {
            cache: crate::packages::cache_directory::CacheDirectory::at(cache.path()),
            programs: crate::packages::apt::Programs::default(),
            mirrors: crate::packages::apt::Mirrors::of_environment().unwrap(),
        };
        let wanted = ["veth".to_owned(), "tardy_pins period_us=1000".to_owned()];
        let error = in_place(&store, &kernel("6.1"), &wanted, &mut |_: &str| {}).unwrap_err();
        assert!(error.to_string().contains("name the file") && error.is_of_the_machine(), "{error}");
        assert_eq!(in_place(&store, &kernel("6.1"), &wanted[..1], &mut |_: &str| {}).unwrap(), wanted[..1]);
    }
}
