//! A series from a copy of its block.

use tardy_record::block_maxima::BlockMaxima;
use tardy_record::gaps::{Counter, GapSeries, GapTrain};
use tardy_record::layout::FINE;
use tardy_record::pins::{Between, ECHOED, ReactionPlan, ReactionSeries};
use tardy_record::plan::{NoiseThread, ThreadPlan, TimerPlan, Wake};
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::{Level, Outlier, Quantity, Series, SeriesKind, Tally, TimerSeries, WORST_COUNT};
use tardy_record::threshold::ThresholdCount;
use tardy_record::wiggle::{EdgeSeries, Seen, Through};
use tardy_record::{Histogram, Knowable};
use tardy_sys::scheduling::InForce;

use crate::cells::{self, Stage, Threshold, Total, Worst};
use crate::order::Granted;

/// The context of a block, which its cells do not contain.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Index of the phase.
    pub phase: usize,
    /// The kind of measurement that the block counts.
    pub of: Of<'a>,
    /// The scheduling that the thread was granted.
    pub granted: Granted,
    /// Start of the run on the monotonic clock.
    pub run_start_ns: u64,
}

/// The kind of measurement that a block counts.
#[derive(Clone, Copy, Debug)]
pub enum Of<'a> {
    /// A thread that wakes.
    Timer {
        /// The probe's plan.
        timer: &'a TimerPlan,
        /// The thread's plan.
        thread: &'a ThreadPlan,
    },
    /// A loop that records its interruptions.
    Noise(&'a NoiseThread),
    /// A thread that answers edges.
    Reaction {
        /// The probe's plan.
        reaction: &'a ReactionPlan,
        /// Index of the span among the plan's.
        span: usize,
    },
    /// The answers that return to the thread that generates the stimulus.
    Echo(&'a ReactionPlan),
    /// A loop that toggles a pin: its toggles.
    Toggles {
        /// The loop.
        thread: &'a NoiseThread,
        /// How the pin is written.
        through: Through,
    },
    /// A loop that toggles a pin: its holes, during which the pin did not change.
    Holes(&'a NoiseThread),
}

impl Of<'_> {
    /// The thread's CPU.
    pub fn cpu(self) -> u32 {
        match self {
            Self::Timer { thread, .. } => thread.cpu,
            Self::Noise(thread) | Self::Holes(thread) | Self::Toggles { thread, .. } => thread.cpu,
            Self::Reaction { reaction, .. } => reaction.cpu,
            Self::Echo(reaction) => reaction.driven().map_or(reaction.cpu, |(_, cpu)| cpu),
        }
    }

    /// Whether there is a schedule that continues while the thread is late.
    pub fn has_schedule(self) -> bool {
        matches!(self, Self::Timer { timer, .. } if timer.wake.has_schedule())
    }

    /// Whether another block of the phase belongs to the same thread and contains its cost.
    pub fn is_beside(self) -> bool {
        matches!(self, Self::Reaction { span, .. } if span > 0) || matches!(self, Self::Holes(_))
    }

    /// Whether the thread detects each missed attempt. A thread that only reads a level does not.
    pub fn knows_what_it_missed(self) -> bool {
        !matches!(self, Self::Reaction { reaction, .. } if reaction.driven().is_none() && !reaction.answer_by.sees_edges())
    }

    /// The label of the series.
    pub fn label(self) -> String {
        match self {
            Self::Timer { .. } | Self::Noise(_) => format!("cpu {}", self.cpu()),
            Self::Toggles { .. } => "toggles".to_owned(),
            Self::Holes(_) => "holes".to_owned(),
            Self::Reaction { .. } | Self::Echo(_) => {
                let (from, to) = self.between().unwrap_or(ECHOED);
                format!("{} to {}", from.name(), to.name())
            }
        }
    }

    /// The two points of a reaction between which it measures, if it is one.
    pub fn between(self) -> Option<Between> {
        match self {
            Self::Timer { .. } | Self::Noise(_) | Self::Toggles { .. } | Self::Holes(_) => None,
            Self::Reaction { reaction, span } => reaction.spans().get(span).copied(),
            Self::Echo(_) => Some(ECHOED),
        }
    }

    /// The level of the measurement: the wire between two pins, or the thread.
    fn level(self) -> Level {
        if matches!(self, Self::Echo(_)) { Level::Wire } else { Level::UserThread }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Timer { .. } => "timer",
            Self::Noise(_) => "noise",
            Self::Reaction { .. } => "reaction",
            Self::Echo(_) => "stimulus",
            Self::Toggles { .. } | Self::Holes(_) => "toggle",
        }
    }

    fn quantity(self) -> Quantity {
        match self {
            Self::Timer { .. } | Self::Reaction { .. } | Self::Echo(_) => Quantity::Latency,
            Self::Noise(_) | Self::Holes(_) => Quantity::Noise,
            Self::Toggles { .. } => Quantity::Spacing,
        }
    }
}

