//! The data of plots as CSV: the values that are drawn, before they are rounded to pixels. Times and latencies are in ns.

use std::fmt::{Display, Write as _};

use tardy_record::Run;

use crate::curve::Curve;
use crate::{
    Options, cpus, environment, exceedance as exceedance_plot, heat, latency, timeline as timeline_plot,
};

/// The histogram: a line for each column that is not empty.
pub fn histogram(curves: &[Curve], options: &Options) -> String {
    let mut csv = Csv::new(&["curve", "from_ns", "to_ns", "count"]);
    for (curve, columns) in curves.iter().zip(latency::data(curves, options)) {
        for (from, to, count) in columns {
            csv.line(&curve.label, &[&from, &to, &count]);
        }
    }
    csv.text
}

/// The exceedance: the share of readings at or above each latency.
pub fn exceedance(curves: &[Curve]) -> String {
    let mut csv = Csv::new(&["curve", "latency_ns", "count_at_or_above", "share_at_or_above"]);
    for curve in curves {
        let total = curve.histogram.total() as f64;
        for (ns, left) in exceedance_plot::data(curve) {
            csv.line(&curve.label, &[&ns, &left, &(left as f64 / total)]);
        }
    }
    csv.text
}

/// Histogram and exceedance of several runs; the column `plot` distinguishes them.
pub fn compare(curves: &[Curve], options: &Options) -> String {
    let mut csv = Csv::new(&["plot", "curve", "from_ns", "to_ns", "count", "share_at_or_above"]);
    for (curve, columns) in curves.iter().zip(latency::data(curves, options)) {
        for (from, to, count) in columns {
            csv.line("histogram", &[&Csv::text(&curve.label), &from, &to, &count, &""]);
        }
    }
    for curve in curves {
        let total = curve.histogram.total() as f64;
        for (ns, left) in exceedance_plot::data(curve) {
            csv.line("exceedance", &[&Csv::text(&curve.label), &ns, &"", &left, &(left as f64 / total)]);
        }
    }
    csv.text
}

/// The timeline: maxima, then the readings of the panels below.
pub fn timeline(run: &Run) -> String {
    let mut csv = Csv::new(&["panel", "curve", "at_ns", "value"]);
    for (label, blocks) in timeline_plot::data(run) {
        for (at, max_ns) in blocks {
            csv.line("maximum, ns", &[&Csv::text(&label), &at, &max_ns]);
        }
    }
    for panel in environment::panels(run) {
        for line in &panel.lines {
            for (at, value) in &line.points {
                csv.line(&panel.name, &[&Csv::text(&line.label), at, value]);
            }
        }
    }
    csv.text
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
                csv.line(&row.label, &[&edge(column), &edge(column + 1), max_ns]);
            }
        }
    }
    csv.text
}

/// The distribution over time: a line for each cell that is not empty.
pub fn distribution(run: &Run) -> String {
    let mut csv = Csv::new(&["from_ns", "to_ns", "latency_from_ns", "latency_to_ns", "count"]);
    for cell in heat::data(run) {
        csv.line(&cell.from_ns.to_string(), &[&cell.to_ns, &cell.low_ns, &cell.high_ns, &cell.count]);
    }
    csv.text
}

/// Lines of CSV.
struct Csv {
    text: String,
}

impl Csv {
    fn new(heads: &[&str]) -> Self {
        Self { text: heads.join(",") + "\n" }
    }

    fn line(&mut self, label: &str, values: &[&dyn Display]) {
        self.text.push_str(&Self::text(label));
        for value in values {
            let _ = write!(self.text, ",{value}");
        }
        self.text.push('\n');
    }

    /// A text, in quotes if it has a separator in it.
    fn text(text: &str) -> String {
        match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        }
    }
}
