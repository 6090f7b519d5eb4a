//! The plot of a history: one figure of one experiment, run by run, with its changes.

use tardy_compare::history::{Change, Figure, History, Line};

use super::Options;
use super::frame::{Area, latency_label};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};
use crate::numbers::{counted, harmless, per_cent, with_unit};

/// The axis is logarithmic if the highest value is more than this many times the lowest.
const LINEAR_UP_TO: f64 = 8.0;

/// The name of a figure.
pub fn name(figure: Figure) -> String {
    match figure {
        Figure::P999 => "p99.9".to_owned(),
        Figure::MaximumOfMinutes => "typical maximum of a minute".to_owned(),
        Figure::MaximumOfSeconds => "typical maximum of a second".to_owned(),
        Figure::LaterThan(limit_ns) => format!("share later than {}", with_unit(limit_ns as f64)),
    }
}

/// A value of a figure, with its unit.
pub fn value(figure: Figure, value: f64) -> String {
    match figure {
        Figure::LaterThan(_) => per_cent(value),
        _ => with_unit(value),
    }
}

/// Draws `line`. Its runs are as far apart as they are in `history`.
pub fn draw(id: &str, history: &History, line: &Line, options: &Options) -> String {
    let height = options.height.unwrap_or(if options.narrow() { 200.0 } else { 230.0 });
    let area = Area { left: 52.0, right: options.width - 14.0, top: 44.0, bottom: height - 40.0 };
    let x = Scale::linear(1.0, (history.runs.len() as f64).max(2.0), area.left + 6.0, area.right - 6.0);
    let y = value_scale(line, &area);
    let mut svg = Svg::default();
    let title = format!("{}, {}", name(line.figure), harmless(&line.experiment));
    svg.text("title", (4.0, 16.0), Anchor::Start, &title);
    area.horizontal_grid(&mut svg, &y, &y.ticks(5), |tick| axis_label(line.figure, tick));
    let ticks: Vec<f64> =
        x.ticks(if options.narrow() { 4 } else { 8 }).into_iter().filter(is_whole).collect();
    area.time_axis(&mut svg, &x, &ticks, |tick| format!("{tick}"));
    area.name_x(&mut svg, "run");
    for level in &line.levels {
        let [from, to] = [level.from, level.to - 1].map(|point| x.at(number(line.points[point].run)));
        svg.line("pool", (from - 4.0, y.at(level.value)), (to + 4.0, y.at(level.value)));
    }
    for point in &line.points {
        svg.dot("dot s0", (x.at(number(point.run)), y.at(point.value)), 2.6);
    }
    for change in &line.changes {
        mark(&mut svg, &area, &x, change);
    }
    area.name_y(&mut svg, if matches!(line.figure, Figure::LaterThan(_)) { "share" } else { "µs" });
    area.mark(&mut svg, options.mark);
    svg.finish(&Head {
        id,
        width: options.width,
        height,
        title: &title,
        description: &description(line),
        standalone: options.standalone,
        data: Vec::new(),
    })
}

/// The number of a run, from 1, as a place on the axis.
fn number(run: usize) -> f64 {
    run as f64 + 1.0
}

fn value_scale(line: &Line, area: &Area) -> Scale {
    let values = || line.points.iter().map(|point| point.value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if low > 0.0 && high > LINEAR_UP_TO * low {
        return Scale::logarithmic(low / 1.3, high * 1.3, area.bottom, area.top);
    }
    let margin = if high > low { 0.1 * (high - low) } else { 0.1 * high.abs().max(1e-12) };
    Scale::linear((low - margin).max(0.0), high + margin, area.bottom, area.top)
}

fn is_whole(tick: &f64) -> bool {
    tick.fract() == 0.0
}

fn axis_label(figure: Figure, tick: f64) -> String {
    match figure {
        Figure::LaterThan(_) => per_cent(tick),
        _ => latency_label(tick),
    }
}

/// A line between the last run before a change and the first after it.
fn mark(svg: &mut Svg, area: &Area, x: &Scale, change: &Change) {
    let at = x.at(f64::midpoint(number(change.before), number(change.after)));
    svg.line("limit", (at, area.top), (at, area.bottom));
    let text = if change.certain {
        format!("run {}", change.after + 1)
    } else {
        format!("run {}?", change.after + 1)
    };
    svg.text("alarm", (at, area.top - 5.0), Anchor::Middle, &text);
}

fn description(line: &Line) -> String {
    let value = |one: f64| value(line.figure, one);
    let changes: Vec<String> = line
        .changes
        .iter()
        .map(|change| {
            format!("from {} to {} with run {}", value(change.from), value(change.to), change.after + 1)
        })
        .collect();
    let runs = counted(line.points.len() as u64, "run", "runs");
    match changes.is_empty() {
        true => format!("{runs} without a change."),
        false => format!("{runs}; it changed {}.", changes.join("; ")),
    }
}
