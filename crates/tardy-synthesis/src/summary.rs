//! An answer as numbers: for text, JSON and CSV.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use tardy_record::csv::cell;

use crate::answer::{Answer, Starved, Verdict};
use crate::instance::Instance;
use crate::keep::{Kept, NotKept, PortReplacement};
use crate::proof::{self, Proof};
use crate::schedule::PortGates;
use crate::solver::Options;
use crate::verify::Verified;

/// The most entries of a list that `tc` can install: its message has 1,024 bytes.
pub const ENTRIES_OF_TC: usize = 31;
/// The most entries of common hardware.
pub const ENTRIES_OF_HARDWARE: usize = 256;
/// The most entries that fit into a netlink message.
pub const ENTRIES_OF_NETLINK: usize = 3241;

/// The numbers of an answer.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// `scheduled`, `starved` (too little is left for best effort), `infeasible` or `undecided`.
    pub verdict: &'static str,
    /// Why there is no schedule, as a sentence.
    pub reason: Option<String>,
    /// The same for a program.
    proof: Option<Proof>,
    /// How little is left for best effort, if that is why there is no schedule.
    starved: Option<Starved>,
    /// The number of flows.
    pub flows: usize,
    /// The number of flows with a place.
    pub placed: usize,
    /// The flows without a place.
    pub left_out: Vec<String>,
    /// The rounds of the search that were done.
    pub effort: u32,
    /// The rounds that were permitted.
    pub effort_limit: u32,
    /// Whether `--time-limit` ended the search.
    pub stopped: bool,
    /// The seed of the search.
    pub seed: u64,
    /// How long the solver and the check took.
    pub seconds: f64,
    /// After which all flows repeat, in ns.
    pub hyperperiod_ns: u64,
    /// The flow with the least time between its latency and its deadline.
    pub tightest: Option<Tightest>,
    /// The ports with scheduled flows, in the order of the links.
    pub ports: Vec<Port>,
    /// The flows with a place.
    pub placements: Vec<PlacedFlow>,
    /// What changed from the schedule that is extended; `None`: none is.
    pub kept: Option<KeptFlows>,
    /// Bounds and simulated maxima of the written switch file; `None`: there is none.
    pub verified: Option<Verified>,
}

/// What changed from a schedule that is extended.
#[derive(Debug, Serialize)]
pub struct KeptFlows {
    /// The number of flows that keep their places.
    pub kept: usize,
    /// The flows that could not keep theirs, and why.
    pub not_kept: Vec<NotKept>,
    /// The flows that only the new file has.
    pub added: Vec<String>,
    /// The flows that only the old file has.
    pub removed: Vec<String>,
    /// What `tardy tsn apply` does at each port; empty without a new switch file.
    pub ports: Vec<PortReplacement>,
}

impl KeptFlows {
    /// The changes, with those of the ports if a switch file was written.
    pub fn of(kept: &Kept, ports: Vec<PortReplacement>) -> Self {
        Self {
            kept: kept.count(),
            not_kept: kept.not_kept.clone(),
            added: kept.added.clone(),
            removed: kept.removed.clone(),
            ports,
        }
    }
}

/// The flow that is nearest to its deadline.
#[derive(Debug, Serialize)]
pub struct Tightest {
    /// Its name.
    pub flow: String,
    /// The time between its latency and its deadline, in ns.
    pub slack_ns: u64,
}

/// A port with scheduled flows.
#[derive(Debug, Serialize)]
pub struct Port {
    /// The link, `FROM→TO`.
    pub link: String,
    /// The number of flows that cross it.
    pub flows: usize,
    /// The share of the time that scheduled frames take.
    pub load: f64,
    /// The length of its cycle, in ns.
    pub cycle_ns: u64,
    /// The number of entries of its gate control list.
    pub entries: usize,
    /// The share of the time in which the gates of best effort are open.
    pub best_effort: f64,
    /// How long a full frame of best effort can wait for its gate if no other frame is in its way, in ns; `None`: it never fits.
    pub best_effort_wait_ns: Option<u64>,
    /// Whether `tc` can install the list.
    pub fits_tc: bool,
    /// Whether the list has at most 256 entries.
    pub fits_256: bool,
    /// Whether the list fits into a netlink message.
    pub fits_netlink: bool,
}

