//! The plot of a number over versions of the kernel: of each version the median over the seeds, and the range of the seeds.

use super::Options;
use super::frame::{Area, latency_label, text_width};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};
use crate::numbers::{harmless, with_unit};

/// The axis is logarithmic if the highest value is more than this many times the lowest.
const LINEAR_UP_TO: f64 = 8.0;
/// The distance between two labels of versions.
const LABEL_GAP: f64 = 8.0;

/// A version on the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its label, such as `6.12.118`.
    pub label: String,
    /// The lowest value, the median and the highest over the seeds, in ns; `None` if there are no values.
    pub values: Option<[f64; 3]>,
    /// Whether a step before it is claimed.
    pub is_step: bool,
}

/// Draws the places in their order.
pub fn draw(id: &str, title: &str, places: &[Place], options: &Options) -> String {
    let height = options.height.unwrap_or(if options.narrow() { 200.0 } else { 230.0 });
    let area = Area { left: 52.0, right: options.width - 14.0, top: 44.0, bottom: height - 40.0 };
    let x = Scale::linear(0.0, (places.len() as f64 - 1.0).max(1.0), area.left + 24.0, area.right - 24.0);
    let y = value_scale(places, &area);
    let mut svg = Svg::default();
    svg.text("title", (4.0, 16.0), Anchor::Start, &harmless(title));
    area.horizontal_grid(&mut svg, &y, &y.ticks(5), latency_label);
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    for (at, place) in places.iter().enumerate().filter(|(_, place)| place.is_step) {
        let between = x.at(at as f64 - 0.5);
        svg.line("limit", (between, area.top), (between, area.bottom));
        svg.text("alarm", (between, area.top - 5.0), Anchor::Middle, &harmless(&place.label));
    }
    for (at, place) in places.iter().enumerate() {
        let Some([low, median, high]) = place.values else { continue };
        let at = x.at(at as f64);
        svg.line("pool", (at, y.at(low)), (at, y.at(high)));
        svg.dot("s0", (at, y.at(median)), 3.2);
    }
    labels(&mut svg, &area, &x, places);
    area.name_y(&mut svg, "µs");
    area.mark(&mut svg, options.mark);
    svg.finish(&Head {
        id,
        width: options.width,
        height,
        title,
        description: &description(places),
        standalone: options.standalone,
        data: Vec::new(),
    })
}

/// The labels of the versions, as many as there is room for. The last is always there.
fn labels(svg: &mut Svg, area: &Area, x: &Scale, places: &[Place]) {
    let mut free_until = f64::INFINITY;
    for (at, place) in places.iter().enumerate().rev() {
        let label = harmless(&place.label);
        let half = text_width(&label) / 2.0;
        let centre = x.at(at as f64).clamp(half, area.right + 10.0 - half);
        if centre + half + LABEL_GAP <= free_until {
            svg.line("tick", (x.at(at as f64), area.bottom + 1.0), (x.at(at as f64), area.bottom + 4.0));
            svg.text("soft", (centre, area.bottom + 15.0), Anchor::Middle, &label);
            free_until = centre - half;
        }
    }
}

fn value_scale(places: &[Place], area: &Area) -> Scale {
    let values = || places.iter().filter_map(|place| place.values).flatten();
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if !low.is_finite() {
        return Scale::linear(0.0, 1.0, area.bottom, area.top);
    }
    if low > 0.0 && high > LINEAR_UP_TO * low {
        return Scale::logarithmic(low / 1.3, high * 1.3, area.bottom, area.top);
    }
    let margin = if high > low { 0.1 * (high - low) } else { 0.1 * high.abs().max(1.0) };
    Scale::linear((low - margin).max(0.0), high + margin, area.bottom, area.top)
}

fn description(places: &[Place]) -> String {
    let all = places.iter().map(|place| match place.values {
        Some([_, median, _]) => format!("{} {}", harmless(&place.label), with_unit(median)),
        None => format!("{} unknown", harmless(&place.label)),
    });
    format!("Medians over the seeds: {}.", all.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(label: &str, median: f64, is_step: bool) -> Place {
        Place { label: label.into(), values: Some([median * 0.9, median, median * 1.2]), is_step }
    }

    #[test]
    fn every_version_has_a_dot_and_a_step_a_line() {
        let mut places = vec![place("6.12.1", 9e3, false), place("6.16.2", 18e3, true)];
        places.push(Place { label: "7.0".into(), values: None, is_step: false });
        let svg = draw("a", "p99, loaded", &places, &Options::default());
        assert_eq!(svg.matches("class=\"dot s0\"").count(), 2);
        assert_eq!(svg.matches("class=\"limit\"").count(), 1);
        assert!(svg.contains("6.16.2 18") && svg.contains("7.0 unknown"), "{svg}");
        assert!(draw("a", "", &[], &Options::default()).contains("<svg"));
    }

    #[test]
    fn labels_are_left_out_where_there_is_no_room() {
        let places: Vec<Place> = (0..60).map(|minor| place(&format!("6.12.{minor}"), 9e3, false)).collect();
        let svg = draw("a", "p99", &places, &Options { width: 356.0, ..Options::default() });
        let shown = svg.matches(">6.12.").count();
        assert!((2..12).contains(&shown), "{shown}");
        assert!(svg.contains(">6.12.59<"));
    }
}
