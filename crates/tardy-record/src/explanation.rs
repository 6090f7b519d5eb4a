//! What a wake-up in the lab consisted of: a file of its own, beside the run file.
//!
//! All positions and lengths are numbers of instructions, of which the lab's clock counts each as the same time.

use serde::{Deserialize, Serialize};

use crate::census::{Census, Coverage};

/// The version of the file's format.
pub const VERSION: u32 = 1;

/// Explanations of wake-ups of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanations {
    /// The version of the format ([`VERSION`]).
    pub explanation_version: u32,
    /// The identity of the run in the lab.
    pub identity: String,
    /// The run's name.
    pub run: String,
    /// Release of the kernel.
    pub kernel: String,
    /// How many ns an instruction takes.
    pub ns_per_instruction: u64,
    /// The wake-ups.
    pub wakeups: Vec<ExplainedWakeup>,
    /// The sections with interrupts or preemption off, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub census: Option<Census>,
    /// What ran and what did not, if that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// What the boot consisted of, if that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
}

/// The instructions from the start of the machine to the first program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// All of them.
    pub instructions: u64,
    /// The functions that they belong to, those with the most first.
    pub functions: Vec<BootFunction>,
}

/// A function that the boot executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootFunction {
    /// Its name.
    pub name: String,
    /// Its own instructions, without those of functions that it called.
    pub instructions: u64,
}

/// One wake-up of a series, explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedWakeup {
    /// The label of the phase.
    pub phase: String,
    /// The label of the series.
    pub series: String,
    /// Which one it is.
    pub which: Which,
    /// The number of its cycle in the phase.
    pub cycle: u64,
    /// Its explanation.
    pub explanation: Explanation,
}

/// Which wake-up of a series was explained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The latest.
    Worst,
    /// The first of those nearest to this quantile, from 0 to 1.
    Quantile(f64),
    /// That of a cycle.
    Cycle(u64),
}

/// A wake-up, explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The thread that was woken.
    pub thread: String,
    /// Its process id.
    pub pid: u32,
    /// When the timer was due, by the guest's monotonic clock in ns.
    pub due_ns: u64,
    /// How late the clock was read, in ns.
    pub latency_ns: u64,
    /// The instructions executed in that time.
    pub instructions: u64,
    /// The parts, in their order, without gaps.
    pub parts: Vec<Part>,
    /// Who held interrupts off when the timer was due.
    pub held_off: Option<HeldOff>,
    /// Instructions between the timer's time and its interrupt in which nothing held interrupts off.
    pub unexplained: u64,
    /// The functions of the whole time, by who called them. The first level are tasks.
    pub calls: Vec<Call>,
    /// The same, one after the other.
    pub timeline: Vec<Execution>,
}

/// A part of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What happens in it.
    pub kind: PartKind,
    /// Instructions from the timer's time to its beginning.
    pub start: u64,
    /// Its length.
    pub instructions: u64,
}

/// What happens in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The thread did not wait for the timer yet: the program's cycle before went on.
    CycleBefore,
    /// From the timer's time to that for which its hardware was set: the kernel reads the clock some instructions before it writes
    /// the hardware, whose ticks are coarser than the clock's.
    TimerHardware,
    /// From there to the timer's interrupt: interrupts were off.
    InterruptsOff,
    /// The same, but nothing that was observed held interrupts off.
    Unexplained,
    /// The interrupt's entry.
    InterruptEntry,
    /// The kernel's timers, up to that of the thread.
    Timer,
    /// The thread is made ready.
    WakeUp,
    /// Until the switch to the thread begins.
    Scheduling,
    /// The switch.
    Switch,
    /// From the switch to the program.
    Return,
    /// The program, until it reads the clock.
    Program,
}

/// A section with interrupts off that a timer had to wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldOff {
    /// The function that turned interrupts off; `None` if that was before the record begins.
    pub by: Option<String>,
    /// The task in which that was.
    pub task: String,
    /// How many instructions before the timer's time.
    pub since: u64,
    /// How many instructions after it they were turned on.
    pub until: u64,
}

/// A function in the tree of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// How often it was executed here.
    pub count: u64,
    /// The instructions in it and in what it called.
    pub total: u64,
    /// The instructions in it alone.
    pub own: u64,
    /// What it called, the longest first.
    pub calls: Vec<Call>,
}

/// An execution of a function on the time axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Its name.
    pub name: String,
    /// How many functions it was called through.
    pub depth: usize,
    /// Instructions from the timer's time to its beginning.
    pub start: u64,
    /// Its length.
    pub instructions: u64,
}
