//! What a run says, in sentences: the same ones in the terminal and in the report.

use tardy_analyse::findings::{Findings, PhaseFindings};
use tardy_analyse::name::Readings;
use tardy_analyse::row::Row;
use tardy_analyse::verdict::Verdict;
use tardy_record::foreign::LOADS_UNKNOWN;
use tardy_record::series::Quantity;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, validity};

use crate::latency::{count, harmless, one_in, per_cent, with_unit};

/// What the run's limit is no protection against.
pub const NO_GUARANTEE: &str = "This is no guarantee: loads, temperatures and rare events that this run did not have \
                                are not in its numbers.";

/// What stands where the table of a phase without any series would.
pub const NO_SERIES: &str = "Nothing was measured in this phase.";

/// An upper bound above this says nothing.
const NO_BOUND_FROM: f64 = 0.99;

/// Why a run's numbers must not be used, one reason a line; empty for a valid run.
pub fn spoilt(run: &Run) -> Vec<String> {
    if run.validity.valid {
        return Vec::new();
    }
    let reasons: Vec<String> = run.validity.spoilt_by.iter().map(|reason| harmless(reason)).collect();
    if reasons.is_empty() { vec!["the run does not say why".to_owned()] } else { reasons }
}

/// What limits what may be concluded, one a line: that the run is not whole comes first.
pub fn limits(run: &Run) -> Vec<String> {
    let missing = validity::what_is_missing(run);
    let mut limits: Vec<&String> = run.validity.limits.iter().collect();
    limits.sort_by_key(|limit| missing.as_ref() != Some(*limit));
    limits.into_iter().map(|limit| capitalised(&harmless(limit))).collect()
}

pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a phase came to, in one plain sentence.
pub fn plain(phase: &PhaseFindings) -> Option<String> {
    let row = phase.all.as_ref()?;
    let max = row.max_ns?;
    let over = phase.measured_ns.map_or_else(String::new, |ns| format!(" over {}", rounded(ns)));
    let under = match phase.loads.as_slice() {
        [] => "with no load".to_owned(),
        [one] if *one == LOADS_UNKNOWN => "under a load that is unknown".to_owned(),
        loads => format!("under {}", harmless(&loads.join(" and "))),
    };
    let worst =
        phase.rows.iter().filter(|row| row.max_ns == Some(max)).map(|row| harmless(&row.label)).next();
    let on = worst.map_or_else(String::new, |label| format!(", on {label}"));
    let body =
        quantile(row, "p99.9").or_else(|| quantile(row, "p99")).map_or_else(String::new, |(share, ns)| {
            format!("; all but {share} were less than {} late", with_unit(ns))
        });
    let count_of = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let on_cpus = phase.rows.iter().filter(|row| row.cpu.is_some()).count();
    let where_from = match (on_cpus, phase.rows.len() - on_cpus) {
        (cpus, 0) => count_of(cpus, "CPU"),
        (0, threads) if phase.probe == "foreign" => count_of(threads, "thread"),
        (0, threads) => count_of(threads, "unpinned thread"),
        (cpus, threads) => format!("{} and {}", count_of(cpus, "CPU"), count_of(threads, "unpinned thread")),
    };
    if matches!(phase.readings, Readings::Frames | Readings::Gaps | Readings::Intervals) {
        // Flows, gaps and captures say what they came to themselves: crate::flows, crate::noise, crate::captures.
        return None;
    }
    if phase.readings == Readings::Reactions && phase.probe == "foreign" {
        let edges =
            row.attempted.get().map_or_else(|| "the edges".to_owned(), |n| format!("{} edges", count(n)));
        let body = quantile(row, "p99.9").or_else(|| quantile(row, "p99"));
        let body = body.map_or_else(String::new, |(share, ns)| {
            format!("; all but {share} came within {}", with_unit(ns))
        });
        return Some(format!(
            "Of {edges}{over} {under}, {} were answered, the latest after {}{body}.",
            count(row.recorded),
            with_unit(max as f64),
        ));
    }
    if phase.readings == Readings::Toggles {
        let most = quantile(row, "p99.9")
            .map_or_else(String::new, |(share, ns)| format!(", all but {share} less than {}", with_unit(ns)));
        return Some(format!(
            "In {} toggles{over} {under}, the longest took {}{most}.",
            count(row.quoted_count),
            with_unit(max as f64),
        ));
    }
    if phase.readings == Readings::Periods {
        return Some(format!(
            "In {} periods{over} on {where_from} {under}, the noisiest took {} from what ran{on}.",
            count(row.quoted_count),
            with_unit(max as f64),
        ));
    }
    if phase.readings == Readings::Samples {
        return Some(format!(
            "In {} samples{over} on {where_from} {under}, the longest noise took {}{on}.",
            count(row.quoted_count),
            with_unit(max as f64),
        ));
    }
    if phase.readings == Readings::Reactions {
        let most = quantile(row, "p99.9").map_or_else(String::new, |(share, ns)| {
            format!("; all but {share} took less than {}", with_unit(ns))
        });
        let known = |one: tardy_record::Knowable<u64>| one.get().unwrap_or(0);
        let unanswered = match known(row.missed).saturating_add(known(row.dropped)) {
            0 => String::new(),
            1 => "; 1 edge went unanswered".to_owned(),
            many => format!("; {} edges went unanswered", count(many)),
        };
        return Some(format!(
            "In {} reactions{over} {under}, the slowest took {}{most}{unanswered}.",
            count(row.quoted_count),
            with_unit(max as f64),
        ));
    }
    Some(format!(
        "In {} wake-ups{over} on {where_from} {under}, the latest came {} late{on}{body}.",
        count(row.quoted_count),
        with_unit(max as f64),
    ))
}

