//! The data of plots as CSV: the values that are drawn, before they are rounded to pixels. Times and latencies are in ns.

use tardy_analyse::tail::Tail;
use tardy_record::Run;
use tardy_record::csv::{Csv, cell};

use crate::curve::Curve;
use crate::{
    Options, cpus, environment, exceedance as exceedance_plot, heat, latency, quantiles as quantiles_plot,
    timeline as timeline_plot,
};

/// The histogram: a line for each column that is not empty.
pub fn histogram(curves: &[Curve], options: &Options) -> String {
    let mut csv = Csv::new(&["curve", "from_ns", "to_ns", "count"]);
    for (curve, columns) in curves.iter().zip(latency::data(curves, options)) {
        for (from, to, count) in columns {
            csv.line(&[&cell(&curve.name), &from, &to, &count]);
        }
    }
    csv.into_text()
}

/// The exceedance: the share of readings at or above each latency.
pub fn exceedance(curves: &[Curve]) -> String {
    let mut csv = Csv::new(&["curve", "latency_ns", "count_at_or_above", "share_at_or_above"]);
    for curve in curves {
        let total = curve.histogram.total() as f64;
        for (ns, left) in exceedance_plot::data(curve) {
            csv.line(&[&cell(&curve.name), &ns, &left, &(left as f64 / total)]);
        }
    }
    csv.into_text()
}

/// Histogram and exceedance of several runs; the column `plot` distinguishes them.
pub fn compare(curves: &[Curve], options: &Options) -> String {
    let mut csv = Csv::new(&["plot", "curve", "from_ns", "to_ns", "count", "share_at_or_above"]);
    for (curve, columns) in curves.iter().zip(latency::data(curves, options)) {
        for (from, to, count) in columns {
            csv.line(&[&"histogram", &cell(&curve.name), &from, &to, &count, &""]);
        }
    }
    for curve in curves {
        let total = curve.histogram.total() as f64;
        for (ns, left) in exceedance_plot::data(curve) {
            csv.line(&[&"exceedance", &cell(&curve.name), &ns, &"", &left, &(left as f64 / total)]);
        }
    }
    csv.into_text()
}

/// The timeline: maxima, then the readings of the panels below.
pub fn timeline(run: &Run) -> String {
    let mut csv = Csv::new(&["panel", "curve", "at_ns", "value"]);
    for (label, blocks) in timeline_plot::data(run) {
        for (at, max_ns) in blocks {
            csv.line(&[&cell("maximum, ns"), &cell(&label), &at, &max_ns]);
        }
    }
    for panel in environment::panels(run) {
        for line in &panel.lines {
            for (at, value) in &line.points {
                csv.line(&[&cell(&panel.name), &cell(&line.label), at, value]);
            }
        }
    }
    csv.into_text()
}

/// The heat map: a line for each cell with a reading.
pub fn heatmap(run: &Run, options: &Options) -> String {
    let mut csv = Csv::new(&["cpu", "from_ns", "to_ns", "max_ns"]);
    let map = cpus::map(run, options);
    for row in map.iter().flat_map(|map| &map.rows) {
        let interval_ns = map.as_ref().map_or(0.0, |map| map.interval_ns);
        for (column, max_ns) in row.maxima_ns.iter().enumerate() {
            let edge = |column: usize| (column as f64 * interval_ns).round();
            if let Some(max_ns) = max_ns {
                csv.line(&[&cell(&row.label), &edge(column), &edge(column + 1), max_ns]);
            }
        }
    }
    csv.into_text()
}

/// The distribution over time: a line for each cell that is not empty.
pub fn distribution(run: &Run) -> String {
    let mut csv = Csv::new(&["from_ns", "to_ns", "latency_from_ns", "latency_to_ns", "count"]);
    for bin in heat::data(run) {
        csv.line(&[&bin.from_ns, &bin.to_ns, &bin.low_ns, &bin.high_ns, &bin.count]);
    }
    csv.into_text()
}

/// The quantiles: the bin of each, and its confidence interval; an end that is not determined is empty.
pub fn quantiles(runs: &[&Run]) -> String {
    let heads = ["curve", "quantile", "from_ns", "to_ns", "confidence_lower_ns", "confidence_upper_ns"];
    let mut csv = Csv::new(&heads);
    for (curve, points) in quantiles_plot::data(runs) {
        for point in points {
            let value = point.value;
            // The upper edge of a bin without an end is not a latency.
            let to_ns = (!value.at_least).then_some(value.upper_ns);
            let (lower, upper) = (value.confidence_lower_ns, value.confidence_upper_ns);
            csv.line(&[
                &cell(&curve.name),
                &point.level,
                &value.lower_ns,
                &known(to_ns),
                &known(lower),
                &known(upper),
            ]);
        }
    }
    csv.into_text()
}

/// The levels of each phase: observed values, and the fitted curve with its band.
pub fn return_levels(tails: &[&Tail]) -> String {
    let mut csv = Csv::new(&["phase", "plot", "once_per_ns", "level_ns", "lower_ns", "upper_ns"]);
    for tail in tails {
        let label = cell(&tail.label);
        let Some(diagnostics) = tail.deciding().and_then(|one| one.diagnostics.as_ref()) else { continue };
        for one in &diagnostics.observed {
            let (once_per_ns, level_ns) = (one.once_per_ns.round(), one.level_ns.round());
            csv.line(&[&label, &"observed", &once_per_ns, &level_ns, &"", &""]);
        }
        for one in &diagnostics.curve {
            let (lower, upper) = (known(one.lower_ns), known(one.upper_ns));
            csv.line(&[&label, &"fitted", &one.once_per_ns, &one.level_ns, &lower, &upper]);
        }
    }
    csv.into_text()
}

/// A number, or nothing if it is not determined.
fn known(ns: Option<i64>) -> String {
    ns.map_or_else(String::new, |ns| ns.to_string())
}
