//! The plan of a run: a resolved recipe, with CPU numbers and durations in ns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu_list;
use crate::foreign::ForeignPlan;
use crate::load_spec::LoadSpec;
use crate::pins::ReactionPlan;
use crate::placement::Placement;
use crate::program::ProgramPlan;
use crate::stop_rule::StopRule;
use crate::wiggle::WigglePlan;

pub use crate::noise::{NoisePlan, NoiseThread};
pub use crate::round_trip::{Protocol, RoundTripPlan};
pub use crate::scheduling::{ClockId, Policy, Wake};
pub use crate::timer::{CausesPlan, KernelPlan, ThreadPlan, TimerPlan};
pub use crate::tracer::{Tracer, TracerPlan};
pub use switch::{FlowLimits, FlowPlan, Misclassified, SwitchPlan};

mod switch;

/// The most cycles, and the longest time in ns, that a plan may result in: what a run file may have.
const PLANNED_MAX: u64 = 1 << 60;

/// The sum of two planned numbers.
pub(crate) fn added(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(PLANNED_MAX)
}

/// A recipe, resolved for one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The recipe's name; `none` if there was only a command line.
    pub recipe: String,
    /// The recipe's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Ids of the published results that it reproduces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<String>,
    /// Factor for every duration and loop count.
    pub scale: f64,
    /// The seed of dither and loads.
    pub seed: u64,
    /// The user's limit: a later wake-up is too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// The rule by which data end a phase before its planned span; absent if every phase has a planned length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StopRule>,
    /// Limits whose exceedances are counted exactly, in ascending order; the user's limit is one of them.
    pub thresholds_ns: Vec<u64>,
    /// The CPU of the supervisor, which watches, starts loads and writes checkpoints.
    pub housekeeping_cpu: u32,
    /// Where the run's threads are placed, on a machine with isolated CPUs or cpusets.
    #[serde(default, skip_serializing_if = "Placement::is_default")]
    pub placement: Placement,
    /// Room temperature in °C, as given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambient_c: Option<f64>,
    /// The other host that network loads send to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The least work of these parts of loads; a phase in which a part does less is invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_floors: Vec<LoadFloor>,
    /// The phases, in order.
    pub phases: Vec<PhasePlan>,
}

impl Plan {
    /// The CPUs that any phase measures, in ascending order.
    pub fn measured_cpus(&self) -> Vec<u32> {
        cpu_list::distinct(self.phases.iter().flat_map(|phase| phase.probe.cpus()))
    }
}

/// The least work of a load's part, averaged over a phase, for the phase to be valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFloor {
    /// The part's name, such as `scheduler`; see [`crate::load::LoadPart::name`].
    pub part: String,
    /// Work per second, in the part's own unit; above 0.
    pub per_second: f64,
}

/// One phase: a probe under a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhasePlan {
    /// The difference from the other phases, such as `nanosleep, round 3`.
    pub label: String,
    /// The repetition of the same phase, from 1.
    pub round: u32,
    /// The loads; empty for none.
    pub loads: Vec<LoadSpec>,
    /// The time at the start that is measured but not counted.
    pub warmup_ns: u64,
    /// The condition on which it ends.
    pub span: Span,
    /// The probe.
    pub probe: ProbePlan,
}

impl PhasePlan {
    /// Its planned duration, without the warm-up.
    pub fn planned_ns(&self) -> u64 {
        match self.span {
            Span::DurationNs(ns) => ns,
            Span::Loops(loops) => loops.saturating_mul(self.probe.longest_interval_ns()).min(PLANNED_MAX),
            Span::Unknown => 0,
        }
    }

    /// The number of cycles in `span` at this interval.
    pub fn cycles_of(span: Span, interval_ns: u64) -> u64 {
        match span {
            Span::Loops(loops) => loops,
            Span::DurationNs(ns) => (ns / interval_ns.max(1)).max(1),
            Span::Unknown => 0,
        }
    }

    fn cycles_of_timer(&self, timer: &TimerPlan) -> Option<u64> {
        let by_clock = matches!(self.span, Span::DurationNs(_)) && !timer.wake.has_schedule();
        let of = |thread: &ThreadPlan| Self::cycles_of(self.span, thread.interval_ns);
        (!by_clock).then(|| timer.threads.iter().map(of).fold(0, added))
    }

    /// The number of cycles of all CPUs; `None` if the phase ends at a time.
    pub fn cycles_planned(&self) -> Option<u64> {
        let of = |interval_ns: u64| Self::cycles_of(self.span, interval_ns);
        match &self.probe {
            ProbePlan::Timer(timer) | ProbePlan::Kernel(KernelPlan { timer, .. }) => {
                self.cycles_of_timer(timer)
            }
            ProbePlan::Tracer(tracer) => {
                Some(of(tracer.period_ns).saturating_mul(tracer.cpus.len() as u64).min(PLANNED_MAX))
            }
            ProbePlan::Switch(switch) => {
                let cycles = |flow: &FlowPlan| Some(of(flow.period_ns?));
                switch.flows.iter().try_fold(0_u64, |sum, flow| Some(added(sum, cycles(flow)?)))
            }
            ProbePlan::Wiggle(wiggle) => wiggle.timer().and_then(|timer| self.cycles_of_timer(timer)),
            ProbePlan::RoundTrip(trip) => Some(of(trip.interval_ns)),
            ProbePlan::Noise(_) | ProbePlan::Reaction(_) | ProbePlan::Program(_) | ProbePlan::Foreign(_) => {
                None
            }
        }
    }
}

