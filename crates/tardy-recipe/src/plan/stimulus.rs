//! The stimulus that tardy generates itself.

use tardy_record::pins::{Line, StimulusPlan, StimulusSource};
use tardy_record::units::format_duration_ns;

use super::machine::Machine;
use super::pins::line;
use crate::options::{GpioOptions, STIMULUS_PERIOD};
use crate::usage_error::{UsageError, wrong};
use crate::values::{Duration, PositiveDuration, StimulusOutput};

/// Accepted periods, in ns. A shorter one is an interrupt storm; a longer one yields too few edges.
const PERIOD_NS: std::ops::RangeInclusive<u64> = 50_000..=1_000_000_000;

/// The stimulus for a thread that answers on `cpu`; `used` are the input and the output. `None` if the stimulus is
/// external.
pub(super) fn stimulus(
    options: &GpioOptions,
    used: [&Line; 2],
    cpu: u32,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Option<StimulusPlan>, UsageError> {
    let Some(output) = &options.stimulus else { return refuse_its_options(options).map(|()| None) };
    let period_ns = period_ns(options.stimulus_period.unwrap_or(STIMULUS_PERIOD))?;
    let name = match output {
        StimulusOutput::Pwm { chip, channel } => {
            refuse_options_of_a_thread(options)?;
            let source = StimulusSource::Pwm { chip: chip.clone(), channel: *channel };
            return Ok(Some(StimulusPlan { source, period_ns, dither_ns: 0, echo: None }));
        }
        StimulusOutput::Line(name) => name,
    };
    let driven = line("stimulus", name, machine)?;
    let echo = options.echo.as_ref().map(|name| line("echo", name, machine)).transpose()?;
    check_separate("stimulus", &driven, &used)?;
    if let Some(echo) = &echo {
        check_separate("echo", echo, &[used[0], used[1], &driven])?;
    }
    let source =
        StimulusSource::Line { line: driven, cpu: stimulus_cpu(options, cpu, housekeeping_cpu, machine)? };
    let dither_ns = dither_ns(options.stimulus_dither, period_ns)?;
    Ok(Some(StimulusPlan { source, period_ns, dither_ns, echo }))
}

/// Refuses the options of a stimulus if there is none.
fn refuse_its_options(options: &GpioOptions) -> Result<(), UsageError> {
    let given: [(&str, bool); 4] = [
        ("stimulus_period", options.stimulus_period.is_some()),
        ("stimulus_dither", options.stimulus_dither.is_some()),
        ("stimulus_cpu", options.stimulus_cpu.is_some()),
        ("echo", options.echo.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => {
            Err(wrong(key, "needs a stimulus that tardy generates; name its line with --stimulus"))
        }
        None => Ok(()),
    }
}

/// Refuses the options of the driving thread. A PWM output has no such thread.
fn refuse_options_of_a_thread(options: &GpioOptions) -> Result<(), UsageError> {
    if options.stimulus_dither.is_some() {
        return Err(wrong("stimulus_dither", "a PWM output has no dither; remove it"));
    }
    if options.stimulus_cpu.is_some() {
        return Err(wrong("stimulus_cpu", "a PWM output needs no CPU; remove it"));
    }
    if options.echo.is_some() {
        let reason = "the times of a PWM output's edges are unknown, so an echo cannot be timed; remove it, or drive a \
                      line with --stimulus";
        return Err(wrong("echo", reason));
    }
    Ok(())
}

fn check_separate(key: &'static str, line: &Line, others: &[&Line]) -> Result<(), UsageError> {
    if others.contains(&line) {
        let reason = format!("{} is already used by another option; give a separate line", line.place());
        return Err(wrong(key, reason));
    }
    Ok(())
}

/// The stimulus's period in ns.
///
/// # Errors
/// If it is not between 50 µs and 1 s.
pub fn period_ns(period: PositiveDuration) -> Result<u64, UsageError> {
    if PERIOD_NS.contains(&period.ns()) {
        return Ok(period.ns());
    }
    Err(wrong("stimulus_period", format!("{period} is out of range; expected 50us to 1s")))
}

/// The stimulus's dither in ns; a fifth of the period by default.
///
/// # Errors
/// If it is more than half of the period.
pub fn dither_ns(dither: Option<Duration>, period_ns: u64) -> Result<u64, UsageError> {
    let Some(dither) = dither else { return Ok(period_ns / 5) };
    if dither.ns() > period_ns / 2 {
        let most = format_duration_ns(period_ns / 2);
        return Err(wrong(
            "stimulus_dither",
            format!("{dither} is more than half of the period; expected at most {most}"),
        ));
    }
    Ok(dither.ns())
}

/// The CPU that drives the stimulus. By default it is not the CPU that answers: code that disables interrupts or preemption
/// there would also delay the stimulus, and this delay would not be measured.
fn stimulus_cpu(
    options: &GpioOptions,
    cpu: u32,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<u32, UsageError> {
    if let Some(given) = options.stimulus_cpu {
        return match machine.cpus.check(given) {
            Ok(()) => Ok(given),
            Err(reason) => Err(wrong("stimulus_cpu", reason)),
        };
    }
    let others = std::iter::once(housekeeping_cpu).chain(machine.cpus.of_supervisor());
    others.into_iter().find(|other| *other != cpu).ok_or_else(|| {
        wrong(
            "stimulus",
            "the only CPU is the one that answers, and it drives no edge while interrupts or preemption are disabled; use a \
             PWM output (--stimulus pwmchip0:0) or another board (`tardy gpio stimulate`), or force it with --stimulus-cpu",
        )
    })
}
