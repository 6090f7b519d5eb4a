//! The answer to an instance: a schedule that was checked, or a proof that was checked, or the best that was found.

use crate::certificate;
use crate::checker::{self, Fault};
use crate::gates;
use crate::instance::Instance;
use crate::keep::Kept;
use crate::proof::Proof;
use crate::schedule::{PortGates, Schedule};
use crate::solver::{self, Options};

/// Whether an instance can be scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All flows are placed.
    Scheduled,
    /// There is no schedule.
    Infeasible(Proof),
    /// Some flows are left out, or a port has too many entries, and no proof was found that this must be so.
    Undecided,
}

/// The answer to an instance.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether it can be scheduled.
    pub verdict: Verdict,
    /// The best schedule that was found.
    pub schedule: Schedule,
    /// Its gate control lists.
    pub ports: Vec<PortGates>,
    /// The rounds of the search that were done.
    pub effort: u32,
    /// Whether the search was stopped before its last round.
    pub stopped: bool,
}

/// A fault in what was computed: a mistake in this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The schedule is wrong.
    Schedule(Vec<Fault>),
    /// The proof does not prove it.
    Proof(Proof),
}

impl Mistake {
    /// The mistake as a message for the user. The result is not shown.
    pub fn describe(&self, instance: &Instance) -> String {
        let what = match self {
            Self::Schedule(faults) => {
                let faults: Vec<String> = faults.iter().map(|fault| fault.describe(instance)).collect();
                format!("the schedule that was found does not pass the check: {}", faults.join("; "))
            }
            Self::Proof(proof) => {
                format!("the proof that was found does not pass the check: {}", proof.describe(instance))
            }
        };
        format!("{what}. This is a mistake in tardy; report it with the input files")
    }
}

/// Schedules an instance, and checks the answer.
///
/// # Errors
///
/// The answer does not pass the check.
pub fn find(
    instance: &Instance,
    options: &Options<'_>,
    entries_max: Option<usize>,
) -> Result<Answer, Mistake> {
    find_keeping(instance, None, options, entries_max)
}

/// The same, with flows that stay where an old schedule has them.
///
/// # Errors
///
/// As [`find`]; or a flow that was to keep its place was moved.
pub fn find_keeping(
    instance: &Instance,
    kept: Option<&Kept>,
    options: &Options<'_>,
    entries_max: Option<usize>,
) -> Result<Answer, Mistake> {
    let all = instance.flows.len();
    let places = kept.map_or(&[][..], |kept| &kept.placements);
    let solve = |options: &Options<'_>| solver::solve_keeping(instance, places, options);
    let mut solved = solve(&Options { effort: 0, ..*options });
    let mut proof = None;
    if solved.schedule.placed() < all {
        proof = certificate::find(instance);
        // A search would end with a part of the flows in any case.
        if proof.is_none() {
            solved = solve(options);
        }
    }
    let ports = lists(instance, &solved.schedule, kept, entries_max);
    if let Some(proof) = proof.as_ref().filter(|proof| !checker::proves(instance, proof)) {
        return Err(Mistake::Proof(proof.clone()));
    }
    let too_long = |port: &PortGates| entries_max.is_some_and(|most| port.entries_needed() > most);
    let has_too_long = ports.iter().any(too_long);
    let mut faults =
        checker::check(instance, &solved.schedule, &ports, entries_max.filter(|_| !has_too_long));
    faults.extend(checker::moved(&solved.schedule, places));
    if !faults.is_empty() {
        return Err(Mistake::Schedule(faults));
    }
    let verdict = match proof {
        Some(proof) => Verdict::Infeasible(proof),
        None if solved.schedule.placed() == all && !has_too_long => Verdict::Scheduled,
        None => Verdict::Undecided,
    };
    Ok(Answer { verdict, schedule: solved.schedule, ports, effort: solved.effort, stopped: solved.stopped })
}

/// The gate control lists; those of the old schedule for ports whose frames did not change, if they pass the check.
fn lists(
    instance: &Instance,
    schedule: &Schedule,
    kept: Option<&Kept>,
    entries_max: Option<usize>,
) -> Vec<PortGates> {
    let computed = gates::of(instance, schedule, entries_max);
    let with_old = kept.map(|kept| kept.lists(schedule, &computed));
    let is_right = |ports: &Vec<PortGates>| checker::check(instance, schedule, ports, entries_max).is_empty();
    with_old.filter(|ports| *ports != computed && is_right(ports)).unwrap_or(computed)
}
