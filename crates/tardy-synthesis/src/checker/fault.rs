//! What can be wrong with a schedule.

use crate::instance::Instance;

/// A fault of a schedule. Flows, links and nodes are given by their index; times are in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the message of each variant is its description")]
pub enum Fault {
    Placements { flows: usize, placements: usize },
    NoHops { flow: usize },
    UnknownLink { flow: usize, link: usize },
    LinkTwice { flow: usize, link: usize },
    Disconnected { flow: usize, link: usize },
    NodeTwice { flow: usize, node: usize },
    NotReached { flow: usize, node: usize },
    DeadEnd { flow: usize, link: usize },
    OtherRoute { flow: usize },
    UnknownQueue { flow: usize, link: usize, queue: u8 },
    OtherQueue { flow: usize, link: usize, queue: u8, fixed: u8 },
    BeforeRelease { flow: usize, at_ns: u64 },
    AfterPeriod { flow: usize, at_ns: u64 },
    BeforeArrival { flow: usize, link: usize, at_ns: u64, ready_ns: u64 },
    Late { flow: usize, node: usize, latency_ns: u64 },
    WaitsWithoutGates { flow: usize, link: usize, at_ns: u64 },
    Overlap { link: usize, flows: [usize; 2], at_ns: u64 },
    Queue { link: usize, queue: u8, flows: [usize; 2], at_ns: u64 },
    NoGates { link: usize },
    GatesTwice { link: usize },
    GatesNowhere { link: usize },
    EmptyEntry { link: usize },
    UnknownGate { link: usize, gates: u32 },
    CycleSum { link: usize, cycle_ns: u64, sum_ns: u64 },
    CyclePeriod { link: usize, cycle_ns: u64, flow: usize },
    TooManyEntries { link: usize, entries: usize, most: usize },
    GateClosed { link: usize, flow: usize, at_ns: u64 },
    GateOpen { link: usize, flow: usize, gates: u32, at_ns: u64 },
    GateEarly { link: usize, flow: usize, at_ns: u64 },
    Moved { flow: usize },
    BestEffort { link: usize, open_ns: u64, cycle_ns: u64 },
}

impl Fault {
    /// The flow that the fault concerns: of two that meet, the second. `None` if it concerns a gate control list alone.
    pub fn flow(&self) -> Option<usize> {
        match self {
            Self::NoHops { flow }
            | Self::UnknownLink { flow, .. }
            | Self::LinkTwice { flow, .. }
            | Self::Disconnected { flow, .. }
            | Self::NodeTwice { flow, .. }
            | Self::NotReached { flow, .. }
            | Self::DeadEnd { flow, .. }
            | Self::OtherRoute { flow }
            | Self::UnknownQueue { flow, .. }
            | Self::OtherQueue { flow, .. }
            | Self::BeforeRelease { flow, .. }
            | Self::AfterPeriod { flow, .. }
            | Self::BeforeArrival { flow, .. }
            | Self::Late { flow, .. }
            | Self::WaitsWithoutGates { flow, .. }
            | Self::CyclePeriod { flow, .. }
            | Self::GateClosed { flow, .. }
            | Self::GateOpen { flow, .. }
            | Self::GateEarly { flow, .. }
            | Self::Moved { flow } => Some(*flow),
            Self::Overlap { flows, .. } | Self::Queue { flows, .. } => Some(flows[1]),
            Self::Placements { .. }
            | Self::NoGates { .. }
            | Self::GatesTwice { .. }
            | Self::GatesNowhere { .. }
            | Self::EmptyEntry { .. }
            | Self::UnknownGate { .. }
            | Self::CycleSum { .. }
            | Self::TooManyEntries { .. }
            | Self::BestEffort { .. } => None,
        }
    }

    /// The link of a fault that concerns a gate control list alone.
    pub fn link(&self) -> Option<usize> {
        match self {
            Self::NoGates { link }
            | Self::GatesTwice { link }
            | Self::GatesNowhere { link }
            | Self::EmptyEntry { link }
            | Self::UnknownGate { link, .. }
            | Self::CycleSum { link, .. }
            | Self::TooManyEntries { link, .. } => Some(*link),
            _ => None,
        }
    }

