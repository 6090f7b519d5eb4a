//! What the kernel did on one CPU around a late wake-up, from its own trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most events that a moment keeps; of more, the last ones.
pub const MOMENT_EVENTS_MAX: usize = 512;
/// Of how many of a thread's worst wake-ups moments are kept.
pub const MOMENT_COUNT: usize = 24;

/// One late wake-up as the kernel's trace shows it, from a little before the deadline to the wake-up's end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The thread that was late, by the kernel's number.
    pub tid: u32,
    /// The real-time priority that it had, 0 for none.
    pub priority: u32,
    /// From when on the trace is whole, in ns from the deadline: events before may have been overwritten, or were too
    /// many to keep.
    pub whole_from_ns: i64,
    /// What happened on its CPU, in the order of time. Before that time there are only the beginnings of what had not
    /// ended by then.
    pub events: Vec<MomentEvent>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentEvent {
    /// When, in ns from the deadline.
    pub at_ns: i64,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened, by the kernel's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Happening {
    /// The scheduler took the CPU from one task and gave it to another (sched_switch).
    Switch {
        /// Who ran until now.
        from: Task,
        /// Who runs from now on.
        to: Task,
    },
    /// A task was made ready to run (sched_wakeup).
    Ready {
        /// The task.
        task: Task,
    },
    /// A device's interrupt handler begins (irq_handler_entry).
    IrqBegin {
        /// The interrupt's number.
        irq: u32,
        /// The handler's name.
        name: String,
    },
    /// It ends (irq_handler_exit).
    IrqEnd {
        /// The interrupt's number.
        irq: u32,
    },
    /// A soft interrupt begins (softirq_entry).
    SoftirqBegin {
        /// Its name in /proc/softirqs.
        name: String,
    },
    /// It ends (softirq_exit).
    SoftirqEnd {
        /// Its name in /proc/softirqs.
        name: String,
    },
    /// An interrupt of the CPU's own begins: its timer, a call from another CPU (irq_vectors, ipi).
    VectorBegin {
        /// The event's name, such as `local_timer`.
        name: String,
    },
    /// It ends.
    VectorEnd {
        /// The event's name.
        name: String,
    },
    /// A timer's function begins, in a timer's interrupt or soft interrupt (hrtimer_expire_entry).
    TimerBegin {
        /// The function, by its symbol or, where symbols are hidden, its address.
        function: String,
    },
    /// It ends (hrtimer_expire_exit).
    TimerEnd,
    /// A handler of a non-maskable interrupt has ended (nmi_handler).
    Nmi {
        /// How long it took.
        took_ns: u64,
    },
    /// The idle CPU goes into a state of rest, or comes out of it (cpu_idle).
    Idle {
        /// The state's number; absent when it comes out.
        state: Option<u32>,
    },
}

impl Happening {
    /// By how much it changes how many things are on top of the CPU's task: 1 where one begins, -1 where one ends.
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
}

/// A task as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Its number; 0 is the CPU's own idle task.
    pub tid: u32,
    /// The kernel's own priority: below 0 SCHED_DEADLINE, 0 to 98 a real-time priority of 99 to 1, from 100 on none
    /// (include/linux/sched/prio.h).
    pub priority: i32,
}

impl Task {
    /// The real-time priority, 1 to 99, if it has one.
    pub fn realtime_priority(&self) -> Option<u32> {
        (0..=98).contains(&self.priority).then(|| (99 - self.priority) as u32)
    }

    /// Whether the scheduler would let it run before a thread of real-time priority `than` (0: none).
    pub fn goes_before(&self, than: u32) -> bool {
        self.priority < 0 || self.realtime_priority().is_some_and(|own| own > than)
    }

    /// Whether it is the task that runs when there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.tid == 0
    }
}

/// Tracing for causes, as it was for one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTrace {
    /// How often the trace was stopped at a late wake-up and read.
    pub stops: u64,
    /// Late wake-ups of which the trace had nothing: another had just stopped it.
    pub not_traced: u64,
    /// What tracing costs; absent where the warm-up was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<TracingCost>,
}

/// What tracing costs a wake-up: the warm-up is traced in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracingCost {
    /// Median lateness with the trace on.
    pub traced_ns: i64,
    /// Median lateness with it off.
    pub untraced_ns: i64,
}

impl TracingCost {
    /// How much later a wake-up is that is traced.
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
