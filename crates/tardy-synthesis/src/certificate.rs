//! Looks for proofs that an instance has no schedule.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::instance::{Flow, Instance, greatest_common_divisor};
use crate::proof::Proof;

/// A proof that the instance has no schedule; `None` if none of this kind exists.
pub fn find(instance: &Instance) -> Option<Proof> {
    late(instance).or_else(|| {
        let crossing = unavoidable(instance);
        overload(instance, &crossing).or_else(|| pair(instance, &crossing))
    })
}

/// A flow whose deadline is shorter than the least latency.
fn late(instance: &Instance) -> Option<Proof> {
    let leaving = instance.links_from();
    instance.flows.iter().enumerate().find_map(|(number, flow)| {
        let deadline_ns = flow.deadline_ns?;
        let arrival_ns = earliest(instance, flow, &leaving);
        let late = flow.destinations.iter().map(|node| (arrival_ns[*node], *node));
        let (least_ns, listener) = late.max()?;
        (least_ns > deadline_ns).then_some(Proof::Late { flow: number, listener, least_ns })
    })
}

/// The earliest time at which a frame's last bit reaches each node, in ns after it was sent.
fn earliest(instance: &Instance, flow: &Flow, leaving: &[Vec<usize>]) -> Vec<u64> {
    let mut arrival_ns = vec![u64::MAX; instance.nodes.len()];
    let mut ready_ns = vec![u64::MAX; instance.nodes.len()];
    ready_ns[flow.source] = 0;
    let mut queue = BinaryHeap::from([Reverse((0, flow.source))]);
    while let Some(Reverse((at_ns, node))) = queue.pop() {
        if at_ns > ready_ns[node] {
            continue;
        }
        for number in &leaving[node] {
            if flow.route.as_ref().is_some_and(|route| !route.contains(number)) {
                continue;
            }
            let link = &instance.links[*number];
            let end_ns = at_ns + link.wire_ns(flow.wire_bytes) + link.arrival_ns();
            arrival_ns[link.to] = arrival_ns[link.to].min(end_ns);
            if end_ns + link.processing_ns < ready_ns[link.to] {
                ready_ns[link.to] = end_ns + link.processing_ns;
                queue.push(Reverse((ready_ns[link.to], link.to)));
            }
        }
    }
    arrival_ns
}

/// The flows that must cross each link: without it they do not reach a listener.
fn unavoidable(instance: &Instance) -> Vec<Vec<usize>> {
    let leaving = instance.links_from();
    let mut crossing = vec![Vec::new(); instance.links.len()];
    let mut known: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (number, flow) in instance.flows.iter().enumerate() {
        let mut links: Vec<usize> = match &flow.route {
            Some(route) => route.clone(),
            None => {
                let mut links = Vec::new();
                for &node in &flow.destinations {
                    let pair = known.entry((flow.source, node));
                    links.extend(&*pair.or_insert_with(|| bridges(instance, flow.source, node, &leaving)));
                }
                links
            }
        };
        links.sort_unstable();
        links.dedup();
        for link in links {
            crossing[link].push(number);
        }
    }
    crossing
}

/// The links that every path between two nodes has.
fn bridges(instance: &Instance, from: usize, to: usize, leaving: &[Vec<usize>]) -> Vec<usize> {
    let on_one_path = path(instance, from, to, leaving, None).unwrap_or_default();
    let is_needed = |link: &usize| path(instance, from, to, leaving, Some(*link)).is_none();
    on_one_path.into_iter().filter(is_needed).collect()
}

/// A path between two nodes without the link `without`.
fn path(
    instance: &Instance,
    from: usize,
    to: usize,
    leaving: &[Vec<usize>],
    without: Option<usize>,
) -> Option<Vec<usize>> {
    let mut reached_by: Vec<Option<usize>> = vec![None; instance.nodes.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            break;
        }
        for &link in leaving[node].iter().filter(|link| Some(**link) != without) {
            let next = instance.links[link].to;
            if next != from && reached_by[next].is_none() {
                reached_by[next] = Some(link);
                queue.push_back(next);
            }
        }
    }
    let mut links = Vec::new();
    let mut node = to;
    while node != from {
        let link = reached_by[node]?;
        links.push(link);
        node = instance.links[link].from;
    }
    Some(links)
}

fn busy_ns(instance: &Instance, flow: usize, link: usize) -> u64 {
    instance.reserved_ns(&instance.flows[flow], link)
}

/// A link whose flows need more than its whole time.
fn overload(instance: &Instance, crossing: &[Vec<usize>]) -> Option<Proof> {
    crossing.iter().enumerate().find_map(|(link, flows)| {
        let frames = |flow: usize| u128::from(instance.hyperperiod_ns / instance.flows[flow].period_ns);
        let needed: u128 =
            flows.iter().map(|flow| frames(*flow) * u128::from(busy_ns(instance, *flow, link))).sum();
        (needed > u128::from(instance.hyperperiod_ns)).then(|| Proof::Overload { link, flows: flows.clone() })
    })
}

/// Two flows whose frames are longer than the greatest common divisor of their periods.
fn pair(instance: &Instance, crossing: &[Vec<usize>]) -> Option<Proof> {
    crossing.iter().enumerate().find_map(|(link, flows)| {
        // The two longest frames of each period are the ones that matter.
        let mut longest: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for &flow in flows {
            let of_period = longest.entry(instance.flows[flow].period_ns).or_default();
            of_period.push(flow);
            of_period.sort_by_key(|flow| Reverse(busy_ns(instance, *flow, link)));
            of_period.truncate(2);
        }
        let candidates: Vec<usize> = longest.into_values().flatten().collect();
        let pairs = candidates
            .iter()
            .enumerate()
            .flat_map(|(place, a)| candidates[place + 1..].iter().map(move |b| [*a, *b]));
        let mut pairs = pairs.filter(|[a, b]| {
            let common = greatest_common_divisor(instance.flows[*a].period_ns, instance.flows[*b].period_ns);
            busy_ns(instance, *a, link) + busy_ns(instance, *b, link) > common
        });
        pairs.next().map(|flows| Proof::Pair { link, flows })
    })
}