/// The cells of one block, copied at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a>(pub &'a [u64]);

impl Cells<'_> {
    fn total(self, total: Total) -> u64 {
        self.0[total as usize]
    }

    /// Whether a probe can have counted these numbers, whose sums fit into 64 bits. Another program may have written a map that
    /// is recovered.
    pub fn are_possible(self) -> bool {
        let histograms = self.0.get(cells::MEASURED..cells::CELLS).unwrap_or_default();
        let beside = [Total::Missed, Total::Dropped].map(|total| self.total(total));
        let sum = histograms.iter().chain(&beside).try_fold(0u64, |sum, count| sum.checked_add(*count));
        let squares_fit = |slot: usize| {
            let open = self.threshold(slot, Threshold::InBlock);
            let square = open.checked_mul(open);
            square
                .and_then(|square| square.checked_add(self.threshold(slot, Threshold::SquaredCounts)))
                .is_some()
        };
        sum.is_some() && (0..cells::THRESHOLD_COUNT).all(squares_fit)
    }

    fn threshold(self, slot: usize, field: Threshold) -> u64 {
        self.0[cells::THRESHOLDS + slot * cells::THRESHOLD_CELLS + field as usize]
    }

    /// Whether the thread has begun to count.
    pub fn counts(self) -> bool {
        self.total(Total::Stage) >= Stage::Counting as u64
    }

    /// Whether the thread has ended.
    pub fn done(self) -> bool {
        self.total(Total::Stage) == Stage::Done as u64
    }

    /// Beginning of the counted part, monotonic.
    pub fn counted_from_ns(self) -> u64 {
        self.total(Total::CountedFrom)
    }

    /// Time of the last counted wake-up, monotonic.
    pub fn counted_to_ns(self) -> u64 {
        self.total(Total::CountedTo).max(self.counted_from_ns())
    }

    /// Cycles attempted so far.
    pub fn attempted(self) -> u64 {
        self.total(Total::Attempted)
    }

    /// Wake-ups recorded so far: the total of the histograms.
    pub fn recorded(self) -> u64 {
        self.0[cells::MEASURED..cells::FILLED].iter().sum()
    }

    /// Recorded samples that found the ring full, if there is a ring.
    pub fn samples_lost(self) -> u64 {
        self.total(Total::SamplesLost)
    }

    /// Deadlines missed so far.
    pub fn missed(self) -> u64 {
        self.total(Total::Missed)
    }

    /// The highest lateness so far.
    pub fn max_ns(self) -> Option<i64> {
        (self.recorded() > 0).then(|| self.total(Total::Max) as i64)
    }

    /// The last recorded lateness.
    pub fn last_ns(self) -> Option<i64> {
        (self.recorded() > 0).then(|| self.total(Total::Last) as i64)
    }

    /// The sum of the recorded latenesses.
    pub fn sum_ns(self) -> i64 {
        self.total(Total::Sum) as i64
    }

    /// The measured latencies so far.
    pub fn measured(self) -> Histogram {
        Histogram::from_dense(
            FINE,
            &self.0[cells::EARLY..cells::FILLED],
            &self.0[cells::MEASURED..cells::EARLY],
        )
    }

    /// The measured latencies so far, and the waits of missed periods.
    pub fn corrected(self) -> Histogram {
        let positive: Vec<u64> = self.0[cells::MEASURED..cells::EARLY]
            .iter()
            .zip(&self.0[cells::FILLED..cells::CELLS])
            .map(|(measured, filled)| measured + filled)
            .collect();
        Histogram::from_dense(FINE, &self.0[cells::EARLY..cells::FILLED], &positive)
    }

    /// The histogram from which quantiles are computed.
    pub fn quoted(self, of: Of<'_>) -> Histogram {
        if of.has_schedule() { self.corrected() } else { self.measured() }
    }

    /// The series, without its slices and the events around its worst samples, which the supervisor adds.
    pub fn series(self, place: Place<'_>) -> Series {
        let has_schedule = place.of.has_schedule();
        let measured = self.measured();
        let run_start_ns = place.run_start_ns;
        let since_start = |at_ns: u64| at_ns.saturating_sub(run_start_ns);
        let recorded = self.recorded();
        let when_recorded = |total: Total| (recorded > 0).then(|| self.total(total));
        Series {
            label: place.of.label(),
            phase: place.phase,
            quantity: place.of.quantity(),
            level: place.of.level(),
            counted_ns: self.counted_to_ns() - self.counted_from_ns(),
            tally: self.tally(recorded, place.of.knows_what_it_missed()),
            min_ns: when_recorded(Total::Min).map(|ns| ns as i64),
            max_ns: when_recorded(Total::Max).map(|ns| ns as i64),
            max_at_ns: when_recorded(Total::MaxAt).map(since_start),
            sum_ns: Knowable::Known(self.sum_ns()),
            sum_of_squares_ns2: Knowable::Known(
                u128::from(self.total(Total::SquaresHigh)) << 64 | u128::from(self.total(Total::SquaresLow)),
            ),
            max_at_least: false,
            missed_sum_ns: self.total(Total::MissedSum) as i64,
            corrected: has_schedule.then(|| self.corrected()),
            measured,
            slices: Vec::new(),
            block_maxima: self.block_maxima(run_start_ns),
            thresholds: self.thresholds(has_schedule),
            worst: self.worst(run_start_ns),
            kind: match place.of {
                Of::Timer { timer, thread } => SeriesKind::Timer(self.timer(timer, thread, place.granted)),
                Of::Noise(thread) => SeriesKind::Gaps(Box::new(self.gaps(thread, place.granted))),
                Of::Holes(thread) => {
                    let gaps = GapSeries { of_pin: true, ..self.gaps(thread, place.granted) };
                    SeriesKind::Gaps(Box::new(gaps))
                }
                Of::Toggles { thread, through } => {
                    let Granted { policy, priority, .. } = place.granted;
                    let seen = Seen::Written { cpu: thread.cpu, policy, priority, through };
                    SeriesKind::Edges(EdgeSeries { seen, beside: false })
                }
                Of::Reaction { reaction, .. } | Of::Echo(reaction) => {
                    SeriesKind::Reaction(reaction_series(reaction, place))
                }
            },
        }
    }

    fn timer(self, timer: &TimerPlan, thread: &ThreadPlan, granted: Granted) -> TimerSeries {
        TimerSeries {
            cpu: thread.cpu,
            pinned: granted.pinned,
            wake: timer.wake,
            clock: timer.clock,
            policy: granted.policy,
            priority: granted.priority,
            interval_ns: thread.interval_ns,
            kernel_overruns: matches!(timer.wake, Wake::TimerSettime | Wake::Timerfd)
                .then(|| self.total(Total::KernelOverruns)),
            causes: None,
        }
    }

    /// The gaps' values in the cells; the supervisor adds their times.
    fn gaps(self, thread: &NoiseThread, granted: Granted) -> GapSeries {
        let counters = [Counter::Tsc, Counter::Cntvct, Counter::ClockMonotonic];
        let counter = counters.into_iter().find(|counter| *counter as u64 == self.total(Total::Counter));
        let rate_hz = |total: Total| {
            let hz = f64::from_bits(self.total(total));
            (hz.is_finite() && hz > 0.0).then_some(hz)
        };
        GapSeries {
            cpu: thread.cpu,
            policy: granted.policy,
            priority: granted.priority,
            of_pin: false,
            counter: counter.unwrap_or_default(),
            threshold_ns: self.total(Total::Threshold).max(1),
            loops: self.total(Total::Loops),
            shortest_loop_ps: self.total(Total::ShortestLoop),
            blind_ns: self.total(Total::Blind),
            rate_before_hz: rate_hz(Total::RateBefore).unwrap_or(1e9),
            rate_whole_hz: rate_hz(Total::RateWhole),
            first: GapTrain::default(),
            windows: Vec::new(),
            longest: GapTrain::default(),
            longest_from_ns: 0,
            times_lost: self.samples_lost(),
        }
    }

    fn tally(self, recorded: u64, knows_what_it_missed: bool) -> Tally {
        let if_known = |total: Total| match knows_what_it_missed {
            true => Knowable::Known(self.total(total)),
            false => Knowable::Unknown,
        };
        Tally {
            attempted: if_known(Total::Attempted),
            recorded,
            missed: if_known(Total::Missed),
            dropped: Knowable::Known(self.total(Total::Dropped)),
        }
    }

    fn block_maxima(self, run_start_ns: u64) -> BlockMaxima {
        let count = self.total(Total::MaximaCount) as usize;
        let maximum = |cell: &u64| Some(*cell as i64).filter(|ns| *ns != cells::NO_MAXIMUM);
        BlockMaxima {
            start_ns: self.counted_from_ns().saturating_sub(run_start_ns),
            block_ns: self.total(Total::MaximaBlock),
            maxima_ns: self.0[cells::MAXIMA..cells::MEASURED].iter().take(count).map(maximum).collect(),
        }
    }

    fn thresholds(self, has_schedule: bool) -> Vec<ThresholdCount> {
        let elapsed_ns = self.counted_to_ns() - self.counted_from_ns();
        let blocks = elapsed_ns.div_ceil(cells::THRESHOLD_BLOCK_NS).max(1);
        let count = |slot: usize| {
            let cell = |field: Threshold| self.threshold(slot, field);
            let open = cell(Threshold::InBlock);
            ThresholdCount {
                limit_ns: cell(Threshold::Limit),
                measured: cell(Threshold::Measured),
                corrected: has_schedule.then(|| cell(Threshold::Corrected)),
                clusters: cell(Threshold::Clusters),
                cluster_gap_cycles: cells::CLUSTER_GAP_CYCLES,
                sum_of_squared_block_counts: cell(Threshold::SquaredCounts) + open * open,
                blocks,
                block_ns: cells::THRESHOLD_BLOCK_NS,
            }
        };
        (0..cells::THRESHOLD_COUNT).map(count).filter(|threshold| threshold.limit_ns > 0).collect()
    }

    /// The worst samples so far, worst first. Times are relative to `run_start_ns`.
    pub fn worst(self, run_start_ns: u64) -> Vec<Outlier> {
        let count = (self.total(Total::WorstCount) as usize).min(WORST_COUNT);
        let sample = |slot: usize| {
            let cell = |field: Worst| self.0[cells::WORST + slot * cells::WORST_CELLS + field as usize];
            Outlier {
                latency_ns: cell(Worst::Lateness) as i64,
                at_ns: cell(Worst::At).saturating_sub(run_start_ns),
                cycle: cell(Worst::Cycle),
                around: Vec::new(),
                overlaps: None,
                moment: None,
            }
        };
        let mut worst: Vec<Outlier> = (0..count).map(sample).collect();
        worst.sort_by_key(|outlier| (std::cmp::Reverse(outlier.latency_ns), outlier.at_ns));
        worst
    }

    /// The cost of the thread.
    pub fn cost(self, place: Place<'_>) -> ThreadCost {
        ThreadCost {
            thread: format!("{}, cpu {}", place.of.name(), place.of.cpu()),
            phase: Some(place.phase),
            cycles: Some(self.recorded()),
            cpu_ns: self.total(Total::CpuTime),
            minor_faults: self.total(Total::MinorFaults),
            major_faults: self.total(Total::MajorFaults),
            voluntary_switches: self.total(Total::VoluntarySwitches),
            involuntary_switches: self.total(Total::InvoluntarySwitches),
            migrations: self.migrations(),
        }
    }

    /// How often the thread has migrated; `None` before its end, or if the kernel does not count it.
    pub fn migrations(self) -> Option<u64> {
        self.total(Total::Migrations).checked_sub(1)
    }

    /// How the thread was scheduled at its end; `None` before.
    pub fn scheduling_at_end(self) -> Option<InForce> {
        InForce::of_cell(self.total(Total::SchedulingAtEnd))
    }
}

