//! The outcomes of a run: one for each wake method, load and level, over all CPUs and rounds.
//!
//! Outcomes are finer than the rows of [`crate::wakes`] and [`crate::levels`], because a published result is compared
//! with exactly one experiment, and the summary of many runs is a single table.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use tardy_record::load_spec::LoadSpec;
use tardy_record::pins::{AnswerBy, Point};
use tardy_record::plan::{ProbeKind, ProbePlan, Tracer, Wake};
use tardy_record::series::{Level, Quantity, TraceSource};

use tardy_record::units::format_duration_ns;
use tardy_record::{Knowable, Run, Series, cpu_list};

use crate::quantile;
use crate::row::{self, Row};

/// Durations that differ by more than this share make maxima incomparable, since a maximum grows with time.
pub const DURATION_TOLERANCE: f64 = 0.05;

/// One outcome of a run, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The difference from the run's other outcomes, such as `nanosleep, doload`; the wake method if it is the only one.
    pub label: String,
    /// What was measured.
    #[serde(flatten)]
    pub key: Key,
    /// Indices of its series.
    pub series: Vec<usize>,
    /// The distinct intervals between deadlines, in ns, ascending.
    pub intervals_ns: Vec<u64>,
    /// The measured time of all rounds, in ns.
    pub measured_ns: u64,
    /// The number of readings of one CPU in all rounds; the lowest if CPUs differ.
    pub recorded_per_cpu: u64,
    /// The numbers of all CPUs and rounds.
    pub row: Row,
}

/// What distinguishes an outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The loads, as given on the command line.
    pub loads: Vec<LoadSpec>,
    /// The wake method; `None` if no thread waited for a timer, or if the method is unknown.
    pub wake: Option<Wake>,
    /// Whether a thread waited for a timer by an unknown method, which is possible in files of other tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wake_unknown: bool,
    /// The probe.
    #[serde(deserialize_with = "probe_of_name")]
    pub probe: ProbeKind,
    /// The source of the trace; `None` for an untraced thread.
    pub source: Option<TraceSource>,
    /// How the thread was notified of edges; `None` if it answered no edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<AnswerBy>,
    /// Whether a logic analyser captured it, so that no thread is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub captured: bool,
    /// The interval between edges of a pin that is driven high and low, in ns; `None` for other measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_every_ns: Option<u64>,
    /// The level.
    pub level: Level,
}

/// The probe whose name [`ProbeKind`] serialises to.
fn probe_of_name<'d, D: Deserializer<'d>>(deserializer: D) -> Result<ProbeKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    let tracers = [Tracer::Timerlat, Tracer::Osnoise, Tracer::Hwlat].map(ProbeKind::Tracer);
    let others = [
        ProbeKind::Timer,
        ProbeKind::Kernel,
        ProbeKind::Switch,
        ProbeKind::Noise,
        ProbeKind::Reaction,
        ProbeKind::Wiggle,
        ProbeKind::RoundTrip,
        ProbeKind::Program,
        ProbeKind::Foreign,
    ];
    let found = tracers.into_iter().chain(others).find(|probe| probe.name() == name);
    found.ok_or_else(|| D::Error::custom(format!("'{name}' is not a probe")))
}

impl Key {
    /// Whether it measured answers on a pin.
    pub fn is_of_reactions(&self) -> bool {
        self.answer_by.is_some() || self.captured
    }
}

/// The outcomes of `run` in order, lower levels first. Noise is not a latency and is not included.
pub fn of(run: &Run) -> Vec<Outcome> {
    let mut groups: Vec<(Key, Vec<usize>)> = Vec::new();
    for (index, series) in run.series.iter().enumerate() {
        let Some(key) = key(run, series) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(index),
            None => groups.push((key, vec![index])),
        }
    }
    // The levels of an experiment are adjacent; experiments stay in their order.
    let experiments: Vec<(Vec<LoadSpec>, ProbeKind)> =
        groups.iter().map(|(key, _)| (key.loads.clone(), key.probe)).collect();
    groups.sort_by_key(|(key, members)| {
        let first = experiments.iter().position(|(loads, probe)| (loads, *probe) == (&key.loads, key.probe));
        let first_series = if key.source.is_some() { 0 } else { members[0] };
        (first, key.source, key.level, first_series)
    });
    let labels = labels(&groups.iter().map(|(key, _)| key).collect::<Vec<_>>());
    groups
        .into_iter()
        .zip(labels)
        .filter_map(|((key, members), label)| outcome(run, key, members, label))
        .collect()
}

