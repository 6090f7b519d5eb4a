//! The usual latency plot: the number of wake-ups by latency, with counts on a logarithmic axis.
//!
//! Latency is on a linear axis, as in the articles and on OSADL's pages, so that plots can be compared. A tail of
//! milliseconds would compress the body into one column, so the axis ends after nearly all values, and the legend
//! states how many values are beyond its end. The width of a column is a power of two in ns: recorded bins nest in such
//! columns, so no count is split.

use tardy_analyse::quantile::{LEVELS, Level, edges_of_rank};
use tardy_record::units::format_duration_ns;
use tardy_record::{Bin, Histogram};

use super::Options;
use super::curve::{self, Curve};
use super::frame::{Area, count_label, latency_label, spread, text_width};
use super::scale::{Scale, nice};
use super::svg::{Anchor, Head, Svg, steps};
use crate::numbers::{count, typeset};

/// The largest number of columns.
const COLUMN_MAX: f64 = 260.0;
/// The axis extends to the maximum if that is at most this many times the 99.99 % quantile.
const TAIL_SHOWN: f64 = 2.5;
/// The axis ends at this many times the 99 % quantile at most, so that a tail of one value in a thousand does not
/// compress the body.
const BODY_SHOWN: f64 = 10.0;

/// On a phone, two names of at most this width, in pixels, are next to the curves; longer names are below the plot.
const LABEL_BESIDE: f64 = 60.0;

/// The latency plot of some curves, with an id and a title.
pub fn draw(id: &str, title: &str, curves: &[Curve], options: &Options) -> String {
    let mut svg = Svg::default();
    let below = names_below(curves, options);
    let height = options.height.unwrap_or(below + if options.narrow() { 300.0 } else { 380.0 });
    let heading = if options.standalone { 26.0 } else { 0.0 };
    let area =
        Area { left: 52.0, right: options.width - 12.0, top: 28.0 + heading, bottom: height - below - 40.0 };
    if options.standalone {
        let room = (options.width / 8.6) as usize;
        svg.text("title", (4.0, 17.0), Anchor::Start, &crate::numbers::short(title, room));
    }
    let (low, high) = range(curves, options);
    let column = column_width(curves, low, high);
    let x = Scale::linear(low, high, area.left, area.right);
    let columns = data(curves, options);
    let most = columns.iter().flatten().map(|(_, _, count)| *count).max().unwrap_or(1);
    let y = Scale::logarithmic(0.5, (most as f64 * 1.6).max(10.0), area.bottom, area.top);
    area.horizontal_grid(&mut svg, &y, &y.ticks(9), count_label);
    area.vertical_grid(&mut svg, &x, &x.ticks(if options.narrow() { 5 } else { 9 }), latency_label);
    area.name_y(&mut svg, &format!("{} per {}", options.readings.name(), typeset(column)));
    area.name_x(&mut svg, options.words.axis);
    area.mark(&mut svg, options.mark);
    if let Some(limit) = options.limit_ns {
        area.limit_x(&mut svg, &x, limit as f64, &format!("limit {}", format_duration_ns(limit)));
    }
    for one in curve::drawing_order(curves) {
        let index = curves.iter().position(|other| std::ptr::eq(one, other)).unwrap_or(0);
        let outline: Vec<(f64, f64, f64)> = columns[index]
            .iter()
            .map(|(from, to, count)| (x.at(*from), x.at(to.min(high)), y.at(*count as f64)))
            .collect();
        svg.path(&format!("curve thin {}", one.class), &steps(&outline, area.bottom));
    }
    let described = legend(&mut svg, &area, &x, curves, high, below > 0.0);
    let head = Head {
        id,
        width: options.width,
        height,
        title,
        description: &format!("Histogram of latencies, logarithmic counts. {described}"),
        standalone: options.standalone,
        data: vec![("x", x.data()), ("y", y.data()), ("kind", "latency".into())],
    };
    svg.finish(&head)
}

