//! The tables of a run.

use serde_json::Value;
use tardy_analyse::row;
use tardy_record::event::Event;
use tardy_record::series::Outlier;
use tardy_record::slice::Slice;
use tardy_record::{Histogram, Run, Series};

use crate::table::{Column, NativeTable};

/// A series with its index.
type Numbered<'r> = (usize, &'r Series);

/// One row for each series: its name, tally, extremes, mean and quantiles.
pub(crate) fn series(run: &Run) -> NativeTable {
    let all: Vec<Numbered<'_>> = run.series.iter().enumerate().collect();
    let rows: Vec<row::Row> = run.series.iter().map(row::of_series).collect();
    let mut columns = head(run, &all);
    columns.extend([
        ("cpu", unsigned(rows.iter().map(|row| row.cpu.map(u64::from)))),
        ("quantity", text(run.series.iter().map(|series| name_of(&series.quantity)))),
        ("level", text(run.series.iter().map(|series| name_of(&series.level)))),
        ("attempted", unsigned(rows.iter().map(|row| row.attempted.get()))),
        ("recorded", unsigned(rows.iter().map(|row| Some(row.recorded)))),
        ("missed", unsigned(rows.iter().map(|row| row.missed.get()))),
        ("dropped", unsigned(rows.iter().map(|row| row.dropped.get()))),
        ("counted_ns", unsigned(run.series.iter().map(|series| Some(series.counted_ns)))),
        ("min_ns", signed(rows.iter().map(|row| row.min_ns))),
        ("mean_ns", number(rows.iter().map(|row| row.mean_ns))),
        ("deviation_ns", number(rows.iter().map(|row| row.deviation_ns))),
    ]);
    let quantile = |level: usize| {
        signed(rows.iter().map(move |row| row.quantiles[level].value.map(|value| value.quoted_ns())))
    };
    let names = ["p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns"];
    columns.extend(names.into_iter().enumerate().map(|(level, name)| (name, quantile(level))));
    columns.extend([
        ("max_ns", signed(rows.iter().map(|row| row.max_ns))),
        ("max_is_at_least", flag(rows.iter().map(|row| row.max_at_least))),
        ("max_at_ns", unsigned(rows.iter().map(|row| row.max_at_ns))),
    ]);
    NativeTable::new(columns)
}

/// One row for each quantile of each series, with its 95 % confidence interval.
pub(crate) fn quantiles(run: &Run) -> NativeTable {
    let rows = || {
        run.series.iter().enumerate().flat_map(|(index, series)| {
            row::of_series(series).quantiles.into_iter().map(move |quantile| ((index, series), quantile))
        })
    };
    let all: Vec<_> = rows().collect();
    let of: Vec<Numbered<'_>> = all.iter().map(|(series, _)| *series).collect();
    let values = || all.iter().map(|(_, quantile)| quantile.value);
    let mut columns = head(run, &of);
    columns.extend([
        ("quantile", text(all.iter().map(|(_, quantile)| Some(quantile.level.to_owned())))),
        ("value_ns", signed(values().map(|value| value.map(|value| value.quoted_ns())))),
        ("value_is_at_least", flag(values().map(|value| value.is_some_and(|value| value.at_least)))),
        ("confidence_lower_ns", signed(values().map(|value| value?.confidence_lower_ns))),
        ("confidence_upper_ns", signed(values().map(|value| value?.confidence_upper_ns))),
        ("needs_readings", unsigned(all.iter().map(|(_, quantile)| Some(quantile.least_count)))),
    ]);
    NativeTable::new(columns)
}

/// Which histogram of a series.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    /// The one that quantiles are computed from.
    Quoted,
    /// One value for each recorded wake-up.
    Measured,
    /// With the missed periods filled in.
    Filled,
}

/// One row for each occupied bin of each series.
pub(crate) fn histogram(run: &Run, which: Which) -> NativeTable {
    let of = |series: &'_ Series| -> Option<Histogram> {
        match which {
            Which::Quoted => Some(series.quoted().clone()),
            Which::Measured => Some(series.measured.clone()),
            Which::Filled => series.corrected.clone(),
        }
    };
    let parts: Vec<(Numbered<'_>, Histogram)> = run
        .series
        .iter()
        .enumerate()
        .filter_map(|(index, series)| Some(((index, series), of(series)?)))
        .collect();
    binned(run, &parts, Vec::new)
}