    /// The fault as a sentence.
    pub fn describe(&self, instance: &Instance) -> String {
        let of = |flow: &usize| format!("flow {}", instance.flows[*flow].name);
        let over = |link: &usize| match instance.links.get(*link) {
            Some(_) => format!("link {}", instance.link_name(*link)),
            None => format!("link number {link}"),
        };
        let node = |node: &usize| instance.nodes[*node].clone();
        match self {
            Self::Placements { flows, placements } => format!("{placements} placements for {flows} flows"),
            Self::NoHops { flow } => format!("{} is on no link", of(flow)),
            Self::UnknownLink { flow, link } => {
                format!("{} is on {}, which does not exist", of(flow), over(link))
            }
            Self::LinkTwice { flow, link } => format!("{} is on {} twice", of(flow), over(link)),
            Self::Disconnected { flow, link } => {
                format!("{} is on {}, whose start it has not reached before", of(flow), over(link))
            }
            Self::NodeTwice { flow, node: at } => format!("{} reaches {} twice", of(flow), node(at)),
            Self::NotReached { flow, node: at } => format!("{} does not reach {}", of(flow), node(at)),
            Self::DeadEnd { flow, link } => {
                format!("{} is on {}, which leads to none of its listeners", of(flow), over(link))
            }
            Self::OtherRoute { flow } => {
                format!("{} has another route than the one that its network gives it", of(flow))
            }
            Self::UnknownQueue { flow, link, queue } => {
                format!("{} uses queue {queue} of {}, which does not exist", of(flow), over(link))
            }
            Self::OtherQueue { flow, link, queue, fixed } => {
                format!("{} uses queue {queue} of {}, and its class is {fixed}", of(flow), over(link))
            }
            Self::BeforeRelease { flow, at_ns } => {
                format!("{} is sent at {at_ns} ns, before its release", of(flow))
            }
            Self::AfterPeriod { flow, at_ns } => {
                format!("{} is sent at {at_ns} ns, after the end of its period", of(flow))
            }
            Self::BeforeArrival { flow, link, at_ns, ready_ns } => {
                format!(
                    "{} starts on {} at {at_ns} ns, and can start there from {ready_ns} ns on",
                    of(flow),
                    over(link)
                )
            }
            Self::Late { flow, node: at, latency_ns } => {
                format!("{} reaches {} after {latency_ns} ns, later than its deadline", of(flow), node(at))
            }
            Self::WaitsWithoutGates { flow, link, at_ns } => {
                format!(
                    "{} is to wait until {at_ns} ns on {}, which has no gates to hold it",
                    of(flow),
                    over(link)
                )
            }
            Self::Overlap { link, flows: [a, b], at_ns } => {
                format!("{} and {} are on {} at the same time, {at_ns} ns", of(a), of(b), over(link))
            }
            Self::Queue { link, queue, flows: [a, b], at_ns } => {
                format!(
                    "{} and {} are in queue {queue} of {} at the same time, {at_ns} ns",
                    of(a),
                    of(b),
                    over(link)
                )
            }
            Self::NoGates { link } => format!("{} has frames and no gate control list", over(link)),
            Self::GatesTwice { link } => format!("{} has two gate control lists", over(link)),
            Self::GatesNowhere { link } => format!("{} has a gate control list and no gates", over(link)),
            Self::EmptyEntry { link } => format!("an entry of {} has no duration", over(link)),
            Self::UnknownGate { link, gates } => {
                format!("an entry of {} opens gates that do not exist: {gates:#x}", over(link))
            }
            Self::CycleSum { link, cycle_ns, sum_ns } => {
                format!("the entries of {} last {sum_ns} ns, and its cycle {cycle_ns} ns", over(link))
            }
            Self::CyclePeriod { link, cycle_ns, flow } => {
                format!(
                    "the cycle of {}, {cycle_ns} ns, is not a multiple of the period of {}",
                    over(link),
                    of(flow)
                )
            }
            Self::TooManyEntries { link, entries, most } => {
                format!("{} has {entries} entries, more than {most}", over(link))
            }
            Self::GateClosed { link, flow, at_ns } => {
                format!(
                    "the gate of {} on {} is closed at {at_ns} ns, during its frame",
                    of(flow),
                    over(link)
                )
            }
            Self::GateOpen { link, flow, gates, at_ns } => {
                format!(
                    "other gates than that of {} are open on {} at {at_ns} ns, during its frame: {gates:#x}",
                    of(flow),
                    over(link)
                )
            }
            Self::BestEffort { link, open_ns, cycle_ns } => {
                format!(
                    "{} is open for full frames of best effort for {open_ns} of {cycle_ns} ns, less than requested",
                    over(link)
                )
            }
            Self::Moved { flow } => format!("{} is not where it was, and was to stay there", of(flow)),
            Self::GateEarly { link, flow, at_ns } => {
                format!(
                    "the gate of {} on {} is open at {at_ns} ns, while its frame is to wait",
                    of(flow),
                    over(link)
                )
            }
        }
    }
}
