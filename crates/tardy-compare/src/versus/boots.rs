//! The units of a comparison: boots, or runs where all of them are of one boot.

use serde::Serialize;
use tardy_analyse::name;
use tardy_record::Run;
use tardy_record::lab::LabClock;
use tardy_record::run::State;
use tardy_record::units::counted;

/// What is counted as one observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A boot: its runs are combined, since the runs of one boot are more alike than those of several.
    Boot,
    /// A run: all runs of both groups are of the same boot, so the comparison is about that boot.
    Run,
}

impl Unit {
    /// The noun.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Run => "run",
        }
    }

    /// The noun in the plural.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Boot => "boots",
            Self::Run => "runs",
        }
    }

    /// The noun with its number: `1 boot`, `5 boots`.
    pub fn counted(self, count: usize) -> String {
        format!("{count} {}", if count == 1 { self.noun() } else { self.plural() })
    }
}

/// The runs of one observation, in the order in which they were given.
#[derive(Clone, Debug)]
pub(crate) struct Observation<'r> {
    pub(crate) runs: Vec<&'r Run>,
}

/// The usable runs of both groups as observations.
#[derive(Debug)]
pub(crate) struct Observations<'r> {
    pub(crate) unit: Unit,
    /// Those of the base and of the candidate.
    pub(crate) groups: [Vec<Observation<'r>>; 2],
    /// The runs that were left out, each with the reason.
    pub(crate) left_out: Vec<String>,
    /// What is assumed about the runs.
    pub(crate) assumptions: Vec<String>,
}

/// The boot of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Boot {
    /// The kernel's boot id, and the machine.
    Of(String, String),
    /// A boot in the lab whose clock counts instructions: one identity gives the same bytes, however often it is booted.
    Identity(String),
    /// The file does not state it.
    Unknown,
}

fn boot_of(run: &Run) -> Boot {
    match &run.lab {
        Some(lab) if matches!(lab.clock, LabClock::Instructions { .. }) => {
            Boot::Identity(lab.identity.clone())
        }
        // Every run of the lab is a boot.
        Some(_) => Boot::Of(run.origin.host.clone(), run.origin.id.clone()),
        None if run.origin.boot_id.is_empty() || run.origin.boot_id == tardy_record::run::REDACTED => {
            Boot::Unknown
        }
        None => Boot::Of(run.origin.host.clone(), run.origin.boot_id.clone()),
    }
}

/// Sorts the runs of both groups into observations. Invalid runs and runs in progress are left out.
///
/// # Errors
/// A message for the user if a run is in both groups, or if a group has no run that can be used.
pub(crate) fn observations<'r>(groups: [&[&'r Run]; 2]) -> Result<Observations<'r>, String> {
    refuse_same_runs(groups)?;
    let mut left_out = Vec::new();
    let usable = groups.map(|runs| distinct_usable(runs, &mut left_out));
    for (runs, role) in usable.iter().zip(["base", "candidate"]) {
        if runs.is_empty() {
            let reasons = if left_out.is_empty() { "it has none".to_owned() } else { left_out.join("; ") };
            return Err(format!("the {role} has no run that can be used: {reasons}"));
        }
    }
    let all: Vec<Boot> = usable.iter().flatten().map(|run| boot_of(run)).collect();
    let unknown = all.iter().filter(|boot| **boot == Boot::Unknown).count();
    let is_one_boot = unknown == 0 && all.iter().all(|boot| *boot == all[0]);
    let unit = if is_one_boot && all.len() > 2 { Unit::Run } else { Unit::Boot };
    let assumptions = (unknown > 0).then(|| {
        let runs = counted(unknown as u64, "run", "runs");
        format!("the boot of {runs} is unknown: each is counted as a boot, which is wrong if they share one")
    });
    Ok(Observations {
        unit,
        groups: usable.map(|runs| combined(&runs, unit)),
        left_out,
        assumptions: assumptions.into_iter().collect(),
    })
}

/// Refuses groups that have a run, or a boot of the lab with the same bytes, in common.
fn refuse_same_runs([base, candidate]: [&[&Run]; 2]) -> Result<(), String> {
    for run in base {
        let is_same = |other: &&&Run| match (boot_of(run), boot_of(other)) {
            (Boot::Identity(one), Boot::Identity(two)) => one == two,
            _ => !run.origin.id.is_empty() && is_same_run(run, other),
        };
        if let Some(other) = candidate.iter().find(is_same) {
            let (one, two) = (name::of_run(run), name::of_run(other));
            return Err(match run.lab {
                Some(_) => format!(
                    "{one} and {two} are the same boot of the lab: kernel, recipe and seed are equal, so are the bytes; give \
                     each run another --seed"
                ),
                None => format!("{one} is in both groups; a run can be in one"),
            });
        }
    }
    Ok(())
}

/// Whether both files have the same run, under whatever name.
fn is_same_run(one: &Run, other: &Run) -> bool {
    one.origin.id == other.origin.id
        && one.origin.started_at == other.origin.started_at
        && one.origin.host == other.origin.host
}

/// The runs that can be used, each once; the others are added to `left_out` with the reason.
fn distinct_usable<'r>(runs: &[&'r Run], left_out: &mut Vec<String>) -> Vec<&'r Run> {
    let mut usable: Vec<&Run> = Vec::new();
    for run in runs {
        let name = name::of_run(run);
        let is_known = |known: &&Run| match (boot_of(known), boot_of(run)) {
            (Boot::Identity(one), Boot::Identity(two)) => one == two,
            _ => !run.origin.id.is_empty() && is_same_run(known, run),
        };
        match run.validity.spoilt_by.first() {
            _ if run.progress.state == State::Running => left_out.push(format!("{name} is in progress")),
            Some(reason) => left_out.push(format!("{name} is invalid: {reason}")),
            None if !run.validity.valid => left_out.push(format!("{name} is invalid")),
            // Without it, no statistic would be known of all observations.
            None if run.own_series().all(|series| series.tally.recorded == 0) => {
                left_out.push(format!("{name} recorded nothing"));
            }
            None if usable.iter().any(is_known) => {
                left_out.push(format!("{name} repeats another run to the byte"));
            }
            None => usable.push(run),
        }
    }
    usable
}

fn combined<'r>(runs: &[&'r Run], unit: Unit) -> Vec<Observation<'r>> {
    let mut observations: Vec<(Boot, Observation<'r>)> = Vec::new();
    for run in runs {
        let boot = boot_of(run);
        let is_combined = unit == Unit::Boot && boot != Boot::Unknown;
        match observations.iter_mut().find(|(known, _)| is_combined && *known == boot) {
            Some((_, observation)) => observation.runs.push(run),
            None => observations.push((boot, Observation { runs: vec![run] })),
        }
    }
    observations.into_iter().map(|(_, observation)| observation).collect()
}