/// One row for each occupied bin of each stretch of time of each series.
pub(crate) fn slices(run: &Run) -> NativeTable {
    let parts: Vec<(Numbered<'_>, &Slice)> = run
        .series
        .iter()
        .enumerate()
        .flat_map(|(index, series)| series.slices.iter().map(move |slice| ((index, series), slice)))
        .collect();
    let repeated =
        |time: fn(&Slice) -> u64| {
            unsigned(parts.iter().flat_map(move |(_, slice)| {
                std::iter::repeat_n(Some(time(slice)), slice.histogram.bins().len())
            }))
        };
    let histograms: Vec<(Numbered<'_>, Histogram)> =
        parts.iter().map(|(series, slice)| (*series, slice.histogram.clone())).collect();
    binned(run, &histograms, || {
        vec![("start_ns", repeated(|slice| slice.start_ns)), ("end_ns", repeated(|slice| slice.end_ns))]
    })
}

/// The bins of several histograms, with `more` columns before those of the bins.
fn binned(
    run: &Run,
    parts: &[(Numbered<'_>, Histogram)],
    more: impl FnOnce() -> Vec<(&'static str, Column)>,
) -> NativeTable {
    let rows: Vec<_> = parts
        .iter()
        .flat_map(|(series, histogram)| histogram.bins().iter().map(move |bin| (*series, *bin)))
        .collect();
    let of: Vec<Numbered<'_>> = rows.iter().map(|(series, _)| *series).collect();
    let mut columns = head(run, &of);
    columns.extend(more());
    columns.extend([
        ("lower_ns", signed(rows.iter().map(|(_, bin)| Some(bin.lower_ns)))),
        ("upper_ns", signed(rows.iter().map(|(_, bin)| (!bin.is_open()).then_some(bin.upper_ns)))),
        ("count", unsigned(rows.iter().map(|(_, bin)| Some(bin.count)))),
    ]);
    NativeTable::new(columns)
}

/// One row for each of the worst samples of each series, worst first.
pub(crate) fn worst(run: &Run) -> NativeTable {
    let rows: Vec<(Numbered<'_>, &Outlier)> = run
        .series
        .iter()
        .enumerate()
        .flat_map(|(index, series)| series.worst.iter().map(move |outlier| ((index, series), outlier)))
        .collect();
    let of: Vec<Numbered<'_>> = rows.iter().map(|(series, _)| *series).collect();
    let around = |outlier: &Outlier| {
        let changes: Vec<String> = outlier
            .around
            .iter()
            .map(|change| {
                format!("{}: {} {} (usually {})", change.what, change.by, change.unit, change.usual)
            })
            .collect();
        (!changes.is_empty()).then(|| changes.join("; "))
    };
    let mut columns = head(run, &of);
    columns.extend([
        ("latency_ns", signed(rows.iter().map(|(_, outlier)| Some(outlier.latency_ns)))),
        ("at_ns", unsigned(rows.iter().map(|(_, outlier)| Some(outlier.at_ns)))),
        ("cycle", unsigned(rows.iter().map(|(_, outlier)| Some(outlier.cycle)))),
        ("around", text(rows.iter().map(|(_, outlier)| around(outlier)))),
        ("overlaps", text(rows.iter().map(|(_, outlier)| outlier.overlaps.clone()))),
    ]);
    NativeTable::new(columns)
}

/// One row for each block of time of each series, with its highest value.
pub(crate) fn maxima(run: &Run) -> NativeTable {
    let rows: Vec<(Numbered<'_>, u64, Option<i64>)> = run
        .series
        .iter()
        .enumerate()
        .flat_map(|(index, series)| {
            let blocks = &series.block_maxima;
            (0u64..).zip(&blocks.maxima_ns).map(move |(number, maximum)| {
                ((index, series), blocks.start_ns + number * blocks.block_ns, *maximum)
            })
        })
        .collect();
    let of: Vec<Numbered<'_>> = rows.iter().map(|(series, _, _)| *series).collect();
    let mut columns = head(run, &of);
    columns.extend([
        ("start_ns", unsigned(rows.iter().map(|(_, start, _)| Some(*start)))),
        ("block_ns", unsigned(of.iter().map(|(_, series)| Some(series.block_maxima.block_ns)))),
        ("max_ns", signed(rows.iter().map(|(_, _, maximum)| *maximum))),
    ]);
    NativeTable::new(columns)
}

/// One row for each reading of each quantity of the environment.
pub(crate) fn environment(run: &Run) -> NativeTable {
    let rows: Vec<_> = run
        .environment
        .series
        .iter()
        .flat_map(|series| {
            series.at_ns.iter().zip(&series.values).map(move |(at, value)| (series, *at, *value))
        })
        .collect();
    NativeTable::new(vec![
        ("name", text(rows.iter().map(|(series, ..)| Some(series.name.clone())))),
        ("of", text(rows.iter().map(|(series, ..)| Some(series.of.clone()).filter(|of| !of.is_empty())))),
        ("cpu", unsigned(rows.iter().map(|(series, ..)| series.cpu.map(u64::from)))),
        ("unit", text(rows.iter().map(|(series, ..)| Some(series.unit.clone())))),
        ("at_ns", unsigned(rows.iter().map(|(_, at, _)| Some(*at)))),
        ("value", number(rows.iter().map(|(_, _, value)| Some(*value)))),
    ])
}

/// One row for each event.
pub(crate) fn events(run: &Run) -> NativeTable {
    let all: &[Event] = &run.events;
    NativeTable::new(vec![
        ("at_ns", unsigned(all.iter().map(|event| Some(event.at_ns)))),
        ("kind", text(all.iter().map(|event| name_of(&event.kind)))),
        ("text", text(all.iter().map(|event| Some(event.text.clone())))),
        ("took_ns", unsigned(all.iter().map(|event| Some(event.took_ns)))),
        ("count", unsigned(all.iter().map(|event| Some(event.count)))),
    ])
}

/// One row for each fact about the machine, with its source.
pub(crate) fn facts(run: &Run) -> NativeTable {
    let rows = run.facts.rows();
    NativeTable::new(vec![
        ("section", text(rows.iter().map(|row| Some(row.section.to_owned())))),
        ("name", text(rows.iter().map(|row| Some(row.name.to_owned())))),
        ("value", text(rows.iter().map(|row| Some(row.value.clone())))),
        ("how", text(rows.iter().map(|row| Some(row.how.clone())))),
    ])
}

/// The columns that say which series a row belongs to.
fn head(run: &Run, of: &[Numbered<'_>]) -> Vec<(&'static str, Column)> {
    let label = |series: &Series| run.phases.get(series.phase).map(|phase| phase.label.clone());
    vec![
        ("series", unsigned(of.iter().map(|(index, _)| Some(*index as u64)))),
        ("label", text(of.iter().map(|(_, series)| Some(series.label.clone())))),
        ("phase", text(of.iter().map(|(_, series)| label(series)))),
    ]
}

/// The name of a value in the run file, such as `user_thread`.
fn name_of(value: &impl serde::Serialize) -> Option<String> {
    match serde_json::to_value(value).ok()? {
        Value::String(name) => Some(name),
        other => Some(other.to_string()),
    }
}

fn unsigned(values: impl Iterator<Item = Option<u64>>) -> Column {
    Column::Unsigned(values.collect())
}

fn signed(values: impl Iterator<Item = Option<i64>>) -> Column {
    Column::Signed(values.collect())
}

fn number(values: impl Iterator<Item = Option<f64>>) -> Column {
    Column::Number(values.collect())
}

fn flag(values: impl Iterator<Item = bool>) -> Column {
    Column::Flag(values.map(Some).collect())
}

fn text(values: impl Iterator<Item = Option<String>>) -> Column {
    Column::Text(values.collect())
}
