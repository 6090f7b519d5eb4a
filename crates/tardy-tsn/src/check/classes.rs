//! Classes and their windows: never open, too short, split.

use tardy_record::gates::{Opening, Openings};
use tardy_record::units::format_duration_ns;

use super::{Found, Place};
use crate::network::Speed;
use crate::transmission_time::{bytes_in, wire_ns};

/// Ethernet's header, which the kernel counts and an MTU does not.
const HEADER: u32 = 14;
/// A gate opens late by the latency of the timer and its thread; tens of microseconds are common.
const GATE_LATENESS_NS: u64 = 20_000;

/// Checks the windows of a port's classes.
pub(super) fn of_port(place: &Place<'_>, found: &mut Found<'_>) {
    // An empty list is refused; there is nothing else to report.
    if place.schedule.entries.is_empty() {
        return;
    }
    for class in 0..place.switch.classes.len() {
        let openings = place.schedule.openings(class);
        if openings.openings.is_empty() {
            never_open(place, class, found);
            continue;
        }
        dropped_flows(place, class, found);
        if openings.is_always_open() {
            continue;
        }
        if let Some(speed) = place.device.speed_for_kernel() {
            too_short(place, class, &openings, speed, found);
            for window in openings.openings.iter().filter(|_| place.is_software()) {
                split(place, class, window, speed, found);
            }
        }
    }
}

fn never_open(place: &Place<'_>, class: usize, found: &mut Found<'_>) {
    let name = place.switch.class_name(class as u8);
    let flows = flows_of(place, class);
    let who = if flows.is_empty() {
        String::new()
    } else {
        format!(" All frames of {} are lost.", flows.join(" and "))
    };
    found.accepted(
        "class-never-opens",
        place.schedule.gates_span,
        [
            format!("the gate of {} never opens", place.class(class)),
            match place.is_software() {
                true => format!("Its frames are dropped instead of queued.{who}"),
                false => format!("Its frames stay in the device's queue for ever.{who}"),
            },
            format!("Add \"{name}\" to `open` of an entry, or assign its priorities to another class."),
        ],
    );
}

/// Names of the flows that leave by this port in this class.
fn flows_of(place: &Place<'_>, class: usize) -> Vec<String> {
    flow_sizes(place, class).map(|(name, _)| format!("flow '{name}'")).collect()
}

fn flow_sizes<'a>(place: &'a Place<'_>, class: usize) -> impl Iterator<Item = (&'a str, u32)> {
    place
        .flows
        .iter()
        .filter(move |flow| usize::from(place.switch.class_of(&flow.marks)) == class)
        .map(|flow| (flow.name.value.as_str(), flow.size.value))
}

/// Flows whose frames are longer than their class accepts.
fn dropped_flows(place: &Place<'_>, class: usize, found: &mut Found<'_>) {
    let Some(max_sdu) = &place.switch.classes[class].max_sdu else { return };
    let most = max_sdu.value.saturating_add(HEADER);
    for (name, size) in flow_sizes(place, class).filter(|(_, size)| *size > most) {
        found.accepted(
            "max-sdu-drops-flow",
            max_sdu.span,
            [
                format!(
                    "{} accepts frames of up to {most} bytes, and flow '{name}' sends {size}",
                    place.class(class)
                ),
                match place.is_software() {
                    true => "These frames are dropped instead of queued.".to_owned(),
                    false => {
                        "A device that supports max_sdu drops these frames; others ignore it.".to_owned()
                    }
                },
                format!("Write max_sdu = {} or more, or send shorter frames.", size - HEADER),
            ],
        );
    }
}

/// The longest frame that the class may have to carry, and its source.
fn longest_frame(place: &Place<'_>, class: usize) -> (u32, String) {
    let longest_flow = flow_sizes(place, class).max_by_key(|(_, size)| *size);
    let limit = place.switch.classes[class].max_sdu.as_ref().map(|bytes| bytes.value.saturating_add(HEADER));
    match (longest_flow, limit) {
        (Some((name, size)), _) => (size, format!("flow '{name}'")),
        (None, Some(limit)) => (limit.min(place.mtu().saturating_add(HEADER)), "its max_sdu".to_owned()),
        (None, None) => (place.mtu().saturating_add(HEADER), format!("an MTU of {}", place.mtu())),
    }
}

