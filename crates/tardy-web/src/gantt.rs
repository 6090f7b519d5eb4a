//! The gates of every port over a cycle as a Gantt chart: a row for each traffic class with its open times, and a row for each
//! flow with the times at which its talker sends, its deadlines and, of a simulation, the times at which its frames arrived at the
//! listener. All times are from the base time of the port's schedule.

use tardy_plot::frame::Area;
use tardy_plot::numbers::{harmless, short};
use tardy_plot::scale::Scale;
use tardy_plot::svg::{Anchor, Head, Svg};
use tardy_record::Run;
use tardy_record::flow::FlowSeries;
use tardy_record::units::format_duration_ns;
use tardy_tsn::network::{Flow, Network, Pace, Port, PortId, Schedule, Switch};

const WIDTH: f64 = 860.0;
/// The room for the names of classes and flows.
const LEFT: f64 = 118.0;
const ROW: f64 = 22.0;
const BAR: f64 = 15.0;
/// The height of a bar of arrivals, below the dots of the same flow.
const ARRIVALS: f64 = 4.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 40.0;
/// More ports, or more bursts in a cycle, are not drawn: they would be one colour.
const PANEL_MAX: usize = 12;
const BURST_MAX: u64 = 200;
/// Longer names are shortened.
const NAME_MAX: usize = 16;
/// The number of colours of the style sheet.
const COLOURS: usize = 8;

/// The chart; `None` if no port has a schedule. With a simulated run it has the arrivals of the run's first phase.
pub(crate) fn draw(id: &str, network: &Network, simulated: Option<&Run>) -> Option<String> {
    let panels = panels(network, simulated);
    let height: f64 = panels.iter().map(Panel::height).sum();
    if panels.is_empty() {
        return None;
    }
    let mut svg = Svg::default();
    let mut top = 0.0;
    for panel in &panels {
        panel.draw(&mut svg, top);
        top += panel.height();
    }
    let described: Vec<String> = panels.iter().map(Panel::describe).collect();
    Some(svg.finish(&Head {
        id,
        width: WIDTH,
        height,
        title: "When the gates are open",
        description: &described.join(" "),
        standalone: false,
        data: Vec::new(),
    }))
}

/// A port with a schedule, and the flows that leave by it.
struct Panel<'n> {
    switch: &'n Switch,
    port: &'n Port,
    schedule: &'n Schedule,
    flows: Vec<&'n Flow>,
    /// The flows whose listener is behind the port, as they arrived there.
    arrived: Vec<&'n FlowSeries>,
}

fn panels<'n>(network: &'n Network, simulated: Option<&'n Run>) -> Vec<Panel<'n>> {
    let ways: Vec<(&Flow, Vec<PortId>)> =
        network.flows.iter().map(|flow| (flow, network.way_out(flow).unwrap_or_default())).collect();
    let mut panels = Vec::new();
    for (index, switch) in network.switches.iter().enumerate() {
        for (number, port) in switch.ports.iter().enumerate() {
            let Some(schedule) = port.schedule.as_ref().filter(|schedule| schedule.cycle_ns() > 0) else {
                continue;
            };
            let id = PortId { switch: index, port: number };
            let flows = ways.iter().filter(|(_, way)| way.contains(&id)).map(|(flow, _)| *flow).collect();
            let name =
                [port.interface.value.clone(), format!("{}/{}", switch.name.value, port.interface.value)];
            let series = simulated.iter().flat_map(|run| &run.series).filter(|series| series.phase == 0);
            let arrived = series.filter_map(|series| series.flow()).filter(|flow| name.contains(&flow.port));
            panels.push(Panel { switch, port, schedule, flows, arrived: arrived.collect() });
        }
    }
    panels.truncate(PANEL_MAX);
    panels
}

