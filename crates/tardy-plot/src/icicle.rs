//! The plot of an explained wake-up: which function was executing when, below the one that had called it.
//!
//! The page's script lets the reader magnify a function, go back, and search for names; without it the plot is complete.

use tardy_record::explanation::{Execution, Explanation, Part};

use super::Options;
use super::frame::{Area, text_width};
use super::numbers::{harmless, microseconds, short, typeset};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};
use super::terms::part_name;

const ROW: f64 = 17.0;
/// Height above the rows: the title, and the parts with their names.
const TOP: f64 = 58.0;
/// Executions that are narrower, in pixels, are not drawn.
const NARROWEST: f64 = 0.08;
/// The most executions that are drawn, the longest, so that a browser can hold a cycle of some ms.
const BOXES: usize = 4_000;
/// Space on both sides of a name in its box.
const PADDING: f64 = 3.0;

/// Draws the wake-up. `ns` is the time of an instruction.
pub fn draw(id: &str, title: &str, explanation: &Explanation, ns: u64, options: &Options) -> String {
    let depth = explanation.timeline.iter().map(|one| one.depth + 1).max().unwrap_or(0);
    let area = area(options.width, depth);
    let late_ns = (explanation.instructions * ns) as f64;
    let x = Scale::linear(0.0, late_ns.max(1.0), area.left, area.right);
    let mut svg = Svg::default();
    svg.text("title", (4.0, 16.0), Anchor::Start, title);
    let ticks = x.ticks(if options.narrow() { 4 } else { 8 });
    svg.open("axis");
    area.vertical_grid(&mut svg, &x, &ticks, microseconds);
    area.name_x(&mut svg, "µs after the timer was due");
    for part in &explanation.parts {
        draw_part(&mut svg, &area, &x, part, ns);
    }
    svg.close();
    svg.open("calls");
    let shortest = shortest_drawn(&explanation.timeline);
    for execution in explanation.timeline.iter().filter(|one| one.instructions >= shortest) {
        draw_execution(&mut svg, &x, execution, ns);
    }
    svg.close();
    svg.finish(&Head {
        id,
        width: options.width,
        height: area.bottom + 40.0,
        title,
        description: "Each box is an execution of a function; the box above it is the function that called it.",
        standalone: options.standalone,
        data: vec![("kind", "icicle".to_owned())],
    })
}

/// The least instructions of an execution that is drawn.
fn shortest_drawn(timeline: &[Execution]) -> u64 {
    let mut lengths: Vec<u64> = timeline.iter().map(|one| one.instructions).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths.get(BOXES).map_or(0, |first_left_out| first_left_out + 1)
}

/// A part as a strip above the rows, with its name where there is room.
fn draw_part(svg: &mut Svg, area: &Area, x: &Scale, part: &Part, ns: u64) {
    let (from, to) = (x.at((part.start * ns) as f64), x.at(((part.start + part.instructions) * ns) as f64));
    if to - from < NARROWEST {
        return;
    }
    let class = format!("part s{}", part.kind as usize % 8);
    let name = part.name.as_deref().map_or_else(|| part_name(part.kind).to_owned(), harmless);
    let path = format!("M{:.1} {:.1}H{:.1}V{:.1}H{:.1}Z", from, area.top - 20.0, to, area.top - 14.0, from);
    svg.named_path(&class, &path, &format!("{name}: {}", typeset((part.instructions * ns) as f64)));
    if text_width(&name) + 2.0 < to - from {
        svg.text("soft", ((from + to) / 2.0, area.top - 24.0), Anchor::Middle, &name);
    }
}

fn draw_execution(svg: &mut Svg, x: &Scale, execution: &Execution, ns: u64) {
    let name = harmless(&execution.name);
    let taken = typeset((execution.instructions * ns) as f64);
    let executed = FunctionBox {
        class: if execution.depth == 0 { "call task" } else { "call" },
        about: format!("{name}: {taken}, {} instructions", execution.instructions),
        name,
        depth: execution.depth,
        start: execution.start,
        instructions: execution.instructions,
    };
    executed.draw(svg, x, ns as f64);
}

/// A function as a box.
pub(crate) struct FunctionBox {
    pub(crate) class: &'static str,
    pub(crate) name: String,
    /// What the reader sees who points at it.
    pub(crate) about: String,
    pub(crate) depth: usize,
    /// Where it begins, in instructions.
    pub(crate) start: u64,
    pub(crate) instructions: u64,
}

impl FunctionBox {
    /// Draws it, where an instruction has this length on the axis.
    pub(crate) fn draw(&self, svg: &mut Svg, x: &Scale, length: f64) {
        let at = |instructions: u64| x.at(instructions as f64 * length);
        let (from, to) = (at(self.start), at(self.start + self.instructions));
        if to - from < NARROWEST {
            return;
        }
        let top = TOP + ROW * self.depth as f64;
        let data = [
            ("name", self.name.clone()),
            ("from", self.start.to_string()),
            ("of", self.instructions.to_string()),
        ];
        svg.open_with(self.class, &data);
        let path = format!("M{from:.2} {top:.1}H{to:.2}V{:.1}H{from:.2}Z", top + ROW - 1.0);
        svg.named_path("box", &path, &self.about);
        // A character is about 6 pixels wide.
        let room = ((to - from - 2.0 * PADDING) / 6.0).max(0.0) as usize;
        if room >= 3 {
            svg.text("", (from + PADDING, top + ROW - 5.0), Anchor::Start, &short(&self.name, room));
        }
        svg.close();
    }
}

/// The area of a plot with so many rows.
pub(crate) fn area(width: f64, rows: usize) -> Area {
    Area { left: 16.0, right: width - 8.0, top: TOP, bottom: TOP + ROW * rows as f64 + 6.0 }
}
