//! Loads as they are requested: `doload`, `memory:64`, `cmd:ping -f 10.0.0.2`.
//!
//! The text is parsed once, when it is read. The resulting [`LoadSpec`] has the tasks and their arguments. Run files
//! store the text.

mod arguments;
mod catalogue;
mod task;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

pub use arguments::{SchedulerShape, is_iperf3_server};
pub use catalogue::{CATALOGUE, CatalogueEntry};
pub use task::LoadTask;

/// A load. Loads are equal if their texts are.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub enum LoadSpec {
    /// A load of this version.
    Known(KnownLoad),
    /// A text from a run file that is not a load of this version, for example from another version or an imported run.
    /// Parsing a command line or a recipe never returns it.
    Unrecognised(String),
}

/// A load that this version knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLoad {
    text: String,
    tasks: Vec<LoadTask>,
}

impl KnownLoad {
    /// The tasks of its worker processes, one each. Empty for `none`.
    pub fn tasks(&self) -> &[LoadTask] {
        &self.tasks
    }
}

impl LoadSpec {
    /// As the user wrote it.
    pub fn text(&self) -> &str {
        match self {
            Self::Known(load) => &load.text,
            Self::Unrecognised(text) => text,
        }
    }

    /// The tasks of its worker processes, one each. Empty for `none` and for an unrecognised load.
    pub fn tasks(&self) -> &[LoadTask] {
        match self {
            Self::Known(load) => &load.tasks,
            Self::Unrecognised(_) => &[],
        }
    }

    /// Whether it is `none`, which does nothing.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Known(load) if load.tasks.is_empty())
    }
}

impl FromStr for LoadSpec {
    type Err = LoadSpecError;

    /// # Errors
    /// If no load has this name (the error lists them), or its argument is missing or invalid.
    fn from_str(text: &str) -> Result<Self, LoadSpecError> {
        let text = text.trim();
        let (entry, argument) = CATALOGUE
            .iter()
            .find_map(|entry| Some((entry, entry.argument_of(text)?)))
            .ok_or_else(|| LoadSpecError::Unknown { text: text.to_owned() })?;
        let printable = text.replace('\0', "\\0");
        // A command line ends at a zero byte.
        if (argument.is_empty() || argument.contains('\0'))
            && let Some(example) = entry.example
        {
            return Err(LoadSpecError::Incomplete { text: printable, form: entry.form, example });
        }
        if argument.contains('\0') {
            let reason = "a command line cannot contain a zero byte".to_owned();
            return Err(LoadSpecError::Argument { text: printable, reason });
        }
        let tasks =
            (entry.tasks)(argument).map_err(|reason| LoadSpecError::Argument { text: printable, reason })?;
        Ok(Self::Known(KnownLoad { text: text.to_owned(), tasks }))
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl LoadSpec {
    /// The load of a run file. The text of another version's load is kept.
    ///
    /// Not `From`: a command line and a recipe must use `FromStr`, which refuses unknown loads.
    pub fn of_run_file(text: String) -> Self {
        match text.parse() {
            // The text must be written again as it was read.
            Ok(Self::Known(load)) if load.text == text => Self::Known(load),
            _ => Self::Unrecognised(text),
        }
    }
}

/// Reads a run file; see [`LoadSpec::of_run_file`].
impl<'de> Deserialize<'de> for LoadSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::of_run_file)
    }
}

impl From<LoadSpec> for String {
    fn from(load: LoadSpec) -> Self {
        match load {
            LoadSpec::Known(load) => load.text,
            LoadSpec::Unrecognised(text) => text,
        }
    }
}

impl Borrow<str> for LoadSpec {
    fn borrow(&self) -> &str {
        self.text()
    }
}

impl PartialEq for LoadSpec {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for LoadSpec {}

impl PartialOrd for LoadSpec {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LoadSpec {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text().cmp(other.text())
    }
}

impl Hash for LoadSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl PartialEq<str> for LoadSpec {
    fn eq(&self, text: &str) -> bool {
        self.text() == text
    }
}

impl PartialEq<&str> for LoadSpec {
    fn eq(&self, text: &&str) -> bool {
        self.text() == *text
    }
}

/// Why a text is not a load.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoadSpecError {
    /// No load has this name.
    #[error("'{text}' is not a load; expected one of {}", catalogue::forms())]
    Unknown {
        /// The text.
        text: String,
    },
    /// The load needs an argument after its colon.
    #[error("'{text}' lacks its argument; expected {form}, for example '{example}'")]
    Incomplete {
        /// The text.
        text: String,
        /// How the load is written.
        form: &'static str,
        /// An example.
        example: &'static str,
    },
    /// The argument is invalid.
    #[error("load '{text}': {reason}")]
    Argument {
        /// The text.
        text: String,
        /// What is wrong and what is expected.
        reason: String,
    },
}
