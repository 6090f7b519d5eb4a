//! What will be done: a recipe as resolved, with CPUs counted and durations in ns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::foreign::ForeignPlan;
use crate::pins::ReactionPlan;
use crate::wiggle::WigglePlan;

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

    /// Which probe it is.
    pub fn kind(&self) -> ProbeKind {
        match self {
            Self::Timer(_) => ProbeKind::Timer,
            Self::Kernel(_) => ProbeKind::Kernel,
            Self::Tracer(plan) => ProbeKind::Tracer(plan.tracer),
            Self::Switch(_) => ProbeKind::Switch,
            Self::Noise(_) => ProbeKind::Noise,
            Self::Reaction(_) => ProbeKind::Reaction,
            Self::Wiggle(_) => ProbeKind::Wiggle,
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
            Self::Foreign => "foreign",
        }
    }
}

impl Serialize for ProbeKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A noise probe: on each CPU a loop that reads a counter and does nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoisePlan {
    /// Shorter gaps do not count, in ns.
    pub threshold_ns: u64,
    /// Scheduling policy asked for.
    pub policy: Policy,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent: left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
    /// The threads.
    pub threads: Vec<NoiseThread>,
}

/// One thread of a noise probe. It is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseThread {
    /// Its CPU.
    pub cpu: u32,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
}

/// Flows of frames through a time-aware switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchPlan {
    /// Whether the ports have their schedules; without, every gate is open all the time.
    pub shaped: bool,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

impl SwitchPlan {
    /// What a phase with the schedules, or without, is called.
    pub fn label(shaped: bool) -> &'static str {
        if shaped { "shaped" } else { "unshaped" }
    }
}

/// A flow of frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPlan {
    /// Its name in the switch file.
    pub name: String,
    /// Length of a frame without preamble, checksum and gap, in bytes.
    pub frame_bytes: u32,
    /// From one frame to the next, in ns; absent for a talker that sends as fast as it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
}

/// A timer probe with the kernel's events recorded beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPlan {
    /// The threads, and how they wait.
    pub timer: TimerPlan,
    /// Room for events that wait to be read, in KiB for each CPU.
    pub buffer_kib: u32,
    /// Why no timerlat tracer stands beside the events as a check; absent where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_because: Option<String>,
}

/// One of the kernel's latency tracers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracerPlan {
    /// Which.
    pub tracer: Tracer,
    /// The CPUs that it measures.
    pub cpus: Vec<u32>,
    /// From one reading to the next, in ns: timerlat's period, osnoise's period, hwlat's window.
    pub period_ns: u64,
    /// How much of each period is watched, in ns: osnoise's runtime, hwlat's width; absent for timerlat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ns: Option<u64>,
    /// Real-time priority of timerlat's user thread; absent for the others, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Shorter gaps are not noise, in ns; absent for timerlat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
}

/// A latency tracer of the kernel (Documentation/trace/).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tracer {
    /// A timer of the kernel's own, its thread, and a user thread (timerlat-tracer.rst).
    Timerlat,
    /// What takes the CPU from a thread that does not stop (osnoise-tracer.rst).
    Osnoise,
    /// What takes the CPU from the kernel itself, with interrupts off (hwlat_detector.rst).
    Hwlat,
}

impl Tracer {
    /// Its name in the kernel, on the command line and in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timerlat => "timerlat",
            Self::Osnoise => "osnoise",
            Self::Hwlat => "hwlat",
        }
    }

    /// The kernel configuration option that brings it.
    pub fn config_option(self) -> &'static str {
        match self {
            Self::Timerlat => "CONFIG_TIMERLAT_TRACER",
            Self::Osnoise => "CONFIG_OSNOISE_TRACER",
            Self::Hwlat => "CONFIG_HWLAT_TRACER",
        }
    }
}

/// A timer probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerPlan {
    /// How the threads wait.
    pub wake: Wake,
    /// The clock of their deadlines.
    pub clock: ClockId,
    /// Each deadline is put off by up to this much, at random but seeded.
    pub dither_ns: u64,
    /// Scheduling policy asked for.
    pub policy: Policy,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent: left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
    /// Whether the kernel is traced for the causes of late wake-ups, and how; absent: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<CausesPlan>,
    /// The threads.
    pub threads: Vec<ThreadPlan>,
}

impl TimerPlan {
    /// The longest time between two deadlines of any thread, in ns.
    pub fn longest_interval_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0)
    }
}

/// Tracing for the causes of late wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CausesPlan {
    /// Wake-ups up to this late are not looked into; 0: whichever are the worst so far.
    pub over_ns: u64,
    /// Room for events, in KiB for each CPU: what happened last is in it.
    pub buffer_kib: u32,
}

/// One measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPlan {
    /// The CPU that it is for.
    pub cpu: u32,
    /// Whether it is pinned there; a deadline task is not, outside an exclusive cpuset.
    pub pinned: bool,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// From the common start to its first deadline.
    pub offset_ns: u64,
}

/// How a thread waits for its next deadline (DESIGN.md, "Wake methods").
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// clock_nanosleep(2) with TIMER_ABSTIME.
    #[default]
    ClockNanosleep,
    /// clock_nanosleep(2) relative: each sleep starts from where the last wake-up ended.
    Nanosleep,
    /// A POSIX timer and its signal (timer_settime(2), sigwaitinfo(2)).
    TimerSettime,
    /// The process's interval timer and SIGALRM (setitimer(2)).
    Setitimer,
    /// timerfd_create(2) and read(2).
    Timerfd,
    /// Spinning on the clock.
    Busy,
    /// SCHED_DEADLINE's own period, ended by sched_yield(2).
    Deadline,
}

impl Wake {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::ClockNanosleep,
        Self::Nanosleep,
        Self::TimerSettime,
        Self::Setitimer,
        Self::Timerfd,
        Self::Busy,
        Self::Deadline,
    ];

    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClockNanosleep => "clock_nanosleep",
            Self::Nanosleep => "nanosleep",
            Self::TimerSettime => "timer_settime",
            Self::Setitimer => "setitimer",
            Self::Timerfd => "timerfd",
            Self::Busy => "busy",
            Self::Deadline => "deadline",
        }
    }

    /// Whether the method has a schedule that goes on while the thread is late, so that deadlines can be missed.
    ///
    /// A relative sleep has none: a late wake-up puts off all that follow, and no deadline passes unseen.
    pub fn has_schedule(self) -> bool {
        self != Self::Nanosleep
    }
}

/// The clock of the deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockId {
    /// CLOCK_MONOTONIC.
    #[default]
    Monotonic,
    /// CLOCK_REALTIME.
    Realtime,
    /// CLOCK_TAI.
    Tai,
}

impl ClockId {
    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Realtime => "realtime",
            Self::Tai => "tai",
        }
    }
}

/// Scheduling policy (sched(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// SCHED_FIFO.
    #[default]
    Fifo,
    /// SCHED_RR.
    Rr,
    /// SCHED_OTHER.
    Other,
    /// SCHED_DEADLINE.
    Deadline,
}

impl Policy {
    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Rr => "rr",
            Self::Other => "other",
            Self::Deadline => "deadline",
        }
    }

    /// Whether the policy takes a priority from 1 to 99.
    pub fn has_priority(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr)
    }
}
