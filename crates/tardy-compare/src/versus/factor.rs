//! The factor under test, and what else differs between the runs.
//!
//! A difference is due to the factor only if everything else agrees. Facts that a kernel or its command line decides, such
//! as its idle driver, may follow from the factor: they may differ between the groups, and are listed.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tardy_analyse::lab;
use tardy_record::Run;

use super::boots::Observation;
use crate::{comparability, difference, pairing};

/// What the groups are meant to differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Factor {
    /// The kernel: its version and its configuration.
    #[default]
    Kernel,
    /// The kernel's command line.
    CommandLine,
    /// The recipe: what was measured, how, and under which load.
    Recipe,
    /// One fact, by its name with or without its section, such as `cpu: frequency governor`.
    Fact(String),
}

impl FromStr for Factor {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "kernel" => Self::Kernel,
            "cmdline" => Self::CommandLine,
            "recipe" => Self::Recipe,
            fact => Self::Fact(fact.to_owned()),
        })
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::CommandLine => "cmdline",
            Self::Recipe => "recipe",
            Self::Fact(name) => name,
        })
    }
}

impl Serialize for Factor {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// A property of the runs with more than one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// The property, such as `cpu: frequency governor`.
    pub name: String,
    /// Its values in the base, each once; absent where a run lacks it.
    pub base: Vec<Option<String>>,
    /// Its values in the candidate.
    pub candidate: Vec<Option<String>>,
}

/// How the runs of both groups differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// What differs between the groups and belongs to the factor.
    pub under_test: Vec<Disagreement>,
    /// How the recipes differ, in words, if they are under test.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipe: Vec<String>,
    /// What differs between the groups and may follow from the factor.
    pub may_follow: Vec<Disagreement>,
    /// What differs and forbids a conclusion about the factor.
    pub obstacles: Vec<Disagreement>,
    /// Other reasons against a comparison, such as different wake methods, in words.
    pub reasons: Vec<String>,
}

/// Facts that a kernel consists of, and parameters that name it.
const KERNEL: [&str; 15] = [
    "kernel: release",
    "kernel: version",
    "kernel: real-time (PREEMPT_RT)",
    "kernel: preemption model",
    "kernel: preemption can change",
    "kernel: evidence",
    "kernel: contradictions",
    "kernel: ticks per second",
    "kernel: co-kernel",
    "kernel: configuration",
    "lab: kernel image",
    "lab: package version",
    "lab: device tree",
    "command line: BOOT_IMAGE",
    "command line: initrd",
];
/// Facts that depend on the kernel, on one machine with one command line.
const FOLLOWS_KERNEL: [&str; 14] = [
    "kernel: unowned parameters",
    "clock: available sources",
    "clock: event devices",
    "clock: high-resolution timers",
    "clock: resolution",
    "cpu: mitigations",
    "cpu: idle states",
    "cpu: idle driver",
    "cpu: frequency driver",
    "cpu: frequency limits",
    "scheduling: fair server",
    "scheduling: cgroup's real-time runtime",
    "scheduling: interrupt and timer threads",
    "machine: memory",
];
/// Facts that parameters of the command line change.
const FOLLOWS_COMMAND_LINE: [&str; 21] = [
    "kernel: preemption model",
    "kernel: evidence",
    "kernel: contradictions",
    "kernel: unowned parameters",
    "clock: source",
    "clock: available sources",
    "clock: event devices",
    "clock: high-resolution timers",
    "cpu: online",
    "cpu: topology",
    "cpu: multithreading",
    "cpu: mitigations",
    "cpu: idle states",
    "cpu: idle driver",
    "cpu: frequency driver",
    "cpu: isolated CPUs",
    "cpu: CPUs without tick",
    "cpu: CPUs without RCU callbacks",
    "cpu: interrupts go to CPUs",
    "scheduling: interrupt and timer threads",
    "machine: memory",
];
/// Properties that differ between boots although nothing was changed: a measured cost, and the file system of a guest, which
/// contains the recipe with its seed. What matters in it, tardy and the recipe, is compared by itself.
const VARIES: [&str; 2] = ["clock: cost of a reading", "lab: initramfs"];
const OPTION: &str = "configuration: ";
const PARAMETER: &str = "command line: ";

