//! The run: one measurement, with all that is needed to believe it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::event::Event;
use crate::facts::Facts;
use crate::lab::Lab;
use crate::load::LoadResult;
use crate::plan::{PhasePlan, Plan};
use crate::samples::SamplesFile;
use crate::self_cost::ThreadCost;
use crate::series::Series;
use crate::switch::{SwitchPlace, SwitchRecord};

/// The version of the file format that this tardy writes.
pub const SCHEMA_VERSION: u32 = 1;

/// One measurement.
///
/// Times named `…_at_ns`, `start_ns` and the like count from the start of the run, on the monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of the format.
    pub schema_version: u32,
    /// Whose run, and when: the only part that may differ between two runs of the lab.
    pub origin: Origin,
    /// How far it got.
    pub progress: Progress,
    /// Whether its numbers may be used, and what spoilt them.
    pub validity: Validity,
    /// The recipe as resolved.
    pub plan: Plan,
    /// What is known of the machine.
    pub facts: Facts,
    /// The emulated machine that it ran on; absent for a real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<Lab>,
    /// The time-aware switch that it tested; absent where it tested none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchRecord>,
    /// What really happened of the plan's phases.
    pub phases: Vec<Phase>,
    /// The readings.
    pub series: Vec<Series>,
    /// The file of single samples; absent if none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesFile>,
    /// What the loads achieved.
    pub loads: Vec<LoadResult>,
    /// The environment meanwhile.
    pub environment: Environment,
    /// What tardy itself cost.
    pub self_cost: Vec<ThreadCost>,
    /// What happened.
    pub events: Vec<Event>,
}

/// Whose run, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Names the run; also the name of its map in /dev/shm while it goes on.
    pub id: String,
    /// The machine's name.
    pub host: String,
    /// The kernel's id of this boot.
    pub boot_id: String,
    /// When it started, in RFC 3339, UTC.
    pub started_at: String,
    /// The command line that started it.
    pub command: Vec<String>,
}

/// How far a run got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// How it ended, if it has.
    pub state: State,
    /// Cycles counted so far, all series, missed ones included.
    pub cycles: u64,
    /// Cycles planned, all series; absent where only the clock decides.
    pub cycles_planned: Option<u64>,
    /// Measured time so far, all phases, warm-ups not counted.
    pub measured_ns: u64,
    /// Measured time planned.
    pub planned_ns: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has not, or nobody was left to say so.
    #[default]
    Running,
    /// As planned.
    Complete,
    /// A person, a signal or the death of a probe ended it, and everything up to then is here.
    Interrupted,
    /// It was killed; what is here was recovered, and the rest is lost.
    CutShort,
}

/// Whether a run is valid, and what spoilt it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// Whether nothing spoilt it.
    pub valid: bool,
    /// What spoilt it; empty for a valid run.
    pub spoilt_by: Vec<String>,
    /// What does not spoil it, but limits what may be concluded.
    pub limits: Vec<String>,
}

/// What really happened of a planned phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// The plan's label for it.
    pub label: String,
    /// When its counted part began, in ns from the start of the run.
    pub start_ns: u64,
    /// When it ended; absent while it goes on.
    pub end_ns: Option<u64>,
    /// What was asked for and refused, such as a real-time policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What went wrong in it, so that its numbers may not be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoilt_by: Vec<String>,
}

impl Run {
    /// A run that has just begun: what it is to be is known, and nothing else yet.
    pub fn begun(origin: Origin, plan: Plan, facts: Facts) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            origin,
            progress: Progress {
                state: State::Running,
                planned_ns: plan.phases.iter().map(PhasePlan::planned_ns).sum(),
                cycles_planned: plan.phases.iter().map(PhasePlan::cycles_planned).sum(),
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
        }
    }

    /// The series that are measurements of their own: all but those of lower levels, which stand beside them.
    pub fn own_series(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| !series.stands_beside())
    }

    /// Whether another tool's file was imported as it.
    pub fn is_imported(&self) -> bool {
        self.plan
            .phases
            .iter()
            .any(|phase| phase.probe.foreign().is_some_and(|foreign| foreign.run.is_empty()))
    }

    /// How many samples the run's timer threads recorded, which are those that a samples file holds; at most `u64::MAX`.
    pub fn recorded_samples(&self) -> u64 {
        let of_threads = self.series.iter().filter(|series| series.timer().is_some());
        of_threads.fold(0, |sum, series| sum.saturating_add(series.tally.recorded))
    }

    /// What it is a run of, in a sentence: the kernel, or that there was none.
    pub fn headline(&self) -> String {
        match &self.switch {
            Some(switch) if switch.place == SwitchPlace::Simulator => {
                "No kernel was measured: a simulator computed what the switch would do".to_owned()
            }
            _ => self.facts.headline(),
        }
    }

    /// Counts anew how far the run got.
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
