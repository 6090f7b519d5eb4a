//! The tail: the share of wake-ups at least as late as each latency, 1 − CDF, both axes logarithmic.
//!
//! In a histogram the tail is hard to see. Here it has the larger part of the plot, and the share of wake-ups later
//! than a limit can be read from the axis.

use tardy_record::units::format_duration_ns;

use super::Options;
use super::curve::{self, Curve};
use super::frame::{Area, latency_label};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, polyline};
use crate::latency::{count, typeset};

/// Lower latencies are drawn at this value, in ns, since a logarithmic axis has no 0.
const FLOOR_NS: f64 = 100.0;
/// Height of a line of names.
const LINE_HEIGHT: f64 = 13.0;

/// The exceedance plot of some curves.
pub fn draw(id: &str, curves: &[Curve], options: &Options) -> String {
    let mut svg = Svg::default();
    let height = if options.narrow() { 300.0 } else { 360.0 };
    let area = Area { left: 84.0, right: options.width - 12.0, top: 30.0, bottom: height - 40.0 };
    let (x, y) = scales(curves, options, &area);
    area.horizontal_grid(&mut svg, &y, &y.ticks(10), share_label);
    area.vertical_grid(&mut svg, &x, &x.ticks(8), latency_label);
    let (readings, degree) = (options.readings.name(), options.words.degree);
    area.name_y(&mut svg, &format!("share of {readings} at least this {degree}"));
    area.name_x(&mut svg, options.words.axis);
    area.mark(&mut svg, options.mark);
    if let Some(limit) = options.limit_ns {
        area.limit_x(&mut svg, &x, limit as f64, &format!("limit {}", format_duration_ns(limit)));
    }
    for one in curve::drawing_order(curves) {
        svg.path(&format!("curve {}", one.class), &outline(one, &x, &y));
    }
    name_in_corner(&mut svg, &area, curves);
    let described: Vec<String> = curves.iter().map(describe).collect();
    let head = Head {
        id,
        width: options.width,
        height,
        title: options.words.tail,
        description: &format!(
            "Share of {readings} {}; both axes are logarithmic. {}",
            options.words.exceeding,
            described.join("; ")
        ),
        standalone: options.standalone,
        data: vec![("x", x.data()), ("y", y.data()), ("kind", "exceedance".into())],
    };
    svg.finish(&head)
}

fn scales(curves: &[Curve], options: &Options, area: &Area) -> (Scale, Scale) {
    let lowest = curves
        .iter()
        .filter_map(|one| one.histogram.bins().first())
        .map(|bin| bin.lower_ns as f64)
        .fold(1e12, f64::min);
    let highest =
        curves.iter().filter_map(|one| one.max_ns).map(|max| max as f64).fold(FLOOR_NS * 10.0, f64::max);
    let with_limit = options.limit_ns.map_or(highest, |limit| highest.max(limit as f64));
    let low = lowest.max(FLOOR_NS).min(highest / 2.0);
    let most = curves.iter().map(|one| one.histogram.total()).max().unwrap_or(1).max(10);
    let x = Scale::logarithmic(low / 1.15, with_limit * 1.25, area.left, area.right);
    (x, Scale::logarithmic(0.6 / most as f64, 1.0, area.bottom, area.top))
}

/// The path of a curve: steps through the points (lower edge of a bin, share of values at or above it). The last step
/// is at the exact maximum. If the next occupied bin is not adjacent, the share falls at the upper edge of the bin
/// before it.
fn outline(one: &Curve, x: &Scale, y: &Scale) -> String {
    let total = one.histogram.total() as f64;
    let mut left = one.histogram.total();
    let mut points: Vec<Option<(f64, f64)>> = vec![Some((x.at(x.low()), y.at(1.0)))];
    let mut last = (f64::NAN, f64::NAN);
    let mut step = |ns: i64, left: u64, points: &mut Vec<Option<(f64, f64)>>| {
        let at = (x.at(ns as f64), y.at(left as f64 / total));
        // Steps finer than a pixel are not visible.
        if !((at.0 - last.0).abs() < 0.7 && (at.1 - last.1).abs() < 0.7) {
            points.extend([points[points.len() - 1].map(|(_, above)| (at.0, above)), Some(at)]);
            last = at;
        }
    };
    let bins = one.histogram.bins();
    for (place, bin) in bins.iter().enumerate() {
        step(bin.lower_ns, left, &mut points);
        left -= bin.count;
        if bins.get(place + 1).is_some_and(|next| next.lower_ns > bin.upper_ns) {
            step(bin.upper_ns, left, &mut points);
        }
    }
    // A maximum that is a lower bound does not end the curve.
    let max_ns = one.max_ns.filter(|_| !one.max_at_least);
    if let (Some(max), Some(Some((_, level)))) = (max_ns, points.last().copied()) {
        let end = x.at(max as f64);
        points.extend([Some((end, level)), Some((end, y.at(y.low())))]);
    }
    polyline(points)
}

/// Draws the names in the lower left corner, where there is no curve.
fn name_in_corner(svg: &mut Svg, area: &Area, curves: &[Curve]) {
    let mut named: Vec<&Curve> = curves.iter().filter(|one| one.class != "rest").collect();
    named.sort_by_key(|one| std::cmp::Reverse(one.max_ns));
    for (row, one) in named.iter().enumerate() {
        let y = area.bottom - 10.0 - (named.len() - 1 - row) as f64 * (LINE_HEIGHT + 1.0);
        svg.line(&format!("curve {}", one.class), (area.left + 8.0, y - 4.0), (area.left + 24.0, y - 4.0));
        svg.text(&format!("halo {}", one.class), (area.left + 30.0, y), Anchor::Start, &one.label);
    }
}

fn describe(one: &Curve) -> String {
    let max = one.max_ns.map_or_else(
        || "nothing".to_owned(),
        |max| crate::latency::at_least(typeset(max as f64), one.max_at_least),
    );
    let at_most = if one.max_at_least { "" } else { "at most " };
    format!("{}: {at_most}{max}, once in {}", one.label, count(one.histogram.total()))
}

/// A share on the axis: `all`, `1 in 10`, `1 in 1,000`, `1 in 1M`.
fn share_label(share: f64) -> String {
    if share > 0.99 {
        return "all".to_owned();
    }
    format!("1 in {}", super::frame::count_label((1.0 / share).round()))
}
