//! CSV with a line for each bin, for spreadsheets and data frames.

use tardy_record::{Histogram, Run};

/// The text of `run`.
pub(super) fn text(run: &Run) -> String {
    let mut text = "phase,series,level,histogram,lower_ns,upper_ns,count\n".to_owned();
    for series in &run.series {
        let phase = run.phases.get(series.phase).map_or("", |phase| phase.label.as_str());
        let histograms = [("measured", Some(&series.measured)), ("corrected", series.corrected.as_ref())];
        let known = |(name, histogram): (&'static str, Option<&'_ Histogram>)| {
            histogram.cloned().map(|one| (name, one))
        };
        for (kind, histogram) in histograms.into_iter().filter_map(known) {
            for bin in histogram.bins() {
                // The last bin has no upper end if the tool's histogram had none.
                let upper = if bin.is_open() { String::new() } else { bin.upper_ns.to_string() };
                text.push_str(&format!(
                    "{},{},{},{kind},{},{upper},{}\n",
                    quoted(phase),
                    quoted(&series.label),
                    quoted(series.level.name()),
                    bin.lower_ns,
                    bin.count
                ));
            }
        }
    }
    text
}

/// A cell as in RFC 4180. An apostrophe precedes a cell that a spreadsheet would execute as a formula.
fn quoted(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
