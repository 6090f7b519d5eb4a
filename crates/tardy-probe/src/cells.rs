//! What each cell of a block means: the one place that the probe, which writes them, and the supervisor, which reads them,
//! agree on.
//!
//! The probe keeps exact totals, full histograms, block maxima, threshold counts and the worst samples. Slices are
//! not here: the supervisor cuts them by taking differences of the histograms, which costs the probe nothing.

use tardy_record::block_maxima::BLOCK_COUNT;
pub use tardy_record::block_maxima::BLOCK_NS as MAXIMA_BLOCK_NS;
use tardy_record::layout::FINE;
use tardy_record::series::WORST_COUNT;
pub use tardy_record::threshold::{CLUSTER_GAP_CYCLES, THRESHOLD_BLOCK_NS};

/// How many thresholds a series can count.
pub const THRESHOLD_COUNT: usize = 8;
/// A block in which nothing was recorded.
pub const NO_MAXIMUM: i64 = i64::MIN;

/// Header cell: the start of the run on the monotonic clock.
pub const HEADER_RUN_START: usize = 0;
/// Header cell: samples of the whole run that are lines of the samples file; written by the supervisor.
pub const HEADER_SAMPLES_KEPT: usize = 1;
/// Header cell: how often the stimulus of a reaction has been driven.
pub const HEADER_DRIVEN_COUNT: usize = 2;
/// Header cell: when that was last, monotonic.
pub const HEADER_DRIVEN_AT: usize = 3;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stage {
    /// Getting ready, or warming up.
    Before = 0,
    /// Counting.
    Counting = 1,
    /// Done, and every number is final.
    Done = 2,
}

/// Totals at the beginning of a block, by cell. The first seven share the sequence count's cache line, so these are
/// the ones that change with every sample. How many samples there are is not among them: the histograms' sum.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Total {
    /// Cycles attempted.
    Attempted,
    /// When the last counted wake-up was, monotonic.
    CountedTo,
    /// Sum of latenesses, two's complement.
    Sum,
    /// Sum of squares, low half.
    SquaresLow,
    /// Sum of squares, high half.
    SquaresHigh,
    /// A [`Stage`].
    Stage,
    /// Deadlines missed.
    Missed,
    /// Cycles whose wake-ups could not be used.
    Dropped,
    /// Lowest lateness, two's complement.
    Min,
    /// Highest lateness, two's complement.
    Max,
    /// When the highest was seen, monotonic.
    MaxAt,
    /// Sum of the waits of missed periods.
    MissedSum,
    /// Missed periods as the kernel counted them.
    KernelOverruns,
    /// When the counted part began, monotonic.
    CountedFrom,
    /// Length of a block of maxima.
    MaximaBlock,
    /// How many blocks of maxima there are.
    MaximaCount,
    /// CPU time used in the counted part, and so on: see `ThreadUsage`.
    CpuTime,
    /// Page faults without disk access in the counted part.
    MinorFaults,
    /// Page faults with disk access in the counted part.
    MajorFaults,
    /// Voluntary switches in the counted part.
    VoluntarySwitches,
    /// Involuntary switches in the counted part.
    InvoluntarySwitches,
    /// Migrations in the counted part, plus 1; 0 where the kernel does not say.
    Migrations,
    /// How many of the worst samples are there.
    WorstCount,
    /// Recorded samples that found the ring full.
    SamplesLost,
    /// Of a noise probe: turns of its loop.
    Loops,
    /// Of a noise probe: time in which it wrote gaps down, in ns.
    Blind,
    /// Of a noise probe: which counter it reads, a `Counter`.
    Counter,
    /// Of a noise probe: its threshold, in ns.
    Threshold,
    /// Of a noise probe: the shortest turn of its loop, in ps.
    ShortestLoop,
    /// Of a noise probe: ticks of its counter a second, before it counted; the bits of an f64.
    RateBefore,
    /// Of a noise probe: the same over all that it counted; 0 until then.
    RateWhole,
}

/// Cells by which the supervisor and a thread agree on when the kernel's trace is stopped. Each has one writer.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Tracing {
    /// The supervisor's: a wake-up later than this stops the trace; 0: none does.
    Over,
    /// The supervisor's: how many stops it has dealt with. The thread does not stop the trace again before.
    Answered,
    /// The supervisor's: a [`Traced`], in the warm-up.
    State,
    /// The thread's: how often it has stopped the trace.
    Stops,
    /// The thread's: how late the wake-up was at which it did so the last time.
    StoppedLateness,
    /// The thread's: when that was, monotonic.
    StoppedAt,
    /// The thread's: the number of that cycle.
    StoppedCycle,
    /// The thread's: of how many wake-ups of the warm-up, traced and not, medians are known; 0: of too few.
    WarmCount,
    /// The thread's: median lateness in the warm-up with the trace on, two's complement.
    WarmTraced,
    /// The thread's: the same with the trace off.
    WarmUntraced,
    /// The thread's: nine in ten traced wake-ups of the warm-up were no later than this, two's complement.
    WarmUsual,
}

/// Whether the kernel is traced just now, in the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Traced {
    /// Between the two, or never.
    Unsure = 0,
    /// It is.
    On = 1,
    /// It is not.
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
    /// The same with missed periods filled in.
    Corrected,
    /// Episodes.
    Clusters,
    /// Cycle of the last exceedance, plus 1.
    LastCycle,
    /// Exceedances in the block that is open.
    InBlock,
    /// Number of the block that is open.
    Block,
    /// Sum of squared counts of the blocks that are closed.
    SquaredCounts,
}

/// Cells of one of the worst samples.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Worst {
    /// Lateness.
    Lateness,
    /// When, monotonic.
    At,
    /// The cycle's number.
    Cycle,
}

/// Cells kept for totals.
const TOTALS: usize = 48;
/// Cells of a threshold.
pub const THRESHOLD_CELLS: usize = 8;
/// Cells of a worst sample.
pub const WORST_CELLS: usize = 3;

/// Cells kept for [`Tracing`].
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
/// Cells of a block in all.
pub const CELLS: usize = FILLED + FINE.bin_count();
