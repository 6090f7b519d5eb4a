//! The messages between the supervisor and the probe: one line of JSON each, over the probe's standard input and
//! output, before and after the measurement and never during it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tardy_record::pins::{Line, ReactionPlan};
use tardy_record::placement::Placement;
use tardy_record::plan::{NoisePlan, Policy, Span, TimerPlan};
use tardy_record::wiggle::Through;

/// Blocks of a toggling loop: its toggles, then its holes.
const TOGGLE_BLOCKS: usize = 2;

/// The first message to the probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The map to count in.
    pub map: PathBuf,
    /// The threads of the work that this process runs, by their numbers, which are those of their blocks in the map.
    pub threads: Vec<usize>,
    /// The CPUs of threads that are not pinned.
    #[serde(default)]
    pub placement: Placement,
    /// The supervisor's process id: the probe dies with it.
    pub supervisor_pid: u32,
    /// The measurement to make.
    pub work: Work,
    /// The pin that each cycle sets high or low, if the probe is a wiggle.
    #[serde(default)]
    pub pin: Option<DrivenPin>,
    /// The uncounted time at the beginning.
    pub warmup_ns: u64,
    /// The extent of the counted part.
    pub span: Span,
    /// Thresholds to count, in ascending order.
    pub thresholds_ns: Vec<u64>,
    /// The file that stops the kernel's trace when `0` is written to it, if causes are traced.
    pub stop_trace: Option<PathBuf>,
    /// Seed of the dither.
    pub seed: u64,
    /// Generate the measurement from this seed instead of waiting (`--fake`).
    pub fake: Option<u64>,
}

/// A pin that a probe drives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DrivenPin {
    /// The line.
    pub line: Line,
    /// How its level is written.
    pub through: Through,
}

/// A kind of measurement, with its plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// The latency of threads' wake-ups.
    Timer(TimerPlan),
    /// Interruptions of loops.
    Noise(NoisePlan),
    /// A thread's answers to edges on a pin.
    Reaction(ReactionPlan),
    /// The durations of a loop's toggles of a pin, and its interruptions.
    Toggle(NoisePlan),
}

impl Order {
    /// The counted time from start to end, on the clock of `start_ns`.
    pub(crate) fn counted_between(&self, start_ns: u64) -> (u64, u64) {
        let counted_from_ns = start_ns + self.warmup_ns;
        match self.span {
            Span::DurationNs(ns) => (counted_from_ns, counted_from_ns.saturating_add(ns)),
            Span::Loops(_) | Span::Unknown => (counted_from_ns, u64::MAX),
        }
    }

    /// The maximum number of counted cycles.
    pub(crate) fn loops(&self) -> u64 {
        match self.span {
            Span::Loops(loops) => loops,
            Span::DurationNs(_) | Span::Unknown => u64::MAX,
        }
    }
}

impl Work {
    /// The CPU of each thread, in the order of their numbers: those that measure, and that of a stimulus. A synthetic measurement has no
    /// stimulus thread.
    pub fn cpus(&self, is_synthetic: bool) -> Vec<u32> {
        match self {
            Self::Timer(timer) => timer.threads.iter().map(|thread| thread.cpu).collect(),
            Self::Noise(noise) | Self::Toggle(noise) => {
                noise.threads.iter().map(|thread| thread.cpu).collect()
            }
            Self::Reaction(reaction) => {
                let stimulus = reaction.driven().filter(|_| !is_synthetic).map(|(_, cpu)| cpu);
                std::iter::once(reaction.cpu).chain(stimulus).collect()
            }
        }
    }

    /// The number of threads that measure.
    pub fn measuring_threads(&self) -> usize {
        match self {
            Self::Timer(timer) => timer.threads.len(),
            Self::Noise(noise) => noise.threads.len(),
            Self::Reaction(_) | Self::Toggle(_) => 1,
        }
    }

    /// The number of blocks of the map that it counts in: one per thread. A reaction has one per span and another for
    /// the answer that is read back; a toggling loop has another for its holes.
    pub fn block_count(&self) -> usize {
        match self {
            Self::Reaction(reaction) => reaction.spans().len() + usize::from(reaction.echo().is_some()),
            Self::Toggle(_) => TOGGLE_BLOCKS,
            _ => self.measuring_threads(),
        }
    }

    /// Whether memory is locked.
    pub fn locks_memory(&self) -> bool {
        match self {
            Self::Timer(timer) => timer.memory_locked,
            Self::Noise(noise) | Self::Toggle(noise) => noise.memory_locked,
            Self::Reaction(reaction) => reaction.memory_locked,
        }
    }

    /// The longest exit latency of idle states that the probe permits, in us; `None` if it permits all.
    pub fn dma_latency_us(&self) -> Option<u32> {
        match self {
            Self::Timer(timer) => timer.dma_latency_us,
            Self::Noise(noise) | Self::Toggle(noise) => noise.dma_latency_us,
            Self::Reaction(reaction) => reaction.dma_latency_us,
        }
    }
}

/// The supervisor's message once every probe is ready.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Go {
    /// The common start on the monotonic clock.
    pub start_ns: u64,
}

/// A message of the probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// All threads are ready.
    Ready {
        /// The scheduling of each thread.
        threads: Vec<Granted>,
        /// The kernel's ids of the threads.
        tids: Vec<u32>,
        /// Requests that were refused, as messages for the user.
        refused: Vec<String>,
    },
    /// All threads have ended.
    Done,
    /// The order cannot be carried out.
    Failed {
        /// The error, its place and the remedy.
        reason: String,
    },
}

/// The scheduling that the kernel granted a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Policy in force.
    pub policy: Policy,
    /// Real-time priority in force, 0 if the policy has none.
    pub priority: u32,
    /// Whether it is pinned to its CPU.
    pub pinned: bool,
}
