//! The programs of apt and dpkg.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tardy_sys::{child, programs};

use super::super::PackageError;
use super::configuration;

/// The programs that fetch and unpack packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Their directory; `None` for the directories in which tardy searches for programs.
    pub directory: Option<PathBuf>,
}

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    program: &'static str,
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    stderr: String,
}

impl Finished {
    /// The program's standard output.
    ///
    /// # Errors
    /// If the program failed.
    pub(super) fn expect(self, what: &str) -> Result<String, PackageError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let output = self.error_output();
        Err(PackageError::Failed {
            what: what.to_owned(),
            program: self.program,
            status: self.status,
            output,
        })
    }

    /// The program's standard error, or if that is empty its standard output, indented.
    pub(super) fn error_output(&self) -> String {
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

    /// Unpacks a tar archive, compressed or not, without the directory at its top.
    pub(crate) fn tar(&self, what: &str, archive: &OsStr, into: &OsStr) -> Result<(), PackageError> {
        let arguments: [&OsStr; 6] = [
            "--extract".as_ref(),
            "--strip-components=1".as_ref(),
            "--file".as_ref(),
            archive,
            "--directory".as_ref(),
            into,
        ];
        self.run("tar", &arguments, None, None)?.expect(what).map(drop)
    }

    /// The host's settings for reaching archives, as lines of apt's configuration.
    pub(super) fn host_configuration(&self) -> Result<String, PackageError> {
        let dump = self.run::<&str>("apt-config", &["dump"], None, None)?;
        Ok(configuration::inherited(&dump.expect("reading the host's apt configuration")?))
    }

    /// Runs a program to its end. With `configuration`, apt reads that file only.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        program: &'static str,
        arguments: &[A],
        directory: Option<&Path>,
        configuration: Option<&Path>,
    ) -> Result<Finished, PackageError> {
        let missing = || {
            let package = match program {
                "dpkg-deb" => "dpkg",
                "tar" => "tar",
                _ => "apt",
            };
            PackageError::MissingProgram { program, package }
        };
        let mut command = match &self.directory {
            Some(place) => Command::new(place.join(program)),
            None => programs::command(program).map_err(|_| missing())?,
        };
        command.args(arguments).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        if let Some(configuration) = configuration {
            command.env("APT_CONFIG", configuration);
        }
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        // The program ends when tardy ends.
        child::prepare(&mut command, &[]);
        let output = command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(),
            _ => PackageError::file("starting", Path::new(program))(error),
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
    fn a_missing_program_is_named_with_its_package() {
        let programs = Programs { directory: Some("/nowhere/at/all".into()) };
        let error = programs.host_configuration().unwrap_err().to_string();
        assert!(
            error.contains("apt-config, which fetches Debian's packages, is not installed")
                && error.contains("install apt"),
            "{error}"
        );
        let error = programs.dpkg_deb("unpacking", ["-x".as_ref()]).unwrap_err().to_string();
        assert!(error.contains("install dpkg"), "{error}");
    }
}
