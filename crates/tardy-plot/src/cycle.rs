//! The plot of arrivals in the cycle: the rate of each flow over the cycle, with its slots in the background, and a
//! panel for each phase of the test.
//!
//! Frames outside a slot are too few to be visible as a rate, so they are marked by ticks below the axis.

use tardy_analyse::flows::{FlowFindings, FlowPhase};
use tardy_record::Run;
use tardy_record::flow::{FlowSeries, Window};

use super::Options;
use super::curve;
use super::frame::{Area, latency_label, spread};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, number, steps};
use crate::numbers::{counted, harmless, prefixed, short, three_digits};

/// Heights of a panel's drawing area and of the margins above and below it.
const PANEL: f64 = 150.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = 46.0;
/// Approximate width of a column, in CSS pixels: narrower columns would show only noise.
const COLUMN: f64 = 3.0;
/// The largest number of panels; further ones are left out. A test has two.
const PANEL_MAX: usize = 8;
/// Height of a line of names.
const LINE_HEIGHT: f64 = 13.0;

/// The flows of one phase that leave by the same port and thus share its schedule.
struct Panel<'a> {
    title: String,
    flows: Vec<Lane<'a>>,
    cycle_ns: u64,
}

/// One flow of a panel.
struct Lane<'a> {
    found: &'a FlowFindings,
    flow: &'a FlowSeries,
    class: &'static str,
    cycles: f64,
    /// The speed of the link that it leaves by, in bit/s.
    link_bps: Option<u64>,
}

/// The rate over the cycle; `None` if the run has no flows.
pub fn draw(id: &str, run: &Run, phases: &[FlowPhase], options: &Options) -> Option<String> {
    let panels = panels(run, phases);
    if panels.is_empty() {
        return None;
    }
    let height = panels.len() as f64 * (ABOVE + PANEL + BELOW);
    let columns = ((options.width - 64.0) / COLUMN) as u64;
    let highest = panels.iter().flat_map(|panel| &panel.flows).map(|lane| lane.highest_bps(columns));
    let highest = highest.fold(1.0, f64::max);
    let mut svg = Svg::default();
    for (number, panel) in panels.iter().enumerate() {
        let top = number as f64 * (ABOVE + PANEL + BELOW) + ABOVE;
        let area = Area { left: 52.0, right: options.width - 12.0, top, bottom: top + PANEL };
        panel.draw(&mut svg, &area, highest, columns, options);
    }
    let described: Vec<String> = panels.iter().map(Panel::describe).collect();
    let head = Head {
        id,
        width: options.width,
        height,
        title: "When in the cycle frames arrived",
        description: &described.join(" "),
        standalone: options.standalone,
        data: vec![("kind", "cycle".into())],
    };
    Some(svg.finish(&head))
}

fn panels<'a>(run: &'a Run, phases: &'a [FlowPhase]) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for phase in phases {
        let mut ports: Vec<&str> = Vec::new();
        for flow in &phase.flows {
            if !ports.contains(&flow.port.as_str()) {
                ports.push(&flow.port);
            }
        }
        for port in &ports {
            let title =
                if ports.len() > 1 { format!("{}, {port}", phase.label) } else { phase.label.clone() };
            let flows = lanes(run, phase.flows.iter().filter(|flow| flow.port == *port).collect());
            let cycle_ns = flows.iter().map(|lane| lane.flow.cycle_ns).max().unwrap_or(1);
            let title = match link_bps(run, port) {
                Some(bps) => {
                    format!("{}, a link of {}bit/s", short(&harmless(&title), 60), prefixed(bps as f64))
                }
                None => short(&harmless(&title), 60),
            };
            panels.push(Panel { title, flows, cycle_ns });
        }
    }
    panels.truncate(PANEL_MAX);
    panels
}

/// The speed of the link at a port, if the run has it.
fn link_bps(run: &Run, port: &str) -> Option<u64> {
    let mut ports = run.switch.iter().flat_map(|switch| &switch.ports);
    ports.find(|known| known.port == port)?.link_bps.get().filter(|bps| *bps > 0)
}

fn lanes<'a>(run: &'a Run, flows: Vec<&'a FlowFindings>) -> Vec<Lane<'a>> {
    let weights: Vec<i64> = flows.iter().map(|flow| flow.received as i64).collect();
    let lane = |(found, class): (&'a FlowFindings, &'static str)| {
        let series = &run.series[found.series];
        let flow = series.flow()?;
        let cycles = series.counted_ns as f64 / flow.cycle_ns as f64;
        Some(Lane { found, flow, class, cycles, link_bps: link_bps(run, &flow.port) })
    };
    flows.into_iter().zip(curve::classes(&weights)).filter_map(lane).collect()
}

