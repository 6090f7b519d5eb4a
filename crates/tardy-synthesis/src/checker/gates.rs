//! The gate control lists: each frame's gate is open for it, and the others are closed.

use std::collections::BTreeSet;

use tardy_record::gates::GateEntry;

use super::fault::Fault;
use super::links::{Frame, LinkFrames};
use crate::instance::Instance;
use crate::schedule::{PortGates, Schedule};

/// The faults of the gates.
pub(super) fn check(
    instance: &Instance,
    links: &[LinkFrames],
    ports: &[PortGates],
    entries_max: Option<usize>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for port in ports {
        let link = port.link;
        if !seen.insert(link) {
            faults.push(Fault::GatesTwice { link });
        } else if instance.links.get(link).is_none_or(|link| !link.has_gates) {
            faults.push(Fault::GatesNowhere { link });
        } else {
            faults.extend(of_port(instance, port, &links[link], entries_max));
        }
    }
    let needed = instance
        .links
        .iter()
        .zip(links)
        .enumerate()
        .filter(|(_, (link, of))| link.has_gates && !of.frames.is_empty());
    let lacking = needed.filter(|(link, _)| !seen.contains(link));
    faults.extend(lacking.map(|(link, _)| Fault::NoGates { link }));
    faults
}

/// Whether a port is open for best effort for a shorter time than requested. Only stretches count that a full frame fits into.
pub(super) fn starving(instance: &Instance, schedule: &Schedule, port: &PortGates) -> Option<Fault> {
    let link = &instance.links[port.link];
    let hops = schedule.iter().flat_map(|(_, placement)| &placement.hops);
    let scheduled: BTreeSet<u8> = hops.filter(|hop| hop.link == port.link).map(|hop| hop.queue).collect();
    let is_open = |entry: &&GateEntry| {
        (0..link.queues).any(|queue| !scheduled.contains(&queue) && entry.gates >> queue & 1 == 1)
    };
    if usize::from(link.queues) == scheduled.len() {
        return None;
    }
    let length_ns =
        |entries: &[GateEntry]| -> u64 { entries.iter().map(|entry| u64::from(entry.interval_ns)).sum() };
    // From an entry on that ends a stretch, none continues past the end.
    let first = port.entries.iter().position(|entry| !is_open(&entry)).unwrap_or(0);
    let mut entries = port.entries.clone();
    entries.rotate_left(first);
    let stretches = entries.chunk_by(|a, b| is_open(&a) == is_open(&b));
    let open = stretches.filter(|stretch| stretch.first().is_some_and(|entry| is_open(&entry)));
    let frame_ns = link.wire_ns(instance.best_effort_bytes);
    let open_ns: u64 = open.map(length_ns).filter(|length_ns| *length_ns >= frame_ns).sum();
    let cycle_ns = port.cycle_ns;
    let is_less =
        u128::from(open_ns) * 1_000_000 < u128::from(cycle_ns) * u128::from(instance.best_effort_ppm);
    is_less.then_some(Fault::BestEffort { link: port.link, open_ns, cycle_ns })
}

fn of_port(instance: &Instance, port: &PortGates, of: &LinkFrames, entries_max: Option<usize>) -> Vec<Fault> {
    let link = port.link;
    let mut faults = Vec::new();
    let needed = port.entries_needed();
    if let Some(most) = entries_max.filter(|most| needed > *most) {
        faults.push(Fault::TooManyEntries { link, entries: needed, most });
    }
    if port.entries.iter().any(|entry| entry.interval_ns == 0) {
        faults.push(Fault::EmptyEntry { link });
    }
    let unknown = port.entries.iter().find(|entry| entry.gates >> instance.links[link].queues != 0);
    faults.extend(unknown.map(|entry| Fault::UnknownGate { link, gates: entry.gates }));
    let sum_ns = port.entries.iter().map(|entry| u64::from(entry.interval_ns)).sum();
    if sum_ns != port.cycle_ns || sum_ns == 0 {
        faults.push(Fault::CycleSum { link, cycle_ns: port.cycle_ns, sum_ns });
        return faults;
    }
    let other_period =
        of.frames.iter().find(|frame| !port.cycle_ns.is_multiple_of(instance.flows[frame.flow].period_ns));
    if let Some(frame) = other_period {
        faults.push(Fault::CyclePeriod { link, cycle_ns: port.cycle_ns, flow: frame.flow });
        return faults;
    }
    let list = List::of(&port.entries, port.cycle_ns);
    // A cycle that is longer than the link's hyperperiod repeats the frames.
    for later_ns in (0..port.cycle_ns.max(of.cycle_ns)).step_by(of.cycle_ns as usize) {
        for frame in &of.frames {
            faults.extend(of_frame(instance, link, frame, later_ns, &list));
        }
    }
    faults
}

fn of_frame(
    instance: &Instance,
    link: usize,
    frame: &Frame,
    later_ns: u64,
    list: &List<'_>,
) -> Option<Fault> {
    let own = 1 << frame.queue;
    let (start_ns, end_ns) = (frame.start_ns + later_ns, frame.end_ns + later_ns + instance.margin_ns);
    let fault = |(at_ns, gates): (u64, u32)| match gates & own {
        0 => Fault::GateClosed { link, flow: frame.flow, at_ns },
        _ => Fault::GateOpen { link, flow: frame.flow, gates, at_ns },
    };
    if let Some(wrong) = list.find(start_ns, end_ns, |gates| gates != own) {
        return Some(fault(wrong));
    }
    let early = list.find(frame.early_ns + later_ns, start_ns, |gates| gates & own != 0);
    early.map(|(at_ns, _)| Fault::GateEarly { link, flow: frame.flow, at_ns })
}

/// A gate control list with the end of each entry.
struct List<'e> {
    entries: &'e [GateEntry],
    ends_ns: Vec<u64>,
    cycle_ns: u64,
}

impl<'e> List<'e> {
    fn of(entries: &'e [GateEntry], cycle_ns: u64) -> Self {
        let mut sum_ns = 0;
        let ends_ns = entries.iter().map(|entry| {
            sum_ns += u64::from(entry.interval_ns);
            sum_ns
        });
        Self { entries, ends_ns: ends_ns.collect(), cycle_ns }
    }

    /// The first time in a stretch at which the gates are as `is_wanted`, and the gates then.
    fn find(&self, start_ns: u64, end_ns: u64, is_wanted: impl Fn(u32) -> bool) -> Option<(u64, u32)> {
        let mut at_ns = start_ns;
        while at_ns < end_ns {
            let within_ns = at_ns % self.cycle_ns;
            let place = self.ends_ns.partition_point(|end_ns| *end_ns <= within_ns);
            let entry = self.entries[place];
            if is_wanted(entry.gates) {
                return Some((within_ns, entry.gates));
            }
            at_ns += self.ends_ns[place] - within_ns;
        }
        None
    }
}
