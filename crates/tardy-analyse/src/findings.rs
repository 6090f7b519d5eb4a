//! The findings of one run, which a summary prints and `--json` writes. Each feature computes its findings in its own
//! file.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::run::Validity;

use crate::captures::{self, CapturedChannel};
use crate::causes::simultaneous::{self, Event};
use crate::causes::{self, Cause, Hint};
use crate::cost::{self, Cost};
use crate::episodes::{self, Unseen};
use crate::flows::{self, FlowPhase};
use crate::lab;
use crate::levels::{self, Levels};
use crate::loads::{self, LoadFindings};
use crate::noise::{self, NoisePhase};
use crate::phase_lock::{self, InStep};
use crate::phases::{self, PhaseFindings};
use crate::program::{self, ProgramChain, ProgramMark, ProgramThread};
use crate::published::{self, Placed, PublishedMatches, PublishedResult};
use crate::reactions::{self, Reaction};
use crate::rounds::{self, Rounds};
use crate::stationarity::{self, Stationarity};
use crate::tail::{self, Tail};
use crate::until::{self, Claim};
use crate::verdict::{self, Verdict};
use crate::wakes::{self, WakeRow};
use crate::wiggles::{self, Wiggles};

/// Inputs beyond the run itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options<'a> {
    /// The limit in ns; `None`: the limit of the run's plan, if it has one.
    pub limit_ns: Option<u64>,
    /// The published results that runs can be compared with.
    pub published: &'a [PublishedResult],
    /// How much of the tails beyond the run's duration is computed, which takes tens of milliseconds.
    pub tails: tail::Depth,
}

/// The findings of one run, a field for each feature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Whether its numbers may be used, and what invalidates them.
    pub validity: Validity,
    /// The reason why its latencies mean nothing although they were measured correctly; `None` if they are meaningful.
    pub meaningless_because: Option<&'static str>,
    /// The limit, in ns.
    pub limit_ns: Option<u64>,
    /// Its phases.
    pub phases: Vec<PhaseFindings>,
    /// Wake methods; empty if there is only one.
    pub wakes: Vec<WakeRow>,
    /// The latency at each level; `None` if no level was traced.
    pub levels: Option<Levels>,
    /// The causes of the worst wake-ups, if the kernel was traced for causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// The counter that changed most around the worst reading of each untraced series: a guess at the cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
    /// Moments at which several CPUs were late at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub simultaneous: Vec<Event>,
    /// Whether the slots of a time-aware switch held, for each phase; empty if none was tested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowPhase>,
    /// The periodic threads of a user's program; empty if none was watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<ProgramThread>,
    /// The chains in which its threads wake one another; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ProgramChain>,
    /// The stretches that it marks; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<ProgramMark>,
    /// OS noise, for each phase that looked for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoisePhase>,
    /// From the edge to the answer, span by span; empty if no pin was answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<Reaction>,
    /// The channels of a logic analyser, beyond their rows; empty if there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CapturedChannel>,
    /// Pins that were driven high and low; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wiggles: Option<Wiggles>,
    /// Timers in step with the noise; empty if none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_step: Vec<InStep>,
    /// Repeated phases.
    pub rounds: Vec<Rounds>,
    /// The work of the loads.
    pub loads: Vec<LoadFindings>,
    /// The cost of tardy itself; `None` if it is unknown.
    pub cost: Option<Cost>,
    /// Whether each phase was stationary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stationarity: Vec<Stationarity>,
    /// What the run may not have met; `None` if its duration is unknown, or it measured no latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// The tail of each phase beyond the run's duration; empty if it was not requested, or if the numbers may not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<Tail>,
    /// The claim that ends phases when their data decide it; `None` if the plan has none, or if the numbers may not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Claim>,
    /// The verdict on the limit; `None` if there is no limit, nothing was recorded, or the run is invalid or means
    /// nothing.
    pub verdict: Option<Verdict>,
    /// The verdicts on the limit for the isolated CPUs and for the others; empty if all measured CPUs are of one kind. They then
    /// replace the verdict on all CPUs in every text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts_by_isolation: Vec<Verdict>,
    /// The verdict of a run that is invalid because a load weakened, and exceeded its limit nonetheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded_nonetheless: Option<Verdict>,
    /// The run compared with the published results that its recipe repeats; `None` if it repeats none.
    pub published: Option<PublishedMatches>,
    /// Its rank among all published results of its kind; `None` if there are none, or its numbers may not be used.
    pub placed: Option<Placed>,
}

/// The findings of `run`.
pub fn of(run: &Run, options: &Options<'_>) -> Findings {
    let limit = options.limit_ns.or(run.plan.limit_ns);
    let meaningless_because = lab::meaningless_because(run);
    let supports_verdict = run.validity.valid && meaningless_because.is_none();
    let noise = noise::of(run);
    let stationarity = stationarity::of(run);
    let tails = if supports_verdict { tail::of(run, &stationarity, options.tails) } else { Vec::new() };
    Findings {
        validity: run.validity.clone(),
        meaningless_because,
        limit_ns: limit,
        phases: phases::of(run),
        wakes: wakes::of(run),
        levels: levels::of(run),
        causes: causes::of(run),
        hints: causes::hints(run),
        simultaneous: simultaneous::of(run),
        flows: flows::of(run),
        program: program::of(run),
        chains: program::chains(run),
        marks: program::marks(run),
        in_step: phase_lock::of(run, &noise),
        wiggles: wiggles::of(run, &noise, options.published),
        noise,
        reactions: reactions::of(run),
        captures: captures::of(run),
        rounds: rounds::of(run),
        loads: loads::of(run),
        cost: cost::of(run),
        stationarity,
        unseen: episodes::unseen(run).filter(|_| supports_verdict),
        tails,
        until: until::of(run).filter(|_| supports_verdict),
        verdict: limit.filter(|_| supports_verdict).and_then(|limit_ns| verdict::of(run, limit_ns)),
        verdicts_by_isolation: limit
            .filter(|_| supports_verdict)
            .map_or_else(Vec::new, |limit_ns| verdict::by_isolation(run, limit_ns)),
        exceeded_nonetheless: limit.and_then(|limit_ns| verdict::exceeded_nonetheless(run, limit_ns)),
        published: published::of(run, options.published),
        placed: published::place(run, options.published),
    }
}
