//! The name of a kernel on the command line and in recipes.
//!
//! `debian:6.12`, `debian:6.12-rt`, `debian:6.12=6.12.117-1~deb12u1`, `build:NAME`, or the path of an image; then, each after a
//! comma and in any order, `append='PARAMETERS'`, and for a path `modules=DIR`, `config=FILE` and `dtbs=DIR`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::checksum::sha256;

/// A request for a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelSpec {
    /// Where it comes from.
    pub source: Source,
    /// Parameters that are added to its command line; empty for none.
    pub append: String,
}

/// Where a kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Debian's packages.
    Debian(DebianKernel),
    /// A kernel that this user built, by its name or the beginning of its key.
    Build(String),
    /// Files on this machine.
    Path(KernelByPath),
}

/// One of Debian's kernels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DebianKernel {
    /// The first two numbers of its version, such as `6.12`.
    pub series: String,
    /// Whether it is the PREEMPT_RT kernel.
    pub rt: bool,
    /// The package's exact version; `None` for the newest.
    pub exact: Option<String>,
}

/// A kernel by its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelByPath {
    /// The image.
    pub image: PathBuf,
    /// The directory of its modules, or one that holds `lib/modules/RELEASE`.
    pub modules: Option<PathBuf>,
    /// The configuration that it was built with.
    pub config: Option<PathBuf>,
    /// The directory of its device trees.
    pub device_trees: Option<PathBuf>,
}

/// Why a text does not name a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Nothing precedes the first comma.
    #[error("expected debian:SERIES, debian:SERIES-rt, build:NAME or the path of an image, not {0:?}")]
    Nothing(String),
    /// The text after `build:` is not a name.
    #[error(
        "{0:?} is not the name of a build: expected at most 64 letters, digits and .+_- that do not begin with one of the latter, as \
         in build:rt"
    )]
    Build(String),
    /// The text after `debian:` is not a series.
    #[error(
        "expected a series of Debian's kernels, such as debian:6.12, not {0:?}; add -rt for the RT kernel \
         (debian:6.12-rt), and =VERSION for one version of the package (debian:6.12=6.12.117-1~deb12u1); several are \
         debian:6.12..7.3 (the newest of every series), debian:6.12.* (every version) and debian:all"
    )]
    Series(String),
    /// A range of series ends before it begins.
    #[error("debian:{0}..{1} names no kernel: {0} is newer than {1}; write the older series first")]
    Reversed(String, String),
    /// The text after `=` is not a version of that series.
    #[error(
        "{version:?} is not a version of a {series} kernel: expected a package's exact version as `tardy lab kernels` \
         lists it, such as debian:6.12=6.12.117-1~deb12u1"
    )]
    Exact {
        /// As written.
        version: String,
        /// The series.
        series: String,
    },
    /// An unknown option.
    #[error("{whose} has no option {option:?}; it takes {known}; quote a value that contains a comma")]
    Option {
        /// As written.
        option: String,
        /// The kind of kernel.
        whose: &'static str,
        /// The options of that kind.
        known: &'static str,
    },
    /// An option without a value.
    #[error("{0}= has no value: write {0}=VALUE, or leave it out")]
    Empty(&'static str),
    /// An option given twice.
    #[error("{0}= is given twice; several parameters of the command line go into one append='…'")]
    Twice(&'static str),
    /// A quote that is not closed, or closed before the value's end.
    #[error("the quote {quote} in {text:?} is not closed at the end of the value")]
    Quote {
        /// The quote.
        quote: char,
        /// The text from the quote on.
        text: String,
    },
    /// A control character.
    #[error("a kernel's name is one line without control characters, not {0:?}")]
    Control(String),
}

impl KernelSpec {
    /// Parses the name of a kernel.
    ///
    /// # Errors
    /// If the text does not name a kernel.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        if text.chars().any(char::is_control) {
            return Err(SpecError::Control(text.to_owned()));
        }
        let mut pieces = pieces(text)?.into_iter();
        let head = pieces.next().unwrap_or_default();
        if head.value.is_empty() || head.name.is_some() {
            return Err(SpecError::Nothing(text.to_owned()));
        }
        if let Some(name) = head.value.strip_prefix("build:") {
            let [append] = options(pieces, "a kernel that was built", "append=", ["append"])?;
            return Ok(Self { source: Source::Build(build_name(name)?), append: append.unwrap_or_default() });
        }
        match head.value.strip_prefix("debian:") {
            Some(kernel) => {
                let [append] = options(pieces, "a Debian kernel", "append=", ["append"])?;
                Ok(Self { source: Source::Debian(kernel.parse()?), append: append.unwrap_or_default() })
            }
            None => {
                let [append, modules, config, dtbs] = options(
                    pieces,
                    "a kernel by path",
                    "modules=, config=, dtbs= and append=",
                    ["append", "modules", "config", "dtbs"],
                )?;
                let files = KernelByPath {
                    image: head.value.into(),
                    modules: modules.map(Into::into),
                    config: config.map(Into::into),
                    device_trees: dtbs.map(Into::into),
                };
                Ok(Self { source: Source::Path(files), append: append.unwrap_or_default() })
            }
        }
    }

    /// A name for files, of letters, digits and `.+_=-`. Different kernels have different names: if the characters
    /// cannot show a difference, eight digits of a hash follow.
    pub fn slug(&self) -> String {
        let append = if self.append.is_empty() { String::new() } else { format!("-{}", self.append) };
        let has_plain_append = self.append.is_empty() || is_one_setting(&self.append);
        let (plain, is_whole) = match &self.source {
            Source::Debian(kernel) => {
                let exact = kernel.exact.as_ref().map(|exact| format!("={exact}")).unwrap_or_default();
                let rt = if kernel.rt { "-rt" } else { "" };
                (format!("debian-{}{rt}{exact}{append}", kernel.series), has_plain_append)
            }
            Source::Build(name) => (format!("build-{name}{append}"), has_plain_append),
            Source::Path(files) => {
                let name = files.image.file_name().map(|name| name.to_string_lossy().into_owned());
                (name.unwrap_or_else(|| "kernel".into()), false)
            }
        };
        let safe: String = plain.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
        let safe = safe.trim_start_matches(['-', '.']);
        if is_whole && safe == plain {
            return plain;
        }
        let hash = &sha256(self.to_string().as_bytes())[..8];
        // File names have at most 255 bytes, and callers add a suffix.
        format!("{}-{hash}", &safe[..safe.len().min(80)])
    }
}

