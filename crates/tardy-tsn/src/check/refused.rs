//! The kernel's refusals, with their places in the file and what to write instead.

use tardy_record::units::format_duration_ns;

use super::kernel::{About, Refusal, refusals};
use super::{Found, Kind, Machine, Place};
use crate::network::Switch;
use crate::settings;
use crate::span::{Located, Span};
use crate::transmission_time::wire_ns;

/// Frame preemption needs the MAC Merge layer (`ETHTOOL_MSG_MM_SET`), which tardy does not enable: without it the card sends the
/// frames of all classes whole.
pub(super) fn of_switch(switch: &Switch, found: &mut Found<'_>) {
    let is_so = |preemptible: &&Located<bool>| preemptible.value;
    let preemptible =
        switch.classes.iter().find_map(|class| Some((class, class.preemptible.as_ref().filter(is_so)?)));
    let Some((class, preemptible)) = preemptible else { return };
    found.add(
        "preemption-without-mac-merge",
        Kind::Unsupported,
        preemptible.span,
        [
            format!("class {} is preemptible, and tardy does not set up preemption", class.name.value),
            "Only the MAC Merge layer of the card interrupts frames, and tardy does not enable it: no frame would be interrupted."
                .to_owned(),
            "Remove preemptible. `tardy tsn simulate` and `bounds` compute preemption with --mode standard."
                .to_owned(),
        ],
    );
}

/// Checks one port for everything that the kernel refuses, and for a message that is too long.
pub(super) fn of_port(place: &Place<'_>, machine: &Machine, found: &mut Found<'_>) {
    // A port of another machine is independent of this kernel.
    if place.known.is_some() && machine.has_taprio == Some(false) {
        let kind = Kind::Refused { errno: "ENOENT", message: "Specified qdisc kind is unknown".to_owned() };
        found.add(
            "no-taprio",
            kind,
            place.port.interface.span,
            [
                "this kernel was built without TAPRIO".to_owned(),
                "The kernel leaves the port unchanged.".to_owned(),
                "Use a kernel with CONFIG_NET_SCH_TAPRIO, as Debian's have it.".to_owned(),
            ],
        );
    }
    let Some(taprio) = settings::taprio_of(place.switch, place.port) else { return };
    for refusal in refusals(&taprio, &place.device) {
        let (span, what, change) = explained(place, &refusal);
        let Refusal { errno, message, .. } = refusal;
        let effect = "The kernel leaves the port unchanged.".to_owned();
        found.add(rule(refusal.about), Kind::Refused { errno, message }, span, [what, effect, change]);
    }
    if !taprio.fits_message() {
        let (entries, most) = (taprio.entries.len(), taprio.entries_max());
        let kind = Kind::Refused { errno: "EMSGSIZE", message: "Message too long".to_owned() };
        found.add(
            "list-too-long",
            kind,
            place.schedule.gates_span,
            [
                format!("{entries} gate entries do not fit into a netlink message"),
                "The length of a netlink attribute has 16 bits, so the kernel would receive a truncated list. tardy does not send it."
                    .to_owned(),
                format!("Write at most {most} entries; merge neighbours with the same gates."),
            ],
        );
    }
}

fn rule(about: About) -> &'static str {
    match about {
        About::SingleQueue => "single-queue",
        About::ClassCount => "more-classes-than-queues",
        About::Priority(_) => "priority-without-class",
        About::Queues(_) => "queues-not-there",
        About::Overlap(..) => "queues-overlap",
        About::MaxSdu(_) => "max-sdu-beyond-mtu",
        About::Preemption => "preemption-in-software",
        About::Interval(_) => "interval-too-short",
        About::NoEntries => "empty-list",
        About::Sum | About::CycleLong => "cycle-too-long",
        About::CycleShort => "cycle-too-short",
        About::Clock => "clock",
        About::NoPtpClock => "no-ptp-clock",
        About::Flags => "flags",
        About::TxtimeDelay => "txtime-delay",
        About::Running => "running-schedule",
    }
}

