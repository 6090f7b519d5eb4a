//! OpenMetrics text (openmetrics.io, version 1.0): a histogram for each series, in seconds.

use tardy_record::foreign::LOADS_UNKNOWN;
use tardy_record::{Run, Series};

/// Buckets at 1, 2 and 5 of each decade from 1 us to 10 s: enough for a quantile, and few enough for a time series each.
fn limits_ns() -> impl Iterator<Item = i64> {
    (3..10).flat_map(|decade| [1, 2, 5].map(|step| step * 10i64.pow(decade))).chain([10_000_000_000])
}

/// The text of `run`.
pub(super) fn text(run: &Run) -> String {
    let mut text = String::new();
    let family = |text: &mut String, name: &str, kind: &str, unit: &str, help: &str| {
        text.push_str(&format!("# TYPE {name} {kind}\n"));
        if !unit.is_empty() {
            text.push_str(&format!("# UNIT {name} {unit}\n"));
        }
        text.push_str(&format!("# HELP {name} {help}\n"));
    };
    let series = || run.series.iter();
    family(&mut text, "tardy_latency_seconds", "histogram", "seconds", "Lateness, as measured.");
    series().for_each(|one| text.push_str(&histogram(run, one)));
    family(&mut text, "tardy_latency_max_seconds", "gauge", "seconds", "The highest value.");
    for one in series() {
        if let Some(max) = one.max_ns {
            text.push_str(&format!("tardy_latency_max_seconds{{{}}} {}\n", labels(run, one), seconds(max)));
        }
    }
    family(
        &mut text,
        "tardy_missed_periods",
        "counter",
        "",
        "Periods that passed during a late wake-up, where known.",
    );
    for one in series() {
        if let Some(missed) = one.tally.missed.get() {
            text.push_str(&format!("tardy_missed_periods_total{{{}}} {missed}\n", labels(run, one)));
        }
    }
    family(&mut text, "tardy_run_valid", "gauge", "", "Whether the run's numbers may be used.");
    text.push_str(&format!("tardy_run_valid {}\n# EOF\n", u8::from(run.validity.valid)));
    text
}

fn histogram(run: &Run, series: &Series) -> String {
    let labels = labels(run, series);
    let bins = series.measured.bins();
    let mut text = String::new();
    for limit in limits_ns() {
        // A bin across the limit counts as above it, so that no share is flattered.
        let below = bins.iter().filter(|bin| bin.upper_ns != i64::MAX && bin.upper_ns - 1 <= limit);
        let below = below.fold(0u64, |sum, bin| sum.saturating_add(bin.count));
        text.push_str(&format!(
            "tardy_latency_seconds_bucket{{{labels},le=\"{}\"}} {below}\n",
            seconds(limit)
        ));
    }
    let total = series.tally.recorded;
    text.push_str(&format!("tardy_latency_seconds_bucket{{{labels},le=\"+Inf\"}} {total}\n"));
    // With values below zero a sum must not be given, and with a sum goes the count.
    if let Some(sum) = series.sum_ns.get().filter(|_| series.min_ns.is_none_or(|min| min >= 0)) {
        text.push_str(&format!("tardy_latency_seconds_sum{{{labels}}} {}\n", seconds(sum)));
        text.push_str(&format!("tardy_latency_seconds_count{{{labels}}} {total}\n"));
    }
    text
}

fn labels(run: &Run, series: &Series) -> String {
    let plan = run.plan.phases.get(series.phase);
    let phase = plan.map_or("", |plan| plan.label.as_str());
    let loads = plan.map_or_else(|| LOADS_UNKNOWN.to_owned(), |plan| plan.loads.join(" + "));
    let pairs = [
        ("run", run.origin.id.as_str()),
        ("host", run.origin.host.as_str()),
        ("phase", phase),
        ("series", series.label.as_str()),
        ("level", series.level.name()),
        ("load", loads.as_str()),
    ];
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    pairs.map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).join(",")
}

/// ns in seconds, exactly.
fn seconds(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}
