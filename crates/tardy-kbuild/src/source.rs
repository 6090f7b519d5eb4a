//! The source of a kernel: Debian's package, a directory, or a commit of a git tree.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tardy_lab::checksum::{hexadecimal, sha256};
use tardy_lab::kernel::spec::DebianKernel;
use tardy_lab::packages::cache_directory::CacheDirectory;
use tardy_lab::packages::{Notice, PackageStore};
use tardy_sys::files;

use crate::error::BuildError;
use crate::git::Repository;

/// The digits of a hash in the name of a directory.
const DIGITS: usize = 12;
/// The file that is there while git changes the tree.
const CHANGING: &str = "changing";

/// A source as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// Debian's package `linux-source-SERIES`.
    Debian {
        /// The first two numbers of the version, such as `6.12`.
        series: String,
        /// The package's version; `None` for the newest in the cache, or else in the archive.
        exact: Option<String>,
    },
    /// The files of a directory as they are.
    Directory(PathBuf),
    /// A commit of the git repository in a directory.
    Commit {
        /// The directory.
        directory: PathBuf,
        /// The commit's name, such as `v6.12` or `HEAD~3`.
        revision: String,
    },
}

/// A source that is on this machine.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name of exactly this source; the commit of a source under git is in `commit`.
    pub name: String,
    /// The commit.
    pub commit: Option<String>,
    /// What identifies its contents.
    pub identity: String,
    /// The top of the tree.
    pub tree: PathBuf,
    /// The name of the directory in which it is built: of later versions of the same source under git, the same.
    pub place: String,
}

impl SourceSpec {
    /// Parses `debian:6.12`, `debian:6.12=VERSION`, or a directory; with `revision`, a commit of the git repository in it.
    ///
    /// # Errors
    /// If the text names none of these.
    pub fn parse(text: &str, revision: Option<&str>) -> Result<Self, String> {
        let Some(kernel) = text.strip_prefix("debian:") else {
            if text.is_empty() {
                return Err(
                    "the source is empty; expected debian:6.12, or the directory of a source".to_owned()
                );
            }
            let directory = PathBuf::from(text);
            return Ok(match revision {
                None => Self::Directory(directory),
                Some(revision) => Self::Commit { directory, revision: revision.to_owned() },
            });
        };
        if revision.is_some() {
            return Err(format!(
                "'{text}' is a package, which has no commits; expected a directory under git"
            ));
        }
        let DebianKernel { series, rt, exact } = kernel.parse().map_err(|_| {
            format!(
                "'{text}' is not a source of Debian; expected a series such as debian:6.12, or one version of its package, such as \
                 debian:6.12=6.12.117-1~deb12u1"
            )
        })?;
        if rt {
            return Err(format!(
                "'{text}': the source is the same for the RT kernel; write debian:{series} and --set PREEMPT_RT=y"
            ));
        }
        Ok(Self::Debian { series, exact })
    }

    /// Brings the source onto this machine, or checks that it is there. The lock of builds must be held.
    ///
    /// # Errors
    /// If there is no such source, or it cannot be fetched.
    pub fn prepare(&self, store: &PackageStore, notice: Notice<'_>) -> Result<Source, BuildError> {
        match self {
            Self::Debian { series, exact } => {
                let source = store.kernel_source(series, exact.as_deref(), notice)?;
                Ok(Source {
                    name: format!("debian:{series}={}", source.package.version),
                    commit: None,
                    identity: source.sha256,
                    tree: source.tree,
                    place: format!("{}_{}", source.package.name, source.package.version)
                        .replace(['/', ':'], "%"),
                })
            }
            Self::Directory(directory) => of_directory(directory),
            Self::Commit { directory, revision } => of_commit(&store.cache, directory, revision),
        }
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Debian { series, exact: None } => write!(f, "debian:{series}"),
            Self::Debian { series, exact: Some(exact) } => write!(f, "debian:{series}={exact}"),
            Self::Directory(directory) => directory.display().fmt(f),
            Self::Commit { directory, revision } => write!(f, "{} at {revision}", directory.display()),
        }
    }
}

fn of_directory(directory: &Path) -> Result<Source, BuildError> {
    let tree = absolute(directory)?;
    check_is_kernel(&tree, directory)?;
    if tree.join(".config").exists() || tree.join("include/config").exists() {
        return Err(BuildError::BuiltInPlace(tree));
    }
    let name = tree.display().to_string();
    Ok(Source { commit: None, identity: hash_of(&tree)?, place: place_of(&tree), name, tree })
}

