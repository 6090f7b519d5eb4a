//! The values of a page's plots for its script, as JSON.
//!
//! They are the values that the plots draw, before they are rounded to pixels, so that the script can draw a part of them.
//! Times and latencies are in ns. To keep pages small, lists of numbers are texts in base 36, separated by spaces.
//! docs/adr/0029-a-report-that-answers.md describes the format.

use serde::Serialize;
use tardy_record::units::format_duration_ns;
use tardy_record::{Histogram, Run, Series};

use crate::figures::{self, Marks};
use tardy_plot::cpu_map::CpuMap;
use tardy_plot::curve::{self, Curve};
use tardy_plot::worst_cpus;
use tardy_plot::{cpus, heat, timeline};

/// The most maxima of all lines of a timeline together. Of more, neighbours are merged.
const MAXIMA_MAX: usize = 20_000;
/// The most histograms of spans of a run of more than [`worst_cpus::SHOWN_MAX`] CPUs. Of more, neighbours are merged.
const SPANS_MAX_OF_MANY: usize = 32;

/// The values of the plots of one run, or of a comparison.
#[derive(Debug, Serialize)]
struct Data {
    /// The kind of readings that are counted.
    readings: &'static str,
    /// The limit, and its name.
    limit: Option<(u64, String)>,
    curves: Vec<CurveData>,
    /// Begin and end of each span of time for which the curves have a histogram.
    spans: Vec<(u64, u64)>,
    maxima: Option<MaximaData>,
    heat: Option<HeatData>,
    cpus: Option<CpusData>,
}

/// A curve of the histogram and of the tail.
#[derive(Debug, Serialize)]
struct CurveData {
    label: String,
    class: &'static str,
    max: Option<i64>,
    /// Whether `max` is a lower bound.
    at_least: bool,
    bins: String,
    /// The histogram of each span, with coarser bins.
    spans: Vec<String>,
    /// The highest value of each span.
    worst: String,
}

/// The lines of the timeline.
#[derive(Debug, Serialize)]
struct MaximaData {
    /// The unit of the maxima, in ns.
    unit: i64,
    lines: Vec<LineData>,
}

/// A line of the timeline.
#[derive(Debug, Serialize)]
struct LineData {
    label: String,
    class: &'static str,
    phases: Vec<BlocksData>,
}

/// Maxima of intervals of equal length; `-` for an interval without a reading.
#[derive(Debug, Serialize)]
struct BlocksData {
    from: f64,
    interval: f64,
    max: String,
}

/// The distribution over time.
#[derive(Debug, Serialize)]
struct HeatData {
    rows_per_octave: f64,
    lowest_row: i32,
    /// For each span its begin, its end, and the count of each row from the lowest.
    columns: Vec<(u64, u64, String)>,
}

/// The CPUs over time.
#[derive(Debug, Serialize)]
struct CpusData {
    /// The unit of the maxima, in ns.
    unit: i64,
    interval: f64,
    /// Each row's label, and its maximum in each interval.
    rows: Vec<(String, String)>,
}

/// The values of the plots of `run`.
pub(super) fn of_run(run: &Run, marks: Marks) -> String {
    let curves = curve::with_series(&[run]);
    let spans = spans(run, curves.len() > worst_cpus::SHOWN_MAX);
    let of_curve = |(curve, series): &(Curve, Vec<&Series>)| with_spans(curve, series, &spans);
    let data = Data {
        readings: marks.readings.name(),
        limit: limit(marks),
        curves: curves.iter().map(of_curve).collect(),
        maxima: Some(maxima(run)),
        heat: heat(run),
        cpus: worst_cpus::has_many(run).then(|| cpus(run)).flatten(),
        spans: spans.iter().map(|(_, from, to)| (*from, *to)).collect(),
    };
    text(&data)
}

/// The values of the plots of a comparison.
pub(super) fn of_comparison(curves: &[Curve], marks: Marks) -> String {
    let data = Data {
        readings: marks.readings.name(),
        limit: limit(marks),
        curves: curves.iter().map(of_curve).collect(),
        spans: Vec::new(),
        maxima: None,
        heat: None,
        cpus: None,
    };
    text(&data)
}