fn quantile(row: &Row, level: &str) -> Option<(&'static str, f64)> {
    let share = if level == "p99.9" { "1 in 1,000" } else { "1 in 100" };
    let quantile = row.quantiles.iter().find(|quantile| quantile.level == level)?;
    // Of one beyond the histogram nobody can say that all were less.
    Some((share, quantile.value.filter(|value| !value.at_least)?.upper_ns as f64))
}

/// Why there is no verdict although there is a limit.
pub fn no_verdict(findings: &Findings) -> Option<String> {
    let limit = format_duration_ns(findings.limit_ns.filter(|_| findings.verdict.is_none())?);
    let of = |quantity| findings.phases.iter().any(|phase| phase.quantity == quantity);
    let why = match findings.meaningless_because {
        _ if !findings.validity.valid => "the run is invalid",
        Some(_) => "the latencies mean nothing",
        None if of(Quantity::Spacing) => "a pin that wiggles as fast as it can has no deadlines",
        None if of(Quantity::Noise) => {
            "noise is for how long a CPU was taken away, and not how late anything woke"
        }
        None => "nothing was recorded",
    };
    Some(format!("No verdict on the limit of {limit}: {why}."))
}

/// What the run says about its limit, a sentence each: the outcome, what it supports, the assumption, no guarantee.
pub fn verdict(verdict: &Verdict) -> Vec<String> {
    let limit = format_duration_ns(verdict.limit_ns);
    let (one, many) = (verdict.readings.one(), verdict.readings.name());
    let looked = format!("{} {many} over {}", count(verdict.wakeups), rounded(verdict.looked_ns));
    let share = per_cent(verdict.share_of_limit);
    let worst = with_unit(verdict.worst_ns as f64);
    let outcome = if verdict.late_at_most == 0 {
        format!("The limit of {limit} was kept: the worst {one}, {worst}, took {share} of it, in {looked}.")
    } else if verdict.late_at_least == 0 {
        let unanswered = count(verdict.late_at_most);
        format!(
            "Whether the limit of {limit} was kept is not known: {unanswered} went unanswered; the worst {one} that was seen, \
             {worst}, took {share} of it, in {looked}."
        )
    } else {
        let late = late(verdict);
        format!(
            "The limit of {limit} was broken: {late} later, the worst {worst} ({share} of it), in {looked}."
        )
    };
    vec![outcome, supports(verdict), NO_GUARANTEE.to_owned()]
}

fn late(verdict: &Verdict) -> String {
    let (least, most) = (verdict.late_at_least, verdict.late_at_most);
    let many = verdict.readings.name();
    match (least, most) {
        (1, 1) => format!("1 {} was", verdict.readings.one()),
        _ if least == most => format!("{} {many} were", count(most)),
        _ => format!("between {} and {} {many} were", count(least), count(most)),
    }
}

