//! The plan and the series of a measurement by another tool.
//!
//! An imported run is the same type as a measured one. Fields that only another tool's file can leave out are here,
//! as `unknown`: a period that is not stated is not a period of zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::knowable::Knowable;
use crate::level::Level;
use crate::scheduling::{Policy, Wake};

/// The load of a run whose file does not state its loads.
pub const LOADS_UNKNOWN: &str = "unknown";

/// A measurement by another tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignPlan {
    /// The format of the file, by the name that `tardy import --as` takes.
    pub format: String,
    /// The tool, such as `cyclictest`.
    pub tool: String,
    /// Its version, from its file.
    pub version: Knowable<String>,
    /// Its command line: from the file, or as the user stated it.
    pub command: Knowable<String>,
    /// The measured quantity, such as `from a timer's deadline to the thread that waited for it`.
    pub measures: String,
    /// How it handles periods that pass during a late reading, which determines whether its quantiles are reliable.
    pub late_periods: LatePeriods,
    /// How its thread waited for the timer; unknown if neither the file nor the tool states it, absent if no thread
    /// waited for a timer of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<Knowable<Wake>>,
    /// From one reading to the next, in ns; the shortest if threads differ.
    pub period_ns: Knowable<u64>,
    /// How long it measured, in ns.
    pub duration_ns: Knowable<u64>,
    /// The level at which it measures, if tardy runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The command with which tardy runs it; empty if its file was imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// The co-kernel's gravity, as the co-kernel reports it: it programs its timers earlier by this time, which lowers every
    /// latency by the same amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gravity: Option<String>,
}

impl ForeignPlan {
    /// Whether this is the program of a co-kernel: Xenomai's `latency` or EVL's `latmus`.
    pub fn is_co_kernels(&self) -> bool {
        matches!(self.format.as_str(), "xenomai" | "xenomai-plot" | "latmus-plot")
    }
}

/// How a tool handles periods that pass during a late reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatePeriods {
    /// It skips them without counting them, so its quantiles are too low.
    Skipped,
    /// It skips them, and counts them without a reading.
    Counted,
    /// It adds a late reading for each.
    MadeUp,
    /// It has no periods: each reading follows the one before.
    NoSchedule,
    /// Not known.
    #[default]
    Unknown,
}

impl LatePeriods {
    /// A warning for the user, as a sentence without a full stop; `None` if none is needed.
    pub fn warning(self, tool: &str) -> Option<String> {
        match self {
            Self::Skipped => Some(format!(
                "{tool} skips periods that pass during a late wake-up without counting them: missed periods are unknown, \
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

/// One series of another tool's readings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignSeries {
    /// The CPU.
    pub cpu: Knowable<u32>,
    /// The number of the thread or column in the file, from 0.
    pub thread: u32,
    /// Scheduling policy.
    pub policy: Knowable<Policy>,
    /// Real-time priority; 0 if the policy has none.
    pub priority: Knowable<u32>,
    /// From one deadline to the next, in ns.
    pub interval_ns: Knowable<u64>,
    /// The resolution, in ns: values are truncated to multiples of it.
    pub resolution_ns: u64,
    /// The mean as stated in the file, in ns; it replaces the sum if the sum is unknown.
    pub stated_mean_ns: Option<f64>,
    /// The standard deviation as stated in the file, in ns.
    pub stated_deviation_ns: Option<f64>,
    /// Readings beyond the file's histogram, which are in the last bin; unknown if the file does not separate them.
    pub overflows: Knowable<u64>,
    /// Whether another series of the run has the same cycles at a higher level.
    pub beside: bool,
    /// The share of all periods that were skipped, from 0 to 1: lower and upper bound, from interval, cycles and
    /// duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_share: Option<(f64, f64)>,
}
