//! Clocks and timers.

use tardy_record::facts::Facts;

use super::{Finding, Remedy, RemedyKind, Severity};

/// Clock sources that take a microsecond or more to read, or whose resolution is that of the timer interrupt.
const SLOW: [&str; 6] = ["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies", "tick"];

pub(super) fn judge(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.extend(no_high_resolution(facts));
    findings.extend(slow_source(facts));
}

fn no_high_resolution(facts: &Facts) -> Option<Finding> {
    let active = &facts.clock.high_resolution;
    if active.get() != Some(&false) {
        return None;
    }
    let switched_off = facts.kernel.command_line.get().and_then(|line| {
        line.split_whitespace().find(|word| matches!(*word, "highres=off" | "highres=0" | "highres=n"))
    });
    let remedy = match switched_off {
        Some(word) => Remedy { kind: RemedyKind::RemoveBootParameter, text: word.to_owned() },
        None => Remedy::kernel_option("CONFIG_HIGH_RES_TIMERS=y"),
    };
    Some(Finding::new(
        Severity::Blocks,
        "High-resolution timers are not active",
        "Every timer fires at the next tick, up to 10 ms late.",
        active.how.clone(),
        remedy,
    ))
}

fn slow_source(facts: &Facts) -> Option<Finding> {
    let source = facts.clock.source.get().filter(|source| SLOW.contains(&source.as_str()))?;
    // If the clock source is the tick, the missing high-resolution timers are already reported.
    if source.ends_with("jiffies") && facts.clock.high_resolution.get() == Some(&false) {
        return None;
    }
    let available = facts.clock.available.get();
    let better = available.and_then(|list| list.iter().find(|other| !SLOW.contains(&other.as_str())));
    let remedy = match better {
        Some(better) => Remedy::command(format!(
            "echo {better} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None => Remedy::boot_parameter("tsc=reliable"),
    };
    Some(Finding::new(
        Severity::Hurts,
        format!("The clock source is {source}"),
        "Every reading of the clock accesses a slow device, and all CPUs wait for each other.",
        facts.clock.source.how.clone(),
        remedy,
    ))
}
