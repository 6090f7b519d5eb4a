//! What the flows can expect: planned, simulated and longest possible latency.

use tardy_plot::numbers::{count, counted, first_few};
use tardy_record::units::format_duration_ns;
use tardy_synthesis::verify::{Verified, VerifiedFlow};

use tardy_present::table::Table;

/// The most flows that are shown in a terminal.
const FLOWS_SHOWN: usize = 8;
/// The most reasons that are listed.
const REASONS_SHOWN: usize = 4;

/// The flows that are nearest to their deadlines, then those without one.
pub(super) fn table(verified: &Verified) -> Table {
    let mut flows: Vec<&VerifiedFlow> = verified.flows.iter().collect();
    flows.sort_by_key(|flow| margin_ns(flow).unwrap_or(i128::MAX));
    of(flows.into_iter().take(FLOWS_SHOWN))
}

/// A row for each of these flows.
pub(super) fn of<'f>(flows: impl Iterator<Item = &'f VerifiedFlow>) -> Table {
    let mut table = Table::new(&["flow", "planned", "simulated", "bound", "deadline"]);
    for flow in flows {
        table.push(vec![
            flow.flow.clone(),
            flow.planned_ns.map_or_else(|| "best effort".to_owned(), format_duration_ns),
            duration(flow.simulated_ns),
            flow.bound_ns.map_or_else(|| "no bound".to_owned(), format_duration_ns),
            duration(flow.deadline_ns),
        ]);
    }
    table
}

fn duration(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), format_duration_ns)
}

/// The time between a flow's bound and its deadline; `None` without a deadline.
fn margin_ns(flow: &VerifiedFlow) -> Option<i128> {
    let bound_ns = flow.bound_ns.map_or(i128::from(u64::MAX), i128::from);
    Some(i128::from(flow.deadline_ns?) - bound_ns)
}

/// What the table does not show.
pub(super) fn sentences(verified: &Verified) -> Vec<String> {
    let mut sentences = Vec::new();
    let hidden = verified.flows.len().saturating_sub(FLOWS_SHOWN);
    if hidden > 0 {
        sentences.push(format!(
            "{} with more time to their deadlines (--json lists all).",
            counted(hidden as u64, "more flow", "more flows")
        ));
    }
    sentences.extend(conclusions(verified));
    sentences
}

/// How the table was made, and which flows have no bound or a late one.
pub(super) fn conclusions(verified: &Verified) -> Vec<String> {
    let mut sentences = vec![format!(
        "Simulated for {}, and bounds by network calculus, with {}.",
        format_duration_ns(verified.simulated_for_ns),
        verified.model
    )];
    let is_late = |flow: &&VerifiedFlow| {
        flow.simulated_ns
            .zip(flow.deadline_ns)
            .is_some_and(|(simulated_ns, limit_ns)| simulated_ns > limit_ns)
    };
    let late = verified.flows.iter().filter(is_late);
    let late: Vec<String> = late.map(|flow| flow.flow.clone()).collect();
    if !late.is_empty() {
        sentences.push(format!("Later than its deadline in the simulation: {}.", first_few(&late, ", ")));
    }
    let late = verified.flows.iter().filter(|flow| flow.exceeds_deadline());
    let late: Vec<String> = late.map(|flow| flow.flow.clone()).collect();
    if !late.is_empty() {
        sentences.push(format!("The bound is longer than the deadline: {}.", first_few(&late, ", ")));
    }
    let mut without =
        verified.flows.iter().filter_map(|flow| Some((&flow.flow, flow.why_no_bound.as_ref()?)));
    sentences.extend(
        without.by_ref().take(REASONS_SHOWN).map(|(flow, why)| format!("No bound for {flow}: {why}.")),
    );
    let further = without.count();
    if further > 0 {
        sentences.push(format!(
            "{} no bound.",
            match further {
                1 => "1 more flow has".to_owned(),
                more => format!("{} more flows have", count(more as u64)),
            }
        ));
    }
    sentences
}
