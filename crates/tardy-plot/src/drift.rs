//! The plot of the phase in the cycle at which frames arrived, over the time of the test.
//!
//! A slope means that the kernel runs the schedule with a wrong cycle, or that clocks drift apart; a gap means that the
//! gate timer stopped.

use tardy_analyse::flows::{FlowFindings, FlowPhase};
use tardy_record::Run;
use tardy_record::flow::FlowSeries;

use super::Options;
use super::curve;
use super::frame::{Area, latency_label};
use super::scale::{Scale, time_label, time_ticks};
use super::svg::{Anchor, Head, Svg, number};
use super::timeline::span_ns;
use crate::numbers::{harmless, short};

/// Height of a line of names.
const LINE_HEIGHT: f64 = 13.0;

/// The phases over time; `None` if no flow has any.
pub fn draw(id: &str, run: &Run, phases: &[FlowPhase], options: &Options) -> Option<String> {
    let lanes = lanes(run, phases);
    let cycle_ns =
        lanes.iter().filter(|lane| !lane.flow.drift.is_empty()).map(|lane| lane.flow.cycle_ns).max()?;
    let mut svg = Svg::default();
    let height = if options.narrow() { 260.0 } else { 300.0 };
    let area = Area { left: 52.0, right: options.width - 12.0, top: 26.0, bottom: height - 40.0 };
    let span = span_ns(run);
    let x = Scale::linear(0.0, span, area.left, area.right);
    let y = Scale::linear(0.0, cycle_ns as f64, area.bottom, area.top);
    for lane in &lanes {
        lane.draw_slots(&mut svg, run, &x, &y);
    }
    area.horizontal_grid(&mut svg, &y, &y.ticks(6), latency_label);
    area.vertical_grid(&mut svg, &x, &time_ticks(0.0, span, if options.narrow() { 4 } else { 8 }), |at| {
        time_label(at, span)
    });
    for lane in &lanes {
        svg.path(&format!("curve thin {}", lane.class), &lane.bars(&x, &y));
    }
    area.name_y(&mut svg, "phase in the cycle, µs");
    area.name_x(&mut svg, "time from the start");
    area.mark(&mut svg, options.mark);
    name_flows(&mut svg, &area, &lanes);
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Phase over time",
        description: "For each interval and each flow, from the earliest to the latest phase of the cycle at which \
                      a frame arrived, with the median marked; the slots of its class are in the background.",
        standalone: options.standalone,
        data: vec![("kind", "drift".into())],
    };
    Some(svg.finish(&head))
}

/// A flow in one phase of the test. A flow has the same colour in all phases.
struct Lane<'a> {
    phase: usize,
    found: &'a FlowFindings,
    flow: &'a FlowSeries,
    class: &'static str,
}

fn lanes<'a>(run: &'a Run, phases: &'a [FlowPhase]) -> Vec<Lane<'a>> {
    let mut names: Vec<&str> = Vec::new();
    for flow in phases.iter().flat_map(|phase| &phase.flows) {
        if !names.contains(&flow.flow.as_str()) {
            names.push(&flow.flow);
        }
    }
    let weights: Vec<i64> = (0..names.len() as i64).rev().collect();
    let classes = curve::classes(&weights);
    let lane = |phase: usize, found: &'a FlowFindings| {
        let place = names.iter().position(|name| *name == found.flow)?;
        Some(Lane { phase, found, flow: run.series[found.series].flow()?, class: classes[place] })
    };
    phases
        .iter()
        .flat_map(|phase| phase.flows.iter().map(move |flow| (phase.phase, flow)))
        .filter_map(|(phase, flow)| lane(phase, flow))
        .collect()
}

impl Lane<'_> {
    /// Draws the slots of the flow for the duration of its phase, if a schedule was in operation.
    fn draw_slots(&self, svg: &mut Svg, run: &Run, x: &Scale, y: &Scale) {
        let phase = &run.phases[self.phase];
        let until_ns = phase.end_ns.map_or(x.high(), |end| end as f64);
        let (left, right) = (x.at(phase.start_ns as f64), x.at(until_ns));
        for slot in self.found.slots.iter().filter(|_| !self.flow.windows.is_empty()) {
            let (open, close) = (slot.window.open_ns, slot.window.close_ns);
            let mut band = |from: u64, to: u64| {
                let (top, bottom) = (y.at(to as f64), y.at(from as f64));
                svg.rectangle(&format!("slot {}", self.class), (left, top), right - left, bottom - top);
            };
            band(open, close.min(self.flow.cycle_ns));
            if close > self.flow.cycle_ns {
                band(0, close - self.flow.cycle_ns);
            }
        }
    }

    /// A bar from the earliest to the latest phase of each interval, with a short line at the median.
    fn bars(&self, x: &Scale, y: &Scale) -> String {
        let bar = |slice: &tardy_record::flow::PhaseSlice| {
            let (left, right) = (x.at(slice.start_ns as f64), x.at(slice.end_ns as f64));
            let middle = number(f64::midpoint(left, right));
            let [lowest, median, highest] =
                [slice.min_ns, slice.median_ns, slice.max_ns].map(|phase| number(y.at(phase as f64)));
            let (from, to) = (number(left + (right - left) * 0.2), number(right - (right - left) * 0.2));
            format!("M{middle} {lowest}V{highest}M{from} {median}H{to}")
        };
        self.flow.drift.iter().filter(|slice| slice.frames > 0).map(bar).collect()
    }
}

fn name_flows(svg: &mut Svg, area: &Area, lanes: &[Lane<'_>]) {
    let mut named: Vec<&str> = Vec::new();
    for lane in lanes {
        if !named.contains(&lane.flow.flow.as_str()) {
            named.push(&lane.flow.flow);
            let at = (area.right - 6.0, area.top + LINE_HEIGHT * named.len() as f64);
            svg.text(
                &format!("halo {}", lane.class),
                at,
                Anchor::End,
                &short(&harmless(&lane.flow.flow), 24),
            );
        }
    }
}
