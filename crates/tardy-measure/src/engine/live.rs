//! The state of a phase in progress, for a listener that shows it.

use tardy_host::watch::LatestReading;
use tardy_load::LoadRate;
use tardy_record::plan::PhasePlan;
use tardy_record::series::{Outlier, Series};
use tardy_record::{Histogram, Knowable};

use super::progress::RunProgress;

/// The state of a phase, about once per second.
#[derive(Clone, Debug)]
pub struct LiveState<'a> {
    /// How far the run is.
    pub progress: RunProgress<'a>,
    /// The plan of the phase.
    pub plan: &'a PhasePlan,
    /// The highest latency that the run allows, in ns.
    pub limit_ns: Option<u64>,
    /// Time since the start of the run, in ns.
    pub now_ns: u64,
    /// The series of the phase, in the order of the plan.
    pub series: Vec<LiveSeries>,
    /// The rates of the loads since the previous reading.
    pub loads: Vec<LoadRate>,
    /// The newest temperatures and frequencies.
    pub environment: Vec<LatestReading>,
    /// The number of events that the user has marked.
    pub marks: u64,
    /// Whether the phase is valid so far.
    pub is_valid: bool,
    /// Whether the phase was asked to end.
    pub is_ending: bool,
    /// CPU time that a frame has cost on average, in ns; `None` before the first one.
    pub frame_cost_ns: Option<u64>,
}

/// The numbers of one series so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveSeries {
    /// The label of the series, such as `cpu 3`.
    pub label: String,
    /// Readings so far.
    pub recorded: u64,
    /// Deadlines missed so far; `None` if they are unknown.
    pub missed: Option<u64>,
    /// The last reading, in ns; `None` if the source does not keep it.
    pub last_ns: Option<i64>,
    /// The mean so far, in ns.
    pub mean_ns: Option<f64>,
    /// The highest reading so far, in ns.
    pub worst_ns: Option<i64>,
    /// All readings so far.
    pub histogram: Histogram,
    /// The newest of the worst readings.
    pub newest_outlier: Option<Outlier>,
}

impl LiveSeries {
    /// The state of a series of any source.
    pub(crate) fn of(series: Series) -> Self {
        let recorded = series.tally.recorded;
        let sum_ns = series.sum_ns.get().filter(|_| recorded > 0);
        Self {
            recorded,
            missed: match series.tally.missed {
                Knowable::Known(missed) => Some(missed),
                Knowable::Unknown => None,
            },
            last_ns: None,
            mean_ns: sum_ns.map(|sum_ns| sum_ns as f64 / recorded as f64),
            worst_ns: series.max_ns,
            newest_outlier: newest(series.worst),
            label: series.label,
            histogram: series.measured,
        }
    }
}

/// The newest of several outliers.
pub(crate) fn newest(outliers: Vec<Outlier>) -> Option<Outlier> {
    outliers.into_iter().max_by_key(|outlier| outlier.at_ns)
}
