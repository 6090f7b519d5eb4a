//! Gate control lists from a schedule.
//!
//! A window opens the gate of a frame's queue alone. Between windows the gates of best effort are open, that is of all queues
//! without scheduled frames on the link. A gap that is too short for a full frame of best effort becomes part of the window before
//! it, and so do the shortest gaps of a port with more entries than are permitted. If frames can be in their queue before their window,
//! a gap before a window of the same class is closed instead: an open gate would send them early.

use tardy_record::gates::GateEntry;

use crate::instance::{Instance, least_common_multiple, least_entry_ns};
use crate::schedule::{PortGates, Schedule};

/// A window of a queue on a link. Only the last of a cycle may end after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    start_ns: u64,
    end_ns: u64,
    gates: u32,
}

/// A scheduled frame on a link.
#[derive(Clone, Copy, Debug)]
struct Frame {
    start_ns: u64,
    queue: u8,
    flow: usize,
}

/// From `at_ns` on, `gates` are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    at_ns: u64,
    gates: u32,
}

/// The gate control lists of all ports that have gates and scheduled frames, in the order of the links. If `entries_max` is given,
/// lists with more entries are shortened, as far as that is possible.
pub fn of(instance: &Instance, schedule: &Schedule, entries_max: Option<usize>) -> Vec<PortGates> {
    let mut links = vec![Vec::new(); instance.links.len()];
    for (flow, placement) in schedule.iter() {
        for hop in &placement.hops {
            links[hop.link].push(Frame { start_ns: hop.start_ns, queue: hop.queue, flow });
        }
    }
    let ports =
        links.iter().enumerate().filter(|(link, of)| instance.links[*link].has_gates && !of.is_empty());
    ports.map(|(link, frames)| port(instance, link, frames, entries_max)).collect()
}

fn port(instance: &Instance, link: usize, frames: &[Frame], entries_max: Option<usize>) -> PortGates {
    let period_ns = |frame: &Frame| instance.flows[frame.flow].period_ns;
    let cycle_ns = frames
        .iter()
        .try_fold(1, |cycle, frame| least_common_multiple(cycle, period_ns(frame)))
        .unwrap_or(instance.hyperperiod_ns);
    let scheduled = frames.iter().fold(0_u32, |mask, frame| mask | 1 << frame.queue);
    let best_effort = ((1_u32 << instance.links[link].queues) - 1) & !scheduled;
    let windows = windows(instance, link, frames, cycle_ns);
    let shortest_ns = instance.links[link].wire_ns(instance.best_effort_bytes);
    let has_early = instance.links[link].early_ns > 0;
    let kept = kept_gaps(&windows, cycle_ns, shortest_ns, entries_max.map(|most| (most, has_early)));
    let gap = Gap { best_effort, has_early };
    let mut entries = entries(&changes(&windows, &kept, cycle_ns, gap), cycle_ns);
    if instance.starts_at_zero {
        let least_ns = least_entry_ns(&instance.links[link]);
        let most = entries_max.unwrap_or(usize::MAX);
        let left_ns = u128::from(cycle_ns) * u128::from(instance.best_effort_ppm) / 1_000_000;
        let kept = Kept { best_effort_ns: left_ns as u64, shortest_ns };
        separate(&mut entries, gap, &windows, (least_ns, most), kept);
    }
    PortGates { link, cycle_ns, entries, best_effort }
}

/// The windows of all frames of a cycle, in order.
fn windows(instance: &Instance, link: usize, frames: &[Frame], cycle_ns: u64) -> Vec<Window> {
    let mut windows = Vec::new();
    for frame in frames {
        let flow = &instance.flows[frame.flow];
        let length_ns = instance.reserved_ns(flow, link);
        for number in 0..cycle_ns / flow.period_ns {
            let start_ns = (frame.start_ns + number * flow.period_ns) % cycle_ns;
            windows.push(Window { start_ns, end_ns: start_ns + length_ns, gates: 1 << frame.queue });
        }
    }
    windows.sort_unstable_by_key(|window| (window.start_ns, window.end_ns));
    windows
}

/// The length of the gap after each window, in ns; the last one continues at the start of the cycle.
fn gaps_ns(windows: &[Window], cycle_ns: u64) -> Vec<u64> {
    let first_ns = windows[0].start_ns + cycle_ns;
    let next_ns = windows.iter().skip(1).map(|window| window.start_ns).chain([first_ns]);
    windows.iter().zip(next_ns).map(|(window, next_ns)| next_ns.saturating_sub(window.end_ns)).collect()
}

/// The gates between two windows.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The gates of best effort.
    best_effort: u32,
    /// Whether frames can be in their queue before their window.
    has_early: bool,
}

/// Whether the gap after each window stays open for best effort. `entries_max` has the permitted number of entries, if it is limited,
/// and whether a gap that does not stay open is closed if the window after it is of the same class.
fn kept_gaps(
    windows: &[Window],
    cycle_ns: u64,
    shortest_ns: u64,
    entries_max: Option<(usize, bool)>,
) -> Vec<bool> {
    let gaps_ns = gaps_ns(windows, cycle_ns);
    let mut kept: Vec<bool> = gaps_ns.iter().map(|gap_ns| *gap_ns > 0 && *gap_ns >= shortest_ns).collect();
    let Some((entries_max, has_early)) = entries_max else { return kept };
    let has_other_gates = |place: usize| windows[place].gates != windows[(place + 1) % windows.len()].gates;
    // A gap costs an entry, and another one for the window after it, unless that has an entry in any case.
    let cost = |place: usize| if has_other_gates(place) { 1 } else { 2 };
    let of_gap = |place: usize| if kept[place] { cost(place) } else { 0 };
    let mut entries: usize =
        (0..windows.len()).map(|place| of_gap(place) + usize::from(has_other_gates(place))).sum();
    // A closed gap would cost as many entries as an open one.
    let saves = |place: &usize| kept[*place] && (!has_early || has_other_gates(*place));
    let mut shortest: Vec<usize> = (0..windows.len()).filter(saves).collect();
    shortest.sort_by_key(|place| (gaps_ns[*place], *place));
    for place in shortest {
        if entries <= entries_max {
            break;
        }
        kept[place] = false;
        entries -= cost(place);
    }
    kept
}

