//! The files of this repository: those that git tracks, and those that `git add --all` would add.
//!
//! Untracked files are included so that a rule fails before the commit and not after it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of a repository, with their text.
#[derive(Debug)]
pub struct Repository {
    /// Its directory; empty for the repositories of tests, which are not on disk.
    pub root: PathBuf,
    /// Its files, in the order of their paths.
    pub files: Vec<File>,
}

/// One file of a repository.
#[derive(Debug)]
pub struct File {
    /// Its path relative to the repository's root, separated by `/`.
    pub path: String,
    /// Its text; empty if it is not UTF-8.
    pub text: String,
}

/// The cargo that started this program, or the one of PATH.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The crate whose code runs in the fuzzer only.
const OF_THE_FUZZER: &str = "crates/tardy-fuzz";

impl File {
    /// The directory of the crate that this file belongs to, unless it is part of tests.
    pub fn product_crate(&self) -> Option<&str> {
        let (krate, rest) = self.path.split_once("/src/")?;
        let is_test = rest == "tests.rs" || rest.ends_with("/tests.rs") || rest.contains("tests/");
        (krate.starts_with("crates/") && krate != OF_THE_FUZZER && !is_test).then_some(krate)
    }
}

impl Repository {
    /// The repository that this crate is part of.
    ///
    /// # Errors
    ///
    /// Git cannot be run, or cannot list the files.
    pub fn here() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .map_err(|error| format!("cannot run git: {error}; install it (apt-get install git)"))?;
        if !output.status.success() {
            return Err(format!(
                "git ls-files failed: {}\nrun this inside a clone that belongs to you",
                String::from_utf8_lossy(&output.stderr).trim_end()
            ));
        }
        let mut paths: Vec<String> = output
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        paths.sort();
        paths.dedup();
        // A file that was deleted and is still tracked cannot be read.
        let files = paths
            .into_iter()
            .filter_map(|path| {
                let bytes = fs::read(root.join(&path)).ok()?;
                Some(File { path, text: String::from_utf8(bytes).unwrap_or_default() })
            })
            .collect();
        Ok(Self { root, files })
    }

    /// A repository with these paths and texts, for tests.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        Self { root: PathBuf::new(), files }
    }

    /// The complaints of `check` about one file with this path and text, each up to `end`, for tests.
    #[cfg(test)]
    pub(crate) fn complaints_about(
        check: fn(&Self) -> Vec<crate::Complaint>,
        (path, text): (&str, &str),
        end: &str,
    ) -> Vec<String> {
        let complaints = check(&Self::of(&[(path, text)]));
        complaints.iter().map(|text| text.split(end).next().unwrap_or_default().to_owned()).collect()
    }

    /// Its Rust source files.
    pub fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Whether `path` is a file or a directory of the repository.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.files.iter().any(|file| {
                file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}
