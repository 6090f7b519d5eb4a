//! The verdict on the limit: the outcome, the bound that it supports, and what it does not guarantee.

mod until;

use tardy_analyse::episodes::Unseen;
use tardy_analyse::findings::Findings;
use tardy_analyse::isolation::CpusOfKind;
use tardy_analyse::share_limits::Length;
use tardy_analyse::until::Claim;
use tardy_analyse::verdict::{ShareBound, Verdict as Found};
use tardy_record::cpu_list;
use tardy_record::stop_rule::Decision;
use tardy_record::units::format_duration_ns;

use crate::page::{Element, Judgement, Page, Place, Tone, paragraph};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::{Style, capitalised, typographic};
use tardy_plot::numbers::{
    confidence, count, counted, harmless, highest_with_unit, one_in, per_cent, rounded, three_digits,
};

/// The end of every verdict, before what may have been missed.
const NO_GUARANTEE: &str = "This is not a guarantee: loads and temperatures that did not occur in this run are not in its \
                            numbers";

/// Upper bounds above this share are not stated.
const NO_BOUND_FROM: f64 = 0.99;

/// The verdict.
pub struct Verdict;

impl Section for Verdict {
    fn name(&self) -> &'static str {
        "verdict"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let mut block = text.block();
        if let Some(why) = no_verdict(context) {
            block.line(Style::Bold, &why);
        }
        block.paragraphs(Style::Bold, &exceeded_nonetheless(context));
        if context.findings.verdict.is_some() {
            for verdict in shown(context.findings) {
                block.paragraph(Style::Bold, &outcome(verdict));
                block.paragraphs(Style::Plain, &support(context, verdict));
            }
            block.paragraphs(Style::Bold, &until::sentences(context.findings.until.as_ref()));
            block.paragraph(Style::Plain, &no_guarantee(context));
        } else if let Some(unseen) = &context.findings.unseen {
            block.paragraph(Style::Plain, &format!("{}.", capitalised(&missed(unseen))));
        }
        text.add(Part::Conclusion, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let shown = shown(context.findings);
        for (index, verdict) in shown.iter().enumerate() {
            let mut paragraphs =
                if index == 0 { until::sentences(context.findings.until.as_ref()) } else { Vec::new() };
            paragraphs.extend(support(context, verdict));
            paragraphs.extend((index + 1 == shown.len()).then(|| no_guarantee(context)));
            let judgement = Judgement {
                tone: tone(verdict, context.findings.until.as_ref()),
                alert: false,
                strong: typographic(&outcome(verdict)),
                paragraphs: paragraphs.iter().map(|text| typographic(text)).collect(),
                items: Vec::new(),
            };
            page.add(Place::Verdict, [Element::Judgement(judgement)]);
        }
        let nonetheless = exceeded_nonetheless(context);
        if let [outcome, why] = &nonetheless[..] {
            let judgement = Judgement {
                tone: Tone::Broken,
                alert: false,
                strong: typographic(outcome),
                paragraphs: vec![typographic(why)],
                items: Vec::new(),
            };
            page.add(Place::Verdict, [Element::Judgement(judgement)]);
        }
        if let Some(unseen) = context.findings.unseen.as_ref().filter(|_| context.findings.verdict.is_none())
        {
            page.add(Place::Limits, [paragraph("", &format!("{}.", capitalised(&missed(unseen))))]);
        }
        let strong = |text| Element::Paragraph { class: "", strong: true, text };
        page.add(Place::Verdict, no_verdict(context).map(strong));
    }
}

/// The verdicts that are shown: one for each kind of CPU, if some of the measured CPUs are isolated and others are not.
fn shown(findings: &Findings) -> Vec<&Found> {
    match &findings.verdicts_by_isolation[..] {
        [] => findings.verdict.iter().collect(),
        verdicts => verdicts.iter().collect(),
    }
}

