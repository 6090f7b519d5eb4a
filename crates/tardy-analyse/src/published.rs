//! Compares a run with the published results that it repeats: the figures of both, and for each circumstance whether it
//! was the same.
//!
//! There is no verdict. An article's maximum is from another board and another duration, so "better than published" would not
//! describe the kernels. The comparison lists the circumstances that are the same, that differ, and that are unknown.

mod built_in;
mod circumstances;
mod duration;
mod placement;

use serde::{Deserialize, Serialize};
use tardy_record::Run;
use tardy_record::plan::Wake;
use tardy_record::series::{Level, TraceSource};

use crate::lab;
use crate::outcome::{self, Outcome};

pub use built_in::{built_in, built_in_named};
pub use circumstances::{Circumstance, Sameness, Value};
pub use placement::{Placed, PlacedRow, place, what};

/// A result from an article; `None` for everything that the article does not state. The fields are those of
/// `data/published.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // the names are the file's own, each with its unit, and the file explains them
pub struct PublishedResult {
    pub id: String,
    pub source: String,
    pub board: Option<String>,
    pub cpus: Option<u32>,
    pub kernel: Option<String>,
    pub preempt_rt: Option<bool>,
    pub xenomai: Option<String>,
    pub command: Option<String>,
    pub probe: Option<String>,
    pub language: Option<String>,
    pub wake: Option<String>,
    pub wake_as_published: Option<String>,
    pub level: Option<String>,
    pub interval_us: Option<f64>,
    pub priority: Option<u32>,
    pub samples_per_thread: Option<u64>,
    pub samples: Option<u64>,
    pub duration: Option<String>,
    pub load: Option<String>,
    pub min_us: Option<f64>,
    pub avg_us: Option<f64>,
    pub max_us: Option<f64>,
    pub max_at_least_us: Option<f64>,
    pub mode_us: Option<f64>,
    pub missing_cycles_percent: Option<f64>,
    pub cpu_temperature_c: Option<[f64; 2]>,
    pub stimulus_half_period_us: Option<f64>,
    pub toggle_ns: Option<f64>,
    pub interference_period_us: Option<f64>,
    pub interference_length_us: Option<f64>,
    pub cycle_us: Option<f64>,
    pub slots_us: Vec<f64>,
    pub flows: Vec<String>,
    pub offered: Option<String>,
    pub approx: Vec<String>,
    pub max_note: Option<String>,
    pub mode_note: Option<String>,
    pub stimulus_note: Option<String>,
    pub note: Option<String>,
}

impl PublishedResult {
    /// The figures of the result.
    pub fn figures(&self) -> Figures {
        Figures {
            min_us: self.min_us,
            avg_us: self.avg_us,
            max_us: self.max_us,
            max_at_least_us: self.max_at_least_us,
            max_is_approximate: self.approx.iter().any(|key| key == "max_us"),
        }
    }

    /// Remarks by the article or its transcriber.
    pub fn remarks(&self) -> Vec<String> {
        let notes = [&self.max_note, &self.stimulus_note, &self.mode_note, &self.note];
        notes.into_iter().flatten().cloned().collect()
    }
}

/// A run compared with the published results that its recipe repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PublishedMatches {
    /// The results that the run is compared with, in the recipe's order.
    pub matches: Vec<Match>,
    /// Ids of the results from the other kind of kernel, which can only be compared with a run on that kind.
    pub of_the_other_kernel: Vec<String>,
    /// Ids in the recipe that are unknown.
    pub not_known: Vec<String>,
    /// The reason why the run is not compared: it is invalid or its latencies mean nothing; `None` if it is compared.
    pub withheld_because: Option<String>,
}

/// A published result, and the corresponding outcomes of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// Its id in `data/published.toml`.
    pub id: String,
    /// The article.
    pub source: String,
    /// Its figures.
    pub published: Figures,
    /// Remarks by the article or its transcriber.
    pub remarks: Vec<String>,
    /// The corresponding outcomes; empty if this run measured nothing comparable. There are several if the article does
    /// not state which of several loads it used.
    pub ours: Vec<Ours>,
    /// All circumstances of both.
    pub circumstances: Vec<Circumstance>,
}

