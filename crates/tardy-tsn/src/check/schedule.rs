//! The gate control list: cycle, masks, operations and base time.

use tardy_record::gates::GateOperation;
use tardy_record::units::format_duration_ns;

use super::{Found, Kind, Machine, Place};
use crate::file::format_rate;
use crate::network::Clock;

/// Checks a port's list.
pub(super) fn of_port(place: &Place<'_>, found: &mut Found<'_>) {
    cycle(place, found);
    masks(place, found);
    operations(place, found);
    negative_base_time(place, found);
    transmit_times(place, found);
    transmit_time_children(place, found);
    credit(place, found);
}

/// ETF below the shaper: it needs transmit times, which only the shaper with flags 1 writes into frames of other hosts, and in time.
fn transmit_time_children(place: &Place<'_>, found: &mut Found<'_>) {
    let schedule = place.schedule;
    let with_etf = place
        .switch
        .classes
        .iter()
        .enumerate()
        .filter_map(|(number, class)| Some((number, class.etf_delta_ns.as_ref()?)));
    for (number, delta) in with_etf {
        let class = place.class(number);
        if schedule.flags.value & 1 == 0 {
            found.accepted(
                "etf-without-transmit-times",
                delta.span,
                [
                    format!("ETF for {class}, whose frames have no transmit time"),
                    "Frames that the switch forwards have one only with flags = 1. ETF drops all others."
                        .to_owned(),
                    "Write flags = 1 and a txtime_delay longer than etf_delta, or remove etf_delta."
                        .to_owned(),
                ],
            );
        } else if schedule.txtime_delay_ns.as_ref().is_none_or(|delay| delay.value <= delta.value) {
            let delay_ns = schedule.txtime_delay_ns.as_ref().map_or(0, |delay| delay.value);
            found.accepted(
                "etf-too-early",
                delta.span,
                [
                    format!(
                        "etf_delta of {} for {class} and a txtime_delay of {}",
                        format_duration_ns(u64::from(delta.value)),
                        format_duration_ns(u64::from(delay_ns))
                    ),
                    "The shaper sets a transmit time at least txtime_delay ahead. ETF passes frames on etf_delta ahead, so it gets some too \
                     late, and sends them before their time."
                        .to_owned(),
                    format!("Write a txtime_delay longer than {}.", format_duration_ns(u64::from(delta.value))),
                ],
            );
        }
        if schedule.clock.as_ref().is_some_and(|clock| clock.value != Clock::Tai) {
            found.accepted(
                "etf-clock",
                delta.span,
                [
                    format!("ETF for {class} by CLOCK_TAI, and a schedule by another clock"),
                    "The shaper writes transmit times of its own clock, and ETF reads them as TAI."
                        .to_owned(),
                    "Write clock = \"tai\".".to_owned(),
                ],
            );
        }
    }
}

/// The rates of credit-based shapers.
fn credit(place: &Place<'_>, found: &mut Found<'_>) {
    let slopes = || place.switch.classes.iter().filter_map(|class| class.idle_slope.as_ref());
    let Some(last) = slopes().next_back() else { return };
    let Some(rate) = place.port.speed.value.known() else {
        found.accepted(
            "idle-slope-without-speed",
            last.span,
            [
                format!(
                    "an idle_slope for {}, whose speed the file does not state",
                    place.port.interface.value
                ),
                "The credits follow from the port's speed, so this port gets no credit-based shaper."
                    .to_owned(),
                "Write speed = \"1Gbit/s\".".to_owned(),
            ],
        );
        return;
    };
    let sum: u64 = slopes().map(|slope| slope.value).sum();
    if sum >= rate {
        found.accepted(
            "idle-slope-too-high",
            last.span,
            [
                format!("idle slopes of {} in total on a port of {}", format_rate(sum), format_rate(rate)),
                "A class whose rate is not below that of the port is not shaped, and other classes may never be sent.".to_owned(),
                format!("Keep the sum of idle_slope below {}; 802.1BA allows three quarters.", format_rate(rate)),
            ],
        );
    }
}

/// With flags 1 the kernel does not close any gate: it writes into each frame when it may leave, for ETF.
fn transmit_times(place: &Place<'_>, found: &mut Found<'_>) {
    let flags = &place.schedule.flags;
    let all_have_etf = place.switch.classes.iter().all(|class| class.etf_delta_ns.is_some());
    if flags.value & 1 == 0 || !place.is_software() || all_have_etf {
        return;
    }
    found.accepted(
        "no-etf",
        flags.span,
        [
            "flags = 1 without ETF below the shaper".to_owned(),
            "TAPRIO only writes a transmit time into each frame, and nothing below it waits for that in a class without etf_delta: its frames leave at once."
                .to_owned(),
            "Write flags = 0: gates in software. Or write etf_delta = \"200us\" in each [[class]].".to_owned(),
        ],
    );
}

