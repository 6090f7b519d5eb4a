//! Why numbers must not be used: each reason is a value with its wording here, and text in a run file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::series::Level;
use crate::units::{counted, format_duration_ns};

/// A reason that invalidates a phase or a run. Two reasons are equal if their texts are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Reason {
    /// A text from a run file, from another tool's file, or from the process that failed.
    Stated(String),
    /// The kernel did not let the supervisor wait.
    SupervisorCannotWait {
        /// The kernel's message.
        error: String,
    },
    /// A probe did not end when asked.
    ProbeUnresponsive {
        /// Its process id.
        pid: u32,
    },
    /// CLOCK_REALTIME was set while a thread waited for it or for CLOCK_TAI.
    ClockSet {
        /// By how much, in ns; positive if forward.
        by_ns: i64,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// The machine was suspended.
    Suspended {
        /// How long, in ns.
        for_ns: u64,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// The kernel changed the source of its clocks.
    ClockSourceChanged {
        /// The source before.
        from: String,
        /// The source after.
        to: String,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// A measured CPU went offline.
    CpuOffline {
        /// The CPU.
        cpu: u32,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// A thread that was pinned to a CPU may run on others.
    ThreadMoved {
        /// The CPU that it measures.
        cpu: u32,
        /// The CPUs that it may run on, as a list.
        allowed: String,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// The probe was stopped by a signal.
    ProbeStopped {
        /// Its process id.
        pid: u32,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// The supervisor and all measuring threads stood still at the same time, while the machine ran.
    AllStopped {
        /// How long at least, in ns.
        for_ns: u64,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// A pinned thread ran on another CPU.
    ThreadMigrated {
        /// The CPU that it measures.
        cpu: u32,
        /// Number of migrations.
        times: u64,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// Another process changed a measuring thread's policy or priority.
    ThreadRescheduled {
        /// The CPU that it measures.
        cpu: u32,
        /// Policy and priority before.
        from: String,
        /// Policy and priority after.
        to: String,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
    },
    /// A probe reported twice that it waits for the start.
    ProbeReadyTwice,
    /// The program that serves timerlat's user thread ended.
    UserThreadEnded {
        /// The thread's CPU.
        cpu: u32,
    },
    /// Another tool had to be killed.
    ToolKilled {
        /// The tool's name.
        tool: String,
        /// Whether the user interrupted twice; otherwise the tool took too long.
        on_request: bool,
    },
    /// Another program ended with an error, or too early.
    ProgramEnded {
        /// The tool's name, or the program's purpose.
        program: String,
        /// Its exit status or signal.
        how: String,
        /// The last line of its output.
        last_line: String,
    },
    /// The output of another tool does not have the format that its importer reads.
    OutputUnreadable {
        /// The tool's name.
        tool: String,
        /// The importer's message.
        error: String,
        /// The last line of the output.
        last_line: String,
    },
    /// Another tool reports that it measured at another level than it was asked to.
    OtherLevel {
        /// The tool's name.
        tool: String,
        /// The level in the plan.
        asked: Level,
        /// The level in the tool's output.
        reported: Level,
    },
    /// Another tool reports another period than it was asked to use.
    OtherPeriod {
        /// The tool's name.
        tool: String,
        /// The period in the plan, in ns.
        asked_ns: u64,
        /// The period in the tool's output, in ns.
        reported_ns: u64,
    },
    /// Another tool measured for less time than it was asked to.
    TooShort {
        /// The tool's name.
        tool: String,
        /// The duration in the plan, in ns.
        asked_ns: u64,
        /// The duration in the tool's output, in ns.
        measured_ns: u64,
    },
    /// The talkers of a switch's test did not end when asked.
    TalkersUnresponsive,
    /// Frames wait in a switch's port after every talker has stopped.
    FramesStuck {
        /// The port's interface.
        port: String,
        /// Number of frames.
        frames: u64,
    },
    /// Frames were received of which the kernel gave no time.
    FramesWithoutTime {
        /// The flow's name.
        flow: String,
        /// Number of frames.
        frames: u64,
    },
    /// A series of a complete run has no reading.
    NothingRecorded {
        /// The series' label.
        series: String,
        /// The label of its phase.
        phase: String,
    },
    /// A reason that belongs to one phase.
    InPhase {
        /// The phase's label.
        phase: String,
        /// The reason.
        reason: Box<Reason>,
    },
    /// A load died before the end of its last phase.
    LoadDied {
        /// The load and its part.
        load: String,
        /// When that was noticed, in ns from the start of the run.
        at_ns: u64,
        /// Exit status, signal or message.
        how: String,
    },
    /// A load did too little in a phase.
    LoadFellShort {
        /// The load and its part.
        load: String,
        /// The phase's label.
        phase: String,
        /// In what way.
        how: Shortfall,
    },
}

/// How a load's part did too little.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// It was not running at this time, in ns from the start of the run.
    NotRunning {
        /// In ns from the start of the run.
        at_ns: u64,
    },
    /// It was read less than twice in the phase.
    TooFewReadings,
    /// It did nothing for `stood_ns`; `of_ns` is the phase's length if that is longer.
    Standstill {
        /// How long it did nothing, in ns.
        stood_ns: u64,
        /// The length of the phase, in ns; `None` if it did nothing in the whole phase.
        of_ns: Option<u64>,
    },
    /// Its rate fell below half of its median.
    RateFell {
        /// Begin of the slow stretch, in ns from the start of the run.
        from_ns: u64,
        /// Length of the slow stretch, in ns.
        length_ns: u64,
        /// Rate in the stretch, per second.
        rate: f64,
        /// Median rate in the phase, per second.
        median: f64,
        /// What is counted.
        unit: String,
    },
    /// Its mean rate was below the floor that the user set.
    BelowFloor {
        /// Mean rate, per second.
        rate: f64,
        /// The floor, per second.
        floor: f64,
        /// What is counted.
        unit: String,
    },
}

impl Reason {
    /// The same reason as one of this phase.
    pub fn in_phase(&self, phase: &str) -> Self {
        Self::InPhase { phase: phase.to_owned(), reason: Box::new(self.clone()) }
    }
}

/// All `reasons` in one line.
pub fn joined(reasons: &[Reason]) -> String {
    reasons.iter().map(Reason::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated(text) => f.write_str(text),
            Self::SupervisorCannotWait { error } => write!(f, "the supervisor cannot wait: {error}"),
            Self::ProbeUnresponsive { pid } => {
                write!(f, "the probe (pid {pid}) did not stop when asked, and was killed")
            }
            Self::ClockSet { by_ns, at_ns } => {
                let by = format_duration_ns(by_ns.unsigned_abs());
                let direction = if *by_ns < 0 { "back" } else { "forward" };
                write!(f, "CLOCK_REALTIME was set {direction} by {by}, noticed at {:.1} s", seconds(*at_ns))
            }
            Self::Suspended { for_ns, at_ns } => write!(
                f,
                "the machine was suspended for {:.1} s, noticed at {:.1} s",
                seconds(*for_ns),
                seconds(*at_ns)
            ),
            Self::ClockSourceChanged { from, to, at_ns } => write!(
                f,
                "the kernel's clock source changed from {from} to {to}, noticed at {:.1} s",
                seconds(*at_ns)
            ),
            Self::CpuOffline { cpu, at_ns } => {
                write!(f, "cpu {cpu}, which is measured, went offline, noticed at {:.1} s", seconds(*at_ns))
            }
            Self::ThreadMoved { cpu, allowed, at_ns } => write!(
                f,
                "the thread on cpu {cpu} was allowed to run on CPUs {allowed} (taskset, a cpuset, or its CPU went \
                 offline), noticed at {:.1} s",
                seconds(*at_ns)
            ),
            Self::ProbeStopped { pid, at_ns } => write!(
                f,
                "the probe (pid {pid}) was stopped by a signal such as SIGSTOP, noticed at {:.1} s",
                seconds(*at_ns)
            ),
            Self::AllStopped { for_ns, at_ns } => write!(
                f,
                "supervisor and probe were both stopped for {:.1} s (a frozen cgroup, SIGSTOP or a debugger), noticed at \
                 {:.1} s",
                seconds(*for_ns),
                seconds(*at_ns)
            ),
            Self::ThreadMigrated { cpu, times, at_ns } => write!(
                f,
                "the thread pinned to cpu {cpu} ran on another CPU ({times} migrations), noticed at {:.1} s",
                seconds(*at_ns)
            ),
            Self::ThreadRescheduled { cpu, from, to, at_ns } => write!(
                f,
                "another process changed the thread on cpu {cpu} from {from} to {to} (chrt), noticed at {:.1} s",
                seconds(*at_ns)
            ),
            Self::ProbeReadyTwice => f.write_str("a probe became ready twice; please report it"),
            Self::UserThreadEnded { cpu } => {
                write!(f, "timerlat's user thread on cpu {cpu} ended by itself")
            }
            Self::ToolKilled { tool, on_request: true } => {
                write!(f, "{tool} was asked twice to end, and was killed")
            }
            Self::ToolKilled { tool, on_request: false } => {
                write!(f, "{tool} did not end in time, and was killed")
            }
            Self::ProgramEnded { program, how, last_line } => {
                write!(f, "{program} ended with {how}: {last_line}")
            }
            Self::OutputUnreadable { tool, error, last_line } => {
                write!(f, "the output of {tool} cannot be imported: {error}; its last line: {last_line}")
            }
            Self::OtherLevel { tool, asked, reported } => {
                let [asked, reported] = [*asked, *reported].map(Level::name);
                write!(f, "{tool} was asked for the {asked}, and reports that it is the {reported}")
            }
            Self::OtherPeriod { tool, asked_ns, reported_ns } => {
                let [asked, reported] = [*asked_ns, *reported_ns].map(format_duration_ns);
                write!(f, "{tool} was asked for a period of {asked}, and reports {reported}")
            }
            Self::TooShort { tool, asked_ns, measured_ns } => {
                let [asked, measured] = [*asked_ns, *measured_ns].map(format_duration_ns);
                write!(f, "{tool} was asked to measure for {asked}, and measured for {measured}")
            }
            Self::TalkersUnresponsive => f.write_str("the talkers did not stop when asked"),
            Self::FramesStuck { port, frames } => write!(
                f,
                "{} did not leave {port}: its gates stand still, or never open for them",
                counted(*frames, "frame", "frames")
            ),
            Self::FramesWithoutTime { flow, frames } => {
                write!(f, "{} of flow '{flow}' arrived without a time", counted(*frames, "frame", "frames"))
            }
            Self::NothingRecorded { series, phase } => {
                write!(f, "{series} in phase '{phase}' recorded nothing")
            }
            Self::InPhase { phase, reason } => write!(f, "phase '{phase}': {reason}"),
            Self::LoadDied { load, at_ns, how } => {
                write!(f, "{load} died, noticed at {:.1} s: {how}", seconds(*at_ns))
            }
            Self::LoadFellShort { load, phase, how } => write!(f, "{load} in phase '{phase}': {how}"),
        }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning { at_ns } => write!(f, "it was no longer running at {:.1} s", seconds(*at_ns)),
            Self::TooFewReadings => f.write_str("there are too few readings to show that it ran"),
            Self::Standstill { stood_ns, of_ns: None } => {
                write!(f, "it did nothing for {:.1} s", seconds(*stood_ns))
            }
            Self::Standstill { stood_ns, of_ns: Some(of_ns) } => {
                write!(f, "it did nothing for {:.1} s of {:.1} s", seconds(*stood_ns), seconds(*of_ns))
            }
            Self::RateFell { from_ns, length_ns, rate, median, unit } => write!(
                f,
                "its rate fell to {rate:.0} {unit}/s over the {:.0} s from {:.0} s, {:.0} % of its median, {median:.0}",
                seconds(*length_ns),
                seconds(*from_ns),
                rate / median.max(f64::MIN_POSITIVE) * 100.0,
            ),
            Self::BelowFloor { rate, floor, unit } => {
                write!(f, "its mean rate was {rate:.0} {unit}/s, below its floor of {floor}")
            }
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        let text = other.to_string();
        *self == text
    }
}

impl Eq for Reason {}

impl PartialEq<String> for Reason {
    fn eq(&self, other: &String) -> bool {
        *self == other.as_str()
    }
}

impl PartialEq<&str> for Reason {
    fn eq(&self, other: &&str) -> bool {
        let text = self.to_string();
        text == *other
    }
}

impl PartialEq<&str> for Shortfall {
    fn eq(&self, other: &&str) -> bool {
        let text = self.to_string();
        text == *other
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::Stated(text)
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.to_string()
    }
}

impl JsonSchema for Reason {
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_was_read_back_equals_the_one_written() {
        let reason =
            Reason::TooShort { tool: "latmus".to_owned(), asked_ns: 60_000_000_000, measured_ns: 500_000 };
        let stored = serde_json::to_string(&reason.in_phase("idle")).unwrap();
        assert_eq!(stored, r#""phase 'idle': latmus was asked to measure for 1m, and measured for 500us""#);
        assert_eq!(serde_json::from_str::<Reason>(&stored).unwrap(), reason.in_phase("idle"));
    }
}