/// Whether a property may differ between the groups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    UnderTest,
    MayFollow,
    MustAgree,
}

impl Factor {
    fn role(&self, name: &str) -> Role {
        let is_kernel = || KERNEL.contains(&name) || name.starts_with(OPTION);
        match self {
            Self::Kernel if is_kernel() => Role::UnderTest,
            Self::Kernel if FOLLOWS_KERNEL.contains(&name) => Role::MayFollow,
            Self::CommandLine if name.starts_with(PARAMETER) => Role::UnderTest,
            Self::CommandLine if FOLLOWS_COMMAND_LINE.contains(&name) => Role::MayFollow,
            Self::Fact(fact) if is_named(name, fact) => Role::UnderTest,
            _ => Role::MustAgree,
        }
    }

    /// Why the factor cannot be that of `run`, with the facts that there are; `None` if it can.
    pub fn refused_by(&self, run: &Run) -> Option<String> {
        let Self::Fact(fact) = self else { return None };
        let properties = properties(run);
        if properties.keys().any(|name| is_named(name, fact)) {
            return None;
        }
        let facts: Vec<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|name| !name.starts_with(OPTION) && !name.starts_with(PARAMETER))
            .collect();
        Some(format!(
            "'{fact}' is not a fact of these runs; expected kernel, cmdline, recipe or one of: {}",
            facts.join("; ")
        ))
    }

    /// The values of the property that the factor is, if it is a fact.
    pub(crate) fn value_of(&self, run: &Run) -> Option<String> {
        let Self::Fact(fact) = self else { return None };
        properties(run).into_iter().find(|(name, _)| is_named(name, fact)).map(|(_, value)| value)
    }
}

/// Whether `fact` names the property, with or without its section.
fn is_named(property: &str, fact: &str) -> bool {
    property == fact || property.split_once(": ").is_some_and(|(_, name)| name == fact)
}

/// Everything that is known about the machine, the kernel and the boot of a run.
fn properties(run: &Run) -> BTreeMap<String, String> {
    let mut properties = difference::named(&run.facts);
    match run.facts.kernel.config.value.known() {
        Some(options) => {
            properties.extend(options.iter().map(|(name, value)| (format!("{OPTION}{name}"), value.clone())));
            properties.insert("kernel: configuration".to_owned(), "known".to_owned());
        }
        None => drop(properties.insert("kernel: configuration".to_owned(), "unknown".to_owned())),
    }
    match run.facts.kernel.command_line.value.known() {
        Some(line) => {
            let parameters = difference::parameters_of(line).into_iter();
            properties.extend(parameters.map(|(name, value)| (format!("{PARAMETER}{name}"), value)));
            properties.insert("kernel: command line".to_owned(), "known".to_owned());
        }
        None => drop(properties.insert("kernel: command line".to_owned(), "unknown".to_owned())),
    }
    match &run.lab {
        Some(lab) => {
            properties.extend(lab::parts(lab));
            properties.insert("lab: emulator's arguments".to_owned(), lab::options(lab).join(" "));
        }
        // A guest is the same on every host; a board of the same type is another board.
        None => drop(properties.insert("machine: host name".to_owned(), run.origin.host.clone())),
    }
    properties.retain(|name, _| !VARIES.contains(&name.as_str()));
    properties
}

