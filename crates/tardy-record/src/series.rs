//! A stream of readings: a head that is common to all kinds, and a kind with fields of its own.

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
use crate::slice::Slice;
use crate::threshold::ThresholdCount;
use crate::wiggle::EdgeSeries;

pub use crate::level::{Level, Quantity};
pub use crate::timer::TimerSeries;
pub use crate::tracer::{NoiseSeries, TraceSeries, TraceSource};

/// How many of the worst samples a series keeps.
pub const WORST_COUNT: usize = 64;

/// One stream of readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What tells it from the others of the run, such as `cpu 1`.
    pub label: String,
    /// Index of the phase that it belongs to.
    pub phase: usize,
    /// What is measured. Every number of a series is in ns.
    pub quantity: Quantity,
    /// Where on the way from the hardware to the program it is measured.
    pub level: Level,
    /// How long it counted: from the end of the warm-up to the last reading; 0 where nothing was counted yet, and where
    /// another tool's file does not say.
    pub counted_ns: u64,
    /// What became of every attempt.
    pub tally: Tally,
    /// Lowest value recorded; negative: a wake-up before its time.
    pub min_ns: Option<i64>,
    /// Highest value recorded.
    pub max_ns: Option<i64>,
    /// When the highest was seen, in ns from the start of the run.
    pub max_at_ns: Option<u64>,
    /// Sum of the values recorded; only another tool's file may not say it.
    pub sum_ns: Knowable<i64>,
    /// Sum of their squares in ns², as a decimal string, since it outgrows 64 bits, or `unknown`.
    #[serde(with = "decimal_u128")]
    #[schemars(with = "String")]
    pub sum_of_squares_ns2: Knowable<u128>,
    /// Sum of the waits of the missed periods, in the corrected histogram beside `sum_ns`.
    pub missed_sum_ns: i64,
    /// What was measured, one value a recorded wake-up.
    pub measured: Histogram,
    /// The same with the missed periods filled in; absent where there is no schedule, or no knowledge of it.
    /// Quantiles are quoted from this one where it is there.
    pub corrected: Option<Histogram>,
    /// The stream cut into at most 64 stretches of time, with coarser bins.
    pub slices: Vec<Slice>,
    /// The highest value of each block of time.
    pub block_maxima: BlockMaxima,
    /// For each declared threshold, what went over it.
    pub thresholds: Vec<ThresholdCount>,
    /// The worst samples, worst first.
    pub worst: Vec<Outlier>,
    /// What only this kind of series has.
    pub kind: SeriesKind,
}

impl Series {
    /// The histogram that quantiles are quoted from: the corrected one where there is one.
    pub fn quoted(&self) -> &Histogram {
        self.corrected.as_ref().unwrap_or(&self.measured)
    }

    /// Mean of the quoted histogram's values: exact, but for another tool's, which is as exact as its file says it.
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

    /// The fields of another tool's series, if this is one.
    pub fn foreign(&self) -> Option<&ForeignSeries> {
        match &self.kind {
            SeriesKind::Foreign(foreign) => Some(foreign),
            _ => None,
        }
    }

    /// The timer's own fields, if this is a timer's series.
    pub fn timer(&self) -> Option<&TimerSeries> {
        match &self.kind {
            SeriesKind::Timer(timer) => Some(timer),
            _ => None,
        }
    }

