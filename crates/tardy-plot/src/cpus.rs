//! The heat map of CPUs over time: a row for each CPU, the logarithm of the highest latency as depth of colour. It shows
//! which of many CPUs were late, and whether they were late together.

use tardy_record::Run;

use super::Options;
use super::frame::{Area, spread, text_width};
use super::scale::{Scale, nice, time_label, time_ticks};
use super::svg::{Anchor, Head, Path, Svg};
use crate::cpu_map::CpuMap;
use crate::numbers::{counted, typeset};

/// The number of colour depths.
const DEPTHS: usize = 8;
/// The width of a column, in pixels.
const COLUMN: f64 = 4.0;
/// The largest number of rows; of more CPUs, neighbours share a row.
pub const ROWS_MAX: usize = 256;
/// The height that the rows share, in pixels.
const HEIGHT: f64 = 400.0;
/// The height of a row, in pixels.
const ROW_MIN: f64 = 2.0;
const ROW_MAX: f64 = 16.0;
/// The room above and below the rows, in pixels.
const TOP: f64 = 30.0;
const BELOW: f64 = 40.0;
/// The least distance of two labels, in pixels.
const LABEL_GAP: f64 = 13.0;
/// How many of the worst rows are named at the right.
const NAMED: usize = 3;

/// Draws the heat map; `None` if the run has no maxima over time.
pub fn draw(id: &str, run: &Run, options: &Options) -> Option<String> {
    let map = map(run, options)?;
    let range_ns = map.range_ns()?;
    let mut svg = Svg::default();
    let row = row_height(&map, options);
    let area = area(&map, row, options);
    let height = area.bottom + BELOW;
    let columns = map.rows[0].maxima_ns.len();
    let span_ns = map.interval_ns * columns as f64;
    let x = Scale::linear(0.0, span_ns, area.left, area.right);
    let base = commonest(&map, range_ns);
    svg.rectangle(&class(base), (area.left, area.top), area.right - area.left, area.bottom - area.top);
    svg.open("over-time");
    let depths = (0..DEPTHS).filter(|depth| *depth != base).map(Some).chain([None]);
    for depth in depths {
        let class = depth.map_or_else(|| "cells h0".to_owned(), |depth| format!("cells {}", class(depth)));
        let cells = cells(&map, depth, range_ns, row, &area);
        svg.thick_path(&class, row, &cells);
    }
    svg.close();
    let ticks = time_ticks(0.0, span_ns, if options.narrow() { 4 } else { 8 });
    svg.open("ticks");
    area.time_axis(&mut svg, &x, &ticks, |at| time_label(at, span_ns));
    svg.close();
    row_labels(&mut svg, &map, row, &area);
    name_worst(&mut svg, &map, row, &area);
    area.name_x(&mut svg, "time from the start");
    area.mark(&mut svg, options.mark);
    key(&mut svg, &area, range_ns);
    let head = Head {
        id,
        width: options.width,
        height,
        title: "CPUs over time",
        description: &format!(
            "A row for each CPU, a column for each interval of time; deeper colour is a later {}. {}",
            options.readings.one(),
            described(&map)
        ),
        standalone: options.standalone,
        data: vec![
            ("x", x.data()),
            ("y", Scale::linear(0.0, map.rows.len() as f64, area.top, area.bottom).data()),
            ("kind", "cpus".into()),
        ],
    };
    Some(svg.finish(&head))
}

/// The map that [`draw`] draws.
pub fn map(run: &Run, options: &Options) -> Option<CpuMap> {
    // The columns of a plot are as wide in all runs, whatever the length of its labels.
    CpuMap::of(run, ((options.width - 140.0) / COLUMN).max(1.0) as usize, ROWS_MAX)
}

fn row_height(map: &CpuMap, options: &Options) -> f64 {
    let rows = map.rows.len() as f64;
    match options.height {
        Some(height) => ((height - TOP - BELOW) / rows).max(1.0),
        None => (HEIGHT / rows).floor().clamp(ROW_MIN, ROW_MAX),
    }
}

fn area(map: &CpuMap, row: f64, options: &Options) -> Area {
    let labels = map.rows.iter().map(|row| text_width(&row.label)).fold(0.0, f64::max).ceil();
    let (left, top) = (labels.min(110.0) + 14.0, TOP);
    let bottom = top + row * map.rows.len() as f64;
    Area { left, right: (options.width - left).max(left + 40.0), top, bottom }
}

