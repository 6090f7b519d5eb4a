//! All reactions of a phase as on an oscilloscope with a long persistence: on top of each other, triggered on the edge,
//! darker where answers are frequent. The worst is drawn separately; below is the histogram with logarithmic counts.
//!
//! Each answer is a step at one time, so the histogram of these times is sufficient to draw the screen.

use tardy_record::Histogram;

use super::Options;
use super::frame::{Area, count_label, latency_label, text_width};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, number, steps};
use crate::numbers::{count, harmless, microseconds, short};

/// The time before the edge on the screen, as a share of the time after it.
const BEFORE: f64 = 0.06;
/// The top of the screen, below the title.
const TOP: f64 = 42.0;
/// A column of the screen, in pixels.
const COLUMN: f64 = 2.0;
/// Heights of the traces of the stimulus and of the answers.
const STIMULUS: f64 = 26.0;
const ANSWERS: f64 = 96.0;
const HISTOGRAM: f64 = 100.0;
/// Distance between traces.
const APART: f64 = 16.0;
/// Thickness of a level.
const LEVEL: f64 = 3.0;
/// The number of shades, `h1` for one reaction to `h8` for all of them.
const SHADES: f64 = 8.0;

/// Reactions to draw.
#[derive(Clone, Copy, Debug)]
pub struct Reactions<'a> {
    /// How long the reactions took.
    pub histogram: &'a Histogram,
    /// The longest, in ns.
    pub max_ns: i64,
    /// The point at which they begin, such as `due`.
    pub from: &'a str,
    /// The point at which they end, such as `answered`.
    pub to: &'a str,
    /// The label of their phase.
    pub title: &'a str,
}

/// Draws the screen; `None` if there are no reactions.
pub fn draw(id: &str, reactions: &Reactions<'_>, options: &Options) -> Option<String> {
    if reactions.histogram.is_empty() || reactions.max_ns <= 0 {
        return None;
    }
    let screen = Screen::new(reactions, options);
    let mut svg = Svg::default();
    let name = short(&harmless(reactions.title), if options.narrow() { 40 } else { 80 });
    svg.text("title", (screen.answers.left, 28.0), Anchor::Start, &name);
    screen.draw_grid(&mut svg);
    screen.draw_stimulus(&mut svg);
    screen.draw_answers(&mut svg);
    screen.draw_worst(&mut svg);
    screen.draw_histogram(&mut svg);
    screen.area().mark(&mut svg, options.mark);
    let title = format!("All reactions, triggered on the edge: {name}");
    let head = Head {
        id,
        width: options.width,
        height: screen.histogram.bottom + 40.0,
        title: &title,
        description: "As on an oscilloscope with a long persistence: the edge, and from there every answer on top of the others, \
                      darker where there are more of them; the worst is drawn separately. Below: the number of \
                      answers over time, with counts on a logarithmic axis.",
        standalone: options.standalone,
        data: vec![("kind", "scope".into())],
    };
    Some(svg.finish(&head))
}

struct Screen<'a> {
    reactions: &'a Reactions<'a>,
    x: Scale,
    answers: Area,
    histogram: Area,
    /// Columns of [`COLUMN`] pixels.
    columns: Vec<Column>,
}

/// A column of the screen.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    /// The count of the bins in the column, or of a bin that is wider than it.
    shown: u64,
    /// The number of reactions whose answer rises in the column.
    risen: u64,
}

impl<'a> Screen<'a> {
    fn new(reactions: &'a Reactions<'a>, options: &Options) -> Self {
        let left = if options.narrow() { 40.0 } else { 52.0 };
        let right = options.width - 12.0;
        let area = |top: f64, height: f64| Area { left, right, top, bottom: top + height };
        let top = TOP + STIMULUS + APART;
        let end_ns = reactions.max_ns as f64 * 1.08;
        let x = Scale::linear(-end_ns * BEFORE, end_ns, left, right);
        let mut columns = vec![Column::default(); ((right - left) / COLUMN).ceil() as usize];
        let last = columns.len() - 1;
        for bin in reactions.histogram.bins() {
            let column = |ns: i64| {
                let at = x.at(ns.min(reactions.max_ns) as f64);
                (((at - left) / COLUMN).max(0.0) as usize).min(last)
            };
            let (from, to) = (column(bin.lower_ns), column(bin.upper_ns));
            if to > from {
                columns[from..to].iter_mut().for_each(|one| one.shown = one.shown.max(bin.count));
            } else {
                columns[from].shown += bin.count;
            }
            columns[from].risen += bin.count;
        }
        let answers = area(top, ANSWERS);
        Self { reactions, x, answers, histogram: area(answers.bottom + APART, HISTOGRAM), columns }
    }

    /// The whole screen.
    fn area(&self) -> Area {
        Area { top: TOP, ..self.histogram }
    }

    fn total(&self) -> u64 {
        self.columns.iter().map(|column| column.risen).sum()
    }

    /// The shade for `count` of all reactions.
    fn shade(&self, count: u64) -> String {
        let most = libm::log(self.total().max(2) as f64);
        let share = libm::log(count.max(1) as f64) / most;
        format!("h{}", (1.0 + share * (SHADES - 1.0)).round())
    }

    fn draw_grid(&self, svg: &mut Svg) {
        let ticks: Vec<f64> = self.x.ticks(if self.answers.right < 500.0 { 4 } else { 8 });
        let ticks: Vec<f64> = ticks.into_iter().filter(|tick| *tick >= 0.0).collect();
        self.area().vertical_grid(svg, &self.x, &ticks, latency_label);
        self.area().name_x(svg, &format!("time since {}, µs", self.reactions.from));
    }

