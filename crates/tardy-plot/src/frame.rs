//! The frame of a plot: its area, axes, grid and labels.

use super::scale::Scale;
use super::svg::{Anchor, Svg};

/// The rectangle inside which values are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

impl Area {
    /// Draws a horizontal grid line and a label for every tick of `y`, and hairlines for its minor ticks.
    pub fn horizontal_grid(&self, svg: &mut Svg, y: &Scale, ticks: &[f64], label: impl Fn(f64) -> String) {
        for minor in y.minor_ticks() {
            svg.line("hair", (self.left, y.at(minor)), (self.right, y.at(minor)));
        }
        for tick in ticks {
            svg.line("grid", (self.left, y.at(*tick)), (self.right, y.at(*tick)));
            svg.text("soft", (self.left - 6.0, y.at(*tick) + 3.8), Anchor::End, &label(*tick));
        }
    }

    /// Draws a vertical grid line and a label below the area for every tick of `x`, and hairlines for its minor ticks.
    pub fn vertical_grid(&self, svg: &mut Svg, x: &Scale, ticks: &[f64], label: impl Fn(f64) -> String) {
        for minor in x.minor_ticks() {
            svg.line("hair", (x.at(minor), self.top), (x.at(minor), self.bottom));
        }
        for tick in ticks {
            svg.line("grid", (x.at(*tick), self.top), (x.at(*tick), self.bottom));
            self.label_below(svg, x.at(*tick), &label(*tick));
        }
        svg.line("axis", (self.left, self.bottom), (self.right, self.bottom));
    }

    /// Draws the horizontal axis with a mark and a label for every tick of `x` below the area, and no grid.
    pub fn time_axis(&self, svg: &mut Svg, x: &Scale, ticks: &[f64], label: impl Fn(f64) -> String) {
        for tick in ticks {
            svg.line("tick", (x.at(*tick), self.bottom + 1.0), (x.at(*tick), self.bottom + 4.0));
            self.label_below(svg, x.at(*tick), &label(*tick));
        }
    }

    fn label_below(&self, svg: &mut Svg, x: f64, label: &str) {
        // A label at either end of the axis must stay inside the drawing.
        let half = text_width(label) / 2.0;
        let x = x.clamp(half.min(self.left), (self.right + 10.0 - half).max(self.left));
        svg.text("soft", (x, self.bottom + 15.0), Anchor::Middle, label);
    }

    /// The name of the horizontal axis, below its right end.
    pub fn name_x(&self, svg: &mut Svg, name: &str) {
        svg.text("soft", (self.right, self.bottom + 31.0), Anchor::End, name);
    }

    /// The name of the vertical axis, above its upper end.
    pub fn name_y(&self, svg: &mut Svg, name: &str) {
        svg.text("soft", (4.0, self.top - 12.0), Anchor::Start, name);
    }

    /// Draws a warning across the plot.
    pub fn mark(&self, svg: &mut Svg, mark: Option<&str>) {
        if let Some(text) = mark {
            let (x, y) = (f64::midpoint(self.left, self.right), f64::midpoint(self.top, self.bottom));
            svg.text("mark", (x, y), Anchor::Middle, text);
        }
    }

    /// A limit on the horizontal axis, with its name.
    pub fn limit_x(&self, svg: &mut Svg, x: &Scale, limit_ns: f64, name: &str) {
        if limit_ns > x.low() && limit_ns <= x.high() {
            let at = x.at(limit_ns);
            svg.line("limit", (at, self.top), (at, self.bottom));
            let (anchor, offset) =
                if at + 60.0 > self.right { (Anchor::End, -4.0) } else { (Anchor::Start, 4.0) };
            svg.text("alarm halo", (at + offset, self.top - 3.0), anchor, name);
        }
    }

    /// A limit on the vertical axis, with its name.
    pub fn limit_y(&self, svg: &mut Svg, y: &Scale, limit_ns: f64, name: &str) {
        if limit_ns >= y.low() && limit_ns <= y.high() {
            let at = y.at(limit_ns);
            svg.line("limit", (self.left, at), (self.right, at));
            svg.text("alarm halo", (self.left + 4.0, at - 4.0), Anchor::Start, name);
        }
    }
}

/// Approximate width of a text of 11 pixels, precise enough to keep labels apart.
pub fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| {
            if ".,:;il|' \u{a0}".contains(c) {
                3.8
            } else if c.is_uppercase() {
                8.0
            } else {
                6.8
            }
        })
        .sum()
}

/// Positions for labels at `wanted` (ascending), at least `gap` apart between `low` and `high`, each moved as little as
/// possible.
pub fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut placed: Vec<f64> = Vec::with_capacity(wanted.len());
    for at in wanted {
        let least = placed.last().map_or(low, |previous| previous + gap);
        placed.push(at.max(least));
    }
    let mut ceiling = high;
    for at in placed.iter_mut().rev() {
        *at = at.min(ceiling);
        ceiling = *at - gap;
    }
    placed
}

/// A count on an axis: `1`, `10`, `1,000`, `1M`.
pub fn count_label(count: f64) -> String {
    if count >= 1e6 { crate::numbers::prefixed(count) } else { crate::numbers::count(count as u64) }
}

/// A latency on an axis in us: `0.1`, `10`, `1,000`.
pub fn latency_label(ns: f64) -> String {
    crate::numbers::three_digits(ns / 1000.0).replace('-', "−")
}
