//! What a history keeps of each run: a few figures, so that thousands of runs fit into memory.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tardy_analyse::name;
use tardy_analyse::outcome::{self, Key, Outcome};
use tardy_analyse::shape::Shape;
use tardy_record::Run;
use tardy_record::units::format_duration_ns;

use super::{Figure, RunInHistory};
use crate::overview::{self, Standing};

/// One run, reduced to its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    name: String,
    pub(super) file: String,
    pub(super) started_at: String,
    pub(super) unusable_because: Option<String>,
    pub(super) experiments: Vec<(Experiment, Figures)>,
}

/// What is kept of one experiment in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) values: Vec<(Figure, f64)>,
    pub(super) shape: Shape,
}

/// What was measured, on which machine. Runs of the same experiment are followed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experiment {
    machine: String,
    key: Key,
    /// Policy and priority, such as `fifo 90`; empty if unknown.
    scheduling: String,
    intervals_ns: Vec<u64>,
}

impl Entry {
    /// The entry of `run`, which is in `file`.
    pub fn of(run: &Run, file: &str) -> Self {
        let standing = Standing::of(run);
        let outcomes = if standing.is_usable() { outcome::of(run) } else { Vec::new() };
        let experiments: Vec<(Experiment, Figures)> = outcomes
            .iter()
            .map(|outcome| (Experiment::of(run, outcome), Figures::of(run, outcome)))
            .filter(|(_, figures)| !figures.values.is_empty())
            .collect();
        let reasons = overview::reasons(run);
        let unusable_because = match (standing.is_usable(), experiments.is_empty()) {
            (false, _) if reasons.is_empty() => Some(standing.name().to_owned()),
            (false, _) => Some(reasons.join("; ")),
            (true, true) => Some("it has no latencies".to_owned()),
            (true, false) => None,
        };
        Self {
            name: name::of_run(run),
            file: file.to_owned(),
            started_at: run.origin.started_at.clone(),
            unusable_because,
            experiments,
        }
    }
}

impl Figures {
    fn of(run: &Run, outcome: &Outcome) -> Self {
        let shape = Shape::of(outcome.series.iter().map(|index| &run.series[*index]));
        Self { values: Figure::of(run, outcome), shape }
    }
}

impl From<Entry> for RunInHistory {
    fn from(entry: Entry) -> Self {
        let Entry { name, file, started_at, unusable_because, .. } = entry;
        Self { name, file, started_at, unusable_because }
    }
}

impl Experiment {
    fn of(run: &Run, outcome: &Outcome) -> Self {
        let scheduling = outcome.series.iter().find_map(|index| run.series[*index].timer()).map(|timer| {
            let policy = timer.policy.name();
            if timer.policy.has_priority() {
                format!("{policy} {}", timer.priority)
            } else {
                policy.to_owned()
            }
        });
        Self {
            machine: overview::machine(run),
            key: outcome.key.clone(),
            scheduling: scheduling.unwrap_or_default(),
            intervals_ns: outcome.intervals_ns.clone(),
        }
    }

    fn intervals(&self) -> String {
        let all: Vec<String> = self.intervals_ns.iter().map(|ns| format_duration_ns(*ns)).collect();
        if all.is_empty() { String::new() } else { format!("every {}", all.join(", ")) }
    }

    /// A label for each of `all`, of what differs between them.
    pub(super) fn labels(all: &[&Self]) -> Vec<String> {
        let of_keys = outcome::labels(&all.iter().map(|one| &one.key).collect::<Vec<_>>());
        let parts: [&dyn Fn(&Self) -> String; 3] =
            [&|one| one.machine.clone(), &|one| one.scheduling.clone(), &|one| one.intervals()];
        let differing: Vec<_> =
            parts.into_iter().filter(|part| all.iter().any(|one| part(one) != part(all[0]))).collect();
        let label = |(one, of_key): (&&Self, String)| {
            let more = differing.iter().map(|part| part(one)).filter(|text| !text.is_empty());
            std::iter::once(of_key).chain(more).collect::<Vec<_>>().join(", ")
        };
        all.iter().zip(of_keys).map(label).collect()
    }

    fn order(&self) -> (&str, &Key, &str, &[u64]) {
        (&self.machine, &self.key, &self.scheduling, &self.intervals_ns)
    }
}

impl PartialOrd for Experiment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Experiment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}
