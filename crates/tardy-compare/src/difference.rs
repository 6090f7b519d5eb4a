//! The differences between the machines, kernels and boots of two runs, from their facts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tardy_record::Run;
use tardy_record::facts::{Facts, Row};
use tardy_record::lab::Lab;

use tardy_analyse::lab;

/// Facts that are compared part by part instead of as one text.
const BY_PARTS: [&str; 2] = ["command line", "configuration"];

/// The differences between the machines of two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Facts with different values; `unknown` differs from every value. For runs in the lab also other parts that their
    /// numbers depend on, such as the emulator.
    pub facts: Vec<Difference>,
    /// Facts that are unknown of both: they may differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Whether nothing is known that identifies a machine or a kernel, of one of both.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown_machine: bool,
    /// Kernel options with different values; `None` if one kernel's configuration is unknown.
    pub config: Option<Vec<Difference>>,
    /// Command line parameters on one side only; `None` if one command line is unknown.
    pub command_line: Option<Vec<Difference>>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The difference, such as `kernel: release`, `PREEMPT_RT`, `isolcpus`.
    pub name: String,
    /// Its value in the base; `None` if the base lacks it.
    pub base: Option<String>,
    /// Its value in the candidate.
    pub candidate: Option<String>,
}

/// The differences between the machines, kernels and boots of `base` and `candidate`.
pub fn between(base: &Run, candidate: &Run) -> Differences {
    let mut found = between_facts(&base.facts, &candidate.facts);
    found.facts.extend(between_labs(base.lab.as_ref(), candidate.lab.as_ref()));
    found
}

fn between_labs(base: Option<&Lab>, candidate: Option<&Lab>) -> Vec<Difference> {
    let parts = |lab: Option<&Lab>| lab.map(lab::parts).unwrap_or_default().into_iter().collect();
    let mut found = by_name(&parts(base), &parts(candidate));
    if let (Some(one), Some(other)) = (base, candidate) {
        let (base, candidate) =
            (lab::arguments_of_its_own(one, other), lab::arguments_of_its_own(other, one));
        if base != candidate {
            found.push(Difference { name: "lab: emulator's arguments".to_owned(), base, candidate });
        }
    }
    found
}

fn between_facts(base: &Facts, candidate: &Facts) -> Differences {
    let (base_config, candidate_config) =
        (base.kernel.config.value.known(), candidate.kernel.config.value.known());
    let (base_line, candidate_line) =
        (base.kernel.command_line.value.known(), candidate.kernel.command_line.value.known());
    let (facts, of_candidate) = (named(base), named(candidate));
    Differences {
        unknown: facts
            .iter()
            .filter(|(name, value)| *value == UNKNOWN && of_candidate.get(*name) == Some(value))
            .map(|(name, _)| name.clone())
            .collect(),
        unknown_machine: [&facts, &of_candidate].into_iter().any(is_unknown),
        facts: by_name(&facts, &of_candidate),
        config: base_config.zip(candidate_config).map(|(a, b)| by_name(a, b)),
        command_line: base_line.zip(candidate_line).map(|(a, b)| parameters(a, b)),
    }
}

const UNKNOWN: &str = "unknown";
/// Facts that identify the machine and the kernel.
const IDENTITY: [&str; 4] = ["kernel: release", "kernel: version", "cpu: model", "machine: board"];

fn is_unknown(facts: &BTreeMap<String, String>) -> bool {
    IDENTITY.iter().all(|name| facts.get(*name).is_none_or(|value| value == UNKNOWN))
}

/// The facts by section and name, without those that are compared part by part.
pub(crate) fn named(facts: &Facts) -> BTreeMap<String, String> {
    let whole = |row: &Row| !BY_PARTS.contains(&row.name);
    facts
        .rows()
        .into_iter()
        .filter(whole)
        .map(|row| (format!("{}: {}", row.section, row.name), row.value))
        .collect()
}

fn by_name(base: &BTreeMap<String, String>, candidate: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = base.keys().chain(candidate.keys()).collect();
    let difference = |name: &String| {
        tardy_analyse::stop::check();
        let (base, candidate) = (base.get(name).cloned(), candidate.get(name).cloned());
        (base != candidate).then(|| Difference { name: name.clone(), base, candidate })
    };
    names.into_iter().filter_map(difference).collect()
}

/// Command lines compared by parameter.
fn parameters(base: &str, candidate: &str) -> Vec<Difference> {
    by_name(&parameters_of(base), &parameters_of(candidate))
}

/// The parameters of a command line. A repeated parameter, such as `console`, keeps all its values.
pub(crate) fn parameters_of(line: &str) -> BTreeMap<String, String> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for word in line.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let values = parameters.entry(name.to_owned()).or_default();
        if !values.is_empty() {
            values.push(' ');
        }
        values.push_str(if value.is_empty() { "set" } else { value });
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_differ_one_by_one() {
        let found = parameters(
            "quiet isolcpus=1 console=tty0 console=ttyS0",
            "isolcpus=1,2 console=tty0 console=ttyS0",
        );
        let expected = [("isolcpus", Some("1"), Some("1,2")), ("quiet", Some("set"), None)];
        let flat: Vec<_> = found
            .iter()
            .map(|one| (one.name.as_str(), one.base.as_deref(), one.candidate.as_deref()))
            .collect();
        assert_eq!(flat, expected);
    }
}
