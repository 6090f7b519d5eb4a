//! Cycle, masks, operations and base time: the list as a list.

use tardy_record::gates::GateOperation;
use tardy_record::units::format_duration_ns;

use super::{Found, Machine, Place};

/// All rules about a port's list.
pub(super) fn of_port(place: &Place<'_>, found: &mut Found<'_>) {
    cycle(place, found);
    masks(place, found);
    operations(place, found);
    negative_base_time(place, found);
}

fn cycle(place: &Place<'_>, found: &mut Found<'_>) {
    let schedule = place.schedule;
    let Some(cycle) = schedule.cycle_time_ns.as_ref().filter(|cycle| cycle.value != 0) else { return };
    let sum = schedule.sum_ns();
    let (cycle_words, sum_words) = (format_duration_ns(cycle.value), format_duration_ns(sum));
    if sum == 0 || cycle.value == sum {
        return;
    }
    if cycle.value > sum {
        // Hardware does as the standard says: it holds the last gates.
        if !place.is_software() {
            return;
        }
        let rest = format_duration_ns(cycle.value - sum);
        found.accepted(
            "cycle-longer-than-sum",
            cycle.span,
            [
                format!("a cycle of {cycle_words} and entries for {sum_words}"),
                format!(
                    "Software TAPRIO begins anew after the last entry, every {sum_words}: seen by devices that keep to \
                     {cycle_words} the windows run ahead by {rest} each cycle. Hardware and the standard hold the last \
                     gates for {rest} instead."
                ),
                format!(
                    "Write cycle_time = \"{sum_words}\", or an entry for the rest: {{ open = {}, for = \"{rest}\" }}.",
                    last_gates(place)
                ),
            ],
        );
        return;
    }
    let running = schedule.running_ns();
    let cut = running
        .iter()
        .zip(&schedule.entries)
        .position(|(running, entry)| *running < u64::from(entry.entry.interval_ns));
    let first_cut = cut.unwrap_or(0);
    let lost = running.iter().skip(first_cut).filter(|running| **running == 0).count();
    let left = running[first_cut];
    let cut_words = match (left, lost) {
        (0, 1) => format!("the last of {} entries never runs", running.len()),
        (0, lost) => format!("the last {lost} of {} entries never run", running.len()),
        (left, 0) => format!("the last entry ends after {}", format_duration_ns(left)),
        (left, 1) => {
            format!("the last entry but one ends after {}, the last never runs", format_duration_ns(left))
        }
        (left, lost) => format!(
            "entry {} of {} ends after {}, and the {lost} behind it never run",
            first_cut + 1,
            running.len(),
            format_duration_ns(left)
        ),
    };
    found.accepted(
        "cycle-shorter-than-sum",
        cycle.span,
        [
            format!("a cycle of {cycle_words} and entries for {sum_words}"),
            format!("The list is cut off at {cycle_words}: {cut_words}."),
            format!(
                "Write cycle_time = \"{sum_words}\", or take {} off the entries.",
                format_duration_ns(sum - cycle.value)
            ),
        ],
    );
}

/// What the last entry opens, as a file would have it.
fn last_gates(place: &Place<'_>) -> String {
    let mask = place.schedule.entries.last().map_or(0, |entry| entry.entry.gates);
    in_words(place, mask)
}

/// `["blue", "red"]`
fn in_words(place: &Place<'_>, mask: u32) -> String {
    let open = (0..place.switch.classes.len())
        .filter(|class| mask >> class & 1 == 1)
        .map(|class| format!("\"{}\"", place.switch.class_name(class as u8)));
    format!("[{}]", open.collect::<Vec<_>>().join(", "))
}

fn masks(place: &Place<'_>, found: &mut Found<'_>) {
    let classes = place.switch.classes.len();
    let all = (1u64 << classes) - 1;
    for entry in &place.schedule.entries {
        let mask = entry.entry.gates;
        if mask == u32::MAX {
            found.accepted(
                "mask-all-ones",
                entry.gates_span,
                [
                    "a gate mask of 0xffffffff".to_owned(),
                    "The kernel uses it for itself, as \"no schedule\": no guard band and no budget, so that frames run \
                     over the end of the entry (70 and more of 1538 bytes in a millisecond at 100 Mbit/s, where the wire \
                     carries 8)."
                        .to_owned(),
                    format!("Write open = \"all\", which is mask {all:#04x} with {classes} classes."),
                ],
            );
        } else if u64::from(mask) > all {
            let meant = mask & all as u32;
            found.accepted(
                "mask-beyond-classes",
                entry.gates_span,
                [
                    format!("gate mask {mask:#04x} has gates of classes that are not there"),
                    format!("There are {classes} classes; the bits above are ignored, and the gates of {} are open.", in_words(place, meant)),
                    format!("Write open = {} (mask {meant:#04x}), or add the missing [[class]].", in_words(place, meant)),
                ],
            );
        }
    }
}

fn operations(place: &Place<'_>, found: &mut Found<'_>) {
    if !place.is_software() {
        return;
    }
    let held = place.schedule.entries.iter().filter(|entry| entry.entry.operation != GateOperation::Set);
    for entry in held {
        found.accepted(
            "hold-in-software",
            entry.span,
            [
                "hold and release in software".to_owned(),
                "Software TAPRIO stores the operation and ignores it: no frame is preempted, a long one delays the window \
                 behind it like any other."
                    .to_owned(),
                "Take operation away, or write flags = 2 on a port whose hardware can preempt.".to_owned(),
            ],
        );
    }
}

fn negative_base_time(place: &Place<'_>, found: &mut Found<'_>) {
    let base = &place.schedule.base_time_ns;
    let cycle = place.schedule.cycle_ns();
    if base.value >= 0 || cycle == 0 {
        return;
    }
    let phase = format_duration_ns(i128::from(base.value).rem_euclid(i128::from(cycle)) as u64);
    found.accepted(
        "negative-base-time",
        base.span,
        [
            "a base time before the clock's zero".to_owned(),
            "The kernel takes it and counts cycles from there; hardware and YANG (seconds without a sign) do not."
                .to_owned(),
            format!("Write base_time = \"{phase}\": the same phase of a cycle of {}.", format_duration_ns(cycle)),
        ],
    );
}

/// A base time that is still to come.
pub(super) fn future_base_time(place: &Place<'_>, machine: &Machine, found: &mut Found<'_>) {
    let base = &place.schedule.base_time_ns;
    let Some(now) = place.schedule.clock.as_ref().and_then(|clock| machine.now_ns.get(&clock.value)) else {
        return;
    };
    let cycle = place.schedule.cycle_ns();
    if base.value <= *now || cycle == 0 {
        return;
    }
    let wait = format_duration_ns(base.value.abs_diff(*now) / 1_000_000_000 * 1_000_000_000);
    let phase = format_duration_ns(base.value as u64 % cycle);
    found.accepted(
        "base-time-ahead",
        base.span,
        [
            format!("the base time is {wait} ahead"),
            "Until then all gates are open: every class sends at any time, as without a schedule.".to_owned(),
            format!("Write a base time that has passed: base_time = \"{phase}\" has the same phase, and the first cycle begins at once."),
        ],
    );
}
