//! The periodic sources of one CPU's noise.

use serde::Serialize;
use tardy_record::gaps::{GapSeries, GapTrain};
use tardy_record::{Run, Series};

use super::cause::{self, Cause};
use crate::periods::{self, Event, Period};
use crate::stops;

/// Two periods that differ by less than this share have the same source.
const SAME_PERIOD: f64 = 2e-3;
/// The number of windows after the beginning that are searched for further sources.
const WINDOWS_SEARCHED: usize = 3;
/// A gap counts as a stop by the kernel if its length differs from that of the rule by less than this share.
const STOP_TOLERANCE: f64 = 0.5;

/// A periodic source of noise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Source {
    /// Its period.
    #[serde(flatten)]
    pub period: Period,
    /// The set of gaps in which it was found.
    pub found_in: FoundIn,
    /// Its share of the noise, from 0 to 1.
    pub share_of_noise: f64,
    /// Its share of the CPU's time, from 0 to 1.
    pub share_of_time: f64,
    /// Its probable cause.
    pub cause: Cause,
}

/// The set of kept gaps in which a source was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundIn {
    /// All gaps at the beginning of the run.
    Beginning,
    /// A later window.
    Later,
    /// The longest gaps of the run.
    Longest,
}

/// A set of gaps over an interval of time.
struct Stretch {
    events: Vec<Event>,
    span_ns: f64,
    noise_ns: f64,
}

impl Stretch {
    /// All gaps of a train.
    fn of_train(train: &GapTrain) -> Self {
        let events = events(train);
        let end_ns = events.last().map_or(0, |last| last.at_ns + last.length_ns);
        let noise_ns = events.iter().map(|event| event.length_ns as f64).sum();
        Self { span_ns: end_ns.saturating_sub(train.start_ns) as f64, noise_ns, events }
    }

    /// The longest gaps of a series. The noise is that of all its gaps.
    fn of_longest(series: &Series, gaps: &GapSeries) -> Self {
        let (span_ns, noise_ns) = (series.counted_ns as f64, series.sum_ns.get().unwrap_or(0) as f64);
        Self { events: events(&gaps.longest), span_ns, noise_ns }
    }
}

fn events(train: &GapTrain) -> Vec<Event> {
    train.gaps().map(|gap| Event { at_ns: gap.at_ns, length_ns: gap.length_ns }).collect()
}

/// The sources of `series`, the largest share first.
pub(super) fn of(run: &Run, series: &Series, gaps: &GapSeries) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    let add = |sources: &mut Vec<Source>, stretch: &Stretch, found_in, periods: Vec<Period>| {
        for period in periods {
            if !sources.iter().any(|known| is_same(&known.period, &period)) {
                sources.push(source(run, series, gaps, stretch, found_in, period));
            }
        }
    };
    let first = Stretch::of_train(&gaps.first);
    add(&mut sources, &first, FoundIn::Beginning, periods::find(&first.events));
    let step = (gaps.windows.len() / WINDOWS_SEARCHED).max(1);
    for window in gaps.windows.iter().rev().step_by(step).take(WINDOWS_SEARCHED) {
        let window = Stretch::of_train(window);
        add(&mut sources, &window, FoundIn::Later, periods::find(&window.events));
    }
    let longest = Stretch::of_longest(series, gaps);
    let stops = kernels_own_stops(run, gaps, &longest.events);
    add(&mut sources, &longest, FoundIn::Longest, stops.into_iter().collect());
    // Gaps of known sources are left out: only their longer gaps are included, which would form a separate pattern.
    let others: Vec<Event> = longest
        .events
        .iter()
        .filter(|event| !sources.iter().any(|known| has_length(known, event)))
        .copied()
        .collect();
    let slow =
        if gaps.first.count() == gaps.longest.count() { Vec::new() } else { periods::find_slow(&others) };
    add(&mut sources, &longest, FoundIn::Longest, slow);
    sources.sort_by(|a, b| b.share_of_time.total_cmp(&a.share_of_time));
    sources
}

/// Whether a gap is about as long as those of a source.
fn has_length(source: &Source, event: &Event) -> bool {
    let ratio = event.length_ns as f64 / source.period.length_ns.max(1) as f64;
    (0.5..1.5).contains(&ratio)
}

/// Whether both periods have the same source; one may be a multiple of the other.
fn is_same(a: &Period, b: &Period) -> bool {
    let ratio = (a.period_ns / b.period_ns).max(b.period_ns / a.period_ns);
    let whole = ratio.round();
    let close = (ratio / whole - 1.0).abs() < SAME_PERIOD;
    // A multiple with gaps of another length is another source.
    let alike = a.length_ns.min(b.length_ns) as f64 > 0.8 * a.length_ns.max(b.length_ns) as f64;
    close && (whole < 1.5 || alike)
}

fn source(
    run: &Run,
    series: &Series,
    gaps: &GapSeries,
    stretch: &Stretch,
    found_in: FoundIn,
    period: Period,
) -> Source {
    let total_ns = period.total_ns as f64;
    Source {
        found_in,
        share_of_noise: (total_ns / stretch.noise_ns.max(1.0)).min(1.0),
        share_of_time: (total_ns / stretch.span_ns.max(1.0)).min(1.0),
        cause: cause::of(run, series, gaps, &period),
        period,
    }
}

/// The gaps in which the kernel stopped a real-time loop: their length is about that of the rule, and they are a whole
/// number of its periods apart. `None` if there are none.
fn kernels_own_stops(run: &Run, gaps: &GapSeries, longest: &[Event]) -> Option<Period> {
    let rule = stops::of(run).filter(|_| gaps.policy.has_priority())?;
    let (stop_ns, period_ns) = (rule.stop_ns as f64, rule.period_ns as f64);
    let as_long = |event: &&Event| (event.length_ns as f64 / stop_ns - 1.0).abs() < STOP_TOLERANCE;
    let stops: Vec<&Event> = longest.iter().filter(as_long).collect();
    let (first, last) = (stops.first()?, stops.last()?);
    let apart: Vec<f64> = stops.windows(2).map(|pair| (pair[1].at_ns - pair[0].at_ns) as f64).collect();
    let off = |apart: &&f64| (**apart / period_ns - (**apart / period_ns).round()).abs() > 0.1;
    if apart.iter().filter(off).count() * 2 > apart.len() {
        return None;
    }
    let turns = ((last.at_ns - first.at_ns) as f64 / period_ns).round().max(0.0);
    let measured_ns = if turns > 0.0 { (last.at_ns - first.at_ns) as f64 / turns } else { period_ns };
    let mut lengths: Vec<u64> = stops.iter().map(|event| event.length_ns).collect();
    lengths.sort_unstable();
    let away = apart.iter().map(|apart| apart - (apart / measured_ns).round() * measured_ns);
    let jitter_ns = (away.map(|ns| ns * ns).sum::<f64>() / apart.len().max(1) as f64).sqrt();
    Some(Period {
        period_ns: measured_ns,
        period_error_ns: jitter_ns / turns.max(1.0),
        jitter_ns,
        drift_ppm_per_s: None,
        events: stops.len() as u64,
        missing: (turns as u64 + 1).saturating_sub(stops.len() as u64),
        first_ns: first.at_ns,
        length_ns: lengths[lengths.len() / 2],
        longest_ns: lengths[lengths.len() - 1],
        total_ns: lengths.iter().sum(),
    })
}