/// A flow with a place.
#[derive(Debug, Serialize)]
pub struct PlacedFlow {
    /// Its name.
    pub flow: String,
    /// When its talker sends, in ns from the start of the period.
    pub offset_ns: u64,
    /// The longest time from the first bit sent to the last bit received, in ns.
    pub latency_ns: u64,
    /// Less than the shortest time, in ns: the last gate opens on time, and propagation is not counted.
    pub least_latency_ns: u64,
    /// The time between its latency and its deadline, in ns; `None`: no deadline.
    pub slack_ns: Option<u64>,
    /// Its period, in ns.
    pub period_ns: u64,
    /// Its links, `FROM→TO`.
    pub links: Vec<String>,
}

impl Summary {
    /// The numbers of an answer that was found with these options in this time.
    pub fn of(instance: &Instance, answer: &Answer, options: &Options<'_>, took: Duration) -> Self {
        let (proof, starved) = match &answer.verdict {
            Verdict::Infeasible(proof) => (Some(proof.clone()), None),
            Verdict::Starved(starved) => (None, Some(*starved)),
            Verdict::Scheduled | Verdict::Undecided => (None, None),
        };
        let reason = proof.as_ref().map(|proof| proof.describe(instance));
        let placements: Vec<PlacedFlow> = placements(instance, answer);
        let slack = placements.iter().filter_map(|placed| Some((placed.slack_ns?, placed.flow.clone())));
        let tightest =
            slack.min_by_key(|(slack_ns, _)| *slack_ns).map(|(slack_ns, flow)| Tightest { flow, slack_ns });
        let left_out =
            answer.schedule.placements.iter().zip(&instance.flows).filter(|(placed, _)| placed.is_none());
        Self {
            verdict: match answer.verdict {
                Verdict::Scheduled => "scheduled",
                Verdict::Starved(_) => "starved",
                Verdict::Infeasible(_) => "infeasible",
                Verdict::Undecided => "undecided",
            },
            reason: reason.or_else(|| starved.as_ref().map(|starved| starved.describe(instance))),
            proof,
            starved,
            flows: instance.flows.len(),
            placed: answer.schedule.placed(),
            left_out: left_out.map(|(_, flow)| flow.name.clone()).collect(),
            effort: answer.effort,
            effort_limit: options.effort,
            stopped: answer.stopped,
            seed: options.seed,
            seconds: took.as_secs_f64(),
            hyperperiod_ns: instance.hyperperiod_ns,
            tightest,
            ports: ports(instance, answer),
            placements,
            kept: None,
            verified: None,
        }
    }

    /// A line for each flow that is placed.
    pub fn csv(&self) -> String {
        let mut text = "flow,offset_ns,period_ns,latency_ns,slack_ns\n".to_owned();
        for placed in &self.placements {
            let PlacedFlow { flow, offset_ns, period_ns, latency_ns, slack_ns, .. } = placed;
            let slack = slack_ns.map(|slack_ns| slack_ns.to_string()).unwrap_or_default();
            let _ = writeln!(text, "{},{offset_ns},{period_ns},{latency_ns},{slack}", cell(flow));
        }
        text
    }
}

fn placements(instance: &Instance, answer: &Answer) -> Vec<PlacedFlow> {
    let placed = answer.schedule.iter().map(|(number, placement)| {
        let flow = &instance.flows[number];
        let latency_ns = placement.latency_ns(instance, number);
        PlacedFlow {
            flow: flow.name.clone(),
            offset_ns: placement.offset_ns(),
            latency_ns,
            least_latency_ns: placement.least_latency_ns(instance, number),
            slack_ns: flow.deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(latency_ns)),
            period_ns: flow.period_ns,
            links: placement.hops.iter().map(|hop| instance.link_name(hop.link)).collect(),
        }
    });
    placed.collect()
}

fn ports(instance: &Instance, answer: &Answer) -> Vec<Port> {
    let mut crossing: Vec<Vec<usize>> = vec![Vec::new(); instance.links.len()];
    for (flow, placement) in answer.schedule.iter() {
        for hop in &placement.hops {
            crossing[hop.link].push(flow);
        }
    }
    let port = |gates: &PortGates| {
        let entries = gates.entries_needed();
        Port {
            link: instance.link_name(gates.link),
            flows: crossing[gates.link].len(),
            load: crossing[gates.link].iter().map(|flow| proof::load(instance, *flow, gates.link)).sum(),
            cycle_ns: gates.cycle_ns,
            entries,
            best_effort: gates.best_effort_share(),
            best_effort_wait_ns: gates
                .best_effort_wait_ns(instance.links[gates.link].wire_ns(instance.best_effort_bytes)),
            fits_tc: entries <= ENTRIES_OF_TC,
            fits_256: entries <= ENTRIES_OF_HARDWARE,
            fits_netlink: entries <= ENTRIES_OF_NETLINK,
        }
    };
    answer.ports.iter().map(port).collect()
}