/// When a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// After this long, in ns.
    DurationNs(u64),
    /// After this many cycles of each thread.
    Loops(u64),
    /// Unknown: another tool's file may not state it.
    Unknown,
}

/// A probe and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbePlan {
    /// Timers: the latency of a thread's wake-ups.
    Timer(TimerPlan),
    /// Timers together with the kernel's events, which show where the latency arises between the timer interrupt and
    /// the thread.
    Kernel(KernelPlan),
    /// One of the kernel's latency tracers.
    Tracer(TracerPlan),
    /// Frames through a time-aware switch.
    Switch(SwitchPlan),
    /// A loop that detects its own interruptions.
    Noise(NoisePlan),
    /// A thread that answers edges on a pin.
    Reaction(ReactionPlan),
    /// A thread that toggles a pin.
    Wiggle(WigglePlan),
    /// Round trips over a network.
    RoundTrip(RoundTripPlan),
    /// The user's program.
    Program(ProgramPlan),
    /// Another tool, whose file was imported or which tardy runs.
    Foreign(ForeignPlan),
}

impl ProbePlan {
    /// The plan of the timer threads; `None` if it has none.
    pub fn timer(&self) -> Option<&TimerPlan> {
        match self {
            Self::Timer(timer) | Self::Kernel(KernelPlan { timer, .. }) => Some(timer),
            Self::Wiggle(wiggle) => wiggle.timer(),
            _ => None,
        }
    }

    /// Whether its threads wait for CLOCK_REALTIME, or for a clock that is derived from it.
    pub fn uses_realtime(&self) -> bool {
        match self {
            Self::Switch(_) | Self::RoundTrip(_) => true,
            _ => self.timer().is_some_and(|timer| timer.clock != ClockId::Monotonic),
        }
    }

    /// The kind of the probe.
    pub fn kind(&self) -> ProbeKind {
        match self {
            Self::Timer(_) => ProbeKind::Timer,
            Self::Kernel(_) => ProbeKind::Kernel,
            Self::Tracer(plan) => ProbeKind::Tracer(plan.tracer),
            Self::Switch(_) => ProbeKind::Switch,
            Self::Noise(_) => ProbeKind::Noise,
            Self::Reaction(_) => ProbeKind::Reaction,
            Self::Wiggle(_) => ProbeKind::Wiggle,
            Self::RoundTrip(_) => ProbeKind::RoundTrip,
            Self::Program(_) => ProbeKind::Program,
            Self::Foreign(_) => ProbeKind::Foreign,
        }
    }

    /// Its name on the command line and in recipes.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The CPUs that it measures, in its own order.
    pub fn cpus(&self) -> Vec<u32> {
        match self {
            Self::Timer(timer) | Self::Kernel(KernelPlan { timer, .. }) => {
                timer.threads.iter().map(|thread| thread.cpu).collect()
            }
            Self::Tracer(tracer) => tracer.cpus.clone(),
            Self::Switch(_) | Self::Foreign(_) | Self::Program(_) => Vec::new(),
            Self::Noise(noise) => noise.threads.iter().map(|thread| thread.cpu).collect(),
            Self::Reaction(reaction) => vec![reaction.cpu],
            Self::RoundTrip(trip) => vec![trip.cpu],
            Self::Wiggle(wiggle) => wiggle.cpu().into_iter().collect(),
        }
    }

    /// The longest time between two readings, in ns; 0 if they come at irregular times.
    pub fn longest_interval_ns(&self) -> u64 {
        match self {
            Self::Timer(timer) | Self::Kernel(KernelPlan { timer, .. }) => timer.longest_interval_ns(),
            Self::Wiggle(wiggle) => wiggle.timer().map_or(0, TimerPlan::longest_interval_ns),
            Self::Tracer(tracer) => tracer.period_ns,
            Self::RoundTrip(trip) => trip.interval_ns,
            Self::Switch(switch) => switch.flows.iter().filter_map(|flow| flow.period_ns).max().unwrap_or(0),
            Self::Noise(_) | Self::Reaction(_) | Self::Program(_) => 0,
            Self::Foreign(plan) => plan.period_ns.get().unwrap_or(0),
        }
    }

    /// The plan of another tool; `None` if tardy itself measures.
    pub fn foreign(&self) -> Option<&ForeignPlan> {
        match self {
            Self::Foreign(plan) => Some(plan),
            _ => None,
        }
    }
}

/// A probe without its settings. Serialises to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeKind {
    /// [`ProbePlan::Timer`].
    Timer,
    /// [`ProbePlan::Kernel`].
    Kernel,
    /// [`ProbePlan::Tracer`], and which tracer.
    Tracer(Tracer),
    /// [`ProbePlan::Switch`].
    Switch,
    /// [`ProbePlan::Noise`].
    Noise,
    /// [`ProbePlan::Reaction`].
    Reaction,
    /// [`ProbePlan::Wiggle`].
    Wiggle,
    /// [`ProbePlan::RoundTrip`].
    RoundTrip,
    /// [`ProbePlan::Program`].
    Program,
    /// [`ProbePlan::Foreign`].
    Foreign,
}

impl ProbeKind {
    /// Its name on the command line, in recipes and in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Kernel => "kernel",
            Self::Tracer(tracer) => tracer.name(),
            Self::Switch => "switch",
            Self::Noise => "noise",
            Self::Reaction => "gpio-reaction",
            Self::Wiggle => "gpio-wiggle",
            Self::RoundTrip => "round-trip",
            Self::Program => "program",
            Self::Foreign => "foreign",
        }
    }
}

impl Serialize for ProbeKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