/// Published figures, in us as published.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Least.
    pub min_us: Option<f64>,
    /// Mean.
    pub avg_us: Option<f64>,
    /// Highest.
    pub max_us: Option<f64>,
    /// A lower bound on the highest, if the article states only that.
    pub max_at_least_us: Option<f64>,
    /// Whether the article states the highest as "about", "around" or "almost".
    pub max_is_approximate: bool,
}

/// The figures of this run that correspond to a published result, in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// The label of the outcome.
    pub label: String,
    /// Index of the outcome in [`outcome::of`].
    pub outcome: usize,
    /// Least.
    pub min_ns: Option<i64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// 99.99 % quantile; `None` if there are too few values.
    pub p9999_ns: Option<i64>,
    /// Whether that quantile is beyond the histogram, and therefore a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub p9999_at_least: bool,
    /// Highest.
    pub max_ns: Option<i64>,
    /// Whether that is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub max_at_least: bool,
}

/// Compares `run` with those of `published` that its plan names; `None` if the plan names none.
pub fn of(run: &Run, published: &[PublishedResult]) -> Option<PublishedMatches> {
    if run.plan.published.is_empty() {
        return None;
    }
    let mut compared =
        PublishedMatches { withheld_because: withheld_because(run), ..PublishedMatches::default() };
    for id in &run.plan.published {
        match published.iter().find(|result| result.id == *id) {
            None => compared.not_known.push(id.clone()),
            // Figures of toggles have a separate table.
            Some(result)
                if is_fastest_toggle(result) && run.series.iter().any(|one| one.edges().is_some()) => {}
            Some(result) if !is_of_its_kind(run, result) => compared.of_the_other_kernel.push(id.clone()),
            Some(_) if compared.withheld_because.is_some() => {}
            Some(result) => compared.matches.push(match_of(run, result)),
        }
    }
    Some(compared)
}

fn withheld_because(run: &Run) -> Option<String> {
    if !run.validity.valid {
        return Some("the run is invalid".to_owned());
    }
    lab::meaningless_because(run).map(str::to_owned)
}

/// Whether `result` can be compared with `run`: no if one is known to be from a PREEMPT_RT kernel and the other from
/// another kernel.
pub fn is_of_its_kind(run: &Run, result: &PublishedResult) -> bool {
    match (result.preempt_rt, run.facts.kernel.real_time.get()) {
        (Some(published), Some(ours)) => published == *ours,
        _ => true,
    }
}

/// Compares `run` with one published result.
pub fn match_of(run: &Run, published: &PublishedResult) -> Match {
    let outcomes = outcome::of(run);
    let chosen = corresponding(&outcomes, published);
    let ours = |(index, outcome): &(usize, &Outcome)| Ours {
        label: outcome.label.clone(),
        outcome: *index,
        min_ns: outcome.row.min_ns,
        mean_ns: outcome.row.mean_ns,
        p9999_ns: outcome.quantile("p99.99").map(|value| value.quoted_ns()),
        p9999_at_least: outcome.quantile("p99.99").is_some_and(|value| value.at_least),
        max_ns: outcome.row.max_ns,
        max_at_least: outcome.row.max_at_least,
    };
    Match {
        id: published.id.clone(),
        source: published.source.clone(),
        published: published.figures(),
        remarks: published.remarks(),
        ours: chosen.iter().map(ours).collect(),
        circumstances: circumstances::of(
            run,
            published,
            &chosen.iter().map(|(_, outcome)| *outcome).collect::<Vec<_>>(),
        ),
    }
}

