//! Exporters, one module for each format. They convert a run to the content of files.
//!
//! Other tools expect measured counts. Only CSV and JSON also have tardy's corrected histograms, since they can label
//! both.

pub(crate) mod columns;
mod csv;
mod cyclictest_json;
mod cyclictest_text;
mod cyclictest_threads;
pub(crate) mod hdr_log;
mod json;
mod junit;
mod openmetrics;

use tardy_ftrace::{self as ftrace, Excerpt};
use tardy_record::series::Quantity;
use tardy_record::{Run, Series};

use crate::error::ExportError;
use crate::imported::Unit;

/// The user's options for an export.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    /// The unit, for formats with a choice.
    pub unit: Unit,
    /// The latency limit, for formats that give a verdict.
    pub limit_ns: Option<u64>,
    /// Which traced wake-up, for formats of traces; the worst is 1.
    pub outlier: usize,
}

/// One file of an export: the suffix of its name and its content.
pub type Part = (&'static str, Vec<u8>);

/// What a format contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportContent {
    /// Counts, as text.
    Counts,
    /// The trace of one wake-up, as text.
    TraceText,
    /// The trace of one wake-up, as bytes.
    TraceBytes,
}

/// A format that can be written.
#[derive(Debug)]
pub struct ExportFormat {
    /// The name for `--to`.
    pub name: &'static str,
    /// A description for the user.
    pub about: &'static str,
    /// Whether an export consists of several files and therefore needs a file name.
    pub several_files: bool,
    /// Whether the format holds all series with their quantities. If not, it holds only the main series, as latencies.
    pub holds_all: bool,
    /// The kind of its content.
    pub content: ExportContent,
    pub(crate) write: fn(&Run, &ExportOptions) -> Result<Vec<Part>, ExportError>,
}

/// All formats that can be written.
pub const EXPORTS: &[ExportFormat] = &[
    ExportFormat {
        name: "cyclictest",
        about: "cyclictest's histogram as text",
        several_files: false,
        holds_all: false,
        content: ExportContent::Counts,
        write: |run, options| cyclictest_text::text(run, options).map(one),
    },
    ExportFormat {
        name: "cyclictest-json",
        about: "cyclictest's --json",
        several_files: false,
        holds_all: false,
        content: ExportContent::Counts,
        write: |run, options| cyclictest_json::text(run, options).map(one),
    },
    ExportFormat {
        name: "csv",
        about: "CSV with a line for each bin of each series",
        several_files: false,
        holds_all: true,
        content: ExportContent::Counts,
        write: |run, _| Ok(one(csv::text(run))),
    },
    ExportFormat {
        name: "json",
        about: "flat JSON: the series with their extremes and bins",
        several_files: false,
        holds_all: true,
        content: ExportContent::Counts,
        write: |run, _| Ok(one(json::text(run))),
    },
    ExportFormat {
        name: "hdr-log",
        about: "HdrHistogram's interval log, version 2",
        several_files: false,
        holds_all: false,
        content: ExportContent::Counts,
        write: |run, _| hdr_log::text(run).map(one),
    },
    ExportFormat {
        name: "openmetrics",
        about: "OpenMetrics text, for Prometheus and others",
        several_files: false,
        holds_all: true,
        content: ExportContent::Counts,
        write: |run, _| Ok(one(openmetrics::text(run))),
    },
    ExportFormat {
        name: "osadl",
        about: "data and gnuplot script of a latency plot, as the OSADL publishes them",
        several_files: true,
        holds_all: false,
        content: ExportContent::Counts,
        write: |run, _| columns::parts(run),
    },
    ExportFormat {
        name: "junit",
        about: "JUnit XML: a test case for each series, judged by the limit",
        several_files: false,
        holds_all: false,
        content: ExportContent::Counts,
        write: |run, options| Ok(one(junit::text(run, options))),
    },
    ExportFormat {
        name: "ftrace",
        about: "the kernel's trace of a late wake-up as ftrace text, for Perfetto",
        several_files: false,
        holds_all: true,
        content: ExportContent::TraceText,
        write: |run, options| Ok(one(ftrace::text::write(&excerpt(run, options)?))),
    },
    ExportFormat {
        name: "trace.dat",
        about: "the kernel's trace of a late wake-up, for trace-cmd and KernelShark",
        several_files: false,
        holds_all: true,
        content: ExportContent::TraceBytes,
        write: |run, options| Ok(vec![("", ftrace::trace_dat::write(&excerpt(run, options)?))]),
    },
];

