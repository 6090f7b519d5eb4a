//! Checks of the context of a gate control list: priority map, port speed, message sizes, clocks, and PTP.

use tardy_record::units::format_duration_ns;

use super::{DeviceSpeed, Found, Kind, Machine, Place, classes, schedule};
use crate::file::format_rate;
use crate::network::{CLASSES_MAX, Clock, Network, Speed, Switch};
use crate::settings;
use crate::transmission_time::{UNKNOWN_SPEED_BITS_PER_SECOND, wire_ns};

/// EtherType of PTP (IEEE 1588 over Ethernet, as used by gPTP).
const PTP: u16 = 0x88f7;
/// The kernel does not show a qdisc whose description exceeds its message: 880 entries fit, 905 do not (tested on
/// 6.12).
const SHOWN_ENTRIES: usize = 880;

/// Checks a switch as a whole.
pub(super) fn of_switch(switch: &Switch, found: &mut Found<'_>) {
    if switch.ports.iter().all(|port| port.schedule.is_none()) {
        return;
    }
    short_map(switch, found);
    for (class, known) in switch.classes.iter().enumerate() {
        let reached =
            (0..CLASSES_MAX as u8).any(|priority| usize::from(switch.class_of_priority(priority)) == class);
        if !reached {
            let name = &known.name.value;
            found.accepted(
                "class-without-priority",
                known.span,
                [
                    format!("no priority has class {name}"),
                    "No frame enters this class, and its windows stay empty.".to_owned(),
                    format!("Put \"{name}\" into priority_map, or remove the class."),
                ],
            );
        }
    }
}

fn short_map(switch: &Switch, found: &mut Found<'_>) {
    let written = switch.priority_map.len();
    if written >= CLASSES_MAX {
        return;
    }
    let rest = (written..CLASSES_MAX).map(|_| "0").collect::<Vec<_>>().join(", ");
    found.accepted(
        "short-map",
        switch.priority_map.span,
        [
            format!("priority_map has {written} of {CLASSES_MAX} entries"),
            format!("The kernel fills the rest with 0: class {}.", switch.class_name(0)),
            format!("Write all {CLASSES_MAX}; to keep the kernel's choice, add {rest}."),
        ],
    );
}

/// Checks one port.
pub(super) fn of_port(network: &Network, place: &Place<'_>, machine: &Machine, found: &mut Found<'_>) {
    speed(place, found);
    sizes(place, found);
    schedule::future_base_time(place, machine, found);
    tai_offset(place, machine, found);
    ptp(network, place, machine, found);
}

fn speed(place: &Place<'_>, found: &mut Found<'_>) {
    let interface = &place.port.interface.value;
    let frame = wire_ns(place.on_wire(1514), UNKNOWN_SPEED_BITS_PER_SECOND);
    let shortest = format_duration_ns(wire_ns(60, UNKNOWN_SPEED_BITS_PER_SECOND));
    let written = place.port.speed.value.known();
    let states_unknown = place.known.is_none() && place.port.speed.value == Speed::Unknown;
    if states_unknown || place.device.speed == Some(DeviceSpeed::Unknown) {
        let mbps = written.map_or(100, |speed| speed / 1_000_000);
        found.accepted(
            "unknown-speed",
            place.port.speed.span,
            [
                format!("the speed of {interface} is unknown"),
                match place.is_software() {
                    true => format!(
                        "TAPRIO then assumes 10 Mbit/s: a full frame uses {} of its window, and no entry can be shorter than {shortest}.",
                        format_duration_ns(frame),
                    ),
                    false => format!(
                        "TAPRIO then assumes 10 Mbit/s, and refuses entries shorter than {shortest} before it asks the device."
                    ),
                },
                format!(
                    "Bring the link up before the schedule is set, or set the speed of a virtual port: `ethtool -s {interface} speed \
                     {mbps} duplex full`; and write speed = \"{mbps}Mbit/s\"."
                ),
            ],
        );
    } else if let (Some(DeviceSpeed::BitsPerSecond(real)), Some(written), Some(_)) =
        (place.device.speed, written, place.known)
        && real != written
    {
        found.accepted(
            "another-speed",
            place.port.speed.span,
            [
                format!(
                    "{interface} runs at {}, and the file states {}",
                    format_rate(real),
                    format_rate(written)
                ),
                format!(
                    "{} with {}: a full frame takes {}, not {}.",
                    match place.is_software() {
                        true => "The kernel computes guard bands and budgets",
                        false => "The device sends",
                    },
                    format_rate(real),
                    format_duration_ns(wire_ns(place.on_wire(1514), real)),
                    format_duration_ns(wire_ns(place.on_wire(1514), written))
                ),
                format!(
                    "Write speed = \"{}\" and check the windows again, or set the speed of the port.",
                    format_rate(real)
                ),
            ],
        );
    } else if let (None, Some(DeviceSpeed::BitsPerSecond(judged)), Some(written)) =
        (place.known, place.device.speed, written)
        && judged != written
    {
        found.note(
            "judged-as-veth",
            place.port.speed.span,
            [
                format!("{interface} was checked as a veth device of --netns, with {}", format_rate(judged)),
                format!("A real port with {} has other guard bands and budgets.", format_rate(written)),
                "Add --ports hardware to check the stated speed.".to_owned(),
            ],
        );
    } else if classes::is_speed_open(place) {
        found.note(
            "speed-not-said",
            place.port.interface.span,
            [
                format!("the file does not state the speed of {interface}"),
                match place.device.speed_for_kernel() {
                    None => "Whether frames fit into the windows was not checked.".to_owned(),
                    Some(speed) => {
                        format!(
                            "Windows were checked with {}, the speed of the devices of --netns.",
                            format_rate(speed)
                        )
                    }
                },
                "Write the speed, such as speed = \"1Gbit/s\".".to_owned(),
            ],
        );
    }
}

