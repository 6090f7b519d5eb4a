//! The shift function: by how much each quantile of the candidate differs from that of the base, with its band.
//!
//! The horizontal axis is the share of readings above the quantile, on a logarithmic scale, so that the tail, where kernels
//! differ most, has the larger part. Below zero the candidate is earlier.

use tardy_compare::versus::{Band, ShiftAtLevel, ShiftFunction};
use tardy_record::csv::Csv;

use super::Options;
use super::frame::{Area, latency_label, text_width};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, polyline};
use crate::numbers::{short, typeset};

/// The shift function of `candidate` against `base`; `None` if it has no level.
pub fn draw(
    id: &str,
    shift: &ShiftFunction,
    base: &str,
    candidate: &str,
    options: &Options,
) -> Option<String> {
    let (first, last) = (shift.levels.first()?, shift.levels.last()?);
    let mut svg = Svg::default();
    let height = options.height.unwrap_or(if options.narrow() { 280.0 } else { 320.0 });
    let area = Area { left: 64.0, right: options.width - 28.0, top: 30.0, bottom: height - 40.0 };
    // From the left: most readings above, to the right: fewest.
    let x = Scale::logarithmic(1.0 - last.share, 1.0 - first.share, area.right, area.left);
    let y = vertical(shift, &area);
    area.horizontal_grid(&mut svg, &y, &y.ticks(6), latency_label);
    level_axis(&mut svg, &area, &x, &shift.levels);
    area.name_y(&mut svg, &format!("{} minus {}, µs", short(candidate, 30), short(base, 30)));
    area.name_x(&mut svg, &format!("quantile of the {}", options.words.quantity));
    area.mark(&mut svg, options.mark);
    svg.path("slot s0", &band(&shift.levels, &x, &y));
    svg.line("axis", (area.left, y.at(0.0)), (area.right, y.at(0.0)));
    let points = shift.levels.iter().map(|at| Some((x.at(1.0 - at.share), y.at(at.difference.estimate))));
    svg.path("curve s0", &polyline(points));
    for at in &shift.levels {
        svg.dot("s0", (x.at(1.0 - at.share), y.at(at.difference.estimate)), 2.5);
    }
    let described = format!(
        "Quantiles of {candidate} minus those of {base}. {}: {}; {}: {}. {}",
        first.name,
        typeset(first.difference.estimate),
        last.name,
        typeset(last.difference.estimate),
        band_text(shift.band),
    );
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Shift function",
        description: &described,
        standalone: options.standalone,
        data: vec![("kind", "shift".into())],
    };
    Some(svg.finish(&head))
}

/// The meaning of the band, as a sentence.
pub fn band_text(band: Band) -> &'static str {
    match band {
        Band::Observations => "The band is the 95 % interval at each quantile, over boots.",
        Band::Slices => {
            "The band is the 95 % interval at each quantile of these two runs; it says nothing about another boot."
        }
        Band::None => "There is no band: there are too few boots, or of two runs too few slices of time.",
    }
}

/// The data of the plot as CSV. Times are in ns; an end of the band that is not determined is empty.
pub fn data(shift: &ShiftFunction) -> String {
    let mut csv =
        Csv::new(&["quantile", "share", "base_ns", "candidate_ns", "difference_ns", "low_ns", "high_ns"]);
    let end = |end: Option<f64>| end.map(|ns| ns.to_string()).unwrap_or_default();
    for at in &shift.levels {
        let difference = &at.difference;
        csv.line(&[
            &at.name,
            &at.share,
            &at.base_ns,
            &at.candidate_ns,
            &difference.estimate,
            &end(difference.low),
            &end(difference.high),
        ]);
    }
    csv.into_text()
}

/// The axis of differences, which contains zero, every estimate and the band.
fn vertical(shift: &ShiftFunction, area: &Area) -> Scale {
    let values = shift.levels.iter().flat_map(|at| {
        let difference = at.difference;
        [Some(difference.estimate), difference.low, difference.high].into_iter().flatten()
    });
    let (low, high) = values.fold((0.0f64, 0.0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    let room = ((high - low) * 0.06).max(10.0);
    Scale::linear(low - room, high + room, area.bottom, area.top)
}

/// A line and a label for each level; labels that would touch the one before them are left out, except the last.
fn level_axis(svg: &mut Svg, area: &Area, x: &Scale, levels: &[ShiftAtLevel]) {
    let mut free_from = f64::NEG_INFINITY;
    let last_x = levels.last().map_or(area.right, |at| x.at(1.0 - at.share));
    for (place, at) in levels.iter().enumerate() {
        let (here, width) = (x.at(1.0 - at.share), text_width(at.name));
        svg.line("grid", (here, area.top), (here, area.bottom));
        let is_last = place + 1 == levels.len();
        let touches_last = !is_last && here + width > last_x - text_width("p99.99") / 2.0;
        if (here - width / 2.0 > free_from && !touches_last) || is_last {
            svg.text("soft", (here, area.bottom + 15.0), Anchor::Middle, at.name);
            free_from = here + width / 2.0 + 4.0;
        }
    }
}

/// The outline of the band: along the upper ends and back along the lower ones.
fn band(levels: &[ShiftAtLevel], x: &Scale, y: &Scale) -> String {
    let end = |at: &ShiftAtLevel, end: Option<f64>| Some((x.at(1.0 - at.share), y.at(end?)));
    let upper = levels.iter().filter_map(|at| end(at, at.difference.high));
    let lower = levels.iter().rev().filter_map(|at| end(at, at.difference.low));
    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
    if outline.len() < 4 { String::new() } else { polyline(outline.into_iter().map(Some)) }
}
