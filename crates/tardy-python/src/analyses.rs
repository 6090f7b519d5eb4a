//! Runs against each other, and against requirements.

use pyo3::prelude::*;
use tardy_compare::versus::{Factor, Options};
use tardy_compare::{comparability, side_by_side, versus as groups};
use tardy_gate::Requirement;
use tardy_gate::forms::{self, Judged};
use tardy_present::versus as shown;
use tardy_record::Run;

use crate::error::error;
use crate::run::{NativeRun, duration, json};

/// The first run with each of the others: as text of this width, and as JSON.
#[pyfunction]
pub(crate) fn compare(
    runs: Vec<PyRef<'_, NativeRun>>,
    phases: Vec<String>,
    width: usize,
) -> PyResult<(String, String)> {
    let runs: Vec<&Run> = runs.iter().map(|run| &run.run).collect();
    for run in runs.iter().skip(1) {
        if let Some(reason) = comparability::traced_differently(runs[0], run) {
            return Err(error(reason));
        }
    }
    let comparison = match &phases[..] {
        [] => side_by_side::of(&runs),
        pairs => side_by_side::of_phases(&runs, pairs).map_err(error)?,
    };
    let comparison = comparison.ok_or_else(|| error("a comparison needs at least two runs"))?;
    Ok((tardy_present::compare::text(&comparison, width), json(&comparison)?))
}

/// Two groups of boots: as text of this width, as JSON, and as a page.
#[pyfunction]
pub(crate) fn versus(
    base: Vec<PyRef<'_, NativeRun>>,
    candidate: Vec<PyRef<'_, NativeRun>>,
    factor: &str,
    limit: Option<&str>,
    width: usize,
) -> PyResult<(String, String, String)> {
    let factor: Factor = factor.parse().map_err(|reason| error(format!("factor: {reason}")))?;
    let [base, candidate] =
        [&base, &candidate].map(|runs| runs.iter().map(|run| &run.run).collect::<Vec<_>>());
    if let Some(reason) = base.first().and_then(|run| factor.refused_by(run)) {
        return Err(error(format!("factor: {reason}")));
    }
    let limit_ns = limit.map(|limit| duration("limit", limit)).transpose()?;
    let compared = groups::of(&base, &candidate, &Options { factor, limit_ns }).map_err(error)?;
    let all: Vec<&Run> = base.into_iter().chain(candidate).collect();
    let in_rounds = all.iter().all(|run| run.origin.trial.is_some());
    Ok((
        shown::text(&compared, in_rounds, width),
        json(&shown::WithHeadline::of(&compared, in_rounds))?,
        shown::html(&compared, &all, concat!("tardy ", env!("CARGO_PKG_VERSION"))),
    ))
}

/// Whether runs meet requirements: the outcome of all, as text, and as JSON.
#[pyfunction]
pub(crate) fn gate(
    runs: Vec<PyRef<'_, NativeRun>>,
    names: Vec<String>,
    required: Vec<String>,
) -> PyResult<(&'static str, String, String)> {
    let parse =
        |text: &String| text.parse::<Requirement>().map_err(|reason| error(format!("require: {reason}")));
    let required: Vec<Requirement> = required.iter().map(parse).collect::<PyResult<_>>()?;
    if required.is_empty() {
        return Err(error("require: nothing is required; add for example 'p99.9<500us'"));
    }
    let judged: Vec<Judged> =
        runs.iter().zip(&names).flat_map(|(run, name)| Judged::all(&run.run, name, &required)).collect();
    let form = |name: &str| (forms::by_name(name).expect("a form").write)(&judged);
    Ok((forms::outcome(&judged).name(), form("text"), form("json")))
}