fn limit(marks: Marks) -> Option<(u64, String)> {
    marks.limit_ns.map(|ns| (ns, format_duration_ns(ns)))
}

/// JSON that is also safe inside an element of a page.
fn text(data: &Data) -> String {
    let json = serde_json::to_string(data).expect("it has no map and only finite numbers");
    json.replace('<', "\\u003c").replace('&', "\\u0026")
}

fn of_curve(curve: &Curve) -> CurveData {
    CurveData {
        label: curve.label.clone(),
        class: curve.class,
        max: curve.max_ns,
        at_least: curve.max_at_least,
        bins: bins(&curve.histogram),
        spans: Vec::new(),
        worst: String::new(),
    }
}

/// The spans of time with a histogram, as phase, begin and end: those of the distribution over time.
fn spans(run: &Run, many: bool) -> Vec<(usize, u64, u64)> {
    let mut spans = heat::stretches(run);
    while many && spans.len() > SPANS_MAX_OF_MANY.max(2 * run.phases.len()) {
        let mut merged: Vec<(usize, u64, u64)> = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            match merged.last_mut() {
                Some(last) if index % 2 == 1 && last.0 == span.0 => last.2 = span.2,
                _ => merged.push(*span),
            }
        }
        spans = merged;
    }
    spans
}

/// A curve with the histograms of `spans`; without them if its series have none, or none that fit each other.
fn with_spans(curve: &Curve, series: &[&Series], spans: &[(usize, u64, u64)]) -> CurveData {
    let mut histograms = vec![Histogram::default(); spans.len()];
    let slices = || series.iter().flat_map(|one| one.slices.iter().map(|slice| (one.phase, slice)));
    let merge = |(phase, slice): (usize, &tardy_record::slice::Slice)| -> Option<()> {
        histograms[heat::column_of(spans, phase, slice)?].merge(&slice.histogram).ok()
    };
    if slices().map(merge).collect::<Option<Vec<()>>>().is_none_or(|merged| merged.is_empty()) {
        return of_curve(curve);
    }
    let worst = spans.iter().zip(&histograms).map(|(span, histogram)| worst(series, *span, histogram));
    CurveData { worst: numbers(worst), spans: histograms.iter().map(bins).collect(), ..of_curve(curve) }
}

/// The highest value of a span with this histogram: of the maxima and worst samples known from that time, the highest in
/// its last bin; the upper end of that bin if there is none.
fn worst(series: &[&Series], (phase, from, to): (usize, u64, u64), histogram: &Histogram) -> Option<i64> {
    let last = histogram.bins().last()?;
    let of_phase = || series.iter().filter(|one| one.phase == phase);
    let samples = of_phase().flat_map(|one| &one.worst).filter(|one| (from..to).contains(&one.at_ns));
    let blocks = of_phase().flat_map(|one| {
        let blocks = &one.block_maxima;
        let begin = move |index: usize| blocks.start_ns.saturating_add(index as u64 * blocks.block_ns);
        let maxima = blocks.maxima_ns.iter().enumerate();
        maxima
            .filter(move |(index, _)| begin(*index) < to && begin(index + 1) > from)
            .filter_map(|(_, max)| *max)
    });
    let known = samples.map(|one| one.latency_ns).chain(blocks);
    let highest = known.filter(|ns| (last.lower_ns..last.upper_ns).contains(ns)).max();
    highest.or_else(|| (!last.is_open()).then_some(last.upper_ns - 1)).or(Some(last.lower_ns))
}

