//! The results of a run as flat JSON, for scripts that need extremes and bins only.

use serde_json::{Value, json};
use tardy_record::{Bin, Histogram, Run, Series};

/// The text of `run`.
pub(super) fn text(run: &Run) -> String {
    let series: Vec<Value> = run.series.iter().map(|series| of_series(run, series)).collect();
    let document = json!({
        "run": run.origin.id,
        "host": run.origin.host,
        "started_at": run.origin.started_at,
        "valid": run.validity.valid,
        "spoilt_by": run.validity.spoilt_by,
        "limits": run.validity.limits,
        "kernel": { "release": run.facts.kernel.release.value, "real_time": run.facts.kernel.real_time.value },
        "series": series,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn of_series(run: &Run, series: &Series) -> Value {
    let mut value = json!({
        "phase": run.phases.get(series.phase).map(|phase| &phase.label),
        "label": series.label,
        "level": series.level,
        "quantity": series.quantity,
        "recorded": series.tally.recorded,
        "missed": series.tally.missed,
        "dropped": series.tally.dropped,
        "min_ns": series.min_ns,
        "mean_ns": series.mean_ns(),
        "max_ns": series.max_ns,
        "measured": bins(&series.measured),
        "corrected": series.corrected.as_ref().map(bins),
    });
    if series.max_at_least {
        value["max_at_least"] = true.into();
    }
    value
}

/// Lower edge, upper edge and count of each bin. The upper edge of an open bin is null.
fn bins(histogram: &Histogram) -> Vec<(i64, Option<i64>, u64)> {
    let upper_ns = |bin: &Bin| (!bin.is_open()).then_some(bin.upper_ns);
    histogram.bins().iter().map(|bin| (bin.lower_ns, upper_ns(bin), bin.count)).collect()
}