fn one(text: String) -> Vec<Part> {
    vec![("", text.into_bytes())]
}

fn excerpt<'a>(run: &'a Run, options: &ExportOptions) -> Result<Excerpt<'a>, ExportError> {
    Excerpt::of(run, options.outlier).map_err(ExportError::NoExcerpt)
}

/// Converts `run` to `format`; the caller writes the files.
///
/// # Errors
/// If the format cannot hold the run.
pub fn export(run: &Run, format: &ExportFormat, options: &ExportOptions) -> Result<Vec<Part>, ExportError> {
    (format.write)(run, options)
}

/// The parts of `run` that `format` omits or changes, as sentences for the user.
pub fn what_is_lost(run: &Run, format: &ExportFormat) -> Vec<String> {
    let mut lost = Vec::new();
    if format.holds_all {
        return lost;
    }
    let beside: Vec<&str> =
        run.series.iter().filter(|one| one.stands_beside()).map(|one| one.label.as_str()).collect();
    if !beside.is_empty() {
        let (count, labels) = (beside.len(), beside.join(", "));
        let be = if count == 1 { "is" } else { "are" };
        lost.push(format!(
            "{count} secondary series {be} left out ({labels}); csv, json and openmetrics have them"
        ));
    }
    if shown(run).any(|one| one.quantity != Quantity::Latency) {
        lost.push(
            "the format does not name the quantity: tardy imports noise and widths as latencies".to_owned(),
        );
    }
    lost
}

/// Counts of a series by whole units, and the number of readings in its open bin.
///
/// A bin wider than a unit counts at its upper end, so that no reading becomes shorter, except for one reading at the exact
/// minimum and one at the exact maximum.
pub(crate) struct Rows {
    pub(crate) counts: std::collections::BTreeMap<u64, u64>,
    pub(crate) beyond: u64,
}

impl Rows {
    pub(crate) fn of(series: &Series, unit: Unit, format: &'static str) -> Result<Self, ExportError> {
        let mut rows = Self { counts: std::collections::BTreeMap::new(), beyond: 0 };
        let Some(max) = series.max_ns else { return Ok(rows) };
        let min = series.min_ns.unwrap_or(max.min(0));
        if min < 0 {
            return Err(ExportError::NoPlace {
                format,
                what: format!("early wake-ups ({} of {})", min, series.label),
                instead: "export to csv or json".to_owned(),
            });
        }
        let row = |ns: i64| ns.max(0) as u64 / unit.ns() as u64;
        let bins = series.measured.bins();
        for (index, bin) in bins.iter().enumerate() {
            if bin.is_open() {
                rows.beyond += bin.count;
                continue;
            }
            let mut count = bin.count;
            let mut put = |ns: i64, of: u64| {
                if of > 0 {
                    *rows.counts.entry(row(ns)).or_default() += of;
                }
            };
            if index + 1 == bins.len() && count > 0 {
                put(max, 1);
                count -= 1;
            }
            if index == 0 && count > 0 {
                put(min, 1);
                count -= 1;
            }
            put((bin.upper_ns - 1).clamp(min, max), count);
        }
        Ok(rows)
    }
}

/// The series for formats with plain columns: those of wake-ups and noise, without secondary series.
pub(crate) fn shown(run: &Run) -> impl Iterator<Item = &Series> {
    run.own_series()
}

/// Whether there are readings with only a count and extremes, for example from another tool's thread lines.
pub(crate) fn no_distribution(run: &Run) -> bool {
    let mut holding = shown(run).filter(|series| !series.measured.is_empty()).peekable();
    holding.peek().is_some() && holding.all(|series| series.measured.has_no_distribution())
}

/// The error of a format that needs a distribution.
fn without_distribution(format: &'static str, instead: &str) -> ExportError {
    ExportError::NoPlace {
        format,
        what: "a run without a distribution, whose readings have only counts and extremes".to_owned(),
        instead: format!("export to {instead}"),
    }
}

/// A unique name for a series.
pub(crate) fn name(run: &Run, series: &Series) -> String {
    let same = shown(run).filter(|other| other.label == series.label).count();
    match run.phases.get(series.phase) {
        Some(phase) if same > 1 => format!("{}, {}", series.label, phase.label),
        _ => series.label.clone(),
    }
}