impl Panel<'_> {
    fn draw(&self, svg: &mut Svg, area: &Area, highest_bps: f64, columns: u64, options: &Options) {
        let x = Scale::linear(0.0, self.cycle_ns as f64, area.left, area.right);
        let y = Scale::linear(0.0, highest_bps * 1.05, area.bottom, area.top);
        for lane in &self.flows {
            lane.draw_slots(svg, area, &x);
        }
        area.horizontal_grid(svg, &y, &y.ticks(4), |bps| three_digits(bps / 1e6));
        area.vertical_grid(svg, &x, &x.ticks(if options.narrow() { 5 } else { 10 }), latency_label);
        svg.text("soft", (4.0, area.top - 8.0), Anchor::Start, "Mbit/s");
        svg.text("", (area.left, area.top - 8.0), Anchor::Start, &self.title);
        area.name_x(svg, "phase in the cycle, µs");
        for lane in &self.flows {
            svg.path(&format!("curve thin {}", lane.class), &lane.outline(columns, &x, &y));
        }
        for lane in &self.flows {
            svg.path("outside", &lane.ticks_outside(area, &x));
        }
        area.mark(svg, options.mark);
        self.name_flows(svg, area);
    }

    /// Draws the name of each flow in its colour, at the right.
    fn name_flows(&self, svg: &mut Svg, area: &Area) {
        let wanted: Vec<f64> = self.flows.iter().map(|_| area.top + LINE_HEIGHT).collect();
        let places = spread(&wanted, LINE_HEIGHT, area.top + LINE_HEIGHT, area.bottom - 4.0);
        for (lane, at) in self.flows.iter().zip(places) {
            let name = short(&harmless(&lane.flow.flow), 24);
            svg.text(&format!("halo {}", lane.class), (area.right - 6.0, at), Anchor::End, &name);
        }
    }

    fn describe(&self) -> String {
        let flow = |lane: &Lane<'_>| {
            let outside = lane.found.outside.map_or_else(String::new, |share| {
                format!(", {} % of them outside its slot", three_digits(share * 100.0))
            });
            let frames = counted(lane.flow.frames.received, "frame", "frames");
            format!("{}: {frames}{outside}", harmless(&lane.flow.flow))
        };
        format!("{}: {}.", self.title, self.flows.iter().map(flow).collect::<Vec<_>>().join("; "))
    }
}

