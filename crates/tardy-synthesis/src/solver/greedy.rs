//! The greedy start: flows in some order, each at its first free offset.

use std::cmp::Reverse;

use super::Options;
use super::occupancy::{Occupancy, Scratch};
use super::problem::{Place, Plan, Problem};
use crate::random::Random;

/// The number of orders in which the flows are tried; those after the first four are random.
const ORDERS: u32 = 8;

/// The plan that places most flows, of several orders. The first one that places all is taken.
pub(super) fn plan(problem: &Problem<'_>, options: &Options<'_>) -> Plan {
    let mut occupancy = Occupancy::of(&problem.grid);
    let mut best = in_order(problem, &order(problem, 0, options.seed), &mut occupancy);
    for number in 1..ORDERS {
        if best.placed() == problem.placeable() || (options.is_over)() {
            break;
        }
        occupancy.clear();
        let other = in_order(problem, &order(problem, number, options.seed), &mut occupancy);
        if other.placed() > best.placed() {
            best = other;
        }
    }
    best
}

/// An order of the flows: those first that are hardest to place, by several measures of that.
fn order(problem: &Problem<'_>, number: u32, seed: u64) -> Vec<usize> {
    let mut flows: Vec<usize> = (0..problem.flows()).collect();
    let period = |flow: usize| problem.grid.periods[problem.grid.class_of[flow]];
    let hops = |flow: usize| problem.routes(flow).next().map_or(0, |route| route.hops.len());
    let length = |flow: usize| {
        problem
            .routes(flow)
            .next()
            .map_or(0, |route| route.hops.iter().map(|hop| hop.length).max().unwrap_or(0))
    };
    match number {
        0 => flows.sort_by_key(|&flow| (period(flow), Reverse(hops(flow)), Reverse(length(flow)))),
        1 => flows.sort_by_key(|&flow| (period(flow), Reverse(length(flow)), Reverse(hops(flow)))),
        2 => flows.sort_by_key(|&flow| {
            Reverse(u64::from(length(flow)) * hops(flow) as u64 * 1_000_000 / u64::from(period(flow)))
        }),
        3 => flows.sort_by_key(|&flow| (Reverse(length(flow)), period(flow), Reverse(hops(flow)))),
        _ => {
            Random::of(seed, u64::from(number)).shuffle(&mut flows);
            flows.sort_by_key(|&flow| period(flow));
        }
    }
    flows
}

fn in_order(problem: &Problem<'_>, order: &[usize], occupancy: &mut Occupancy<'_>) -> Plan {
    let mut plan = Plan { places: vec![None; problem.flows()] };
    let mut scratch = Scratch::default();
    for (flow, place) in problem.kept_places() {
        occupancy.occupy(problem.route(flow, place.route), problem.grid.class_of[flow], place.offset);
        plan.places[flow] = Some(place);
    }
    for &flow in order.iter().filter(|flow| !problem.is_kept(**flow)) {
        let class = problem.grid.class_of[flow];
        for (number, route) in problem.routes(flow).enumerate() {
            let free = occupancy.first_free(route, class, (0, u32::MAX), &mut scratch);
            if let Some(offset) = free {
                occupancy.occupy(route, class, offset);
                plan.places[flow] = Some(Place { route: number, offset });
                break;
            }
        }
    }
    plan
}
