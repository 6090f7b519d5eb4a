//! The search: a flow that has no place takes the one that displaces least, and the displaced flows look for another.
//!
//! It follows the ejection pool of Nagata and Bräysy (2009), with penalties in place of distances: a flow that could not be placed
//! becomes more expensive to displace. A fixed number of walkers search independently with random numbers of their own; after
//! each round all continue from the best plan. Threads only share the walkers, so their number changes nothing but the time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Options;
use super::occupancy::{Occupancy, Scratch};
use super::problem::{Place, Plan, Problem};
use crate::random::Random;

/// The number of walkers.
const WALKERS: usize = 8;
/// The number of displacements of each walker in a round.
const MOVES: u32 = 200;
/// The number of flows that are moved at random after each displacement.
const RELOCATIONS: u32 = 4;
/// The number of flows without a place that are tried again after that.
const RETRIES: usize = 3;
/// The penalty for displacing a flow that keeps its place, which no sum of others reaches: such a displacement is not made.
const KEPT: u32 = u32::MAX;

/// The state of the search between rounds.
pub(super) struct Search<'p> {
    problem: &'p Problem<'p>,
    seed: u64,
    threads: usize,
    best: Plan,
    walkers: Vec<Walker>,
}

/// What a walker keeps from round to round.
#[derive(Clone)]
struct Walker {
    plan: Plan,
    penalties: Vec<u32>,
}

impl<'p> Search<'p> {
    /// A search that starts from `plan`.
    pub(super) fn of(problem: &'p Problem<'p>, plan: Plan, options: &Options<'_>) -> Self {
        let penalty = |flow| if problem.is_kept(flow) { KEPT } else { 1 };
        let walker = Walker { plan: plan.clone(), penalties: (0..problem.flows()).map(penalty).collect() };
        let threads = options.threads.clamp(1, WALKERS);
        Self { problem, seed: options.seed, threads, best: plan, walkers: vec![walker; WALKERS] }
    }

    /// The best plan so far.
    pub(super) fn best(&self) -> &Plan {
        &self.best
    }

    /// The best plan.
    pub(super) fn into_best(self) -> Plan {
        self.best
    }

    /// Lets every walker make its moves. A walker that places all flows ends those with a higher number: the plan is that of
    /// the lowest of the best walkers, whatever the order in which threads run them.
    pub(super) fn round(&mut self, number: u32) {
        let (problem, seed) = (self.problem, self.seed);
        let next = AtomicUsize::new(0);
        let complete = AtomicUsize::new(WALKERS);
        let found: Mutex<Vec<(usize, Plan)>> = Mutex::new(Vec::new());
        let walkers: Vec<Mutex<&mut Walker>> = self.walkers.iter_mut().map(Mutex::new).collect();
        let work = || {
            let mut occupancy = Occupancy::of(&problem.grid);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(walker) = walkers.get(index) else { break };
                let mut walker = walker.lock().unwrap_or_else(PoisonError::into_inner);
                let stream = u64::from(number) * WALKERS as u64 + index as u64 + 1;
                occupancy.clear();
                let walk = Walk::of(problem, &walker.plan, &mut occupancy, Random::of(seed, stream));
                let is_late = || complete.load(Ordering::Relaxed) < index;
                let best = walk.run(&mut walker, &is_late);
                if best.placed() == problem.placeable() {
                    complete.fetch_min(index, Ordering::Relaxed);
                }
                found.lock().unwrap_or_else(PoisonError::into_inner).push((index, best));
            }
        };
        // WebAssembly in a browser has no further threads.
        match self.threads {
            1 => work(),
            threads => std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            }),
        }
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let complete = complete.into_inner();
        found.retain(|(index, _)| *index <= complete);
        found.sort_by_key(|(index, _)| *index);
        for (_, plan) in found {
            if plan.placed() > self.best.placed() {
                self.best = plan;
            }
        }
        // Half of the walkers continue from the best plan, the others from their own.
        for walker in self.walkers.iter_mut().step_by(2) {
            walker.plan = self.best.clone();
        }
    }
}

