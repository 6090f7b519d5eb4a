//! cyclictest's histogram, as its parsers expect it: rows, totals, extremes, overflows.

use tardy_record::{Run, Series};

use super::columns::{Own, table};
use super::{ExportOptions, Rows, shown};
use crate::error::ExportError;

/// The text of `run`.
pub(super) fn text(run: &Run, options: &ExportOptions) -> Result<String, ExportError> {
    let unit = options.unit;
    let series: Vec<&Series> = shown(run).collect();
    let all = series.iter().map(|one| Rows::of(one, unit, "cyclictest")).collect::<Result<Vec<Rows>, _>>()?;
    let mut text = String::new();
    for (series, rows) in series.iter().zip(&all) {
        text.push_str(&Own::of(run, series, rows).line());
    }
    text.push_str("# Histogram\n");
    text.push_str(&table(&all, 6));
    let list = |width: usize, value: &dyn Fn(usize) -> u64| -> String {
        (0..series.len()).map(|index| format!(" {:0width$}", value(index))).collect()
    };
    let units = |ns: Option<i64>| ns.unwrap_or(0).max(0) as u64 / unit.ns() as u64;
    text.push_str(&format!("# Total:{}\n", list(9, &|index| all[index].counts.values().sum())));
    text.push_str(&format!("# Min Latencies:{}\n", list(5, &|index| units(series[index].min_ns))));
    let mean = |index: usize| series[index].mean_ns().unwrap_or(0.0).max(0.0) as u64 / unit.ns() as u64;
    text.push_str(&format!("# Avg Latencies:{}\n", list(5, &mean)));
    text.push_str(&format!("# Max Latencies:{}\n", list(5, &|index| units(series[index].max_ns))));
    text.push_str(&format!("# Histogram Overflows:{}\n", list(5, &|index| all[index].beyond)));
    text.push_str("# Histogram Overflow at cycle number:\n");
    for index in 0..series.len() {
        text.push_str(&format!("# Thread {index}:\n"));
    }
    Ok(text)
}
