//! The environment as panels of the timeline: readings of one kind and unit share a panel.

use tardy_record::Run;
use tardy_record::environment::{EnvSeries, Merge};
use tardy_record::load::LoadPart;

use super::curve;
use crate::numbers::{harmless, per_second, short, three_digits};
use crate::worst_cpus::SHOWN_MAX;

/// The largest number of panels; further ones are left out.
const PANEL_MAX: usize = 14;
/// Larger readings are clamped to this.
const VALUE_MAX: f64 = 1e18;

/// Readings that share an axis.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The quantity, with its unit.
    pub name: String,
    /// The lines, the prominent ones first.
    pub lines: Vec<Line>,
    /// How many lines were left out.
    pub left_out: usize,
    /// Lower end of its axis.
    pub low: f64,
    /// Upper end of its axis.
    pub high: f64,
}

/// One line of a panel.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its label; empty if there is only one line.
    pub label: String,
    /// CSS class of its colour.
    pub class: &'static str,
    /// Time in ns from the start of the run, and value.
    pub points: Vec<(u64, f64)>,
}

/// The panels of `run`: loads first, then the environment in the order of the run file.
pub fn panels(run: &Run) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for load in &run.loads {
        let parts = load.parts.iter().filter(|part| !part.unit.is_empty() && part.at_ns.len() > 1);
        panels.extend(parts.map(|part| load_panel(&load.spec, part)));
    }
    let mut groups: Vec<(&str, &str, Vec<&EnvSeries>)> = Vec::new();
    for series in run.environment.series.iter().filter(|series| !series.values.is_empty()) {
        match groups.iter_mut().find(|(name, unit, _)| *name == series.name && *unit == series.unit) {
            Some((_, _, group)) => group.push(series),
            None => groups.push((&series.name, &series.unit, vec![series])),
        }
    }
    panels.extend(groups.into_iter().map(|(name, unit, group)| environment_panel(name, unit, &group)));
    panels.truncate(PANEL_MAX);
    panels
}

fn load_panel(spec: &str, part: &LoadPart) -> Panel {
    // A rate holds for an interval, so it is drawn as a step.
    let points = part.rates().into_iter().flat_map(|(from, to, rate)| [(from, rate), (to, rate)]).collect();
    let name =
        format!("load {}: {}, {}/s", short(&harmless(spec), 24), harmless(&part.name), harmless(&part.unit));
    panel(name, vec![(String::new(), points)], true, false)
}

fn environment_panel(name: &str, unit: &str, group: &[&EnvSeries]) -> Panel {
    let lines = group.iter().map(|series| {
        let of = harmless(&series.of);
        let label = match (series.cpu, of.is_empty()) {
            (Some(cpu), true) => format!("cpu {cpu}"),
            (Some(cpu), false) => format!("{of}, cpu {cpu}"),
            (None, _) => of,
        };
        (label, steps(series))
    });
    let from_zero = group.iter().all(|series| series.merge == Merge::Mean);
    let lowest_first = group.iter().all(|series| series.merge == Merge::Min);
    panel(format!("{}, {}", harmless(name), harmless(unit)), lines.collect(), from_zero, lowest_first)
}

/// The readings as steps: each holds from the reading before it, since nothing was read in between. The first one holds for as
/// long as the second, or from the start of the run if it is the only one.
fn steps(series: &EnvSeries) -> Vec<(u64, f64)> {
    let first_ns = match series.at_ns[..] {
        [first, second, ..] => first.saturating_sub(second - first),
        _ => 0,
    };
    let begins = std::iter::once(first_ns).chain(series.at_ns.iter().copied());
    let readings = begins.zip(&series.at_ns).zip(&series.values);
    readings.flat_map(|((from, to), value)| [(from, *value), (*to, *value)]).collect()
}

/// A panel of these lines. Of many CPUs the ones with the highest values are drawn, or those with the lowest if
/// `lowest_first`.
fn panel(name: String, lines: Vec<(String, Vec<(u64, f64)>)>, from_zero: bool, lowest_first: bool) -> Panel {
    let clamp = |points: Vec<(u64, f64)>| -> Vec<(u64, f64)> {
        points.into_iter().map(|(at, value)| (at, value.clamp(-VALUE_MAX, VALUE_MAX))).collect()
    };
    let mut lines: Vec<(String, Vec<(u64, f64)>)> =
        lines.into_iter().map(|(label, points)| (label, clamp(points))).collect();
    let highest = |points: &[(u64, f64)]| points.iter().map(|(_, value)| *value).fold(-VALUE_MAX, f64::max);
    let lowest = |points: &[(u64, f64)]| points.iter().map(|(_, value)| *value).fold(VALUE_MAX, f64::min);
    let left_out = lines.len().saturating_sub(SHOWN_MAX);
    if left_out > 0 && lowest_first {
        lines.sort_by(|a, b| lowest(&a.1).total_cmp(&lowest(&b.1)));
    } else if lines.len() > curve::COLOURS {
        lines.sort_by(|a, b| highest(&b.1).total_cmp(&highest(&a.1)));
    }
    lines.truncate(SHOWN_MAX);
    let weights: Vec<i64> = (0..lines.len() as i64).rev().collect();
    let values = || lines.iter().flat_map(|(_, points)| points).map(|(_, value)| *value);
    let (low, high) = (values().fold(VALUE_MAX, f64::min), values().fold(-VALUE_MAX, f64::max));
    let low = if from_zero { low.min(0.0) } else { low };
    // For constant readings the axis is widened: 0 is at its lower end, any other value in the middle.
    let (low, high) = match high > low {
        true => (low, high),
        false if high == 0.0 => (0.0, 1.0),
        false => (low - 1.0, high + 1.0),
    };
    let classes = curve::classes(&weights);
    let lines = lines
        .into_iter()
        .zip(classes)
        .map(|((label, points), class)| Line { label, class, points })
        .collect();
    Panel { name, lines, left_out, low, high }
}

/// The label of a value at a panel's axis.
pub fn value_label(value: f64) -> String {
    let text = if value.abs() >= 10_000.0 { per_second(value, "") } else { three_digits(value) };
    text.trim_end_matches("/s").trim().replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_holds_from_the_one_before_it() {
        let series = |at_ns: &[u64], values: &[f64]| EnvSeries {
            name: "context switches".into(),
            of: String::new(),
            cpu: None,
            unit: "1/s".into(),
            merge: Merge::Mean,
            at_ns: at_ns.to_vec(),
            values: values.to_vec(),
        };
        let found = steps(&series(&[10, 20, 60], &[1.0, 5.0, 2.0]));
        assert_eq!(found, [(0, 1.0), (10, 1.0), (10, 5.0), (20, 5.0), (20, 2.0), (60, 2.0)]);
        assert_eq!(steps(&series(&[60], &[2.0])), [(0, 2.0), (60, 2.0)], "a single reading is visible");
    }
}