impl Lane<'_> {
    fn draw_slots(&self, svg: &mut Svg, area: &Area, x: &Scale) {
        for slot in &self.found.slots {
            let Window { open_ns, close_ns, guard_ns } = slot.window;
            self.band(svg, area, x, "slot", (open_ns, close_ns));
            if guard_ns > 0 && guard_ns < close_ns - open_ns {
                self.band(svg, area, x, "guard", (close_ns - guard_ns, close_ns));
            }
        }
    }

    /// Draws a part of the cycle; a part beyond the end of the cycle continues at its beginning.
    fn band(&self, svg: &mut Svg, area: &Area, x: &Scale, what: &str, (from_ns, to_ns): (u64, u64)) {
        let cycle_ns = self.flow.cycle_ns;
        let class = format!("{what} {}", self.class);
        let mut draw = |from: u64, to: u64| {
            let (left, right) = (x.at(from as f64), x.at(to as f64));
            svg.rectangle(&class, (left, area.top), right - left, area.bottom - area.top);
        };
        if from_ns >= cycle_ns {
            draw(from_ns - cycle_ns, to_ns - cycle_ns);
        } else {
            draw(from_ns, to_ns.min(cycle_ns));
            if to_ns > cycle_ns {
                draw(0, to_ns - cycle_ns);
            }
        }
    }

    /// Bytes on the wire in each column, and the width of a column in ns. A frame occupies the link for the time that it
    /// takes at the link's speed, up to its arrival.
    fn columns(&self, wanted: u64) -> (Vec<f64>, u64) {
        let bin_ns = self.flow.phases.bin_ns.max(1);
        let bins_a_column = self.flow.cycle_ns.div_ceil(bin_ns).div_ceil(wanted.max(1)).max(1);
        let width_ns = bins_a_column * bin_ns;
        let mut columns = vec![0.0; self.flow.cycle_ns.div_ceil(width_ns).max(1) as usize];
        for bin in &self.flow.phases.bins {
            let arrived_ns = u64::from(bin.index) * bin_ns + bin_ns / 2;
            self.add_frames(&mut columns, width_ns as f64, arrived_ns as f64, (bin.frames, bin.wire_bytes));
        }
        (columns, width_ns)
    }

    /// Adds frames that arrived at the same phase to the columns in which they were on the wire.
    fn add_frames(&self, columns: &mut [f64], width_ns: f64, arrived_ns: f64, (frames, bytes): (u64, u64)) {
        let wire_ns =
            self.link_bps.map_or(0.0, |bps| bytes as f64 * 8e9 / (frames.max(1) as f64 * bps as f64));
        let last = (arrived_ns / width_ns) as usize;
        let wire_ns = wire_ns.min(width_ns * columns.len() as f64);
        let mut left_ns = wire_ns;
        let mut to_ns = arrived_ns;
        // From the arrival backwards, across the start of the cycle.
        for back in 0..=columns.len() {
            let column = (last + 2 * columns.len() - back) % columns.len();
            let from_ns = (last as f64 - back as f64) * width_ns;
            let part_ns = (to_ns - from_ns).min(left_ns);
            let share = if wire_ns > 0.0 { part_ns / wire_ns } else { 1.0 };
            columns[column] += bytes as f64 * share;
            left_ns -= part_ns;
            to_ns = from_ns;
            if left_ns <= 0.0 {
                break;
            }
        }
    }

    fn rate_bps(&self, bytes: f64, width_ns: u64) -> f64 {
        bytes * 8e9 / (self.cycles.max(1.0) * width_ns as f64)
    }

    fn highest_bps(&self, wanted: u64) -> f64 {
        let (columns, width_ns) = self.columns(wanted);
        columns.into_iter().map(|bytes| self.rate_bps(bytes, width_ns)).fold(0.0, f64::max)
    }

    fn outline(&self, wanted: u64, x: &Scale, y: &Scale) -> String {
        let (columns, width_ns) = self.columns(wanted);
        let step = |(column, bytes): (usize, f64)| {
            let from = column as f64 * width_ns as f64;
            (x.at(from), x.at(from + width_ns as f64), y.at(self.rate_bps(bytes, width_ns)))
        };
        let occupied = columns.into_iter().enumerate().filter(|(_, bytes)| *bytes > 0.0);
        steps(&occupied.map(step).collect::<Vec<_>>(), y.at(0.0))
    }

    /// A tick below the axis for each occupied bin outside the slots; none without a schedule.
    fn ticks_outside(&self, area: &Area, x: &Scale) -> String {
        if self.flow.windows.is_empty() || self.flow.out_of_slot() == 0 {
            return String::new();
        }
        let (bin_ns, cycle_ns) = (self.flow.phases.bin_ns, self.flow.cycle_ns);
        let is_inside = |at_ns: u64| {
            self.flow.windows.iter().any(|window| {
                (at_ns + cycle_ns - window.open_ns) % cycle_ns < window.close_ns - window.open_ns
            })
        };
        let tick = |at_ns: u64| {
            let at = number(x.at(at_ns as f64));
            format!("M{at} {}V{}", number(area.bottom + 1.0), number(area.bottom + 6.0))
        };
        let middles = self.flow.phases.bins.iter().map(|bin| u64::from(bin.index) * bin_ns + bin_ns / 2);
        middles.filter(|middle| !is_inside(*middle)).map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use tardy_analyse::flows;
    use tardy_record::file;

    use super::*;

    /// A flow that fills a link of 100 Mbit/s in bursts, from the simulator.
    #[test]
    fn the_rate_on_the_wire_is_not_above_the_links() {
        let run =
            file::from_text(include_bytes!("../../tardy/tests/run_files/switch-simulated.run.json")).unwrap();
        let phases = flows::of(&run);
        let panels = panels(&run, &phases);
        let lanes: Vec<&Lane<'_>> = panels.iter().flat_map(|panel| &panel.flows).collect();
        assert_eq!(lanes.len(), 4);
        for lane in lanes {
            assert_eq!(lane.link_bps, Some(100_000_000));
            for columns in [50, 300, 900] {
                let highest = lane.highest_bps(columns);
                assert!((1e6..110e6).contains(&highest), "{}: {highest} with {columns}", lane.flow.flow);
                let (bytes, _) = lane.columns(columns);
                let all: u64 = lane.flow.phases.bins.iter().map(|bin| bin.wire_bytes).sum();
                assert!((bytes.iter().sum::<f64>() - all as f64).abs() < 1.0, "no byte is lost");
            }
        }
    }
}
