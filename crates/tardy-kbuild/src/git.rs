//! git(1), which reads a repository and writes only below the cache.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tardy_sys::{child, programs};

use crate::error::BuildError;

/// A repository that is there.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    directory: PathBuf,
}

impl Repository {
    pub(crate) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// What git prints, without the line's end.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, BuildError> {
        self.run(arguments, None)
    }

    /// The same with another index than the repository's.
    fn run(&self, arguments: &[&str], index: Option<&Path>) -> Result<String, BuildError> {
        let missing = |_| BuildError::Tools(vec![("git".to_owned(), "git".to_owned())]);
        let mut git = programs::command("git").map_err(missing)?;
        git.arg("-C").arg(&self.directory).args(arguments).stdin(Stdio::null()).env("LC_ALL", "C");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        git.envs(index.map(|index| ("GIT_INDEX_FILE", index)));
        child::prepare(&mut git, &[]);
        let output = git.output().map_err(BuildError::file("running git in", &self.directory))?;
        if !output.status.success() {
            return Err(BuildError::Git {
                directory: self.directory.clone(),
                output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            });
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// The object that `name` names, of that kind: `commit` or `tree`.
    pub(crate) fn object(&self, name: &str, kind: &str) -> Result<String, BuildError> {
        self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{{kind}}}")])
            .map_err(|error| match error {
                BuildError::Git { directory, output } if output.is_empty() => {
                    BuildError::NoCommit { directory, name: name.to_owned() }
                }
                error => error,
            })
    }

    /// Makes the files below `tree` those of a commit. `index` is git's record of what is there: files that do not differ are left
    /// alone, so that make does not compile them again.
    pub(crate) fn check_out(&self, commit: &str, tree: &Path, index: &Path) -> Result<(), BuildError> {
        let work_tree = format!("--work-tree={}", tree.display());
        let directory = self.ask(&["rev-parse", "--absolute-git-dir"])?;
        let git_directory = format!("--git-dir={directory}");
        // A hook or a configured program of the repository is not run.
        let arguments = [
            &git_directory,
            &work_tree,
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "read-tree",
            "--reset",
            "-u",
            commit,
        ];
        self.run(&arguments, Some(index)).map(drop)
    }
}
