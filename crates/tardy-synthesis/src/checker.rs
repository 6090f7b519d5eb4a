//! Checks a schedule and its gates frame by frame, and proofs that no schedule exists.
//!
//! It shares the types of the instance with the solver, and nothing else: it lists every frame of a hyperperiod on every link, and
//! uses none of the solver's arithmetic.

mod fault;
mod gates;
mod links;
mod proof;
mod routes;

pub use fault::Fault;
pub use proof::proves;

use crate::instance::Instance;
use crate::schedule::{PortGates, Schedule};

/// The most faults that are listed.
const FAULTS_MAX: usize = 20;

/// The faults of a schedule; empty if it is right. `entries_max` is the most entries that a port may have.
pub fn check(
    instance: &Instance,
    schedule: &Schedule,
    ports: &[PortGates],
    entries_max: Option<usize>,
) -> Vec<Fault> {
    if schedule.placements.len() != instance.flows.len() {
        return vec![Fault::Placements {
            flows: instance.flows.len(),
            placements: schedule.placements.len(),
        }];
    }
    let mut faults = Vec::new();
    for (flow, placement) in schedule.iter() {
        faults.extend(routes::check(instance, flow, placement));
    }
    // Frames on links that do not exist, or without a way there, have no times that could be compared.
    if faults.is_empty() {
        let frames = links::frames(instance, schedule);
        faults.extend(links::check(instance, &frames));
        faults.extend(gates::check(instance, &frames, ports, entries_max));
    }
    faults.truncate(FAULTS_MAX);
    faults
}
