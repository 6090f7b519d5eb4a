//! Which sections of a run in the lab had interrupts or preemption off, what could delay a thread by them, and what did not run.
//!
//! All lengths are numbers of instructions, of which the lab's clock counts each as the same time. They are part of the file of
//! [`crate::explanation`].

use serde::{Deserialize, Serialize};

/// All sections of the measured part of a run: from the first wake-up of a measuring thread to the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Census {
    /// Sections by where they begin and end, of each kind the longest first.
    pub sections: Vec<Sections>,
    /// For each kind how many sections have which length.
    pub lengths: Vec<Lengths>,
    /// Interrupts by their entry, the most frequent first.
    pub interrupts: Vec<InterruptEntry>,
    /// The bound of the model, for kernels with `PREEMPT_RT`.
    pub bound: Option<Bound>,
}

/// What is off in a section, or what happens in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    /// Interrupts are off.
    InterruptsOff,
    /// Preemption is off; interrupts that come are part of it.
    PreemptionOff,
    /// An interrupt is handled.
    Interrupt,
    /// A thread has interrupts or preemption off, and does not switch. Without interrupts.
    Postponed,
    /// A thread has interrupts or preemption off, and switches. Without interrupts.
    Switching,
    /// The beginning of such a section, up to the switch.
    ToSwitch,
    /// From where a wanted switch is allowed to the section with the switch.
    ToScheduler,
}

/// In whose place the CPU executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// A thread's.
    Thread,
    /// A soft interrupt's.
    SoftInterrupt,
    /// An interrupt's.
    Interrupt,
}

/// The sections of a kind that begin and end in the same functions, in the same context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sections {
    /// What is off.
    pub kind: SectionKind,
    /// The context in which they begin.
    pub context: Context,
    /// The function in which they begin. Of `_raw_spin_lock_irqsave()` and others that do so for their caller, it is the caller.
    pub from: String,
    /// The function in which they end.
    pub to: String,
    /// How many there are.
    pub count: u64,
    /// Their instructions together.
    pub total: u64,
    /// The instructions of the longest.
    pub longest: u64,
    /// When it began, by the guest's monotonic clock in ns.
    pub longest_at_ns: u64,
    /// The thread in which it ended.
    pub task: String,
}

/// How many sections of a kind have which length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// The kind.
    pub kind: SectionKind,
    /// Lower end in instructions, the upper end after it, and the count, of those that are not empty.
    pub bins: Vec<(u64, u64, u64)>,
}

/// Interrupts of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptEntry {
    /// The entry's function, or `vector N` of a device.
    pub name: String,
    /// How many came.
    pub count: u64,
    /// Instructions of the longest.
    pub longest: u64,
    /// Instructions of all together.
    pub total: u64,
    /// The shortest time in ns in which 2, 3, 4 and so on of them came; as far as so many came.
    pub distances_ns: Vec<u64>,
}

/// The bound of the scheduling latency of the thread with the highest priority, by the model of de Oliveira et al., "Demystifying the
/// Real-Time Linux Scheduling Latency", ECRTS 2020, from the sections that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The longest section that postpones the scheduler: POID.
    pub postponed: Option<Term>,
    /// The longest section that switches: DST. The longer of both counts.
    pub switching: Option<Term>,
    /// From enabling to the scheduler: PAIE.
    pub to_scheduler: Option<Term>,
    /// From the scheduler to the switch: PSD.
    pub to_switch: Term,
    /// Interrupts that can come in that time.
    pub interrupts: Vec<Interference>,
    /// All together, in instructions.
    pub instructions: u64,
    /// The longest time in instructions that was observed from when the timer fires to the switch.
    pub observed: u64,
    /// The longest lateness of the timer itself, which the model does not contain, in instructions.
    pub timer: u64,
    /// The longest way from the switch to the reading of the clock, which the model does not contain, in instructions.
    pub to_reading: u64,
}

/// A section that the bound is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// Its kind.
    pub kind: SectionKind,
    /// Its instructions.
    pub instructions: u64,
    /// The function in which it begins.
    pub from: String,
    /// The function in which it ends.
    pub to: String,
    /// The thread in which it ended.
    pub task: String,
}

/// Interrupts of one entry that can come within the bound's window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interference {
    /// The entry.
    pub name: String,
    /// How many can come.
    pub count: u64,
    /// Instructions of each.
    pub each: u64,
}

/// Functions that turn interrupts or preemption off, and whether they ran in the measured part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Those that ran.
    pub ran: Vec<String>,
    /// Those that never ran.
    pub never: Vec<String>,
}
