//! CSV with a line for each bin, for spreadsheets and data frames.

use tardy_record::csv::{Csv, cell};
use tardy_record::{Histogram, Run};

/// The text of `run`.
pub(super) fn text(run: &Run) -> String {
    let mut csv = Csv::new(&["phase", "series", "level", "histogram", "lower_ns", "upper_ns", "count"]);
    for series in &run.series {
        let phase = cell(run.phases.get(series.phase).map_or("", |phase| phase.label.as_str()));
        let (label, level) = (cell(&series.label), cell(series.level.name()));
        let histograms = [("measured", Some(&series.measured)), ("corrected", series.corrected.as_ref())];
        let known = |(name, histogram): (&'static str, Option<&'_ Histogram>)| {
            histogram.cloned().map(|one| (name, one))
        };
        for (kind, histogram) in histograms.into_iter().filter_map(known) {
            for bin in histogram.bins() {
                // The last bin has no upper end if the tool's histogram had none.
                let upper = if bin.is_open() { String::new() } else { bin.upper_ns.to_string() };
                csv.line(&[&phase, &label, &level, &kind, &bin.lower_ns, &upper, &bin.count]);
            }
        }
    }
    csv.into_text()
}
