//! OpenMetrics text (openmetrics.io, version 1.0): a histogram for each series, in seconds.

use tardy_record::foreign::LOADS_UNKNOWN;
use tardy_record::{Run, Series};

/// The upper limits of buckets: 1, 2 and 5 of each decade from 1 us to 10 s. Prometheus stores a time series for each.
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
    family(
        &mut text,
        "tardy_latency_seconds",
        "histogram",
        "seconds",
        "Readings as measured; the lateness if quantity is latency.",
    );
    series().for_each(|one| text.push_str(&histogram(run, one)));
    for (statistic, help) in
        [("min", "The lowest value."), ("mean", "The mean, if known."), ("max", "The highest value.")]
    {
        let name = format!("tardy_latency_{statistic}_seconds");
        family(&mut text, &name, "gauge", "seconds", help);
        for one in series() {
            let ns = match statistic {
                "min" => one.min_ns,
                "max" => one.max_ns.filter(|_| !one.max_at_least),
                // Digits below a ns are meaningless.
                _ => one.mean_ns().map(|ns| ns.round() as i64),
            };
            if let Some(ns) = ns {
                text.push_str(&format!("{name}{{{}}} {}\n", labels(run, one), seconds(ns)));
            }
        }
    }
    family(&mut text, "tardy_readings", "counter", "", "Number of recorded values.");
    for one in series() {
        text.push_str(&format!("tardy_readings_total{{{}}} {}\n", labels(run, one), one.tally.recorded));
    }
    family(
        &mut text,
        "tardy_missed_periods",
        "counter",
        "",
        "Periods that passed during a late wake-up, if known.",
    );
    for one in series() {
        // Without a schedule, missed periods cannot be counted, and the run file has 0.
        let known = |missed: &u64| *missed > 0 || one.corrected.is_some();
        if let Some(missed) = one.tally.missed.get().filter(known) {
            text.push_str(&format!("tardy_missed_periods_total{{{}}} {missed}\n", labels(run, one)));
        }
    }
    family(&mut text, "tardy_run_valid", "gauge", "", "Whether the run is valid.");
    text.push_str(&format!("tardy_run_valid {}\n# EOF\n", u8::from(run.validity.valid)));
    text
}

/// The buckets whose counts are known. If the histogram ends below the maximum, those in between are left out. Empty if
/// only a count and extremes are known.
fn histogram(run: &Run, series: &Series) -> String {
    let mut text = String::new();
    if series.measured.has_no_distribution() {
        return text;
    }
    let labels = labels(run, series);
    let bins = series.measured.bins();
    let end_ns = match bins.last() {
        Some(bin) if bin.is_open() => Some(bin.lower_ns),
        // Above a maximum that is a lower bound, nothing is known.
        Some(bin) if series.max_at_least => Some(bin.upper_ns),
        _ => None,
    };
    let beyond_all = |limit: i64| !series.max_at_least && series.max_ns.is_some_and(|max| max <= limit);
    for limit in limits_ns() {
        if beyond_all(limit) {
            let total = series.measured.total();
            text.push_str(&bucket(&labels, &seconds(limit), total));
            continue;
        }
        if end_ns.is_some_and(|end| limit >= end) {
            continue;
        }
        // A bin that contains the limit counts as above it, so that no share is too low.
        let below = bins.iter().filter(|bin| !bin.is_open() && bin.upper_ns - 1 <= limit);
        let below = below.fold(0u64, |sum, bin| sum.saturating_add(bin.count));
        text.push_str(&bucket(&labels, &seconds(limit), below));
    }
    let total = series.measured.total();
    text.push_str(&bucket(&labels, "+Inf", total));
    // The format forbids a sum if there are negative values, and a count without a sum.
    if let Some(sum) = series.sum_ns.get().filter(|_| series.min_ns.is_none_or(|min| min >= 0)) {
        text.push_str(&format!("tardy_latency_seconds_sum{{{labels}}} {}\n", seconds(sum)));
        text.push_str(&format!("tardy_latency_seconds_count{{{labels}}} {total}\n"));
    }
    text
}

fn bucket(labels: &str, limit: &str, count: u64) -> String {
    format!("tardy_latency_seconds_bucket{{{labels},le=\"{limit}\"}} {count}\n")
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
        ("quantity", series.quantity.name()),
        ("level", series.level.name()),
        ("load", loads.as_str()),
    ];
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    pairs.map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).join(",")
}

/// Converts ns to seconds, exactly.
fn seconds(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}