/// How the runs of the groups differ, with `factor` under test.
pub(crate) fn differences(groups: &[Vec<Observation<'_>>; 2], factor: &Factor) -> Differences {
    let of_groups = groups.each_ref().map(|group| -> Vec<BTreeMap<String, String>> {
        group.iter().flat_map(|observation| &observation.runs).map(|run| properties(run)).collect()
    });
    let mut found = Differences { reasons: reasons(groups, factor), ..Differences::default() };
    for name in names(&of_groups) {
        let values = of_groups.each_ref().map(|runs| {
            let distinct: BTreeSet<Option<&String>> = runs.iter().map(|run| run.get(name)).collect();
            distinct.into_iter().map(|value| value.cloned()).collect::<Vec<Option<String>>>()
        });
        let [base, candidate] = values;
        if base == candidate && base.len() == 1 {
            continue;
        }
        // Within a group nothing may differ, not even the factor.
        let role = if base.len() > 1 || candidate.len() > 1 { Role::MustAgree } else { factor.role(name) };
        let one = Disagreement { name: name.to_owned(), base, candidate };
        match role {
            Role::UnderTest => found.under_test.push(one),
            Role::MayFollow => found.may_follow.push(one),
            Role::MustAgree => found.obstacles.push(one),
        }
    }
    // What a reader looks for first: releases and models before options.
    found.under_test.sort_by_key(|one| (one.name.starts_with(OPTION), one.name != "kernel: release"));
    if *factor == Factor::Recipe {
        found.recipe = measured_differently(groups[0][0].runs[0], groups[1][0].runs[0]);
    }
    found
}

/// The names of all properties. The parts of a configuration or a command line count only if all runs know theirs.
fn names(groups: &[Vec<BTreeMap<String, String>>; 2]) -> BTreeSet<&str> {
    let all = || groups.iter().flatten();
    let is_known = |what: &str| all().all(|run| run.get(what).is_some_and(|value| value == "known"));
    let (options, parameters) = (is_known("kernel: configuration"), is_known("kernel: command line"));
    all()
        .flat_map(BTreeMap::keys)
        .map(String::as_str)
        .filter(|name| (options || !name.starts_with(OPTION)) && (parameters || !name.starts_with(PARAMETER)))
        .collect()
}

/// Why the runs did not measure the same thing, in words. With the recipe under test, the groups may differ in it.
fn reasons(groups: &[Vec<Observation<'_>>; 2], factor: &Factor) -> Vec<String> {
    let of_group = groups.each_ref().map(|group| -> Vec<&Run> {
        group.iter().flat_map(|observation| observation.runs.iter().copied()).collect()
    });
    let mut reasons: Vec<String> = Vec::new();
    let mut add = |found: Vec<String>| {
        for reason in found {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    };
    for run in of_group.iter().flatten() {
        add(lab::meaningless_because(run)
            .map(|why| format!("the latencies mean nothing: {why}"))
            .into_iter()
            .collect());
    }
    for (runs, side) in of_group.iter().zip(["base", "candidate"]) {
        add(mixed(runs, factor)
            .map(|values| format!("the {side} has several kernels: {values}"))
            .into_iter()
            .collect());
        runs[1..].iter().for_each(|run| add(measured_differently(runs[0], run)));
    }
    let [base, candidate] = &of_group;
    match factor {
        Factor::Recipe => add(comparability::place_obstacle(base[0].lab.as_ref(), candidate[0].lab.as_ref())
            .into_iter()
            .collect()),
        _ => add(measured_differently(base[0], candidate[0])),
    }
    reasons
}

/// The releases of the kernels of a group, if the kernel is under test and they differ.
fn mixed(runs: &[&Run], factor: &Factor) -> Option<String> {
    let releases: BTreeSet<&str> =
        runs.iter().filter_map(|run| run.facts.kernel.release.get()).map(String::as_str).collect();
    let is_mixed = *factor == Factor::Kernel && releases.len() > 1;
    is_mixed.then(|| releases.into_iter().collect::<Vec<_>>().join(", "))
}

fn measured_differently(one: &Run, other: &Run) -> Vec<String> {
    comparability::measured_differently(one, other, &pairing::phases(one, other).phases)
}
