//! Quantiles with their confidence intervals, one for each decade of the share above them.

use tardy_analyse::dependence;
use tardy_analyse::quantile::{self, DECADES, Value};
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, Series};

use super::Options;
use super::curve::{self, Curve};
use super::frame::{Area, latency_label};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};
use crate::numbers::with_unit;

/// Distance between the marks of two curves at the same quantile, in pixels.
const ASIDE: f64 = 5.0;
/// Half the width of the end of an interval, in pixels.
const CAP: f64 = 3.0;
/// Lower latencies are drawn at this value, in ns, since a logarithmic axis has no 0.
const FLOOR_NS: f64 = 100.0;
/// Height of a line of names.
const LINE_HEIGHT: f64 = 14.0;

/// A quantile of a curve.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// Its name, such as `p99.9`.
    pub(crate) level: &'static str,
    /// How many values there are for one above it.
    pub(crate) one_in: f64,
    pub(crate) value: Value,
}

/// The curves of `runs` with their quantiles, as far as they are determined.
pub(crate) fn data(runs: &[&Run]) -> Vec<(Curve, Vec<Point>)> {
    let with_points = |(curve, series): (Curve, Vec<&Series>)| {
        let points = points(&curve, &series);
        (curve, points)
    };
    let all = curve::with_series(runs).into_iter().map(with_points);
    all.filter(|(_, points)| !points.is_empty()).collect()
}

fn points(curve: &Curve, series: &[&Series]) -> Vec<Point> {
    let inflation = |ns| dependence::inflation(dependence::of_several(series, ns));
    let lacks_its_highest = series.iter().any(|one| one.lacks_its_highest());
    let point = |level: &quantile::Level| {
        let found = quantile::of(&curve.histogram, *level, curve.max_ns, inflation);
        let found = if lacks_its_highest { found.as_lower_bound() } else { found };
        Some(Point { level: level.name, one_in: 1.0 / (1.0 - level.share()), value: found.value? })
    };
    DECADES.iter().filter_map(point).collect()
}

/// The plot; `None` if no quantile is determined.
pub fn draw(id: &str, runs: &[&Run], options: &Options) -> Option<String> {
    let curves = data(runs);
    let points = || curves.iter().flat_map(|(_, points)| points);
    let most = points().map(|point| point.one_in).max_by(f64::total_cmp)?;
    let mut svg = Svg::default();
    let height = options.height.unwrap_or(if options.narrow() { 300.0 } else { 360.0 });
    let area = Area { left: 52.0, right: options.width - 12.0, top: 26.0, bottom: height - 40.0 };
    let x = Scale::logarithmic(1.4, most * 2.5, area.left, area.right);
    let highest = points().map(|point| ends(point).1).fold(FLOOR_NS * 10.0, f64::max);
    let lowest = points().map(|point| ends(point).0).fold(highest / 2.0, f64::min).max(FLOOR_NS);
    let top = options.limit_ns.map_or(highest, |limit| highest.max(limit as f64));
    let y = Scale::logarithmic(lowest / 1.3, top * 1.3, area.bottom, area.top);
    area.horizontal_grid(&mut svg, &y, &y.ticks(7), latency_label);
    levels_below(&mut svg, &area, &x, points());
    if let Some(limit) = options.limit_ns {
        area.limit_y(&mut svg, &y, limit as f64, &format!("limit {}", format_duration_ns(limit)));
    }
    area.name_y(&mut svg, options.words.axis);
    area.name_x(&mut svg, "quantile, with its 95 % confidence interval");
    area.mark(&mut svg, options.mark);
    let aside = ASIDE.min(60.0 / curves.len() as f64);
    for (place, (one, points)) in curves.iter().enumerate() {
        let offset = (place as f64 - (curves.len() - 1) as f64 / 2.0) * aside;
        points.iter().for_each(|point| mark(&mut svg, one, point, x.at(point.one_in) + offset, &y));
    }
    name_in_corner(&mut svg, &area, &curves);
    let described: Vec<String> = curves.iter().map(describe).collect();
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Quantiles with their confidence intervals",
        description: &described.join("; "),
        standalone: options.standalone,
        data: Vec::new(),
    };
    Some(svg.finish(&head))
}

/// Draws the names in the lower right corner, below the high quantiles.
fn name_in_corner(svg: &mut Svg, area: &Area, curves: &[(Curve, Vec<Point>)]) {
    for (row, (one, _)) in curves.iter().rev().enumerate() {
        let y = area.bottom - 8.0 - row as f64 * LINE_HEIGHT;
        svg.dot(one.class, (area.right - 8.0, y - 4.0), 3.0);
        svg.text(&format!("halo {}", one.class), (area.right - 16.0, y), Anchor::End, &one.label);
    }
}

/// The lowest and the highest latency of a mark.
fn ends(point: &Point) -> (f64, f64) {
    let quoted = point.value.quoted_ns() as f64;
    let lower = point.value.confidence_lower_ns.map_or(quoted, |ns| ns as f64);
    let upper = point.value.confidence_upper_ns.map_or(quoted, |ns| ns as f64);
    (lower.min(quoted), upper.max(quoted))
}

/// A vertical line and a name for each quantile.
fn levels_below<'a>(svg: &mut Svg, area: &Area, x: &Scale, points: impl Iterator<Item = &'a Point>) {
    let mut levels: Vec<(f64, &str)> = points.map(|point| (point.one_in, point.level)).collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    levels.dedup();
    for (one_in, name) in levels {
        svg.line("hair", (x.at(one_in), area.top), (x.at(one_in), area.bottom));
        svg.text("soft", (x.at(one_in), area.bottom + 15.0), Anchor::Middle, name);
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
}

/// A dot, and the interval around it; an end that is not determined is an arrow.
fn mark(svg: &mut Svg, one: &Curve, point: &Point, at: f64, y: &Scale) {
    let class = format!("curve thin {}", one.class);
    let (lower, upper) = ends(point);
    svg.line(&class, (at, y.at(lower)), (at, y.at(upper)));
    svg.line(&class, (at - CAP, y.at(lower)), (at + CAP, y.at(lower)));
    if point.value.confidence_upper_ns.is_some() {
        svg.line(&class, (at - CAP, y.at(upper)), (at + CAP, y.at(upper)));
    } else {
        let (tip, foot) = (y.at(upper) - 14.0, y.at(upper) - 10.0);
        svg.line(&class, (at, y.at(upper)), (at, tip));
        svg.line(&class, (at - CAP, foot), (at, tip));
        svg.line(&class, (at + CAP, foot), (at, tip));
    }
    svg.dot(one.class, (at, y.at(point.value.quoted_ns() as f64)), 3.0);
}

fn describe((one, points): &(Curve, Vec<Point>)) -> String {
    let of_level = |point: &Point| {
        let (lower, upper) = ends(point);
        let quoted = with_unit(point.value.quoted_ns() as f64);
        match point.value.confidence_upper_ns {
            Some(_) => format!("{} {quoted} ({} to {})", point.level, with_unit(lower), with_unit(upper)),
            None => format!("{} {quoted} ({} or more)", point.level, with_unit(lower)),
        }
    };
    format!("{}: {}", one.label, points.iter().map(of_level).collect::<Vec<_>>().join(", "))
}
