//! The meaning of each cell of a block. It is defined once, for the probe, which writes the cells, and the supervisor,
//! which reads them.
//!
//! The probe keeps exact totals, full histograms, block maxima, threshold counts and the worst samples. It does not
//! keep slices: the supervisor computes them as differences of the histograms, which costs the probe nothing.

use tardy_record::block_maxima::BLOCK_COUNT;
pub use tardy_record::block_maxima::BLOCK_NS as MAXIMA_BLOCK_NS;
use tardy_record::layout::FINE;
use tardy_record::series::WORST_COUNT;
pub use tardy_record::threshold::{CLUSTER_GAP_CYCLES, THRESHOLD_BLOCK_NS};

/// The most thresholds that a series can count.
pub const THRESHOLD_COUNT: usize = 8;
/// The maximum of a block in which nothing was recorded.
pub const NO_MAXIMUM: i64 = i64::MIN;

/// Header cell: the start of the run on the monotonic clock, in ns.
pub const HEADER_RUN_START: usize = 0;
/// Header cell: lines of the samples file, over the whole run; written by the supervisor.
pub const HEADER_SAMPLES_KEPT: usize = 1;
/// Header cell: how often the stimulus of a reaction has been driven.
pub const HEADER_DRIVEN_COUNT: usize = 2;
/// Header cell: the time of the stimulus's last rise, monotonic, in ns.
pub const HEADER_DRIVEN_AT: usize = 3;

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stage {
    /// Preparing or warming up.
    Before = 0,
    /// Counting.
    Counting = 1,
    /// Finished; every number is final.
    Done = 2,
}

/// Totals at the beginning of a block, by cell. The first seven share the sequence count's cache line, so those that
/// change with every sample are among them. The number of samples is not a total: it is the histograms' sum.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Total {
    /// Cycles attempted.
    Attempted,
    /// Time of the last counted wake-up, monotonic.
    CountedTo,
    /// Sum of latenesses, two's complement.
    Sum,
    /// Sum of squares, low half.
    SquaresLow,
    /// Sum of squares, high half.
    SquaresHigh,
    /// The last recorded lateness, two's complement.
    Last,
    /// Deadlines missed.
    Missed,
    /// A [`Stage`].
    Stage,
    /// Cycles whose wake-ups could not be used.
    Dropped,
    /// Lowest lateness, two's complement.
    Min,
    /// Highest lateness, two's complement.
    Max,
    /// Time of the highest lateness, monotonic.
    MaxAt,
    /// Sum of the waits of missed periods.
    MissedSum,
    /// Missed periods as the kernel counted them.
    KernelOverruns,
    /// Beginning of the counted part, monotonic.
    CountedFrom,
    /// Length of a block of maxima.
    MaximaBlock,
    /// Number of blocks of maxima.
    MaximaCount,
    /// CPU time used in the counted part, in ns (see `ThreadUsage`).
    CpuTime,
    /// Page faults without disk access in the counted part.
    MinorFaults,
    /// Page faults with disk access in the counted part.
    MajorFaults,
    /// Voluntary switches in the counted part.
    VoluntarySwitches,
    /// Involuntary switches in the counted part.
    InvoluntarySwitches,
    /// Migrations in the counted part, plus 1; 0 if the kernel does not report them.
    Migrations,
    /// The number of worst samples.
    WorstCount,
    /// Recorded samples that found the ring full.
    SamplesLost,
    /// Noise probe: turns of its loop.
    Loops,
    /// Noise probe: time spent recording gaps, in ns.
    Blind,
    /// Noise probe: the counter that its loop reads, as a `Counter`.
    Counter,
    /// Noise probe: its threshold, in ns.
    Threshold,
    /// Noise probe: the shortest turn of its loop, in ps.
    ShortestLoop,
    /// Noise probe: rate of its counter in Hz, measured before it counted; the bits of an f64.
    RateBefore,
    /// Noise probe: rate of its counter in Hz over the whole counted time, as the bits of an f64; 0 until the end.
    RateWhole,
    /// Policy and priority at the end, as a cell of `tardy_sys::scheduling::InForce`; 0 before.
    SchedulingAtEnd,
}

/// Cells by which the supervisor and a thread agree on when to stop the kernel's trace. Each has one writer.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Tracing {
    /// Written by the supervisor: a wake-up later than this stops the trace; 0: none does.
    Over,
    /// Written by the supervisor: how many stops it has handled. The thread does not stop the trace again before that.
    Answered,
    /// Written by the supervisor: a [`Traced`], during the warm-up.
    State,
    /// Written by the thread: how often it has stopped the trace.
    Stops,
    /// Written by the thread: the lateness of the wake-up at its last stop.
    StoppedLateness,
    /// Written by the thread: the time of that stop, monotonic.
    StoppedAt,
    /// Written by the thread: the number of that cycle.
    StoppedCycle,
    /// Written by the thread: wake-ups of the warm-up on which each median is based at least; 0: too few for medians.
    WarmCount,
    /// Written by the thread: median lateness in the warm-up with the trace on, two's complement.
    WarmTraced,
    /// Written by the thread: median lateness in the warm-up with the trace off, two's complement.
    WarmUntraced,
    /// Written by the thread: 90th percentile of the lateness of traced wake-ups in the warm-up, two's complement.
    WarmUsual,
}

/// Whether the kernel is being traced, during the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Traced {
    /// The trace is being switched on or off, or the warm-up is over.
    Unsure = 0,
    /// Traced.
    On = 1,
    /// Not traced.
    Off = 2,
}

/// Cells of one threshold.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Threshold {
    /// The limit.
    Limit,
    /// Recorded wake-ups above it.
    Measured,
    /// Wake-ups above it, with missed periods filled in.
    Corrected,
    /// Episodes.
    Clusters,
    /// Cycle of the last exceedance, plus 1.
    LastCycle,
    /// Exceedances in the open block.
    InBlock,
    /// Number of the open block.
    Block,
    /// Sum of squared counts of the closed blocks.
    SquaredCounts,
}

/// Cells of one of the worst samples.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Worst {
    /// Lateness.
    Lateness,
    /// Time of the wake-up, monotonic.
    At,
    /// The cycle's number.
    Cycle,
}

/// Number of cells reserved for totals.
const TOTALS: usize = 48;
/// Number of cells of a threshold.
pub const THRESHOLD_CELLS: usize = 8;
/// Number of cells of a worst sample.
pub const WORST_CELLS: usize = 3;

/// Number of cells reserved for [`Tracing`].
const TRACING_CELLS: usize = 16;

/// First cell of [`Tracing`].
pub const TRACING: usize = TOTALS;
/// First cell of the thresholds.
pub const THRESHOLDS: usize = TRACING + TRACING_CELLS;
/// First cell of the worst samples.
pub const WORST: usize = THRESHOLDS + THRESHOLD_COUNT * THRESHOLD_CELLS;
/// First cell of the block maxima.
pub const MAXIMA: usize = WORST + WORST_COUNT * WORST_CELLS;
/// First cell of the histogram of recorded latenesses from 0 up.
pub const MEASURED: usize = MAXIMA + BLOCK_COUNT;
/// First cell of the histogram of recorded latenesses below 0.
pub const EARLY: usize = MEASURED + FINE.bin_count();
/// First cell of the histogram of the waits of missed periods.
pub const FILLED: usize = EARLY + FINE.bin_count();
/// Number of cells of a block.
pub const CELLS: usize = FILLED + FINE.bin_count();