    fn draw_stimulus(&self, svg: &mut Svg) {
        let (low, high) = (TOP + STIMULUS, TOP + 2.0);
        let (left, edge, right) = (self.answers.left, self.x.at(0.0), self.answers.right);
        let trace =
            format!("M{} {}H{}V{}H{}", number(left), number(low), number(edge), number(high), number(right));
        svg.path("curve s0", &trace);
        svg.text("halo s0", (edge + 6.0, high + 14.0), Anchor::Start, self.reactions.from);
    }

    /// Draws the two levels, darker for more reactions at that time, and the rising edges between them.
    fn draw_answers(&self, svg: &mut Svg) {
        let (low, high) = (self.answers.bottom - LEVEL, self.answers.top);
        let total = self.total();
        let mut risen = 0;
        let mut levels = [Level::new(self.answers.left), Level::new(self.answers.left)];
        for (index, column) in self.columns.iter().enumerate() {
            let at = self.answers.left + index as f64 * COLUMN;
            for (level, (there, y)) in levels.iter_mut().zip([(total - risen, low), (risen, high)]) {
                let shade = (there > 0).then(|| self.shade(there));
                level.go_on(svg, at, y, shade);
            }
            if column.shown > 0 {
                svg.rectangle(&self.shade(column.shown), (at, high), COLUMN, self.answers.bottom - high);
            }
            risen += column.risen;
        }
        for (level, y) in levels.iter_mut().zip([low, high]) {
            level.go_on(svg, self.answers.right, y, None);
        }
        svg.text("soft", (self.answers.left - 6.0, high + 9.0), Anchor::End, "high");
        svg.text("soft", (self.answers.left - 6.0, low + LEVEL), Anchor::End, "low");
    }

    fn draw_worst(&self, svg: &mut Svg) {
        let (low, high) = (self.answers.bottom - LEVEL / 2.0, self.answers.top + LEVEL / 2.0);
        let at = self.x.at(self.reactions.max_ns as f64);
        let trace = format!(
            "M{} {}H{}V{}H{}",
            number(self.answers.left),
            number(low),
            number(at),
            number(high),
            number(self.answers.right)
        );
        svg.path("outside", &trace);
        let text = format!("the worst, {} µs", microseconds(self.reactions.max_ns as f64));
        let fits = at - text_width(&text) - 8.0 > self.answers.left;
        let (x, anchor) = if fits { (at - 6.0, Anchor::End) } else { (at + 6.0, Anchor::Start) };
        svg.text("halo alarm", (x, f64::midpoint(low, high)), anchor, &text);
    }

    fn draw_histogram(&self, svg: &mut Svg) {
        let most = self.columns.iter().map(|column| column.shown).max().unwrap_or(1);
        let y = Scale::logarithmic(0.5, most.max(2) as f64 * 1.5, self.histogram.bottom, self.histogram.top);
        let ticks: Vec<f64> = y.ticks(4).into_iter().filter(|tick| *tick >= 1.0).collect();
        for tick in &ticks {
            svg.text(
                "soft",
                (self.histogram.left - 6.0, y.at(*tick) + 3.8),
                Anchor::End,
                &count_label(*tick),
            );
            svg.line("hair", (self.histogram.left, y.at(*tick)), (self.histogram.right, y.at(*tick)));
        }
        let column = |(index, column): (usize, &Column)| {
            let from = self.histogram.left + index as f64 * COLUMN;
            (column.shown > 0).then(|| (from, from + COLUMN, y.at(column.shown as f64)))
        };
        let columns: Vec<(f64, f64, f64)> = self.columns.iter().enumerate().filter_map(column).collect();
        svg.path("curve thin s1", &steps(&columns, self.histogram.bottom));
        let what =
            format!("{} to {}, {} of them", self.reactions.from, self.reactions.to, count(self.total()));
        svg.text("halo s1", (self.histogram.right - 6.0, self.histogram.top + 10.0), Anchor::End, &what);
    }
}

/// A horizontal line of the trace, with its current shade.
struct Level {
    from: f64,
    shade: Option<String>,
}

impl Level {
    fn new(from: f64) -> Self {
        Self { from, shade: None }
    }

    /// Continues the level from `at` on with `shade`; draws the part before `at` if it had another shade.
    fn go_on(&mut self, svg: &mut Svg, at: f64, y: f64, shade: Option<String>) {
        if shade == self.shade {
            return;
        }
        if let Some(before) = self.shade.take() {
            svg.rectangle(&before, (self.from, y), at - self.from, LEVEL);
        }
        (self.from, self.shade) = (at, shade);
    }
}

#[cfg(test)]
mod tests {
    use tardy_record::layout::FINE;

    use super::*;

    fn drawn(values_ns: &[i64]) -> Option<String> {
        let mut dense = vec![0; 4096];
        values_ns.iter().for_each(|value| dense[FINE.index(*value as u64)] += 1);
        let histogram = Histogram::from_dense(FINE, &[], &dense);
        let max_ns = values_ns.iter().copied().max().unwrap_or(0);
        let reactions =
            Reactions { histogram: &histogram, max_ns, from: "due", to: "answered", title: "events" };
        draw("scope", &reactions, &Options::default())
    }

    #[test]
    fn the_worst_is_drawn_separately() {
        let mut values = vec![20_000; 1000];
        values.push(300_000);
        let svg = drawn(&values).unwrap();
        assert!(svg.contains("the worst, 300 µs") && svg.contains("class=\"outside\""), "{svg}");
        assert!(svg.contains("1,001 of them"), "{svg}");
        assert!(
            svg.contains("class=\"h8\"") && svg.contains("class=\"h1\""),
            "many are dark, one is light: {svg}"
        );
    }

    #[test]
    fn no_reactions_are_not_drawn() {
        assert_eq!(drawn(&[]), None);
    }
}
