//! A run as a Python object.

use pyo3::prelude::*;
use tardy_analyse::{findings, name, published, verdict};
use tardy_present::{report, summary};
use tardy_record::{Run, file, units};

use crate::error::error;
use crate::table::NativeTable;
use crate::tables::{self, Which};

/// One measurement. Immutable.
#[pyclass(frozen, module = "tardy._native")]
pub(crate) struct NativeRun {
    pub(crate) run: Run,
    /// Whether its name is that of its file, which results show and the run file does not have.
    is_named_after_file: bool,
}

impl NativeRun {
    /// `run` of the file `file_name`, after which it is named as on the command line.
    pub(crate) fn of_file(mut run: Run, file_name: &str) -> Self {
        let had_none = run.origin.name.is_none();
        name::after_file(&mut run, file_name);
        Self { is_named_after_file: had_none && run.origin.name.is_some(), run }
    }

    /// `run` of a content without a file.
    pub(crate) fn of_bytes(run: Run) -> Self {
        Self { run, is_named_after_file: false }
    }
}

#[pymethods]
impl NativeRun {
    /// The run file.
    fn text(&self) -> String {
        if !self.is_named_after_file {
            return file::to_text(&self.run);
        }
        let mut run = self.run.clone();
        run.origin.name = None;
        file::to_text(&run)
    }

    /// One sentence about the measured kernel.
    fn headline(&self) -> String {
        self.run.headline()
    }

    /// The name of the run.
    fn name(&self) -> String {
        tardy_analyse::name::of_run(&self.run)
    }

    /// Whether the run is valid, the reasons if not, and what limits its conclusions.
    fn validity(&self) -> (bool, Vec<String>, Vec<String>) {
        let validity = &self.run.validity;
        let reasons = validity.spoilt_by.iter().map(ToString::to_string).collect();
        (validity.valid, reasons, validity.limits.clone())
    }

    /// The table called `name`.
    fn table(&self, name: &str) -> PyResult<NativeTable> {
        let run = &self.run;
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
        let findings = findings::of(&self.run, &options());
        Ok(summary::text(&self.run, &findings, width, false))
    }

    /// The findings of the run as JSON, as `tardy show --json` prints them.
    fn findings(&self) -> PyResult<String> {
        json(&findings::of(&self.run, &options()))
    }

    /// The verdict on `limit` as JSON; `None` if nothing was recorded.
    fn verdict(&self, limit: &str) -> PyResult<Option<String>> {
        let limit_ns = duration("limit", limit)?;
        if !self.run.validity.valid {
            return Err(error("an invalid run has no verdict; Run.validity has the reasons"));
        }
        verdict::of(&self.run, limit_ns).map(|verdict| json(&verdict)).transpose()
    }
}

/// The options of findings, as on the command line.
pub(crate) fn options() -> findings::Options<'static> {
    findings::Options { published: published::built_in(), ..findings::Options::default() }
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
