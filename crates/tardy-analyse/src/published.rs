//! A run beside the results that it repeats: the published figure, what was measured here, and, circumstance by
//! circumstance, whether the two were measured under the same.
//!
//! Nothing is judged by the figures. An article's maximum comes from another board and another length of looking, and
//! "better than published" would be a statement about neither kernel. What is said is which circumstances are the
//! same, which differ, and which nobody can know.

mod circumstances;
mod duration;
mod shelf;

use serde::{Deserialize, Serialize};
use tardy_record::Run;
use tardy_record::plan::Wake;
use tardy_record::series::{Level, TraceSource};

use crate::lab;
use crate::outcome::{self, Outcome};
use crate::wiggles;

pub use circumstances::{Circumstance, Sameness, Value};
pub use shelf::{Placed, PlacedRow, place, what};

/// A result as an article gives it; what it does not say is absent. All fields as in `data/published.toml`.
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
    /// Its figures.
    pub fn figures(&self) -> Figures {
        Figures {
            min_us: self.min_us,
            avg_us: self.avg_us,
            max_us: self.max_us,
            max_at_least_us: self.max_at_least_us,
            max_is_approximate: self.approx.iter().any(|key| key == "max_us"),
        }
    }

    /// What the article or its transcriber says about them.
    pub fn remarks(&self) -> Vec<String> {
        let notes = [&self.max_note, &self.stimulus_note, &self.mode_note, &self.note];
        notes.into_iter().flatten().cloned().collect()
    }
}

/// A run beside the published results that its recipe repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BesidePublished {
    /// Those that are set beside it, in the recipe's order.
    pub matches: Vec<Match>,
    /// Ids of those of the other kind of kernel, which belong beside the other run.
    pub of_the_other_kernel: Vec<String>,
    /// Ids that the recipe names and nobody knows.
    pub not_known: Vec<String>,
    /// Why nothing is set beside them: the run's numbers may not be used, or mean nothing.
    pub withheld_because: Option<String>,
}

/// A published result, and what corresponds to it here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// Its id in `data/published.toml`.
    pub id: String,
    /// The article.
    pub source: String,
    /// Its figures.
    pub published: Figures,
    /// What the article or its transcriber says about them.
    pub remarks: Vec<String>,
    /// What corresponds to it; empty where this run measured nothing of the kind. Several, where the article does not
    /// say which of several loads it was.
    pub ours: Vec<Ours>,
    /// Circumstance by circumstance.
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
    /// The highest was at least this; given where the article has no more than that.
    pub max_at_least_us: Option<f64>,
    /// Whether the article gives the highest as "about", "around" or "almost".
    pub max_is_approximate: bool,
}

/// What this run has beside a published result, in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// What it is of, among the run's outcomes.
    pub label: String,
    /// Which of the run's outcomes, as an index into [`outcome::of`].
    pub outcome: usize,
    /// Least.
    pub min_ns: Option<i64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// 99.99 % quantile; absent where there are too few values.
    pub p9999_ns: Option<i64>,
    /// Whether that quantile lies beyond the histogram, so that it is this or more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub p9999_at_least: bool,
    /// Highest.
    pub max_ns: Option<i64>,
}

/// `run` beside those of `published` that its plan names; nothing where it names none.
pub fn of(run: &Run, published: &[PublishedResult]) -> Option<BesidePublished> {
    if run.plan.published.is_empty() {
        return None;
    }
    let mut beside =
        BesidePublished { withheld_because: withheld_because(run), ..BesidePublished::default() };
    for id in &run.plan.published {
        match published.iter().find(|result| result.id == *id) {
            None => beside.not_known.push(id.clone()),
            // Its figures are a toggle's, which have a table of their own.
            Some(result)
                if wiggles::is_fastest(result) && run.series.iter().any(|one| one.edges().is_some()) => {}
            Some(result) if !is_of_its_kind(run, result) => beside.of_the_other_kernel.push(id.clone()),
            Some(_) if beside.withheld_because.is_some() => {}
            Some(result) => beside.matches.push(match_of(run, result)),
        }
    }
    Some(beside)
}

fn withheld_because(run: &Run) -> Option<String> {
    if !run.validity.valid {
        return Some("the run is invalid".to_owned());
    }
    lab::meaningless_because(run).map(str::to_owned)
}

/// Whether `result` belongs beside `run`: not where one is known to be of a PREEMPT_RT kernel and the other not.
pub fn is_of_its_kind(run: &Run, result: &PublishedResult) -> bool {
    match (result.preempt_rt, run.facts.kernel.real_time.get()) {
        (Some(published), Some(ours)) => published == *ours,
        _ => true,
    }
}

/// `run` beside one published result.
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

/// The outcomes that measured what `published` did: by the same probe, wake method and level; of several loads the one
/// that is the same, else those of which nobody knows, else all. A wake method that another tool's file does not say may
/// be the same: the table of circumstances has it as unknown.
fn corresponding<'a>(outcomes: &'a [Outcome], published: &PublishedResult) -> Vec<(usize, &'a Outcome)> {
    let Some(kind) = Kind::of(published) else { return Vec::new() };
    let mut chosen: Vec<(usize, &Outcome)> =
        outcomes.iter().enumerate().filter(|(_, one)| kind.fits(one)).collect();
    // Where nobody watched the thread with a trace, its own readings are undisturbed by one.
    if chosen.iter().any(|(_, one)| one.key.source.is_none()) {
        chosen.retain(|(_, one)| one.key.source.is_none());
    }
    // tardy's own thread before timerlat's: it is the one whose other levels stand beside it.
    if chosen.iter().any(|(_, one)| one.key.source == Some(TraceSource::Events)) {
        chosen.retain(|(_, one)| one.key.source == Some(TraceSource::Events));
    }
    // Of a reaction what the wire shows, where something watched it: the articles had an oscilloscope.
    if kind.reaction && chosen.iter().any(|(_, one)| one.key.level == Level::Wire) {
        chosen.retain(|(_, one)| one.key.level == Level::Wire);
    }
    let rank = |one: &Outcome| circumstances::load(published, &one.key.loads).rank();
    let best = chosen.iter().map(|(_, one)| rank(one)).min();
    chosen.retain(|(_, one)| Some(rank(one)) == best);
    chosen
}

/// What kind of measurement a published result is of.
struct Kind {
    /// Pins are answered, and no timer is waited for.
    reaction: bool,
    /// A pin is wiggled.
    wiggle: bool,
    /// From one deadline to the next, where that tells results apart.
    interval_ns: Option<u64>,
    wake: Option<Wake>,
    level: Level,
    /// The levels of Xenomai's `latency` stand beside those of a traced thread.
    traced: bool,
}

impl Kind {
    /// Absent where tardy has nothing of the kind yet.
    fn of(published: &PublishedResult) -> Option<Self> {
        match published.probe.as_deref() {
            None => {}
            Some("tsn-flow") => {
                return Some(Self { level: Level::Wire, ..Self::default() });
            }
            // With an oscilloscope.
            Some("gpio-reaction") => {
                return Some(Self { reaction: true, level: Level::Wire, ..Self::default() });
            }
            Some("gpio-wiggle") if !wiggles::is_fastest(published) => {
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

/// The level of mainline's that stands beside one of Xenomai's `latency`.
fn level(name: &str) -> Option<Level> {
    match name {
        "timer IRQ" => Some(Level::Irq),
        "kernel task" => Some(Level::KernelThread),
        "user task" => Some(Level::UserThread),
        _ => None,
    }
}
