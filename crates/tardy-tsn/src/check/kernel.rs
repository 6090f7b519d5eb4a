//! The kernel's refusals, with its messages and in its order.
//!
//! From `net/sched/sch_taprio.c` and `sch_mqprio_lib.c` of Linux 6.12.117. The kernel stops at the first refusal;
//! this list has all of them in the kernel's order. Refusals of settings that a file cannot express (a parent other
//! than the root) are left out.

use crate::network::Clock;
use crate::settings::{Queues, Taprio};
use crate::transmission_time::wire_ns;

use super::Device;

/// `ETH_ZLEN`: the shortest frame.
const SHORTEST_FRAME: u64 = 60;
/// `INT_MAX`.
const CYCLE_MAX_NS: i64 = i32::MAX as i64;
const TXTIME_ASSIST: u32 = 1;
const FULL_OFFLOAD: u32 = 2;

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the error number.
    pub errno: &'static str,
    /// The kernel's extended acknowledgement, without the name of the module.
    pub message: String,
    /// The subject of the refusal.
    pub about: About,
}

/// The subject of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The device has one transmit queue.
    SingleQueue,
    /// More classes than queues.
    ClassCount,
    /// The class of a priority.
    Priority(usize),
    /// The queues of a class.
    Queues(usize),
    /// The queues of two classes.
    Overlap(usize, usize),
    /// The longest frame of a class.
    MaxSdu(usize),
    /// Preemptible classes.
    Preemption,
    /// An entry's duration.
    Interval(usize),
    /// The list is empty.
    NoEntries,
    /// The sum of the entries.
    Sum,
    /// The cycle time is too long.
    CycleLong,
    /// The cycle time is too short.
    CycleShort,
    /// The clock is missing, is not supported by TAPRIO, or is given where none is allowed.
    Clock,
    /// The device has no PTP clock.
    NoPtpClock,
    /// The flags.
    Flags,
    /// The delay before a transmit time.
    TxtimeDelay,
    /// A property that cannot be changed while a schedule runs.
    Running,
}

/// All refusals of `taprio` as the root qdisc of `device`. Unknown properties of the device count as correct.
pub fn refusals(taprio: &Taprio, device: &Device) -> Vec<Refusal> {
    let mut found = Vec::new();
    if device.tx_queues == Some(1) {
        found.push(refusal("EOPNOTSUPP", "Multi-queue device is required", About::SingleQueue));
    }
    attributes(taprio, &mut found);
    changes(taprio, device, &mut found);
    mapping(taprio, device, &mut found);
    schedule(taprio, device, &mut found);
    clock(taprio, device, &mut found);
    found
}

fn refusal(errno: &'static str, message: impl Into<String>, about: About) -> Refusal {
    Refusal { errno, message: message.into(), about }
}

/// Refusals by netlink's policy, before TAPRIO sees the message.
fn attributes(taprio: &Taprio, found: &mut Vec<Refusal>) {
    if taprio.cycle_time_ns.is_some_and(|cycle| cycle > CYCLE_MAX_NS) {
        found.push(refusal("ERANGE", "integer out of range", About::CycleLong));
    }
    if taprio.flags & !(TXTIME_ASSIST | FULL_OFFLOAD) != 0 {
        found.push(refusal("EINVAL", "reserved bit set", About::Flags));
    } else if taprio.flags == TXTIME_ASSIST | FULL_OFFLOAD {
        let message = "TXTIME_ASSIST and FULL_OFFLOAD are mutually exclusive";
        found.push(refusal("EINVAL", message, About::Flags));
    }
}

fn changes(taprio: &Taprio, device: &Device, found: &mut Vec<Refusal>) {
    let Some(running) = &device.running else { return };
    let cannot = |what: &str| format!("Changing {what} of a running schedule is not supported");
    if running.flags != taprio.flags {
        found.push(refusal("EOPNOTSUPP", cannot("'flags'"), About::Running));
    }
    let same_map = running.prio_tc_map == taprio.prio_tc_map && running.queues == taprio.queues;
    if !same_map {
        found.push(refusal("ENOTSUPP", cannot("the traffic mapping"), About::Running));
    }
    if taprio.clockid.is_some() && running.clockid.is_some() && running.clockid != taprio.clockid {
        found.push(refusal("ENOTSUPP", cannot("the 'clockid'"), About::Running));
    }
}

