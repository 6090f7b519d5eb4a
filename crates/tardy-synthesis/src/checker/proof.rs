//! Checks proofs that no schedule exists.

use crate::instance::{Flow, Instance};
use crate::proof::Proof;

/// Whether `proof` proves that `instance` has no schedule.
pub fn proves(instance: &Instance, proof: &Proof) -> bool {
    match proof {
        Proof::Overload { link, flows } => {
            are_different(flows)
                && flows.iter().all(|flow| must_cross(instance, *flow, *link))
                && is_too_much(instance, flows, *link)
        }
        Proof::Pair { link, flows } => {
            are_different(flows)
                && flows.iter().all(|flow| must_cross(instance, *flow, *link))
                && meet(instance, flows, *link)
        }
        Proof::Late { flow, listener, least_ns } => {
            instance.flows.get(*flow).is_some_and(|of| is_late(instance, of, *listener, *least_ns))
        }
    }
}

fn are_different(flows: &[usize]) -> bool {
    let mut sorted = flows.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Whether a listener of the flow cannot be reached without the link.
fn must_cross(instance: &Instance, flow: usize, link: usize) -> bool {
    let Some(flow) = instance.flows.get(flow).filter(|_| link < instance.links.len()) else { return false };
    if let Some(route) = &flow.route {
        return route.contains(&link);
    }
    let mut reached = vec![false; instance.nodes.len()];
    reached[flow.source] = true;
    let mut grows = true;
    while grows {
        grows = false;
        for (number, other) in instance.links.iter().enumerate() {
            if number != link && reached[other.from] && !reached[other.to] {
                reached[other.to] = true;
                grows = true;
            }
        }
    }
    flow.destinations.iter().any(|node| !reached[*node])
}

fn reserved_ns(instance: &Instance, flow: usize, link: usize) -> u64 {
    let of = &instance.links[link];
    of.wire_ns(instance.flows[flow].wire_bytes + instance.gap_bytes) + of.late_ns + instance.margin_ns
}

/// Whether the flows need more than the link's time: the sum of their times in a time that is a multiple of all periods.
fn is_too_much(instance: &Instance, flows: &[usize], link: usize) -> bool {
    let whole_ns = instance.hyperperiod_ns;
    let mut needed_ns: u128 = 0;
    for &flow in flows {
        let period_ns = instance.flows[flow].period_ns;
        if !whole_ns.is_multiple_of(period_ns) {
            return false;
        }
        needed_ns += u128::from(whole_ns / period_ns) * u128::from(reserved_ns(instance, flow, link));
    }
    needed_ns > u128::from(whole_ns)
}

/// Whether two flows meet in some period, whatever their offsets. The distances between a start of one and the next start of the
/// other are the same as modulo the greatest common divisor of the periods.
fn meet(instance: &Instance, flows: &[usize; 2], link: usize) -> bool {
    let [a, b] = flows.map(|flow| instance.flows[flow].period_ns);
    let (mut longer, mut shorter) = (a.max(b), a.min(b));
    while shorter > 0 {
        (longer, shorter) = (shorter, longer % shorter);
    }
    reserved_ns(instance, flows[0], link) + reserved_ns(instance, flows[1], link) > longer
}

/// Whether the flow cannot reach the listener before `least_ns`, which is later than its deadline (Bellman and Ford).
fn is_late(instance: &Instance, flow: &Flow, listener: usize, least_ns: u64) -> bool {
    let mut ready_ns = vec![u64::MAX; instance.nodes.len()];
    let mut received_ns = vec![u64::MAX; instance.nodes.len()];
    ready_ns[flow.source] = 0;
    let mut changes = true;
    while changes {
        changes = false;
        for (number, link) in instance.links.iter().enumerate() {
            let is_usable = flow.route.as_ref().is_none_or(|route| route.contains(&number));
            if !is_usable || ready_ns[link.from] == u64::MAX {
                continue;
            }
            let at_ns =
                ready_ns[link.from] + link.wire_ns(flow.wire_bytes) + link.late_ns + link.propagation_ns;
            received_ns[link.to] = received_ns[link.to].min(at_ns);
            if at_ns + link.processing_ns < ready_ns[link.to] {
                ready_ns[link.to] = at_ns + link.processing_ns;
                changes = true;
            }
        }
    }
    let is_listener = flow.destinations.contains(&listener);
    is_listener
        && received_ns[listener] == least_ns
        && flow.deadline_ns.is_some_and(|deadline_ns| least_ns > deadline_ns)
}