    /// The fields of a series from the kernel's trace, if this is one.
    pub fn trace(&self) -> Option<&TraceSeries> {
        match &self.kind {
            SeriesKind::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// The fields of a flow's series, if this is one.
    pub fn flow(&self) -> Option<&FlowSeries> {
        match &self.kind {
            SeriesKind::Flow(flow) => Some(flow),
            _ => None,
        }
    }

    /// The fields of a series of gaps, if this is one.
    pub fn gaps(&self) -> Option<&GapSeries> {
        match &self.kind {
            SeriesKind::Gaps(gaps) => Some(gaps),
            _ => None,
        }
    }

    /// The fields of a series of reactions, if this is one.
    pub fn reaction(&self) -> Option<&ReactionSeries> {
        match &self.kind {
            SeriesKind::Reaction(reaction) => Some(reaction),
            _ => None,
        }
    }

    /// The fields of a series of a logic analyser's, if this is one.
    pub fn capture(&self) -> Option<&CaptureSeries> {
        match &self.kind {
            SeriesKind::Capture(capture) => Some(capture),
            _ => None,
        }
    }

    /// The fields of a series of times between edges, if this is one.
    pub fn edges(&self) -> Option<&EdgeSeries> {
        match &self.kind {
            SeriesKind::Edges(edges) => Some(edges),
            _ => None,
        }
    }

    /// The CPU that it is of; a thread that roams has the one that it was for, a flow of frames and a captured signal
    /// count as CPU 0's, and another tool's thread whose CPU nobody knows has its own number.
    pub fn cpu(&self) -> u32 {
        match &self.kind {
            SeriesKind::Timer(timer) => timer.cpu,
            SeriesKind::Trace(trace) => trace.cpu,
            SeriesKind::Noise(noise) => noise.cpu,
            SeriesKind::Flow(_) | SeriesKind::Capture(_) => 0,
            SeriesKind::Gaps(gaps) => gaps.cpu,
            SeriesKind::Reaction(reaction) => reaction.cpu,
            SeriesKind::Edges(edges) => edges.cpu(),
            SeriesKind::Foreign(foreign) => foreign.cpu.get().unwrap_or(foreign.thread),
        }
    }

    /// Whether it looks at cycles that another series of its phase answers for: how far they had come at a lower
    /// level. Such a series is no measurement of its own: neither its cycles nor its latenesses are added to a run's.
    pub fn stands_beside(&self) -> bool {
        self.trace().is_some_and(|trace| trace.beside)
            || self.reaction().is_some_and(|reaction| reaction.beside)
            || self.capture().is_some_and(|capture| capture.beside)
            || self.gaps().is_some_and(|gaps| gaps.of_pin)
            || self.edges().is_some_and(|edges| edges.beside)
    }

    /// Whether it says how late a program (or, where there is none, a kernel thread) woke: what a limit is held
    /// against.
    pub fn is_of_wakeups(&self) -> bool {
        self.quantity == Quantity::Latency && !self.stands_beside() && !self.is_beside_in_file()
    }

    /// Whether it is another tool's, at a lower level than another series of its file.
    pub fn is_beside_in_file(&self) -> bool {
        self.foreign().is_some_and(|foreign| foreign.beside)
    }
}

/// What became of every attempt: recorded + missed + dropped = attempted, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// How many readings there should have been.
    pub attempted: Knowable<u64>,
    /// How many there were.
    pub recorded: u64,
    /// Deadlines that passed while a late wake-up was waited for; of a flow, frames that were lost; of reactions, edges
    /// that the next one overtook before they were answered.
    pub missed: Knowable<u64>,
    /// Readings that were taken and could not be kept.
    pub dropped: Knowable<u64>,
}

/// One of the worst samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// How late.
    pub latency_ns: i64,
    /// When the wake-up happened, in ns from the start of the run.
    pub at_ns: u64,
    /// The cycle's number, from 0 at the start of the counted part, missed ones included.
    pub cycle: u64,
    /// What the watchers saw change around it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<Change>,
    /// What the kernel did meanwhile, where its trace was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<Moment>,
}

/// What a watcher saw change between two of its readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What changed, such as `irq 39 dwc_otg, cpu 0`.
    pub what: String,
    /// By how much, between the two readings.
    pub by: f64,
    /// How much is usual between two readings in this run, the median of those before.
    pub usual: f64,
    /// Unit of both.
    pub unit: String,
}

/// What only one kind of series has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SeriesKind {
    /// A timer's wake-ups.
    Timer(TimerSeries),
    /// One level of wake-ups as the kernel's trace shows it.
    Trace(TraceSeries),
    /// Noise, as one of the kernel's tracers finds it.
    Noise(NoiseSeries),
    /// A flow of frames through a switch.
    Flow(Box<FlowSeries>),
    /// Gaps that a loop noticed.
    Gaps(Box<GapSeries>),
    /// Reactions on a pin.
    Reaction(ReactionSeries),
    /// What a logic analyser saw.
    Capture(Box<CaptureSeries>),
    /// Times between the edges of a pin.
    Edges(EdgeSeries),
    /// What another tool measured.
    Foreign(Box<ForeignSeries>),
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
