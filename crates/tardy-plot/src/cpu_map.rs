//! The highest latency of each CPU in each interval of time, for a heat map on a page and in the terminal.

use tardy_analyse::name::{self, Readings};
use tardy_record::{Run, Series};

use crate::numbers::{harmless, short, with_unit};
use crate::scale::time_label;
use crate::timeline::span_ns;

/// Lower latencies are treated as this value, in ns, since the depth of colour is logarithmic.
const FLOOR_NS: f64 = 100.0;
/// The largest number of rows in the terminal.
const TEXT_ROWS: usize = 16;
/// The largest number of columns in the terminal.
const TEXT_COLUMNS: usize = 64;
/// Longer labels are shortened.
const LABEL_MAX: usize = 18;
/// The depths of colour in the terminal, the lowest latencies first.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// The highest latency of each CPU in each interval of time.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuMap {
    /// The rows, in the order of the run's series.
    pub rows: Vec<MapRow>,
    /// The length of an interval, in ns. The first begins with the run.
    pub interval_ns: f64,
}

/// A row: one CPU, or several neighbours if there are more CPUs than rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRow {
    /// Its label, such as `cpu 1` or `cpu 8–15`.
    pub label: String,
    /// The highest latency of each interval, in ns; `None` if nothing was recorded in it.
    pub maxima_ns: Vec<Option<i64>>,
}

impl MapRow {
    /// The highest latency of the row, in ns.
    pub fn highest_ns(&self) -> Option<i64> {
        self.maxima_ns.iter().copied().flatten().max()
    }
}

impl CpuMap {
    /// The map of `run`, with at most these numbers of columns and rows; `None` if no maxima over time were kept.
    pub fn of(run: &Run, columns_max: usize, rows_max: usize) -> Option<Self> {
        let main = Readings::of_runs(&[run]);
        let is_drawn = |series: &&Series| {
            !series.block_maxima.maxima_ns.is_empty() && Readings::of(series).shares_axis_with(main)
        };
        let series: Vec<&Series> = run.own_series().filter(is_drawn).collect();
        let longest_ns = series.iter().map(|one| one.block_maxima.block_ns).max()?.max(1) as f64;
        let span_ns = span_ns(run);
        // An interval is at least as long as a block, so each has a block of every CPU.
        let columns = ((span_ns / longest_ns) as usize).clamp(1, columns_max.max(1));
        let interval_ns = span_ns / columns as f64;
        let mut cpus: Vec<MapRow> = Vec::new();
        for one in series {
            let label = name::of(one);
            let at = cpus.iter().position(|row| row.label == label).unwrap_or_else(|| {
                cpus.push(MapRow { label, maxima_ns: vec![None; columns] });
                cpus.len() - 1
            });
            let blocks = &one.block_maxima;
            for (index, max_ns) in blocks.maxima_ns.iter().enumerate() {
                let middle = blocks.start_ns as f64 + (index as f64 + 0.5) * blocks.block_ns as f64;
                let cell = &mut cpus[at].maxima_ns[((middle / interval_ns) as usize).min(columns - 1)];
                *cell = (*cell).max(*max_ns);
            }
        }
        let each = cpus.len().div_ceil(rows_max.max(1));
        Some(Self { rows: cpus.chunks(each).map(together).collect(), interval_ns })
    }

    /// The lowest and the highest latency of the map, in ns.
    pub fn range_ns(&self) -> Option<(i64, i64)> {
        let all = || self.rows.iter().flat_map(|row| &row.maxima_ns).flatten();
        Some((*all().min()?, *all().max()?))
    }

    /// The depth of colour of `max_ns`, from 0 for the lowest latencies of the map to below `depths`, on a logarithmic
    /// scale. `range_ns` is that of the map.
    pub fn depth(range_ns: (i64, i64), max_ns: i64, depths: usize) -> usize {
        let log = |ns: i64| libm::log((ns as f64).max(FLOOR_NS));
        let (low, high) = (log(range_ns.0), log(range_ns.1));
        let share = (log(max_ns) - low) / (high - low).max(f64::MIN_POSITIVE);
        ((share * depths as f64) as usize).min(depths - 1)
    }
}

/// The row of neighbouring CPUs.
fn together(rows: &[MapRow]) -> MapRow {
    let (first, last) = (&rows[0].label, &rows[rows.len() - 1].label);
    let label = match last.strip_prefix("cpu ").filter(|_| first.starts_with("cpu ")) {
        _ if rows.len() == 1 => first.clone(),
        Some(number) => format!("{first}–{number}"),
        None => format!("{first} and {} more", rows.len() - 1),
    };
    let columns = 0..rows[0].maxima_ns.len();
    let highest = |column: usize| rows.iter().filter_map(|row| row.maxima_ns[column]).max();
    MapRow { label: short(&harmless(&label), LABEL_MAX), maxima_ns: columns.map(highest).collect() }
}

/// The map of `run` in characters, at most `width` columns wide: its rows, the time axis, and the key. Empty if no maxima
/// over time were kept.
pub fn lines(run: &Run, width: usize) -> Vec<String> {
    let columns = width.saturating_sub(LABEL_MAX + 2).min(TEXT_COLUMNS);
    let Some(map) = CpuMap::of(run, columns, TEXT_ROWS) else { return Vec::new() };
    let Some(range_ns) = map.range_ns() else { return Vec::new() };
    let label_width = map.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let shade = |max_ns: &Option<i64>| {
        max_ns.map_or(' ', |max_ns| SHADES[CpuMap::depth(range_ns, max_ns, SHADES.len())])
    };
    let line = |row: &MapRow| {
        let cells: String = row.maxima_ns.iter().map(shade).collect();
        format!("{:<label_width$} │{cells}│", row.label)
    };
    let mut lines: Vec<String> = map.rows.iter().map(line).collect();
    let span_ns = map.interval_ns * map.rows[0].maxima_ns.len() as f64;
    let ends = [0.0, span_ns].map(|at| time_label(at, span_ns).replace('\u{a0}', " "));
    let room = map.rows[0].maxima_ns.len().saturating_sub(ends[0].chars().count());
    lines.push(format!("{:label_width$}  {}{:>room$}", "", ends[0], ends[1]));
    let (low, high) = (with_unit(range_ns.0 as f64), with_unit(range_ns.1 as f64));
    let shades: String = SHADES.iter().collect();
    lines.push(format!("{:label_width$}  {low} {shades} {high}, on a logarithmic scale", ""));
    lines
}
