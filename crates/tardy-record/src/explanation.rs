//! What a wake-up in the lab consisted of, or a cycle of a program: a file of its own, beside the run file.
//!
//! All positions and lengths are numbers of instructions, of which the lab's clock counts each as the same time. Time in which the CPU
//! slept counts as the instructions that it would have taken.

use std::cmp::Reverse;

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

/// How far an explanation goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// To the end of the wake-up: the reading of the clock, or the return to the program.
    #[default]
    WakeUp,
    /// To the system call in which the program waits for its next cycle.
    Cycle,
}

impl Extent {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A wake-up, or a whole cycle, explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The thread that was woken.
    pub thread: String,
    /// Its process id.
    pub pid: u32,
    /// How far it goes.
    #[serde(default, skip_serializing_if = "Extent::is_default")]
    pub extent: Extent,
    /// When the timer was due, by the guest's monotonic clock in ns.
    pub due_ns: u64,
    /// From then to the end of what is explained, in ns.
    pub latency_ns: u64,
    /// The same in instructions.
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

impl Explanation {
    /// The parts of each kind together, in the order in which their kinds come first.
    pub fn kinds(&self) -> Vec<KindOfParts<'_>> {
        let mut kinds: Vec<KindOfParts<'_>> = Vec::new();
        for part in &self.parts {
            let index = kinds.iter().position(|one| one.kind == part.kind).unwrap_or_else(|| {
                kinds.push(KindOfParts { kind: part.kind, instructions: 0, named: Vec::new() });
                kinds.len() - 1
            });
            kinds[index].add(part);
        }
        kinds.iter_mut().for_each(|one| one.named.sort_by_key(|(_, instructions)| Reverse(*instructions)));
        kinds
    }
}

/// All parts of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindOfParts<'a> {
    /// The kind.
    pub kind: PartKind,
    /// Their length together.
    pub instructions: u64,
    /// Their names, each with the length of its parts, the longest first.
    pub named: Vec<(&'a str, u64)>,
}

impl<'a> KindOfParts<'a> {
    fn add(&mut self, part: &'a Part) {
        self.instructions += part.instructions;
        let Some(name) = &part.name else { return };
        match self.named.iter_mut().find(|(known, _)| known == name) {
            Some((_, instructions)) => *instructions += part.instructions,
            None => self.named.push((name, part.instructions)),
        }
    }
}

/// A part of a wake-up or of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What happens in it.
    pub kind: PartKind,
    /// After a wake-up: the system call, exception or interrupt, or the task that has the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
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
    /// The program: until it reads the clock, or its work in a cycle.
    Program,
    /// In a cycle after its wake-up, like those that follow: the kernel, for a system call of the thread.
    SystemCall,
    /// An exception of the thread, such as a page fault.
    Exception,
    /// An interrupt while the thread has the CPU, with the soft interrupts at its end.
    Interrupt,
    /// Other tasks have the CPU, and the thread is ready to run.
    Preempted,
    /// The thread waits in the named system call or exception.
    Blocked,
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
