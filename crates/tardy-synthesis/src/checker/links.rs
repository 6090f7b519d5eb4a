//! The frames of all flows on each link: that no two are on it, or in one of its queues, at the same time.

use std::collections::BTreeMap;

use super::fault::Fault;
use crate::instance::Instance;
use crate::schedule::Schedule;

/// A frame on a link, in one of the hyperperiod's periods. Times are in ns from the start of the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) flow: usize,
    pub(super) queue: u8,
    /// When it enters the queue at the earliest.
    pub(super) early_ns: u64,
    /// When it enters the queue at the latest.
    pub(super) ready_ns: u64,
    /// When its transmission starts at the earliest.
    pub(super) start_ns: u64,
    /// When its transmission starts at the latest.
    pub(super) late_ns: u64,
    /// When the gap after it ends at the latest.
    pub(super) end_ns: u64,
}

/// The frames of each link in one hyperperiod of the flows that cross it. Their starts are within it or, for frames that left their
/// talker in one hyperperiod and are here in the next, after it.
pub(super) struct LinkFrames {
    /// The hyperperiod of the flows that cross the link, in ns.
    pub(super) cycle_ns: u64,
    pub(super) frames: Vec<Frame>,
}

/// Lists all frames of a schedule whose routes are right.
pub(super) fn frames(instance: &Instance, schedule: &Schedule) -> Vec<LinkFrames> {
    let mut periods: Vec<Vec<u64>> = vec![Vec::new(); instance.links.len()];
    for (flow, placement) in schedule.iter() {
        for hop in &placement.hops {
            periods[hop.link].push(instance.flows[flow].period_ns);
        }
    }
    let mut links: Vec<LinkFrames> = periods
        .into_iter()
        .map(|periods| LinkFrames { cycle_ns: common_multiple(periods), frames: Vec::new() })
        .collect();
    for (number, placement) in schedule.iter() {
        let flow = &instance.flows[number];
        let mut ready_ns: BTreeMap<usize, u64> = BTreeMap::from([(flow.source, placement.offset_ns())]);
        for hop in &placement.hops {
            let link = &instance.links[hop.link];
            let last_bit_ns = hop.start_ns + link.late_ns + link.wire_ns(flow.wire_bytes);
            let end_ns = hop.start_ns + link.late_ns + link.wire_ns(flow.wire_bytes + instance.gap_bytes);
            let own_ns = ready_ns.get(&link.from).copied().unwrap_or(hop.start_ns);
            let of_link = &mut links[hop.link];
            // Whole cycles later, so that the earliest time is not before the start of the schedule.
            let first_ns = link.early_ns.div_ceil(of_link.cycle_ns) * of_link.cycle_ns;
            for number_of_period in 0..of_link.cycle_ns / flow.period_ns {
                let later_ns = first_ns + number_of_period * flow.period_ns;
                of_link.frames.push(Frame {
                    flow: number,
                    queue: hop.queue,
                    early_ns: own_ns + later_ns - link.early_ns,
                    ready_ns: own_ns + later_ns,
                    start_ns: hop.start_ns + later_ns,
                    late_ns: hop.start_ns + link.late_ns + later_ns,
                    end_ns: end_ns + later_ns,
                });
            }
            ready_ns.insert(link.to, last_bit_ns + link.propagation_ns + link.processing_ns);
        }
    }
    links
}

/// The least time that is a multiple of all periods.
fn common_multiple(periods: Vec<u64>) -> u64 {
    let mut multiple = 1_u64;
    for period in periods {
        let (mut a, mut b) = (multiple, period);
        while a != 0 {
            (a, b) = (b % a, a);
        }
        multiple = multiple / b * period;
    }
    multiple
}

/// The faults of frames that meet on a link or in a queue.
pub(super) fn check(instance: &Instance, links: &[LinkFrames]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (link, of) in links.iter().enumerate() {
        let busy =
            of.frames.iter().map(|frame| (frame.start_ns, frame.end_ns + instance.margin_ns, frame.flow));
        if let Some((flows, at_ns)) = meeting(busy.collect(), of.cycle_ns) {
            faults.push(Fault::Overlap { link, flows, at_ns });
        }
        let waiting = of.frames.iter().find(|frame| frame.ready_ns < frame.start_ns);
        if let Some(frame) = waiting.filter(|_| !instance.links[link].has_gates) {
            faults.push(Fault::WaitsWithoutGates { flow: frame.flow, link, at_ns: frame.start_ns });
        }
        for queue in 0..instance.links[link].queues {
            let own = of.frames.iter().filter(|frame| frame.queue == queue);
            let waiting = own.map(|frame| (frame.early_ns, frame.late_ns, frame.flow));
            if let Some((flows, at_ns)) = meeting(waiting.collect(), of.cycle_ns) {
                faults.push(Fault::Queue { link, queue, flows, at_ns });
            }
        }
    }
    faults
}

/// Two stretches of time, from start to end, one of which begins within the other. They repeat with the cycle.
fn meeting(mut stretches: Vec<(u64, u64, usize)>, cycle_ns: u64) -> Option<([usize; 2], u64)> {
    for stretch in &mut stretches {
        let whole_ns = stretch.0 / cycle_ns * cycle_ns;
        stretch.0 -= whole_ns;
        stretch.1 -= whole_ns;
    }
    stretches.sort_unstable();
    let again: Vec<(u64, u64, usize)> =
        stretches.iter().map(|(start, end, flow)| (start + cycle_ns, end + cycle_ns, *flow)).collect();
    let mut latest: Option<(u64, usize)> = None;
    for (start_ns, end_ns, flow) in stretches.into_iter().chain(again) {
        if let Some((until_ns, other)) = latest.filter(|(until_ns, _)| start_ns < *until_ns) {
            debug_assert!(until_ns > start_ns);
            return Some(([other, flow], start_ns % cycle_ns));
        }
        if latest.is_none_or(|(until_ns, _)| end_ns > until_ns) {
            latest = Some((end_ns, flow));
        }
    }
    None
}