impl Panel<'_> {
    fn rows(&self) -> usize {
        self.switch.classes.len() + self.flows.len()
    }

    fn height(&self) -> f64 {
        ABOVE + ROW * self.rows() as f64 + BELOW
    }

    fn title(&self) -> String {
        let (switch, port) = (harmless(&self.switch.name.value), harmless(&self.port.interface.value));
        format!("{switch} {port}, a cycle of {}", format_duration_ns(self.schedule.cycle_ns()))
    }

    /// The open times of each class in words, for a screen reader.
    fn describe(&self) -> String {
        let of_class = |class: usize| {
            let windows = self.windows(class);
            let texts = windows.iter().map(|(from, to)| {
                format!("from {} to {}", format_duration_ns(*from), format_duration_ns(*to))
            });
            let name = harmless(&self.switch.class_name(class as u8));
            format!(
                "{name} is open {}",
                if windows.is_empty() { "never".to_owned() } else { texts.collect::<Vec<_>>().join(", ") }
            )
        };
        let classes: Vec<String> = (0..self.switch.classes.len()).map(of_class).collect();
        format!("{}: {}.", self.title(), classes.join("; "))
    }

    /// When the gate of `class` is open within a cycle; entries that follow each other are one time.
    fn windows(&self, class: usize) -> Vec<(u64, u64)> {
        let mut at = 0;
        let entries = self.schedule.gate_entries().into_iter().zip(self.schedule.running_ns());
        joined(entries.filter_map(|(entry, ns)| {
            let from = at;
            at += ns;
            (entry.gates >> class & 1 == 1 && ns > 0).then_some((from, at))
        }))
    }

    fn draw(&self, svg: &mut Svg, above: f64) {
        let cycle_ns = self.schedule.cycle_ns();
        let bottom = above + ABOVE + ROW * self.rows() as f64;
        let area = Area { left: LEFT, right: WIDTH - 12.0, top: above + ABOVE, bottom };
        let x = Scale::linear(0.0, cycle_ns as f64, area.left, area.right);
        svg.text("title", (4.0, above + 17.0), Anchor::Start, &short(&self.title(), 90));
        area.vertical_grid(svg, &x, &x.ticks(8), |ns| format_duration_ns(ns as u64));
        let mut middle = area.top + ROW / 2.0;
        for class in 0..self.switch.classes.len() {
            self.draw_class(svg, class, middle, &x, &area);
            middle += ROW;
        }
        for flow in &self.flows {
            self.draw_flow(svg, flow, middle, &x, &area);
            middle += ROW;
        }
    }

    fn draw_class(&self, svg: &mut Svg, class: usize, middle: f64, x: &Scale, area: &Area) {
        let name = harmless(&self.switch.class_name(class as u8));
        svg.text("", (LEFT - 8.0, middle + 4.0), Anchor::End, &short(&name, NAME_MAX));
        svg.line("hair", (area.left, middle + ROW / 2.0), (area.right, middle + ROW / 2.0));
        draw_bars(svg, &self.windows(class), class, middle - BAR / 2.0, Bar { height: BAR, least: 0.7 }, x);
    }

    /// A mark for each burst of a flow, and a line from it to the deadline.
    fn draw_flow(&self, svg: &mut Svg, flow: &Flow, middle: f64, x: &Scale, area: &Area) {
        let name = harmless(&flow.name.value);
        svg.text("soft", (LEFT - 8.0, middle + 4.0), Anchor::End, &short(&name, NAME_MAX));
        if let Some(arrived) = self.arrived.iter().find(|arrived| arrived.flow == flow.name.value) {
            draw_arrivals(svg, arrived, middle + ROW / 2.0 - ARRIVALS - 1.0, x);
        }
        let cycle_ns = self.schedule.cycle_ns();
        let Pace::Periodic { period_ns, offset_ns, .. } = flow.pace else {
            svg.text("soft", (area.left + 6.0, middle + 4.0), Anchor::Start, "sends without a pause");
            return;
        };
        let bursts = cycle_ns.div_ceil(period_ns.max(1)).min(BURST_MAX);
        for burst in 0..bursts {
            let sent_ns = offset_ns.saturating_add(burst.saturating_mul(period_ns)) % cycle_ns;
            let at = x.at(sent_ns as f64);
            if let Some(deadline) = &flow.limits.deadline_ns {
                let until = x.at(sent_ns.saturating_add(deadline.value).min(cycle_ns) as f64);
                svg.line("guide", (at, middle), (until, middle));
                svg.line("outside", (until, middle - 5.0), (until, middle + 5.0));
            }
            svg.dot("rest", (at, middle), 3.0);
        }
    }
}

/// A bar for each stretch of the cycle in which frames arrived.
fn draw_arrivals(svg: &mut Svg, flow: &FlowSeries, top: f64, x: &Scale) {
    let stretches = joined(flow.phases.bins.iter().map(|bin| {
        let from = u64::from(bin.index) * flow.phases.bin_ns;
        (from, from + flow.phases.bin_ns)
    }));
    draw_bars(svg, &stretches, flow.class.into(), top, Bar { height: ARRIVALS, least: 1.2 }, x);
}

/// Stretches of time, in order, with those that follow each other as one.
fn joined(stretches: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (from, to) in stretches {
        match all.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => all.push((from, to)),
        }
    }
    all
}

/// The height of bars, and the least width of one.
struct Bar {
    height: f64,
    least: f64,
}

/// A bar in the colour of a class for each stretch of time.
fn draw_bars(svg: &mut Svg, stretches: &[(u64, u64)], class: usize, top: f64, bar: Bar, x: &Scale) {
    let colour = format!("gate s{}", class % COLOURS);
    for (from, to) in stretches {
        let (left, right) = (x.at(*from as f64), x.at(*to as f64));
        svg.rectangle(&colour, (left, top), (right - left).max(bar.least), bar.height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_tsn::file;

    fn draw(network: &Network) -> Option<String> {
        super::draw("gates", network, None)
    }

    const TWO_FLOWS: &str = include_str!("../../../recipes/tsn-two-flows.toml");

    #[test]
    fn a_class_has_a_bar_while_its_gate_is_open() {
        let network = file::parse(TWO_FLOWS).unwrap();
        let svg = draw(&network).unwrap();
        assert!(
            svg.contains(
                "tsn0 swp1, a cycle of 1ms: blue is open from 0s to 800us; red is open from 800us to 1ms."
            ),
            "{svg}"
        );
        let bars: Vec<&str> =
            svg.match_indices("class=\"gate s").map(|(at, _)| &svg[at + 12..at + 14]).collect();
        assert_eq!(bars, ["s0", "s1"]);
    }

    #[test]
    fn a_periodic_flow_has_a_dot_for_each_burst_and_a_deadline() {
        let periodic = TWO_FLOWS.replacen("flat_out = true", "period = \"500us\"\ndeadline = \"100us\"", 1);
        let svg = draw(&file::parse(&periodic).unwrap()).unwrap();
        assert_eq!(svg.matches("class=\"dot rest\"").count(), 2, "{svg}");
        assert_eq!(svg.matches("class=\"outside\"").count(), 2, "{svg}");
        assert!(svg.contains("sends without a pause"), "the other flow");
    }

    #[test]
    fn a_switch_without_a_schedule_has_no_chart() {
        let network = file::parse(TWO_FLOWS.split("base_time").next().unwrap()).unwrap();
        assert_eq!(draw(&network), None);
    }
}
