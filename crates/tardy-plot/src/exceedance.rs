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
use crate::numbers::{count, typeset};

/// Lower latencies are drawn at this value, in ns, since a logarithmic axis has no 0.
const FLOOR_NS: f64 = 100.0;
/// Corners of a curve closer than this, in pixels, are one. With the rounding of coordinates, a curve is drawn within half
/// a pixel of where it is.
const INVISIBLE: f64 = 0.4;
/// Height of a line of names.
const LINE_HEIGHT: f64 = 13.0;

/// The exceedance plot of some curves.
pub fn draw(id: &str, curves: &[Curve], options: &Options) -> String {
    let mut svg = Svg::default();
    let height = options.height.unwrap_or(if options.narrow() { 300.0 } else { 360.0 });
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
    let end = options.latency_max_ns.map_or(with_limit * 1.25, |ns| ns as f64);
    let low = lowest.max(FLOOR_NS).min(highest / 2.0).min(end / 2.0);
    let most = curves.iter().map(|one| one.histogram.total()).max().unwrap_or(1).max(10);
    let x = Scale::logarithmic(low / 1.15, end, area.left, area.right);
    (x, Scale::logarithmic(0.6 / most as f64, 1.0, area.bottom, area.top))
}

/// The path of a curve: steps through its corners, without those that are too close to be visible.
fn outline(one: &Curve, x: &Scale, y: &Scale) -> String {
    polyline(stairs(&thinned(&corners(one, x, y))).into_iter().map(Some))
}

/// The corners of a curve in pixels; the first is at the left end of the axis.
fn corners(one: &Curve, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let total = one.histogram.total() as f64;
    let first = (x.at(x.low()), y.at(1.0));
    let data = data(one);
    let (on_axis, beyond) = data.split_at(data.partition_point(|(ns, _)| *ns as f64 <= x.high()));
    let others = on_axis.iter().map(|(ns, left)| (x.at(*ns as f64), y.at(*left as f64 / total)));
    // A curve that continues beyond the axis is level up to its end.
    let end = beyond.first().map(|_| {
        let left = on_axis.last().map_or(one.histogram.total(), |(_, left)| *left);
        (x.at(x.high()), y.at(left as f64 / total))
    });
    std::iter::once(first).chain(others).chain(end).collect()
}

/// The corners of a curve: the lower edge of each bin in ns, and the number of values at or above it. The last corner is
/// at the exact maximum. If the next occupied bin is not adjacent, the number falls at the upper edge of the bin before
/// it.
pub(crate) fn data(one: &Curve) -> Vec<(i64, u64)> {
    let mut left = one.histogram.total();
    let mut corners = Vec::new();
    let bins = one.histogram.bins();
    for (place, bin) in bins.iter().enumerate() {
        corners.push((bin.lower_ns, left));
        left -= bin.count;
        if bins.get(place + 1).is_some_and(|next| next.lower_ns > bin.upper_ns) {
            corners.push((bin.upper_ns, left));
        }
    }
    // A maximum that is a lower bound does not end the curve.
    corners.extend(one.max_ns.filter(|_| !one.max_at_least).map(|max| (max, 0)));
    corners
}

/// The corners without those closer than [`INVISIBLE`] to the one before them; the last one is kept.
fn thinned(corners: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (place, corner) in corners.iter().enumerate() {
        let is_close = |last: &(f64, f64)| libm::hypot(corner.0 - last.0, corner.1 - last.1) < INVISIBLE;
        if place + 1 == corners.len() || !kept.last().is_some_and(is_close) {
            kept.push(*corner);
        }
    }
    kept
}

/// The points of a curve that is level from each corner to the next.
fn stairs(corners: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let first = corners.first().copied();
    let steps = corners.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    first.into_iter().chain(steps).collect()
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
        |max| crate::numbers::at_least(typeset(max as f64), one.max_at_least),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::number;
    use proptest::prelude::*;
    use tardy_record::Histogram;

    /// The distance of a point from a line of points joined by horizontal and vertical lines.
    fn distance(point: (f64, f64), line: &[(f64, f64)]) -> f64 {
        let to_segment = |pair: &[(f64, f64)]| {
            let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
            let nearest = (point.0.clamp(ax.min(bx), ax.max(bx)), point.1.clamp(ay.min(by), ay.max(by)));
            libm::hypot(point.0 - nearest.0, point.1 - nearest.1)
        };
        line.windows(2).map(to_segment).fold(f64::INFINITY, f64::min)
    }

    /// Points along a line, at most a quarter of a pixel apart.
    fn along(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let parts = line.windows(2).flat_map(|pair| {
            let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
            let steps = (libm::hypot(ax - bx, ay - by) * 4.0).ceil().max(1.0) as u32;
            let at = move |step: u32| f64::from(step) / f64::from(steps);
            (0..=steps).map(move |step| (ax + (bx - ax) * at(step), ay + (by - ay) * at(step)))
        });
        parts.collect()
    }

    #[test]
    fn a_curve_that_continues_beyond_the_axis_is_level_up_to_its_end() {
        let bins = vec![(7_000, 8_000, 90).into(), (20_000, 21_000, 9).into(), (90_000, 91_000, 1).into()];
        let histogram = Histogram::from_bins(bins).unwrap();
        let curve = Curve {
            name: String::new(),
            label: "cpu 0".to_owned(),
            class: "c0",
            histogram,
            max_ns: Some(90_500),
            max_at_least: false,
        };
        let area = Area { left: 84.0, right: 848.0, top: 30.0, bottom: 320.0 };
        let options = Options { latency_max_ns: Some(50_000), ..Options::default() };
        let (x, y) = scales(std::slice::from_ref(&curve), &options, &area);
        assert!((x.high() - 50_000.0).abs() < 1e-6);
        let drawn = corners(&curve, &x, &y);
        assert_eq!(drawn.last(), Some(&(848.0, y.at(0.01))));
        let whole = scales(std::slice::from_ref(&curve), &Options::default(), &area);
        assert_eq!(corners(&curve, &whole.0, &whole.1).last(), Some(&(whole.0.at(90_500.0), 320.0)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]
        #[test]
        fn a_thinned_curve_is_within_half_a_pixel_of_the_full_one(
            steps in prop::collection::vec((1i64..4, 1u64..1_000_000), 300..600)
        ) {
            let mut at = 4_000;
            let bins = steps.into_iter().map(|(width, count)| {
                at += width;
                (at, at + 1, count).into()
            });
            let histogram = Histogram::from_bins(bins.collect()).unwrap();
            let max_ns = histogram.bins().last().map(|bin| bin.lower_ns);
            let curve = Curve { name: String::new(), label: String::new(), class: "", histogram, max_ns, max_at_least: false };
            let area = Area { left: 84.0, right: 848.0, top: 30.0, bottom: 320.0 };
            let (x, y) = scales(std::slice::from_ref(&curve), &Options::default(), &area);
            let corners = corners(&curve, &x, &y);
            let kept = thinned(&corners);
            prop_assert!(kept.len() < corners.len(), "nothing was thinned");
            let round = |(x, y): &(f64, f64)| (number(*x).parse().unwrap(), number(*y).parse().unwrap());
            let drawn: Vec<(f64, f64)> = stairs(&kept).iter().map(round).collect();
            let full = stairs(&corners);
            for point in along(&full) {
                prop_assert!(distance(point, &drawn) <= 0.5, "{point:?} of the curve is not drawn");
            }
            for point in along(&drawn) {
                prop_assert!(distance(point, &full) <= 0.5, "{point:?} of the drawing is not on the curve");
            }
        }
    }
}
