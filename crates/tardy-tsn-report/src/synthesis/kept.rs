//! What stays of an older schedule.

use tardy_plot::numbers::{count, counted, first_few};
use tardy_record::units::format_duration_ns;
use tardy_synthesis::keep::{PortChange, PortReplacement};
use tardy_synthesis::summary::KeptFlows;

/// The most flows that are listed with their reasons.
const REASONS_SHOWN: usize = 8;

/// The flows that stay, move, come and go, and what `tardy tsn apply` does at the ports.
pub(super) fn sentences(kept: &KeptFlows) -> Vec<String> {
    let KeptFlows { kept: stay, not_kept, added, removed, ports } = kept;
    let before = stay + not_kept.len() + removed.len();
    let mut sentences = vec![format!(
        "Kept: {} of {} of the old schedule.{}{}",
        count(*stay as u64),
        counted(before as u64, "flow", "flows"),
        listed(" Added", added),
        listed(" Removed", removed)
    )];
    sentences.extend(
        not_kept.iter().take(REASONS_SHOWN).map(|one| format!("Not kept: {}: {}.", one.flow, one.reason)),
    );
    if not_kept.len() > REASONS_SHOWN {
        let more = (not_kept.len() - REASONS_SHOWN) as u64;
        sentences.push(format!(
            "{} not kept (--json lists all).",
            counted(more, "more flow is", "more flows are")
        ));
    }
    if !ports.is_empty() {
        sentences.extend(of_ports(ports));
    }
    sentences
}

fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{what}: {}.", first_few(names, ", ")) }
}

fn of_ports(ports: &[PortReplacement]) -> Vec<String> {
    let number =
        |is_such: fn(&PortChange) -> bool| ports.iter().filter(|port| is_such(&port.change)).count() as u64;
    let same = number(|change| matches!(change, PortChange::None));
    let replaced = number(|change| matches!(change, PortChange::Replaced { .. }));
    let added = number(|change| matches!(change, PortChange::Added));
    let removed = number(|change| matches!(change, PortChange::Removed));
    let lists = |count: u64| counted(count, "list", "lists");
    let mut parts = Vec::new();
    parts.extend((replaced > 0).then(|| format!("replaces {} while they run", lists(replaced))));
    parts.extend((same > 0).then(|| format!("leaves {} as before", lists(same))));
    parts.extend((added > 0).then(|| format!("adds {}", lists(added))));
    parts.extend((removed > 0).then(|| format!("removes {}", lists(removed))));
    let mut sentences = vec![format!("`tardy tsn apply` {}.", parts.join(", "))];
    let quiet_ns = ports.iter().filter_map(|port| match port.change {
        PortChange::Replaced { quiet_ns } => quiet_ns,
        _ => None,
    });
    if let Some(quiet_ns) = quiet_ns.min() {
        sentences.push(format!(
            "Before a cycle starts, no kept frame is on the replaced ports for at least {}; a replacement that takes less time sends none \
             early or late.",
            format_duration_ns(quiet_ns)
        ));
    }
    let again = ports.iter().filter_map(|port| match &port.change {
        PortChange::SetAgain { reason } => {
            Some(format!("{}: its gates are all open while it is set again: {reason}.", port.port))
        }
        _ => None,
    });
    sentences.extend(again);
    sentences
}
