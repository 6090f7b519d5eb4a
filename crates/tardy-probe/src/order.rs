//! What the supervisor and the probe say to each other: one line of JSON at a time, over the probe's standard input and
//! output, before and after the measurement and never during it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tardy_record::pins::{Line, ReactionPlan};
use tardy_record::plan::{NoisePlan, Policy, Span, TimerPlan};
use tardy_record::wiggle::Through;

/// Blocks of a toggling loop: its toggles, then its holes.
const TOGGLE_BLOCKS: usize = 2;

/// What the probe is told first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The map to count in.
    pub map: PathBuf,
    /// The map's block for the first of the threads; the others follow.
    pub first_block: usize,
    /// The supervisor's process id: the probe dies with it.
    pub supervisor_pid: u32,
    /// What to measure.
    pub work: Work,
    /// The pin that each cycle makes high or low, if it is one that wiggles.
    #[serde(default)]
    pub pin: Option<DrivenPin>,
    /// Not counted, at the beginning.
    pub warmup_ns: u64,
    /// When to end.
    pub span: Span,
    /// Thresholds to count, in ascending order.
    pub thresholds_ns: Vec<u64>,
    /// The file that stops the kernel's trace when `0` is written to it, if the kernel is traced for causes.
    pub stop_trace: Option<PathBuf>,
    /// Seeds the dither.
    pub seed: u64,
    /// Invent the measurement from this seed instead, without waiting (`--fake`).
    pub fake: Option<u64>,
}

/// A pin that a probe drives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DrivenPin {
    /// Which.
    pub line: Line,
    /// How its level is written.
    pub through: Through,
}

/// What a probe measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// How late threads wake.
    Timer(TimerPlan),
    /// When loops stand still.
    Noise(NoisePlan),
    /// How a thread answers edges on a pin.
    Reaction(ReactionPlan),
    /// How fast a loop makes the pin high and low, and when it stands still.
    Toggle(NoisePlan),
}

impl Order {
    /// From when it counts and until when, in times of the clock that `start_ns` is of.
    pub(crate) fn counted_between(&self, start_ns: u64) -> (u64, u64) {
        let counted_from_ns = start_ns + self.warmup_ns;
        match self.span {
            Span::DurationNs(ns) => (counted_from_ns, counted_from_ns.saturating_add(ns)),
            Span::Loops(_) | Span::Unknown => (counted_from_ns, u64::MAX),
        }
    }

    /// How many it counts at the most.
    pub(crate) fn loops(&self) -> u64 {
        match self.span {
            Span::Loops(loops) => loops,
            Span::DurationNs(_) | Span::Unknown => u64::MAX,
        }
    }

    /// How many threads the probe is. What is made up takes no stimulus.
    pub(crate) fn thread_count(&self) -> usize {
        match &self.work {
            Work::Reaction(reaction) if self.fake.is_none() => 1 + usize::from(reaction.driven().is_some()),
            work => work.measuring_threads(),
        }
    }
}

impl Work {
    /// How many threads measure.
    pub fn measuring_threads(&self) -> usize {
        match self {
            Self::Timer(timer) => timer.threads.len(),
            Self::Noise(noise) => noise.threads.len(),
            Self::Reaction(_) | Self::Toggle(_) => 1,
        }
    }

    /// How many blocks of the map it counts in: one for each thread, but for reactions, where each span has one and the
    /// answer that is read back another, and for toggles, where their holes have one too.
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

    /// Longest exit latency of an idle state, in us, if it holds CPUs out of deeper ones.
    pub fn dma_latency_us(&self) -> Option<u32> {
        match self {
            Self::Timer(timer) => timer.dma_latency_us,
            Self::Noise(noise) | Self::Toggle(noise) => noise.dma_latency_us,
            Self::Reaction(reaction) => reaction.dma_latency_us,
        }
    }
}

/// What the supervisor says once every probe is ready.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Go {
    /// The common start on the monotonic clock.
    pub start_ns: u64,
}

/// What the probe answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// All threads stand ready.
    Ready {
        /// How each of them will run.
        threads: Vec<Granted>,
        /// The kernel's ids of them.
        tids: Vec<u32>,
        /// What was asked for and refused, in words.
        refused: Vec<String>,
    },
    /// All threads have ended.
    Done,
    /// It cannot be done.
    Failed {
        /// What, where and what to do next.
        reason: String,
    },
}

/// How a thread runs, as the kernel granted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Policy in force.
    pub policy: Policy,
    /// Real-time priority in force, 0 where the policy has none.
    pub priority: u32,
    /// Whether it is pinned to its CPU.
    pub pinned: bool,
}
