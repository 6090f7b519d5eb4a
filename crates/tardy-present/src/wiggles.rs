//! Wiggled pins in words and a table: the same in the terminal and in the report.

use tardy_analyse::findings::Findings;
use tardy_analyse::wiggles::{PublishedWiggle, Wiggle};
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, Policy, ProbePlan};
use tardy_record::units::format_duration_ns;
use tardy_record::wiggle::{Pace, Seen};

use crate::latency::{at_least, count, harmless, microseconds, short, three_digits};
use crate::noise;

/// What the table is called.
pub(crate) fn heading(findings: &Findings) -> &'static str {
    let published = findings.wiggles.as_ref().is_some_and(|wiggles| !wiggles.published.is_empty());
    if published {
        "From edge to edge, and the holes, beside the published ones"
    } else {
        "From edge to edge"
    }
}

/// Heads of the table.
pub(crate) const HEADS: [&str; 8] =
    ["ns from edge to edge", "min", "p50", "p99.9", "max", "holes", "every", "hole, us"];

/// A row for each phase, and one for each published result.
pub(crate) fn rows(findings: &Findings) -> Vec<Vec<String>> {
    let Some(wiggles) = &findings.wiggles else { return Vec::new() };
    let ours = wiggles.phases.iter().map(|one| cells(one, findings));
    ours.chain(wiggles.published.iter().map(published_cells)).collect()
}

fn cells(one: &Wiggle, findings: &Findings) -> Vec<String> {
    let ns = |ns: Option<i64>| {
        ns.map_or_else(|| "-".to_owned(), |ns| u64::try_from(ns).map_or_else(|_| ns.to_string(), count))
    };
    let quantile = |name: &str| {
        let found = one.toggles.quantiles.iter().find(|quantile| quantile.level == name);
        found
            .and_then(|quantile| quantile.value)
            .map_or_else(|| "n/a".to_owned(), |value| at_least(ns(Some(value.quoted_ns())), value.at_least))
    };
    let label = findings.phases.get(one.phase).map_or("", |phase| phase.label.as_str());
    let seen = match &one.seen {
        Seen::Written { through, .. } => through.name(),
        Seen::Echoed { .. } => "echo",
    };
    let dash = || "-".to_owned();
    vec![
        format!("{}, {}", short(&harmless(label), 28), seen),
        ns(one.toggles.min_ns),
        quantile("p50"),
        quantile("p99.9"),
        ns(one.toggles.max_ns),
        one.holes.map_or_else(dash, count),
        one.period
            .as_ref()
            .map_or_else(dash, |period| noise::period_text(period.period_ns, period.period_error_ns)),
        one.period.as_ref().map_or_else(dash, |period| microseconds(period.length_ns as f64)),
    ]
}

fn published_cells(one: &PublishedWiggle) -> Vec<String> {
    let figure = |key: &str, value: Option<f64>, unit: &str| {
        let about = if one.approx.iter().any(|known| known == key) { "about " } else { "" };
        value.map_or_else(|| "-".to_owned(), |value| format!("{about}{}{unit}", three_digits(value)))
    };
    let dash = || "-".to_owned();
    vec![
        short(&harmless(&one.id), 40),
        dash(),
        figure("toggle_ns", one.toggle_ns, ""),
        dash(),
        dash(),
        dash(),
        figure("interference_period_us", one.period_us, " us"),
        figure("interference_length_us", one.length_us, ""),
    ]
}

/// What must be known of it.
pub(crate) fn notes(findings: &Findings) -> Vec<String> {
    let Some(wiggles) = &findings.wiggles else { return Vec::new() };
    let mut notes = Vec::new();
    let seen = |is_it: fn(&Seen) -> bool| wiggles.phases.iter().any(|one| is_it(&one.seen));
    if seen(|seen| matches!(seen, Seen::Written { .. })) {
        notes.push(
            "A toggle is from one writing of the pin to the next, by the thread's own clock: an interrupt's own latency is \
             in it, what the pin itself takes is not. A hole is one that took longer than the threshold."
                .to_owned(),
        );
    }
    if seen(|seen| matches!(seen, Seen::Echoed { .. })) {
        notes.push(
            "Echo: from one edge of the input to the next, by the time stamps that the kernel takes in the interrupt's \
             handler: what one interrupt was late makes the interval before it longer and the one behind it shorter."
                .to_owned(),
        );
    }
    notes.extend(
        wiggles
            .published
            .iter()
            .map(|one| format!("{}: {}, by a logic analyser.", harmless(&one.id), harmless(&one.what))),
    );
    notes
}

/// How a phase wiggled: `gpiochip0:17 through chardev, clock_nanosleep every 20us, SCHED_FIFO 90`. `policy` and `priority`
/// are what the thread really had.
pub(crate) fn title(run: &Run, phase: usize) -> Option<String> {
    let plan: &PhasePlan = run.plan.phases.get(phase)?;
    let ProbePlan::Wiggle(wiggle) = &plan.probe else { return None };
    let pace = match &wiggle.pace {
        Pace::Timer(timer) => {
            format!("{} every {}", timer.wake.name(), format_duration_ns(timer.longest_interval_ns()))
        }
        Pace::Fastest(_) => "as fast as it can".to_owned(),
        Pace::Command { words } => {
            let (place, command) = (harmless(&wiggle.output.place()), short(&harmless(&words.join(" ")), 60));
            return Some(format!("{place} by {command}"));
        }
    };
    let of_phase = || run.series.iter().filter(|series| series.phase == phase);
    let edges = of_phase().find_map(|series| match &series.edges()?.seen {
        Seen::Written { policy, priority, .. } => Some((*policy, *priority)),
        Seen::Echoed { .. } => None,
    });
    let timer = || of_phase().find_map(|series| series.timer()).map(|timer| (timer.policy, timer.priority));
    let (policy, priority): (Policy, u32) = edges.or_else(timer)?;
    let priority = if policy.has_priority() { format!(" {priority}") } else { String::new() };
    let place = harmless(&wiggle.output.place());
    Some(format!(
        "{place} through {}, {pace}, SCHED_{}{priority}",
        wiggle.through.name(),
        policy.name().to_uppercase()
    ))
}
