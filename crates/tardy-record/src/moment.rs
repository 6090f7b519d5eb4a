//! The kernel's activity on one CPU around a late wake-up, from its trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most events that a moment keeps; the last ones if there are more.
pub const MOMENT_EVENTS_MAX: usize = 512;
/// The most handlers that are open at once: an interrupt inside a soft interrupt inside an interrupt, with room to spare.
pub const OPEN_MAX: usize = 8;
/// The number of worst wake-ups per thread whose moments are kept.
pub const MOMENT_COUNT: usize = 24;

/// One late wake-up in the kernel's trace, from shortly before the deadline to the end of the wake-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The late thread, by its kernel thread id.
    pub tid: u32,
    /// Its real-time priority; 0 for none.
    pub priority: u32,
    /// The time from which the trace is complete, in ns from the deadline. Earlier events may have been overwritten or
    /// left out.
    pub whole_from_ns: i64,
    /// When the thread began to wait, in ns from the deadline: above 0 if its cycle before ended after the deadline. Absent if
    /// it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_from_ns: Option<i64>,
    /// The events on its CPU, in order of time: first the starts of the interrupts, soft interrupts and timer functions
    /// that were still running at `whole_from_ns`, then every event from that time on.
    pub events: Vec<MomentEvent>,
}

/// A kernel event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentEvent {
    /// When it happened, in ns from the deadline.
    pub at_ns: i64,
    /// The event.
    #[serde(flatten)]
    pub what: Happening,
}

/// The kind of a kernel event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Happening {
    /// The scheduler switched from one task to another (sched_switch).
    Switch {
        /// The previous task.
        from: Task,
        /// The next task.
        to: Task,
    },
    /// A task became ready to run (sched_wakeup).
    Ready {
        /// The task.
        task: Task,
    },
    /// A device's interrupt handler starts (irq_handler_entry).
    IrqBegin {
        /// The interrupt's number.
        irq: u32,
        /// The handler's name.
        name: String,
    },
    /// A device's interrupt handler ends (irq_handler_exit).
    IrqEnd {
        /// The interrupt's number.
        irq: u32,
    },
    /// A softirq starts (softirq_entry).
    SoftirqBegin {
        /// Its name in /proc/softirqs.
        name: String,
    },
    /// A softirq ends (softirq_exit).
    SoftirqEnd {
        /// Its name in /proc/softirqs.
        name: String,
    },
    /// An interrupt of the CPU itself starts: its timer, or a call from another CPU (irq_vectors, ipi).
    VectorBegin {
        /// The event's name, such as `local_timer`.
        name: String,
    },
    /// An interrupt of the CPU itself ends.
    VectorEnd {
        /// The event's name.
        name: String,
    },
    /// A timer callback starts, in a timer interrupt or softirq (hrtimer_expire_entry).
    TimerBegin {
        /// The function, by its symbol, or by its address if symbols are hidden.
        function: String,
    },
    /// A timer callback ends (hrtimer_expire_exit).
    TimerEnd,
    /// An NMI handler has ended (nmi_handler).
    Nmi {
        /// Its duration.
        took_ns: u64,
    },
    /// The idle CPU enters or leaves an idle state (cpu_idle).
    Idle {
        /// The index of the state; absent when the CPU leaves it.
        state: Option<u32>,
    },
}

impl Happening {
    /// The change in the number of handlers that run on top of the CPU's task: 1 for a start, -1 for an end.
    pub fn depth_change(&self) -> i32 {
        match self {
            Self::IrqBegin { .. }
            | Self::SoftirqBegin { .. }
            | Self::VectorBegin { .. }
            | Self::TimerBegin { .. } => 1,
            Self::IrqEnd { .. } | Self::SoftirqEnd { .. } | Self::VectorEnd { .. } | Self::TimerEnd => -1,
            Self::Switch { .. } | Self::Ready { .. } | Self::Nmi { .. } | Self::Idle { .. } => 0,
        }
    }

    /// Whether it is the end of the handler whose start is `begun`.
    pub fn ends(&self, begun: &Self) -> bool {
        match (self, begun) {
            (Self::IrqEnd { irq }, Self::IrqBegin { irq: begun, .. }) => irq == begun,
            (Self::SoftirqEnd { name }, Self::SoftirqBegin { name: begun })
            | (Self::VectorEnd { name }, Self::VectorBegin { name: begun }) => name == begun,
            (Self::TimerEnd, Self::TimerBegin { .. }) => true,
            _ => false,
        }
    }
}

/// The handlers that have begun in `events` and not ended, the outermost first. `what` is the event of one of them.
pub fn still_open<E>(events: &[E], what: impl Fn(&E) -> &Happening) -> Vec<&E> {
    let mut open: Vec<&E> = Vec::new();
    for event in events {
        match what(event).depth_change() {
            1 => open.push(event),
            -1 => {
                if let Some(index) = open.iter().rposition(|begun| what(event).ends(what(begun))) {
                    open.truncate(index);
                }
            }
            _ => {}
        }
    }
    open.truncate(OPEN_MAX);
    open
}

/// A task in a scheduler event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Its pid; 0 is the CPU's idle task.
    pub tid: u32,
    /// The kernel's priority: below 0 for SCHED_DEADLINE, 0 to 98 for real-time priorities 99 to 1, 100 and above for
    /// other policies (include/linux/sched/prio.h).
    pub priority: i32,
}

impl Task {
    /// The real-time priority, 1 to 99, if it has one.
    pub fn realtime_priority(&self) -> Option<u32> {
        (0..=98).contains(&self.priority).then(|| (99 - self.priority) as u32)
    }

    /// Whether the scheduler prefers it to a thread of real-time priority `than` (0: none).
    pub fn goes_before(&self, than: u32) -> bool {
        self.priority < 0 || self.realtime_priority().is_some_and(|own| own > than)
    }

    /// Whether it is the idle task.
    pub fn is_idle(&self) -> bool {
        self.tid == 0
    }
}

/// The tracing of one thread for the causes of late wake-ups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTrace {
    /// How often the trace was stopped at a late wake-up and read.
    pub stops: u64,
    /// Late wake-ups without a trace, because an earlier one had just stopped the trace.
    pub not_traced: u64,
    /// The cost of tracing; absent if the warm-up was too short to measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<TracingCost>,
    /// Why the worst wake-up has no trace; absent if it has one, or if the reason is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_untraced: Option<Untraced>,
}

/// Why a late wake-up has no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Untraced {
    /// The trace was not on yet.
    NotBegun,
    /// An earlier late wake-up had stopped the trace, which was being read.
    BeingRead,
    /// The kernel's buffer did not reach back to the deadline.
    Overwritten,
}

/// The cost of tracing a wake-up, from a warm-up in which tracing is switched on and off in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracingCost {
    /// Median latency with tracing on.
    pub traced_ns: i64,
    /// Median latency with tracing off.
    pub untraced_ns: i64,
}

impl TracingCost {
    /// The additional latency of a traced wake-up.
    pub fn cost_ns(self) -> i64 {
        self.traced_ns - self.untraced_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_the_kernels() {
        let task = |priority| Task { name: "a".to_owned(), tid: 1, priority };
        assert_eq!(task(9).realtime_priority(), Some(90));
        assert_eq!(task(120).realtime_priority(), None);
        assert!(task(4).goes_before(90) && task(-1).goes_before(99));
        assert!(!task(9).goes_before(90) && !task(120).goes_before(0));
    }
}