/// The columns of each curve that are drawn and not empty: from and to, in ns, and count.
pub(crate) fn data(curves: &[Curve], options: &Options) -> Vec<Vec<(f64, f64, u64)>> {
    let (low, high) = range(curves, options);
    let column = column_width(curves, low, high);
    curves.iter().map(|one| columns(&one.histogram, column, high)).collect()
}

/// Beginning and end of the latency axis, in ns.
fn range(curves: &[Curve], options: &Options) -> (f64, f64) {
    let lowest = curves.iter().filter_map(|one| one.histogram.bins().first()).map(|bin| bin.lower_ns).min();
    let highest = curves.iter().filter_map(|one| one.max_ns).max().unwrap_or(1000) as f64;
    let body = curves.iter().map(|one| reached_by(&one.histogram, LEVELS[3])).fold(1000.0, f64::max);
    let most =
        curves.iter().map(|one| reached_by(&one.histogram, LEVELS[1])).fold(100.0, f64::max) * BODY_SHOWN;
    let wanted = match options.latency_max_ns {
        Some(ns) => ns as f64,
        None if highest <= (body * TAIL_SHOWN).min(most) => highest * 1.02,
        None => (body * 1.25).min(most),
    };
    let high = (wanted / nice(wanted / 20.0)).ceil() * nice(wanted / 20.0);
    let low = lowest.filter(|lowest| *lowest < 0).map_or(0.0, |lowest| -nice(-lowest as f64).min(high));
    (low, high.max(low + 1.0))
}

/// The upper edge, in ns, of the bin with the quantile, or of the last bin if there are too few values.
fn reached_by(histogram: &Histogram, level: Level) -> f64 {
    let total = histogram.total();
    let rank = if total >= level.least_count() { level.rank(total) } else { total };
    edges_of_rank(histogram, rank)
        .map_or(0.0, |(lower, upper)| if upper == i64::MAX { lower as f64 } else { upper as f64 })
}

/// A width of columns, in ns, such that each bin on the axis is within one column: a power of two, or a multiple of the
/// widest bin.
fn column_width(curves: &[Curve], low: f64, high: f64) -> f64 {
    let on_axis = || curves.iter().flat_map(|one| one.histogram.bins()).filter(|bin| is_on_axis(bin, high));
    let widest =
        on_axis().map(|bin| bin.upper_ns.saturating_sub(bin.lower_ns)).max().unwrap_or(1).max(1) as f64;
    let least = ((high - low) / COLUMN_MAX).max(widest.min(high - low));
    let power = libm::pow(2.0, libm::log2(least).ceil());
    let nests = |width: f64| {
        on_axis().all(|bin| column_of(bin.lower_ns, width) == column_of(bin.upper_ns - 1, width))
    };
    if nests(power) { power } else { (least / widest).ceil() * widest }
}

/// Whether a bin belongs into a column below `high`. A bin without an upper end, such as that of another tool for all
/// values beyond its histogram, does not.
fn is_on_axis(bin: &Bin, high: f64) -> bool {
    (bin.lower_ns as f64) < high && bin.upper_ns != i64::MAX
}

fn column_of(ns: i64, width: f64) -> i64 {
    (ns as f64 / width).floor() as i64
}

/// Counts by column up to `high`: from, to, count. A bin is counted at its lower edge.
fn columns(histogram: &Histogram, width: f64, high: f64) -> Vec<(f64, f64, u64)> {
    let mut columns: Vec<(i64, u64)> = Vec::new();
    for bin in histogram.bins().iter().filter(|bin| is_on_axis(bin, high)) {
        let column = column_of(bin.lower_ns, width);
        match columns.last_mut() {
            Some((last, count)) if *last == column => *count = count.saturating_add(bin.count),
            _ => columns.push((column, bin.count)),
        }
    }
    columns
        .into_iter()
        .map(|(column, count)| (column as f64 * width, (column + 1) as f64 * width, count))
        .collect()
}

