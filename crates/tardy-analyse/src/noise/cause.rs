//! The probable cause of a periodic source of noise, from its period, interrupt counters and the settings of the
//! kernel.

use serde::Serialize;
use tardy_record::environment::EnvSeries;
use tardy_record::gaps::GapSeries;
use tardy_record::{Run, Series};

use crate::periods::Period;
use crate::stops::{self, StoppedBy};

/// The largest relative error of a crystal's frequency.
const CRYSTAL: f64 = 1e-3;
/// An interrupt line has the rate of a source if they differ by at most this share …
const RATE_TOLERANCE: f64 = 0.03;
/// … or by at most this many standard deviations of the line's count.
const RATE_SIGMA: f64 = 3.0;

/// Known periods, in ns, and their causes.
const KNOWN: [(f64, &str); 6] = [
    (125e3, "USB micro-frame at high speed, such as dwc_otg's"),
    (1e6, "USB frame at full speed"),
    (1e9 / 60.0, "display refresh at 60 Hz"),
    (20e6, "display refresh at 50 Hz"),
    (1e9, "a timer with a period of 1 s, such as timekeeping's or vmstat's"),
    (2e9, "a timer with a period of 2 s, such as a watchdog's"),
];
/// Ticks per second of common kernels (kernel/Kconfig.hz).
const TICKS: [u32; 4] = [100, 250, 300, 1000];

/// The largest multiple of the tick that is considered: any period is near some large multiple.
const TICKS_MAX: u32 = 10;

/// The probable cause of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// Its name; `None` if it is unknown.
    pub name: Option<String>,
    /// Its certainty.
    pub certainty: Certainty,
    /// The interrupt line with the same rate, such as `39 dwc_otg`; `None` if no line has it.
    pub interrupt: Option<String>,
}

/// Certainty of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Confirmed by a counter or by the settings of the kernel.
    Found,
    /// Suggested by the period alone.
    Guess,
    /// No known cause has this period.
    Unknown,
}

/// The cause of a source with this period in `series`.
pub(super) fn of(run: &Run, series: &Series, gaps: &GapSeries, period: &Period) -> Cause {
    if let Some(name) = kernels_stop(run, gaps, period) {
        return Cause { name: Some(name), certainty: Certainty::Found, interrupt: None };
    }
    let interrupt = interrupt(run, series, period);
    let tick = tick(run, period);
    let known = KNOWN.iter().find(|(ns, _)| is_about(period, *ns)).map(|(_, name)| (*name).to_owned());
    let timer_line = interrupt.as_ref().is_some_and(|line| is_timer(line));
    let (name, certainty) = match (&interrupt, tick) {
        // The tick is a timer interrupt, so the timer's line confirms it.
        (Some(_), Some((hz, _))) if timer_line => (Some(tick_name(hz)), Certainty::Found),
        (None, Some((hz, true))) => (Some(tick_name(hz)), Certainty::Found),
        (Some(line), _) => {
            let name = known.map_or_else(|| format!("irq {line}"), |name| format!("irq {line}: {name}"));
            (Some(name), Certainty::Found)
        }
        (None, Some((hz, false))) => {
            let tick = tick_name(hz);
            (Some(known.map_or_else(|| tick.clone(), |name| format!("{tick}, or {name}"))), Certainty::Guess)
        }
        (None, None) => {
            let name = known.or_else(|| every_few_ticks(run, period));
            let certainty = if name.is_some() { Certainty::Guess } else { Certainty::Unknown };
            (name, certainty)
        }
    };
    Cause { name, certainty, interrupt }
}

fn tick_name(hz: u32) -> String {
    format!("CONFIG_HZ={hz} tick")
}