fn cycle(place: &Place<'_>, found: &mut Found<'_>) {
    let schedule = place.schedule;
    let Some(cycle) = schedule.cycle_time_ns.as_ref().filter(|cycle| cycle.value != 0) else { return };
    let sum = schedule.sum_ns();
    let (cycle_text, sum_text) = (format_duration_ns(cycle.value), format_duration_ns(sum));
    if sum == 0 || cycle.value == sum {
        return;
    }
    if cycle.value > sum {
        // Hardware follows the standard: it holds the last gates.
        if !place.is_software() {
            return;
        }
        let rest = format_duration_ns(cycle.value - sum);
        found.accepted(
            "cycle-longer-than-sum",
            cycle.span,
            [
                format!("a cycle of {cycle_text}, but entries of {sum_text} in total"),
                format!(
                    "Software TAPRIO restarts after the last entry, every {sum_text}: for devices with a cycle of {cycle_text}, the windows drift by {rest} per cycle. Hardware and the standard hold the last gates for {rest} instead."
                ),
                format!(
                    "Write cycle_time = \"{sum_text}\", or add an entry for the rest: {{ open = {}, for = \"{rest}\" }}.",
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
    let cut_text = match (left, lost) {
        (0, 1) => format!("the last of {} entries never runs", running.len()),
        (0, lost) => format!("the last {lost} of {} entries never run", running.len()),
        (left, 0) => format!("the last entry ends after {}", format_duration_ns(left)),
        (left, 1) => {
            format!("the last entry but one ends after {}, the last never runs", format_duration_ns(left))
        }
        (left, lost) => format!(
            "entry {} of {} ends after {}, and the {lost} after it never run",
            first_cut + 1,
            running.len(),
            format_duration_ns(left)
        ),
    };
    found.accepted(
        "cycle-shorter-than-sum",
        cycle.span,
        [
            format!("a cycle of {cycle_text}, but entries of {sum_text} in total"),
            format!("The list is cut off at {cycle_text}: {cut_text}."),
            format!(
                "Write cycle_time = \"{sum_text}\", or shorten the entries by {}.",
                format_duration_ns(sum - cycle.value)
            ),
        ],
    );
}

/// The classes that the last entry opens, as written in a file.
fn last_gates(place: &Place<'_>) -> String {
    let mask = place.schedule.entries.last().map_or(0, |entry| entry.entry.gates);
    open_classes(place, mask)
}

/// `["blue", "red"]`
fn open_classes(place: &Place<'_>, mask: u32) -> String {
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
        if mask == u32::MAX && place.is_software() {
            found.accepted(
                "mask-all-ones",
                entry.gates_span,
                [
                    "a gate mask of 0xffffffff".to_owned(),
                    "The kernel uses this value for \"no schedule\", without guard band and budget, so frames are sent past the end of the entry (70 or more frames of 1538 bytes in 1 ms at 100 Mbit/s; the wire carries 8)."
                        .to_owned(),
                    format!("Write open = \"all\", which is mask {all:#04x} with {classes} classes."),
                ],
            );
        } else if u64::from(mask) > all {
            let meant = mask & all as u32;
            // Ignored bits change nothing, unless no others are left.
            let kind = if meant == 0 { Kind::Accepted } else { Kind::Note };
            found.add(
                "mask-beyond-classes",
                kind,
                entry.gates_span,
                [
                    format!("gate mask {mask:#04x} opens gates of classes that do not exist"),
                    format!("There are {classes} classes; the other bits are ignored, and the gates of {} are open.", open_classes(place, meant)),
                    format!("Write open = {} (mask {meant:#04x}), or add the missing [[class]].", open_classes(place, meant)),
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
                "hold and release have no effect in software".to_owned(),
                "Software TAPRIO stores the operation and ignores it: no frame is preempted, and a long frame delays the next window."
                    .to_owned(),
                "Remove operation.".to_owned(),
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
            "a negative base time".to_owned(),
            match place.is_software() {
                true => {
                    "The kernel accepts it; hardware and the YANG model, whose seconds are unsigned, do not."
                }
                false => "The kernel passes it to the device, which may refuse it or start at another time.",
            }
            .to_owned(),
            format!(
                "Write base_time = \"{phase}\": the same phase of a cycle of {}.",
                format_duration_ns(cycle)
            ),
        ],
    );
}

/// Checks for a base time in the future.
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
        super::BASE_TIME_AHEAD,
        base.span,
        [
            format!("the base time is {wait} ahead"),
            match place.is_software() {
                true => "Until then all gates are open, as without a schedule.",
                false => "Until then the device's gates are as its driver leaves them, usually all open.",
            }
            .to_owned(),
            format!("Write a base time in the past: base_time = \"{phase}\" has the same phase, and the first cycle starts at once."),
        ],
    );
}