/// The outcome of a run whose load weakened and whose limit was exceeded nonetheless, and why it counts; empty for any other run.
fn exceeded_nonetheless(context: &Context<'_>) -> Vec<String> {
    let Some(verdict) = &context.findings.exceeded_nonetheless else { return Vec::new() };
    let why = "The load was weaker than it was meant to be. That invalidates the other numbers; it does not excuse the limit.";
    vec![outcome(verdict), why.to_owned()]
}

fn tone(verdict: &Found, claim: Option<&Claim>) -> Tone {
    match claim.filter(|claim| claim.rule.limit_ns == verdict.limit_ns).map(Claim::decision) {
        Some(Decision::Supported) => Tone::Kept,
        Some(Decision::Undecided) => Tone::Neutral,
        Some(Decision::Refuted) => Tone::Broken,
        None => match verdict.late_at_most {
            0 => Tone::Kept,
            _ if verdict.worst_at_least && verdict.late_at_least == 0 => Tone::Neutral,
            _ => Tone::Broken,
        },
    }
}

/// The reason why there is no verdict although there is a limit; `None` if there is a verdict or no limit.
fn no_verdict(context: &Context<'_>) -> Option<String> {
    let findings: &Findings = context.findings;
    let has_none = findings.verdict.is_none() && findings.exceeded_nonetheless.is_none();
    let limit = format_duration_ns(findings.limit_ns.filter(|_| has_none)?);
    let no_limit_because = || {
        let mut readings = findings.phases.iter().map(|phase| phase.readings);
        readings.find_map(|readings| context.describing(readings)?.no_limit_because())
    };
    let why = match findings.meaningless_because {
        _ if !findings.validity.valid => "the run is invalid",
        Some(_) => "the latencies mean nothing",
        None => no_limit_because().unwrap_or("nothing was recorded"),
    };
    Some(format!("No verdict on the limit of {limit}: {why}."))
}

/// Whether the limit was met, and the worst reading.
fn outcome(verdict: &Found) -> String {
    let limit = format_duration_ns(verdict.limit_ns);
    let (one, many) = (verdict.readings.one(), verdict.readings.noun(verdict.wakeups));
    let total = count(verdict.wakeups);
    // Another tool's file need not state how long it counted.
    let time = match verdict.looked_ns {
        0 => String::new(),
        ns => format!(" in {}", rounded(ns)),
    };
    let share = per_cent(verdict.share_of_limit);
    let whose = whose(verdict);
    let worst = highest_with_unit(verdict.worst_ns, verdict.worst_at_least);
    if verdict.late_at_most == 0 {
        format!(
            "The limit of {limit} was kept{whose}: the worst of {total} {many} took {worst} ({share} of the limit){time}."
        )
    } else if verdict.worst_at_least && verdict.late_at_least == 0 {
        format!(
            "Whether the limit of {limit} was kept{whose} is unknown: the file does not establish the maximum. The worst of the \
             {total} {many} in it took {worst} ({share} of the limit), and later ones are missing or may be."
        )
    } else if verdict.late_at_least == 0 {
        let unanswered = count(verdict.late_at_most);
        format!(
            "Whether the limit of {limit} was kept{whose} is unknown: {unanswered} of {total} {many} went unanswered; the worst {one} \
             that was seen took {worst} ({share} of the limit){time}."
        )
    } else {
        format!(
            "The limit of {limit} was exceeded{whose}: {} later; the worst took {worst} ({share} of the limit){time}.",
            late(verdict)
        )
    }
}

/// The CPUs of a verdict that is not of all: ` on the isolated CPUs 2-3`.
fn whose(verdict: &Found) -> String {
    let Some(CpusOfKind { kind, cpus }) = &verdict.cpus else { return String::new() };
    let be = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!(" on the {} {be} {}", kind.name(), cpu_list::format(cpus))
}