fn sizes(place: &Place<'_>, found: &mut Found<'_>) {
    let Some(taprio) = settings::taprio_of(place.switch, place.port) else { return };
    let (entries, of_tc) = (taprio.entries.len(), taprio.entries_max_of_tc());
    if !taprio.fits_message() {
        return;
    }
    if entries > SHOWN_ENTRIES {
        found.note(
            "list-not-shown",
            place.schedule.gates_span,
            [
                format!("{entries} gate entries"),
                format!(
                    "The kernel accepts them but cannot show more than about {SHOWN_ENTRIES}: `tc qdisc show` prints nothing for this port and reports success."
                ),
                "No change is needed: `tardy tsn test` verifies the list by its effect.".to_owned(),
            ],
        );
    }
    if entries > of_tc {
        found.note(
            "list-too-long-for-tc",
            place.schedule.gates_span,
            [
                format!("{entries} gate entries"),
                format!(
                    "tc can send {of_tc} of them for this port because its message has 1,024 bytes. tardy sends netlink messages itself and has no such limit."
                ),
                "No change is needed; `tardy tsn plan` prints no tc command for this port.".to_owned(),
            ],
        );
    }
}

/// `CLOCK_TAI` equals `CLOCK_REALTIME` until the offset is set in the kernel.
fn tai_offset(place: &Place<'_>, machine: &Machine, found: &mut Found<'_>) {
    let Some(clock) = place.schedule.clock.as_ref().filter(|clock| clock.value == Clock::Tai) else { return };
    let now = |clock| machine.now_ns.get(&clock);
    let (Some(tai), Some(utc)) = (now(Clock::Tai), now(Clock::Realtime)) else { return };
    if tai.abs_diff(*utc) >= 1_000_000_000 {
        return;
    }
    found.note(
        "tai-is-utc",
        clock.span,
        [
            "CLOCK_TAI equals CLOCK_REALTIME".to_owned(),
            "The kernel does not know the offset, 37 s since 2017. When phc2sys or chrony sets it, the schedule jumps, unless 37 s are whole cycles."
                .to_owned(),
            "Start clock synchronisation before the schedule.".to_owned(),
        ],
    );
}

/// Gates are closed most of the time, so the protocol that synchronises the clocks needs a class that is open.
///
/// Without PTP on the switch there is nothing to synchronise: then it is a note.
fn ptp(network: &Network, place: &Place<'_>, machine: &Machine, found: &mut Found<'_>) {
    // A schedule in hardware runs on the device's PTP clock.
    let uses_ptp = machine.runs_ptp == Some(true)
        || !place.is_software()
        || network.flows.iter().any(|flow| flow.marks.ethertype == Some(PTP));
    let known = place.switch.classifiers.iter().any(|rule| rule.matches.ethertype == Some(PTP));
    let class = usize::from(place.switch.class_of_priority(0));
    let openings = place.schedule.openings(class);
    let Some(closed) = openings.longest_closed_ns(place.running_cycle_ns()) else { return };
    if known || closed == 0 {
        return;
    }
    let delay = format!(
        "Frames of EtherType 0x88f7 have priority 0, like all unclassified frames: {} delays them by up to {}",
        place.class(class),
        format_duration_ns(closed)
    );
    let (kind, effect) = match uses_ptp {
        true => (Kind::Accepted, format!("{delay}, and the clocks of the schedule drift apart.")),
        false => (
            Kind::Note,
            format!("{delay}. That matters as soon as PTP synchronises devices through this port."),
        ),
    };
    found.add(
        "no-class-for-ptp",
        kind,
        place.schedule.gates_span,
        [
            "no class for PTP".to_owned(),
            effect,
            "Give PTP a class with a window: add [[classify]] with ethertype = 0x88f7 and a priority of that class. Set the same socket_priority in ptp4l.conf: ptp4l's frames do not pass the bridge."
                .to_owned(),
        ],
    );
}
