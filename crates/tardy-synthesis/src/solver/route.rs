//! The ways that a flow's frames can take.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::instance::{Flow, Instance};

/// A link of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RouteHop {
    pub(super) link: usize,
    /// From the start of the frame at the talker to its start on this link if it never waits, in ns.
    pub(super) shift_ns: u64,
}

/// The links from a talker to all listeners of a flow; each is after the one that it continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) hops: Vec<RouteHop>,
    /// From the first bit sent to the last bit received, in ns, if the frame never waits.
    pub(super) latency_ns: u64,
}

impl Route {
    /// The route over `links`, which are in order from the talker.
    pub(super) fn over(links: &[usize], instance: &Instance, flow: &Flow) -> Self {
        let mut ready_ns: BTreeMap<usize, u64> = BTreeMap::from([(flow.source, 0)]);
        let mut route = Self::default();
        for &number in links {
            let link = &instance.links[number];
            let shift_ns = ready_ns.get(&link.from).copied().unwrap_or(0);
            let end_ns = shift_ns + link.wire_ns(flow.wire_bytes);
            ready_ns.insert(link.to, end_ns + link.forwarding_ns());
            if flow.destinations.contains(&link.to) {
                route.latency_ns = route.latency_ns.max(end_ns + link.arrival_ns());
            }
            route.hops.push(RouteHop { link: number, shift_ns });
        }
        route
    }
}

/// The share of a link that a flow takes, in parts per billion.
fn load(instance: &Instance, flow: &Flow, link: usize) -> u64 {
    let busy_ns = u128::from(instance.reserved_ns(flow, link));
    (busy_ns * 1_000_000_000 / u128::from(flow.period_ns)) as u64
}

/// The routes of all flows with the fewest links. Of several, each flow in turn takes the one whose links carry least.
pub(super) fn shortest(instance: &Instance) -> Vec<Route> {
    let (leaving, entering) = (instance.links_from(), links_to(instance));
    let mut distances: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut loads = vec![0; instance.links.len()];
    let mut routes = Vec::with_capacity(instance.flows.len());
    for flow in &instance.flows {
        let links = match &flow.route {
            Some(links) => links.clone(),
            None => {
                let distance = distances
                    .entry(flow.source)
                    .or_insert_with(|| distances_from(flow.source, instance, &leaving));
                tree(
                    flow,
                    |node| {
                        let nearer =
                            |link: &usize| distance[instance.links[*link].from] + 1 == distance[node];
                        entering[node].iter().copied().filter(nearer).min_by_key(|link| (loads[*link], *link))
                    },
                    instance,
                )
            }
        };
        for &link in &links {
            loads[link] += load(instance, flow, link);
        }
        routes.push(Route::over(&links, instance, flow));
    }
    routes
}

fn links_to(instance: &Instance) -> Vec<Vec<usize>> {
    let mut entering = vec![Vec::new(); instance.nodes.len()];
    for (number, link) in instance.links.iter().enumerate() {
        entering[link.to].push(number);
    }
    entering
}

/// The number of links from `source` to each node; [`u32::MAX`] - 1 if there is no way.
fn distances_from(source: usize, instance: &Instance, leaving: &[Vec<usize>]) -> Vec<u32> {
    const FAR: u32 = u32::MAX - 1;
    let mut distance = vec![FAR; instance.nodes.len()];
    distance[source] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        for link in &leaving[node] {
            let to = instance.links[*link].to;
            if distance[to] == FAR {
                distance[to] = distance[node] + 1;
                queue.push_back(to);
            }
        }
    }
    distance
}

/// The links from a flow's talker to its listeners, in order. `towards` is the link by which a node is reached.
fn tree(flow: &Flow, mut towards: impl FnMut(usize) -> Option<usize>, instance: &Instance) -> Vec<usize> {
    let mut links: Vec<usize> = Vec::new();
    let mut reached = vec![flow.source];
    for &destination in &flow.destinations {
        let mut branch = Vec::new();
        let mut node = destination;
        while !reached.contains(&node) {
            let Some(link) = towards(node) else { break };
            branch.push(link);
            reached.push(node);
            node = instance.links[link].from;
        }
        links.extend(branch.iter().rev());
    }
    links
}

/// Other routes of a flow than `known`, for when that is full: the fastest one, and ones that avoid the links of those before
/// and the links that carry most. `loads` are in parts per billion.
pub(super) fn alternatives(instance: &Instance, flow: &Flow, known: &Route, loads: &[u64]) -> Vec<Route> {
    const AVOIDING: usize = 3;
    if flow.route.is_some() {
        return Vec::new();
    }
    let leaving = instance.links_from();
    let mut routes = vec![known.clone()];
    let mut used = vec![0_u64; instance.links.len()];
    for attempt in 0..=AVOIDING {
        let avoid = attempt > 0;
        let weight = |link: usize| {
            let own_ns = instance.links[link].wire_ns(flow.wire_bytes) + instance.links[link].forwarding_ns();
            let crowded = if avoid { 1 + loads[link] / 100_000_000 + 8 * used[link] } else { 1 };
            own_ns.max(1).saturating_mul(crowded)
        };
        let reached_by = fastest(flow.source, instance, &leaving, weight);
        let route = Route::over(&tree(flow, |node| reached_by[node], instance), instance, flow);
        for hop in &route.hops {
            used[hop.link] += 1;
        }
        if !routes.contains(&route) {
            routes.push(route);
        }
    }
    routes.split_off(1)
}

/// The link by which each node is reached from `source` with the least sum of weights (Dijkstra 1959).
fn fastest(
    source: usize,
    instance: &Instance,
    leaving: &[Vec<usize>],
    weight: impl Fn(usize) -> u64,
) -> Vec<Option<usize>> {
    let mut reached_by = vec![None; instance.nodes.len()];
    let mut least = vec![u64::MAX; instance.nodes.len()];
    least[source] = 0;
    let mut queue = BinaryHeap::from([Reverse((0, source))]);
    while let Some(Reverse((sum, node))) = queue.pop() {
        if sum > least[node] {
            continue;
        }
        for &link in &leaving[node] {
            let (to, through) = (instance.links[link].to, sum.saturating_add(weight(link)));
            if through < least[to] {
                least[to] = through;
                reached_by[to] = Some(link);
                queue.push(Reverse((through, to)));
            }
        }
    }
    reached_by
}

/// The load of every link with these routes, in parts per billion.
pub(super) fn loads<'r>(instance: &Instance, routes: impl Iterator<Item = (usize, &'r Route)>) -> Vec<u64> {
    let mut loads = vec![0; instance.links.len()];
    for (flow, route) in routes {
        for hop in &route.hops {
            loads[hop.link] += load(instance, &instance.flows[flow], hop.link);
        }
    }
    loads
}
