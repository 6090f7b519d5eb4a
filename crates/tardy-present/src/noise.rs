//! Noise in words and tables: the same in the terminal and in the report.

use tardy_analyse::compare::NoisePair;
use tardy_analyse::noise::{Certainty, CpuNoise, NoisePhase, Source};
use tardy_analyse::phase_lock::{InStep, Instead};
use tardy_record::units::format_duration_ns;

use crate::latency::{count, harmless, microseconds, per_cent, short, three_digits, with_unit};
use crate::sentence;

/// The columns of the table of CPUs.
pub const CPU_HEADS: [&str; 7] = ["", "noise", "gaps", "gaps/s", "longest, us", "after", "not by period"];
/// The columns of the table of sources.
pub const SOURCE_HEADS: [&str; 7] =
    ["", "period", "gap, us", "longest, us", "jitter, us", "missing", "of the noise"];

/// A line for each CPU.
pub fn cpu_rows(phase: &NoisePhase) -> Vec<Vec<String>> {
    phase.cpus.iter().map(cpu_row).collect()
}

fn cpu_row(cpu: &CpuNoise) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![
        short(&harmless(&cpu.label), 28),
        per_cent(cpu.share),
        count(cpu.gaps),
        three_digits(cpu.gaps_per_second),
        cpu.longest_ns.map_or_else(dash, |ns| microseconds(ns as f64)),
        cpu.longest_at_ns.map_or_else(dash, sentence::rounded),
        cpu.rest_share.map_or_else(dash, per_cent),
    ]
}

/// A line for each source of each CPU.
pub fn source_rows(phase: &NoisePhase) -> Vec<Vec<String>> {
    let rows = |cpu: &CpuNoise| -> Vec<Vec<String>> {
        cpu.sources.iter().map(|source| source_row(&harmless(&cpu.label), source)).collect()
    };
    phase.cpus.iter().flat_map(rows).collect()
}

fn source_row(label: &str, source: &Source) -> Vec<String> {
    let period = &source.period;
    let all = period.events + period.missing;
    vec![
        short(label, 28),
        period_text(period.period_ns, period.period_error_ns),
        microseconds(period.length_ns as f64),
        microseconds(period.longest_ns as f64),
        microseconds(period.jitter_ns),
        format!("{} of {}", count(period.missing), count(all)),
        per_cent(source.share_of_noise),
    ]
}

/// What the sources probably are, in the order of the table: each cause with its CPUs.
pub fn causes(phase: &NoisePhase) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for cpu in &phase.cpus {
        for source in &cpu.sources {
            let text = cause_text(source);
            let (period, error) = (source.period.period_ns, source.period.period_error_ns);
            // The third digit of a period tells no two sources apart.
            let line = format!("{}: {text}", period_text(period, error.max(period * 1e-3)));
            match groups.iter_mut().find(|(known, _)| *known == line) {
                Some((_, cpus)) => cpus.push(&cpu.label),
                None => groups.push((line, vec![&cpu.label])),
            }
        }
    }
    let cpus = |labels: &[&str]| harmless(&labels.join(", "));
    groups.iter().map(|(line, labels)| format!("{line} ({})", cpus(labels))).collect()
}

/// What both sides of a comparison lost to noise.
pub const PAIR_HEADS: [&str; 5] = ["noise", "base", "candidate", "base, gaps/s", "candidate, gaps/s"];

/// A line for each CPU that both sides looked at.
pub fn pair_rows(pairs: &[NoisePair]) -> Vec<Vec<String>> {
    let phases = pairs.iter().any(|pair| pair.phase != pairs[0].phase);
    let row = |pair: &NoisePair| {
        let label = if phases { format!("{}, {}", pair.phase, pair.label) } else { pair.label.clone() };
        let [base, candidate] = pair.share.map(per_cent);
        let [base_gaps, candidate_gaps] = pair.gaps_per_second.map(three_digits);
        vec![short(&harmless(&label), 40), base, candidate, base_gaps, candidate_gaps]
    };
    pairs.iter().map(row).collect()
}

/// That timers are in step with sources of noise, and what to do, a sentence for each interval.
pub fn in_step(found: &[InStep]) -> Vec<String> {
    found.iter().map(warning).collect()
}

fn warning(found: &InStep) -> String {
    let turns = |n: u32, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let with: Vec<String> = (found.with.iter())
        .map(|source| {
            let name = source.name.as_ref().map_or_else(String::new, |name| format!(" ({})", harmless(name)));
            let period = period_text(source.period_ns, source.period_ns * 1e-4);
            let (intervals, periods) = (turns(source.intervals, "interval"), turns(source.periods, "period"));
            format!("{intervals} for {periods} of {period}{name}")
        })
        .collect();
    let instead = match found.instead {
        Instead::DitherNs(ns) => {
            format!("--dither {} spreads its deadlines over all phases", format_duration_ns(ns))
        }
        Instead::IntervalNs(ns) => format!("--interval {} is in step with none", format_duration_ns(ns)),
    };
    format!(
        "The timer of {} is in step with periodic noise: {}. It meets that at the same phases each time, or never, and \
         tells nothing of the others; {instead}.",
        format_duration_ns(found.interval_ns),
        with.join("; ")
    )
}

