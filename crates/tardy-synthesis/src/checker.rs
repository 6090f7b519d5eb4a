//! Checks a schedule and its gates frame by frame, and proofs that no schedule exists.
//!
//! It shares the types of the instance with the solver, and nothing else: it lists every frame of a hyperperiod on every link, and
//! uses none of the solver's arithmetic.

mod fault;
mod gates;
mod links;
mod proof;
mod routes;

use links::LinkFrames;

pub use fault::Fault;
pub use proof::proves;

use crate::instance::Instance;
use crate::schedule::{Placement, PortGates, Schedule};

/// The most faults that are listed.
const FAULTS_MAX: usize = 20;

/// The flows that were to keep their place and have another one; `kept` has the place of each, and is empty if no flow keeps it.
pub fn moved(schedule: &Schedule, kept: &[Option<Placement>]) -> Vec<Fault> {
    let pairs = kept.iter().enumerate().filter_map(|(flow, place)| Some((flow, place.as_ref()?)));
    let is_moved = |(flow, place): &(usize, &Placement)| {
        schedule.placements.get(*flow).and_then(Option::as_ref) != Some(*place)
    };
    pairs.filter(is_moved).map(|(flow, _)| Fault::Moved { flow }).take(FAULTS_MAX).collect()
}

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
    let (mut faults, frames) = faults_of_frames(instance, schedule);
    faults.extend(frames.iter().flat_map(|frames| gates::check(instance, frames, ports, entries_max)));
    faults.truncate(FAULTS_MAX);
    faults
}

/// The ports that leave less of their cycle for best effort than [`Instance::best_effort_ppm`].
pub fn starving(instance: &Instance, schedule: &Schedule, ports: &[PortGates]) -> Vec<Fault> {
    ports.iter().filter_map(|port| gates::starving(instance, schedule, port)).take(FAULTS_MAX).collect()
}

/// The faults without those of the gates: the routes, and the frames on each link and in each queue.
pub fn check_frames(instance: &Instance, schedule: &Schedule) -> Vec<Fault> {
    let (mut faults, _) = faults_of_frames(instance, schedule);
    faults.truncate(FAULTS_MAX);
    faults
}

/// The faults without the gates, and the frames of each link if all routes are right.
fn faults_of_frames(instance: &Instance, schedule: &Schedule) -> (Vec<Fault>, Option<Vec<LinkFrames>>) {
    let mut faults = Vec::new();
    for (flow, placement) in schedule.iter() {
        faults.extend(routes::check(instance, flow, placement));
    }
    // Frames on links that do not exist, or without a way there, have no times that could be compared.
    if !faults.is_empty() {
        return (faults, None);
    }
    let frames = links::frames(instance, schedule);
    faults.extend(links::check(instance, &frames));
    (faults, Some(frames))
}
