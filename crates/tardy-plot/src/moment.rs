//! The plot of one late wake-up: what occupied the CPU from shortly before the deadline to the wake-up.
//!
//! It has a lane for each kind of occupant, as in a trace viewer, with marks for the stages of the wake-up.

use tardy_analyse::causes::Cause;
use tardy_analyse::causes::timeline::{Occupant, Stretch};

use super::Options;
use super::frame::{Area, text_width};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};
use crate::numbers::{harmless, microseconds, short, typeset, with_unit};

const LANE_HEIGHT: f64 = 24.0;
/// Height for the names of the marks above the lanes, in two rows.
const TOP: f64 = 62.0;
/// Longer names inside a stretch are shortened.
const NAME_MAX: usize = 32;
/// The time before the deadline that is shown, as a share of the latency.
const BEFORE: f64 = 0.08;

/// The lanes, from the hardware down to the thread.
const LANES: [&str; 4] = ["interrupt", "soft interrupt", "task", "the thread"];

/// Draws the late wake-up of `cause`.
pub fn draw(id: &str, title: &str, cause: &Cause, options: &Options) -> String {
    let timeline = &cause.timeline;
    let late_ns = timeline.woke_ns as f64;
    let first_ns = timeline.stretches.first().map_or(0, |stretch| stretch.from_ns) as f64;
    let from_ns = (-late_ns * BEFORE).max(first_ns).min(0.0);
    let left = if options.narrow() { 84.0 } else { 100.0 };
    let area =
        Area { left, right: options.width - 14.0, top: TOP, bottom: TOP + LANE_HEIGHT * LANES.len() as f64 };
    let x = Scale::linear(from_ns, late_ns.max(from_ns + 1.0), area.left, area.right);
    let mut svg = Svg::default();
    svg.text("title", (4.0, 16.0), Anchor::Start, title);
    let ticks = x.ticks(if options.narrow() { 4 } else { 8 });
    area.vertical_grid(&mut svg, &x, &ticks, microseconds);
    area.name_x(&mut svg, "µs after the deadline");
    for (lane, name) in LANES.iter().enumerate() {
        let y = area.top + LANE_HEIGHT * (lane as f64 + 0.5);
        svg.text("soft", (area.left - 6.0, y + 3.8), Anchor::End, name);
    }
    let is_drawn =
        |stretch: &&Stretch| stretch.to_ns as f64 > from_ns && stretch.occupant != Occupant::Unknown;
    for stretch in timeline.stretches.iter().filter(is_drawn) {
        draw_stretch(&mut svg, &area, &x, stretch, cause, from_ns);
    }
    draw_marks(&mut svg, &area, &x, cause, options);
    area.mark(&mut svg, options.mark);
    svg.finish(&Head {
        id,
        width: options.width,
        height: area.bottom + 40.0,
        title,
        description: &description(cause),
        standalone: options.standalone,
        data: Vec::new(),
    })
}

fn lane(occupant: &Occupant) -> usize {
    match occupant {
        Occupant::Irq { .. } | Occupant::Vector { .. } | Occupant::TimerFunction { .. } => 0,
        Occupant::Softirq { .. } => 1,
        Occupant::Task(_) | Occupant::Idle | Occupant::Unknown => 2,
        Occupant::OwnWay | Occupant::PreviousCycle => 3,
    }
}

fn draw_stretch(svg: &mut Svg, area: &Area, x: &Scale, stretch: &Stretch, cause: &Cause, from_ns: f64) {
    let class = match &stretch.occupant {
        Occupant::OwnWay => "held own",
        occupant if *occupant == cause.occupant => "held culprit",
        _ => "held",
    };
    let (left, right) = (x.at((stretch.from_ns as f64).max(from_ns)), x.at(stretch.to_ns as f64));
    let top = area.top + LANE_HEIGHT * lane(&stretch.occupant) as f64;
    // At least one pixel wide, so that very short stretches are visible.
    svg.rectangle(class, (left, top + 3.0), (right - left).max(1.0), LANE_HEIGHT - 6.0);
    let name = short(&harmless(&stretch.occupant.name()), NAME_MAX);
    if text_width(&name) + 8.0 < right - left {
        let at = (f64::midpoint(left, right), top + LANE_HEIGHT / 2.0 + 3.8);
        svg.text("inside", at, Anchor::Middle, &name);
    }
}

/// Draws marks at the deadline, the timer's interrupt, the wake-up, the switch and the end, with names above.
fn draw_marks(svg: &mut Svg, area: &Area, x: &Scale, cause: &Cause, options: &Options) {
    let timeline = &cause.timeline;
    let marks = [
        ("deadline", Some(0)),
        ("timer", timeline.fired_ns),
        ("ready", timeline.ready_ns),
        ("switch", timeline.switched_ns),
        ("awake", Some(timeline.woke_ns)),
    ];
    // A name that overlaps another is in the second row, or is left out if it overlaps there too.
    let mut ends = [f64::NEG_INFINITY; 2];
    for (name, at_ns) in marks {
        let Some(at_ns) = at_ns.filter(|ns| *ns as f64 >= x.low()) else { continue };
        let at = x.at(at_ns as f64);
        svg.line("guide", (at, area.top - 2.0), (at, area.bottom));
        let text = if options.narrow() || at_ns == 0 {
            name.to_owned()
        } else {
            format!("{name} {}", typeset(at_ns as f64))
        };
        let width = text_width(&text);
        let start = (at - width / 2.0).clamp(4.0, area.right + 10.0 - width);
        if let Some(row) = ends.iter().position(|end| start > end + 6.0) {
            ends[row] = start + width;
            svg.text("soft", (start, area.top - 8.0 - 13.0 * row as f64), Anchor::Start, &text);
        }
    }
}

fn description(cause: &Cause) -> String {
    let held = with_unit(cause.held_ns as f64);
    let late = with_unit(cause.late_ns as f64);
    let name = cause.occupant.name();
    format!("A wake-up {late} late. Longest on the CPU: {name}, {held}.")
}