fn reaction_series(reaction: &ReactionPlan, place: Place<'_>) -> ReactionSeries {
    let (from, to) = place.of.between().unwrap_or(ECHOED);
    ReactionSeries {
        from,
        to,
        answer_by: reaction.answer_by,
        cpu: place.of.cpu(),
        policy: place.granted.policy,
        priority: place.granted.priority,
        beside: !matches!(place.of, Of::Reaction { span: 0, .. }),
        agreement: None,
    }
}

/// Repairs a copy of a block whose writer died within a write: values that depend on a single sample are made to agree
/// with the histograms, which are counted first. Without a schedule, no histogram contains missed attempts.
pub fn mend(copy: &mut [u64], has_schedule: bool) {
    let recorded = Cells(copy).recorded();
    let filled = copy[cells::FILLED..cells::CELLS].iter().sum::<u64>();
    let missed = if has_schedule { filled } else { copy[Total::Missed as usize] };
    copy[Total::Missed as usize] = missed;
    copy[Total::Attempted as usize] = recorded + missed + copy[Total::Dropped as usize];
    let bins = Cells(copy).measured();
    mend_thresholds(copy, &bins, has_schedule);
    let (Some(first), Some(last)) = (bins.bins().first().copied(), bins.bins().last().copied()) else {
        return;
    };
    let min = (copy[Total::Min as usize] as i64).clamp(first.lower_ns, first.upper_ns - 1);
    let max = (copy[Total::Max as usize] as i64).clamp(last.lower_ns, last.upper_ns - 1);
    copy[Total::Min as usize] = min as u64;
    copy[Total::Max as usize] = max as u64;
}

/// Makes the exceedances agree with the histograms: the last sample may be counted in one of the two only.
fn mend_thresholds(copy: &mut [u64], measured: &Histogram, has_schedule: bool) {
    let corrected = has_schedule.then(|| Cells(copy).corrected());
    for slot in 0..cells::THRESHOLD_COUNT {
        let limit_ns = Cells(copy).threshold(slot, Threshold::Limit) as i64;
        if limit_ns == 0 {
            continue;
        }
        let mut clamp = |field: Threshold, histogram: &Histogram| {
            let (at_least, at_most) = histogram.counts_above(limit_ns);
            let count = &mut copy[cells::THRESHOLDS + slot * cells::THRESHOLD_CELLS + field as usize];
            *count = (*count).clamp(at_least, at_most);
        };
        clamp(Threshold::Measured, measured);
        if let Some(corrected) = &corrected {
            clamp(Threshold::Corrected, corrected);
        }
    }
}
