//! The answer to an instance: a schedule that was checked, or a proof that was checked, or the best that was found.

use serde::Serialize;

use crate::certificate;
use crate::checker::{self, Fault};
use crate::gates;
use crate::instance::Instance;
use crate::keep::Kept;
use crate::proof::Proof;
use crate::schedule::{PortGates, Schedule};
use crate::solver::{self, Options, Solved};

/// A tenth of a per cent, in millionths.
const TENTH_PPM: u32 = 1000;

/// Whether an instance can be scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All flows are placed.
    Scheduled,
    /// All flows are placed, and leave less of a port's cycle for best effort than [`Instance::best_effort_ppm`].
    Starved(Starved),
    /// There is no schedule.
    Infeasible(Proof),
    /// Some flows are left out, or a port has too many entries, and no proof was found that this must be so.
    Undecided,
}

/// How little a schedule leaves for best effort. Shares are of the cycle of a port, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Starved {
    /// The link of the port that leaves least, by its index.
    pub link: usize,
    /// What it leaves.
    pub left_ppm: u32,
    /// What was to be left.
    pub requested_ppm: u32,
    /// A share with which there is a schedule.
    pub possible_ppm: u32,
}

impl Starved {
    /// The finding as a sentence for the user.
    pub fn describe(&self, instance: &Instance) -> String {
        let per_cent = |ppm: u32| f64::from(ppm) / 10_000.0;
        format!(
            "the flows fit only with less time for best effort: {} leaves {:.1} % of its cycle in stretches for a full frame, and \
             --best-effort is {} %. --best-effort {}% would do",
            instance.link_name(self.link),
            per_cent(self.left_ppm),
            per_cent(self.requested_ppm),
            per_cent(self.possible_ppm)
        )
    }
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
    let mut ports = lists(instance, &solved.schedule, kept, entries_max);
    let mut starved = None;
    if solved.schedule.placed() == all
        && let Some((link, left_ppm)) = least_left(instance, &ports)
        && left_ppm < instance.best_effort_ppm
    {
        let leaving = Leaving { instance, kept, options, entries_max, known: &solved.schedule };
        match leaving.with(instance.best_effort_ppm, &[0, options.effort]) {
            Some((other, of_other)) => (solved, ports) = (other, of_other),
            None => {
                let (requested_ppm, possible_ppm) = (instance.best_effort_ppm, leaving.most(left_ppm));
                starved = Some(Starved { link, left_ppm, requested_ppm, possible_ppm });
            }
        }
    }
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
    let verdict = match (proof, starved) {
        (Some(proof), _) => Verdict::Infeasible(proof),
        (None, _) if has_too_long => Verdict::Undecided,
        (None, Some(starved)) => Verdict::Starved(starved),
        (None, None) if solved.schedule.placed() == all => Verdict::Scheduled,
        (None, None) => Verdict::Undecided,
    };
    if verdict == Verdict::Scheduled {
        let faults = checker::starving(instance, &solved.schedule, &ports);
        if !faults.is_empty() {
            return Err(Mistake::Schedule(faults));
        }
    }
    Ok(Answer { verdict, schedule: solved.schedule, ports, effort: solved.effort, stopped: solved.stopped })
}

/// The port that leaves the least share of its cycle for best effort, by its link, and that share in millionths.
fn least_left(instance: &Instance, ports: &[PortGates]) -> Option<(usize, u32)> {
    let left = |port: &PortGates| {
        let frame_ns = instance.links[port.link].wire_ns(instance.best_effort_bytes);
        Some((port.link, port.best_effort_ppm(frame_ns)?))
    };
    ports.iter().filter_map(left).min_by_key(|(_, ppm)| *ppm)
}

/// Looks for schedules that leave time for best effort.
struct Leaving<'a> {
    instance: &'a Instance,
    kept: Option<&'a Kept>,
    options: &'a Options<'a>,
    entries_max: Option<usize>,
    /// A schedule with all flows.
    known: &'a Schedule,
}

impl Leaving<'_> {
    /// A schedule that leaves this share in millionths, with its lists. The efforts are tried in turn.
    fn with(&self, ppm: u32, efforts: &[u32]) -> Option<(Solved, Vec<PortGates>)> {
        let places = self.kept.map_or(&[][..], |kept| &kept.placements);
        let instance = &Instance { best_effort_ppm: ppm, ..self.instance.clone() };
        efforts.iter().find_map(|effort| {
            let options = Options { effort: *effort, ..*self.options };
            let solved = solver::solve_leaving(instance, places, &options, (self.known, ppm));
            let ports = lists(instance, &solved.schedule, self.kept, self.entries_max);
            let is_right = solved.schedule.placed() == instance.flows.len()
                && least_left(instance, &ports).is_none_or(|(_, left_ppm)| left_ppm >= ppm);
            is_right.then_some((solved, ports))
        })
    }

    /// The largest share below the requested one that is found without a search, in millionths and whole tenths of a per cent; that of
    /// the known schedule is `known_ppm`.
    fn most(&self, known_ppm: u32) -> u32 {
        let (mut least, mut above) =
            (known_ppm / TENTH_PPM, self.instance.best_effort_ppm.div_ceil(TENTH_PPM));
        while above - least > 1 {
            let middle = least.midpoint(above);
            match self.with(middle * TENTH_PPM, &[0]) {
                Some(_) => least = middle,
                None => above = middle,
            }
        }
        least * TENTH_PPM
    }
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
