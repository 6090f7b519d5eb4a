//! What another tool measured: which tool it was, and what its file does not say.
//!
//! An imported run is the same type as a measured one. What only a foreign file can be silent about stands here, each
//! silence as `unknown`: a reader must not take a period that nobody wrote down for a period of zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::knowable::Knowable;
use crate::level::Level;
use crate::scheduling::{Policy, Wake};

/// What stands for the loads of a run whose file does not say what ran meanwhile.
pub const LOADS_UNKNOWN: &str = "unknown";

/// A measurement that another tool made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignPlan {
    /// The format that the file is in, by the name that `tardy import --as` takes.
    pub format: String,
    /// The tool, such as `cyclictest`.
    pub tool: String,
    /// Its version, as its file says it.
    pub version: Knowable<String>,
    /// How it was called: from the file, or as the person said.
    pub command: Knowable<String>,
    /// What it measures, such as `from a timer's deadline to the thread that waited for it`.
    pub measures: String,
    /// What it does where a reading comes too late for the next, which decides what its quantiles are worth.
    pub late_periods: LatePeriods,
    /// How its thread waited for the timer; unknown where neither the file nor the tool says it, absent where nothing
    /// waited for a timer of the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<Knowable<Wake>>,
    /// From one reading to the next, in ns; of threads that differ, the shortest.
    pub period_ns: Knowable<u64>,
    /// How long it measured, in ns.
    pub duration_ns: Knowable<u64>,
    /// At which level it is to measure, where tardy runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The words that tardy runs it with; empty where its file was imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// By how much a co-kernel sets its timers early, as it says it: every latency is less by as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gravity: Option<String>,
}

impl ForeignPlan {
    /// Whether it is a co-kernel's own program: Xenomai's `latency` or EVL's `latmus`.
    pub fn is_co_kernels(&self) -> bool {
        matches!(self.format.as_str(), "xenomai" | "xenomai-plot" | "latmus-plot")
    }
}

/// What a tool does with the periods that passed while a reading was late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatePeriods {
    /// Skips them, and counts them nowhere: its quantiles flatter the kernel.
    Skipped,
    /// Skips them, and counts them without a reading.
    Counted,
    /// Makes up for each, so that each has a late reading of its own.
    MadeUp,
    /// Has no periods that could pass: its readings come one after the other.
    NoSchedule,
    /// Not known.
    #[default]
    Unknown,
}

impl LatePeriods {
    /// What a reader must know about it, as a sentence without a full stop; absent where there is nothing to warn of.
    pub fn warning(self, tool: &str) -> Option<String> {
        match self {
            Self::Skipped => Some(format!(
                "{tool} skips periods that pass during a late wake-up and counts them nowhere: missed periods are unknown, \
                 and quantiles look better than they are; the maximum does not"
            )),
            Self::Counted => Some(format!(
                "{tool} counts periods that pass during a late wake-up and has no reading for them: quantiles look better \
                 than they are; the maximum does not"
            )),
            Self::MadeUp | Self::NoSchedule => None,
            Self::Unknown => {
                Some(format!("what {tool} did with periods that passed during a late wake-up is unknown"))
            }
        }
    }
}

/// One stream of readings of another tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignSeries {
    /// The CPU.
    pub cpu: Knowable<u32>,
    /// The number that the file gives the thread or column, from 0.
    pub thread: u32,
    /// Scheduling policy.
    pub policy: Knowable<Policy>,
    /// Real-time priority, 0 where the policy has none.
    pub priority: Knowable<u32>,
    /// From one deadline to the next, in ns.
    pub interval_ns: Knowable<u64>,
    /// What the numbers are whole multiples of, in ns: values are cut off to it.
    pub resolution_ns: u64,
    /// The mean as the file says it, in ns, with the digits that it has; it stands in for the sum where that is unknown.
    pub stated_mean_ns: Option<f64>,
    /// The standard deviation as the file says it, in ns.
    pub stated_deviation_ns: Option<f64>,
    /// Readings beyond the file's histogram, which are in the last bin; unknown where the file lumps them with others.
    pub overflows: Knowable<u64>,
    /// Whether another series of the run answers for the same cycles, at a higher level.
    pub beside: bool,
    /// How many periods were skipped, as a share of all, from 0 to 1: no less and no more than this, as far as interval,
    /// cycles and duration tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_share: Option<(f64, f64)>,
}
