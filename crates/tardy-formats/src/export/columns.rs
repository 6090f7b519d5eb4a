//! The OSADL's latency plot: a data file of bare columns and the gnuplot script that draws it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tardy_record::{Run, Series};

use super::{Part, Rows, name, no_distribution, shown, without_distribution};
use crate::cyclictest::rows_to_plot;
use crate::error::ExportError;
use crate::imported::{Counts, Unit};

/// The beginning of a comment in which tardy's exports describe a series.
pub(crate) const SERIES_MARK: &str = "# tardy series: ";

/// The properties of a series that columns cannot hold. tardy's exports have them in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeriesComment {
    pub(crate) label: String,
    pub(crate) min_ns: Option<i64>,
    pub(crate) max_ns: Option<i64>,
    pub(crate) beyond: u64,
}

impl SeriesComment {
    pub(crate) fn of(run: &Run, series: &Series, beyond: u64) -> Self {
        let max_ns = series.max_ns.filter(|_| !series.max_at_least);
        Self { label: name(run, series), min_ns: series.min_ns, max_ns, beyond }
    }

    /// The comment with its line end.
    pub(crate) fn line(&self) -> String {
        let Self { label, min_ns, max_ns, beyond } = self;
        format!(
            "{SERIES_MARK}{}\n",
            json!({ "label": label, "min_ns": min_ns, "max_ns": max_ns, "beyond": beyond })
        )
    }

    /// Replaces the extremes in `counts`, which are whole multiples of `unit`, by the exact ones.
    ///
    /// # Errors
    /// The contradiction between them, as a sentence.
    pub(crate) fn refine(&self, counts: &mut Counts, unit: Unit) -> Result<(), String> {
        for (name, exact, value) in
            [("minimum", self.min_ns, &mut counts.min_ns), ("maximum", self.max_ns, &mut counts.max_ns)]
        {
            let (Some(exact_ns), Some(file_ns)) = (exact, *value) else { continue };
            if exact_ns.div_euclid(unit.ns()) != file_ns.div_euclid(unit.ns()) {
                return Err(format!(
                    "tardy's exact {name} of '{}' is {exact_ns} ns, but the file has {file_ns} ns",
                    self.label
                ));
            }
            *value = exact;
        }
        if self.min_ns.is_none() && self.max_ns.is_some() {
            counts.min_ns = None;
        }
        Ok(())
    }

    /// Reads the text after [`SERIES_MARK`]. `None` if it is malformed.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let extreme = |key: &str| match value.get(key)? {
            Value::Null => Some(None),
            number => number.as_i64().filter(|ns| *ns < i64::MAX / 4 && *ns > i64::MIN / 4).map(Some),
        };
        let label: String = value.get("label")?.as_str()?.chars().take(200).collect();
        Some(Self {
            label,
            min_ns: extreme("min_ns")?,
            max_ns: extreme("max_ns")?,
            beyond: value.get("beyond")?.as_u64()?,
        })
    }
}

/// The data as text: a row for each value, with a column of counts for each of `all`.
fn table(all: &[Rows]) -> String {
    let counts: Vec<&BTreeMap<u64, u64>> = all.iter().map(|rows| &rows.counts).collect();
    let values = rows_to_plot(&counts, all.iter().any(|rows| rows.beyond > 0));
    let mut text = String::new();
    for value in values {
        let counts = all.iter().map(|rows| rows.counts.get(&value).copied().unwrap_or(0).to_string());
        text.push_str(&format!("{value}\t{}\n", counts.collect::<Vec<_>>().join("\t")));
    }
    text
}

/// The data file and the gnuplot script of `run`.
pub(super) fn parts(run: &Run) -> Result<Vec<Part>, ExportError> {
    if no_distribution(run) {
        return Err(without_distribution("osadl", "cyclictest, csv, json or openmetrics"));
    }
    let mut data = "# latency in us, then a column of counts for each series\n".to_owned();
    let mut all = Vec::new();
    let mut titles = Vec::new();
    for series in shown(run) {
        let rows = Rows::of(series, Unit::Us, "osadl")?;
        let own = SeriesComment::of(run, series, rows.beyond);
        data.push_str(&own.line());
        let max = own.max_ns.map_or_else(String::new, |ns| format!(", max {} us", ns / 1000));
        titles.push(format!("{}{max}", own.label));
        all.push(rows);
    }
    data.push_str(&table(&all));
    let highest = shown(run).filter_map(|series| series.max_ns).max().unwrap_or(0) / 1000;
    let at_least = if shown(run).any(|series| series.max_at_least) { "at least " } else { "" };
    let reach = all.iter().filter_map(|rows| rows.counts.keys().next_back()).max().copied().unwrap_or(0);
    let plain = |text: &str| -> String {
        text.chars().filter(|c| !c.is_control() && !"\"\\`".contains(*c)).collect()
    };
    let curves: Vec<String> = titles
        .iter()
        .enumerate()
        .map(|(index, title)| {
            format!("datafile using 1:{} with histeps title \"{}\"", index + 2, plain(title))
        })
        .collect();
    let script = format!(
        "# gnuplot -e \"datafile='DATA'\" THIS > plot.png\n\
         set terminal pngcairo size 1000,600 noenhanced\n\
         set title \"Latency plot\"\n\
         set xlabel \"Latency (us), max {at_least}{highest} us\"\n\
         set ylabel \"Number of latency samples\"\n\
         set logscale y\n\
         set xrange [0:{}]\n\
         set yrange [0.8:*]\n\
         set datafile separator tab\n\
         plot {}\n",
        (reach + 1).max(10),
        if curves.is_empty() { "0 notitle".to_owned() } else { curves.join(", \\\n     ") }
    );
    Ok(vec![("", data.into_bytes()), (".gp", script.into_bytes())])
}