/// What is to stay open for best effort in a cycle.
#[derive(Clone, Copy, Debug)]
struct Kept {
    best_effort_ns: u64,
    /// The shortest opening, for a full frame.
    shortest_ns: u64,
}

/// Ends what is open at the end of the cycle there, so that no opening continues from the last entry to the first. An entry has at
/// least `least_ns`, and the list at most `most`.
fn separate(
    entries: &mut Vec<GateEntry>,
    gap: Gap,
    windows: &[Window],
    (least_ns, most): (u64, usize),
    kept: Kept,
) {
    let (Some(first), Some(last)) = (entries.first().copied(), entries.last().copied()) else { return };
    let (Some(first_window), Some(last_window)) = (windows.first(), windows.last()) else { return };
    if entries.len() < 3 || first.gates != last.gates {
        return;
    }
    let end = entries.len() - 1;
    let open = entries.iter().filter(|entry| entry.gates == gap.best_effort);
    let open_ns: u64 = open.map(|entry| u64::from(entry.interval_ns)).sum();
    let shorter_ns = u64::from(first.interval_ns.min(last.interval_ns));
    let is_cut = gap.best_effort != 0
        && first.gates == gap.best_effort
        && open_ns - shorter_ns.min(open_ns) < kept.best_effort_ns
        && u64::from(last.interval_ns) >= kept.shortest_ns + least_ns
        && entries.len() < most;
    let gap_before_first = first.gates != first_window.gates;
    if is_cut {
        // Neither part can be spared. A gate that is closed between them makes them two.
        entries[end].interval_ns -= least_ns as u32;
        entries.push(GateEntry { gates: 0, interval_ns: least_ns as u32, ..last });
    } else if gap_before_first && gap.has_early {
        // Neither window may be longer: its gate would be open for frames that are early. If the last entry is a window and the gap
        // after it, the first one is the rest of that gap.
        let is_longer = first.gates == gap.best_effort && first.interval_ns >= last.interval_ns;
        let closed = if is_longer { end } else { 0 };
        entries[closed].gates = 0;
    } else if gap_before_first && first.gates == gap.best_effort && first.interval_ns >= last.interval_ns {
        // The longer part of best effort stays, and the shorter one becomes part of the window before it.
        entries[end - 1].interval_ns += last.interval_ns;
        entries.remove(end);
    } else if gap_before_first {
        // The first window opens early, when no frame of it is there.
        entries[1].interval_ns += first.interval_ns;
        entries.remove(0);
    } else if entries.len() < most {
        // Both are windows of the same class. A gate that is closed between them makes them two.
        let cycle_ns: u64 = entries.iter().map(|entry| u64::from(entry.interval_ns)).sum();
        let after_ns = cycle_ns.saturating_sub(last_window.end_ns);
        let (gap_ns, place, inserted) = match after_ns >= least_ns {
            true => (after_ns, end, end + 1),
            false => (first_window.start_ns, 0, 0),
        };
        let Some(rest_ns) = u64::from(entries[place].interval_ns).checked_sub(gap_ns) else { return };
        if gap_ns < least_ns || rest_ns < least_ns {
            return;
        }
        entries[place].interval_ns = rest_ns as u32;
        let closed = GateEntry { gates: 0, interval_ns: gap_ns as u32, ..first };
        entries.insert(inserted, closed);
    }
}

/// When the gates change, in the order of time.
fn changes(windows: &[Window], kept: &[bool], cycle_ns: u64, gap: Gap) -> Vec<Change> {
    let mut changes = Vec::with_capacity(2 * windows.len());
    let next = windows.iter().cycle().skip(1);
    for (((window, next), is_kept), gap_ns) in
        windows.iter().zip(next).zip(kept).zip(gaps_ns(windows, cycle_ns))
    {
        changes.push(Change { at_ns: window.start_ns, gates: window.gates });
        if *is_kept {
            changes.push(Change { at_ns: window.end_ns, gates: gap.best_effort });
        } else if gap.has_early && gap_ns > 0 && next.gates == window.gates {
            changes.push(Change { at_ns: window.end_ns, gates: 0 });
        }
    }
    changes.dedup_by_key(|change| change.gates);
    if changes.len() > 1
        && changes.first().map(|change| change.gates) == changes.last().map(|change| change.gates)
    {
        // The first window continues the last one of the cycle before.
        changes.remove(0);
    }
    for change in &mut changes {
        change.at_ns %= cycle_ns;
    }
    changes.sort_unstable_by_key(|change| change.at_ns);
    changes
}

/// The entries of a cycle. Those before the first change have the gates of the last one.
fn entries(changes: &[Change], cycle_ns: u64) -> Vec<GateEntry> {
    let Some((first, last)) = changes.first().zip(changes.last()) else { return Vec::new() };
    if changes.len() == 1 {
        return GateEntry::lasting(first.gates, cycle_ns).collect();
    }
    let mut entries: Vec<GateEntry> = GateEntry::lasting(last.gates, first.at_ns).collect();
    let ends_ns = changes.iter().skip(1).map(|change| change.at_ns).chain([cycle_ns]);
    for (change, end_ns) in changes.iter().zip(ends_ns) {
        entries.extend(GateEntry::lasting(change.gates, end_ns - change.at_ns));
    }
    entries
}
