//! Clocks, timers and ticks.

use super::{Finding, Judged, Machine, Remedy, RemedyKind, Severity, fine, known, not_applicable};

/// Clock sources that take a microsecond or more to read, or whose resolution is that of the timer interrupt.
const SLOW: [&str; 6] = ["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies", "tick"];

pub(super) fn high_resolution(machine: &Machine<'_>) -> Judged {
    let active = &machine.facts.clock.high_resolution;
    if *known(active)? {
        return fine("active");
    }
    let switched_off = machine.boot_words().ok().and_then(|mut words| {
        words.find(|word| matches!(*word, "highres=off" | "highres=0" | "highres=n")).map(str::to_owned)
    });
    let remedy = match switched_off {
        Some(text) => Remedy { kind: RemedyKind::RemoveBootParameter, text },
        None => Remedy::kernel_option("CONFIG_HIGH_RES_TIMERS=y"),
    };
    let finding = Finding::new(
        Severity::Blocks,
        "High-resolution timers are not active",
        "Every timer fires at the next tick, up to 10 ms late.",
        active.how.clone(),
        remedy,
    );
    Ok(finding.into())
}

pub(super) fn source(machine: &Machine<'_>) -> Judged {
    let clock = &machine.facts.clock;
    let source = known(&clock.source)?;
    if !SLOW.contains(&source.as_str()) {
        return fine(source.clone());
    }
    if source.ends_with("jiffies") && clock.high_resolution.get() == Some(&false) {
        return not_applicable("the missing high-resolution timers are reported instead");
    }
    let available = clock.available.get();
    let better = available.and_then(|list| list.iter().find(|other| !SLOW.contains(&other.as_str())));
    let remedy = match better {
        Some(better) => Remedy::command(format!(
            "echo {better} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None => Remedy::boot_parameter("tsc=reliable"),
    };
    let finding = Finding::new(
        Severity::Hurts,
        format!("The clock source is {source}"),
        "Every reading of the clock accesses a slow device, and all CPUs wait for each other.",
        clock.source.how.clone(),
        remedy,
    )
    .danger("The kernel may have rejected the faster clock because it drifts: time may then run wrong.");
    Ok(finding.into())
}

pub(super) fn skew_tick(machine: &Machine<'_>) -> Judged {
    if known(&machine.facts.cpu.online)?.len() < 2 {
        return not_applicable("there is one CPU");
    }
    if machine.boot_value("skew_tick")? == Some("1") {
        return fine("skew_tick=1");
    }
    let finding = Finding::new(
        Severity::Note,
        "The ticks of all CPUs come at the same time",
        "They wait for the same locks, longer with each CPU.",
        machine.facts.kernel.command_line.how.clone(),
        Remedy::boot_parameter("skew_tick=1"),
    )
    .danger("The package sleeps less, so it needs more power.");
    Ok(finding.into())
}
