//! `[timer]`: the threads that measure.

use clap::Args;
use serde::{Deserialize, Serialize};
use tardy_record::plan::{ClockId, Policy, Wake};

use crate::values::{CauseTracing, CpuSelection, DmaLatency, Duration, PositiveDuration, by_name};

/// The `[timer]` table of a recipe, and its flags.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "Timer probe")]
pub struct TimerOptions {
    /// How threads wait: clock_nanosleep, nanosleep, timer_settime, setitimer, timerfd, busy, deadline. Several methods
    /// are measured one after the other [default: clock_nanosleep]
    #[arg(long, value_name = "METHOD,…", value_delimiter = ',', value_parser = by_name::<Wake>)]
    pub wake: Option<Vec<Wake>>,
    /// monotonic, realtime or tai [default: monotonic]
    #[arg(long, value_parser = by_name::<ClockId>)]
    pub clock: Option<ClockId>,
    /// Time between deadlines, at least 20us. gpio-wiggle with --wake busy accepts 1us, and toggles as fast as possible
    /// without an interval [default: 200us]
    #[arg(short, long, value_name = "TIME")]
    pub interval: Option<PositiveDuration>,
    /// Added to the interval of each further CPU's thread [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub distance: Option<Duration>,
    /// Delay each deadline at random by up to this, so that the timer does not lock to periodic noise.
    #[arg(long, value_name = "TIME")]
    pub dither: Option<Duration>,
    /// fifo, rr, other or deadline [default: fifo; for the noise probe other]
    #[arg(long, value_parser = by_name::<Policy>)]
    pub policy: Option<Policy>,
    /// Real-time priority, 1 to 99 [default: 90; for the noise probe 1]
    #[arg(short, long)]
    pub priority: Option<u32>,
    /// Subtracted from the priority of each further thread [default: 0]
    #[arg(long, value_name = "STEP")]
    pub priority_step: Option<u32>,
    /// CPUs to measure: all, isolated, housekeeping, or a list such as 0-3,5 [default: all]
    #[arg(short, long, value_name = "LIST")]
    pub cpus: Option<CpuSelection>,
    /// Measure from within this cgroup, whose cpuset has the CPUs: a directory, or a name under /sys/fs/cgroup [default: the cgroup
    /// that owns each CPU]
    #[arg(short = 'C', long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// hold: keep CPUs out of deep idle states; leave: do not [default: hold]
    #[arg(long, value_name = "WHAT", value_parser = by_name::<DmaLatency>)]
    pub dma_latency: Option<DmaLatency>,
    /// Trace what the kernel did before the worst wake-ups, or before those later than TIME. Needs root and adds latency
    /// (docs/causes.md)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "worst")]
    pub causes: Option<CauseTracing>,
}

/// The time between deadlines unless an option or a recipe sets it, in ns.
pub const INTERVAL_NS: u64 = 200_000;

impl TimerOptions {
    /// The wake methods, in the order of measurement.
    pub fn wakes(&self) -> Vec<Wake> {
        self.wake.clone().unwrap_or_else(|| vec![Wake::default()])
    }

    /// The clock of the deadlines.
    pub fn clock(&self) -> ClockId {
        self.clock.unwrap_or_default()
    }

    /// The time between deadlines, in ns.
    pub fn interval_ns(&self) -> u64 {
        self.interval.unwrap_or(PositiveDuration::from_ns(INTERVAL_NS)).ns()
    }

    /// The time added to the interval of each further thread, in ns.
    pub fn distance_ns(&self) -> u64 {
        self.distance.map_or(0, Duration::ns)
    }

    /// The largest random delay of a deadline, in ns.
    pub fn dither_ns(&self) -> u64 {
        self.dither.map_or(0, Duration::ns)
    }

    /// The scheduling policy of threads with the wake method `wake`.
    pub fn policy(&self, wake: Wake) -> Policy {
        let default = if wake == Wake::Deadline { Policy::Deadline } else { Policy::default() };
        self.policy.unwrap_or(default)
    }

    /// The first thread's priority.
    pub fn priority(&self) -> u32 {
        self.priority.unwrap_or(90)
    }

    /// The number subtracted from the priority of each further thread.
    pub fn priority_step(&self) -> u32 {
        self.priority_step.unwrap_or(0)
    }

    /// The CPUs to measure.
    pub fn cpus(&self) -> &CpuSelection {
        self.cpus.as_ref().unwrap_or(&CpuSelection::All)
    }

    /// Longest exit latency of an idle state, in µs; `None` to leave idle states alone.
    pub fn dma_latency_us(&self) -> Option<u32> {
        match self.dma_latency.unwrap_or_default() {
            DmaLatency::Hold => Some(0),
            DmaLatency::Leave => None,
        }
    }

    /// Which late wake-ups are traced.
    pub fn causes(&self) -> CauseTracing {
        self.causes.unwrap_or(CauseTracing::Off)
    }
}
