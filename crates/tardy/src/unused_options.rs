//! Options that the probe at hand has no use for: whoever typed one expected something of it.

use crate::recipe::{GpioTable, NoiseTable, TimerTable};
use crate::resolve::{UsageError, wrong};
use crate::resolve_pins::{GPIO_REACTION, GPIO_WIGGLE};

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
    gpio: &GpioTable,
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
    let of_reactions: [Typed; 6] = [
        ("in", gpio.input.is_some()),
        ("answer_by", gpio.answer_by.is_some()),
        ("stimulus", gpio.stimulus.is_some()),
        ("stimulus_period", gpio.stimulus_period.is_some()),
        ("stimulus_dither", gpio.stimulus_dither.is_some()),
        ("stimulus_cpu", gpio.stimulus_cpu.is_some()),
    ];
    let of_wiggles: [Typed; 2] = [("by", gpio.by.is_some()), ("through", gpio.through.is_some())];
    let of_pins: [Typed; 2] = [("out", gpio.output.is_some()), ("echo", gpio.echo.is_some())];
    // A loop that spins with no interval is as fast as it can, and the only wiggle that has holes.
    let is_fastest = timer.interval.is_none()
        && timer.wake.as_ref().is_some_and(|wakes| wakes.iter().all(|wake| wake.trim() == "busy"));
    let first = |typed: &[Typed]| typed.iter().find(|(_, typed)| *typed).map(|(option, _)| *option);
    let pins = first(&of_reactions).or_else(|| first(&of_pins)).or_else(|| first(&of_wiggles));
    let (unused, why) = match probe {
        "timer" | "kernel" | "noise" | "xenomai" if pins.is_some() => {
            (pins, "only --probe gpio-reaction and --probe gpio-wiggle have to do with pins")
        }
        "timer" | "kernel" => (
            first(&[("threshold", noise.threshold.is_some())]),
            "only --probe noise has a threshold; --thresholds counts what goes over limits",
        ),
        "noise" => (
            first(&of_timers).or_else(|| first(&[("interval", timer.interval.is_some())])),
            "the noise probe is a loop that waits for nothing; this is for --probe timer",
        ),
        GPIO_REACTION if first(&of_wiggles).is_some() => {
            (first(&of_wiggles), "only --probe gpio-wiggle has a use for it")
        }
        GPIO_REACTION => (
            first(&of_timers).or_else(|| first(&[("interval", timer.interval.is_some())])),
            "edges come when they come; this is for --probe timer",
        ),
        GPIO_WIGGLE if first(&of_reactions).is_some() => {
            (first(&of_reactions), "a wiggle answers nothing; this is for --probe gpio-reaction")
        }
        GPIO_WIGGLE if gpio.by.is_some() => (
            first(&of_timers).or_else(|| {
                first(&[
                    ("interval", timer.interval.is_some()),
                    ("policy", timer.policy.is_some()),
                    ("priority", timer.priority.is_some()),
                    ("threshold", noise.threshold.is_some()),
                    ("through", gpio.through.is_some()),
                ])
            }),
            "the program that --by names wiggles in its own way",
        ),
        GPIO_WIGGLE if is_fastest => (
            first(&of_timers[1..]),
            "with --wake busy and no --interval a pin wiggles as fast as it can, and waits for nothing",
        ),
        GPIO_WIGGLE => (
            first(&[
                ("distance", timer.distance.is_some()),
                ("priority_step", timer.priority_step.is_some()),
                ("threshold", noise.threshold.is_some()),
            ]),
            "one thread makes an edge at each deadline; only with --wake busy and no --interval there are holes",
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
            check(probe, timer, noise, &GpioTable::default(), samples).err().map(|error| error.key)
        };
        assert_eq!(refused("timer", &dithered, &no_noise, true), None);
        assert_eq!(refused("timer", &no_timer, &fine, false), Some("threshold"));
        assert_eq!(refused("noise", &dithered, &fine, false), Some("dither"));
        assert_eq!(refused("noise", &no_timer, &fine, true), Some("samples"));
        assert_eq!(refused("noise", &no_timer, &fine, false), None);
        assert_eq!(refused("gpio-reaction", &dithered, &no_noise, false), Some("dither"));
        assert_eq!(refused("xenomai", &dithered, &no_noise, false), Some("dither"));
        let busy = TimerTable { wake: Some(vec!["busy".to_owned()]), ..TimerTable::default() };
        let paced = TimerTable { interval: Some("20us".to_owned()), ..busy.clone() };
        assert_eq!(refused("gpio-wiggle", &busy, &fine, false), None);
        assert_eq!(refused("gpio-wiggle", &busy, &no_noise, true), Some("samples"));
        assert_eq!(refused("gpio-wiggle", &paced, &no_noise, true), None);
        assert_eq!(refused("gpio-wiggle", &paced, &fine, false), Some("threshold"));
        let input = GpioTable { input: Some("GPIO17".to_owned()), ..GpioTable::default() };
        let refused = check("gpio-wiggle", &busy, &no_noise, &input, false).unwrap_err();
        assert_eq!(refused.key, "in");
        let by = GpioTable { by: Some("true".to_owned()), ..GpioTable::default() };
        let refused = check("gpio-wiggle", &paced, &no_noise, &by, false).unwrap_err();
        assert_eq!(refused.key, "wake");
    }
}
