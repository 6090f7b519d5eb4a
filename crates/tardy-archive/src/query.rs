//! A search for runs. The same search is asked of an index, as SQL, and of runs that are in no archive, one by one.

use std::str::FromStr;

use rusqlite::types::Value;
use tardy_analyse::judgement::Judgement;
use tardy_record::facts::Preemption;

use crate::entry::Outcome;
use crate::{Entry, KernelRange};

/// Which runs are looked for. Every condition must hold; an empty query finds all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Part of the machine's name or board, in any case.
    pub machine: Option<String>,
    /// Versions of the kernel.
    pub kernel: Option<KernelRange>,
    /// The preemption model.
    pub preemption: Option<Preemption>,
    /// Options of the kernel's configuration.
    pub config: Vec<ConfigOption>,
    /// A load of one of its phases, as on the command line or without its argument; `none` for a phase without load.
    pub load: Option<String>,
    /// The first day.
    pub since: Option<Day>,
    /// The last day.
    pub until: Option<Day>,
    /// Whether its limit was met.
    pub judgement: Option<Judgement>,
    /// The limit that it declares, in ns.
    pub limit_ns: Option<u64>,
    /// Part of a cause of late wake-ups, in any case.
    pub cause: Option<String>,
}

impl Query {
    /// Whether it finds every run.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it finds this run.
    pub fn finds(&self, outcome: &Outcome) -> bool {
        let Outcome { entry, config } = outcome;
        let day = || entry.row.started_at.get(..Day::LENGTH);
        is_none_or(&self.machine, |part| contains(&entry.machine, part))
            && is_none_or(&self.kernel, |range| entry.version.is_some_and(|version| range.contains(version)))
            && is_none_or(&self.preemption, |model| entry.preemption == Some(*model))
            && is_none_or(&self.load, |load| entry.loads.iter().any(|one| is_load(one, load)))
            && is_none_or(&self.since, |first| day().is_some_and(|day| day >= first.0.as_str()))
            && is_none_or(&self.until, |last| day().is_some_and(|day| day <= last.0.as_str()))
            && is_none_or(&self.judgement, |judgement| entry.judgement == *judgement)
            && is_none_or(&self.limit_ns, |limit| entry.limit_ns == Some(*limit))
            && is_none_or(&self.cause, |part| entry.causes.iter().any(|cause| contains(cause, part)))
            && self.config.iter().all(|option| config.as_ref().is_some_and(|config| option.is_in(config)))
    }

    /// The same as conditions of SQL on the table `runs`, with the values of their parameters.
    pub(crate) fn sql(&self) -> (String, Vec<Value>) {
        let mut conditions = vec!["stored".to_owned()];
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, of: Vec<Value>| {
            conditions.push(condition.to_owned());
            values.extend(of);
        };
        let text = |text: &str| Value::Text(text.to_owned());
        if let Some(part) = &self.machine {
            add("instr(lower(machine), lower(?)) > 0", vec![text(part)]);
        }
        if let Some(range) = &self.kernel {
            add("kernel BETWEEN ? AND ?", range.ordinals().map(Value::Integer).to_vec());
        }
        if let Some(model) = &self.preemption {
            add("preemption = ?", vec![text(model.name())]);
        }
        if let Some(load) = &self.load {
            let line = format!("\n{load}");
            add(
                "(instr(loads, ?) > 0 OR instr(loads, ?) > 0)",
                vec![Value::Text(format!("{line}\n")), Value::Text(format!("{line}:"))],
            );
        }
        if let Some(Day(first)) = &self.since {
            add("day >= ?", vec![text(first)]);
        }
        if let Some(Day(last)) = &self.until {
            add("day <= ?", vec![text(last)]);
        }
        if let Some(judgement) = &self.judgement {
            add("judgement = ?", vec![text(judgement.name())]);
        }
        if let Some(limit) = self.limit_ns {
            add("limit_ns = ?", vec![Value::Integer(limit.cast_signed())]);
        }
        if let Some(part) = &self.cause {
            add("instr(lower(causes), lower(?)) > 0", vec![text(part)]);
        }
        for ConfigOption { name, value } in &self.config {
            let set = "EXISTS (SELECT 1 FROM options o WHERE o.config = runs.config AND o.name = ?";
            match value.as_str() {
                ConfigOption::UNSET => {
                    add(&format!("config IS NOT NULL AND NOT {set})"), vec![text(name)]);
                }
                _ => add(&format!("{set} AND o.value = ?)"), vec![text(name), text(value)]),
            }
        }
        (conditions.join(" AND "), values)
    }
}

/// The lines of a column that [`Query::sql`] searches in: each begins and ends with the end of a line.
pub(crate) fn lines(texts: &[String]) -> String {
    std::iter::once("\n".to_owned()).chain(texts.iter().map(|text| format!("{text}\n"))).collect()
}

/// The day of a run's start, if it is known.
pub(crate) fn day(entry: &Entry) -> Option<&str> {
    entry.row.started_at.get(..Day::LENGTH)
}

fn is_none_or<T>(condition: &Option<T>, holds: impl FnOnce(&T) -> bool) -> bool {
    condition.as_ref().is_none_or(holds)
}

/// Whether a text contains another, in any case of ASCII letters, as SQLite compares.
fn contains(text: &str, part: &str) -> bool {
    text.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

/// Whether a load is the one that is looked for, or that with an argument.
fn is_load(load: &str, wanted: &str) -> bool {
    load.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// A day in the form 2026-11-26.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(String);

impl Day {
    /// Characters of a day.
    const LENGTH: usize = 10;
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let number = |at: usize| parts[at].parse::<u8>().unwrap_or(0);
        let is_day = lengths == [4, 2, 2]
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            && (1..=12).contains(&number(1))
            && (1..=31).contains(&number(2));
        is_day
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| format!("'{text}' is not a day; expected one as 2026-11-26"))
    }
}

/// An option of a kernel's configuration and its value: `CONFIG_HZ=1000`, `PREEMPT_RT=y`, `NO_HZ_FULL=n` if it is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOption {
    name: String,
    value: String,
}

impl ConfigOption {
    /// The value of an option that is not set.
    const UNSET: &'static str = "n";

    fn is_in(&self, config: &crate::entry::Config) -> bool {
        match config.get(&self.name) {
            Some(value) => *value == self.value,
            None => self.value == Self::UNSET,
        }
    }
}

impl FromStr for ConfigOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is not an option; expected one as CONFIG_HZ=1000, or CONFIG_NO_HZ_FULL=n");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let name = name.strip_prefix("CONFIG_").unwrap_or(name);
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match is_name && !value.is_empty() {
            true => Ok(Self { name: name.to_owned(), value: value.to_owned() }),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_options_are_checked() {
        assert!("2026-11-26".parse::<Day>().is_ok());
        for wrong in ["2026-13-01", "26-11-2026", "2026-11-00", "yesterday", "2026-11-26T10"] {
            assert!(wrong.parse::<Day>().unwrap_err().contains("2026-11-26"), "{wrong}");
        }
        assert_eq!("CONFIG_HZ=1000".parse::<ConfigOption>(), "HZ=1000".parse());
        for wrong in ["HZ", "=1000", "HZ=", "a b=c"] {
            assert!(wrong.parse::<ConfigOption>().unwrap_err().contains("CONFIG_HZ=1000"), "{wrong}");
        }
    }

    #[test]
    fn a_load_is_found_with_and_without_its_argument() {
        assert!(is_load("memory:64", "memory") && is_load("memory:64", "memory:64"));
        assert!(!is_load("memory:64", "mem") && !is_load("memory", "memory:64"));
    }
}
