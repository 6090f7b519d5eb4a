//! A cycle of a thread: from the time at which it was due to the next wait, with everything the thread did.

use crate::event::Name;
use crate::wait::{Block, Call, Source, Wait};

/// The most activities of a cycle that are kept in order.
const LOG_MAX: usize = 2048;

/// What a thread does from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It runs.
    Run {
        /// On this CPU.
        cpu: u32,
    },
    /// It is ready to run, and another task has the CPU.
    Ready {
        /// The CPU.
        cpu: u32,
        /// What made it ready; `None` if it was preempted.
        by: Option<(Source, Name)>,
    },
    /// It waits.
    Blocked {
        /// The system call in which it waits; `None` outside of one.
        call: Option<Call>,
        /// What for.
        block: Block,
    },
    /// It took a page fault; what it did before continues.
    Fault,
}

/// A cycle so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// The wait that it began with.
    pub wait: Wait,
    /// The times at which the thread did something else, from the return of the wait on.
    pub log: Vec<(u64, Activity)>,
    /// Whether [`Self::log`] is cut.
    pub is_cut: bool,
    /// Sums of the whole cycle.
    pub times: Times,
    /// System calls of the cycle that took long, with their times.
    pub calls: Vec<(Call, u64)>,
    /// When its work ended: when the thread entered the next wait.
    pub end_ns: u64,
    /// Whether it began on another CPU than the cycle before.
    pub migrated: bool,
    /// Due times between this cycle's and the next one's.
    pub skipped: u64,
    /// The thread's number of the cycle, from 0, with skipped ones.
    pub number: u64,
    /// From the previous cycle's begin to this one's; `None` for the first one.
    pub period_ns: Option<u64>,
}

/// Sums of a cycle, from the return of the wait to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time on a CPU, without interrupts.
    pub own_ns: u64,
    /// Time in which others had the CPU: other tasks while the thread was ready, and interrupts.
    pub preempted_ns: u64,
    /// Time in which the thread waited.
    pub blocked_ns: u64,
    /// Page faults.
    pub faults: u64,
}

impl Cycle {
    /// A cycle that begins with the return of `wait`.
    pub fn begun(wait: Wait, number: u64) -> Self {
        Self {
            log: vec![(wait.left_ns, Activity::Run { cpu: wait.cpu })],
            wait,
            is_cut: false,
            times: Times::default(),
            calls: Vec::new(),
            end_ns: wait.left_ns,
            migrated: false,
            skipped: 0,
            number,
            period_ns: None,
        }
    }

    /// From the due time to the return of the waiting call.
    pub fn latency_ns(&self) -> i64 {
        self.wait.left_ns as i64 - self.wait.due_ns()
    }

    /// From the due time to the end of the work.
    pub fn response_ns(&self) -> i64 {
        self.end_ns as i64 - self.wait.due_ns()
    }

    /// The same without what the cycle before delayed: from the due time, or from entering the wait if that was later.
    pub fn own_response_ns(&self) -> i64 {
        self.end_ns as i64 - self.wait.due_ns().max(self.wait.call.entered_ns as i64)
    }

    /// Adds an activity.
    pub fn note(&mut self, at_ns: u64, activity: Activity) {
        if activity == Activity::Fault {
            self.times.faults += 1;
        }
        if self.log.len() < LOG_MAX {
            self.log.push((at_ns, activity));
        } else {
            self.is_cut = true;
        }
    }

    /// What the thread does now.
    pub fn latest(&self) -> Option<Activity> {
        self.log.iter().rev().map(|(_, activity)| *activity).find(|activity| *activity != Activity::Fault)
    }

    /// The stretches of the cycle: from, to, and what the thread did.
    pub fn stretches(&self) -> impl Iterator<Item = (u64, u64, Activity)> + '_ {
        let lasting: Vec<(u64, Activity)> =
            self.log.iter().copied().filter(|(_, activity)| *activity != Activity::Fault).collect();
        let ends: Vec<u64> = lasting.iter().skip(1).map(|(at, _)| *at).chain([self.end_ns]).collect();
        lasting
            .into_iter()
            .zip(ends)
            .map(|((from, activity), to)| (from.min(self.end_ns), to.min(self.end_ns), activity))
    }
}
