//! apt's and dpkg's programs, and what they say.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tardy_sys::child;

use super::super::PackageError;
use super::configuration;

/// The programs that packages are fetched and unpacked with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// The directory that they are in; absent for the search path.
    pub directory: Option<PathBuf>,
}

/// A program that ended.
#[derive(Debug)]
pub(super) struct Finished {
    program: &'static str,
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    stderr: String,
}

impl Finished {
    /// What it wrote, if it succeeded.
    pub(super) fn expect(self, what: &str) -> Result<String, PackageError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let said = self.complaints();
        Err(PackageError::Failed { what: what.to_owned(), program: self.program, status: self.status, said })
    }

    /// What it wrote to the standard error, or where that is empty to the standard output, indented.
    pub(super) fn complaints(&self) -> String {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let lines: Vec<String> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| format!("  {}", line.trim()))
            .collect();
        if lines.is_empty() { "  (nothing)".to_owned() } else { lines.join("\n") }
    }
}

impl Programs {
    /// Unpacks with dpkg-deb.
    pub(crate) fn dpkg_deb<'a>(
        &self,
        what: &str,
        arguments: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<(), PackageError> {
        let arguments: Vec<&OsStr> = arguments.into_iter().collect();
        self.run("dpkg-deb", &arguments, None, None)?.expect(what).map(drop)
    }

    /// What the host's configuration says about reaching archives, as lines of apt's configuration.
    pub(super) fn host_configuration(&self) -> Result<String, PackageError> {
        let dump = self.run::<&str>("apt-config", &["dump"], None, None)?;
        Ok(configuration::inherited(&dump.expect("reading the host's apt configuration")?))
    }

    /// Runs a program to its end. With `configuration`, apt reads that file and nothing else.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        program: &'static str,
        arguments: &[A],
        directory: Option<&Path>,
        configuration: Option<&Path>,
    ) -> Result<Finished, PackageError> {
        let path =
            self.directory.as_ref().map_or_else(|| PathBuf::from(program), |place| place.join(program));
        let mut command = Command::new(&path);
        command.args(arguments).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        if let Some(configuration) = configuration {
            command.env("APT_CONFIG", configuration);
        }
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        // What it starts must not go on when a person ends tardy.
        child::prepare(&mut command, &[]);
        let output = command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let package = if program == "dpkg-deb" { "dpkg" } else { "apt" };
                PackageError::MissingProgram { program, package }
            }
            _ => PackageError::file("starting", &path)(error),
        })?;
        Ok(Finished {
            program,
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_package() {
        let programs = Programs { directory: Some("/nowhere/at/all".into()) };
        let error = programs.host_configuration().unwrap_err().to_string();
        assert!(
            error.contains("apt-config is not on this machine") && error.contains("install apt"),
            "{error}"
        );
        let error = programs.dpkg_deb("unpacking", ["-x".as_ref()]).unwrap_err().to_string();
        assert!(error.contains("install dpkg"), "{error}");
    }
}