/// The name of the kernel's rule that stops spinning real-time threads, if the period and the length are those of the
/// rule.
fn kernels_stop(run: &Run, gaps: &GapSeries, period: &Period) -> Option<String> {
    let rule = stops::of(run).filter(|_| gaps.policy.has_priority())?;
    let as_long = (period.length_ns as f64 / rule.stop_ns as f64 - 1.0).abs() < 0.5;
    let as_often = (period.period_ns / rule.period_ns as f64 - 1.0).abs() < 0.05;
    (as_long && as_often).then(|| match rule.by {
        StoppedBy::Throttle => "real-time throttling (sched_rt_runtime_us)".to_owned(),
        StoppedBy::FairServer => "the scheduler's fair server".to_owned(),
    })
}

/// The ticks per second and whether the kernel is known to have this rate; `None` if the period is not that of a tick.
fn tick(run: &Run, period: &Period) -> Option<(u32, bool)> {
    match run.facts.kernel.hz.get() {
        Some(hz) => is_about(period, 1e9 / f64::from((*hz).max(1))).then_some((*hz, true)),
        None => {
            let hz = TICKS.into_iter().find(|hz| is_about(period, 1e9 / f64::from(*hz)))?;
            Some((hz, false))
        }
    }
}

/// Names the multiple of the tick that has this period; `None` if there is no small one, or the tick is unknown.
fn every_few_ticks(run: &Run, period: &Period) -> Option<String> {
    let tick_ns = 1e9 / f64::from(*run.facts.kernel.hz.get().filter(|hz| **hz > 0)?);
    let ticks = (2..=TICKS_MAX).find(|ticks| is_about(period, f64::from(*ticks) * tick_ns))?;
    Some(format!("every {ticks} ticks of CONFIG_HZ={:.0}", 1e9 / tick_ns))
}

fn is_about(period: &Period, ns: f64) -> bool {
    (period.period_ns - ns).abs() < CRYSTAL * ns + 3.0 * period.period_error_ns
}

/// Whether an interrupt line is that of a timer: x86's per-CPU timer, or a name from drivers/clocksource for Arm.
fn is_timer(line: &str) -> bool {
    line == "LOC" || ["arch_timer", "timer", "gp_timer"].iter().any(|name| line.contains(name))
}

/// The interrupt line whose rate on the CPU during the phase is nearest to that of the source; `None` if none is close
/// enough.
fn interrupt(run: &Run, series: &Series, period: &Period) -> Option<String> {
    let hit_share = period.events as f64 / (period.events + period.missing).max(1) as f64;
    let wanted_hz = 1e9 / period.period_ns.max(1.0) * hit_share;
    let from_ns = run.phases.get(series.phase)?.start_ns;
    let to_ns = from_ns.saturating_add(series.counted_ns);
    let of_cpu = run.environment.series.iter().filter(|one| one.name == "interrupts");
    let of_cpu = of_cpu.filter(|one| one.cpu == Some(series.cpu()));
    let distances = of_cpu.filter_map(|line| {
        let (hz, seconds) = rate(line, from_ns, to_ns)?;
        let away = (hz - wanted_hz).abs();
        let chance = RATE_SIGMA * (wanted_hz * seconds).sqrt() / seconds;
        (away <= (RATE_TOLERANCE * wanted_hz).max(chance.min(0.1 * wanted_hz))).then_some((away, &line.of))
    });
    distances.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, line)| line.clone())
}

/// The mean rate of a line between two times, in Hz, and the seconds of readings that it covers.
fn rate(line: &EnvSeries, from_ns: u64, to_ns: u64) -> Option<(f64, f64)> {
    let (mut events, mut seconds) = (0.0, 0.0);
    for (index, (at_ns, value)) in line.at_ns.iter().zip(&line.values).enumerate() {
        // Each reading covers the time since the previous one.
        let since_ns = if index == 0 { at_ns.saturating_sub(1_000_000_000) } else { line.at_ns[index - 1] };
        let inside_ns = (*at_ns).min(to_ns).saturating_sub(since_ns.max(from_ns));
        events += value * inside_ns as f64 * 1e-9;
        seconds += inside_ns as f64 * 1e-9;
    }
    (seconds > 0.0 && events.is_finite()).then(|| (events / seconds, seconds))
}
