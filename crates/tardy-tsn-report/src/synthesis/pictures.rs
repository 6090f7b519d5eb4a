//! The pictures of a schedule: its links, the way of each flow, and how much of their deadlines the flows use.

use tardy_plot::Options;
use tardy_plot::flow_paths::{self, FlowPath, PathHop};
use tardy_plot::flow_slack::{self, FlowSlack};
use tardy_plot::link_frames::{self, FlowFrames, LinkRow};
use tardy_synthesis::answer::Answer;
use tardy_synthesis::instance::Instance;
use tardy_synthesis::schedule::{Hop, Placement};
use tardy_synthesis::summary::Summary;

/// The most links that are drawn, and the most of their frames: a longer hyperperiod is drawn in part.
const LINKS_SHOWN: usize = 40;
const FRAMES_SHOWN: u64 = 6000;

/// The content of the pictures.
#[derive(Clone, Debug)]
pub struct Pictures {
    /// The part of the hyperperiod that is drawn, and the hyperperiod, in ns.
    shown_ns: u64,
    whole_ns: u64,
    links: Vec<LinkRow>,
    /// Those with most links first.
    ways: Vec<FlowPath>,
    /// Those with the least slack first.
    slack: Vec<FlowSlack>,
}

impl Pictures {
    /// The pictures of an answer and its numbers.
    pub fn of(instance: &Instance, answer: &Answer, summary: &Summary) -> Self {
        let chosen = busiest(instance, answer);
        let (whole_ns, shown_ns) = (instance.hyperperiod_ns, shown_ns(instance, answer, &chosen));
        let mut ways: Vec<FlowPath> =
            answer.schedule.iter().map(|(flow, placement)| path(instance, flow, placement)).collect();
        ways.sort_by_key(|flow| std::cmp::Reverse((flow.hops.len(), flow.latency_ns)));
        Self {
            shown_ns,
            whole_ns,
            links: chosen.iter().map(|link| link_row(instance, answer, *link, shown_ns)).collect(),
            ways,
            slack: slack(instance, summary),
        }
    }

    /// Whether the links are drawn over the whole hyperperiod.
    pub fn is_complete(&self) -> bool {
        self.shown_ns == self.whole_ns
    }

    /// The frames of the links with most of them; `None` without frames.
    pub fn links(&self, id: &str, options: &Options) -> Option<String> {
        link_frames::draw(id, self.shown_ns, &self.links, options)
    }

    /// The way of each flow; `None` without a flow.
    pub fn ways(&self, id: &str, options: &Options) -> Option<String> {
        flow_paths::draw(id, &self.ways, options)
    }

    /// The share of its deadline that each flow uses; `None` without a deadline.
    pub fn slack(&self, id: &str, options: &Options) -> Option<String> {
        flow_slack::draw(id, &self.slack, options)
    }
}

/// The part of the hyperperiod that is drawn.
fn shown_ns(instance: &Instance, answer: &Answer, links: &[usize]) -> u64 {
    let hops = answer
        .schedule
        .iter()
        .flat_map(|(flow, placement)| placement.hops.iter().map(move |hop| (flow, hop.link)));
    let drawn = hops.filter(|(_, link)| links.contains(link));
    let frames: u64 = drawn.map(|(flow, _)| instance.hyperperiod_ns / instance.flows[flow].period_ns).sum();
    if frames <= FRAMES_SHOWN {
        return instance.hyperperiod_ns;
    }
    (u128::from(instance.hyperperiod_ns) * u128::from(FRAMES_SHOWN) / u128::from(frames)) as u64
}

/// The links with most frames, in the order of the instance.
fn busiest(instance: &Instance, answer: &Answer) -> Vec<usize> {
    let mut loads = vec![0.0; instance.links.len()];
    for (flow, placement) in answer.schedule.iter() {
        let flow = &instance.flows[flow];
        for hop in &placement.hops {
            loads[hop.link] += instance.reserved_ns(flow, hop.link) as f64 / flow.period_ns as f64;
        }
    }
    let mut links: Vec<usize> = (0..loads.len()).filter(|link| loads[*link] > 0.0).collect();
    links.sort_by(|a, b| loads[*b].total_cmp(&loads[*a]));
    links.truncate(LINKS_SHOWN);
    links.sort_unstable();
    links
}

fn link_row(instance: &Instance, answer: &Answer, link: usize, shown_ns: u64) -> LinkRow {
    let mut flows = Vec::new();
    for (number, placement) in answer.schedule.iter() {
        let flow = &instance.flows[number];
        for hop in placement.hops.iter().filter(|hop| hop.link == link) {
            let first_ns = hop.start_ns % flow.period_ns;
            let length_ns = instance.links[link].wire_ns(flow.wire_bytes);
            let starts_ns =
                (0..shown_ns.div_ceil(flow.period_ns)).map(|period| first_ns + period * flow.period_ns);
            let frames_ns = starts_ns.take_while(|start_ns| *start_ns < shown_ns);
            flows.push(FlowFrames {
                flow: number,
                name: flow.name.clone(),
                frames_ns: frames_ns.map(|start_ns| (start_ns, start_ns + length_ns)).collect(),
            });
        }
    }
    let open_ns = answer.ports.iter().filter(|port| port.link == link).flat_map(|port| {
        let cycles = shown_ns.div_ceil(port.cycle_ns.max(1));
        let openings = port.best_effort_openings();
        let of_cycle = (0..cycles).flat_map(move |cycle| {
            let later_ns = cycle * port.cycle_ns;
            openings.clone().into_iter().map(move |(start, end)| (start + later_ns, end + later_ns))
        });
        of_cycle.filter(move |(start_ns, _)| *start_ns < shown_ns).collect::<Vec<_>>()
    });
    LinkRow { name: instance.link_name(link), open_ns: open_ns.collect(), flows }
}

fn path(instance: &Instance, number: usize, placement: &Placement) -> FlowPath {
    let flow = &instance.flows[number];
    let offset_ns = placement.offset_ns();
    let hop = |hop: &Hop| {
        let start_ns = hop.start_ns - offset_ns;
        PathHop {
            link: instance.link_name(hop.link),
            start_ns,
            end_ns: start_ns + instance.links[hop.link].wire_ns(flow.wire_bytes),
        }
    };
    FlowPath {
        flow: number,
        name: flow.name.clone(),
        hops: placement.hops.iter().map(hop).collect(),
        latency_ns: placement.latency_ns(instance, number),
        deadline_ns: flow.deadline_ns,
    }
}

/// The flows with a deadline.
fn slack(instance: &Instance, summary: &Summary) -> Vec<FlowSlack> {
    let number = |name: &str| instance.flows.iter().position(|flow| flow.name == name);
    let mut slack: Vec<FlowSlack> = Vec::new();
    for placed in &summary.placements {
        let Some(slack_ns) = placed.slack_ns else { continue };
        let verified =
            summary.verified.iter().flat_map(|all| &all.flows).find(|flow| flow.flow == placed.flow);
        slack.push(FlowSlack {
            flow: number(&placed.flow).unwrap_or(0),
            name: placed.flow.clone(),
            latency_ns: placed.latency_ns,
            simulated_ns: verified.and_then(|flow| flow.simulated_ns),
            bound_ns: verified.and_then(|flow| flow.bound_ns),
            deadline_ns: placed.latency_ns + slack_ns,
        });
    }
    let used = |flow: &FlowSlack| flow.latency_ns as f64 / flow.deadline_ns.max(1) as f64;
    slack.sort_by(|a, b| used(b).total_cmp(&used(a)));
    slack
}
