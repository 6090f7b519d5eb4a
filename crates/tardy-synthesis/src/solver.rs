//! Places the flows of an instance: a greedy start in several orders, then a search that ejects flows.
//!
//! Frames never wait in a switch: each link forwards a frame as soon as it can, so its latency is the least that its route permits,
//! it has no jitter, and no two frames are in a queue at the same time. What remains to be chosen is the route and the offset.

mod best_effort;
mod greedy;
mod grid;
mod occupancy;
mod problem;
mod route;
mod search;

use crate::instance::Instance;
use crate::schedule::{Placement, Schedule};
use problem::Problem;

/// How much is tried.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The most rounds of the search; 0: only the greedy start.
    pub effort: u32,
    /// The seed of the search.
    pub seed: u64,
    /// The number of threads. The result does not depend on it.
    pub threads: usize,
    /// Whether to stop after the present round. The result then depends on when this becomes true.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

/// The result of [`solve`].
#[derive(Clone, Debug)]
pub struct Solved {
    /// The schedule.
    pub schedule: Schedule,
    /// The rounds of the search that were done: the same effort and seed give the same schedule again.
    pub effort: u32,
    /// Whether the search was stopped before its last round.
    pub stopped: bool,
}

/// Places as many flows as it can.
pub fn solve(instance: &Instance, options: &Options<'_>) -> Solved {
    solve_keeping(instance, &[], options)
}

/// Places as many flows as it can, and leaves some of them where they are: `kept` has the place of each flow that keeps it, and is
/// empty if none does. Those must not meet.
pub fn solve_keeping(instance: &Instance, kept: &[Option<Placement>], options: &Options<'_>) -> Solved {
    solve_all(instance, instance.flows.len(), kept, options)
}

/// The same, with time for best effort: a share of each port's cycle in millionths, at the ports that `known` uses.
pub fn solve_leaving(
    instance: &Instance,
    kept: &[Option<Placement>],
    options: &Options<'_>,
    (known, ppm): (&Schedule, u32),
) -> Solved {
    let extended = best_effort::with_stretches(instance, known, ppm);
    let mut solved = solve_all(&extended, instance.flows.len(), kept, options);
    solved.schedule.placements.truncate(instance.flows.len());
    solved
}

/// Places the flows, of which all from `own` on stand for best effort.
fn solve_all(instance: &Instance, own: usize, kept: &[Option<Placement>], options: &Options<'_>) -> Solved {
    let problem = Problem::of(instance, own, kept);
    let mut best = greedy::plan(&problem, options);
    let mut effort = 0;
    let mut stopped = false;
    if best.placed() == problem.placeable() || options.effort == 0 {
        return Solved { schedule: problem.schedule(&best), effort, stopped };
    }
    let step_ns = problem.grid.step_ns;
    let problem = problem.with_alternatives();
    if problem.grid.step_ns != step_ns {
        // The offsets of the plan are in other steps.
        best = greedy::plan(&problem, options);
    }
    let mut search = search::Search::of(&problem, best, options);
    while search.best().placed() < problem.placeable() && effort < options.effort && !stopped {
        search.round(effort);
        effort += 1;
        stopped = (options.is_over)() && search.best().placed() < problem.placeable();
    }
    Solved { schedule: problem.schedule(&search.into_best()), effort, stopped }
}
