//! The plot of gaps over time: a strip for each CPU with a mark for each gap, as a logic analyser shows a pin that a
//! busy loop toggles.
//!
//! Only the beginning of the run is drawn, since single gaps would not be visible in a drawing of a long run.

use tardy_analyse::noise::NoisePhase;
use tardy_record::Run;
use tardy_record::gaps::{Gap, GapSeries};

use super::Options;
use super::curve;
use super::frame::{Area, latency_label};
use super::scale::{Scale, time_ticks};
use super::svg::{Anchor, Head, Svg, number};
use crate::numbers::{harmless, short};

/// Height of a CPU's strip.
const STRIP_HEIGHT: f64 = 74.0;
/// The largest number of CPUs that are drawn.
const STRIPS_MAX: usize = 8;
/// The approximate number of gaps that are drawn for the CPU with the most gaps.
const GAPS_SHOWN: usize = 120;
/// The longest time that is drawn, in ns.
const SPAN_MAX_NS: u64 = 100_000_000;
/// The shortest time that is drawn, in ns.
const SPAN_MIN_NS: u64 = 1_000_000;

/// Draws the beginning of `phase`; `None` if no times of gaps were kept.
pub fn draw(id: &str, run: &Run, phase: &NoisePhase, options: &Options) -> Option<String> {
    let lanes: Vec<(&str, &GapSeries)> = (phase.cpus.iter())
        .filter_map(|cpu| Some((cpu.label.as_str(), run.series[cpu.series].gaps()?)))
        .filter(|(_, gaps)| gaps.first.count() > 0)
        .take(STRIPS_MAX)
        .collect();
    let from_ns = lanes.iter().map(|(_, gaps)| gaps.first.start_ns).min()?;
    let span_ns = span_ns(&lanes, from_ns);
    let shown = |gaps: &GapSeries| -> Vec<Gap> {
        gaps.first.gaps().take_while(|gap| gap.at_ns < from_ns + span_ns).collect()
    };
    let longest = lanes.iter().flat_map(|(_, gaps)| shown(gaps)).map(|gap| gap.length_ns).max()?;
    let shortest = lanes.iter().map(|(_, gaps)| gaps.threshold_ns).min()?;
    let mut svg = Svg::default();
    let bottom = 26.0 + STRIP_HEIGHT * lanes.len() as f64;
    let height = bottom + 40.0;
    let area = Area { left: 52.0, right: options.width - 12.0, top: 26.0, bottom };
    let x = Scale::linear(0.0, span_ns as f64, area.left, area.right);
    let ticks = time_ticks(0.0, span_ns as f64, if options.narrow() { 4 } else { 8 });
    let classes = curve::classes(&(0..lanes.len() as i64).rev().collect::<Vec<_>>());
    for (place, (label, gaps)) in lanes.iter().enumerate() {
        let top = area.top + STRIP_HEIGHT * place as f64;
        let strip = Area { top: top + 14.0, bottom: top + STRIP_HEIGHT, ..area };
        let high = (longest as f64 * 1.5).max(shortest as f64 * 4.0);
        let y = Scale::logarithmic(shortest as f64 / 1.2, high, strip.bottom, strip.top);
        strip.horizontal_grid(&mut svg, &y, &y.ticks(3), latency_label);
        svg.path(
            &format!("curve thin {}", classes[place]),
            &marks(&shown(gaps), from_ns, &x, &y, strip.bottom),
        );
        svg.text("halo", (area.left + 4.0, strip.top + 8.0), Anchor::Start, &short(&harmless(label), 24));
        svg.line("axis", (area.left, strip.bottom), (area.right, strip.bottom));
    }
    area.vertical_grid(&mut svg, &x, &ticks, |at| crate::numbers::three_digits(at / 1e6));
    area.name_y(&mut svg, "length of the gap, µs");
    area.name_x(&mut svg, "time from the first gap, ms");
    area.mark(&mut svg, options.mark);
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Gaps over time",
        description: "For each CPU, the time and the length of each gap at the beginning of the run.",
        standalone: options.standalone,
        data: vec![("kind", "strip".into())],
    };
    Some(svg.finish(&head))
}

/// The length of the time that is drawn, in ns, so that the gaps of the CPU with the most gaps are distinguishable.
fn span_ns(lanes: &[(&str, &GapSeries)], from_ns: u64) -> u64 {
    let until = |gaps: &GapSeries| gaps.first.gaps().nth(GAPS_SHOWN).map(|gap| gap.at_ns - from_ns);
    let all_ns = lanes.iter().filter_map(|(_, gaps)| gaps.first.gaps().last());
    let all_ns = all_ns.map(|gap| gap.at_ns + gap.length_ns - from_ns).max().unwrap_or(0);
    let busiest_ns = lanes.iter().filter_map(|(_, gaps)| until(gaps)).min().unwrap_or(all_ns);
    busiest_ns.clamp(SPAN_MIN_NS, SPAN_MAX_NS)
}

/// A rectangle on the axis for each gap: both its width and its height show the length of the gap.
fn marks(gaps: &[Gap], from_ns: u64, x: &Scale, y: &Scale, floor: f64) -> String {
    let mark = |gap: &Gap| {
        let since_ns = gap.at_ns - from_ns;
        let left = x.at(since_ns as f64);
        let right = x.at((since_ns + gap.length_ns) as f64).min(x.at(x.high()));
        let top = number(y.at(gap.length_ns as f64));
        format!("M{} {}V{top}H{}V{}", number(left), number(floor), number(right), number(floor))
    };
    gaps.iter().map(mark).collect()
}
