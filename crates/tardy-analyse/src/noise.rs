//! OS noise: the share of each CPU's time that was lost, the sources, and their probable causes.
//!
//! Periods are found among the gaps whose times were kept (tardy-record, `gaps`): all gaps at the beginning of the run,
//! some later windows, and the longest of the whole run. A source's share refers to the set of gaps that it was found
//! in.

mod cause;
mod sources;

use serde::Serialize;
use tardy_record::gaps::GapSeries;
use tardy_record::{Run, Series};

pub use cause::{Cause, Certainty};
pub use sources::Source;

/// The noise of one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoisePhase {
    /// Index of the phase.
    pub phase: usize,
    /// Its label.
    pub label: String,
    /// Whether the gaps are those of a pin that a loop drives, instead of a loop that reads a counter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_pin: bool,
    /// The noise of each CPU.
    pub cpus: Vec<CpuNoise>,
}

/// The noise of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuNoise {
    /// Index of its series.
    pub series: usize,
    /// The series' label.
    pub label: String,
    /// The CPU.
    pub cpu: u32,
    /// The share of the time that was lost to noise, from 0 to 1.
    pub share: f64,
    /// Number of gaps.
    pub gaps: u64,
    /// Gaps per second.
    pub gaps_per_second: f64,
    /// The longest gap, in ns; `None` if there was none.
    pub longest_ns: Option<u64>,
    /// The time of the longest gap, in ns from the start of the run.
    pub longest_at_ns: Option<u64>,
    /// The least length of a gap that counts, in ns.
    pub threshold_ns: u64,
    /// Mean duration of an iteration of the loop, in ns.
    pub loop_ns: Option<f64>,
    /// The share of the time in which the loop recorded gaps and could not detect others.
    pub blind_share: f64,
    /// The counter's rate before the run relative to that over the run, as a difference in parts per million; `None` if
    /// it was measured only once.
    pub rate_error_ppm: Option<f64>,
    /// Periodic sources, the largest share first.
    pub sources: Vec<Source>,
    /// The share of the noise without a known source; `None` if no times were kept.
    pub rest_share: Option<f64>,
}

/// The noise of each phase that looked for it.
pub fn of(run: &Run) -> Vec<NoisePhase> {
    let phase = |(index, phase): (usize, &tardy_record::run::Phase)| {
        let cpus: Vec<CpuNoise> = (run.series.iter().enumerate())
            .filter(|(_, series)| series.phase == index)
            .filter_map(|(place, series)| Some(cpu(run, place, series, series.gaps()?)))
            .collect();
        let of_pin = |cpu: &CpuNoise| run.series[cpu.series].gaps().is_some_and(|gaps| gaps.of_pin);
        let of_pin = cpus.iter().any(of_pin);
        (!cpus.is_empty()).then(|| NoisePhase { phase: index, label: phase.label.clone(), of_pin, cpus })
    };
    run.phases.iter().enumerate().filter_map(phase).collect()
}

fn cpu(run: &Run, place: usize, series: &Series, gaps: &GapSeries) -> CpuNoise {
    let counted_ns = (series.counted_ns as f64).max(1.0);
    let share = |ns: f64| (ns / counted_ns).clamp(0.0, 1.0);
    let sources = sources::of(run, series, gaps);
    let in_first: f64 = sources.iter().map(|source| source.share_of_noise).sum();
    CpuNoise {
        series: place,
        label: series.label.clone(),
        cpu: gaps.cpu,
        share: share(series.sum_ns.get().unwrap_or(0) as f64),
        gaps: series.tally.recorded,
        gaps_per_second: series.tally.recorded as f64 / counted_ns * 1e9,
        longest_ns: series.max_ns.and_then(|ns| u64::try_from(ns).ok()),
        longest_at_ns: series.max_at_ns,
        threshold_ns: gaps.threshold_ns,
        loop_ns: (gaps.loops > 0).then(|| {
            (counted_ns - series.sum_ns.get().unwrap_or(0) as f64 - gaps.blind_ns as f64).max(0.0)
                / gaps.loops as f64
        }),
        blind_share: share(gaps.blind_ns as f64),
        rate_error_ppm: gaps.rate_whole_hz.map(|whole| (gaps.rate_before_hz / whole - 1.0) * 1e6),
        rest_share: (gaps.first.count() > 0).then(|| (1.0 - in_first).clamp(0.0, 1.0)),
        sources,
    }
}

#[cfg(test)]
mod tests;