/// The transmission of a frame must end strictly before the gate closes (`get_packet_txtime` and
/// `taprio_dequeue_from_txq`). A frame longer than the longest window is not queued (`taprio_update_queue_max_sdu`).
fn too_short(place: &Place<'_>, class: usize, openings: &Openings, speed: u64, found: &mut Found<'_>) {
    let (size, whose) = longest_frame(place, class);
    let needed = wire_ns(place.on_wire(size), speed);
    let Some(window) = openings.openings.iter().max_by_key(|window| window.length_ns()) else { return };
    let longest = window.length_ns();
    let overhead = u64::from(place.schedule.overhead.value);
    let passing = bytes_in(longest, speed).saturating_sub(overhead);
    let span = place.schedule.entries[window.entries[0]].interval_span;
    let (frame, slot) = (format_duration_ns(needed), format_duration_ns(longest));
    let enough = format_duration_ns((needed + GATE_LATENESS_NS).div_ceil(1000) * 1000);
    let head = format!(
        "{}: a window of {slot} for frames of {frame} ({size} bytes from {whose}, plus {overhead} of overhead)",
        place.class(class)
    );
    let change = format!("Write {enough} or more, or send shorter frames in this class.");
    if !place.is_software() {
        // The device has no timer that can be late.
        if needed >= longest {
            let effect = "The device never sends such a frame, since its transmission must end before the gate closes. The frame blocks the class for ever."
                .to_owned();
            found.accepted("window-shorter-than-frame", span, [head, effect, change]);
        }
    } else if u64::from(size) > passing {
        let effect = format!(
            "Frames of more than {passing} bytes are dropped instead of queued: their transmission could not end before the gate closes."
        );
        found.accepted("window-shorter-than-frame", span, [head, effect, change]);
    } else if needed >= longest {
        let effect = "The kernel queues such a frame but never sends it, since its transmission must end before the gate closes. The frame blocks the class for ever."
            .to_owned();
        found.accepted("window-shorter-than-frame", span, [head, effect, change]);
    } else if longest - needed < GATE_LATENESS_NS {
        let margin = format_duration_ns(longest - needed);
        let effect = format!(
            "If the gate's timer is more than {margin} late, which happens in software, the frame no longer fits and waits for the next cycle."
        );
        found.note("window-hardly-longer", span, [head, effect, change]);
    }
}

/// Each entry has its own budget for as long as the class stays open from there on, so entries that continue a window
/// grant the same time again (`taprio_set_budgets`).
fn split(place: &Place<'_>, class: usize, window: &Opening, speed: u64, found: &mut Found<'_>) {
    if window.entries.len() < 2 {
        return;
    }
    let running = place.schedule.running_ns();
    let (size, _) = longest_frame(place, class);
    let frame = place.on_wire(size).max(1);
    let carried = bytes_in(window.length_ns(), speed) / frame;
    let mut rest = window.length_ns();
    let mut admitted = 0;
    for entry in &window.entries {
        admitted += bytes_in(rest, speed) / frame;
        rest -= running[*entry];
    }
    if admitted <= carried {
        return;
    }
    let second = &place.schedule.entries[window.entries[1]];
    let masks: Vec<u32> =
        window.entries.iter().map(|entry| place.schedule.entries[*entry].entry.gates).collect();
    let same = masks.windows(2).any(|pair| pair[0] == pair[1]);
    let wraps = window.entries.windows(2).any(|pair| pair[1] < pair[0]);
    let slot = format_duration_ns(window.length_ns());
    let change = if same && wraps && window.entries.len() == 2 {
        format!("Start the list where the window starts, with one entry for {slot}, and adjust base_time.")
    } else if same {
        format!("Merge neighbours with the same gates: one entry for {slot}.")
    } else {
        format!(
            "Close {} at one of the boundaries inside the window (order the entries so that no class stays open from one to the \
             next), or limit its traffic to {carried} frames in {slot}.",
            place.class(class)
        )
    };
    found.accepted(
        "split-window",
        second.span,
        [
            format!("{} stays open over {} entries", place.class(class), window.entries.len()),
            format!(
                "The kernel grants the rest of the window again at each entry: {admitted} frames of {size} bytes leave in {slot}, but the wire carries {carried}. The others wait in the device and leave in later windows."
            ),
            change,
        ],
    );
}

/// Whether neither the file nor the machine states the speed.
pub(super) fn is_speed_open(place: &Place<'_>) -> bool {
    place.port.speed.value == Speed::AsKernelSays && place.known.is_none_or(|known| known.speed.is_none())
}