/// A frame on a link, as the search for conflicts needs it.
#[derive(Clone, Copy)]
struct Occupant {
    flow: u32,
    /// In steps, within the period.
    start: u32,
    length: u32,
}

/// One walker's moves in one round.
struct Walk<'w, 'p> {
    problem: &'p Problem<'p>,
    occupancy: &'w mut Occupancy<'p>,
    plan: Plan,
    occupants: Vec<Vec<Occupant>>,
    left_out: Vec<usize>,
    random: Random,
    scratch: Scratch,
    costs: Vec<i64>,
}

impl<'w, 'p> Walk<'w, 'p> {
    fn of(problem: &'p Problem<'p>, plan: &Plan, occupancy: &'w mut Occupancy<'p>, random: Random) -> Self {
        let mut walk = Self {
            problem,
            occupancy,
            plan: Plan { places: vec![None; problem.flows()] },
            occupants: vec![Vec::new(); problem.grid.ports],
            left_out: Vec::new(),
            random,
            scratch: Scratch::default(),
            costs: Vec::new(),
        };
        for (flow, place) in plan.places.iter().enumerate() {
            match place {
                Some(place) => walk.put(flow, *place),
                None if problem.routes(flow).next().is_some() => walk.left_out.push(flow),
                None => {}
            }
        }
        walk
    }

    /// Returns the best plan; the walker keeps the last one.
    fn run(mut self, walker: &mut Walker, is_late: &dyn Fn() -> bool) -> Plan {
        let mut best = self.plan.clone();
        let mut best_placed = best.placed();
        self.random.shuffle(&mut self.left_out);
        for _ in 0..MOVES {
            if is_late() {
                break;
            }
            let Some(flow) = self.left_out.pop() else { break };
            self.displace(flow, &mut walker.penalties);
            let placed = self.problem.placeable() - self.left_out.len();
            if placed > best_placed {
                best_placed = placed;
                best.clone_from(&self.plan);
            }
            if !self.left_out.is_empty() {
                self.relocate();
            }
        }
        walker.plan = self.plan;
        best
    }

    /// Places a flow, if need be in the place of others, which are placed again or left out.
    fn displace(&mut self, flow: usize, penalties: &mut [u32]) {
        if self.place(flow) {
            return;
        }
        penalties[flow] = penalties[flow].saturating_add(1).min(KEPT - 1);
        let Some(place) = self.cheapest(flow, penalties) else { return };
        let mut displaced = self.in_the_way(flow, place);
        if displaced.iter().any(|other| self.problem.is_kept(*other)) {
            self.left_out.insert(0, flow);
            return;
        }
        for &other in &displaced {
            self.take(other);
        }
        self.put(flow, place);
        self.random.shuffle(&mut displaced);
        displaced.sort_by_key(|other| penalties[*other]);
        for other in displaced {
            if !self.place(other) {
                self.left_out.push(other);
            }
        }
    }

    /// Places a flow at the first free offset of its routes; returns whether there is one.
    fn place(&mut self, flow: usize) -> bool {
        let class = self.problem.grid.class_of[flow];
        for (number, route) in self.problem.routes(flow).enumerate() {
            if let Some(offset) = self.occupancy.first_free(route, class, (0, u32::MAX), &mut self.scratch) {
                self.put(flow, Place { route: number, offset });
                return true;
            }
        }
        false
    }

    /// Moves some flows to other free offsets, so that the next displacement meets other conditions.
    fn relocate(&mut self) {
        for _ in 0..RELOCATIONS {
            let flow = self.random.below(self.plan.places.len() as u32) as usize;
            let Some(old) = self.plan.places[flow].filter(|_| !self.problem.is_kept(flow)) else { continue };
            let class = self.problem.grid.class_of[flow];
            self.take(flow);
            let route = self.problem.route(flow, old.route);
            let from = route.offset(self.random.below(route.count()));
            let free = self
                .occupancy
                .first_free(route, class, (from, u32::MAX), &mut self.scratch)
                .or_else(|| self.occupancy.first_free(route, class, (0, from), &mut self.scratch));
            self.put(flow, Place { route: old.route, offset: free.unwrap_or(old.offset) });
        }
        // What was moved may have freed the place of a flow that is left out.
        for _ in 0..RETRIES.min(self.left_out.len()) {
            let index = self.random.below(self.left_out.len() as u32) as usize;
            let flow = self.left_out.swap_remove(index);
            if !self.place(flow) {
                self.left_out.push(flow);
            }
        }
    }

