//! The kinds of series, and everything in which they differ for the file format and for validity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::{self, CaptureSeries, Interval};
use crate::flow::{self, FlowSeries};
use crate::foreign::ForeignSeries;
use crate::gaps::{self, GapSeries};
use crate::level::Quantity;
use crate::pins::ReactionSeries;
use crate::program::{ProgramSeries, Timing};
use crate::round_trip::{Part, RoundTripSeries};
use crate::timer::TimerSeries;
use crate::tracer::{NoiseSeries, TraceSeries, Tracer};
use crate::wiggle::EdgeSeries;

/// The kind of a series and its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SeriesKind {
    /// A timer's wake-ups.
    Timer(TimerSeries),
    /// One level of wake-ups, from the kernel's trace.
    Trace(TraceSeries),
    /// Noise found by one of the kernel's tracers.
    Noise(NoiseSeries),
    /// A flow of frames through a switch.
    Flow(Box<FlowSeries>),
    /// Gaps that a loop detected.
    Gaps(Box<GapSeries>),
    /// Reactions on a pin.
    Reaction(ReactionSeries),
    /// Intervals from a logic analyser.
    Capture(Box<CaptureSeries>),
    /// Times between the edges of a pin.
    Edges(EdgeSeries),
    /// Round trips over a network, or a part of them.
    RoundTrip(RoundTripSeries),
    /// A thread of the user's program.
    Program(ProgramSeries),
    /// Readings of another tool.
    Foreign(Box<ForeignSeries>),
}

impl SeriesKind {
    /// The CPU, as [`Series::cpu`](crate::Series::cpu) defines it.
    pub(crate) fn cpu(&self) -> u32 {
        match self {
            Self::Timer(timer) => timer.cpu,
            Self::Trace(trace) => trace.cpu,
            Self::Noise(noise) => noise.cpu,
            Self::Flow(_) | Self::Capture(_) | Self::Program(_) => 0,
            Self::Gaps(gaps) => gaps.cpu,
            Self::Reaction(reaction) => reaction.cpu,
            Self::RoundTrip(trip) => trip.cpu,
            Self::Edges(edges) => edges.cpu(),
            Self::Foreign(foreign) => foreign.cpu.get().unwrap_or(foreign.thread),
        }
    }

    /// Whether another series measures the same cycles at a higher level.
    pub(crate) fn stands_beside(&self) -> bool {
        match self {
            Self::Trace(trace) => trace.beside,
            Self::Reaction(reaction) => reaction.beside,
            Self::Capture(capture) => capture.beside,
            Self::Gaps(gaps) => gaps.of_pin,
            Self::Edges(edges) => edges.beside,
            Self::RoundTrip(trip) => trip.part != Part::Whole,
            Self::Program(program) => program.timing != Timing::WakeUp,
            Self::Timer(_) | Self::Noise(_) | Self::Flow(_) | Self::Foreign(_) => false,
        }
    }

    /// Whether a complete run is valid although a series of this kind, which measures `quantity`, has no reading.
    pub(crate) fn may_be_empty(&self, quantity: Quantity) -> bool {
        match self {
            // hwlat reports only the gaps that it finds; an empty series is a result.
            Self::Noise(noise) => noise.tracer == Tracer::Hwlat,
            // No gap above the threshold is the best possible result.
            Self::Gaps(gaps) => gaps.loops > 0,
            Self::Foreign(_) => quantity == Quantity::Noise,
            // A signal without a hole is a good result.
            Self::Capture(capture) => capture.interval == Interval::Hole,
            // Frames were sent and none arrived: the flow failed, and the run shows it.
            Self::Flow(flow) => flow.frames.sent.get().is_some_and(|sent| sent > 0),
            Self::Program(program) => program.timing != Timing::WakeUp,
            // No request was answered, and the run shows it.
            Self::RoundTrip(trip) => trip.lost > 0,
            Self::Timer(_) | Self::Trace(_) | Self::Reaction(_) | Self::Edges(_) => false,
        }
    }

    /// The reason for dropped readings: the end of a sentence that begins with their number.
    pub(crate) fn dropped_because(&self) -> &'static str {
        match self {
            Self::Timer(_) => "wake-ups could not be used",
            Self::RoundTrip(_) => "requests were not answered",
            Self::Flow(_) => "frames were received but could not be read",
            Self::Gaps(_) => "gaps could not be kept",
            Self::Reaction(_) | Self::Edges(_) => "edges were lost before they were read",
            Self::Foreign(_) => "readings were taken but not kept",
            Self::Capture(_) => "edges precede a part of the capture that is unknown",
            Self::Trace(_) | Self::Noise(_) | Self::Program(_) => {
                "cycles were lost by the kernel's trace buffer"
            }
        }
    }

    /// The first contradiction among the fields of the kind: a field and the reason. `recorded` is the number of readings.
    pub(crate) fn contradiction(&self, recorded: u64) -> Option<(&'static str, String)> {
        let interval_ns = match self {
            Self::Timer(timer) => timer.interval_ns,
            Self::Trace(trace) => trace.interval_ns,
            Self::Noise(noise) => noise.period_ns,
            Self::RoundTrip(trip) => trip.interval_ns,
            Self::Foreign(foreign) => foreign.interval_ns.get()?,
            Self::Program(program) => program.thread.as_ref()?.interval_ns,
            Self::Reaction(_) | Self::Edges(_) => return None,
            Self::Flow(flow) => return flow::contradiction(flow, recorded),
            Self::Capture(capture) => return capture::contradiction(capture, recorded),
            Self::Gaps(gaps) => return gaps::contradiction(gaps, recorded),
        };
        (interval_ns == 0).then(|| ("kind.interval_ns", format!("an interval of 0 on cpu {}", self.cpu())))
    }
}
