//! `[run]`: what to run.

use clap::Args;
use serde::{Deserialize, Serialize};
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{Protocol, Span};
use tardy_record::stop_rule::StopAt;

use super::or;
use crate::values::{
    Confidence, Duration, FloorSpec, PositiveCount, PositiveDuration, Probability, ProbeKind, by_name,
    deserialize_loads,
};

/// The `[run]` table of a recipe, and its flags.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "What to run")]
pub struct RunOptions {
    /// What to measure: timer; kernel: where a wake-up is delayed, from the timer's interrupt to the thread; noise: a loop
    /// that records its interruptions (docs/noise.md); gpio-reaction: answering edges of one GPIO line on another;
    /// gpio-wiggle: toggling a GPIO line (docs/pins.md); round-trip: requests to a peer (docs/round-trip.md); xenomai: a co-kernel's own latency program; timerlat, osnoise,
    /// hwlat: the kernel's tracers (docs/levels.md) [default: timer]
    #[arg(long, value_name = "PROBE", value_parser = by_name::<ProbeKind>)]
    pub probe: Option<ProbeKind>,
    /// Duration of each phase, such as 90s or 5h33m [default: 1m]
    #[arg(long, value_name = "TIME", conflicts_with = "loops")]
    pub duration: Option<PositiveDuration>,
    /// Cycles of each thread in a phase, instead of a duration.
    #[arg(long, value_name = "COUNT")]
    pub loops: Option<u64>,
    /// Warm-up at the start of each phase, which is not counted [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Duration>,
    /// Rounds of each wake method [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub repeat: Option<u32>,
    /// Load during the measurement: none; doload or a part of it (scheduler[:GROUPS,PAIRS,BYTES], network, copy, listing);
    /// cpu, memory[:MIB], io[:DIRECTORY], fork, timers[:COUNT], signals, compile[:DIRECTORY], ipi, net[:PORT], ping-flood,
    /// ping-flood-in; stress-ng:ARGS, hackbench[:ARGS], iperf3:ARGS; 'cmd:COMMAND'. May be repeated (docs/loads.md)
    /// [default: none]
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets in the help enclose what is optional")]
    #[arg(long, value_name = "LOAD")]
    #[serde(default, deserialize_with = "deserialize_loads")]
    pub load: Option<Vec<LoadSpec>>,
    /// Minimum work per second of a part of a load, averaged over a phase, in the part's unit, for example scheduler=500k
    /// or copy=1G. A phase with less is invalid. May be repeated (docs/loads.md)
    #[arg(long, value_name = "PART=RATE")]
    pub load_floor: Option<Vec<FloorSpec>>,
    /// Host that network loads send to; for round-trip HOST or HOST:PORT, or with --protocol ethernet a hardware address
    #[arg(long, value_name = "HOST")]
    pub peer: Option<String>,
    /// What round-trip sends: udp, icmp, ethernet, ethercat [default: udp]
    #[arg(long, value_name = "PROTOCOL", value_parser = by_name::<Protocol>)]
    pub protocol: Option<Protocol>,
    /// Link of round-trip with --protocol ethernet or ethercat.
    #[arg(long, value_name = "LINK")]
    pub link: Option<String>,
    /// Highest accepted latency. The worst case is compared with it.
    #[arg(long, value_name = "TIME")]
    pub limit: Option<PositiveDuration>,
    /// End each phase as soon as the data decide whether at most --probability of the wake-ups are later than --limit on every
    /// CPU: supported, refuted, or decided for either; at the latest after the duration. Looking at any time is allowed for
    /// (docs/decide.md) [default: the duration alone]
    #[arg(long, value_name = "DECISION", value_parser = by_name::<StopAt>)]
    pub until: Option<StopAt>,
    /// Share of wake-ups that may be later than --limit, for --until: 1e-9, 0.001% [default: 1e-6]
    #[arg(long, value_name = "SHARE")]
    pub probability: Option<Probability>,
    /// How sure --until has to be: 0.99, 99% [default: 95%]
    #[arg(long, value_name = "SHARE")]
    pub confidence: Option<Confidence>,
    /// How many wake-ups of one CPU a single event makes late at most, for --until: with 10, ten late wake-ups count as one
    /// event, and showing that none comes takes ten times as long [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub cluster: Option<PositiveCount>,
    /// Further thresholds; the latencies above each are counted.
    #[arg(long, value_name = "TIME,…", value_delimiter = ',')]
    pub thresholds: Option<Vec<PositiveDuration>>,
    /// Seed of dither and loads [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
}

impl RunOptions {
    /// Merges these options with `under`, which they override. A duration or a loop count here also removes the other from
    /// `under`, because a run ends by only one of them.
    pub fn over(&self, under: &Self) -> Self {
        let mut under = under.clone();
        if self.gives_an_end() {
            (under.duration, under.loops) = (None, None);
        }
        or(self, &under)
    }

    /// Whether a duration or a loop count is set.
    pub fn gives_an_end(&self) -> bool {
        self.duration.is_some() || self.loops.is_some()
    }

    /// The probe.
    pub fn probe(&self) -> ProbeKind {
        self.probe.unwrap_or_default()
    }

    /// When a phase ends.
    pub fn span(&self) -> Span {
        const DURATION: PositiveDuration = PositiveDuration::from_ns(60_000_000_000);
        match self.loops {
            Some(loops) => Span::Loops(loops),
            None => Span::DurationNs(self.duration.unwrap_or(DURATION).ns()),
        }
    }

    /// The warm-up of each phase, in ns.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup.unwrap_or(Duration::from_ns(1_000_000_000)).ns()
    }

    /// How often each wake method is measured.
    pub fn rounds(&self) -> u32 {
        self.repeat.unwrap_or(1)
    }

    /// The loads as requested; `none` may be among them.
    pub fn loads(&self) -> &[LoadSpec] {
        self.load.as_deref().unwrap_or_default()
    }

    /// Seed of dither and loads.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}
