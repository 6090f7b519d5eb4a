//! The text of a link, and its checks.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use tardy_record::Run;
use tardy_record::file::{self, RunFileError};
use thiserror::Error;

use crate::compact;
use crate::compression::{Wrong, expanded, squeezed};

/// The page that links open unless `--base` names another: the single file, in the reader's directory.
pub const BASE: &str = "tardy.html";
/// The version of the format.
pub const VERSION: u32 = 1;
/// The most runs in a link.
pub const RUNS_MAX: usize = 4;
/// The longest text that a link may expand to, in bytes: 30 times that of the longest link of a machine with 64 CPUs.
const TEXT_MAX: usize = 2 << 20;
/// The longest link that is read, in characters.
const LINK_MAX: usize = 1 << 20;
/// Bytes of the length and of the check sum before the compressed text.
const HEAD: usize = 7;

/// Why a text is not a link that can be opened.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The text is something else.
    #[error(
        "the link holds no {what}: behind its # must be {mark}{VERSION}. and the compressed {what}; copy the whole link"
    )]
    Other {
        /// What was expected.
        what: &'static str,
        /// The letter of that kind of link.
        mark: char,
    },
    /// It was made by a later tardy.
    #[error("the link is of version {found}, and this tardy reads up to {VERSION}; use a newer tardy")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// It was cut short.
    #[error(
        "the link was cut short: {has} of {of} characters behind its mark are left; copy it again as a whole, or use the run file"
    )]
    CutShort {
        /// The number of characters that are left.
        has: usize,
        /// The number of characters that it had.
        of: usize,
    },
    /// Characters were changed.
    #[error(
        "the link was changed on its way: its check sum is not that of its contents; copy it again, or use the run file"
    )]
    Damaged,
    /// It is longer, or expands to more, than any link that tardy makes.
    #[error("the link holds more than {} MiB, more than any that tardy makes; use the run file", TEXT_MAX >> 20)]
    TooLarge,
    /// Its text is not that of runs.
    #[error("the link holds something else than runs: {0}")]
    Content(String),
    /// A run in it contradicts itself.
    #[error("the run in the link: {0}")]
    Run(#[from] RunFileError),
    /// Too many runs, or none.
    #[error("a link holds one run to {RUNS_MAX}, not {0}; choose the ones to compare")]
    Count(usize),
}

/// The kinds of contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Runs,
    Switch,
}

impl Kind {
    fn mark(self) -> char {
        match self {
            Self::Runs => 'r',
            Self::Switch => 't',
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Runs => "run",
            Self::Switch => "switch file",
        }
    }
}

/// Whether `text` is a link to runs, of any version, or was one before it was damaged.
pub fn is_of_runs(text: &str) -> bool {
    has_mark(text, Kind::Runs)
}

/// Whether `text` is a link to a switch file.
pub fn is_of_switch(text: &str) -> bool {
    has_mark(text, Kind::Switch)
}

fn has_mark(text: &str, kind: Kind) -> bool {
    version_and_payload(text, kind).is_some()
}

/// The version, and what follows it.
fn version_and_payload(text: &str, kind: Kind) -> Option<(u32, &str)> {
    let fragment = text.trim().rsplit_once('#')?.1;
    let (version, payload) = fragment.strip_prefix(kind.mark())?.split_once('.')?;
    Some((version.parse().ok()?, payload))
}

/// The link to `runs`, which are written as they are: [`crate::reduced`] makes them short.
///
/// # Errors
/// If there is no run, or more than [`RUNS_MAX`].
pub fn of_runs(runs: &[&Run], base: &str) -> Result<String, LinkError> {
    if runs.is_empty() || runs.len() > RUNS_MAX {
        return Err(LinkError::Count(runs.len()));
    }
    // By way of text: the compiler would make `to_value` of all types a second time.
    let values = runs.iter().map(|run| Ok(serde_json::from_str(&file::to_text(run))?));
    let values = values.collect::<Result<Vec<Value>, RunFileError>>()?;
    let text = compact::written(Value::Array(values)).to_string();
    Ok(link(Kind::Runs, text.as_bytes(), base))
}

/// The runs of a link.
///
/// # Errors
/// If the text is not such a link, was cut short or changed, or its runs contradict themselves.
pub fn runs(text: &str) -> Result<Vec<Run>, LinkError> {
    let content = content(text, Kind::Runs)?;
    let value = serde_json::from_slice(&content).map_err(|error| LinkError::Content(error.to_string()))?;
    let Value::Array(values) = compact::read(value).map_err(LinkError::Content)? else {
        return Err(LinkError::Content("it is not a list of runs".to_owned()));
    };
    if values.is_empty() || values.len() > RUNS_MAX {
        return Err(LinkError::Count(values.len()));
    }
    values.iter().map(|value| Ok(file::from_text(value.to_string().as_bytes())?)).collect()
}

/// The link to a switch file with this text.
pub fn of_switch(text: &str, base: &str) -> String {
    link(Kind::Switch, text.as_bytes(), base)
}

/// The switch file of a link.
///
/// # Errors
/// As [`runs`].
pub fn switch(text: &str) -> Result<String, LinkError> {
    String::from_utf8(content(text, Kind::Switch)?).map_err(|error| LinkError::Content(error.to_string()))
}

fn link(kind: Kind, text: &[u8], base: &str) -> String {
    let squeezed = squeezed(text);
    let length = (squeezed.len() as u32).to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend(crc32fast::hash(&squeezed).to_be_bytes());
    bytes.extend(&squeezed);
    let base = base.split('#').next().unwrap_or_default();
    format!("{base}#{}{VERSION}.{}", kind.mark(), URL_SAFE_NO_PAD.encode(bytes))
}

fn content(text: &str, kind: Kind) -> Result<Vec<u8>, LinkError> {
    let other = LinkError::Other { what: kind.what(), mark: kind.mark() };
    let Some((version, payload)) = version_and_payload(text, kind) else { return Err(other) };
    match version {
        0 => return Err(other),
        VERSION => {}
        found => return Err(LinkError::Newer { found }),
    }
    if payload.len() > LINK_MAX {
        return Err(LinkError::TooLarge);
    }
    // What a forum's software adds behind a link, such as a bracket or a full stop, is not part of it.
    let end = payload.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
    let payload = &payload[..end.unwrap_or(payload.len())];
    let of = payload.get(..4).and_then(|head| URL_SAFE_NO_PAD.decode(head).ok());
    let Some([a, b, c]) = of.as_deref() else {
        return Err(LinkError::CutShort { has: payload.len(), of: 4 });
    };
    let squeezed = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
    let of = ((HEAD + squeezed) * 4).div_ceil(3);
    if payload.len() < of {
        return Err(LinkError::CutShort { has: payload.len(), of });
    }
    let bytes = URL_SAFE_NO_PAD.decode(&payload[..of]).map_err(|_| LinkError::Damaged)?;
    let (head, squeezed) = bytes.split_at(HEAD);
    if payload.len() > of || head[3..] != crc32fast::hash(squeezed).to_be_bytes() {
        return Err(LinkError::Damaged);
    }
    expanded(squeezed, TEXT_MAX).map_err(|wrong| match wrong {
        Wrong::Damaged => LinkError::Damaged,
        Wrong::TooLong => LinkError::TooLarge,
    })
}

#[cfg(test)]
mod tests;