/// What a phase's table of noise is called.
pub fn title(phase: &NoisePhase) -> String {
    match phase.label.as_str() {
        "noise" => "Noise".to_owned(),
        label if phase.of_pin => format!("Holes, {}", short(&harmless(label), 40)),
        label => format!("Noise, {}", short(&harmless(label), 40)),
    }
}

/// What a source probably is, and how sure that is.
pub fn cause_text(source: &Source) -> String {
    match (&source.cause.name, source.cause.certainty) {
        (Some(name), Certainty::Found) => harmless(name),
        (Some(name), _) => format!("perhaps: {}", harmless(name)),
        (None, _) => "unknown".to_owned(),
    }
}

/// A period with the digits that its error leaves: `125.000 us`.
pub fn period_text(period_ns: f64, error_ns: f64) -> String {
    let (unit, name) = match period_ns {
        ns if ns < 1e6 => (1e3, "us"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let error = (error_ns / unit).max(1e-12);
    let digits = (-error.log10().floor()).clamp(0.0, 3.0) as usize;
    format!("{:.digits$} {name}", period_ns / unit)
}

/// What must be known beside the tables.
pub fn notes(phases: &[NoisePhase]) -> Vec<String> {
    let cpus = || phases.iter().flat_map(|phase| &phase.cpus);
    let mut notes = Vec::new();
    let thresholds: Vec<u64> = cpus().map(|cpu| cpu.threshold_ns).collect();
    if let (Some(least), Some(most)) = (thresholds.iter().min(), thresholds.iter().max()) {
        let text = if least == most {
            format_duration_ns(*least)
        } else {
            format!("{} to {}", format_duration_ns(*least), format_duration_ns(*most))
        };
        let turns: Vec<f64> = cpus().filter_map(|cpu| cpu.loop_ns).collect();
        let turn = turns.iter().copied().fold(0.0, f64::max);
        let turn =
            if turns.is_empty() { String::new() } else { format!("; a turn of the loop takes {turn:.1} ns") };
        notes.push(format!("Gaps are counted from {text}{turn}."));
    }
    let blind = cpus().map(|cpu| cpu.blind_share).fold(0.0, f64::max);
    if blind > 1e-3 {
        notes.push(format!(
            "The loop was busy writing gaps down for {} of the time and saw nothing meanwhile: a longer --threshold has \
             fewer of them.",
            per_cent(blind)
        ));
    }
    for (cpu, source, drift) in drifts(phases) {
        notes.push(format!(
            "{}: the period of {} changes by {} ppm a second.",
            harmless(cpu),
            period_text(source.period.period_ns, source.period.period_error_ns),
            three_digits(drift)
        ));
    }
    if cpus().any(|cpu| !cpu.sources.is_empty()) {
        notes.push(
            "Missing: moments at which the source would have been due and took nothing. A cause without 'perhaps' was \
             confirmed, by an interrupt counter with the same rate or by the kernel's own settings."
                .to_owned(),
        );
    }
    notes
}

fn drifts(phases: &[NoisePhase]) -> Vec<(&str, &Source, f64)> {
    let cpus = phases.iter().flat_map(|phase| &phase.cpus);
    let sources = cpus.flat_map(|cpu| cpu.sources.iter().map(move |source| (cpu.label.as_str(), source)));
    sources.filter_map(|(label, source)| Some((label, source, source.period.drift_ppm_per_s?))).collect()
}

/// What the noise comes to, in a sentence for each phase.
pub fn sentences(phases: &[NoisePhase]) -> Vec<String> {
    phases.iter().filter_map(sentence).collect()
}

fn sentence(phase: &NoisePhase) -> Option<String> {
    let worst = phase.cpus.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let longest = phase.cpus.iter().filter(|cpu| cpu.longest_ns.is_some()).max_by_key(|cpu| cpu.longest_ns);
    let Some(longest) = longest else {
        let nothing = if phase.of_pin { "The pin never stood still" } else { "Nothing took a CPU" };
        return Some(format!("{nothing} for as long as the threshold."));
    };
    let noisiest = if phase.cpus.len() > 1 {
        format!("on {}, the noisiest, ", harmless(&worst.label))
    } else {
        String::new()
    };
    let source = worst.sources.first().map_or_else(String::new, |source| {
        let most =
            if source.share_of_noise > 0.5 { "most of it" } else { "the largest part that has a period" };
        format!(
            "; {most} every {}, {} at a time ({})",
            period_text(source.period.period_ns, source.period.period_error_ns),
            with_unit(source.period.length_ns as f64),
            cause_text(source)
        )
    });
    if phase.of_pin {
        return Some(format!(
            "The pin stood still for {} of the time{source}. The longest hole was {}.",
            per_cent(worst.share),
            with_unit(longest.longest_ns.unwrap_or(0) as f64),
        ));
    }
    Some(sentence::capitalised(&format!(
        "{noisiest}noise took {} of the time{source}. The longest gap, {}, was on {}.",
        per_cent(worst.share),
        with_unit(longest.longest_ns.unwrap_or(0) as f64),
        harmless(&longest.label)
    )))
}
