//! The programs that build a kernel: they are those of this machine, and are named with their packages if they are missing.

use std::fs;
use std::path::Path;

use tardy_lab::arch::Arch;
use tardy_sys::programs;

use crate::error::BuildError;

/// Programs for every build, and Debian's packages that have them.
const PROGRAMS: [(&str, &str); 6] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
];
/// Headers for programs that a build makes and runs itself.
const HEADERS: [(&str, &str); 2] = [("stdio.h", "libc6-dev"), ("gelf.h", "libelf-dev")];
/// Where headers are.
const INCLUDE: &str = "/usr/include";

/// The programs that build kernels for a processor.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The processor.
    pub arch: Arch,
    /// What the names of compiler and linker begin with; empty for this machine's own processor.
    pub prefix: String,
    /// The compiler and the linker, as they name themselves.
    pub compiler: String,
    /// pahole, as it names itself, which writes where the members of structures are (BTF); `None` if it is not installed.
    pub pahole: Option<String>,
}

impl Toolchain {
    /// The programs of this machine.
    ///
    /// # Errors
    /// If any is missing; the error names the packages of all.
    pub fn find(arch: Arch) -> Result<Self, BuildError> {
        let is_own = Arch::of_this_program() == Some(arch);
        let prefix = if is_own { String::new() } else { format!("{}-linux-gnu-", arch.name()) };
        let mut missing: Vec<(String, String)> = Vec::new();
        let mut need = |what: &str, package: &str, is_there: bool| {
            if !is_there {
                missing.push((what.to_owned(), package.to_owned()));
            }
        };
        for (program, package) in PROGRAMS {
            need(program, package, programs::find(program).is_some());
        }
        let cross = format!("{prefix}gcc");
        let package = format!("gcc-{}-linux-gnu", arch.name().replace('_', "-"));
        need(&cross, &package, programs::find(&cross).is_some());
        for (header, package) in HEADERS {
            need(header, package, has_header(Path::new(INCLUDE), header));
        }
        // Of the processor of this machine.
        missing.dedup();
        if !missing.is_empty() {
            return Err(BuildError::Tools(missing));
        }
        let version = |program: &str| first_line(program).unwrap_or_default();
        Ok(Self {
            arch,
            compiler: format!("{}, {}", version(&cross), version(&format!("{prefix}ld"))),
            prefix,
            pahole: first_line("pahole"),
        })
    }

    /// Everything about it that a kernel depends on.
    pub(crate) fn identity(&self) -> String {
        format!("{}\n{}\n{}", self.prefix, self.compiler, self.pahole.as_deref().unwrap_or_default())
    }

    /// The name of the processor in the kernel's makefiles.
    pub(crate) fn kernel_arch(&self) -> &'static str {
        match self.arch {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "arm64",
        }
    }
}

/// Whether a header is in the directory or in one below it for a processor, such as `x86_64-linux-gnu`.
fn has_header(include: &Path, name: &str) -> bool {
    let below = fs::read_dir(include).into_iter().flatten().filter_map(Result::ok);
    include.join(name).is_file() || below.map(|entry| entry.path().join(name)).any(|path| path.is_file())
}

/// What a program names itself.
fn first_line(program: &str) -> Option<String> {
    let output = programs::command(program).ok()?.arg("--version").env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_may_be_below_the_name_of_a_processor() {
        let include = tempfile::tempdir().unwrap();
        fs::create_dir(include.path().join("x86_64-linux-gnu")).unwrap();
        fs::write(include.path().join("x86_64-linux-gnu/gelf.h"), "").unwrap();
        assert!(has_header(include.path(), "gelf.h"));
        assert!(!has_header(include.path(), "stdio.h"));
    }
}