/// The lines of the timeline. Blocks of several CPUs in the same interval are merged.
fn maxima(run: &Run) -> MaximaData {
    let lines = timeline::lines(run);
    let all = lines.iter().flat_map(|line| line.phases.iter().flatten()).filter_map(|(_, max)| *max);
    let unit = unit(all);
    let longest = run.own_series().map(|series| series.block_maxima.block_ns).max().unwrap_or(0).max(1);
    let held: usize = run.own_series().map(|series| series.block_maxima.maxima_ns.len()).max().unwrap_or(0);
    let interval = longest as f64 * (held * lines.len()).div_ceil(MAXIMA_MAX).max(1) as f64;
    let phase = |blocks: &Vec<(f64, Option<i64>)>| {
        let from = blocks.first()?.0 - longest as f64 / 2.0;
        let mut maxima: Vec<Option<i64>> = Vec::new();
        for (middle, max) in blocks {
            let index = ((middle - from) / interval) as usize;
            // CPUs whose blocks begin at different times, in a file that tardy did not write.
            if index > MAXIMA_MAX {
                break;
            }
            maxima.resize(maxima.len().max(index + 1), None);
            maxima[index] = maxima[index].max(*max);
        }
        Some(BlocksData { from, interval, max: numbers(in_units(maxima, unit)) })
    };
    let line = |line: timeline::Maxima| LineData {
        label: line.label,
        class: line.class,
        phases: line.phases.iter().filter_map(phase).collect(),
    };
    MaximaData { unit, lines: lines.into_iter().map(line).collect() }
}

fn heat(run: &Run) -> Option<HeatData> {
    let stretches = heat::stretches(run);
    let cells = heat::cells(run, &stretches);
    let lowest_row = cells.keys().map(|(_, row)| *row).min()?;
    let column = |(index, (_, from, to)): (usize, &(usize, u64, u64))| {
        let of_column = cells.range((index, i32::MIN)..=(index, i32::MAX));
        let mut counts = Vec::new();
        for ((_, row), count) in of_column {
            counts.resize((row - lowest_row) as usize, 0);
            counts.push(*count);
        }
        (*from, *to, numbers(counts.into_iter().map(Some)))
    };
    let columns = stretches.iter().enumerate().map(column).collect();
    Some(HeatData { rows_per_octave: tardy_analyse::shape::ROWS_AN_OCTAVE, lowest_row, columns })
}

fn cpus(run: &Run) -> Option<CpusData> {
    let CpuMap { rows, interval_ns } = cpus::map(run, &figures::wide())?;
    let unit = unit(rows.iter().flat_map(|row| &row.maxima_ns).flatten().copied());
    let rows = rows.into_iter().map(|row| (row.label, numbers(in_units(row.maxima_ns, unit))));
    Some(CpusData { unit, interval: interval_ns, rows: rows.collect() })
}

/// The largest power of ten in which each of these values has three digits, as many as a page prints.
fn unit(all_ns: impl Iterator<Item = i64>) -> i64 {
    let digits = all_ns.min().filter(|least| *least > 0).map_or(1, |least| least.ilog10() + 1);
    10i64.pow(digits.saturating_sub(3))
}

fn in_units(all_ns: Vec<Option<i64>>, unit: i64) -> impl Iterator<Item = Option<i64>> {
    all_ns.into_iter().map(move |ns| ns.map(|ns| ns.saturating_add(unit / 2).div_euclid(unit)))
}

/// Numbers in base 36, separated by spaces; `-` if there is none.
fn numbers<N: Into<i128>>(numbers: impl IntoIterator<Item = Option<N>>) -> String {
    let texts = numbers.into_iter().map(|number| number.map_or_else(|| "-".to_owned(), base36));
    texts.collect::<Vec<_>>().join(" ")
}

/// The bins of a histogram, separated by spaces. A bin that begins where the one before it ends, and is as wide, is its
/// count. Any other bin is `gap,width,count`, where the gap is from the end of the bin before it, or from 0; the width of a
/// bin without an end is left out.
fn bins(histogram: &Histogram) -> String {
    let (mut end, mut width) = (0i128, 0i128);
    let mut texts = Vec::new();
    for bin in histogram.bins() {
        let (lower, upper) = (i128::from(bin.lower_ns), i128::from(bin.upper_ns));
        let count = base36(bin.count);
        texts.push(match (lower - end, upper - lower) {
            (0, of_bin) if of_bin == width => count,
            (gap, _) if bin.is_open() => format!("{},,{count}", base36(gap)),
            (gap, of_bin) => format!("{},{},{count}", base36(gap), base36(of_bin)),
        });
        (end, width) = (upper, upper - lower);
    }
    texts.join(" ")
}

fn base36(number: impl Into<i128>) -> String {
    let number = number.into();
    let mut digits = Vec::new();
    let mut rest = number.unsigned_abs();
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
        rest /= 36;
    }
    digits.extend((number < 0).then_some('-'));
    digits.iter().rev().collect()
}
