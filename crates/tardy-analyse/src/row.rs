//! A row of a table: the numbers of one series, or of several together.

use serde::Serialize;
use tardy_record::histogram::HistogramError;
use tardy_record::{Knowable, Series};

use crate::dependence;
use crate::name;
use crate::pool::{self, Quoted};
use crate::quantile::{self, LEVELS, Quantile};

/// A row of a table. All values in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its label, such as `cpu 1`, `thread 1, unpinned` or `all`.
    pub label: String,
    /// The CPU; `None` for an unpinned thread, a flow, a channel, or if it is unknown.
    pub cpu: Option<u32>,
    /// Which histogram the mean and the quantiles are quoted from.
    pub quoted: Quoted,
    /// How many values that histogram holds.
    pub quoted_count: u64,
    /// Readings that were due.
    pub attempted: Knowable<u64>,
    /// Readings that were recorded.
    pub recorded: u64,
    /// Deadlines that were missed, since they passed during late wake-ups.
    pub missed: Knowable<u64>,
    /// Readings that were taken but not kept.
    pub dropped: Knowable<u64>,
    /// Lowest value recorded.
    pub min_ns: Option<i64>,
    /// Mean of the quoted values.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the recorded values.
    pub deviation_ns: Option<f64>,
    /// The quantiles of [`LEVELS`], in that order.
    pub quantiles: Vec<Quantile>,
    /// Highest value recorded.
    pub max_ns: Option<i64>,
    /// Whether that is a lower bound, since another tool's file does not establish its maximum.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub max_at_least: bool,
    /// When it was recorded, in ns from the start of the run.
    pub max_at_ns: Option<u64>,
}

impl Row {
    /// Missed deadlines as a table shows them; `None` if they are unknown, or if there is no schedule: a count of 0
    /// would then be misleading.
    pub fn missed_shown(&self) -> Option<u64> {
        self.missed.get().filter(|missed| *missed > 0 || self.quoted == Quoted::Corrected)
    }
}

/// The row of one series.
pub fn of_series(series: &Series) -> Row {
    let pooled = of_several(&name::of(series), &[series]).expect("one histogram always fits itself");
    let roams = series.timer().is_some_and(|timer| !timer.pinned);
    let unknown = series.foreign().is_some_and(|foreign| !foreign.cpu.is_known());
    let of_none = series.flow().is_some() || series.capture().is_some() || series.program().is_some();
    Row { cpu: (!roams && !unknown && !of_none).then(|| series.cpu()), ..pooled }
}

/// The row of several series together.
///
/// # Errors
/// If their bins do not fit each other.
pub fn of_several(label: &str, series: &[&Series]) -> Result<Row, HistogramError> {
    crate::stop::check();
    let pool = pool::of(series)?;
    let inflation = |value_ns| dependence::inflation(dependence::of_several(series, value_ns));
    Ok(Row {
        label: label.to_owned(),
        cpu: None,
        quoted: pool.quoted,
        quoted_count: pool.histogram.total(),
        attempted: pool.attempted,
        recorded: pool.recorded,
        missed: pool.missed,
        dropped: pool.dropped,
        min_ns: pool.min_ns,
        mean_ns: pool.mean_ns,
        deviation_ns: pool.deviation_ns,
        quantiles: LEVELS
            .iter()
            .map(|level| quantile::of(&pool.histogram, *level, pool.max_ns, inflation))
            .map(|quantile| if pool.lacks_its_highest { quantile.as_lower_bound() } else { quantile })
            .collect(),
        max_ns: pool.max_ns,
        max_at_least: pool.max_at_least,
        max_at_ns: pool.max_at_ns,
    })
}
