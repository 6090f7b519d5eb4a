//! What will be done: a recipe as resolved, with CPUs counted and durations in ns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::foreign::ForeignPlan;
use crate::pins::ReactionPlan;
use crate::wiggle::WigglePlan;

pub use crate::noise::{NoisePlan, NoiseThread};
pub use crate::scheduling::{ClockId, Policy, Wake};
pub use crate::timer::{CausesPlan, KernelPlan, ThreadPlan, TimerPlan};
pub use crate::tracer::{Tracer, TracerPlan};
pub use switch::{FlowPlan, SwitchPlan};

mod switch;

/// A recipe as resolved for one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The recipe's name; `none` when the command line alone said what to do.
    pub recipe: String,
    /// What the recipe says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Ids of the published results that it repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<String>,
    /// Factor on every duration and loop count.
    pub scale: f64,
    /// Seeds dither and loads.
    pub seed: u64,
    /// What the person needs: a wake-up later than this is too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Limits whose exceedances are counted exactly, in ascending order; the limit is one of them.
    pub thresholds_ns: Vec<u64>,
    /// The CPU on which tardy watches, loads, checkpoints and talks.
    pub housekeeping_cpu: u32,
    /// Room temperature in °C, as the person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambient_c: Option<f64>,
    /// The other host that network loads send to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// How much each of these parts of loads must do; a phase in which one does less is invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_floors: Vec<LoadFloor>,
    /// What is done, in order.
    pub phases: Vec<PhasePlan>,
}

impl Plan {
    /// The CPUs that any phase measures, in ascending order.
    pub fn measured_cpus(&self) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.phases.iter().flat_map(|phase| phase.probe.cpus()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

/// What a load's part must do at least, on average over a phase that it runs in, for the phase to count.
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
    /// What tells it from the other phases, such as `nanosleep, round 3`.
    pub label: String,
    /// Which repetition of the same phase it is, from 1.
    pub round: u32,
    /// Loads that run meanwhile, as the person wrote them; empty for none.
    pub loads: Vec<String>,
    /// Measured but not counted, at the beginning.
    pub warmup_ns: u64,
    /// When it ends.
    pub span: Span,
    /// The probe.
    pub probe: ProbePlan,
}

impl PhasePlan {
    /// How long it takes if all goes as planned, warm-up not counted.
    pub fn planned_ns(&self) -> u64 {
        match self.span {
            Span::DurationNs(ns) => ns,
            Span::Loops(loops) => loops.saturating_mul(self.probe.longest_interval_ns()),
            Span::Unknown => 0,
        }
    }

    /// How many cycles a schedule of this interval has in `span`.
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
        (!by_clock).then(|| timer.threads.iter().map(of).sum())
    }

    /// How many cycles it makes, all CPUs; absent where only the clock decides.
    pub fn cycles_planned(&self) -> Option<u64> {
        let of = |interval_ns: u64| Self::cycles_of(self.span, interval_ns);
        match &self.probe {
            ProbePlan::Timer(timer) | ProbePlan::Kernel(KernelPlan { timer, .. }) => {
                self.cycles_of_timer(timer)
            }
            ProbePlan::Tracer(tracer) => Some(of(tracer.period_ns).saturating_mul(tracer.cpus.len() as u64)),
            ProbePlan::Switch(switch) => switch.flows.iter().map(|flow| Some(of(flow.period_ns?))).sum(),
            ProbePlan::Wiggle(wiggle) => wiggle.timer().and_then(|timer| self.cycles_of_timer(timer)),
            ProbePlan::Noise(_) | ProbePlan::Reaction(_) | ProbePlan::Foreign(_) => None,
        }
    }
}

/// When a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// After this long, in ns.
    DurationNs(u64),
    /// After so many cycles of each thread.
    Loops(u64),
    /// Nobody says: another tool's file may be silent about it.
    Unknown,
}

/// A probe and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbePlan {
    /// Timers: how late a thread wakes.
    Timer(TimerPlan),
    /// The same, with the kernel's own events beside it: where on the way from the timer's interrupt to the thread the
    /// lateness arises.
    Kernel(KernelPlan),
    /// One of the kernel's own latency tracers.
    Tracer(TracerPlan),
    /// Frames through a time-aware switch.
    Switch(SwitchPlan),
    /// A loop that notices whenever it stood still.
    Noise(NoisePlan),
    /// A thread that answers edges on a pin.
    Reaction(ReactionPlan),
    /// A thread that makes a pin high and low in turn.
    Wiggle(WigglePlan),
    /// Another tool, whose file was imported.
    Foreign(ForeignPlan),
}

impl ProbePlan {
    /// The timer threads, where it has any.
    pub fn timer(&self) -> Option<&TimerPlan> {
        match self {
            Self::Timer(timer) | Self::Kernel(KernelPlan { timer, .. }) => Some(timer),
            Self::Wiggle(wiggle) => wiggle.timer(),
            Self::Tracer(_) | Self::Switch(_) | Self::Noise(_) | Self::Reaction(_) | Self::Foreign(_) => None,
        }
    }

    /// What it is called on the command line and in recipes.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Timer(_) => "timer",
            Self::Kernel(_) => "kernel",
            Self::Tracer(plan) => plan.tracer.name(),
            Self::Switch(_) => "switch",
            Self::Noise(_) => "noise",
            Self::Reaction(_) => "gpio-reaction",
            Self::Wiggle(_) => "gpio-wiggle",
            Self::Foreign(_) => "foreign",
        }
    }

    /// The CPUs that it measures, in its own order.
    pub fn cpus(&self) -> Vec<u32> {
        match self {
            Self::Timer(timer) | Self::Kernel(KernelPlan { timer, .. }) => {
                timer.threads.iter().map(|thread| thread.cpu).collect()
            }
            Self::Tracer(tracer) => tracer.cpus.clone(),
            Self::Switch(_) | Self::Foreign(_) => Vec::new(),
            Self::Noise(noise) => noise.threads.iter().map(|thread| thread.cpu).collect(),
            Self::Reaction(reaction) => vec![reaction.cpu],
            Self::Wiggle(wiggle) => wiggle.cpu().into_iter().collect(),
        }
    }

    /// The longest time between two of its readings, in ns; 0 where they come as they come.
    pub fn longest_interval_ns(&self) -> u64 {
        match self {
            Self::Timer(timer) | Self::Kernel(KernelPlan { timer, .. }) => timer.longest_interval_ns(),
            Self::Wiggle(wiggle) => wiggle.timer().map_or(0, TimerPlan::longest_interval_ns),
            Self::Tracer(tracer) => tracer.period_ns,
            Self::Switch(switch) => switch.flows.iter().filter_map(|flow| flow.period_ns).max().unwrap_or(0),
            Self::Noise(_) | Self::Reaction(_) => 0,
            Self::Foreign(plan) => plan.period_ns.get().unwrap_or(0),
        }
    }

    /// The other tool's plan, where another tool measured.
    pub fn foreign(&self) -> Option<&ForeignPlan> {
        match self {
            Self::Foreign(plan) => Some(plan),
            _ => None,
        }
    }
}