    fn put(&mut self, flow: usize, place: Place) {
        let class = self.problem.grid.class_of[flow];
        let period = self.problem.grid.periods[class];
        let route = self.problem.route(flow, place.route);
        self.occupancy.occupy(route, class, place.offset);
        for hop in &route.hops {
            let start = (place.offset + hop.shift) % period;
            self.occupants[hop.port as usize].push(Occupant { flow: flow as u32, start, length: hop.length });
        }
        self.plan.places[flow] = Some(place);
    }

    fn take(&mut self, flow: usize) {
        let Some(place) = self.plan.places[flow].take() else { return };
        let route = self.problem.route(flow, place.route);
        self.occupancy.release(route, self.problem.grid.class_of[flow], place.offset);
        for hop in &route.hops {
            let occupants = &mut self.occupants[hop.port as usize];
            if let Some(index) = occupants.iter().position(|occupant| occupant.flow == flow as u32) {
                occupants.swap_remove(index);
            }
        }
    }

    /// The place whose occupants have the least sum of penalties. Of several, one at random.
    fn cheapest(&mut self, flow: usize, penalties: &[u32]) -> Option<Place> {
        let mut best: Option<(i64, Place)> = None;
        let problem = self.problem;
        for (number, route) in problem.routes(flow).enumerate() {
            self.add_up_costs(flow, number, penalties);
            let offsets = route.offsets_from(self.random.below(route.count()));
            let least = offsets.min_by_key(|offset| self.costs[*offset as usize]);
            if let Some(offset) = least {
                let cost = self.costs[offset as usize];
                if best.is_none_or(|(known, _)| cost < known) {
                    best = Some((cost, Place { route: number, offset }));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// Computes for each offset the sum of the penalties of the frames that it would meet; a flow counts once for each link.
    fn add_up_costs(&mut self, flow: usize, route: usize, penalties: &[u32]) {
        let grid = &self.problem.grid;
        let class = grid.class_of[flow];
        let period = grid.periods[class];
        self.costs.clear();
        self.costs.resize(period as usize + 1, 0);
        for hop in &self.problem.route(flow, route).hops {
            for other in &self.occupants[hop.port as usize] {
                let common = grid.common(class, grid.class_of[other.flow as usize]);
                let cost = i64::from(penalties[other.flow as usize]);
                let length = (hop.length + other.length - 1).min(common);
                // The offsets that meet are those from one frame's length before the other's start to its end.
                let before = u64::from(hop.length - 1) + u64::from(hop.shift);
                let first = (u64::from(other.start) + u64::from(common) * (before / u64::from(common) + 1)
                    - before)
                    % u64::from(common);
                for start in (first as u32..period).step_by(common as usize) {
                    let end = start + length;
                    self.costs[start as usize] += cost;
                    if end <= period {
                        self.costs[end as usize] -= cost;
                    } else {
                        self.costs[0] += cost;
                        self.costs[(end - period) as usize] -= cost;
                    }
                }
            }
        }
        let mut sum = 0;
        for cost in &mut self.costs {
            sum += *cost;
            *cost = sum;
        }
    }

    /// The flows that a flow would meet at a place.
    fn in_the_way(&self, flow: usize, place: Place) -> Vec<usize> {
        let grid = &self.problem.grid;
        let class = grid.class_of[flow];
        let mut met = Vec::new();
        for hop in &self.problem.route(flow, place.route).hops {
            for other in &self.occupants[hop.port as usize] {
                let common = grid.common(class, grid.class_of[other.flow as usize]);
                let own = (place.offset + hop.shift) % common;
                let apart = (own + common - other.start % common) % common;
                if apart < other.length || common - apart < hop.length {
                    met.push(other.flow as usize);
                }
            }
        }
        met.sort_unstable();
        met.dedup();
        met
    }
}
