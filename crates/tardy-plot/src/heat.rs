//! The heat map of the distribution over time: latency on a logarithmic vertical axis, the logarithm of the count as
//! depth of colour. It shows whether two peaks of a histogram alternated.

use tardy_analyse::shape::{edge, row};
use tardy_record::Run;
use tardy_record::slice::Slice;
use tardy_record::units::format_duration_ns;

use super::Options;
use super::frame::{Area, latency_label};
use super::scale::{Scale, time_label, time_ticks};
use super::svg::{Anchor, Head, Path, Svg};
use super::timeline::span_ns;
use crate::numbers::prefixed;

/// The number of colour depths.
pub(crate) const DEPTHS: usize = 8;

/// The count of each cell, by column (index of an interval of time) and row.
pub(crate) type Cells = std::collections::BTreeMap<(usize, i32), u64>;

/// Draws the heat map; `None` if the run has no slices.
pub fn draw(id: &str, run: &Run, options: &Options) -> Option<String> {
    let stretches = stretches(run);
    let cells = cells(run, &stretches);
    let (lowest, highest) =
        (cells.keys().map(|(_, row)| *row).min()?, cells.keys().map(|(_, row)| *row).max()?);
    let most = *cells.values().max()?;
    let mut svg = Svg::default();
    let height = options.height.unwrap_or(if options.narrow() { 260.0 } else { 300.0 });
    let area = Area { left: 52.0, right: options.width - 12.0, top: 26.0, bottom: height - 40.0 };
    let span = span_ns(run);
    let x = Scale::linear(0.0, span, area.left, area.right);
    let y = Scale::logarithmic(edge(lowest), edge(highest + 1), area.bottom, area.top);
    svg.open("ticks");
    area.vertical_grid(&mut svg, &x, &time_ticks(0.0, span, if options.narrow() { 4 } else { 8 }), |at| {
        time_label(at, span)
    });
    svg.close();
    svg.open("over-time");
    for depth in 1..=DEPTHS {
        svg.path(&format!("h{depth}"), &cells_of_depth(&cells, depth, most, &stretches, &x, &y));
    }
    svg.close();
    latency_axis(&mut svg, &area, &y);
    if let Some(limit) = options.limit_ns {
        area.limit_y(&mut svg, &y, limit as f64, &format!("limit {}", format_duration_ns(limit)));
    }
    area.name_y(&mut svg, options.words.axis);
    area.name_x(&mut svg, "time from the start");
    area.mark(&mut svg, options.mark);
    key(&mut svg, &area, most, options.readings.name());
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Latency over time",
        description: &format!(
            "Each column is an interval of time, each row a range of latencies; deeper colour is more {}.",
            options.readings.name()
        ),
        standalone: options.standalone,
        data: vec![("x", x.data()), ("y", y.data()), ("kind", "heat".into())],
    };
    Some(svg.finish(&head))
}

/// A cell of the heat map, in ns.
pub struct Cell {
    /// Where its interval of time begins.
    pub from_ns: u64,
    /// Where its interval of time ends.
    pub to_ns: u64,
    /// The lowest latency that it contains.
    pub low_ns: f64,
    /// Its latencies are below this.
    pub high_ns: f64,
    /// The number of values in it.
    pub count: u64,
}

/// The cells that are drawn, in the order of time.
pub(crate) fn data(run: &Run) -> Vec<Cell> {
    let stretches = stretches(run);
    let cell = |((column, row), count): ((usize, i32), u64)| {
        let (_, from_ns, to_ns) = stretches[column];
        Cell { from_ns, to_ns, low_ns: edge(row), high_ns: edge(row + 1), count }
    };
    cells(run, &stretches).into_iter().map(cell).collect()
}

/// The intervals of the columns, as phase, start and end in ns: for each phase those of the series with the fewest
/// slices.
pub fn stretches(run: &Run) -> Vec<(usize, u64, u64)> {
    let coarsest = |phase: usize| {
        let series = run.own_series().filter(|series| series.phase == phase && !series.slices.is_empty());
        series.min_by_key(|series| series.slices.len())
    };
    let of_phase = |phase: usize| {
        let slices = coarsest(phase).map_or(&[][..], |series| &series.slices[..]);
        slices.iter().map(move |slice| (phase, slice.start_ns, slice.end_ns))
    };
    (0..run.phases.len()).flat_map(of_phase).collect()
}

/// The counts of the slices of all CPUs.
pub fn cells(run: &Run, stretches: &[(usize, u64, u64)]) -> Cells {
    let mut cells = Cells::new();
    for series in run.own_series() {
        for slice in &series.slices {
            let Some(column) = column_of(stretches, series.phase, slice) else { continue };
            for bin in slice.histogram.bins() {
                let cell = cells.entry((column, row(bin.lower_ns))).or_default();
                *cell = cell.saturating_add(bin.count);
            }
        }
    }
    cells
}

/// The interval that `slice` belongs to: the one of its phase whose middle is nearest.
pub fn column_of(stretches: &[(usize, u64, u64)], phase: usize, slice: &Slice) -> Option<usize> {
    let middle = u64::midpoint(slice.start_ns, slice.end_ns);
    let of_phase = stretches.iter().enumerate().filter(|(_, (of, _, _))| *of == phase);
    let nearest = of_phase.min_by_key(|(_, (_, from, to))| u64::midpoint(*from, *to).abs_diff(middle));
    nearest.map(|(column, _)| column)
}

pub(crate) fn depth(count: u64, most: u64) -> usize {
    let share = libm::log1p(count as f64) / libm::log1p(most as f64);
    ((share * DEPTHS as f64).ceil() as usize).clamp(1, DEPTHS)
}

fn cells_of_depth(
    cells: &Cells,
    wanted: usize,
    most: u64,
    stretches: &[(usize, u64, u64)],
    x: &Scale,
    y: &Scale,
) -> String {
    let mut path = Path::default();
    for ((column, row), count) in cells {
        if depth(*count, most) != wanted {
            continue;
        }
        let (_, from, to) = stretches[*column];
        let (left, right) = (x.at(from as f64), x.at(to as f64));
        let (top, bottom) = (y.at(edge(row + 1)), y.at(edge(*row)));
        path.rectangle(left, top, right.max(left + 0.5), bottom);
    }
    path.finish()
}

/// Draws the axis of latencies, without a grid.
pub(crate) fn latency_axis(svg: &mut Svg, area: &Area, y: &Scale) {
    for tick in y.ticks(7) {
        svg.text("soft", (area.left - 6.0, y.at(tick) + 3.8), Anchor::End, &latency_label(tick));
        svg.line("tick", (area.left - 3.0, y.at(tick)), (area.left, y.at(tick)));
    }
}

/// Draws the key: the colour depths from one reading to the highest count of a cell.
pub(crate) fn key(svg: &mut Svg, area: &Area, most: u64, readings: &str) {
    let (size, top) = (11.0, area.top - 20.0);
    let label = format!("{} {readings}", prefixed(most as f64));
    let left = area.right - DEPTHS as f64 * size - super::frame::text_width(&label) - 4.0;
    svg.text("soft", (left - 5.0, top + 9.0), Anchor::End, "1");
    for depth in 1..=DEPTHS {
        svg.rectangle(&format!("h{depth}"), (left + (depth - 1) as f64 * size, top), size, 10.0);
    }
    svg.text("soft", (left + DEPTHS as f64 * size + 5.0, top + 9.0), Anchor::Start, &label);
}