/// The outcomes with the same probe, wake method and level as `published`. If there are several loads: those with the
/// same load, else those whose load may be the same, else all. An unknown wake method of another tool's file also
/// matches; the table of circumstances lists it as unknown.
fn corresponding<'a>(outcomes: &'a [Outcome], published: &PublishedResult) -> Vec<(usize, &'a Outcome)> {
    let Some(kind) = Kind::of(published) else { return Vec::new() };
    let mut chosen: Vec<(usize, &Outcome)> =
        outcomes.iter().enumerate().filter(|(_, one)| kind.fits(one)).collect();
    // Untraced threads are preferred, since tracing adds latency.
    if chosen.iter().any(|(_, one)| one.key.source.is_none()) {
        chosen.retain(|(_, one)| one.key.source.is_none());
    }
    // tardy's own thread is preferred to timerlat's, since its other levels were also measured.
    if chosen.iter().any(|(_, one)| one.key.source == Some(TraceSource::Events)) {
        chosen.retain(|(_, one)| one.key.source == Some(TraceSource::Events));
    }
    // Reactions on the wire are preferred, since the articles used an oscilloscope.
    if kind.reaction && chosen.iter().any(|(_, one)| one.key.level == Level::Wire) {
        chosen.retain(|(_, one)| one.key.level == Level::Wire);
    }
    let rank = |one: &Outcome| circumstances::load(published, &one.key.loads).rank();
    let best = chosen.iter().map(|(_, one)| rank(one)).min();
    chosen.retain(|(_, one)| Some(rank(one)) == best);
    chosen
}

/// Whether a published result is from a pin that was toggled as fast as possible.
pub(crate) fn is_fastest_toggle(published: &PublishedResult) -> bool {
    published.probe.as_deref() == Some("gpio-wiggle") && published.wake.as_deref() == Some("busy")
}

/// The kind of measurement of a published result.
struct Kind {
    /// Answers on a pin.
    reaction: bool,
    /// A pin that is driven high and low.
    wiggle: bool,
    /// The interval between deadlines, if that distinguishes results.
    interval_ns: Option<u64>,
    wake: Option<Wake>,
    level: Level,
    /// The levels of Xenomai's `latency` correspond to those of a traced thread.
    traced: bool,
}

impl Kind {
    /// `None` if tardy has no such measurement.
    fn of(published: &PublishedResult) -> Option<Self> {
        match published.probe.as_deref() {
            None => {}
            Some("tsn-flow") => {
                return Some(Self { level: Level::Wire, ..Self::default() });
            }
            // The articles measured reactions with an oscilloscope.
            Some("gpio-reaction") => {
                return Some(Self { reaction: true, level: Level::Wire, ..Self::default() });
            }
            Some("gpio-wiggle") if !is_fastest_toggle(published) => {
                let interval_ns = published.interval_us.map(|us| (us * 1000.0).round() as u64);
                return Some(Self { wiggle: true, interval_ns, ..Self::default() });
            }
            Some(_) => return None,
        }
        let level = match published.level.as_deref() {
            None => Level::UserThread,
            Some(name) => level(name)?,
        };
        let wake = match published.wake.as_deref() {
            None => None,
            Some(name) => Some(Wake::ALL.into_iter().find(|wake| wake.name() == name)?),
        };
        Some(Self { wake, level, traced: published.level.is_some(), ..Self::default() })
    }

    fn fits(&self, outcome: &Outcome) -> bool {
        let key = &outcome.key;
        if self.reaction || key.is_of_reactions() {
            return self.reaction && key.is_of_reactions();
        }
        if self.wiggle || key.edge_every_ns.is_some() {
            return self.wiggle && (self.interval_ns.is_none() || self.interval_ns == key.edge_every_ns);
        }
        key.level == self.level
            && (key.source.is_some() || !self.traced)
            && (self.wake.is_none() || key.wake == self.wake || key.wake_unknown)
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self {
            reaction: false,
            wiggle: false,
            interval_ns: None,
            wake: None,
            level: Level::UserThread,
            traced: false,
        }
    }
}

/// The level of mainline Linux that corresponds to one of Xenomai's `latency`.
fn level(name: &str) -> Option<Level> {
    match name {
        "timer IRQ" => Some(Level::Irq),
        "kernel task" => Some(Level::KernelThread),
        "user task" => Some(Level::UserThread),
        _ => None,
    }
}
