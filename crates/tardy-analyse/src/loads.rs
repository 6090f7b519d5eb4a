//! The work of the loads, in one figure each.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::load::LoadPart;

/// The work of one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadFindings {
    /// As given on the command line.
    pub spec: String,
    /// Index of the first phase that it ran in.
    pub first_phase: usize,
    /// Index of the last one.
    pub last_phase: usize,
    /// Its parts.
    pub parts: Vec<PartFindings>,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
}

/// The work of one part of a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartFindings {
    /// Its name.
    pub name: String,
    /// The unit of work, such as `messages`; empty if the work cannot be counted.
    pub unit: String,
    /// The amount from its first reading to its last.
    pub done: u64,
    /// The same per second; `None` if its readings span no time.
    pub per_second: Option<f64>,
    /// The number of times that it ended unexpectedly.
    pub deaths: usize,
}

/// The work of the loads of `run`.
pub fn of(run: &Run) -> Vec<LoadFindings> {
    let load = |load: &tardy_record::load::LoadResult| LoadFindings {
        spec: load.spec.clone(),
        first_phase: load.first_phase,
        last_phase: load.last_phase,
        parts: load.parts.iter().map(part).collect(),
        remarks: load.remarks.clone(),
    };
    run.loads.iter().map(load).collect()
}

fn part(part: &LoadPart) -> PartFindings {
    let span = |values: &[u64]| match (values.first(), values.last()) {
        (Some(first), Some(last)) => last.saturating_sub(*first),
        _ => 0,
    };
    let (done, ns) = (span(&part.done), span(&part.at_ns));
    PartFindings {
        name: part.name.clone(),
        unit: part.unit.clone(),
        done,
        per_second: (ns > 0 && !part.unit.is_empty()).then(|| done as f64 / (ns as f64 / 1e9)),
        deaths: part.deaths.len(),
    }
}
