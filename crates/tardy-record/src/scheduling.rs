//! How a measuring thread is scheduled and how it waits: its policy, its wake method and the clock of its deadlines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a thread waits for its next deadline.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// clock_nanosleep(2) with TIMER_ABSTIME.
    #[default]
    ClockNanosleep,
    /// clock_nanosleep(2) relative: each sleep starts when the last wake-up has ended.
    Nanosleep,
    /// A POSIX timer and its signal (timer_settime(2), sigwaitinfo(2)).
    TimerSettime,
    /// The process's interval timer and SIGALRM (setitimer(2)).
    Setitimer,
    /// timerfd_create(2) and read(2).
    Timerfd,
    /// Spinning on the clock.
    Busy,
    /// SCHED_DEADLINE's own period, ended by sched_yield(2).
    Deadline,
}

impl Wake {
    /// All variants, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::ClockNanosleep,
        Self::Nanosleep,
        Self::TimerSettime,
        Self::Setitimer,
        Self::Timerfd,
        Self::Busy,
        Self::Deadline,
    ];

    /// The name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClockNanosleep => "clock_nanosleep",
            Self::Nanosleep => "nanosleep",
            Self::TimerSettime => "timer_settime",
            Self::Setitimer => "setitimer",
            Self::Timerfd => "timerfd",
            Self::Busy => "busy",
            Self::Deadline => "deadline",
        }
    }

    /// Whether the method has a schedule that continues while the thread is late, so that deadlines can be missed.
    ///
    /// A relative sleep has none: a late wake-up delays all later ones, and no deadline is missed.
    pub fn has_schedule(self) -> bool {
        self != Self::Nanosleep
    }
}

/// The clock of the deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockId {
    /// CLOCK_MONOTONIC.
    #[default]
    Monotonic,
    /// CLOCK_REALTIME.
    Realtime,
    /// CLOCK_TAI.
    Tai,
}

impl ClockId {
    /// The name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Realtime => "realtime",
            Self::Tai => "tai",
        }
    }
}

/// Scheduling policy (sched(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// SCHED_FIFO.
    #[default]
    Fifo,
    /// SCHED_RR.
    Rr,
    /// SCHED_OTHER.
    Other,
    /// SCHED_DEADLINE.
    Deadline,
}

impl Policy {
    /// The name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Rr => "rr",
            Self::Other => "other",
            Self::Deadline => "deadline",
        }
    }

    /// Whether the policy has a priority from 1 to 99.
    pub fn has_priority(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr)
    }
}