impl FromStr for KernelSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::parse(text)
    }
}

impl fmt::Display for DebianKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "debian:{}{}", self.series, if self.rt { "-rt" } else { "" })?;
        self.exact.iter().try_for_each(|exact| write!(f, "={exact}"))
    }
}

impl fmt::Display for KernelSpec {
    /// The form that [`KernelSpec::parse`] reads as the same kernel.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Debian(kernel) => kernel.fmt(f)?,
            Source::Build(name) => write!(f, "build:{name}")?,
            Source::Path(files) => {
                f.write_str(&quoted(&files.image.to_string_lossy()))?;
                for (name, path) in
                    [("modules", &files.modules), ("config", &files.config), ("dtbs", &files.device_trees)]
                {
                    if let Some(path) = path {
                        write!(f, ",{name}={}", quoted(&path.to_string_lossy()))?;
                    }
                }
            }
        }
        write_append(f, &self.append)
    }
}

/// Writes the parameters that a kernel's name adds to the command line.
pub(super) fn write_append(f: &mut fmt::Formatter<'_>, append: &str) -> fmt::Result {
    if append.is_empty() { Ok(()) } else { write!(f, ",append={}", quoted(append)) }
}

fn quoted(value: &str) -> String {
    let begins_quoted = value.starts_with(['\'', '"']);
    match () {
        () if !value.contains([',', ' ']) && !begins_quoted => value.to_owned(),
        () if !value.contains('\'') => format!("'{value}'"),
        // `parse` accepts no value with both quotes and a comma; without a comma it needs no quotes.
        () if !value.contains('"') => format!("\"{value}\""),
        () => value.to_owned(),
    }
}

