//! Why a kernel was not built.

use std::io;
use std::path::{Path, PathBuf};

use tardy_lab::packages::PackageError;
use thiserror::Error;

/// Why a kernel was not built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Programs are missing: each with the package that has it.
    #[error("building a kernel needs {}: install {}", names(.0.iter().map(|(what, _)| what)), names(.0.iter().map(|(_, package)| package)))]
    Tools(Vec<(String, String)>),
    /// A package could not be fetched, or the cache not be written.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A file operation failed.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// The step.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A directory has no source of a kernel.
    #[error("{} is not the source of a kernel: it has no Kconfig or no Makefile; expected the top of the tree, or with --rev the directory of its git repository", .0.display())]
    NotASource(PathBuf),
    /// A source in which a kernel was built cannot be built elsewhere.
    #[error("a kernel was configured in {} itself, which keeps it from being built elsewhere: run `make mrproper` there, which removes that kernel and its .config, or use --rev HEAD if it is a git repository", .0.display())]
    BuiltInPlace(PathBuf),
    /// git failed.
    #[error("git in {} reports: {output}", directory.display())]
    Git {
        /// The repository.
        directory: PathBuf,
        /// Its error.
        output: String,
    },
    /// A name is not one of a commit.
    #[error("{name:?} is not a commit of {}; `git -C {} log` lists them", directory.display(), directory.display())]
    NoCommit {
        /// The repository.
        directory: PathBuf,
        /// The name.
        name: String,
    },
    /// A search cannot begin.
    #[error(
        "{good} is not an ancestor of {bad}: choose a good commit from which the bad one descends, such as their `git merge-base`"
    )]
    NotAnAncestor {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
    },
    /// Kconfig did not put settings into effect.
    #[error("{}", .0.join("\n"))]
    Unmet(Vec<String>),
    /// A configuration lacks what the lab needs.
    #[error("no guest of the lab would start with this configuration, in which {} off: add {}", is_off(.0), set(.0))]
    Needed(Vec<&'static str>),
    /// make failed.
    #[error("{what} failed; the log {} ends with:\n{lines}", log.display())]
    Make {
        /// The step.
        what: &'static str,
        /// The log's last lines.
        lines: String,
        /// The log.
        log: PathBuf,
    },
    /// A build is not in the cache.
    #[error("build:{0} is not in the cache; `tardy lab kernels` lists what is")]
    NoBuild(String),
    /// The source of a build has changed.
    #[error(
        "{source_name} has changed since build:{build} was built of it; build that one again first, with `tardy lab build`"
    )]
    SourceChanged {
        /// The source.
        source_name: String,
        /// The build.
        build: String,
    },
}

impl BuildError {
    /// For `map_err`: adds the step and the file to an I/O error.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }

    /// Whether the source itself does not build, as opposed to a mistake of the user or of this machine.
    pub fn is_of_source(&self) -> bool {
        matches!(self, Self::Make { .. } | Self::Unmet(_) | Self::Needed(_))
    }
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> String {
    let mut all: Vec<&str> = all.map(String::as_str).collect();
    all.dedup();
    all.join(" ")
}

fn is_off(all: &[&str]) -> String {
    format!("{} {}", all.join(", "), if all.len() == 1 { "is" } else { "are" })
}

fn set(all: &[&str]) -> String {
    let all: Vec<String> = all.iter().map(|name| format!("{name}=y")).collect();
    format!("--set {}", all.join(","))
}
