//! All that one run says: what a summary prints and `--json` gives.

use serde::Serialize;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::Wake;
use tardy_record::run::Validity;
use tardy_record::series::Quantity;
use tardy_record::{Run, Series};

use crate::captures::{self, CapturedChannel};
use crate::causes::simultaneous::{self, Event};
use crate::causes::{self, Cause, Hint};
use crate::cost::{self, Cost};
use crate::flows::{self, FlowPhase};
use crate::lab;
use crate::levels::{self, Levels};
use crate::loads::{self, LoadFindings};
use crate::name::Readings;
use crate::noise::{self, NoisePhase};
use crate::phase_lock::{self, InStep};
use crate::published::{self, BesidePublished, Placed, PublishedResult};
use crate::reactions::{self, Reaction};
use crate::rounds::{self, Rounds};
use crate::row::{self, Row};
use crate::verdict::{self, Verdict};
use crate::wakes::{self, WakeRow};
use crate::wiggles::{self, Wiggles};

/// What is asked beyond the run itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options<'a> {
    /// A wake-up later than this is too late; absent: the limit of the run's own plan, if it has one.
    pub limit_ns: Option<u64>,
    /// The published results that runs may be set beside.
    pub published: &'a [PublishedResult],
}

/// All that one run says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Whether its numbers may be used, and what spoilt them.
    pub validity: Validity,
    /// Why its latencies mean nothing although they were measured as they should be; absent where they do.
    pub meaningless_because: Option<&'static str>,
    /// The limit that was asked about.
    pub limit_ns: Option<u64>,
    /// Its phases.
    pub phases: Vec<PhaseFindings>,
    /// Wake methods side by side; empty where there is only one.
    pub wakes: Vec<WakeRow>,
    /// Where on the way to the thread it got late; absent where nothing was traced.
    pub levels: Option<Levels>,
    /// Why the worst wake-ups were late, where the kernel was traced for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// What stood out around the worst of each series that was not traced: a guess.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
    /// Moments at which several CPUs were late at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub simultaneous: Vec<Event>,
    /// Whether the slots of a time-aware switch held, for each phase; empty where none was tested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowPhase>,
    /// What took the CPUs, for each phase that looked for it; empty where none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoisePhase>,
    /// From the edge to the answer, span by span; empty where no pin was answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<Reaction>,
    /// What a logic analyser's channels did, beyond their rows; empty where there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CapturedChannel>,
    /// Pins that were wiggled as fast as they could be; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wiggles: Option<Wiggles>,
    /// Timers in step with what was found there; empty where none was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_step: Vec<InStep>,
    /// Repeated phases; empty where none was.
    pub rounds: Vec<Rounds>,
    /// What the loads achieved.
    pub loads: Vec<LoadFindings>,
    /// What tardy itself cost; absent where nothing is known of it.
    pub cost: Option<Cost>,
    /// What it says about the limit; absent where there is none, nothing was recorded, or the
    /// run is invalid or means nothing: such numbers support nothing.
    pub verdict: Option<Verdict>,
    /// It beside the published results that its recipe repeats; absent where it repeats none.
    pub published: Option<BesidePublished>,
    /// It among all published results of its kind; absent where there are none, or its numbers may not be used.
    pub placed: Option<Placed>,
}

/// What one phase came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseFindings {
    /// Index of the phase.
    pub phase: usize,
    /// Its label.
    pub label: String,
    /// What measured: `timer`, `kernel`, or one of the kernel's tracers.
    pub probe: &'static str,
    /// What its numbers are.
    pub quantity: Quantity,
    /// What is counted.
    pub readings: Readings,
    /// From one reading to the next, in ns: the longest of its threads'.
    pub period_ns: u64,
    /// How its threads waited; of no meaning for one of the kernel's tracers.
    pub wake: Wake,
    /// Loads meanwhile, as the person wrote them.
    pub loads: Vec<LoadSpec>,
    /// For how long it counted: the longest of its series; absent where none has counted yet.
    pub measured_ns: Option<u64>,
    /// A line for each series.
    pub rows: Vec<Row>,
    /// All of them together; absent where their bins do not fit each other, or they are of different things.
    pub all: Option<Row>,
    /// Indices of its series, but for those of lower levels that stand beside them.
    pub series: Vec<usize>,
}

/// All that `run` says.
pub fn of(run: &Run, options: &Options<'_>) -> Findings {
    let limit = options.limit_ns.or(run.plan.limit_ns);
    let meaningless_because = lab::meaningless_because(run);
    let supports_a_verdict = run.validity.valid && meaningless_because.is_none();
    let noise = noise::of(run);
    Findings {
        validity: run.validity.clone(),
        meaningless_because,
        limit_ns: limit,
        phases: (0..run.phases.len()).map(|phase| phase_findings(run, phase)).collect(),
        wakes: wakes::of(run),
        levels: levels::of(run),
        causes: causes::of(run),
        hints: causes::hints(run),
        simultaneous: simultaneous::of(run),
        flows: flows::of(run),
        in_step: phase_lock::of(run, &noise),
        wiggles: wiggles::of(run, &noise, options.published),
        noise,
        reactions: reactions::of(run),
        captures: captures::of(run),
        rounds: rounds::of(run),
        loads: loads::of(run),
        cost: cost::of(run),
        verdict: limit.filter(|_| supports_a_verdict).and_then(|limit_ns| verdict::of(run, limit_ns)),
        published: published::of(run, options.published),
        placed: published::place(run, options.published),
    }
}

fn phase_findings(run: &Run, index: usize) -> PhaseFindings {
    let phase = &run.phases[index];
    let plan = run.plan.phases.get(index);
    let of_its_own = |i: &usize| run.series[*i].phase == index && !run.series[*i].stands_beside();
    let indices: Vec<usize> = (0..run.series.len()).filter(of_its_own).collect();
    let series: Vec<&Series> = indices.iter().map(|i| &run.series[*i]).collect();
    // The widths and the periods of a signal have nothing in common.
    let is_apart = |one: &&Series| one.capture().is_some() && one.quantity == Quantity::Spacing;
    let pools = !series.is_empty() && !series.iter().any(is_apart);
    PhaseFindings {
        phase: index,
        label: phase.label.clone(),
        wake: plan.and_then(|plan| plan.probe.timer()).map_or(Wake::default(), |timer| timer.wake),
        probe: plan.map_or("timer", |plan| plan.probe.name()),
        quantity: series.first().map_or(Quantity::Latency, |one| one.quantity),
        readings: series.first().map_or(Readings::default(), |one| Readings::of(one)),
        period_ns: plan.map_or(0, |plan| plan.probe.longest_interval_ns()),
        loads: plan.map_or_else(Vec::new, |plan| plan.loads.clone()),
        measured_ns: series.iter().map(|one| one.counted_ns).max().filter(|ns| *ns > 0),
        rows: series.iter().map(|one| row::of_series(one)).collect(),
        all: pools.then(|| row::of_several("all", &series).ok()).flatten(),
        series: indices,
    }
}