/// The height of the names below the plot, in pixels; 0 if they are next to the curves. On a phone the names are below
/// if there are more than two, or two long ones.
fn names_below(curves: &[Curve], options: &Options) -> f64 {
    let long = curves.iter().any(|one| text_width(&one.label) > LABEL_BESIDE);
    if options.narrow() && (curves.len() > 2 || (curves.len() > 1 && long)) {
        let named = curves.iter().filter(|one| one.class != "rest").count();
        (named + usize::from(named < curves.len())) as f64 * 15.0 + 12.0
    } else {
        0.0
    }
}

/// Draws the names of the curves with their maxima and the number of values beyond the axis, at the upper right, where
/// a latency plot is empty; marks the maxima on the axis. Returns the same names as a description.
fn legend(svg: &mut Svg, area: &Area, x: &Scale, curves: &[Curve], high: f64, below: bool) -> String {
    let mut listed: Vec<&Curve> = curves.iter().filter(|one| one.class != "rest").collect();
    if listed.len() < curves.len() {
        listed.sort_by_key(|one| std::cmp::Reverse(one.max_ns));
    }
    let entries: Vec<(String, &Curve)> = listed.iter().map(|one| (entry(one, high), *one)).collect();
    let width = entries.iter().map(|(text, _)| text_width(text)).fold(0.0, f64::max);
    let (left, top) = if below {
        (area.left + 22.0, area.bottom + 52.0)
    } else {
        (area.right - width - 8.0, area.top + 14.0)
    };
    for (row, (text, one)) in entries.iter().enumerate() {
        let y = top + row as f64 * 15.0;
        svg.line(&format!("curve {}", one.class), (left - 22.0, y - 4.0), (left - 6.0, y - 4.0));
        svg.text(&format!("halo {}", one.class), (left, y), Anchor::Start, text);
    }
    if curves.len() > listed.len() {
        let y = top + entries.len() as f64 * 15.0;
        svg.text(
            "soft halo",
            (left, y),
            Anchor::Start,
            &format!("and {} more, none higher", curves.len() - listed.len()),
        );
    }
    let marks: Vec<f64> = curves
        .iter()
        .filter_map(|one| one.max_ns)
        .filter(|max| *max as f64 <= high)
        .map(|max| x.at(max as f64))
        .collect();
    for at in spread(&marks, 0.0, area.left, area.right) {
        svg.line("tick", (at, area.bottom), (at, area.bottom + 4.0));
    }
    entries.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("; ")
}

fn entry(one: &Curve, high: f64) -> String {
    let max = one.max_ns.map_or_else(
        || "nothing".to_owned(),
        |max| crate::numbers::at_least(typeset(max as f64), one.max_at_least),
    );
    let beyond: u64 =
        one.histogram.bins().iter().filter(|bin| !is_on_axis(bin, high)).map(|bin| bin.count).sum();
    let end = one.histogram.bins().last().filter(|bin| bin.is_open() && (bin.lower_ns as f64) < high);
    let beyond = match end {
        // If the histogram ends on the axis, it is unknown whether its last values are beyond the axis.
        Some(end) => format!(", {} at {} or more", count(beyond), typeset(end.lower_ns as f64)),
        None if beyond > 0 => format!(", {} beyond the axis", count(beyond)),
        None => String::new(),
    };
    format!("{} · max {max}{beyond}", one.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A histogram of 400 rows of 1 us, and values beyond them.
    #[test]
    fn an_open_bin_is_beyond_the_axis_and_widens_no_column() {
        let bins =
            vec![(7_000, 8_000, 900).into(), (9_000, 10_000, 90).into(), (400_000, i64::MAX, 10).into()];
        let curve = Curve {
            name: String::new(),
            label: "cyclictest".to_owned(),
            class: "c0",
            histogram: Histogram::from_bins(bins).unwrap(),
            max_ns: Some(12_109_000),
            max_at_least: false,
        };
        let options = Options { latency_max_ns: Some(500_000), ..Options::default() };
        let drawn = draw("latency", "title", &[curve], &options);
        assert!(drawn.contains("10 at 400\u{a0}µs or more"), "{drawn}");
        assert!(!drawn.contains("9,223"), "{drawn}");
    }
}
