//! Timers in step with a periodic source of noise. Their wake-ups meet the source only at a few phases, or never, so
//! the phases in between are not measured.
//!
//! A timer of interval I and a source of period P are in step if q·I = p·P for small whole numbers p and q. The
//! wake-ups are then at q phases of the source, P/q apart. If the equation is not exact, the phases shift by |q·I −
//! p·P| with every q-th wake-up. The timer counts as in step if the total shift in the run is less than P/q.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::facts::Facts;
use tardy_record::plan::{Plan, ProbePlan, TimerPlan, Wake};

use crate::noise::NoisePhase;

/// The largest p and q that are considered: with larger ones, the phases are close together.
const TURNS_MAX: u32 = 10;
/// The number of standard errors by which a period may be off.
const ERRORS: f64 = 3.0;
/// An interval that is longer by this factor is not in step for small p and q (a tenth of the fractional part of the
/// golden ratio).
const OUT_OF_STEP: f64 = 1.0618;

/// A timer in step with periodic sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InStep {
    /// The timer's interval, in ns.
    pub interval_ns: u64,
    /// The sources that it is in step with.
    pub with: Vec<Source>,
    /// The remedy.
    pub instead: Instead,
}

/// A source that a timer is in step with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Source {
    /// Its name; `None` if it is unknown.
    pub name: Option<String>,
    /// Its period, in ns.
    pub period_ns: f64,
    /// The number of its periods (p) that equal …
    pub periods: u32,
    /// … this number of intervals (q).
    pub intervals: u32,
}

/// The remedy for a timer in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Instead {
    /// Delaying each deadline by up to this, in ns, so that wake-ups fall on all phases.
    DitherNs(u64),
    /// Another interval, in ns, for wake methods whose period the kernel keeps, which cannot be dithered.
    IntervalNs(u64),
}

/// A period that timers may be in step with.
#[derive(Clone, Debug)]
struct Periodic {
    name: Option<String>,
    period_ns: f64,
    error_ns: f64,
    /// The larger of the source's jitter and its gaps, in ns: phases closer together than this leave none out.
    blur_ns: f64,
    /// The CPU on which it was found; `None` if it is on all CPUs.
    cpu: Option<u32>,
}

/// The timers of `plan` that are in step with the kernel's tick; empty if the tick is unknown, or if the plan measures
/// noise, which finds all sources.
pub fn beforehand(plan: &Plan, facts: &Facts) -> Vec<InStep> {
    if plan.phases.iter().any(|phase| matches!(phase.probe, ProbePlan::Noise(_))) {
        return Vec::new();
    }
    let Some(hz) = facts.kernel.hz.get().filter(|hz| **hz > 0) else { return Vec::new() };
    let tick = Periodic {
        name: Some(format!("CONFIG_HZ={hz} tick")),
        period_ns: 1e9 / f64::from(*hz),
        error_ns: 0.0,
        blur_ns: 0.0,
        cpu: None,
    };
    let timers = plan.phases.iter().filter_map(|phase| Some((phase.probe.timer()?, phase.planned_ns())));
    among(timers, &[tick])
}

/// The timers of `run` that were in step with the noise that its own phases found.
pub fn of(run: &Run, noise: &[NoisePhase]) -> Vec<InStep> {
    let cpus = noise.iter().flat_map(|phase| &phase.cpus);
    let periodic = |cpu: u32, source: &crate::noise::Source| Periodic {
        name: source.cause.name.clone(),
        period_ns: source.period.period_ns,
        error_ns: source.period.period_error_ns,
        blur_ns: source.period.jitter_ns.max(source.period.length_ns as f64),
        cpu: Some(cpu),
    };
    let found: Vec<Periodic> =
        cpus.flat_map(|cpu| cpu.sources.iter().map(|source| periodic(cpu.cpu, source))).collect();
    let phases = run.plan.phases.iter().take(run.phases.len());
    among(phases.filter_map(|phase| Some((phase.probe.timer()?, phase.planned_ns()))), &found)
}

fn among<'a>(timers: impl Iterator<Item = (&'a TimerPlan, u64)>, found: &[Periodic]) -> Vec<InStep> {
    let mut all: Vec<InStep> = Vec::new();
    for (timer, duration_ns) in timers {
        for thread in &timer.threads {
            let here = found.iter().filter(|one| one.cpu.is_none_or(|cpu| cpu == thread.cpu));
            for periodic in here {
                let Some(source) = in_step(timer, thread.interval_ns, duration_ns as f64, periodic) else {
                    continue;
                };
                add(&mut all, timer.wake, thread.interval_ns, source);
            }
        }
    }
    all
}

/// Adds a source to those of its interval, unless it is already known: a source on several CPUs is reported once.
fn add(all: &mut Vec<InStep>, wake: Wake, interval_ns: u64, source: Source) {
    let instead = instead(wake, interval_ns, &source);
    let Some(known) = all.iter_mut().find(|known| known.interval_ns == interval_ns) else {
        all.push(InStep { interval_ns, with: vec![source], instead });
        return;
    };
    let same = |other: &Source| (other.period_ns / source.period_ns - 1.0).abs() < 1e-3;
    if !known.with.iter().any(same) {
        known.with.push(source);
        // The larger dither suffices for both.
        if let (Instead::DitherNs(most), Instead::DitherNs(more)) = (&mut known.instead, instead) {
            *most = (*most).max(more);
        }
    }
}

