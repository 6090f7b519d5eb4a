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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LoadSpec, LoadSpecError> {
        text.parse()
    }

    #[test]
    fn every_form_of_a_load_is_parsed_into_its_tasks() {
        for (text, tasks) in [
            ("none", 0),
            ("doload", 4),
            (" listing ", 1),
            ("sink:10.0.0.1", 1),
            ("sink 10.0.0.1", 1),
            ("cmd: a:b", 1),
            ("scheduler:4,10,64", 1),
            ("memory:64", 1),
            ("ipi", 2),
            ("net:7000", 2),
            ("io:/mnt/card", 1),
            ("ping-flood", 1),
            ("ping-flood-in", 1),
            ("hackbench", 1),
            ("hackbench:-g 2 -l 10", 1),
            ("stress-ng:--cpu 2", 1),
            ("iperf3:-s", 1),
        ] {
            let spec = parse(text).unwrap();
            assert_eq!((spec.text(), spec.tasks().len()), (text.trim(), tasks));
            assert_eq!(parse(&spec.to_string()), Ok(spec), "{text}");
        }
        assert_eq!(parse("cmd: a:b").unwrap().tasks(), [LoadTask::Command { line: "a:b".to_owned() }]);
        assert!(parse("none").unwrap().is_none());
    }

    #[test]
    fn an_unknown_load_is_refused_with_the_loads_that_exist() {
        for text in [
            "",
            "Doload",
            "doload2",
            "doload:",
            "cmds",
            "sinks:a",
            "none:",
            ":",
            "cmd :x",
            "cmd x",
            "cpu:2",
            "cpus",
            "memory:",
            "memory 64",
            "fork:",
            "ipi:1",
            "ping",
            "ping-flood:in",
            "hackbench -g 2",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("none, doload,") && error.contains("cmd:COMMAND"), "{text}: {error}");
        }
    }

    #[test]
    fn a_missing_argument_is_refused_with_an_example() {
        for (text, example) in [
            ("cmd:", "cmd:ping"),
            ("cmd:  ", "cmd:ping"),
            ("cmd", "cmd:ping"),
            ("cmd:a\0b", "cmd:ping"),
            ("sink", "sink:10"),
            ("sink:", "sink:10"),
            ("stress-ng", "--cpu 2"),
            ("stress-ng:", "--cpu 2"),
            ("iperf3", "-c 10.0.0.2"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(example), "{text}: {error}");
        }
    }

    #[test]
    fn an_invalid_argument_is_refused_with_the_reason() {
        for (text, reason) in [
            ("scheduler:0", "receivers"),
            ("scheduler:1,20,x", "'x' is not a number"),
            ("memory:0", "MiB"),
            ("memory:lots", "MiB"),
            ("timers:-1", "timers"),
            ("net:http", "not a port"),
            ("io:a\0b", "zero byte"),
            ("stress-ng:--cpu 1 -t 5", "leave out -t"),
            ("iperf3:--bidir", "-c HOST"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, LoadSpecError::Argument { .. }), "{text}: {error:?}");
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_run_file_keeps_the_text_of_any_load() {
        for text in ["doload", "unknown", "memory:lots", " listing ", "a load of next year:7"] {
            let json = serde_json::to_string(text).unwrap();
            let load: LoadSpec = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&load).unwrap(), json);
            assert_eq!(matches!(load, LoadSpec::Known(_)), text == "doload", "{text}");
        }
    }

    #[test]
    fn loads_and_tasks_have_distinct_names() {
        let words: Vec<&str> = CATALOGUE.iter().map(CatalogueEntry::name).collect();
        let example = |entry: &CatalogueEntry| match entry.example {
            Some(example) => parse(example).unwrap(),
            None => parse(entry.name()).unwrap(),
        };
        let loads: Vec<LoadSpec> =
            CATALOGUE.iter().filter(|entry| entry.name() != "doload").map(example).collect();
        let tasks: Vec<&str> =
            loads.iter().flat_map(|load| load.tasks().iter().map(LoadTask::name)).collect();
        for list in [&words, &tasks] {
            let mut unique = list.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), list.len(), "{list:?}");
        }
    }
}
