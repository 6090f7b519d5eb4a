//! How much of its deadline each flow uses: a bar to its latency, a tick at its bound, and a dot at the longest simulated time.

use tardy_record::units::format_duration_ns;

use super::Options;
use super::frame::Area;
use super::link_frames::{BAR, ROW, colour, names, not_drawn};
use super::numbers::{harmless, short};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};

const TOP: f64 = 30.0;
const BELOW: f64 = 40.0;
/// The most rows that are drawn.
const ROWS_MAX: usize = 40;
/// The end of the axis, as a share of the deadline: a bound can be beyond it.
const END: f64 = 1.2;

/// A flow with a deadline. Times are in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSlack {
    /// Its number, which has its colour.
    pub flow: usize,
    /// Its name.
    pub name: String,
    /// Its latency in the schedule.
    pub latency_ns: u64,
    /// The longest simulated time.
    pub simulated_ns: Option<u64>,
    /// The longest possible time.
    pub bound_ns: Option<u64>,
    /// The limit.
    pub deadline_ns: u64,
}

/// Draws the first flows. Returns `None` without flows.
pub fn draw(id: &str, flows: &[FlowSlack], options: &Options) -> Option<String> {
    let drawn = &flows[..flows.len().min(ROWS_MAX)];
    if drawn.is_empty() {
        return None;
    }
    let (left, name_max) = names(options);
    let bottom = TOP + ROW * drawn.len() as f64;
    let area = Area { left, right: options.width - 12.0, top: TOP, bottom };
    let x = Scale::linear(0.0, END, area.left, area.right);
    let mut svg = Svg::default();
    let title = "Latency as a share of the deadline";
    svg.text("title", (4.0, 17.0), Anchor::Start, title);
    area.vertical_grid(&mut svg, &x, &[0.0, 0.25, 0.5, 0.75, 1.0], |share| format!("{} %", share * 100.0));
    let mut top = TOP;
    for flow in drawn {
        let middle = top + ROW / 2.0;
        svg.text("", (left - 8.0, middle + 4.0), Anchor::End, &short(&harmless(&flow.name), name_max));
        let share = |ns: u64| x.at(ns as f64 / flow.deadline_ns.max(1) as f64);
        svg.rectangle(
            &colour(flow.flow),
            (area.left, middle - BAR / 2.0),
            (share(flow.latency_ns) - area.left).max(1.0),
            BAR,
        );
        if let Some(bound_ns) = flow.bound_ns {
            svg.line("pool", (share(bound_ns), top + 2.0), (share(bound_ns), top + ROW - 2.0));
        }
        if let Some(simulated_ns) = flow.simulated_ns {
            svg.dot("rest", (share(simulated_ns), middle), 3.0);
        }
        top += ROW;
    }
    svg.line("limit", (x.at(1.0), area.top), (x.at(1.0), area.bottom));
    not_drawn(
        &mut svg,
        (area.right, bottom),
        Anchor::End,
        flows.len() - drawn.len(),
        ("more flow is", "more flows are"),
    );
    let described: Vec<String> = drawn.iter().map(describe).collect();
    Some(svg.finish(&Head {
        id,
        width: options.width,
        height: bottom + BELOW,
        title,
        description: &described.join(" "),
        standalone: options.standalone,
        data: Vec::new(),
    }))
}

fn describe(flow: &FlowSlack) -> String {
    format!(
        "{}: {} of {}.",
        harmless(&flow.name),
        format_duration_ns(flow.latency_ns),
        format_duration_ns(flow.deadline_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_has_a_bar_a_dot_and_a_tick_within_the_drawing() {
        let flow = FlowSlack {
            flow: 0,
            name: "torque".to_owned(),
            latency_ns: 50,
            simulated_ns: Some(60),
            bound_ns: Some(500),
            deadline_ns: 100,
        };
        let svg = draw("slack", std::slice::from_ref(&flow), &Options::default()).unwrap();
        let right = Options::default().width - 12.0;
        assert!(
            svg.contains(&format!("class=\"pool\" d=\"M{right} ")),
            "a bound beyond the end is at it: {svg}"
        );
        assert_eq!(svg.matches("class=\"dot rest\"").count(), 1);
        assert!(svg.contains("torque: 50ns of 100ns."), "{svg}");
        let without = FlowSlack { simulated_ns: None, bound_ns: None, ..flow };
        let svg = draw("slack", &[without], &Options::default()).unwrap();
        assert!(!svg.contains("class=\"pool\"") && !svg.contains("class=\"dot rest\""), "{svg}");
        assert_eq!(draw("slack", &[], &Options::default()), None);
    }
}