fn in_step(timer: &TimerPlan, interval_ns: u64, duration_ns: f64, source: &Periodic) -> Option<Source> {
    // Without a schedule, each late wake-up shifts all later ones, so the timer is never in step.
    if !timer.wake.has_schedule() {
        return None;
    }
    let interval = interval_ns as f64;
    let (periods, intervals) = ratio(interval, duration_ns, source)?;
    let apart_ns = source.period_ns / f64::from(intervals);
    let dithered = timer.dither_ns as f64 >= apart_ns.min(interval) / 2.0;
    let seamless = source.blur_ns >= apart_ns;
    (!dithered && !seamless).then(|| Source {
        name: source.name.clone(),
        period_ns: source.period_ns,
        periods,
        intervals,
    })
}

/// The smallest p (periods) and q (intervals) that are in step for the whole run.
fn ratio(interval: f64, duration_ns: f64, source: &Periodic) -> Option<(u32, u32)> {
    let in_step = |periods: u32, intervals: u32| {
        let (p, q) = (f64::from(periods), f64::from(intervals));
        let apart = (q * interval - p * source.period_ns).abs();
        let slip = (apart - ERRORS * p * source.error_ns).max(0.0);
        // Not closer to another ratio: the difference is below a tenth of the period and of the interval.
        let close = apart < 0.1 * source.period_ns.min(interval);
        close && slip * (duration_ns / (q * interval)) < source.period_ns / q
    };
    let all = (1..=TURNS_MAX).flat_map(|sum| (1..=TURNS_MAX).map(move |other| (sum, other)));
    all.filter(|(p, q)| in_step(*p, *q)).min_by_key(|(p, q)| p + q)
}

fn instead(wake: Wake, interval_ns: u64, source: &Source) -> Instead {
    if !matches!(wake, Wake::ClockNanosleep | Wake::Busy) {
        let us = (interval_ns as f64 * OUT_OF_STEP / 1000.0).round().max(1.0) as u64;
        return Instead::IntervalNs(us * 1000);
    }
    // A dither must stay below the interval.
    let apart_us = (source.period_ns / f64::from(source.intervals) / 1000.0).ceil() as u64;
    Instead::DitherNs((apart_us * 1000).min(interval_ns / 10 * 9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::plan::{ClockId, Policy, ThreadPlan};

    fn timer(wake: Wake, interval_ns: u64, dither_ns: u64) -> TimerPlan {
        TimerPlan {
            wake,
            clock: ClockId::Monotonic,
            dither_ns,
            policy: Policy::Fifo,
            memory_locked: true,
            dma_latency_us: None,
            causes: None,
            threads: vec![ThreadPlan { cpu: 0, pinned: true, priority: 90, interval_ns, offset_ns: 0 }],
        }
    }

    fn periodic(period_ns: f64, error_ns: f64) -> Periodic {
        Periodic { name: None, period_ns, error_ns, blur_ns: 4_500.0, cpu: Some(0) }
    }

    fn with(timer: &TimerPlan, duration_ns: u64, source: Periodic) -> Option<(u32, u32, Instead)> {
        let found = among([(timer, duration_ns)].into_iter(), &[source]);
        let one = found.first()?;
        Some((one.with[0].periods, one.with[0].intervals, one.instead))
    }

    #[test]
    fn small_whole_ratios_are_in_step() {
        let minute = 60_000_000_000;
        let plain = |interval_ns| timer(Wake::ClockNanosleep, interval_ns, 0);
        let usb = || periodic(125_000.0, 0.001);
        assert_eq!(with(&plain(1_000_000), minute, usb()), Some((8, 1, Instead::DitherNs(125_000))));
        assert_eq!(with(&plain(500_000), minute, usb()), Some((4, 1, Instead::DitherNs(125_000))));
        assert_eq!(with(&plain(200_000), minute, usb()), Some((8, 5, Instead::DitherNs(25_000))));
        let tick = || periodic(4e6, 0.01);
        assert_eq!(with(&plain(1_000_000), minute, tick()), Some((1, 4, Instead::DitherNs(900_000))));
        assert_eq!(with(&plain(1_061_800), minute, tick()), None);
        assert_eq!(with(&plain(333_000), minute, usb()), None);
    }

    /// With an error of 20 ppm, the phase shifts by a period of 125 us in 6.25 s.
    #[test]
    fn a_longer_run_resolves_a_smaller_difference() {
        let plain = timer(Wake::ClockNanosleep, 1_000_000, 0);
        let off = || periodic(125_002.5, 0.001);
        assert!(with(&plain, 5_000_000_000, off()).is_some());
        assert!(with(&plain, 8_000_000_000, off()).is_none());
        assert!(with(&plain, 8_000_000_000, periodic(125_002.5, 1.0)).is_some(), "it may be 125 us");
    }

    #[test]
    fn dither_and_relative_sleeps_are_out_of_step_and_kernel_periods_need_another_interval() {
        let minute = 60_000_000_000;
        let usb = || periodic(125_000.0, 0.001);
        assert_eq!(with(&timer(Wake::ClockNanosleep, 1_000_000, 125_000), minute, usb()), None);
        assert_eq!(with(&timer(Wake::Nanosleep, 1_000_000, 0), minute, usb()), None);
        let found = with(&timer(Wake::Timerfd, 1_000_000, 0), minute, usb());
        assert_eq!(found, Some((8, 1, Instead::IntervalNs(1_062_000))));
        assert_eq!(with(&timer(Wake::Timerfd, 1_062_000, 0), minute, usb()), None);
    }
}
