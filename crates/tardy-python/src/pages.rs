//! Reports and plots.

use pyo3::prelude::*;
use tardy_plot::Options;
use tardy_present::plot_file::{Kind, Plot};
use tardy_record::Run;

use crate::error::error;
use crate::run::{NativeRun, duration, html};

/// The report of `runs`, as `tardy report` writes it.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, runs: Vec<PyRef<'_, NativeRun>>) -> PyResult<String> {
    let runs: Vec<&Run> = runs.iter().map(|run| &run.run).collect();
    if runs.is_empty() {
        return Err(error("a report needs at least one run"));
    }
    Ok(py.detach(|| html(&runs)))
}

/// A plot of `runs` as SVG, and its data as CSV.
#[pyfunction]
pub(crate) fn plot(
    runs: Vec<PyRef<'_, NativeRun>>,
    kind: &str,
    width: f64,
    height: Option<f64>,
    x_max: Option<&str>,
    title: Option<String>,
) -> PyResult<(String, String)> {
    let runs: Vec<&Run> = runs.iter().map(|run| &run.run).collect();
    if runs.is_empty() {
        return Err(error("a plot needs at least one run"));
    }
    let kind = Kind::OF_RUNS.into_iter().find(|one| one.name() == kind).ok_or_else(|| {
        let names: Vec<&str> = Kind::OF_RUNS.iter().map(|kind| kind.name()).collect();
        error(format!("'{kind}' is not a kind of plot; they are {}", names.join(", ")))
    })?;
    let plot = Plot {
        kind,
        runs: &runs,
        versus: None,
        title,
        options: Options {
            width,
            height,
            latency_max_ns: x_max.map(|latency| duration("x_max", latency)).transpose()?,
            limit_ns: runs.iter().find_map(|run| run.plan.limit_ns),
            ..Options::default()
        },
    };
    Ok((plot.svg().map_err(error)?, plot.csv().map_err(error)?))
}