fn late(verdict: &Found) -> String {
    let (least, most, total) = (verdict.late_at_least, verdict.late_at_most, count(verdict.wakeups));
    let many = verdict.readings.noun(verdict.wakeups);
    match (least, most) {
        (1, 1) => format!("1 of {total} {many} was"),
        _ if least == most => format!("{} of {total} {many} were", count(most)),
        _ => format!("between {} and {} of {total} {many} were", count(least), count(most)),
    }
}

/// The bound that the outcome supports, its assumption, and the episodes.
fn support(context: &Context<'_>, verdict: &Found) -> Vec<String> {
    let bound = if verdict.bound.upper > NO_BOUND_FROM { no_bound(verdict) } else { bound(context, verdict) };
    std::iter::once(bound).chain(episodes(verdict)).collect()
}

/// What no verdict guarantees.
fn no_guarantee(context: &Context<'_>) -> String {
    let missed = context.findings.unseen.as_ref().map(|unseen| format!(", and {}", missed(unseen)));
    format!("{NO_GUARANTEE}{}.", missed.unwrap_or_default())
}

/// `With 95 % confidence, at most 1 in 33 million wake-ups on any CPU is later than 87us under this load, on this machine …`.
fn bound(context: &Context<'_>, verdict: &Found) -> String {
    let bound = &verdict.bound;
    let many = verdict.readings.name();
    let confidence = confidence(verdict.confidence);
    let share = match bound.upper < 0.1 {
        true => format!("{} {many}", one_in(bound.upper)),
        false => format!("{} of {many}", one_in(bound.upper)),
    };
    let be = if bound.upper < 0.1 { "is" } else { "are" };
    let place = match &verdict.cpus {
        Some(cpus) => format!("of these {} CPUs", cpus.kind.name()),
        None if verdict.bounds.iter().any(|bound| bound.unpinned) => "thread".to_owned(),
        None => "CPU".to_owned(),
    };
    format!(
        "With {confidence} confidence, at most {share} on any {place} {be} later than {} {}, on this machine ({:.1e}). {}",
        format_duration_ns(verdict.limit_ns),
        under(context),
        ceil_two_digits(bound.upper),
        assumption(verdict.length, bound, many)
    ) + at_any_time(verdict.length)
        + &of_which_phase(context, bound, verdict.readings.noun(bound.wakeups))
}

/// Where the bound is from, if there are several phases: the shortest one has the highest, though nothing was late in it.
fn of_which_phase(context: &Context<'_>, bound: &ShareBound, many: &str) -> String {
    let phases = &context.run.phases;
    let phase = context.run.series.get(bound.series).and_then(|series| phases.get(series.phase));
    match phase.filter(|_| phases.len() > 1) {
        None => String::new(),
        Some(phase) => format!(
            " The bound is that of {} in '{}', with {} late among {} {many}; no other is higher.",
            harmless(&bound.label),
            harmless(&phase.label),
            count(bound.late),
            count(bound.wakeups)
        ),
    }
}

/// Why the bound is wider than that of a run of planned length.
fn at_any_time(length: Length) -> &'static str {
    match length {
        Length::Planned => "",
        Length::ByData { .. } => " It allows for the end of the run having been chosen by its data.",
    }
}

