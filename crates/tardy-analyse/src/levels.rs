//! The latency at each level: the timer's interrupt, the wake-up, the kernel's switch to the thread, and the thread.

use serde::Serialize;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::ProbePlan;
use tardy_record::series::{Level, TraceSource};
use tardy_record::{Run, Series};

use crate::row::{self, Row};

/// The levels of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Levels {
    /// A row for each load, source and level over all CPUs and rounds, the lowest level first.
    pub rows: Vec<LevelRow>,
    /// The cost of recording the events, for each load.
    pub events_cost: Vec<EventsCost>,
    /// The difference between the sources, for each load and level that both have.
    pub agreement: Vec<Agreement>,
}

/// One level, measured by one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelRow {
    /// The loads.
    pub loads: Vec<LoadSpec>,
    /// The source.
    pub source: TraceSource,
    /// The level.
    pub level: Level,
    /// Its numbers.
    pub row: Row,
    /// The number of events that the kernel's buffers lost.
    pub lost_events: u64,
}

/// The cost of recording events: the difference of the thread's median latency with and without recording, in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventsCost {
    /// The loads.
    pub loads: Vec<LoadSpec>,
    /// The median without events.
    pub plain_ns: i64,
    /// The median with them.
    pub traced_ns: i64,
    /// The median with events less the median without; negative if random variation exceeds the cost.
    pub cost_ns: i64,
}

/// The difference between both sources at one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The loads.
    pub loads: Vec<LoadSpec>,
    /// The level.
    pub level: Level,
    /// timerlat's median less the events' median, in ns.
    pub timerlat_less_events_ns: i64,
    /// Whether the difference is at most the cost of recording the events; `None` if the cost is unknown, or not
    /// positive.
    pub within_events_cost: Option<bool>,
}

/// The levels of `run`; `None` if no level was traced.
pub fn of(run: &Run) -> Option<Levels> {
    let mut groups: Vec<(Key<'_>, Vec<&Series>)> = Vec::new();
    for series in &run.series {
        let Some(key) = key(run, series) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(series),
            None => groups.push((key, vec![series])),
        }
    }
    if groups.is_empty() {
        return None;
    }
    groups.sort_by_key(|(key, _)| *key);
    let rows: Vec<LevelRow> = groups.iter().filter_map(|(key, series)| level_row(*key, series)).collect();
    let mut all_loads: Vec<&[LoadSpec]> = groups.iter().map(|(key, _)| key.0).collect();
    all_loads.dedup();
    let events_cost: Vec<EventsCost> =
        all_loads.iter().filter_map(|loads| events_cost(run, loads, &rows)).collect();
    let agreement = agreement(&rows, &events_cost);
    Some(Levels { rows, events_cost, agreement })
}

/// The key of a row: loads, source, level.
type Key<'a> = (&'a [LoadSpec], TraceSource, Level);

fn key<'a>(run: &'a Run, series: &Series) -> Option<Key<'a>> {
    let plan = run.plan.phases.get(series.phase)?;
    let source = match (&plan.probe, series.trace()) {
        (_, Some(trace)) => trace.source,
        // The untraced series of a kernel probe is the thread itself, the highest level of the events.
        (ProbePlan::Kernel(_), None) => TraceSource::Events,
        (ProbePlan::Foreign(foreign), None) if foreign.is_co_kernels() => TraceSource::CoKernel,
        _ => return None,
    };
    Some((&plan.loads, source, series.level))
}

fn level_row((loads, source, level): Key<'_>, series: &[&Series]) -> Option<LevelRow> {
    // All series of a phase have the same count of lost events.
    let mut lost: Vec<(usize, u64)> =
        series.iter().filter_map(|one| Some((one.phase, one.trace()?.lost_events))).collect();
    lost.dedup_by_key(|(phase, _)| *phase);
    let lost_events = lost.iter().fold(0u64, |sum, (_, lost)| sum.saturating_add(*lost));
    let row = row::of_several(level.name(), series).ok()?;
    Some(LevelRow { loads: loads.to_vec(), source, level, row, lost_events })
}

fn median_ns(row: &Row) -> Option<i64> {
    let median = row.quantiles.iter().find(|quantile| quantile.level == "p50")?;
    median.value.filter(|value| !value.at_least).map(|value| value.quoted_ns())
}

/// Compares untraced phases with traced ones under the same loads.
fn events_cost(run: &Run, loads: &[LoadSpec], rows: &[LevelRow]) -> Option<EventsCost> {
    let is_plain = |series: &&Series| {
        let plan = run.plan.phases.get(series.phase);
        plan.is_some_and(|plan| matches!(plan.probe, ProbePlan::Timer(_)) && plan.loads == loads)
    };
    let plain: Vec<&Series> = run.series.iter().filter(is_plain).collect();
    let plain_ns = median_ns(&row::of_several("plain", &plain).ok()?)?;
    let of_thread = |row: &&LevelRow| {
        (row.loads.as_slice(), row.source, row.level) == (loads, TraceSource::Events, Level::UserThread)
    };
    let traced_ns = median_ns(&rows.iter().find(of_thread)?.row)?;
    Some(EventsCost {
        loads: loads.to_vec(),
        plain_ns,
        traced_ns,
        cost_ns: traced_ns.saturating_sub(plain_ns),
    })
}

fn agreement(rows: &[LevelRow], costs: &[EventsCost]) -> Vec<Agreement> {
    let of = |source: TraceSource| rows.iter().filter(move |row| row.source == source);
    let both = of(TraceSource::Events).filter_map(|events| {
        let same = |other: &&LevelRow| (&other.loads, other.level) == (&events.loads, events.level);
        let timerlat = of(TraceSource::Timerlat).find(same)?;
        let difference = median_ns(&timerlat.row)?.saturating_sub(median_ns(&events.row)?);
        let cost = costs.iter().find(|cost| cost.loads == events.loads);
        Some(Agreement {
            loads: events.loads.clone(),
            level: events.level,
            timerlat_less_events_ns: difference,
            within_events_cost: cost
                .filter(|cost| cost.cost_ns > 0)
                .map(|cost| difference.unsigned_abs() <= cost.cost_ns.unsigned_abs()),
        })
    });
    both.collect()
}