fn class(depth: usize) -> String {
    format!("h{}", depth + 1)
}

/// The depth of most cells, which is the background.
fn commonest(map: &CpuMap, range_ns: (i64, i64)) -> usize {
    let mut counts = [0u64; DEPTHS];
    let all = map.rows.iter().flat_map(|row| &row.maxima_ns).flatten();
    all.for_each(|max_ns| counts[CpuMap::depth(range_ns, *max_ns, DEPTHS)] += 1);
    (0..DEPTHS).max_by_key(|depth| counts[*depth]).unwrap_or(0)
}

/// The cells of one depth, or those without a reading, as a line through the middle of each row. Neighbours share a line.
fn cells(map: &CpuMap, wanted: Option<usize>, range_ns: (i64, i64), row: f64, area: &Area) -> String {
    let columns = map.rows[0].maxima_ns.len();
    let at = |column: usize| area.left + (area.right - area.left) * column as f64 / columns as f64;
    let mut path = Path::default();
    for (place, one) in map.rows.iter().enumerate() {
        let y = area.top + (place as f64 + 0.5) * row;
        let is_wanted = |column: usize| {
            one.maxima_ns[column].map(|max_ns| CpuMap::depth(range_ns, max_ns, DEPTHS)) == wanted
        };
        let mut column = 0;
        while column < columns {
            let end = (column..columns).find(|at| !is_wanted(*at)).unwrap_or(columns);
            if end > column {
                path.skip_to(at(column), y);
                path.to(at(end), y);
            }
            column = end.max(column + 1);
        }
    }
    path.finish()
}

/// Labels at the left, as many as fit.
fn row_labels(svg: &mut Svg, map: &CpuMap, row: f64, area: &Area) {
    let every = nice(LABEL_GAP / row).max(1.0);
    // The number of CPUs is often a power of two.
    let every = if every > 2.0 { libm::exp2(libm::log2(LABEL_GAP / row).ceil()) } else { every } as usize;
    for (place, one) in map.rows.iter().enumerate().step_by(every) {
        let y = area.top + (place as f64 + 0.5) * row;
        svg.line("tick", (area.left - 4.0, y), (area.left - 1.0, y));
        svg.text("soft", (area.left - 7.0, y + 3.8), Anchor::End, &one.label);
    }
}

/// Names the worst rows at the right.
fn name_worst(svg: &mut Svg, map: &CpuMap, row: f64, area: &Area) {
    let mut worst: Vec<usize> = (0..map.rows.len()).collect();
    worst.sort_by_key(|place| std::cmp::Reverse(map.rows[*place].highest_ns()));
    worst.truncate(NAMED);
    worst.sort_unstable();
    let wanted: Vec<f64> = worst.iter().map(|place| area.top + (*place as f64 + 0.5) * row).collect();
    let placed = spread(&wanted, LABEL_GAP, area.top + 5.0, area.bottom - 5.0);
    for ((place, y), label_y) in worst.into_iter().zip(wanted).zip(placed) {
        svg.line("axis", (area.right + 1.0, y), (area.right + 7.0, label_y));
        svg.text("", (area.right + 10.0, label_y + 3.8), Anchor::Start, &map.rows[place].label);
    }
}

fn described(map: &CpuMap) -> String {
    let worst = map.rows.iter().filter_map(|row| Some((row.highest_ns()?, row))).max_by_key(|(max, _)| *max);
    worst.map_or_else(String::new, |(max, row)| {
        let rows = counted(map.rows.len() as u64, "row", "rows");
        format!("{rows}; the worst is {}, {}.", row.label, typeset(max as f64))
    })
}

/// Draws the key: the colour depths from the lowest to the highest latency.
fn key(svg: &mut Svg, area: &Area, range_ns: (i64, i64)) {
    let (size, top) = (11.0, area.top - 20.0);
    let [low, high] = [range_ns.0, range_ns.1].map(|ns| typeset(ns as f64));
    let left = area.right - DEPTHS as f64 * size - text_width(&high) - 4.0;
    svg.text("soft", (left - 5.0, top + 9.0), Anchor::End, &low);
    for depth in 0..DEPTHS {
        svg.rectangle(&class(depth), (left + depth as f64 * size, top), size, 10.0);
    }
    svg.text("soft", (left + DEPTHS as f64 * size + 5.0, top + 9.0), Anchor::Start, &high);
}
