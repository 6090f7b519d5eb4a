//! Diagnostic plots of extreme values: levels over their times with the band of their intervals, observed against fitted
//! quantiles, and the shape over longer blocks or higher thresholds.

use tardy_analyse::tail::{Diagnostics, Estimate, Method, ShapeOver, Tail};
use tardy_record::units::format_duration_ns;

use super::Options;
use super::frame::{Area, latency_label};
use super::scale::Scale;
use super::svg::{Anchor, Head, Path, Svg, polyline};
use crate::numbers::with_unit;

/// Labelled times of an axis, in s.
const TIMES_S: [(f64, &str); 12] = [
    (0.01, "10\u{a0}ms"),
    (0.1, "100\u{a0}ms"),
    (1.0, "1\u{a0}s"),
    (10.0, "10\u{a0}s"),
    (60.0, "1\u{a0}min"),
    (600.0, "10\u{a0}min"),
    (3600.0, "1\u{a0}h"),
    (86_400.0, "1\u{a0}d"),
    (604_800.0, "1\u{a0}week"),
    (2_592_000.0, "30\u{a0}d"),
    (31_536_000.0, "1\u{a0}year"),
    (315_360_000.0, "10\u{a0}years"),
];
/// A band above this multiple of the highest level is cut off.
const MOST_BAND: f64 = 2.0;
/// Half the width of the end of an interval, in pixels.
const CAP: f64 = 4.0;
/// Values whose quotient is larger than this are drawn on logarithmic axes.
const LOGARITHMIC_FROM: f64 = 10.0;
/// Half the side of the mark of a value, in pixels.
const MARK: f64 = 1.6;

/// The levels of the deciding estimate of `tail`; `None` if they are not supported or not computed.
pub fn levels(id: &str, tail: &Tail, options: &Options) -> Option<String> {
    let Diagnostics { curve, observed, .. } =
        tail.deciding()?.diagnostics.as_ref().filter(|_| tail.supported)?;
    let (first, last) = (curve.first()?, curve.last()?);
    let mut svg = Svg::default();
    let (area, height) = area(options);
    let earliest =
        observed.first().map_or(f64::INFINITY, |one| one.once_per_ns).min(first.once_per_ns as f64);
    let x = Scale::logarithmic(earliest / 1.2, last.once_per_ns as f64 * 1.2, area.left, area.right);
    let drawn = || {
        let fitted = curve.iter().map(|level| level.level_ns as f64);
        fitted.chain(observed.iter().map(|one| one.level_ns))
    };
    let highest = drawn().fold(f64::MIN, f64::max);
    let most = curve.iter().filter_map(|level| level.upper_ns).max().map_or(highest, |ns| ns as f64);
    let y = Scale::linear(
        drawn().fold(f64::MAX, f64::min).min(0.0),
        most.min(highest * MOST_BAND).max(highest) * 1.05,
        area.bottom,
        area.top,
    );
    area.horizontal_grid(&mut svg, &y, &y.ticks(6), latency_label);
    time_grid(&mut svg, &area, &x, options);
    let measured = x.at(tail.measured_ns as f64);
    svg.line("guide", (measured, area.top), (measured, area.bottom));
    svg.text("soft halo", (measured - 4.0, area.top + 10.0), Anchor::End, "measured");
    svg.text("soft halo", (measured + 4.0, area.top + 10.0), Anchor::Start, "extrapolated");
    svg.path("guard s0", &band(tail, &x, &y));
    svg.path(
        "curve s0",
        &polyline(curve.iter().map(|one| Some((x.at(one.once_per_ns as f64), y.at(one.level_ns as f64))))),
    );
    for one in observed {
        svg.dot("s1", (x.at(one.once_per_ns), y.at(one.level_ns)), 2.2);
    }
    if let Some(limit) = options.limit_ns {
        area.limit_y(&mut svg, &y, limit as f64, &format!("limit {}", format_duration_ns(limit)));
    }
    area.name_y(&mut svg, options.words.axis);
    area.name_x(&mut svg, "exceeded once per");
    area.mark(&mut svg, options.mark);
    let described: Vec<String> = tail.deciding()?.levels.iter().map(describe_level).collect();
    Some(finish(svg, id, "Levels and how rarely they are exceeded", &described.join("; "), options, height))
}

fn describe_level(level: &tardy_analyse::tail::Level) -> String {
    let end = |ns: Option<i64>| ns.map_or_else(|| "unknown".to_owned(), |ns| with_unit(ns as f64));
    format!(
        "once per {}: {} ({} to {})",
        format_duration_ns(level.once_per_ns),
        with_unit(level.level_ns as f64),
        end(level.lower_ns),
        end(level.upper_ns)
    )
}

/// The band of the intervals of the levels.
fn band(tail: &Tail, x: &Scale, y: &Scale) -> String {
    let curve =
        tail.deciding().and_then(|one| one.diagnostics.as_ref()).into_iter().flat_map(|one| &one.curve);
    let known: Vec<(f64, f64, f64)> = curve
        .filter_map(|one| {
            Some((one.once_per_ns as f64, one.lower_ns? as f64, one.upper_ns.unwrap_or(i64::MAX) as f64))
        })
        .collect();
    let mut path = Path::default();
    known.iter().for_each(|(at, lower, _)| path.to(x.at(*at), y.at(*lower)));
    known.iter().rev().for_each(|(at, _, upper)| path.to(x.at(*at), y.at(*upper)));
    let outline = path.finish();
    if outline.is_empty() { outline } else { outline + "z" }
}