/// Whether `append` is one setting such as `preempt=none`, which is unambiguous after a dash in a file name.
fn is_one_setting(append: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'))
    };
    append.split_once('=').is_some_and(|(name, value)| is_word(name) && is_word(value))
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '_' | '=' | '-')
}

impl FromStr for DebianKernel {
    type Err = SpecError;

    /// Parses what follows `debian:`.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (kernel, exact) = match text.split_once('=') {
            Some((kernel, exact)) => (kernel, Some(exact)),
            None => (text, None),
        };
        let (series, rt) = kernel.strip_suffix("-rt").map_or((kernel, false), |series| (series, true));
        if self::series(series).is_none() {
            return Err(SpecError::Series(text.to_owned()));
        }
        if let Some(version) = exact {
            let is_version = version
                .strip_prefix(series)
                .is_some_and(|rest| rest.starts_with(['.', '-', '~', '+']))
                && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '~' | '-'));
            if !is_version {
                return Err(SpecError::Exact { version: version.to_owned(), series: series.to_owned() });
            }
        }
        Ok(Self { series: series.to_owned(), rt, exact: exact.map(str::to_owned) })
    }
}

/// The name of a build.
///
/// # Errors
/// If it has other characters than a file's name needs, or is empty or long.
pub fn build_name(name: &str) -> Result<String, SpecError> {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= 64
        && name.chars().all(|c| is_safe(c) && c != '=');
    if is_plain { Ok(name.to_owned()) } else { Err(SpecError::Build(name.to_owned())) }
}

/// The two numbers of a series such as `6.12`, of at most four digits each.
pub(super) fn series(text: &str) -> Option<(u32, u32)> {
    let number = |part: &str| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let (major, minor) = text.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

/// The text between two commas: a value, and the option's name before it.
#[derive(Default)]
struct Piece {
    name: Option<String>,
    value: String,
    /// Whether the value was quoted. A quoted value may be empty.
    is_quoted: bool,
}

/// Splits at commas outside quotes. The first piece is the kernel itself, in which `=` has no meaning.
fn pieces(text: &str) -> Result<Vec<Piece>, SpecError> {
    let mut pieces = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let name = if pieces.is_empty() {
            None
        } else {
            let end = text.find([',', '=']).filter(|at| text.as_bytes()[*at] == b'=');
            end.map(|end| &text[..end])
        };
        let value = &text[name.map_or(0, |name| name.len() + 1)..];
        let (value, is_quoted, after) = match value.chars().next() {
            Some(quote @ ('\'' | '"')) => {
                let wrong = || SpecError::Quote { quote, text: value.to_owned() };
                let (inside, after) = value[1..].split_once(quote).ok_or_else(wrong)?;
                match after.strip_prefix(',') {
                    Some(after) => (inside, true, Some(after)),
                    None if after.is_empty() => (inside, true, None),
                    None => return Err(wrong()),
                }
            }
            _ => match value.split_once(',') {
                Some((value, after)) => (value, false, Some(after)),
                None => (value, false, None),
            },
        };
        pieces.push(Piece {
            name: name.map(|name| name.trim().to_owned()),
            value: value.trim().to_owned(),
            is_quoted,
        });
        rest = after;
    }
    Ok(pieces)
}

/// The options' values in the order of `names`.
fn options<const N: usize>(
    pieces: impl Iterator<Item = Piece>,
    whose: &'static str,
    known: &'static str,
    names: [&'static str; N],
) -> Result<[Option<String>; N], SpecError> {
    let mut values = [const { None }; N];
    for piece in pieces {
        let place = piece.name.as_ref().and_then(|name| names.iter().position(|known| known == name));
        let Some(place) = place else {
            let option = piece.name.unwrap_or(piece.value);
            return Err(SpecError::Option { option, whose, known });
        };
        if piece.value.is_empty() && !piece.is_quoted {
            return Err(SpecError::Empty(names[place]));
        }
        if values[place].replace(piece.value).is_some() {
            return Err(SpecError::Twice(names[place]));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests;
