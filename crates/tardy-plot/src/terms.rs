//! The terms for one kind of readings, on plots, in captions and in comparisons.

use tardy_record::census::SectionKind;
use tardy_record::explanation::{Explanation, Extent, PartKind, Which};

use crate::numbers::with_unit;

/// The terms for the readings of a series. Each is a heading or a part of a sentence, in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Heading of the section that shows the distribution.
    pub distribution: &'static str,
    /// The measured quantity: `latency`, `length`.
    pub quantity: &'static str,
    /// Heading of the section that shows the tail.
    pub tail: &'static str,
    /// What a plot of the tail shows of the readings, as in "The share of wake-ups *at least as late as each latency*".
    pub exceeding: &'static str,
    /// The adjective: `late` or `long`.
    pub degree: &'static str,
    /// The name of the axis of values, with the unit.
    pub axis: &'static str,
    /// The highest value: `highest latency`.
    pub peak: &'static str,
    /// The values, in the plural: `latencies`.
    pub values: &'static str,
    /// The comparative: `later` or `longer`.
    pub more: &'static str,
    /// All series of a phase together.
    pub pooled: &'static str,
}

/// Terms for latencies of wake-ups.
pub const LATENCY: Terms = Terms {
    distribution: "Latency distribution",
    quantity: "latency",
    tail: "Tail of the distribution",
    exceeding: "at least as late as each latency",
    degree: "late",
    axis: "latency, µs",
    peak: "highest latency",
    values: "latencies",
    more: "later",
    pooled: "all CPUs",
};

/// The name of a part of an explained wake-up.
pub fn part_name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::CycleBefore => "the cycle before",
        PartKind::TimerHardware => "timer hardware",
        PartKind::InterruptsOff => "interrupts off",
        PartKind::Unexplained => "unexplained",
        PartKind::InterruptEntry => "interrupt entry",
        PartKind::Timer => "timer",
        PartKind::WakeUp => "wake-up",
        PartKind::Scheduling => "scheduling",
        PartKind::Switch => "switch",
        PartKind::Return => "return",
        PartKind::Program => "program",
        PartKind::SystemCall => "system calls",
        PartKind::Exception => "exceptions",
        PartKind::Interrupt => "interrupts",
        PartKind::Preempted => "other tasks",
        PartKind::Blocked => "waiting",
    }
}

/// Which wake-up or cycle it is.
pub fn explained(which: Which, extent: Extent) -> String {
    let (one, worst, like) = match extent {
        Extent::WakeUp => ("wake-up", "worst", "late"),
        Extent::Cycle => ("cycle", "longest", "long"),
    };
    match which {
        Which::Worst => format!("the {worst} {one}"),
        Which::Quantile(share) => format!("a {one} as {like} as the quantile p{}", share * 100.0),
        Which::Cycle(_) => format!("the {one}"),
    }
}

/// How late it was, or when its work ended.
pub fn lateness(explanation: &Explanation) -> String {
    let late = with_unit(explanation.latency_ns as f64);
    match explanation.extent {
        Extent::WakeUp => format!("was {late} late"),
        Extent::Cycle => format!("ended {late} after it was due"),
    }
}

/// What is off in a section, in words.
pub fn section_name(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::InterruptsOff => "interrupts off",
        SectionKind::PreemptionOff => "preemption off",
        SectionKind::Interrupt => "interrupt",
        SectionKind::Postponed => "scheduler postponed",
        SectionKind::Switching => "switch",
        SectionKind::ToSwitch => "to the switch",
        SectionKind::ToScheduler => "to the scheduler",
    }
}
