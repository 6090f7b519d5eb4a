//! A series of readings: the fields that all kinds have in common, and the fields of its kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block_maxima::BlockMaxima;
use crate::capture::CaptureSeries;
use crate::flow::FlowSeries;
use crate::foreign::ForeignSeries;
use crate::gaps::GapSeries;
use crate::histogram::Histogram;
use crate::knowable::Knowable;
use crate::moment::Moment;
use crate::pins::ReactionSeries;
use crate::program::ProgramSeries;
use crate::slice::Slice;
use crate::threshold::ThresholdCount;
use crate::wiggle::EdgeSeries;

pub use crate::level::{Level, Quantity};
pub use crate::series_kind::SeriesKind;
pub use crate::timer::TimerSeries;
pub use crate::tracer::{NoiseSeries, TraceSeries, TraceSource};

/// The number of worst samples that a series keeps.
pub const WORST_COUNT: usize = 64;

/// One series of readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The difference from the other series of the run, such as `cpu 1`.
    pub label: String,
    /// Index of the phase that it belongs to.
    pub phase: usize,
    /// The measured quantity. All numbers of a series are in ns.
    pub quantity: Quantity,
    /// The level between hardware and program at which it is measured.
    pub level: Level,
    /// The counted time, from the end of the warm-up to the last reading; 0 if nothing was counted yet, or if another
    /// tool's file does not state it.
    pub counted_ns: u64,
    /// The number of attempts and their results.
    pub tally: Tally,
    /// Lowest recorded value; negative for a wake-up before its time.
    pub min_ns: Option<i64>,
    /// Highest recorded value.
    pub max_ns: Option<i64>,
    /// Whether the highest value is only a lower bound, since another tool's file does not establish it: the end of the
    /// file is missing, or it does not state its maximum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_at_least: bool,
    /// When the highest value was seen, in ns from the start of the run.
    pub max_at_ns: Option<u64>,
    /// Sum of the recorded values; unknown only if another tool's file does not state it.
    pub sum_ns: Knowable<i64>,
    /// Sum of their squares in ns², as a decimal string because it exceeds 64 bits, or `unknown`.
    #[serde(with = "decimal_u128")]
    #[schemars(with = "String")]
    pub sum_of_squares_ns2: Knowable<u128>,
    /// Sum of the waits of the missed periods, which the corrected histogram holds in addition.
    pub missed_sum_ns: i64,
    /// The measured values, one per recorded wake-up.
    pub measured: Histogram,
    /// The measured values and the missed periods; absent without a schedule or without knowledge of it. If present,
    /// quantiles are computed from it.
    pub corrected: Option<Histogram>,
    /// The series divided into at most 64 stretches of time, with coarser bins.
    pub slices: Vec<Slice>,
    /// The highest value of each block of time.
    pub block_maxima: BlockMaxima,
    /// The exceedances of each declared threshold.
    pub thresholds: Vec<ThresholdCount>,
    /// The worst samples, worst first.
    pub worst: Vec<Outlier>,
    /// The fields of this kind of series.
    pub kind: SeriesKind,
}

/// The fields of one kind of series; `None` for other kinds.
macro_rules! fields_of_kinds {
    ($($name:ident -> $kind:ident($fields:ty), $doc:literal;)*) => {
        impl Series {
            $(#[doc = $doc]
            pub fn $name(&self) -> Option<&$fields> {
                match &self.kind {
                    SeriesKind::$kind(fields) => Some(fields),
                    _ => None,
                }
            })*
        }
    };
}

fields_of_kinds! {
    foreign -> Foreign(ForeignSeries), "The fields of another tool's series; `None` for other kinds.";
    timer -> Timer(TimerSeries), "The fields of a timer's series; `None` for other kinds.";
    trace -> Trace(TraceSeries), "The fields of a series from the kernel's trace; `None` for other kinds.";
    flow -> Flow(FlowSeries), "The fields of a flow's series; `None` for other kinds.";
    gaps -> Gaps(GapSeries), "The fields of a series of gaps; `None` for other kinds.";
    reaction -> Reaction(ReactionSeries), "The fields of a series of reactions; `None` for other kinds.";
    capture -> Capture(CaptureSeries), "The fields of a logic analyser's series; `None` for other kinds.";
    program -> Program(ProgramSeries), "The fields of a series of the user's program; `None` for other kinds.";
    edges -> Edges(EdgeSeries), "The fields of a series of times between edges; `None` for other kinds.";
}

