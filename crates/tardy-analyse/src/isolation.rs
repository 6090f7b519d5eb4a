//! Which measured CPUs are kept apart from the rest of the machine.
//!
//! A CPU that the scheduler leaves alone and a CPU that carries the load have different latencies for different reasons. Verdicts
//! are given for each kind, and a comparison treats the isolation of the measured CPUs as a condition.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tardy_record::facts::{Fact, Facts};
use tardy_record::series::SeriesKind;
use tardy_record::{Run, Series, cpu_list};

/// A kind of CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The scheduler places no task on it (isolcpus, or an isolated cpuset).
    Isolated,
    /// It runs any task.
    Shared,
}

impl Isolation {
    /// Its name in front of `CPU`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Shared => "other",
        }
    }
}

/// The measured CPUs of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpusOfKind {
    /// The kind.
    pub kind: Isolation,
    /// The CPUs, in ascending order.
    pub cpus: Vec<u32>,
}

/// What the kernel keeps away from each CPU, by the facts of a run: the one place that reads these facts. `None` if it is
/// unknown which CPUs are isolated.
fn properties(facts: &Facts) -> Option<BTreeMap<u32, Vec<&'static str>>> {
    let list = |fact: &Fact<String>| cpu_list::parse_kept_apart(fact.get()?);
    let mut properties: BTreeMap<u32, Vec<&'static str>> = BTreeMap::new();
    for cpu in list(&facts.cpu.isolated)? {
        properties.entry(cpu).or_default().push(Isolation::Isolated.name());
    }
    for (fact, name) in
        [(&facts.cpu.nohz_full, "without tick"), (&facts.cpu.rcu_nocbs, "without RCU callbacks")]
    {
        for cpu in list(fact).unwrap_or_default() {
            properties.entry(cpu).or_default().push(name);
        }
    }
    Some(properties)
}

/// The CPUs that wake-ups were measured on; `None` if a thread may have run on several.
fn measured(run: &Run) -> Option<BTreeSet<u32>> {
    let cpu = |series: &Series| match &series.kind {
        SeriesKind::Timer(timer) => timer.pinned.then_some(timer.cpu),
        SeriesKind::Foreign(foreign) => foreign.cpu.get(),
        SeriesKind::Program(_) | SeriesKind::Flow(_) | SeriesKind::Capture(_) => None,
        _ => Some(series.cpu()),
    };
    run.series.iter().filter(|series| series.is_of_wakeups()).map(cpu).collect()
}

/// The measured CPUs of each kind, isolated ones first; empty if all are of one kind, or if it is unknown.
pub fn kinds(run: &Run) -> Vec<CpusOfKind> {
    let (Some(properties), Some(measured)) = (properties(&run.facts), measured(run)) else {
        return Vec::new();
    };
    let is_isolated =
        |cpu: &u32| properties.get(cpu).is_some_and(|names| names.contains(&Isolation::Isolated.name()));
    let (isolated, shared): (Vec<u32>, Vec<u32>) = measured.into_iter().partition(is_isolated);
    if isolated.is_empty() || shared.is_empty() {
        return Vec::new();
    }
    [(Isolation::Isolated, isolated), (Isolation::Shared, shared)]
        .map(|(kind, cpus)| CpusOfKind { kind, cpus })
        .into()
}

/// What the kernel keeps away from the measured CPUs, such as `2-3 isolated, without tick` or `none`; `None` if it is unknown.
pub fn of_measured(run: &Run) -> Option<String> {
    let properties = properties(&run.facts)?;
    let mut cpus: BTreeMap<&[&str], Vec<u32>> = BTreeMap::new();
    for cpu in measured(run)? {
        if let Some(names) = properties.get(&cpu) {
            cpus.entry(names).or_default().push(cpu);
        }
    }
    let texts: Vec<String> = cpus
        .into_iter()
        .map(|(names, cpus)| format!("{} {}", cpu_list::format(&cpus), names.join(", ")))
        .collect();
    Some(if texts.is_empty() { "none".to_owned() } else { texts.join("; ") })
}