/// `taprio_parse_mqprio_opt`, `mqprio_validate_qopt` and `taprio_parse_tc_entries`.
fn mapping(taprio: &Taprio, device: &Device, found: &mut Vec<Refusal>) {
    if device.tx_queues.is_some_and(|queues| u32::from(taprio.num_tc) > queues) {
        let message = "Number of traffic classes is greater than number of HW queues";
        found.push(refusal("EINVAL", message, About::ClassCount));
    }
    if let Some(priority) = taprio.prio_tc_map.iter().position(|class| *class >= taprio.num_tc) {
        let message = "Invalid traffic class in priority to traffic class mapping";
        found.push(refusal("EINVAL", message, About::Priority(priority)));
    }
    for (class, queues) in taprio.queues.iter().enumerate() {
        found.extend(queue_range(taprio, device, class, *queues));
    }
    if let Some(most) = device.mtu_max
        && let Some(class) = taprio.max_sdu.iter().position(|bytes| *bytes > most)
    {
        found.push(refusal("ERANGE", "TC max SDU exceeds device max MTU", About::MaxSdu(class)));
    }
    if taprio.preemptible != 0 && taprio.flags & FULL_OFFLOAD == 0 {
        let message = "Preemption only supported with full offload";
        found.push(refusal("EOPNOTSUPP", message, About::Preemption));
    }
}

fn queue_range(taprio: &Taprio, device: &Device, class: usize, queues: Queues) -> Option<Refusal> {
    let Queues { count, offset } = queues;
    if count == 0 {
        return Some(refusal("EINVAL", format!("No queues for TC {class}"), About::Queues(class)));
    }
    let end = u32::from(offset) + u32::from(count);
    if let Some(real) = device.real_tx_queues.filter(|real| end > *real) {
        let message = format!("Queues {count}:{offset} for TC {class} exceed the {real} TX queues available");
        return Some(refusal("EINVAL", message, About::Queues(class)));
    }
    if taprio.flags == TXTIME_ASSIST {
        return None;
    }
    let overlapping = |other: &Queues| {
        let other_end = u32::from(other.offset) + u32::from(other.count);
        u32::from(offset).max(u32::from(other.offset)) < end.min(other_end)
    };
    let other = (class + 1..taprio.queues.len()).find(|other| overlapping(&taprio.queues[*other]))?;
    let far = taprio.queues[other];
    let message = format!(
        "TC {class} queues {count}@{offset} overlap with TC {other} queues {}@{}",
        far.count, far.offset
    );
    Some(refusal("EINVAL", message, About::Overlap(class, other)))
}

/// `parse_taprio_schedule`, and the checks after it.
fn schedule(taprio: &Taprio, device: &Device, found: &mut Vec<Refusal>) {
    let shortest_ns = device.speed_for_kernel().map(|speed| wire_ns(SHORTEST_FRAME, speed));
    if let Some(shortest_ns) = shortest_ns
        && let Some(entry) =
            taprio.entries.iter().position(|entry| u64::from(entry.interval_ns) < shortest_ns)
    {
        found.push(refusal("EINVAL", "Invalid interval for schedule entry", About::Interval(entry)));
    }
    let sum: i64 = taprio.entries.iter().map(|entry| i64::from(entry.interval_ns)).sum();
    let written = taprio.cycle_time_ns.filter(|cycle| *cycle != 0);
    if written.is_none() && sum > CYCLE_MAX_NS {
        found.push(refusal("EINVAL", "'cycle_time' is too big", About::Sum));
    }
    let least = shortest_ns.map(|shortest| shortest * taprio.entries.len() as u64);
    if least.is_some_and(|least| (written.unwrap_or(sum) as u64) < least) {
        found.push(refusal("EINVAL", "'cycle_time' is too small", About::CycleShort));
    }
    if taprio.entries.is_empty() {
        let message = "There should be at least one entry in the schedule";
        found.push(refusal("EINVAL", message, About::NoEntries));
    }
}

/// `taprio_parse_clockid`, and the delay.
fn clock(taprio: &Taprio, device: &Device, found: &mut Vec<Refusal>) {
    const SUPPORTED: [Clock; 4] = [Clock::Realtime, Clock::Monotonic, Clock::Boottime, Clock::Tai];
    if taprio.flags & FULL_OFFLOAD != 0 {
        if taprio.clockid.is_some() {
            let message = "The 'clockid' cannot be specified for full offload";
            found.push(refusal("ENOTSUPP", message, About::Clock));
        } else if device.ptp_clock == Some(false) {
            found.push(refusal("ENOTSUPP", "Device does not have a PTP clock", About::NoPtpClock));
        }
    } else {
        match taprio.clockid {
            None => found.push(refusal("EINVAL", "Specifying a 'clockid' is mandatory", About::Clock)),
            Some(id) if SUPPORTED.iter().all(|clock| clock.id() != id) => {
                found.push(refusal("EINVAL", "Invalid 'clockid'", About::Clock));
            }
            Some(_) => {}
        }
    }
    if taprio.txtime_delay_ns.is_some() && taprio.flags & TXTIME_ASSIST == 0 {
        let message = "txtime-delay can only be set when txtime-assist mode is enabled";
        found.push(refusal("EINVAL", message, About::TxtimeDelay));
    }
}