fn of_commit(cache: &CacheDirectory, directory: &Path, revision: &str) -> Result<Source, BuildError> {
    let directory = absolute(directory)?;
    let repository = Repository::at(&directory);
    let commit = repository.object(revision, "commit")?;
    let identity = repository.object(revision, "tree")?;
    let place = place_of(&directory);
    let source = cache.sources().join(&place);
    let (tree, index, changing) = (source.join("tree"), source.join("index"), source.join(CHANGING));
    if changing.exists() {
        fs::remove_dir_all(&source).map_err(BuildError::file("removing", &source))?;
    }
    files::make_directories(&tree).map_err(BuildError::file("creating", &tree))?;
    files::replace_own(&changing, 0o600, commit.as_bytes())
        .map_err(BuildError::file("writing", &changing))?;
    repository.check_out(&commit, &tree, &index, &source.join("git"))?;
    fs::remove_file(&changing).map_err(BuildError::file("removing", &changing))?;
    check_is_kernel(&tree, &directory)?;
    Ok(Source { name: directory.display().to_string(), commit: Some(commit), identity, tree, place })
}

/// The directory without links and relative parts.
fn absolute(directory: &Path) -> Result<PathBuf, BuildError> {
    fs::canonicalize(directory).map_err(BuildError::file("reading the source", directory))
}

fn check_is_kernel(tree: &Path, named: &Path) -> Result<(), BuildError> {
    if tree.join("Kconfig").is_file() && tree.join("Makefile").is_file() {
        return Ok(());
    }
    Err(BuildError::NotASource(named.to_owned()))
}

fn place_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let safe: String = name.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{safe}-{}", &sha256(directory.as_os_str().as_encoded_bytes())[..DIGITS])
}

/// A hash of the names and the contents of all files, without those of git.
fn hash_of(tree: &Path) -> Result<String, BuildError> {
    let mut hash = Sha256::new();
    let mut directories = vec![tree.to_owned()];
    while let Some(directory) = directories.pop() {
        let failed = || BuildError::file("reading", &directory);
        let entries: Result<Vec<_>, _> = fs::read_dir(&directory).map_err(failed())?.collect();
        let mut paths: Vec<PathBuf> = entries.map_err(failed())?.iter().map(fs::DirEntry::path).collect();
        paths.sort();
        for path in paths.into_iter().filter(|path| !path.ends_with(".git")) {
            let kind = path.symlink_metadata().map_err(BuildError::file("reading", &path))?.file_type();
            let name = path.strip_prefix(tree).unwrap_or(&path).as_os_str().as_encoded_bytes().to_owned();
            let contents = if kind.is_dir() {
                directories.push(path);
                continue;
            } else if kind.is_symlink() {
                fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes())
            } else if kind.is_file() {
                fs::read(&path)
            } else {
                continue;
            };
            let contents = contents.map_err(BuildError::file("reading", &path))?;
            for part in [&name, &contents] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
    }
    Ok(hexadecimal(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_packages_directories_or_commits() {
        let parse = |text, revision| SourceSpec::parse(text, revision).unwrap();
        assert_eq!(parse("debian:6.12", None), SourceSpec::Debian { series: "6.12".into(), exact: None });
        assert_eq!(parse("debian:6.12=6.12.1-1", None).to_string(), "debian:6.12=6.12.1-1");
        assert_eq!(parse("linux", None), SourceSpec::Directory("linux".into()));
        assert_eq!(parse("linux", Some("v6.12")).to_string(), "linux at v6.12");
        let errors = [
            ("", None),
            ("debian:", None),
            ("debian:6.12-rt", None),
            ("debian:6", None),
            ("debian:6.12", Some("HEAD")),
        ];
        let errors: Vec<String> =
            errors.iter().map(|(text, revision)| SourceSpec::parse(text, *revision).unwrap_err()).collect();
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn the_hash_of_a_directory_covers_names_and_contents_but_not_git() {
        let tree = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            hash_of(tree.path()).unwrap()
        };
        let first = write("kernel/a.c", "1");
        assert_eq!(write(".git/HEAD", "x"), first);
        let second = write("kernel/a.c", "2");
        assert_ne!(second, first);
        assert_ne!(write("kernel/b.c", ""), second);
    }

    #[test]
    fn what_is_not_a_source_is_refused_with_what_to_do() {
        let tree = tempfile::tempdir().unwrap();
        let error = |directory: &Path| {
            let error = of_directory(directory).unwrap_err().to_string();
            error.replace(&directory.display().to_string(), "DIR")
        };
        let mut errors = vec![error(&tree.path().join("none")), error(tree.path())];
        for name in ["Kconfig", "Makefile", ".config"] {
            fs::write(tree.path().join(name), "").unwrap();
        }
        errors.push(error(tree.path()));
        insta::assert_snapshot!(errors.join("\n"));
    }
}
