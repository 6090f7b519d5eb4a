//! Options that the probe at hand has no use for: whoever typed one expected something of it.

use crate::recipe::{NoiseTable, TimerTable};
use crate::resolve::{UsageError, wrong};
use crate::resolve_pins::GPIO_REACTION;

/// What was typed of each option that is not for every probe.
type Typed = (&'static str, bool);

/// Refuses the first of the typed options that `probe` cannot heed; `samples` is whether `--samples` was typed.
///
/// # Errors
/// With the option, and what has a use for it.
pub(crate) fn check(
    probe: &str,
    timer: &TimerTable,
    noise: &NoiseTable,
    samples: bool,
) -> Result<(), UsageError> {
    let of_timers: [Typed; 7] = [
        ("wake", timer.wake.is_some()),
        ("clock", timer.clock.is_some()),
        ("distance", timer.distance.is_some()),
        ("dither", timer.dither.is_some()),
        ("priority_step", timer.priority_step.is_some()),
        ("causes", timer.causes.is_some()),
        ("samples", samples),
    ];
    let first = |typed: &[Typed]| typed.iter().find(|(_, typed)| *typed).map(|(option, _)| *option);
    let (unused, why) = match probe {
        "timer" | "kernel" => (
            first(&[("threshold", noise.threshold.is_some())]),
            "only --probe noise has a threshold; --thresholds counts what goes over limits",
        ),
        "noise" => (
            first(&of_timers).or_else(|| first(&[("interval", timer.interval.is_some())])),
            "the noise probe is a loop that waits for nothing; this is for --probe timer",
        ),
        GPIO_REACTION => (
            first(&of_timers).or_else(|| first(&[("interval", timer.interval.is_some())])),
            "edges come when they come; this is for --probe timer",
        ),
        "xenomai" => (
            first(&of_timers).or_else(|| first(&[("dma_latency", timer.dma_latency.is_some())])),
            "the co-kernel's own program has no such thing; this is for --probe timer",
        ),
        _ => return Ok(()),
    };
    unused.map_or(Ok(()), |option| Err(wrong(option, format!("it is of no use here: {why}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_probe_has_no_use_for_is_refused() {
        let dithered = TimerTable { dither: Some("1us".to_owned()), ..TimerTable::default() };
        let fine = NoiseTable { threshold: Some("50ns".to_owned()), ..NoiseTable::default() };
        let (no_timer, no_noise) = (TimerTable::default(), NoiseTable::default());
        let refused = |probe, timer: &TimerTable, noise: &NoiseTable, samples| {
            check(probe, timer, noise, samples).err().map(|error| error.key)
        };
        assert_eq!(refused("timer", &dithered, &no_noise, true), None);
        assert_eq!(refused("timer", &no_timer, &fine, false), Some("threshold"));
        assert_eq!(refused("noise", &dithered, &fine, false), Some("dither"));
        assert_eq!(refused("noise", &no_timer, &fine, true), Some("samples"));
        assert_eq!(refused("noise", &no_timer, &fine, false), None);
        assert_eq!(refused("gpio-reaction", &dithered, &no_noise, false), Some("dither"));
        assert_eq!(refused("xenomai", &dithered, &no_noise, false), Some("dither"));
    }
}
