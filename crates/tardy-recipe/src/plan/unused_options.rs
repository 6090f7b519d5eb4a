//! Refuses flags that the probe does not use, because ignoring one would mislead the user.

use tardy_record::plan::Wake;

use crate::options::{RecipeFlags, keys};
use crate::usage_error::{UsageError, wrong};
use crate::values::ProbeKind;

/// Options of threads that wait for timers, `samples` included.
const OF_TIMERS: [&str; 7] = ["wake", "clock", "distance", "dither", "priority_step", "causes", "samples"];
/// Options of gpio-reaction.
const OF_REACTIONS: [&str; 6] =
    ["in", "answer_by", "stimulus", "stimulus_period", "stimulus_dither", "stimulus_cpu"];
/// Options of both GPIO probes.
const OF_PINS: [&str; 2] = ["out", "echo"];
/// Options of gpio-wiggle.
const OF_WIGGLES: [&str; 2] = ["by", "through"];
/// Options of round-trip.
const OF_ROUND_TRIPS: [&str; 2] = ["protocol", "link"];
/// Options of threads, whether or not they wait for timers.
const OF_THREADS: [&str; 6] = ["cpus", "cgroup", "interval", "policy", "priority", "dma_latency"];

/// Refuses flags that `probe` does not use. `samples`: whether `--samples` is given.
///
/// # Errors
/// For the first unused flag; the error states why the probe does not use it.
pub fn refuse_unused(probe: ProbeKind, flags: &RecipeFlags, samples: bool) -> Result<(), UsageError> {
    let mut given: Vec<String> = keys(&flags.timer);
    given.extend(keys(&flags.noise));
    given.extend(keys(&flags.gpio));
    given.extend(samples.then(|| "samples".to_owned()));
    given.extend(keys(&flags.run).into_iter().filter(|key| OF_ROUND_TRIPS.contains(&key.as_str())));
    let first = |options: &[&'static str]| {
        options.iter().copied().find(|option| given.iter().any(|given| given == option))
    };
    let (unused, why) = match probe {
        _ if probe != ProbeKind::RoundTrip && first(&OF_ROUND_TRIPS).is_some() => {
            (first(&OF_ROUND_TRIPS), "only --probe round-trip sends packets")
        }
        ProbeKind::RoundTrip => {
            let all = [&OF_TIMERS[..], &["threshold"], &OF_REACTIONS, &OF_PINS, &OF_WIGGLES];
            (
                all.into_iter().find_map(first),
                "round-trip sends a request at each interval, and waits for answers",
            )
        }
        ProbeKind::Timer | ProbeKind::Kernel | ProbeKind::Noise | ProbeKind::Xenomai
            if first(&OF_REACTIONS).or(first(&OF_PINS)).or(first(&OF_WIGGLES)).is_some() =>
        {
            let pins = first(&OF_REACTIONS).or(first(&OF_PINS)).or(first(&OF_WIGGLES));
            (pins, "only --probe gpio-reaction and --probe gpio-wiggle use GPIO lines")
        }
        ProbeKind::Timer | ProbeKind::Kernel => (
            first(&["threshold"]),
            "only --probe noise has a threshold; --thresholds counts latencies above limits",
        ),
        ProbeKind::Noise => (
            first(&OF_TIMERS).or(first(&["interval"])),
            "the noise probe is a loop that never waits; use it with --probe timer",
        ),
        ProbeKind::GpioReaction if first(&OF_WIGGLES).is_some() => {
            (first(&OF_WIGGLES), "only --probe gpio-wiggle uses it")
        }
        ProbeKind::GpioReaction => (
            first(&OF_TIMERS).or(first(&["interval"])),
            "gpio-reaction waits for edges, not for a timer; use it with --probe timer",
        ),
        ProbeKind::GpioWiggle if first(&OF_REACTIONS).is_some() => {
            (first(&OF_REACTIONS), "gpio-wiggle does not answer edges; use it with --probe gpio-reaction")
        }
        ProbeKind::GpioWiggle if flags.gpio.by.is_some() => (
            first(&OF_TIMERS).or(first(&["interval", "policy", "priority", "threshold", "through"])),
            "the program of --by toggles the line, not tardy",
        ),
        ProbeKind::GpioWiggle if is_fastest(flags) => (
            first(&OF_TIMERS[1..]),
            "with --wake busy and without --interval, gpio-wiggle toggles as fast as possible and never waits",
        ),
        ProbeKind::GpioWiggle => (
            first(&["distance", "priority_step", "threshold"]),
            "gpio-wiggle has one thread, and measures holes only with --wake busy and without --interval",
        ),
        ProbeKind::Xenomai => (
            first(&OF_TIMERS).or(first(&["dma_latency"])),
            "the co-kernel's program does not support it; use it with --probe timer",
        ),
        _ if is_tracer(probe) => return Ok(()),
        // A new probe uses none of these options until it has an arm here, so none is ignored silently.
        _ => {
            let all = [&OF_TIMERS[..], &OF_THREADS, &["threshold"], &OF_REACTIONS, &OF_PINS, &OF_WIGGLES];
            (all.into_iter().find_map(first), "this probe does not use it")
        }
    };
    unused.map_or(Ok(()), |option| Err(wrong(option, format!("not used here: {why}"))))
}

fn is_tracer(probe: ProbeKind) -> bool {
    matches!(probe, ProbeKind::Timerlat | ProbeKind::Osnoise | ProbeKind::Hwlat)
}

/// Whether gpio-wiggle toggles as fast as possible. Only then are holes measured.
fn is_fastest(flags: &RecipeFlags) -> bool {
    flags.timer.interval.is_none()
        && flags.timer.wake.as_ref().is_some_and(|wakes| wakes.iter().all(|wake| *wake == Wake::Busy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed_flags;

    #[test]
    fn a_flag_that_the_probe_does_not_use_is_refused() {
        use ProbeKind::{GpioReaction, GpioWiggle, Noise, Timer, Xenomai};
        for (probe, flags, samples, refused) in [
            (Timer, &["--dither=1us"][..], true, None),
            (Timer, &["--threshold=50ns"], false, Some("threshold")),
            (Timer, &["--out=GPIO17"], false, Some("out")),
            (Noise, &["--dither=1us", "--threshold=50ns"], false, Some("dither")),
            (Noise, &["--threshold=50ns"], true, Some("samples")),
            (Noise, &["--threshold=50ns"], false, None),
            (GpioReaction, &["--dither=1us"], false, Some("dither")),
            (Xenomai, &["--dither=1us"], false, Some("dither")),
            (GpioWiggle, &["--wake=busy", "--threshold=50ns"], false, None),
            (GpioWiggle, &["--wake=busy"], true, Some("samples")),
            (GpioWiggle, &["--wake=busy", "--interval=20us"], true, None),
            (GpioWiggle, &["--wake=busy", "--interval=20us", "--threshold=50ns"], false, Some("threshold")),
            (GpioWiggle, &["--wake=busy", "--in=GPIO17"], false, Some("in")),
            (GpioWiggle, &["--wake=busy", "--interval=20us", "--by=true"], false, Some("wake")),
        ] {
            let error = refuse_unused(probe, &parsed_flags(flags), samples).err();
            assert_eq!(error.map(|error| error.key), refused, "{probe:?} {flags:?}");
        }
    }
}
