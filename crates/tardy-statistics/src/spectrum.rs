//! The spectrum of events in time.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Width of a bin of time, in ns; periods are at least twice as long.
pub const BIN_NS: u64 = 2_000;
/// The largest number of bins that are transformed: four seconds at [`BIN_NS`].
const BIN_MAX: usize = 1 << 21;
/// The binary logarithm of the number of bins for slow sources.
const SLOW_BITS: u32 = 18;
/// The number of lines that are examined, the strongest first.
const LINE_MAX: usize = 12;
/// A line counts as strong if it has at least this share of the strongest line's power.
const STRONG: f64 = 0.5;
/// The accepted probability that chance causes any line above the threshold.
const FALSE_ALARM_RATE: f64 = 0.01;
/// The number of neighbouring frequencies whose median determines the power of noise around a line.
const NEIGHBOURS: usize = 512;
/// The least number of cycles within the window that counts as a period.
const TURNS_MIN: usize = 8;

/// A line of the spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Its frequency.
    pub frequency_hz: f64,
    /// Its power relative to its neighbours; the mean for noise is 2.
    pub power: f64,
}

/// Width of a bin for rare events over `span_ns`.
pub fn slow_bin_ns(span_ns: u64) -> u64 {
    (span_ns >> SLOW_BITS).max(BIN_NS)
}

/// The part of `times` that is transformed, from the first on.
pub fn window(times: &[u64], bin_ns: u64) -> &[u64] {
    let Some(first) = times.first() else { return times };
    let end = first.saturating_add(bin_ns.saturating_mul(BIN_MAX as u64));
    &times[..times.partition_point(|at| *at < end)]
}

/// Lines above the threshold: first the strong ones in ascending order of frequency, then the strongest. The order
/// matters because narrow pulses have hundreds of harmonics about as strong as the fundamental, and chance decides
/// which is strongest.
pub fn lines(times: &[u64], bin_ns: u64) -> Vec<Line> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
    let bins = ((last - first) / bin_ns + 1).max(2) as usize;
    let powers = powers(times, *first, bins, bin_ns);
    let floor = floor(&powers);
    let trials = powers.len().saturating_sub(TURNS_MIN).max(1);
    let threshold = 2.0 * libm::log(trials as f64 / FALSE_ALARM_RATE);
    let span_s = bins as f64 * bin_ns as f64 * 1e-9;
    let mut lines: Vec<Line> = (TURNS_MIN..powers.len())
        .map(|turns| Line {
            frequency_hz: refined(&powers, turns) / span_s,
            power: powers[turns] / floor[turns / NEIGHBOURS],
        })
        .filter(|line| line.power > threshold)
        .collect();
    let strong = lines.iter().map(|line| line.power).fold(0.0, f64::max) * STRONG;
    let lowest: Vec<Line> =
        lines.iter().filter(|line| line.power >= strong).take(LINE_MAX).copied().collect();
    lines.sort_by(|a, b| b.power.total_cmp(&a.power));
    lines.truncate(LINE_MAX);
    lowest.into_iter().chain(lines).collect()
}

/// 2|X|²/N for each number of cycles in the window, up to half of the bins.
fn powers(times: &[u64], first: u64, bins: usize, bin_ns: u64) -> Vec<f64> {
    let mut series = vec![Complex::new(0.0_f64, 0.0); bins];
    for at in times {
        series[((at - first) / bin_ns) as usize].re += 1.0;
    }
    FftPlanner::new().plan_fft_forward(bins).process(&mut series);
    let scale = 2.0 / times.len() as f64;
    series[..bins / 2 + 1].iter().map(|x| x.norm_sqr() * scale).collect()
}

/// The power of noise in each range of frequencies, relative to its expected mean of 2: slow changes of the rate make
/// low frequencies strong. At least 1, so that noise in an empty range does not become a line.
fn floor(powers: &[f64]) -> Vec<f64> {
    let of = |stretch: &[f64]| {
        let mut sorted = stretch.to_vec();
        sorted.sort_by(f64::total_cmp);
        // The median of χ² with two degrees of freedom is 2 ln 2.
        (sorted[sorted.len() / 2] / (2.0 * std::f64::consts::LN_2)).max(1.0)
    };
    powers.chunks(NEIGHBOURS).map(of).collect()
}

/// The position of the maximum of the parabola through a line and its two neighbours.
fn refined(powers: &[f64], turns: usize) -> f64 {
    let (Some(below), Some(above)) = (powers.get(turns.wrapping_sub(1)), powers.get(turns + 1)) else {
        return turns as f64;
    };
    let here = powers[turns];
    let curvature = below - 2.0 * here + above;
    let shift = if curvature < 0.0 { (below - above) / (2.0 * curvature) } else { 0.0 };
    turns as f64 + shift.clamp(-0.5, 0.5)
}
