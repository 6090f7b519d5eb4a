//! The programs that build a module for one of Debian's kernels, where the kernel is of another release of Debian than
//! this machine: the kernel's compiler may not be installed, and the programs in its headers may need a newer libc.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_sys::{files, programs};

use crate::arch::Arch;
use crate::packages::{Notice, PackageError, PackageStore, PackageVersion};

/// The suffix of a program that was replaced by a script that runs it.
const REPLACED: &str = ".replaced";
/// The directory of the programs, below the directory of the unpacked headers.
const PROGRAMS: &str = "usr/lib";
/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// Arguments of make(1) for the compiler. Empty if the compiler of the kernel whose headers are in `tree` is
/// installed. Otherwise they select `gcc`, without the one option of the kernel's Makefile that gcc before version 14
/// rejects (`-fmin-function-alignment`; the Makefile has the older `-falign-functions` as the alternative). The layout
/// of structures, which is all that a module shares with its kernel, is the same for every version of gcc.
pub(super) fn compiler(tree: &Path) -> &'static [&'static str] {
    let of_kernel = fs::read_to_string(tree.join(".config")).ok().and_then(|config| named_compiler(&config));
    if of_kernel.is_none_or(|name| programs::find(&name).is_some()) {
        return &[];
    }
    &["CC=gcc", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT="]
}

/// The compiler in `CONFIG_CC_VERSION_TEXT="x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0"`.
fn named_compiler(config: &str) -> Option<String> {
    let text = config.lines().find_map(|line| line.strip_prefix("CONFIG_CC_VERSION_TEXT=\""))?;
    text.split([' ', '"']).next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The libraries without which programs of the headers at `root` do not run on this machine. `None` if all run. They are
/// fetched: the dependencies of `kbuild`, the package with the programs.
///
/// # Errors
/// If they cannot be fetched.
pub(super) fn lacking_libraries(
    store: &PackageStore,
    arch: Arch,
    root: &Path,
    kbuild: &PackageVersion,
    notice: Notice<'_>,
) -> Result<Option<Libraries>, PackageError> {
    if elf_programs(&root.join(PROGRAMS)).iter().any(|program| lacks_libraries(program)) {
        return Libraries::fetch(store, arch, kbuild, notice).map(Some);
    }
    Ok(None)
}

/// Executable ELF files below `directory`, except those that were replaced.
fn elf_programs(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_dir() {
                directories.push(path);
            } else if metadata.is_file()
                && metadata.permissions().mode() & 0o111 != 0
                && !path.as_os_str().as_encoded_bytes().ends_with(REPLACED.as_bytes())
                && is_elf(&path)
            {
                found.push(path);
            }
        }
    }
    found
}

fn is_elf(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read =
        files::open_to_read(path).and_then(|file| file.take(ELF.len() as u64).read_to_end(&mut beginning));
    read.is_ok() && beginning == ELF
}

/// Whether the loader of this machine cannot start `program`. With this variable the loader lists the libraries, and
/// does not run the program (ld.so(8)).
fn lacks_libraries(program: &Path) -> bool {
    let output = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output();
    output.is_ok_and(|output| {
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).contains("not found")
    })
}

/// The libraries of another release of Debian.
pub(super) struct Libraries {
    loader: PathBuf,
    directory: PathBuf,
}

impl Libraries {
    /// Fetches `kbuild` with its dependencies, which include libc and its loader.
    fn fetch(
        store: &PackageStore,
        arch: Arch,
        kbuild: &PackageVersion,
        notice: Notice<'_>,
    ) -> Result<Self, PackageError> {
        let unpacked = store.fetch_tool_root(arch, &[&kbuild.name], notice)?;
        Self::below(&unpacked.root).ok_or_else(|| PackageError::Contents {
            package: format!("{} with its dependencies", kbuild.name),
            missing: "libc.so.6 and its loader".to_owned(),
        })
    }

    fn below(root: &Path) -> Option<Self> {
        let mut directories = fs::read_dir(root.join("usr/lib")).ok()?.filter_map(Result::ok);
        let directory = directories.find(|entry| entry.path().join("libc.so.6").is_file())?.path();
        let mut files = fs::read_dir(&directory).ok()?.filter_map(Result::ok);
        let loader =
            files.find(|entry| entry.file_name().as_encoded_bytes().starts_with(b"ld-linux"))?.path();
        Some(Self { loader, directory })
    }

    /// Replaces the programs of the headers at `root` that need these libraries by scripts that start them with these. The
    /// cache must be locked.
    ///
    /// # Errors
    /// If a program cannot be replaced.
    pub(super) fn make_programs_run(&self, root: &Path) -> Result<(), PackageError> {
        let programs = elf_programs(&root.join(PROGRAMS));
        programs.iter().filter(|one| lacks_libraries(one)).try_for_each(|one| self.run_from_script(one))
    }

    fn run_from_script(&self, program: &Path) -> Result<(), PackageError> {
        let mut replaced = program.as_os_str().to_owned();
        replaced.push(REPLACED);
        let replaced = PathBuf::from(replaced);
        files::rename_own(program, &replaced).map_err(PackageError::file("renaming", program))?;
        let script = format!(
            "#!/bin/sh\nexec {} --library-path {} {} \"$@\"\n",
            quoted(&self.loader),
            quoted(&self.directory),
            quoted(&replaced)
        );
        files::replace_own(program, 0o755, script.as_bytes()).map_err(PackageError::file("writing", program))
    }
}

/// A path as a word of sh(1).
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_that_of_the_configuration() {
        let config =
            "CONFIG_X=y\nCONFIG_CC_VERSION_TEXT=\"x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0\"\n";
        assert_eq!(named_compiler(config).as_deref(), Some("x86_64-linux-gnu-gcc-14"));
        assert_eq!(named_compiler("CONFIG_X=y\n"), None);
    }

    #[test]
    fn gcc_takes_the_place_of_a_compiler_that_is_not_installed() {
        let tree = tempfile::tempdir().unwrap();
        for (name, arguments) in [("sh", 0), ("gcc-of-no-release", 2)] {
            let config = format!("CONFIG_CC_VERSION_TEXT=\"{name} 1\"\n");
            fs::write(tree.path().join(".config"), config).unwrap();
            assert_eq!(compiler(tree.path()).len(), arguments, "{name}");
        }
    }

    /// A copy of `true` runs from a script with the libraries of this machine, with its exit status.
    #[test]
    fn a_replaced_program_runs_from_a_script() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("it's false");
        fs::copy(programs::find("false").unwrap(), &program).unwrap();
        assert_eq!(elf_programs(directory.path()), std::slice::from_ref(&program));
        assert!(!lacks_libraries(&program));
        let libraries = Libraries::below(Path::new("/")).expect("this machine has a libc");
        libraries.run_from_script(&program).unwrap();
        assert_eq!(Command::new(&program).status().unwrap().code(), Some(1));
        assert!(elf_programs(directory.path()).is_empty(), "it is replaced once only");
    }
}