fn key(run: &Run, series: &Series) -> Option<Key> {
    if series.quantity != Quantity::Latency {
        return None;
    }
    let reaction = series.reaction();
    // Without the time of the edge, the whole span is unknown.
    if reaction.is_some_and(|reaction| reaction.from == Point::Running) {
        return None;
    }
    // Of the spans on the wire, only the one that an oscilloscope shows; of the spans that the program measures, only the whole
    // one.
    if reaction.is_some_and(|reaction| reaction.beside && reaction.from != Point::Due) {
        return None;
    }
    let plan = run.plan.phases.get(series.phase)?;
    let source = match (&plan.probe, series.trace()) {
        (_, Some(trace)) => Some(trace.source),
        (ProbePlan::Kernel(_), None) => Some(TraceSource::Events),
        (ProbePlan::Foreign(foreign), None) if foreign.is_co_kernels() => Some(TraceSource::CoKernel),
        _ => None,
    };
    // timerlat's thread does not use tardy's wake method.
    let wake = if source == Some(TraceSource::Timerlat) { None } else { waited(&plan.probe) };
    Some(Key {
        loads: plan.loads.clone(),
        wake: wake.and_then(|wake| wake.get()),
        wake_unknown: wake == Some(Knowable::Unknown),
        probe: plan.probe.kind(),
        source,
        answer_by: reaction.map(|reaction| reaction.answer_by),
        captured: series.capture().is_some(),
        edge_every_ns: match &plan.probe {
            ProbePlan::Wiggle(_) => interval_ns(series),
            _ => None,
        },
        level: series.level,
    })
}

/// The wake method of the thread of `probe`; `None` if the thread does not wait for a timer.
fn waited(probe: &ProbePlan) -> Option<Knowable<Wake>> {
    match probe {
        ProbePlan::Foreign(foreign) => foreign.wake,
        _ => probe.timer().map(|timer| Knowable::Known(timer.wake)),
    }
}

fn outcome(run: &Run, key: Key, members: Vec<usize>, label: String) -> Option<Outcome> {
    let series: Vec<&Series> = members.iter().map(|index| &run.series[*index]).collect();
    let row = row::of_several(&label, &series).ok()?;
    let mut intervals_ns: Vec<u64> = series.iter().filter_map(|one| interval_ns(one)).collect();
    intervals_ns.sort_unstable();
    intervals_ns.dedup();
    let mut phases: Vec<usize> = series.iter().map(|one| one.phase).collect();
    phases.dedup();
    let longest = |phase: &usize| {
        let of_phase = series.iter().filter(|one| one.phase == *phase);
        of_phase.map(|one| one.counted_ns).max().unwrap_or(0)
    };
    let measured_ns = phases.iter().map(longest).fold(0u64, u64::saturating_add);
    let cpus = cpu_list::distinct(series.iter().map(|one| one.cpu()));
    let recorded = |cpu: &u32| {
        let of_cpu = series.iter().filter(|one| one.cpu() == *cpu);
        of_cpu.fold(0u64, |sum, one| sum.saturating_add(one.tally.recorded))
    };
    let recorded_per_cpu = cpus.iter().map(recorded).min().unwrap_or(0);
    Some(Outcome { label, key, series: members, intervals_ns, measured_ns, recorded_per_cpu, row })
}

fn interval_ns(series: &Series) -> Option<u64> {
    let own = series.timer().map(|timer| timer.interval_ns);
    own.or_else(|| series.trace().map(|trace| trace.interval_ns))
        .or_else(|| series.foreign().and_then(|foreign| foreign.interval_ns.get()))
}

/// A label for each of `keys`, of those parts that differ between them: level, source, wake method, interval between
/// edges, answer method and loads. If no part differs, the label is the wake method or the level.
pub fn labels(keys: &[&Key]) -> Vec<String> {
    let differ = |part: &dyn Fn(&Key) -> String| keys.iter().any(|key| part(key) != part(keys[0]));
    let loads = |key: &Key| under(&key.loads);
    let wake = |key: &Key| key.wake.map_or_else(String::new, |wake| wake.name().to_owned());
    let level = |key: &Key| key.level.name().to_owned();
    let source = |key: &Key| match key.source {
        Some(source) => format!("by {}", source.name()),
        None => "untraced".to_owned(),
    };
    let answer = |key: &Key| key.answer_by.map_or_else(String::new, |way| format!("by {}", way.name()));
    let edge = |key: &Key| {
        key.edge_every_ns.map_or_else(String::new, |ns| format!("an edge every {}", format_duration_ns(ns)))
    };
    let parts: [&dyn Fn(&Key) -> String; 6] = [&level, &source, &wake, &edge, &answer, &loads];
    let distinguishing: Vec<&dyn Fn(&Key) -> String> =
        parts.into_iter().filter(|part| differ(*part)).collect();
    let label = |key: &&Key| {
        let texts: Vec<String> =
            distinguishing.iter().map(|part| part(key)).filter(|text| !text.is_empty()).collect();
        match (texts.is_empty(), key.wake) {
            (false, _) => texts.join(", "),
            (true, Some(wake)) => wake.name().to_owned(),
            (true, None) => key.level.name().to_owned(),
        }
    };
    keys.iter().map(label).collect()
}

/// Loads as text.
pub fn under(loads: &[LoadSpec]) -> String {
    if loads.is_empty() { "no load".to_owned() } else { loads.join(" + ") }
}

impl Outcome {
    /// The quantile of that name; `None` if there are too few values.
    pub fn quantile(&self, name: &str) -> Option<quantile::Value> {
        self.row.quantiles.iter().find(|quantile| quantile.level == name)?.value
    }
}
