//! Finds periodic sources among events, such as the gaps of a noise probe. It finds the fundamental of each of several
//! sources.
//!
//! The events are binned by time, and the bins are Fourier-transformed. The search begins with the strongest line above
//! chance. Narrow pulses make all harmonics strong, and sometimes a harmonic is stronger than the fundamental. The
//! frequency is therefore divided by whole numbers: the period is the one whose comb has the most events at its teeth
//! and almost no empty tooth. The comb is fitted by least squares, its events are removed, and the search is repeated.
//! The statistics are those of de Jager and Büsching, A&A 517 (2010) L9: the power 2|X|²/N of N events without a period
//! is χ² with two degrees of freedom, so the probability that any of `n` frequencies exceeds 2 ln(n/α) is α.
//!
//! Alternative not used: an autocorrelation also shows a period, but its peaks at multiples are as strong as the first,
//! and two sources mask each other.

use serde::Serialize;
use tardy_statistics::comb::Comb;
use tardy_statistics::spectrum;

/// The least number of events that determine a period.
pub const EVENT_MIN: usize = 30;
/// The largest number of sources that are searched for.
const SOURCE_MAX: usize = 8;
/// The share of teeth that must have an event for the comb of a source.
const TEETH_HIT_MIN: f64 = 0.4;
/// The number of events at the teeth must exceed chance by this many standard deviations.
const SIGNIFICANCE_SIGMA: f64 = 8.0;
/// The highest harmonic of a source that is considered.
const HARMONIC_MAX: u32 = 64;
/// The largest number of parts into which a found period is divided to see whether it is a multiple.
const PARTS_MAX: u32 = 7;

/// An event does not belong to a source if it is more than this many times longer than the 90 % quantile of the lengths
/// at its comb: a stop of 50 ms that covers a tick of 3 us is not a tick.
const OWN_LENGTH_MAX: u64 = 8;

/// An interval in which the loop lost the CPU, or a pin did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began, in ns.
    pub at_ns: u64,
    /// Its length, in ns.
    pub length_ns: u64,
}

/// A periodic source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Period {
    /// Its period, in ns.
    pub period_ns: f64,
    /// One standard error of the period, in ns.
    pub period_error_ns: f64,
    /// Standard deviation of its events about the comb, in ns.
    pub jitter_ns: f64,
    /// The drift of the period in parts per million per second; `None` if it does not exceed chance.
    pub drift_ppm_per_s: Option<f64>,
    /// Number of its events.
    pub events: u64,
    /// Number of teeth of the comb without an event, from the first to the last with one.
    pub missing: u64,
    /// When its first event was, in ns.
    pub first_ns: u64,
    /// The median length of its events, in ns.
    pub length_ns: u64,
    /// The longest of its events, in ns.
    pub longest_ns: u64,
    /// The sum of the lengths of its events, in ns.
    pub total_ns: u64,
}

/// The periodic sources among `events`, which are in ascending order; the source with the most events comes first. Only
/// the first four seconds determine which sources there are.
pub fn find(events: &[Event]) -> Vec<Period> {
    find_with(events, spectrum::BIN_NS)
}

/// The same as [`find`] for rare events over a long time, such as the longest gaps of a run. It searches the whole
/// time, and does not find periods shorter than about a hundred-thousandth of it.
pub fn find_slow(events: &[Event]) -> Vec<Period> {
    let span_ns = events.first().zip(events.last()).map_or(0, |(first, last)| last.at_ns - first.at_ns);
    find_with(events, spectrum::slow_bin_ns(span_ns))
}

fn find_with(events: &[Event], bin_ns: u64) -> Vec<Period> {
    let mut left: Vec<Event> = events.to_vec();
    let mut found = Vec::new();
    while left.len() >= EVENT_MIN && found.len() < SOURCE_MAX {
        let Some(comb) = strongest(&left, bin_ns) else { break };
        let longest_ns = longest_own_ns(&comb, &left);
        let is_own = |event: &&Event| comb.takes(event.at_ns) && event.length_ns <= longest_ns;
        let (own, others): (Vec<Event>, Vec<Event>) = left.iter().partition(is_own);
        found.push(period(&comb, &own));
        left = others;
    }
    found.sort_by_key(|period| std::cmp::Reverse(period.events));
    found
}

/// The largest length, in ns, of events that belong to the source of a comb.
fn longest_own_ns(comb: &Comb, events: &[Event]) -> u64 {
    let mut lengths: Vec<u64> =
        events.iter().filter(|event| comb.takes(event.at_ns)).map(|event| event.length_ns).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() * 9 / 10).map_or(u64::MAX, |usual| usual.saturating_mul(OWN_LENGTH_MAX))
}

/// Whether the number of events `on` a comb is significant, if `expected` would be there by chance. The removed events
/// of a source leave periodic holes, but the teeth of their comb are empty.
fn is_significant(on: usize, expected: f64) -> bool {
    let on = on as f64;
    on >= EVENT_MIN as f64 / 2.0
        && on > 2.0 * expected
        && on - expected > SIGNIFICANCE_SIGMA * expected.sqrt()
}

/// The comb of the strongest line with a significant comb. After the removal of a source, the strongest lines may be those of
/// the resulting holes, whose combs are empty.
fn strongest(events: &[Event], bin_ns: u64) -> Option<Comb> {
    let times: Vec<u64> = events.iter().map(|event| event.at_ns).collect();
    let window = spectrum::window(&times, bin_ns);
    let mut combs = spectrum::lines(window, bin_ns).into_iter().filter_map(|line| {
        let fundamentals = (1..=HARMONIC_MAX).map(|divisor| line.frequency_hz / f64::from(divisor));
        let combs = fundamentals.filter_map(|frequency_hz| Comb::fit(window, 1e9 / frequency_hz));
        let sound = combs.filter(|comb| comb.hit_share() >= TEETH_HIT_MIN);
        // Of combs with the same events, the one with the longest period has the fewest empty teeth.
        let best = sound.max_by(|a, b| a.merit().total_cmp(&b.merit()))?;
        Some(fundamental(best.extended(&times), &times))
    });
    let on = |comb: &Comb| times.iter().filter(|at| comb.takes_closely(**at)).count();
    combs.find(|comb| is_significant(on(comb), comb.covered_closely() * times.len() as f64))
}

/// The comb itself, or the one of a whole part of its period if that has more events at its teeth: chance may make the
/// line of a multiple strong.
fn fundamental(comb: Comb, times: &[u64]) -> Comb {
    let parts = (2..=PARTS_MAX).map(|parts| comb.divided(parts, times));
    let sound = parts.filter(|part| part.hit_share() >= TEETH_HIT_MIN && part.merit() > comb.merit());
    sound.max_by(|a, b| a.merit().total_cmp(&b.merit())).unwrap_or(comb)
}

fn period(comb: &Comb, own: &[Event]) -> Period {
    let mut lengths: Vec<u64> = own.iter().map(|event| event.length_ns).collect();
    lengths.sort_unstable();
    Period {
        period_ns: comb.period_ns(),
        period_error_ns: comb.period_error_ns(),
        jitter_ns: comb.jitter_ns(),
        drift_ppm_per_s: comb.drift_ppm_per_s(),
        events: own.len() as u64,
        missing: comb.missing(),
        first_ns: own.first().map_or(0, |event| event.at_ns),
        length_ns: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
        longest_ns: lengths.last().copied().unwrap_or(0),
        total_ns: lengths.iter().fold(0, |sum, length| sum.saturating_add(*length)),
    }
}

#[cfg(test)]
mod tests;
