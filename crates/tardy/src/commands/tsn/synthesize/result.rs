//! The result as numbers: for text, JSON and CSV.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use tardy_record::csv::cell;
use tardy_synthesis::answer::{Answer, Verdict};
use tardy_synthesis::instance::Instance;
use tardy_synthesis::proof::{self, Proof};
use tardy_synthesis::schedule::PortGates;

use crate::args::TsnSynthesizeArgs;

/// The most entries of a list that `tc` can install: its message has 1,024 bytes.
pub(super) const ENTRIES_OF_TC: usize = 31;
/// The most entries of common hardware.
pub(super) const ENTRIES_OF_HARDWARE: usize = 256;
/// The most entries that fit into a netlink message.
pub(super) const ENTRIES_OF_NETLINK: usize = 3241;

/// The result of the command.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    /// `scheduled`, `infeasible` or `undecided`.
    pub(super) verdict: &'static str,
    /// Why there is no schedule, as a sentence.
    pub(super) reason: Option<String>,
    /// The same for a program.
    proof: Option<Proof>,
    /// The number of flows.
    pub(super) flows: usize,
    /// The number of flows with a place.
    pub(super) placed: usize,
    /// The flows without a place.
    pub(super) left_out: Vec<String>,
    /// The rounds of the search that were done.
    pub(super) effort: u32,
    /// The rounds that were permitted.
    pub(super) effort_limit: u32,
    /// Whether `--time-limit` ended the search.
    pub(super) stopped: bool,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) hyperperiod_ns: u64,
    /// The flow with the least time between its latency and its deadline.
    pub(super) tightest: Option<Tightest>,
    pub(super) ports: Vec<Port>,
    pub(super) placements: Vec<PlacedFlow>,
}

/// The flow that is nearest to its deadline.
#[derive(Debug, Serialize)]
pub(super) struct Tightest {
    pub(super) flow: String,
    pub(super) slack_ns: u64,
}

/// A port with scheduled flows.
#[derive(Debug, Serialize)]
pub(super) struct Port {
    pub(super) link: String,
    pub(super) flows: usize,
    /// The share of the time that scheduled frames take.
    pub(super) load: f64,
    pub(super) cycle_ns: u64,
    pub(super) entries: usize,
    /// The share of the time in which the gates of best effort are open.
    pub(super) best_effort: f64,
    pub(super) fits_tc: bool,
    pub(super) fits_256: bool,
    pub(super) fits_netlink: bool,
}

/// A flow with a place.
#[derive(Debug, Serialize)]
pub(super) struct PlacedFlow {
    flow: String,
    offset_ns: u64,
    latency_ns: u64,
    slack_ns: Option<u64>,
    period_ns: u64,
    links: Vec<String>,
}

impl Outcome {
    /// The numbers of an answer.
    pub(super) fn of(
        instance: &Instance,
        answer: &Answer,
        arguments: &TsnSynthesizeArgs,
        took: Duration,
    ) -> Self {
        let proof = match &answer.verdict {
            Verdict::Infeasible(proof) => Some(proof.clone()),
            Verdict::Scheduled | Verdict::Undecided => None,
        };
        let placements: Vec<PlacedFlow> = placements(instance, answer);
        let slack = placements.iter().filter_map(|placed| Some((placed.slack_ns?, placed.flow.clone())));
        let tightest =
            slack.min_by_key(|(slack_ns, _)| *slack_ns).map(|(slack_ns, flow)| Tightest { flow, slack_ns });
        let left_out =
            answer.schedule.placements.iter().zip(&instance.flows).filter(|(placed, _)| placed.is_none());
        Self {
            verdict: match answer.verdict {
                Verdict::Scheduled => "scheduled",
                Verdict::Infeasible(_) => "infeasible",
                Verdict::Undecided => "undecided",
            },
            reason: proof.as_ref().map(|proof| proof.describe(instance)),
            proof,
            flows: instance.flows.len(),
            placed: answer.schedule.placed(),
            left_out: left_out.map(|(_, flow)| flow.name.clone()).collect(),
            effort: answer.effort,
            effort_limit: arguments.effort,
            stopped: answer.stopped,
            seed: arguments.seed,
            seconds: took.as_secs_f64(),
            hyperperiod_ns: instance.hyperperiod_ns,
            tightest,
            ports: ports(instance, answer),
            placements,
        }
    }

    /// A line for each flow that is placed.
    pub(super) fn csv(&self) -> String {
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
            fits_tc: entries <= ENTRIES_OF_TC,
            fits_256: entries <= ENTRIES_OF_HARDWARE,
            fits_netlink: entries <= ENTRIES_OF_NETLINK,
        }
    };
    answer.ports.iter().map(port).collect()
}
