//! The results of each phase of a run: a row for each series, and one for all series together.

use serde::Serialize;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{Plan, ProbeKind, Wake};
use tardy_record::series::Quantity;
use tardy_record::{Run, Series};

use crate::name::Readings;
use crate::row::{self, Row};

/// The results of one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseFindings {
    /// Index of the phase.
    pub phase: usize,
    /// Its label.
    pub label: String,
    /// The probe; `None` if the run has no plan for the phase.
    pub probe: Option<ProbeKind>,
    /// The measured quantity.
    pub quantity: Quantity,
    /// The kind of readings that are counted.
    pub readings: Readings,
    /// The time between two readings in ns, the longest of all threads; `None` if readings have no period, or it is
    /// unknown.
    pub period_ns: Option<u64>,
    /// The wake method of its threads; `None` if none of them waited for a timer.
    pub wake: Option<Wake>,
    /// The loads during the phase, as given on the command line.
    pub loads: Vec<LoadSpec>,
    /// The measured time in ns, that of the longest series; `None` if nothing was measured yet.
    pub measured_ns: Option<u64>,
    /// A row for each series.
    pub rows: Vec<Row>,
    /// All series together; `None` if their bins do not fit each other, or if they count different things.
    pub all: Option<Row>,
    /// Indices of its series, without those of lower levels of the same cycles.
    pub series: Vec<usize>,
}

/// The phases of `run`, in its order.
pub fn of(run: &Run) -> Vec<PhaseFindings> {
    (0..run.phases.len()).map(|phase| of_phase(run, phase)).collect()
}

/// The indices of the phases with the label or the number, from 1, `wanted`; without it, of the loaded phases, or of all if no phase
/// is loaded.
///
/// # Errors
/// If there is no such phase.
pub fn wanted(run: &Run, wanted: Option<&str>) -> Result<Vec<usize>, String> {
    let labels: Vec<&str> = run.phases.iter().map(|phase| phase.label.as_str()).collect();
    of_labels(&labels, &run.plan, wanted).map_err(|labels| {
        let wanted = wanted.unwrap_or_default();
        format!("there is no phase '{wanted}' in the run; it has {labels}")
    })
}

/// The same of a run that was not measured yet.
///
/// # Errors
/// If there is no such phase.
pub fn planned(plan: &Plan, wanted: Option<&str>) -> Result<Vec<usize>, String> {
    let labels: Vec<&str> = plan.phases.iter().map(|phase| phase.label.as_str()).collect();
    of_labels(&labels, plan, wanted).map_err(|labels| {
        let wanted = wanted.unwrap_or_default();
        format!("there will be no phase '{wanted}', but {labels}")
    })
}

/// The labels, if there is no such phase.
fn of_labels(labels: &[&str], plan: &Plan, wanted: Option<&str>) -> Result<Vec<usize>, String> {
    let all = 0..labels.len();
    let Some(wanted) = wanted else {
        let is_loaded = |phase: &usize| plan.phases.get(*phase).is_some_and(|plan| !plan.loads.is_empty());
        let loaded: Vec<usize> = all.clone().filter(is_loaded).collect();
        return Ok(if loaded.is_empty() { all.collect() } else { loaded });
    };
    let named: Vec<usize> = all.clone().filter(|phase| labels[*phase] == wanted).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    if let Some(number) = wanted.parse::<usize>().ok().filter(|number| (1..=labels.len()).contains(number)) {
        return Ok(vec![number - 1]);
    }
    let mut labels = labels.to_vec();
    labels.dedup();
    Err(labels.join(", "))
}

fn of_phase(run: &Run, index: usize) -> PhaseFindings {
    let phase = &run.phases[index];
    let plan = run.plan.phases.get(index);
    let is_own = |i: &usize| run.series[*i].phase == index && !run.series[*i].stands_beside();
    let indices: Vec<usize> = (0..run.series.len()).filter(is_own).collect();
    let series: Vec<&Series> = indices.iter().map(|i| &run.series[*i]).collect();
    // The widths and the periods of a signal must not be pooled.
    let is_apart = |one: &&Series| one.capture().is_some() && one.quantity == Quantity::Spacing;
    let pools = !series.is_empty() && !series.iter().any(is_apart);
    PhaseFindings {
        phase: index,
        label: phase.label.clone(),
        wake: plan.and_then(|plan| plan.probe.timer()).map(|timer| timer.wake),
        probe: plan.map(|plan| plan.probe.kind()),
        quantity: series.first().map_or(Quantity::Latency, |one| one.quantity),
        readings: series.first().map_or(Readings::default(), |one| Readings::of(one)),
        period_ns: plan.map(|plan| plan.probe.longest_interval_ns()).filter(|ns| *ns > 0),
        loads: plan.map_or_else(Vec::new, |plan| plan.loads.clone()),
        measured_ns: series.iter().map(|one| one.counted_ns).max().filter(|ns| *ns > 0),
        rows: series.iter().map(|one| row::of_series(one)).collect(),
        all: pools.then(|| row::of_several("all", &series).ok()).flatten(),
        series: indices,
    }
}
