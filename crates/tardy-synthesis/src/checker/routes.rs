//! The way of one flow: that it is connected, reaches every listener, and is in time.
//!
//! Every frame of a flow is planned for the same time of its period on each link, so all have the same latency, and the jitter is 0. If
//! gates can be late, the latency is that of the latest frame. That frames do not start earlier is checked with the gates.

use std::collections::BTreeMap;

use super::fault::Fault;
use crate::instance::{Flow, Instance};
use crate::schedule::Placement;

/// The faults of one flow, without other flows.
pub(super) fn check(instance: &Instance, number: usize, placement: &Placement) -> Vec<Fault> {
    let flow = &instance.flows[number];
    if placement.hops.is_empty() {
        return vec![Fault::NoHops { flow: number }];
    }
    let mut faults = Vec::new();
    let unknown = placement.hops.iter().find(|hop| hop.link >= instance.links.len());
    if let Some(hop) = unknown {
        return vec![Fault::UnknownLink { flow: number, link: hop.link }];
    }
    faults.extend(way(instance, number, flow, placement));
    if flow.route.as_ref().is_some_and(|route| !placement.hops.iter().map(|hop| &hop.link).eq(route)) {
        faults.push(Fault::OtherRoute { flow: number });
    }
    faults.extend(queues(instance, number, flow, placement));
    faults.extend(sending(number, flow, placement));
    faults
}

/// Follows the frame from node to node.
fn way(instance: &Instance, number: usize, flow: &Flow, placement: &Placement) -> Vec<Fault> {
    let mut faults = Vec::new();
    // From when on the frame can be forwarded by each node that it has reached.
    let mut ready_ns: BTreeMap<usize, u64> = BTreeMap::from([(flow.source, placement.offset_ns())]);
    let mut continued: Vec<usize> = Vec::new();
    for (place, hop) in placement.hops.iter().enumerate() {
        let link = &instance.links[hop.link];
        if placement.hops[..place].iter().any(|before| before.link == hop.link) {
            faults.push(Fault::LinkTwice { flow: number, link: hop.link });
            continue;
        }
        let Some(&from_ns) = ready_ns.get(&link.from) else {
            faults.push(Fault::Disconnected { flow: number, link: hop.link });
            continue;
        };
        if hop.start_ns < from_ns {
            faults.push(Fault::BeforeArrival {
                flow: number,
                link: hop.link,
                at_ns: hop.start_ns,
                ready_ns: from_ns,
            });
        }
        continued.push(link.from);
        let received_ns = hop.start_ns + link.late_ns + link.wire_ns(flow.wire_bytes) + link.propagation_ns;
        if ready_ns.insert(link.to, received_ns + link.processing_ns).is_some() {
            faults.push(Fault::NodeTwice { flow: number, node: link.to });
        }
        faults.extend(in_time(number, flow, link.to, received_ns.saturating_sub(placement.offset_ns())));
    }
    let missed = flow.destinations.iter().filter(|node| !ready_ns.contains_key(node));
    faults.extend(missed.map(|node| Fault::NotReached { flow: number, node: *node }));
    let leads_nowhere = |to: &usize| !flow.destinations.contains(to) && !continued.contains(to);
    let dead = placement.hops.iter().filter(|hop| leads_nowhere(&instance.links[hop.link].to));
    faults.extend(dead.map(|hop| Fault::DeadEnd { flow: number, link: hop.link }));
    faults
}

fn in_time(number: usize, flow: &Flow, node: usize, latency_ns: u64) -> Option<Fault> {
    let is_late = flow.deadline_ns.is_some_and(|deadline_ns| latency_ns > deadline_ns);
    (is_late && flow.destinations.contains(&node)).then_some(Fault::Late { flow: number, node, latency_ns })
}

fn queues(instance: &Instance, number: usize, flow: &Flow, placement: &Placement) -> Vec<Fault> {
    let mut faults = Vec::new();
    for hop in &placement.hops {
        let link = &instance.links[hop.link];
        let fixed = flow.queue_at.as_ref().map(|queues| queues[link.from]);
        if hop.queue >= link.queues {
            faults.push(Fault::UnknownQueue { flow: number, link: hop.link, queue: hop.queue });
        } else if let Some(fixed) = fixed.filter(|fixed| *fixed != hop.queue) {
            faults.push(Fault::OtherQueue { flow: number, link: hop.link, queue: hop.queue, fixed });
        }
    }
    faults
}

fn sending(number: usize, flow: &Flow, placement: &Placement) -> Vec<Fault> {
    let at_ns = placement.offset_ns();
    let mut faults = Vec::new();
    if at_ns < flow.release_ns {
        faults.push(Fault::BeforeRelease { flow: number, at_ns });
    }
    if at_ns >= flow.period_ns {
        faults.push(Fault::AfterPeriod { flow: number, at_ns });
    }
    faults
}