impl Series {
    /// The histogram that quantiles are computed from: the corrected one if there is one.
    pub fn quoted(&self) -> &Histogram {
        self.corrected.as_ref().unwrap_or(&self.measured)
    }

    /// The mean of the values of [`Self::quoted`]: exact, or for another tool's series as exact as its file.
    pub fn mean_ns(&self) -> Option<f64> {
        let Some(sum) = self.sum_ns.get() else {
            return self.foreign().and_then(|foreign| foreign.stated_mean_ns);
        };
        let (count, sum) = match &self.corrected {
            Some(corrected) => (corrected.total(), sum as f64 + self.missed_sum_ns as f64),
            None => (self.measured.total(), sum as f64),
        };
        (count > 0).then(|| sum / count as f64)
    }

    /// Whether its quantiles are lower bounds as well, since the missing readings are its highest: the end of a histogram
    /// in ascending order. Of samples in the order of time, any may be missing.
    pub fn lacks_its_highest(&self) -> bool {
        self.max_at_least && self.foreign().is_some_and(|foreign| !foreign.overflows.is_known())
    }

    /// Its CPU. An unpinned thread has the CPU that it was meant for, flows and captured signals count as CPU 0, and
    /// another tool's thread with an unknown CPU has its thread number.
    pub fn cpu(&self) -> u32 {
        self.kind.cpu()
    }

    /// Whether another series of the phase measures the same cycles at a higher level. The cycles and latencies of this
    /// series are then not added to those of the run.
    pub fn stands_beside(&self) -> bool {
        self.kind.stands_beside()
    }

    /// Whether it measures the latency of a program (or, without one, of a kernel thread), to which a limit applies.
    pub fn is_of_wakeups(&self) -> bool {
        self.quantity == Quantity::Latency && !self.stands_beside() && !self.is_beside_in_file()
    }

    /// Whether it is another tool's, at a lower level than another series of its file.
    pub fn is_beside_in_file(&self) -> bool {
        self.foreign().is_some_and(|foreign| foreign.beside)
    }
}

/// The number of attempts and their results: recorded + missed + dropped = attempted, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// The number of readings that were due.
    pub attempted: Knowable<u64>,
    /// The number of readings.
    pub recorded: u64,
    /// Deadlines that passed during a late wake-up; for a flow, lost frames; for reactions, edges followed by another
    /// edge before they were answered.
    pub missed: Knowable<u64>,
    /// Readings that were made but could not be stored.
    pub dropped: Knowable<u64>,
}

/// What [`Outlier::overlaps`] says of a wake-up during which tardy wrote the run file.
pub const CHECKPOINT: &str = "checkpoint";

/// One of the worst samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// The latency.
    pub latency_ns: i64,
    /// When the thread woke up, in ns from the start of the run.
    pub at_ns: u64,
    /// The cycle's number, from 0 at the start of the counted part, including missed cycles.
    pub cycle: u64,
    /// Changes that the watchers detected around it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<Change>,
    /// The watcher that read kernel files on the thread's CPU while the thread should have run, or [`CHECKPOINT`] if the run file was
    /// written there, so that tardy itself may have caused the latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<String>,
    /// The kernel's activity at the time, if it was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<Moment>,
}

/// A change that a watcher detected between two readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The quantity that changed, such as `irq 39 dwc_otg, cpu 0`.
    pub what: String,
    /// The rate of a counter, per second; otherwise the difference between two readings.
    pub by: f64,
    /// The usual value of `by` in this run: the median of those before.
    pub usual: f64,
    /// Unit of both.
    pub unit: String,
}

mod decimal_u128 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::knowable::Knowable;

    pub(super) fn serialize<S: Serializer>(value: &Knowable<u128>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Knowable::Known(value) => serializer.collect_str(value),
            Knowable::Unknown => serializer.serialize_str("unknown"),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Knowable<u128>, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        if text == "unknown" {
            return Ok(Knowable::Unknown);
        }
        let value = text.parse();
        value
            .map(Knowable::Known)
            .map_err(|_| D::Error::custom(format!("'{text}' is not a whole number below 2^128")))
    }
}
