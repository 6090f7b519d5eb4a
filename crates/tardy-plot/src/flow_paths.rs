//! The way of each flow's frame: a row for each flow with a bar for each link, on an axis of the time since the talker sent it.

use tardy_record::units::format_duration_ns;

use super::Options;
use super::frame::{Area, text_width};
use super::link_frames::{BAR, ROW, colour, names, not_drawn};
use super::numbers::{counted, harmless, short};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, number};

const TOP: f64 = 30.0;
const BELOW: f64 = 40.0;
/// The most rows that are drawn.
const ROWS_MAX: usize = 40;

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Its number, which has its colour.
    pub flow: usize,
    /// Its name.
    pub name: String,
    /// Its links in order.
    pub hops: Vec<PathHop>,
    /// When the last listener has received the frame, in ns after it was sent.
    pub latency_ns: u64,
    /// The limit of that time.
    pub deadline_ns: Option<u64>,
}

/// A link of a flow. Times are in ns after the frame was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathHop {
    /// The link's name.
    pub link: String,
    /// When the frame starts.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
}

/// Draws the ways of the first flows. Returns `None` without flows.
pub fn draw(id: &str, flows: &[FlowPath], options: &Options) -> Option<String> {
    let drawn = &flows[..flows.len().min(ROWS_MAX)];
    let longest_ns = drawn.iter().map(|flow| flow.latency_ns).max()?;
    let (left, name_max) = names(options);
    let bottom = TOP + ROW * drawn.len() as f64;
    let area = Area { left, right: options.width - 12.0, top: TOP, bottom };
    let x = Scale::linear(0.0, longest_ns as f64 * 1.05, area.left, area.right);
    let mut svg = Svg::default();
    let title = format!("The way of {}", counted(drawn.len() as u64, "flow", "flows"));
    svg.text("title", (4.0, 17.0), Anchor::Start, &title);
    area.vertical_grid(&mut svg, &x, &x.ticks(if options.narrow() { 3 } else { 8 }), |ns| {
        format_duration_ns(ns as u64)
    });
    area.name_x(&mut svg, "after the talker sent the frame");
    let mut top = TOP;
    for flow in drawn {
        let middle = top + ROW / 2.0;
        svg.text("", (left - 8.0, middle + 4.0), Anchor::End, &short(&harmless(&flow.name), name_max));
        svg.line("guide", (area.left, middle), (x.at(flow.latency_ns as f64), middle));
        for hop in &flow.hops {
            draw_hop(&mut svg, flow.flow, hop, middle - BAR / 2.0, &x);
        }
        if let Some(deadline_ns) = flow.deadline_ns.filter(|deadline_ns| *deadline_ns as f64 <= x.high()) {
            let at = x.at(deadline_ns as f64);
            svg.line("outside", (at, top + 2.0), (at, top + ROW - 2.0));
        }
        top += ROW;
    }
    not_drawn(
        &mut svg,
        (4.0, bottom),
        Anchor::Start,
        flows.len() - drawn.len(),
        ("more flow is", "more flows are"),
    );
    let described: Vec<String> = drawn
        .iter()
        .map(|flow| format!("{} takes {}.", harmless(&flow.name), format_duration_ns(flow.latency_ns)))
        .collect();
    Some(svg.finish(&Head {
        id,
        width: options.width,
        height: bottom + BELOW,
        title: &title,
        description: &described.join(" "),
        standalone: options.standalone,
        data: Vec::new(),
    }))
}

fn draw_hop(svg: &mut Svg, flow: usize, hop: &PathHop, top: f64, x: &Scale) {
    let from = x.at(hop.start_ns as f64);
    let to = x.at(hop.end_ns as f64).max(from + 1.0);
    let path =
        format!("M{} {}H{}V{}H{}Z", number(from), number(top), number(to), number(top + BAR), number(from));
    let name = harmless(&hop.link);
    let about = format!("{name}: {} to {}", format_duration_ns(hop.start_ns), format_duration_ns(hop.end_ns));
    svg.named_path(&colour(flow), &path, &about);
    if text_width(&name) + 6.0 < to - from {
        svg.text("inside", ((from + to) / 2.0, top + BAR - 3.0), Anchor::Middle, &name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_has_a_bar_for_each_link_and_a_tick_at_a_deadline_in_sight() {
        let hop = |link: &str, start_ns, end_ns| PathHop { link: link.to_owned(), start_ns, end_ns };
        let flow = FlowPath {
            flow: 2,
            name: "torque".to_owned(),
            hops: vec![hop("a→s", 0, 5000), hop("s→b", 7000, 12_000)],
            latency_ns: 12_000,
            deadline_ns: Some(12_500),
        };
        let svg = draw("paths", std::slice::from_ref(&flow), &Options::default()).unwrap();
        assert_eq!(svg.matches("class=\"dot s2\"").count(), 2, "{svg}");
        assert_eq!(svg.matches("class=\"outside\"").count(), 1, "{svg}");
        assert!(svg.contains("s→b: 7us to 12us"), "{svg}");
        let later = FlowPath { deadline_ns: Some(1_000_000), ..flow };
        assert!(!draw("paths", &[later], &Options::default()).unwrap().contains("class=\"outside\""));
        assert_eq!(draw("paths", &[], &Options::default()), None);
    }
}
