//! What is in this repository: the files that git tracks, or would if asked to add everything.
//!
//! Not only the tracked ones, so that a rule speaks before the commit and not after it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of a repository, with their text.
#[derive(Debug)]
pub struct Repository {
    /// Where it is on disk. Made-up repositories in tests are nowhere.
    pub root: PathBuf,
    /// Its files, in the order of their paths.
    pub files: Vec<File>,
}

/// One file of a repository.
#[derive(Debug)]
pub struct File {
    /// Its path from the repository's root, with `/` between the parts.
    pub path: String,
    /// Its text; nothing for a file that is not text.
    pub text: String,
}

impl Repository {
    /// The repository that this crate is part of.
    ///
    /// # Errors
    ///
    /// Where git cannot list its files.
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
        // What git still tracks but somebody has just deleted is not there to be read.
        let files = paths
            .into_iter()
            .filter_map(|path| {
                let bytes = fs::read(root.join(&path)).ok()?;
                Some(File { path, text: String::from_utf8(bytes).unwrap_or_default() })
            })
            .collect();
        Ok(Self { root, files })
    }

    /// A repository made up of these paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        Self { root: PathBuf::new(), files }
    }

    /// Its Rust source files.
    pub fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Whether there is a file or a directory of this path.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.files.iter().any(|file| {
                file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}
