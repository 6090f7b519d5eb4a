//! git(1), which reads a repository and writes only below the cache.
//!
//! The repository may be another person's: its configuration and its tree name programs, such as filters, hooks and signature checkers,
//! and none of them is run. Files are checked out by a git directory of the cache, which has the repository's objects and nothing of its
//! configuration.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tardy_sys::{child, files, programs};

use crate::error::BuildError;

/// The objects of another repository, in a git directory (gitrepository-layout(5)).
const ALTERNATES: &str = "objects/info/alternates";
const MODE: u32 = 0o600;
/// What no configuration of the repository changes: nothing is run, nothing is fetched.
const SETTINGS: [&str; 4] =
    ["core.hooksPath=/dev/null", "core.fsmonitor=false", "log.showSignature=false", "protocol.allow=never"];

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
        self.run(arguments, &[])
    }

    /// The same with more variables of the environment.
    fn run(&self, arguments: &[&str], variables: &[(&str, &Path)]) -> Result<String, BuildError> {
        let missing = |_| BuildError::Tools(vec![("git".to_owned(), "git".to_owned())]);
        let mut git = programs::command("git").map_err(missing)?;
        git.arg("-C").arg(&self.directory).args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        git.args(arguments).stdin(Stdio::null()).env("LC_ALL", "C");
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_EXTERNAL_DIFF",
        ] {
            git.env_remove(name);
        }
        git.env("GIT_NO_LAZY_FETCH", "1").envs(variables.iter().copied());
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
    /// alone, so that make does not compile them again. `own` is the git directory that does it.
    pub(crate) fn check_out(
        &self,
        commit: &str,
        tree: &Path,
        index: &Path,
        own: &Path,
    ) -> Result<(), BuildError> {
        let objects = self.ask(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let format = self.ask(&["rev-parse", "--show-object-format"])?;
        // Nor does the user's own configuration apply to the tree: its filters are meant for the user's repositories.
        let nothing = Path::new("/dev/null");
        let without = [("GIT_CONFIG_GLOBAL", nothing), ("GIT_CONFIG_SYSTEM", nothing)];
        let directory = own.display().to_string();
        let format = format!("--object-format={format}");
        self.run(&["init", "--quiet", "--bare", "--template=", &format, &directory], &without)?;
        let alternates = own.join(ALTERNATES);
        files::replace_own(&alternates, MODE, format!("{objects}\n").as_bytes())
            .map_err(BuildError::file("writing", &alternates))?;
        let work_tree = format!("--work-tree={}", tree.display());
        let git_directory = format!("--git-dir={directory}");
        let arguments = [&git_directory, &work_tree, "read-tree", "--reset", "-u", commit];
        let [global, system] = without;
        self.run(&arguments, &[global, system, ("GIT_INDEX_FILE", index)]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A repository whose configuration and tree name a program for everything that git would run one for, and its commit.
    fn hostile(directory: &Path) -> Repository {
        let repository = Repository::at(directory);
        let ask = |arguments: &[&str]| repository.ask(arguments).unwrap();
        ask(&["init", "--quiet", "--template="]);
        fs::write(directory.join(".gitattributes"), "* filter=run diff=run\n").unwrap();
        fs::write(directory.join("Makefile"), "all:\n").unwrap();
        ask(&["add", "."]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false"];
        ask(&[&author[..], &["commit", "--quiet", "-m", "first"]].concat());
        let program = directory.join("program");
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >>{}/ran\ncat\n", directory.display()))
            .unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let program = program.display().to_string();
        for key in [
            "filter.run.smudge",
            "filter.run.clean",
            "filter.run.process",
            "diff.run.textconv",
            "core.fsmonitor",
            "core.sshCommand",
            "core.pager",
            "gpg.program",
            "core.alternateRefsCommand",
        ] {
            ask(&["config", key, &program]);
        }
        ask(&["config", "log.showSignature", "true"]);
        ask(&["config", "core.hooksPath", &directory.display().to_string()]);
        for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
            fs::copy(directory.join("program"), directory.join(hook)).unwrap();
        }
        repository
    }

    #[test]
    fn nothing_that_a_kernels_tree_names_is_run() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("linux");
        fs::create_dir(&source).unwrap();
        let repository = hostile(&source);
        let ran = source.join("ran");
        assert!(!ran.exists(), "making it ran something");
        let commit = repository.object("HEAD", "commit").unwrap();
        let place = |name: &str| directory.path().join(name);
        fs::create_dir(place("tree")).unwrap();
        for _ in 0..2 {
            repository.check_out(&commit, &place("tree"), &place("index"), &place("git")).unwrap();
        }
        crate::commits::between(&source, "HEAD", "HEAD").unwrap();
        assert_eq!(fs::read_to_string(place("tree/Makefile")).unwrap(), "all:\n");
        assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "");
    }
}
