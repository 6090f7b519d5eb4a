//! A search for runs. The same search is asked of an index, as SQL (`index/conditions.rs`), and of runs that are in no archive, one by one.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tardy_analyse::judgement::Judgement;
use tardy_record::facts::Preemption;

use crate::KernelRange;
use crate::day::Day;
use crate::entry::Outcome;

/// The most options of the kernel's configuration that a search names: far more than people type, and fewer than a database's parser
/// nests.
#[cfg(feature = "database")]
const OPTIONS_MAX: usize = 100;

/// Which runs are looked for. Every condition must hold; an empty query finds all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// Part of the machine's name or board, in any case.
    pub machine: Option<String>,
    /// The whole name of the machine and its board, as in [`Entry::machine`](crate::Entry::machine).
    pub exact_machine: Option<String>,
    /// The whole release of the kernel.
    pub release: Option<String>,
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
    /// A search for the runs of the machine with this whole name.
    pub fn of_machine(machine: &str) -> Self {
        Self { exact_machine: Some(machine.to_owned()), ..Self::default() }
    }

    /// Refuses a search that no store can answer.
    ///
    /// # Errors
    /// `ArchiveError::TooManyConditions`.
    #[cfg(feature = "database")]
    pub fn check(&self) -> Result<(), crate::ArchiveError> {
        match self.config.len() {
            count if count > OPTIONS_MAX => {
                Err(crate::ArchiveError::TooManyConditions { count, most: OPTIONS_MAX })
            }
            _ => Ok(()),
        }
    }

    /// Whether it finds every run.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it finds this run.
    pub fn finds(&self, outcome: &Outcome) -> bool {
        let Outcome { entry, config } = outcome;
        let day = || entry.day();
        is_none_or(&self.machine, |part| contains(&entry.machine, part))
            && is_none_or(&self.exact_machine, |machine| entry.machine == *machine)
            && is_none_or(&self.release, |release| entry.row.kernel.as_ref() == Some(release))
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
}

fn is_none_or<T>(condition: &Option<T>, holds: impl FnOnce(&T) -> bool) -> bool {
    condition.as_ref().is_none_or(holds)
}

/// Whether a text contains another, in any case of ASCII letters, as SQLite compares.
pub fn contains(text: &str, part: &str) -> bool {
    text.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

/// Whether a load is the one that is looked for, or that with an argument.
pub fn is_load(load: &str, wanted: &str) -> bool {
    load.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// An option of a kernel's configuration and its value: `CONFIG_HZ=1000`, `PREEMPT_RT=y`, `NO_HZ_FULL=n` if it is not set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl ConfigOption {
    /// The value of an option that is not set.
    pub const UNSET: &'static str = "n";

    /// Its name, without the prefix `CONFIG_`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value, [`Self::UNSET`] if it must not be set.
    pub fn value(&self) -> &str {
        &self.value
    }

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
    fn options_are_checked() {
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
