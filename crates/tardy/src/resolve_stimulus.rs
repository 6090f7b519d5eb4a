//! From `[gpio]` to the stimulus that tardy makes itself.

use tardy_host::gpio::pwm;
use tardy_record::pins::{Line, StimulusPlan, StimulusSource};

use crate::recipe::{GpioTable, Recipe};
use crate::resolve::{Machine, UsageError, positive, time, wrong};
use crate::resolve_pins::{GPIO_REACTION, line};

const DEFAULT_PERIOD: &str = "1ms";
/// Shorter ones are a storm of interrupts, and with longer ones nothing comes of a run.
const PERIOD_NS: std::ops::RangeInclusive<u64> = 50_000..=1_000_000_000;

/// The stimulus for a thread that answers on `cpu`, with `used` for the input and the output; nothing where somebody else
/// makes it.
pub(crate) fn stimulus(
    recipe: &Recipe,
    used: [&Line; 2],
    cpu: u32,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Option<StimulusPlan>, UsageError> {
    let gpio = &recipe.gpio;
    let Some(text) = gpio.stimulus.as_deref().map(str::trim) else {
        return nothing_without(gpio).map(|()| None);
    };
    let period_ns = period(gpio.stimulus_period.as_deref())?;
    if let Some((chip, channel)) = pwm::parse(text) {
        by_hardware_alone(gpio)?;
        let source = StimulusSource::Pwm { chip, channel };
        return Ok(Some(StimulusPlan { source, period_ns, dither_ns: 0, echo: None }));
    }
    let driven = line(GPIO_REACTION, "stimulus", Some(text), machine)?;
    let echo =
        gpio.echo.as_deref().map(|text| line(GPIO_REACTION, "echo", Some(text), machine)).transpose()?;
    apart("stimulus", &driven, &used)?;
    if let Some(echo) = &echo {
        apart("echo", echo, &[used[0], used[1], &driven])?;
    }
    let source =
        StimulusSource::Line { line: driven, cpu: stimulus_cpu(gpio, cpu, housekeeping_cpu, machine)? };
    Ok(Some(StimulusPlan {
        source,
        period_ns,
        dither_ns: dither(gpio.stimulus_dither.as_deref(), period_ns)?,
        echo,
    }))
}

fn nothing_without(gpio: &GpioTable) -> Result<(), UsageError> {
    let of_a_stimulus: [(&str, bool); 4] = [
        ("stimulus_period", gpio.stimulus_period.is_some()),
        ("stimulus_dither", gpio.stimulus_dither.is_some()),
        ("stimulus_cpu", gpio.stimulus_cpu.is_some()),
        ("echo", gpio.echo.is_some()),
    ];
    let typed = of_a_stimulus.into_iter().find(|(_, typed)| *typed);
    typed.map_or(Ok(()), |(key, _)| {
        Err(wrong(
            key,
            "it is of a stimulus that tardy makes itself: name the line that it drives with --stimulus",
        ))
    })
}

fn by_hardware_alone(gpio: &GpioTable) -> Result<(), UsageError> {
    if gpio.stimulus_dither.is_some() {
        return Err(wrong("stimulus_dither", "a PWM output is a clock and has none; leave it out"));
    }
    if gpio.stimulus_cpu.is_some() {
        return Err(wrong("stimulus_cpu", "no CPU makes the edges of a PWM output; leave it out"));
    }
    if gpio.echo.is_some() {
        let reason = "nobody knows when a PWM output's edges come, so that an answer read back would be timed from \
                      nothing; leave it out, or drive a line with --stimulus";
        return Err(wrong("echo", reason));
    }
    Ok(())
}

fn apart(key: &'static str, line: &Line, others: &[&Line]) -> Result<(), UsageError> {
    if others.contains(&line) {
        return Err(wrong(
            key,
            format!("{} is in use here already; it needs a line of its own", line.place()),
        ));
    }
    Ok(())
}

/// From one edge to the next.
pub(crate) fn period(text: Option<&str>) -> Result<u64, UsageError> {
    let period_ns = positive("stimulus_period", text.unwrap_or(DEFAULT_PERIOD))?;
    if PERIOD_NS.contains(&period_ns) {
        return Ok(period_ns);
    }
    Err(wrong("stimulus_period", format!("{period_ns} ns is not between 50 us and 1 s")))
}

/// By how much each may be put off; a fifth of the period where nothing is said.
pub(crate) fn dither(text: Option<&str>, period_ns: u64) -> Result<u64, UsageError> {
    let Some(text) = text else { return Ok(period_ns / 5) };
    let dither_ns = time("stimulus_dither", text)?;
    if dither_ns > period_ns / 2 {
        return Err(wrong("stimulus_dither", format!("{text} is more than half of the period; give less")));
    }
    Ok(dither_ns)
}

/// Another CPU than the one that answers. What holds interrupts or preemption off there would hold the stimulus up as well,
/// and not be seen: only who says so outright gets the same.
fn stimulus_cpu(
    gpio: &GpioTable,
    cpu: u32,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<u32, UsageError> {
    if let Some(given) = gpio.stimulus_cpu {
        if !machine.allowed.contains(&given) {
            return Err(wrong("stimulus_cpu", format!("this process may not use cpu {given}")));
        }
        return Ok(given);
    }
    let others = std::iter::once(housekeeping_cpu).chain(machine.allowed.iter().copied());
    others.into_iter().find(|other| *other != cpu).ok_or_else(|| {
        wrong(
            "stimulus",
            "there is no CPU for it but the one that answers, and from there no edge comes while interrupts or \
             preemption are off; use a PWM output (--stimulus pwmchip0:0), or another board (`tardy gpio stimulate` on \
             it), or say --stimulus-cpu to have it all the same",
        )
    })
}