/// The place, the problem, and what to write instead.
fn explained(place: &Place<'_>, refusal: &Refusal) -> (Span, String, String) {
    let schedule = place.schedule;
    let interface = &place.port.interface;
    let class_span = |class: usize| {
        let class = &place.switch.classes[class];
        class.queues.as_ref().map_or(class.span, |queues| queues.span)
    };
    let queues_span = place.port.queues.as_ref().map_or(interface.span, |queues| queues.span);
    let cycle_span = schedule.cycle_time_ns.as_ref().map_or(schedule.gates_span, |cycle| cycle.span);
    let classes = place.switch.classes.len();
    match refusal.about {
        About::SingleQueue => (
            queues_span,
            format!("{} has one transmit queue", interface.value),
            format!(
                "Put the schedule on a port with {classes} queues; a bridge itself has one. A virtual port gets them when it is created: `ip link add {} numtxqueues {classes} type veth`; write queues = {classes}.",
                interface.value
            ),
        ),
        About::ClassCount => (
            queues_span,
            format!("more classes ({classes}) than queues ({})", place.device.tx_queues.unwrap_or(0)),
            format!("Use an interface with {classes} transmit queues, or fewer classes."),
        ),
        About::Priority(priority) => {
            let span = place
                .switch
                .priority_map
                .get(priority)
                .map_or(place.switch.priority_map.span, |class| class.span);
            let class = place.switch.class_of_priority(priority as u8);
            (
                span,
                format!(
                    "priority {priority} has class {class}, but the classes are 0 to {}",
                    classes.saturating_sub(1)
                ),
                format!("Write a class from 0 to {}, or add [[class]].", classes.saturating_sub(1)),
            )
        }
        About::Queues(class) => queues(place, class, class_span(class)),
        About::Overlap(class, other) => (
            class_span(class),
            format!("{} and {} share a queue", place.class(class), place.class(other)),
            format!("Give each class separate queues: queues = \"1@{class}\" and queues = \"1@{other}\"."),
        ),
        About::MaxSdu(class) => {
            let most = place.device.mtu_max.unwrap_or(0);
            let span =
                place.switch.classes[class].max_sdu.as_ref().map_or(interface.span, |bytes| bytes.span);
            (
                span,
                format!("max_sdu of {} exceeds the largest MTU of {}", place.class(class), interface.value),
                format!("Write max_sdu = {most} or less, or remove it: without it there is no limit."),
            )
        }
        About::Preemption => preemption(place),
        About::Interval(entry) => interval(place, entry),
        About::NoEntries => (
            schedule.gates_span,
            "the gate control list is empty".to_owned(),
            "Add an entry, such as { open = \"all\", for = \"1ms\" }, or remove gates.".to_owned(),
        ),
        About::Sum => (
            schedule.gates_span,
            format!("the entries together last {}", format_duration_ns(schedule.sum_ns())),
            "Keep the sum at or below 2.147483647s (2^31 - 1 ns).".to_owned(),
        ),
        About::CycleLong => (
            cycle_span,
            format!("a cycle of {}", format_duration_ns(schedule.cycle_ns())),
            "Write a cycle_time of at most 2.147483647s (2^31 - 1 ns).".to_owned(),
        ),
        About::CycleShort => {
            let shortest = place.device.speed_for_kernel().map_or(0, |speed| wire_ns(60, speed));
            let entries = schedule.entries.len() as u64;
            (
                cycle_span,
                format!("{entries} entries in a cycle of {}", format_duration_ns(schedule.cycle_ns())),
                format!(
                    "The kernel requires {} for each entry, the time of a 60-byte frame: write a cycle_time of at least {}.",
                    format_duration_ns(shortest),
                    format_duration_ns(shortest * entries)
                ),
            )
        }
        About::Clock => clock(place),
        About::NoPtpClock => (
            schedule.flags.span,
            format!("{} has no PTP clock for a hardware schedule", interface.value),
            "Write flags = 0: software TAPRIO.".to_owned(),
        ),
        About::Flags => (
            schedule.flags.span,
            format!("flags {}", schedule.flags.value),
            "Write 0 for software, 1 for transmit times with ETF, or 2 for hardware offload.".to_owned(),
        ),
        About::TxtimeDelay => (
            schedule.txtime_delay_ns.as_ref().map_or(schedule.gates_span, |delay| delay.span),
            "a txtime_delay without transmit times".to_owned(),
            "Remove txtime_delay, or write flags = 1 and add ETF as a child qdisc.".to_owned(),
        ),
        About::Running => (
            schedule.gates_span,
            format!("{} runs a schedule with other classes, queues, clock or flags", interface.value),
            format!(
                "Remove it first: `tardy tsn remove` or `tc qdisc del dev {} root`. All gates are open in between.",
                interface.value
            ),
        ),
    }
}

