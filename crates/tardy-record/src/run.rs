//! The run: one measurement, with everything needed to judge it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::event::Event;
use crate::facts::Facts;
use crate::lab::Lab;
use crate::load::LoadResult;
use crate::plan::{self, PhasePlan, Plan};
use crate::reason::Reason;
use crate::samples::SamplesFile;
use crate::self_cost::ThreadCost;
use crate::series::Series;
use crate::stop_rule::RuledEnd;
use crate::switch::{SwitchPlace, SwitchRecord};

/// The version of the file format that this tardy writes.
pub const SCHEMA_VERSION: u32 = 1;

/// The text in place of one that was removed because it identifies a machine, a user or a project.
pub const REDACTED: &str = "redacted";

/// One measurement.
///
/// Times such as `…_at_ns` and `start_ns` count from the start of the run, on the monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of the format.
    pub schema_version: u32,
    /// The identity of the run: the only part in which two runs of the lab may differ.
    pub origin: Origin,
    /// CLOCK_MONOTONIC at its start, in ns: the time from which all of its times count. Absent in files of versions that did not store it, and
    /// if it was imported or simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_monotonic_ns: Option<u64>,
    /// How far the run got.
    pub progress: Progress,
    /// Whether its numbers can be used, and the reasons if not.
    pub validity: Validity,
    /// The recipe as resolved.
    pub plan: Plan,
    /// Facts about the machine.
    pub facts: Facts,
    /// The emulated machine that it ran on; absent for a real machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<Lab>,
    /// The time-aware switch that it tested; absent if it tested none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchRecord>,
    /// The phases that actually ran.
    pub phases: Vec<Phase>,
    /// The readings.
    pub series: Vec<Series>,
    /// The file of individual samples; absent if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesFile>,
    /// The work of the loads.
    pub loads: Vec<LoadResult>,
    /// Readings of the watchers.
    pub environment: Environment,
    /// The cost of tardy itself.
    pub self_cost: Vec<ThreadCost>,
    /// Events other than readings.
    pub events: Vec<Event>,
    /// The fields whose texts were changed (tardy-redact); empty for a run that was not redacted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<String>,
}

/// The identity of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Identifies the run, and its map in /dev/shm while it runs.
    pub id: String,
    /// The name that the user gave to the run; absent for a run without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The machine's name.
    pub host: String,
    /// The boot id of the kernel.
    pub boot_id: String,
    /// When it started, in RFC 3339, UTC.
    pub started_at: String,
    /// The command line that started it.
    pub command: Vec<String>,
    /// The tardy that was started: version, commit, whether the tree was modified, and target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// Its place in an interleaved comparison; absent if it is not part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

/// The place of a run in a comparison that measures its sides in turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The side that it belongs to, such as the name of its recipe or its kernel.
    pub side: String,
    /// Its round, from 1. Every round measures each side once.
    pub round: u32,
    /// The number of rounds.
    pub rounds: u32,
    /// Its place among all runs of the comparison, from 1.
    pub place: u32,
    /// The seed of the order within the rounds.
    pub order_seed: u64,
}

/// How far a run got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Whether and how it ended.
    pub state: State,
    /// Cycles counted so far in all series, including missed ones.
    pub cycles: u64,
    /// Cycles planned in all series; absent if the phases end at a time.
    pub cycles_planned: Option<u64>,
    /// Measured time of all phases so far, without warm-ups.
    pub measured_ns: u64,
    /// Measured time planned.
    pub planned_ns: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has not ended, or its end was not recorded.
    #[default]
    Running,
    /// As planned.
    Complete,
    /// A user, a signal or the end of a probe stopped it; everything up to then is included.
    Interrupted,
    /// It was killed. Its data up to the last recovered reading are included; the rest is lost.
    CutShort,
}

/// Whether a run is valid, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// Whether the run is valid.
    pub valid: bool,
    /// The reasons why it is invalid; empty for a valid run.
    pub spoilt_by: Vec<Reason>,
    /// Conditions that leave it valid but limit the conclusions.
    pub limits: Vec<String>,
}

/// A phase as it actually ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// The label from the plan.
    pub label: String,
    /// When its counted part started, in ns from the start of the run.
    pub start_ns: u64,
    /// When it ended; absent while it runs.
    pub end_ns: Option<u64>,
    /// What the plan's rule decided; absent without a rule, and while the phase runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<RuledEnd>,
    /// Requests that were refused, such as a real-time policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The problems that make its numbers invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoilt_by: Vec<Reason>,
}

impl Run {
    /// A run at its start: only the plan and the facts are known.
    pub fn begun(origin: Origin, plan: Plan, facts: Facts) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            origin,
            start_monotonic_ns: None,
            progress: Progress {
                state: State::Running,
                planned_ns: plan.phases.iter().map(PhasePlan::planned_ns).fold(0, plan::added),
                cycles_planned: plan
                    .phases
                    .iter()
                    .try_fold(0_u64, |sum, phase| Some(plan::added(sum, phase.cycles_planned()?))),
                ..Progress::default()
            },
            validity: Validity::default(),
            plan,
            facts,
            lab: None,
            switch: None,
            phases: Vec::new(),
            series: Vec::new(),
            samples: None,
            loads: Vec::new(),
            environment: Environment::default(),
            self_cost: Vec::new(),
            events: Vec::new(),
            redacted: Vec::new(),
        }
    }

    /// The series without those of lower levels that accompany another series.
    pub fn own_series(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| !series.stands_beside())
    }

    /// Whether the run was imported from another tool's file.
    pub fn is_imported(&self) -> bool {
        self.plan
            .phases
            .iter()
            .any(|phase| phase.probe.foreign().is_some_and(|foreign| foreign.run.is_empty()))
    }

    /// The number of samples recorded by timer threads, which are those that a samples file holds; at most
    /// `u64::MAX`.
    pub fn recorded_samples(&self) -> u64 {
        let of_threads = self.series.iter().filter(|series| series.timer().is_some());
        of_threads.fold(0, |sum, series| sum.saturating_add(series.tally.recorded))
    }

    /// One sentence about the measured kernel, or that no kernel was measured.
    pub fn headline(&self) -> String {
        match &self.switch {
            Some(switch) if switch.place == SwitchPlace::Simulator => {
                "No kernel was measured: a simulator computed what the switch would do".to_owned()
            }
            _ => self.facts.headline(),
        }
    }

    /// Recomputes the progress of the run.
    pub fn refresh_progress(&mut self) {
        let own = self.own_series().filter(|series| !series.is_beside_in_file());
        self.progress.cycles = own.filter_map(|series| series.tally.attempted.get()).sum();
        let counted = |index: usize| {
            let of_phase = self.series.iter().filter(|series| series.phase == index);
            of_phase.map(|series| series.counted_ns).max().unwrap_or(0)
        };
        self.progress.measured_ns = (0..self.phases.len()).map(counted).sum();
    }
}