/// The load that a bound holds for.
fn under(context: &Context<'_>) -> &'static str {
    let mut loads = context.findings.phases.iter().map(|phase| &phase.loads);
    let first = loads.next();
    match first {
        Some(first) if loads.any(|other| other != first) => "under any of these loads",
        Some(first) if first.is_empty() => "with no load",
        _ => "under this load",
    }
}

/// How the bound treats late readings that depend on each other.
fn assumption(length: Length, bound: &ShareBound, many: &str) -> String {
    let counted_as_one = three_digits(bound.inflation);
    match (bound.dispersion, length) {
        (Some(_), _) if bound.clustered && bound.inflation >= bound.late as f64 => {
            format!("Late {many} come in clusters; in the bound, all of them count as one.")
        }
        (Some(_), _) if bound.clustered => {
            format!("Late {many} come in clusters; in the bound, {counted_as_one} of them count as one.")
        }
        (_, Length::ByData { cluster: cluster @ 2.. }) => {
            format!(
                "The bound assumes that a single event makes at most {} {many} of a CPU late.",
                count(cluster)
            )
        }
        (Some(_), _) if bound.inflation > 1.0 => format!(
            "Counts of late {many} per block of time vary no more than chance allows; in the bound, {counted_as_one} of them count as one."
        ),
        (Some(_), _) => format!(
            "The bound assumes that {many} are late independently of each other; counts per block of time agree with that."
        ),
        (None, _) => format!("The bound assumes that {many} are late independently of each other."),
    }
}

/// How many episodes the late readings came in, of the CPU with the highest bound if they are known of it, else of the one with the
/// most; `None` if none was late, or if it is unknown.
fn episodes(verdict: &Found) -> Option<String> {
    let with_episodes = verdict.bounds.iter().filter_map(|bound| Some((bound, bound.episodes?)));
    let is_highest = |(bound, _): &(&ShareBound, _)| bound.series == verdict.bound.series;
    let most = with_episodes.clone().max_by(|a, b| a.1.per_hour.total_cmp(&b.1.per_hour));
    let (bound, episodes) = with_episodes.clone().find(is_highest).or(most)?;
    let blocks = match episodes.gap_cycles {
        Some(_) => String::new(),
        None => format!(", by the maxima of blocks of {}", format_duration_ns(episodes.block_ns)),
    };
    Some(format!(
        "Late {} on {} came in {} ({} per hour; 95 %: {} to {}{blocks}).",
        verdict.readings.name(),
        harmless(&bound.label),
        counted(episodes.count, "episode", "episodes"),
        three_digits(episodes.per_hour),
        three_digits(episodes.per_hour_lower),
        three_digits(episodes.per_hour_upper)
    ))
}

/// The event that may not have come during the run.
fn missed(unseen: &Unseen) -> String {
    format!(
        "an event at random times that is rarer than once per {} may have been missed ({} confidence)",
        roughly(unseen.once_per_ns),
        confidence(unseen.confidence)
    )
}

/// A duration, rounded up to about two digits: `12s`, `2m20s`, `8h10m`.
fn roughly(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let unit = match ns / SECOND {
        0 => 10_000_000,
        1..10 => SECOND / 10,
        10..60 => SECOND,
        60..600 => 10 * SECOND,
        600..3600 => 60 * SECOND,
        3600..86_400 => 600 * SECOND,
        _ => 3600 * SECOND,
    };
    // An exact third of a duration is a little longer than the time that its confidence needs.
    format_duration_ns((ns.saturating_sub(ns / 500)).div_ceil(unit).saturating_mul(unit))
}

/// The reason why the share of late readings cannot be bounded.
fn no_bound(verdict: &Found) -> String {
    let bound = &verdict.bound;
    let (late, of) = (count(bound.late), count(bound.wakeups));
    let (label, many) = (harmless(&bound.label), verdict.readings.name());
    if verdict.late_at_least < verdict.late_at_most / 2 {
        return format!(
            "How many {many} were late is unknown: there is no histogram, or its bins are too wide."
        );
    }
    let share_late = bound.late as f64 / bound.wakeups.max(1) as f64;
    if verdict.worst_at_least && share_late < 0.5 {
        let how_many = if verdict.late_at_least == 0 { "How many" } else { "Whether more" };
        return format!(
            "{how_many} {many} were late is unknown: the file does not have all of them, or not its maximum."
        );
    }
    if share_late >= 0.5 {
        let share = if share_late >= 0.9 { "Nearly all" } else { "Most" };
        return format!("{share} {many} on {label} were late ({late} of {of}), so no useful bound exists.");
    }
    format!("{late} of {of} {many} on {label} were late: too few, or too clustered, to bound their share.")
}

fn ceil_two_digits(share: f64) -> f64 {
    let unit = libm::pow(10.0, libm::log10(share).floor() - 1.0);
    (share / unit - 1e-9).ceil() * unit
}
