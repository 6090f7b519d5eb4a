//! A judgement in words.

use tardy_analyse::share_limits::Length;
use tardy_plot::numbers::{self, count, harmless, highest_with_unit, one_in, rounded};
use tardy_record::units::format_duration_ns;

use crate::judge::{Evidence, Judgement};
use crate::outcome::Outcome;
use crate::requirement::Demand;

/// Why the judgement is as it is, as one or two sentences in plain text.
pub fn of(judgement: &Judgement) -> String {
    let Some(evidence) = &judgement.evidence else {
        let reason = judgement.invalid_because.as_deref().unwrap_or("nothing was judged");
        return format!("Not judged: {}.", harmless(reason));
    };
    let weaker = match evidence.under_a_weaker_load {
        true => " The load was weaker than it was meant to be, which does not excuse the run.",
        false => "",
    };
    decided(judgement, evidence) + weaker
}

fn decided(judgement: &Judgement, evidence: &Evidence) -> String {
    let place = place(evidence);
    let worst = highest_with_unit(evidence.worst_ns, evidence.worst_at_least);
    match judgement.requirement.demand {
        Demand::Max { .. } if judgement.outcome == Outcome::Inconclusive => {
            format!("{place}: the highest in the file is {worst}; later ones are missing or may be.")
        }
        Demand::Max { .. } => {
            // Another tool's file need not state how long it counted.
            let time = match evidence.counted_ns {
                0 => String::new(),
                ns => format!(" in {}", rounded(ns)),
            };
            format!("{place}: the worst of {} took {worst}{time}.", count(evidence.readings))
        }
        Demand::Share { limit_ns, allowed, .. } => share(judgement, evidence, limit_ns, allowed, &place),
    }
}

fn share(judgement: &Judgement, evidence: &Evidence, limit_ns: u64, allowed: f64, place: &str) -> String {
    let limit = format_duration_ns(limit_ns);
    let confidence = numbers::confidence(judgement.requirement.confidence);
    let late = match (evidence.late_at_least, evidence.late_at_most) {
        (least, most) if least == most => count(most),
        (least, most) => format!("{} to {}", count(least), count(most)),
    };
    let seen = format!("{place}: {late} of {} later than {limit}", count(evidence.readings));
    let clusters = match (evidence.inflation > 1.0, evidence.length) {
        (true, Length::Planned) => ", allowing for clusters",
        (false, Length::Planned) => "",
        (true, Length::ByData { .. }) => ", allowing for clusters and for a run that its data ended",
        (false, Length::ByData { .. }) => ", allowing for a run that its data ended",
    };
    let allowed = one_in(allowed);
    let more = match (evidence.needs_more_ns, evidence.needs_more) {
        (Some(more_ns), _) => Some(roughly(more_ns)),
        (None, Some(more)) => Some(format!("{} readings", count(more))),
        (None, None) => None,
    };
    match (judgement.outcome, more) {
        (Outcome::Passed, _) => {
            format!(
                "{seen}; with {confidence} confidence at most {}{clusters}, allowed: {allowed}.",
                one_in(evidence.share_upper)
            )
        }
        (Outcome::Failed, _) => {
            format!(
                "{seen}; with {} confidence at least {}{clusters}, allowed: {allowed}.",
                numbers::confidence(evidence.lower_confidence),
                at_least(evidence.share_lower)
            )
        }
        (_, Some(more)) => format!(
            "{seen}; with {confidence} confidence at most {}{clusters}, allowed: {allowed}. At this rate it needs {more} more.",
            one_in(evidence.share_upper),
        ),
        (_, None) => format!(
            "{seen}; with {confidence} confidence {} to {}{clusters}, allowed: {allowed}. {}",
            at_least(evidence.share_lower),
            one_in(evidence.share_upper),
            why_never(evidence, judgement.requirement.demand)
        ),
    }
}

/// Why no length of the run is stated that would decide.
fn why_never(evidence: &Evidence, demand: Demand) -> &'static str {
    let Demand::Share { allowed, .. } = demand else { return "" };
    let share = |late: u64| late as f64 / evidence.readings.max(1) as f64;
    match () {
        () if share(evidence.late_at_least) >= allowed => "At this rate it will not pass.",
        () if share(evidence.late_at_most) >= allowed => "How many were late is not known exactly enough.",
        () => "It would take longer than can be measured.",
    }
}

/// A time to wait, rounded up to two of its units.
fn roughly(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let unit = match ns / SECOND {
        0..3_600 => SECOND,
        3_600..86_400 => 60 * SECOND,
        _ => 3_600 * SECOND,
    };
    format_duration_ns(ns.div_ceil(unit).max(1).saturating_mul(unit))
}

/// A lower limit of a share as `1 in 20,000` or `99 %`, rounded down.
fn at_least(share: f64) -> String {
    if share <= 0.0 {
        return "none".to_owned();
    }
    if share >= 0.1 {
        return numbers::per_cent((share * 1000.0).floor() / 1000.0);
    }
    // Two digits, as [`one_in`] has, but never a larger share than the limit.
    let unit = libm::pow(10.0, libm::log10(1.0 / share).floor() - 1.0).max(1.0);
    format!("1 in {}", count(((1.0 / share) / unit - 1e-9).ceil() as u64 * unit as u64))
}

/// The series that decided: `doload/cpu 1`.
pub fn place(evidence: &Evidence) -> String {
    format!("{}/{}", harmless(&evidence.phase), harmless(&evidence.series))
}