fn supports(verdict: &Verdict) -> String {
    let bound = &verdict.bound;
    let many = verdict.readings.name();
    if bound.upper > NO_BOUND_FROM {
        let (late, of) = (count(bound.late), count(bound.wakeups));
        let label = harmless(&bound.label);
        if verdict.late_at_least < verdict.late_at_most / 2 {
            return "How many were late is not known: there is no histogram that tells, or its rows are too wide.".to_owned();
        }
        return if bound.late as f64 >= 0.9 * bound.wakeups as f64 {
            format!("Nearly all {many} on {label} were late, {late} of {of}: there is no share to bound.")
        } else {
            format!(
                "{late} of {of} {many} on {label} were late: too few, or too clustered, to bound their share."
            )
        };
    }
    let confidence = per_cent(verdict.confidence);
    let assumption = match bound.dispersion {
        Some(dispersion) if dispersion > 1.0 => format!(
            "They come in clusters (dispersion {}), which is allowed for",
            crate::latency::three_digits(dispersion)
        ),
        Some(_) => "Counted in blocks of time they look independent, which this assumes".to_owned(),
        None => format!("This assumes that {many} are late independently of each other"),
    };
    format!(
        "That supports, with {confidence} confidence: under this load, at most {} late on any {} ({:.1e}). {assumption}.",
        if bound.upper < 0.1 {
            format!("{} {many} is", one_in(bound.upper))
        } else {
            format!("{} of {many} are", one_in(bound.upper))
        },
        if verdict.bounds.iter().any(|bound| bound.unpinned) { "thread" } else { "CPU" },
        ceil_two_digits(bound.upper),
    )
}

fn ceil_two_digits(share: f64) -> f64 {
    let unit = 10f64.powf(share.log10().floor() - 1.0);
    (share / unit - 1e-9).ceil() * unit
}

/// A duration without the digits that nobody asked for: whole milliseconds below 10 s, whole tenths below a
/// minute, whole seconds above.
pub fn rounded(ns: u64) -> String {
    let unit = match ns {
        0..1_000_000 => 1,
        1_000_000..10_000_000_000 => 1_000_000,
        10_000_000_000..60_000_000_000 => 100_000_000,
        _ => 1_000_000_000,
    };
    format_duration_ns(ns.saturating_add(unit / 2) / unit * unit)
}

/// How the table of `findings` quotes its quantiles, and what its dashes mean.
pub fn table_notes(findings: &Findings) -> Vec<String> {
    use tardy_analyse::pool::Quoted;
    // A gap is no wake-up, nor is a toggle: it has no schedule that it could miss; nor has an edge that an analyser saw.
    let is_timed = |phase: &&PhaseFindings| {
        let captured = phase.readings == Readings::Reactions && phase.probe == "foreign";
        !captured && !matches!(phase.readings, Readings::Gaps | Readings::Toggles | Readings::Intervals)
    };
    let phases = || findings.phases.iter().filter(is_timed);
    let rows = || phases().flat_map(|phase| phase.rows.iter().chain(&phase.all));
    let mut notes = Vec::new();
    if rows().all(|row| row.recorded == 0) {
        return Vec::new();
    }
    let corrected = rows().filter(|row| row.quoted == Quoted::Corrected).count();
    let missed = rows().any(|row| row.missed.get().is_some_and(|missed| missed > 0));
    if corrected > 0 && missed {
        notes.push("Mean and quantiles are of the corrected histogram: every missed period counts as a late wake-up.");
    } else if corrected > 0 {
        notes.push("Mean and quantiles are of the corrected histogram; no period was missed, so it is the measured one.");
    }
    if corrected < rows().count() {
        notes.push(
            "Where missed is -, there is no schedule to miss, or no knowledge of it: mean and quantiles are of what was \
             measured, and stalls may hide in it.",
        );
    }
    if rows().any(|row| row.quantiles.iter().any(|quantile| quantile.value.is_none())) {
        notes.push(if phases().any(|phase| phase.probe == "foreign") {
            "n/a: too few wake-ups to determine that quantile, or a file that has no more than their extremes."
        } else {
            "n/a: too few wake-ups to determine that quantile."
        });
    }
    notes.into_iter().map(str::to_owned).collect()
}