/// Observed against fitted quantiles of `estimate`; `None` if they were not computed.
pub fn quantiles(id: &str, estimate: &Estimate, options: &Options) -> Option<String> {
    let points = &estimate.diagnostics.as_ref()?.quantiles;
    let (lowest, highest) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), (fitted, observed)| {
        (low.min(*fitted).min(*observed), high.max(*fitted).max(*observed))
    });
    points.first()?;
    let mut svg = Svg::default();
    let (area, height) = area(options);
    let scale =
        if lowest > 0.0 && highest > LOGARITHMIC_FROM * lowest { Scale::logarithmic } else { Scale::linear };
    let (x, y) =
        (scale(lowest, highest, area.left, area.right), scale(lowest, highest, area.bottom, area.top));
    area.horizontal_grid(&mut svg, &y, &y.ticks(5), latency_label);
    area.vertical_grid(&mut svg, &x, &x.ticks(5), latency_label);
    svg.line("guide", (area.left, area.bottom), (area.right, area.top));
    // One path: a page has many of these points.
    let mut marks = Path::default();
    for (fitted, observed) in points {
        let (x, y) = (x.at(*fitted), y.at(*observed));
        marks.rectangle(x - MARK, y - MARK, x + MARK, y + MARK);
    }
    svg.path("h6", &marks.finish());
    area.name_y(&mut svg, &format!("observed {}", options.words.axis));
    area.name_x(&mut svg, &format!("fitted {}", options.words.axis));
    let title = match estimate.method {
        Method::BlockMaxima { .. } => "Quantiles of block maxima, observed against fitted",
        Method::Excesses { .. } => "Quantiles of the highest values, observed against fitted",
    };
    Some(finish(
        svg,
        id,
        title,
        "Points near the diagonal: the values follow the fitted distribution.",
        options,
        height,
    ))
}

/// The shape of `estimate` over longer blocks or higher thresholds; `None` if there are fewer than two.
pub fn shapes(id: &str, estimate: &Estimate, options: &Options) -> Option<String> {
    let shapes = &estimate.diagnostics.as_ref()?.shapes;
    let (first, last) = shapes.first().zip(shapes.last()).filter(|_| shapes.len() > 1)?;
    let ends = |one: &ShapeOver| [one.shape, one.lower.unwrap_or(one.shape), one.upper.unwrap_or(one.shape)];
    let all = || shapes.iter().flat_map(ends).chain([0.0]);
    let mut svg = Svg::default();
    let (area, height) = area(options);
    let x = Scale::logarithmic(first.at_ns / 1.15, last.at_ns * 1.15, area.left, area.right);
    let (low, high) = (all().fold(f64::MAX, f64::min).max(-1.5), all().fold(f64::MIN, f64::max).min(1.5));
    let y = Scale::linear(low - 0.05, high + 0.05, area.bottom, area.top);
    area.horizontal_grid(&mut svg, &y, &y.ticks(5), |shape| {
        crate::numbers::three_digits((shape * 100.0).round() / 100.0).replace('-', "−")
    });
    let is_of_blocks = matches!(estimate.method, Method::BlockMaxima { .. });
    for one in shapes {
        let (at, label) = (x.at(one.at_ns), place(one, is_of_blocks));
        svg.line("hair", (at, area.top), (at, area.bottom));
        svg.text(
            "soft",
            (at.clamp(area.left + 14.0, area.right - 10.0), area.bottom + 15.0),
            Anchor::Middle,
            &label,
        );
        whisker(&mut svg, at, one, &y);
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    svg.line("guide", (area.left, y.at(first.shape)), (area.right, y.at(first.shape)));
    area.name_y(&mut svg, "shape ξ, with its 95 % confidence interval");
    area.name_x(&mut svg, if is_of_blocks { "length of a block" } else { "threshold, µs" });
    let title =
        if is_of_blocks { "Shape of the maxima of longer blocks" } else { "Shape over higher thresholds" };
    Some(finish(svg, id, title, "A line through all intervals: one tail.", options, height))
}

fn place(one: &ShapeOver, is_of_blocks: bool) -> String {
    if is_of_blocks { format_duration_ns(one.at_ns as u64) } else { latency_label(one.at_ns) }
}

fn whisker(svg: &mut Svg, at: f64, one: &ShapeOver, y: &Scale) {
    let (lower, upper) = (one.lower.unwrap_or(y.low()), one.upper.unwrap_or(y.high()));
    svg.line("curve thin s0", (at, y.at(lower)), (at, y.at(upper)));
    for end in [one.lower, one.upper].into_iter().flatten() {
        svg.line("curve thin s0", (at - CAP, y.at(end)), (at + CAP, y.at(end)));
    }
    svg.dot("s0", (at, y.at(one.shape)), 3.0);
}

fn area(options: &Options) -> (Area, f64) {
    let height = options.height.unwrap_or(if options.narrow() { 250.0 } else { 290.0 });
    (Area { left: 52.0, right: options.width - 12.0, top: 26.0, bottom: height - 40.0 }, height)
}

fn time_grid(svg: &mut Svg, area: &Area, x: &Scale, options: &Options) {
    let inside = TIMES_S.iter().filter(|(s, _)| (x.low()..=x.high()).contains(&(s * 1e9)));
    let least = if options.narrow() { 48.0 } else { 56.0 };
    let mut end = f64::MIN;
    for (s, label) in inside {
        let at = x.at(s * 1e9);
        svg.line("grid", (at, area.top), (at, area.bottom));
        if at - end >= least {
            svg.text("soft", (at, area.bottom + 15.0), Anchor::Middle, label);
            end = at;
        }
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
}

fn finish(svg: Svg, id: &str, title: &str, description: &str, options: &Options, height: f64) -> String {
    let standalone = options.standalone;
    svg.finish(&Head { id, width: options.width, height, title, description, standalone, data: Vec::new() })
}
