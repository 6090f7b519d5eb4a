//! A run as a Python object.

use pyo3::prelude::*;
use tardy_analyse::{findings, verdict};
use tardy_present::{report, summary};
use tardy_record::{Run, file, units};

use crate::error::error;
use crate::table::NativeTable;
use crate::tables::{self, Which};

/// One measurement. Immutable.
#[pyclass(frozen, module = "tardy._native")]
pub(crate) struct NativeRun(pub(crate) Run);

#[pymethods]
impl NativeRun {
    /// The run file.
    fn text(&self) -> String {
        file::to_text(&self.0)
    }

    /// One sentence about the measured kernel.
    fn headline(&self) -> String {
        self.0.headline()
    }

    /// The name of the run.
    fn name(&self) -> String {
        tardy_analyse::name::of_run(&self.0)
    }

    /// Whether the run is valid, the reasons if not, and what limits its conclusions.
    fn validity(&self) -> (bool, Vec<String>, Vec<String>) {
        let validity = &self.0.validity;
        let reasons = validity.spoilt_by.iter().map(ToString::to_string).collect();
        (validity.valid, reasons, validity.limits.clone())
    }

    /// The table called `name`.
    fn table(&self, name: &str) -> PyResult<NativeTable> {
        let run = &self.0;
        Ok(match name {
            "series" => tables::series(run),
            "quantiles" => tables::quantiles(run),
            "histogram" => tables::histogram(run, Which::Quoted),
            "histogram-measured" => tables::histogram(run, Which::Measured),
            "histogram-filled" => tables::histogram(run, Which::Filled),
            "slices" => tables::slices(run),
            "worst" => tables::worst(run),
            "maxima" => tables::maxima(run),
            "environment" => tables::environment(run),
            "events" => tables::events(run),
            "facts" => tables::facts(run),
            _ => return Err(error(format!("there is no table '{name}'"))),
        })
    }

    /// The summary, as `tardy show` prints it.
    fn summary(&self, width: usize) -> PyResult<String> {
        let findings = findings::of(&self.0, &options());
        Ok(summary::text(&self.0, &findings, width, false))
    }

    /// The findings of the run as JSON, as `tardy show --json` prints them.
    fn findings(&self) -> PyResult<String> {
        json(&findings::of(&self.0, &options()))
    }

    /// The verdict on `limit` as JSON; `None` if nothing was recorded.
    fn verdict(&self, limit: &str) -> PyResult<Option<String>> {
        let limit_ns = duration("limit", limit)?;
        if !self.0.validity.valid {
            return Err(error("an invalid run has no verdict; Run.validity has the reasons"));
        }
        verdict::of(&self.0, limit_ns).map(|verdict| json(&verdict)).transpose()
    }
}

/// The options of findings, as on the command line.
pub(crate) fn options() -> findings::Options<'static> {
    findings::Options::default()
}

/// The report of `runs`, as `tardy report` writes it.
pub(crate) fn html(runs: &[&Run]) -> String {
    report::html(runs, &options())
}

/// A duration with its unit, such as `100us`, in ns.
pub(crate) fn duration(argument: &str, text: &str) -> PyResult<u64> {
    units::parse_duration_ns(text).map_err(|reason| error(format!("{argument}: {reason}")))
}

pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(error)
}