fn queues(place: &Place<'_>, class: usize, span: Span) -> (Span, String, String) {
    let interface = &place.port.interface.value;
    let range = place.switch.queues_of(class);
    let end = u32::from(range.offset) + u32::from(range.count);
    let real = place.device.real_tx_queues.unwrap_or(0);
    let what = if range.count == 0 {
        format!("{} has no queue", place.class(class))
    } else {
        format!("{} uses queues up to {}, and {interface} has {real}", place.class(class), end - 1)
    };
    let change = match place.device.tx_queues {
        _ if range.count == 0 => format!("Write queues = \"1@{class}\"."),
        Some(made) if made >= end => {
            format!("It supports {made}: `ethtool -L {interface} tx {end}` (combined on some devices).")
        }
        _ => format!(
            "Create it with {end} queues (`ip link add … numtxqueues {end}`) and write queues = {end}, or use fewer classes."
        ),
    };
    (span, what, change)
}

fn interval(place: &Place<'_>, entry: usize) -> (Span, String, String) {
    let entry = &place.schedule.entries[entry];
    let speed = place.device.speed_for_kernel().unwrap_or(0);
    let shortest = format_duration_ns(wire_ns(60, speed));
    let unknown = place.device.speed == Some(super::DeviceSpeed::Unknown);
    let why = if unknown { ", which the kernel assumes for an unknown speed" } else { "" };
    (
        entry.interval_span,
        format!(
            "an entry of {}, shorter than a 60-byte frame",
            format_duration_ns(u64::from(entry.entry.interval_ns))
        ),
        format!(
            "Write {shortest} or more: the time of 60 bytes at {}{why}.",
            crate::file::format_rate(speed)
        ),
    )
}

fn preemption(place: &Place<'_>) -> (Span, String, String) {
    let first = place.switch.classes.iter().find_map(|class| class.preemptible.as_ref());
    (
        first.map_or(place.port.interface.span, |preemptible| preemptible.span),
        "preemptible classes with a schedule in software".to_owned(),
        "Remove preemptible.".to_owned(),
    )
}

fn clock(place: &Place<'_>) -> (Span, String, String) {
    let schedule = place.schedule;
    let span = schedule.clock.as_ref().map_or(schedule.gates_span, |clock| clock.span);
    match &schedule.clock {
        None => (span, "no clock".to_owned(), "Write clock = \"tai\".".to_owned()),
        Some(_) if schedule.flags.value & 2 != 0 => (
            span,
            "a clock for a schedule in hardware".to_owned(),
            "Write clock = \"none\": the device's own clock is used.".to_owned(),
        ),
        Some(clock) => (
            span,
            format!("TAPRIO does not support {}", clock.name()),
            "Write clock = \"tai\", \"realtime\", \"monotonic\" or \"boottime\".".to_owned(),
        ),
    }
}
