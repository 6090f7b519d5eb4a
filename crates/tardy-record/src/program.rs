//! A user's program: the plan of watching it, and the fields of its series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scheduling::Policy;

/// What wakes a thread whose wait has a time-out, in [`WatchedThread::woken_by`]: a timer of its own.
pub const OWN_TIME_OUT: &str = "its time-out";
/// The same for timerfd_create(2).
pub const TIMERFD: &str = "timerfd";
/// The same for timer_create(2) and setitimer(2).
pub const TIMER_SIGNAL: &str = "timer's signal";
/// The same for SCHED_DEADLINE.
pub const DEADLINE: &str = "SCHED_DEADLINE";

/// A program whose threads are watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramPlan {
    /// The program as the user named it: a pid, a name, or a command.
    pub target: String,
    /// The latest end of a cycle's work after its due time, in ns; absent: the next due time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
}

/// What a series of a program measures in each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// From the due time to the return of the system call that waited for it.
    WakeUp,
    /// From one return of the waiting call to the next.
    Period,
    /// The thread's own CPU time, from that return to the next wait.
    Execution,
    /// The time in which others had the CPU while the thread wanted it, in the same span.
    Preemption,
    /// From the due time to the next wait.
    Response,
    /// Of a chain of threads: from the due time of the first one to the end of the last one's work.
    Chain,
    /// Of a stage of a chain: from being woken, of the first one from its due time, to the return of the call in which it
    /// waited.
    StageWakeUp,
    /// Of a stage of a chain: from that return to the time at which it woke the next one, of the last one to the end of its work.
    StageRun,
    /// Of a stretch that the program marks: from its begin to its end.
    Marked,
    /// Of such a stretch: from one begin to the next.
    MarkedPeriod,
}

/// One timing of one thread of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramSeries {
    /// What is measured.
    pub timing: Timing,
    /// The thread's number.
    pub tid: u32,
    /// The thread; in the series of its wake-ups only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Box<WatchedThread>>,
    /// The chain; in the series of its latency only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<WatchedChain>>,
    /// The marked stretch; in the series of its duration only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Box<WatchedMark>>,
    /// In series of chains, of their stages, and of marked stretches: which chain or stretch of the run, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// In series of stages: the index of the stage in the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
}

impl ProgramSeries {
    /// A timing of the thread `tid`.
    pub fn of_thread(timing: Timing, tid: u32, thread: Option<Box<WatchedThread>>) -> Self {
        Self { timing, tid, thread, chain: None, mark: None, number: None, stage: None }
    }
}

/// Threads that wake one another, from the timer of the first one on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedChain {
    /// The threads, in the order in which each wakes the next.
    pub stages: Vec<ChainStage>,
    /// The cycles of the first thread in the counted time. Not all of them need to pass through the chain.
    pub first_cycles: u64,
    /// The latest passages, the latest first.
    pub late: Vec<LatePassage>,
}

/// A thread of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainStage {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name, with that of the process if it is another one.
    pub name: String,
}

/// A passage through a chain, with the times of its stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatePassage {
    /// When the first thread was due, in ns from the start of the run.
    pub due_ns: u64,
    /// From then to the end of the last thread's work, in ns.
    pub took_ns: u64,
    /// The times of the stages, in their order. Their sum is `took_ns`.
    pub stages: Vec<StageTimes>,
}

/// The times of a stage in one passage, as [`Timing::StageWakeUp`] and [`Timing::StageRun`] define them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    /// How long it took to run after it was woken, in ns.
    pub wake_up_ns: u64,
    /// How long it took to wake the next one, in ns.
    pub run_ns: u64,
}

/// A stretch of a program whose begin and end the program itself marks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedMark {
    /// Its name in the marks.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// The usual time from one begin to the next, in ns; absent if there were too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The longest time from begin to end, in ns; absent if neither the user nor the interval defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Stretches that took longer.
    pub deadline_misses: u64,
    /// Begins without an end before the next begin.
    pub unfinished: u64,
}

/// A periodic thread of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedThread {
    /// The process.
    pub pid: u32,
    /// Its scheduling policy; absent if it had ended before it was read.
    pub policy: Option<Policy>,
    /// Its real-time priority; 0 for none.
    pub priority: u32,
    /// The system call in which it waits for its cycle, such as `clock_nanosleep`.
    pub wait: String,
    /// What ends the wait: its time-out, or the interrupt or the thread that wakes it.
    pub woken_by: String,
    /// Whether its timer has a schedule, which a late wake-up does not shift.
    pub has_schedule: bool,
    /// From one due time to the next, in ns.
    pub interval_ns: u64,
    /// The first due time that was counted, in ns from the start of the run.
    pub first_due_ns: u64,
    /// The longest timer slack: how much later than its due time the kernel was allowed to wake it.
    pub slack_ns: u64,
    /// The latest end of a cycle's work after its due time, in ns.
    pub deadline_ns: u64,
    /// Cycles whose work ended after that.
    pub deadline_misses: u64,
    /// Due times that the program never waited for, because its work took longer.
    pub skipped: u64,
    /// Page faults within cycles.
    pub faults: u64,
    /// Cycles that began on another CPU than the one before.
    pub migrations: u64,
    /// How often a new thread of the same name continued it.
    pub restarts: u64,
    /// Cycles that are explained, the longest without the delay of the cycle before first.
    pub late: Vec<LateCycle>,
}

/// A cycle with its causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateCycle {
    /// Its due time, in ns from the start of the run.
    pub due_ns: u64,
    /// From the due time to the return of the waiting call, in ns.
    pub latency_ns: i64,
    /// From the due time to the end of the work, in ns.
    pub response_ns: i64,
    /// Whether it missed its deadline.
    pub missed: bool,
    /// What took longer than usual, the longest first.
    pub causes: Vec<CycleCause>,
}

/// What made a cycle late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CycleCause {
    /// The kind of cause.
    pub why: Why,
    /// The task, interrupt or system call, with what is known of it.
    pub what: String,
    /// How long it took, in ns.
    pub took_ns: u64,
    /// How much longer that is than in other cycles of the thread, in ns.
    pub excess_ns: u64,
}

/// The kinds of causes of a late cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A task kept the timer's interrupt from running.
    InterruptsOff,
    /// The CPU left an idle state late.
    IdleExit,
    /// A handler of an interrupt or a soft interrupt ran.
    Interrupt,
    /// A task of higher priority ran.
    HigherPriority,
    /// A task of the same real-time priority ran.
    SamePriority,
    /// A task of lower priority could not be preempted.
    PreemptionOff,
    /// An ordinary task ran, because the thread has no real-time priority.
    NoPriority,
    /// The thread was ready, and its CPU idle or with other tasks: a limit of CPU time.
    Throttled,
    /// It waited for a mutex without priority inheritance.
    Mutex,
    /// It waited for another thread.
    OtherThread,
    /// It waited in a system call.
    SystemCall,
    /// It took page faults.
    PageFault,
    /// A signal, a debugger or a freezer stopped it.
    Stopped,
    /// It waited outside of system calls, and no event shows for what.
    UnknownWait,
    /// The cycle before ended after this one was due.
    PreviousCycle,
    /// Its own work took longer.
    OwnWork,
    /// The kernel's way from the interrupt to the program took longer.
    WakeUpPath,
}
