//! A schedule that is extended: flows are added to a switch file and removed from it, and the others stay where they are.
//!
//! The old file has the schedule in force. [`Kept::read`] finds the flows that both files have, and the place of each in the old
//! schedule: offset, route and queues. The solver leaves these as they are, and `checker::moved` confirms it. A port whose frames
//! are all kept also keeps its gate control list, so that `tardy tsn apply` does not touch it.

mod network_differences;
mod replacement;

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_record::units::format_duration_ns;
use tardy_tsn::network::{Network, Pace};

pub use replacement::{PortChange, PortReplacement};

use crate::checker::{self, Fault};
use crate::instance::{Flow, InputError, Instance, Source};
use crate::lateness::Lateness;
use crate::read::network::{self, Scheduled};
use crate::schedule::{Hop, Placement, PortGates, Schedule};

/// Which flows of an instance keep the places of an old schedule.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The place that each flow of the instance keeps; `None`: it is new or cannot keep its place.
    pub placements: Vec<Option<Placement>>,
    /// The flows of both files that cannot keep their places, in the order of the instance.
    pub not_kept: Vec<NotKept>,
    /// The flows that only the new file has.
    pub added: Vec<String>,
    /// The flows that only the old file has.
    pub removed: Vec<String>,
    /// The base time of the old schedule, in ns of its clock.
    pub base_time_ns: i64,
    /// The gate control lists of the old schedule, by the links of the instance.
    lists: Vec<OldList>,
    old: Network,
}

/// A flow that cannot keep its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotKept {
    /// Its name.
    pub flow: String,
    /// Why not, as a part of a sentence.
    pub reason: String,
}

/// Why nothing can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepError {
    /// The old file has no schedule that can be extended.
    Old(InputError),
    /// The old file is of another network; how it differs, as sentences.
    OtherNetwork(Vec<String>),
}

/// A list of the old schedule.
#[derive(Clone, Debug)]
struct OldList {
    gates: PortGates,
    /// The number of flows that crossed the link.
    flows: usize,
}

/// The old schedule in its own instance.
struct OldSchedule {
    scheduled: Scheduled,
    schedule: Schedule,
    lists: Vec<PortGates>,
    /// Why a flow has no place there, by its index.
    refused: BTreeMap<usize, String>,
}

impl Kept {
    /// The flows of `scheduled`, the instance of the network `new`, that keep the places they have in the file `old` with the text
    /// `old_text`. The intervals of `lateness` must be those of the old schedule, from which the times at its switches follow.
    ///
    /// # Errors
    ///
    /// The old file has no schedule, or one with different base times; or it is of another network: a switch, a port or a cable of
    /// it is missing in the new one or has other properties. The new network may have more of them.
    pub fn read(
        old: &Network,
        old_text: &str,
        new: &Network,
        scheduled: &Scheduled,
        lateness: Lateness,
    ) -> Result<Self, KeepError> {
        let differences = network_differences::find(old, new);
        if !differences.is_empty() {
            return Err(KeepError::OtherNetwork(differences));
        }
        let base_time_ns = base_time_ns(old, old_text).map_err(KeepError::Old)?;
        let before = OldSchedule::read(old, old_text, lateness).map_err(KeepError::Old)?;
        let instance = &scheduled.instance;
        let mut kept = Self {
            placements: vec![None; instance.flows.len()],
            not_kept: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            base_time_ns,
            lists: before.lists_of(instance),
            old: old.clone(),
        };
        for (number, flow) in instance.flows.iter().enumerate() {
            match before.place_in(instance, flow) {
                None => kept.added.push(flow.name.clone()),
                Some(Ok(placement)) => kept.placements[number] = Some(placement),
                Some(Err(reason)) => kept.not_kept.push(NotKept { flow: flow.name.clone(), reason }),
            }
        }
        kept.drop_meeting(instance);
        let known = |name: &String| instance.flows.iter().any(|flow| flow.name == *name);
        let names = before.scheduled.instance.flows.iter().map(|flow| flow.name.clone());
        kept.removed = names.filter(|name| !known(name)).collect();
        Ok(kept)
    }

    /// The number of flows that keep their places.
    pub fn count(&self) -> usize {
        self.placements.iter().flatten().count()
    }

    /// With a longer margin than the old schedule had, frames that were next to each other meet.
    fn drop_meeting(&mut self, instance: &Instance) {
        loop {
            let schedule = Schedule { placements: self.placements.clone() };
            let mut has_dropped = false;
            for fault in checker::check_frames(instance, &schedule) {
                let Some(flow) = fault.flow().filter(|flow| self.placements[*flow].is_some()) else {
                    continue;
                };
                self.placements[flow] = None;
                self.not_kept.push(NotKept {
                    flow: instance.flows[flow].name.clone(),
                    reason: fault.describe(instance),
                });
                has_dropped = true;
            }
            if !has_dropped {
                return;
            }
        }
    }

    /// `computed`, with the lists of the old schedule for the ports whose frames are the same.
    pub(crate) fn lists(&self, schedule: &Schedule, computed: &[PortGates]) -> Vec<PortGates> {
        let unchanged = |list: &&OldList| {
            let mut crossing = schedule
                .iter()
                .filter(|(_, placement)| placement.hops.iter().any(|hop| hop.link == list.gates.link));
            let flows = crossing.by_ref().map(|(flow, _)| self.placements[flow].is_some());
            let (mut count, mut all_kept) = (0, true);
            for is_kept in flows {
                count += 1;
                all_kept &= is_kept;
            }
            all_kept && count == list.flows
        };
        let list = |port: &PortGates| {
            let old = self.lists.iter().find(|list| list.gates.link == port.link).filter(unchanged);
            old.map_or_else(
                || port.clone(),
                |old| PortGates { best_effort: port.best_effort, ..old.gates.clone() },
            )
        };
        computed.iter().map(list).collect()
    }

    /// What `tardy tsn apply` does at each port that has a schedule in one of the files. `new` is the new network with the schedule
    /// in it.
    pub fn replacements(&self, new: &Network, scheduled: &Scheduled) -> Vec<PortReplacement> {
        replacement::of(&self.old, new, scheduled, &self.placements)
    }
}

/// The base time of all schedules of a network.
fn base_time_ns(network: &Network, text: &str) -> Result<i64, InputError> {
    let ports = network.switches.iter().flat_map(|switch| &switch.ports);
    let mut schedules = ports.filter_map(|port| port.schedule.as_ref());
    let Some(first) = schedules.next() else {
        let what = "it has no schedule; give the file that `tardy tsn synthesize -o` wrote".to_owned();
        return Err(InputError { source: Source::Switch, line: None, what });
    };
    match schedules.find(|other| other.base_time_ns.value != first.base_time_ns.value) {
        None => Ok(first.base_time_ns.value),
        Some(other) => Err(InputError::at(
            Source::Switch,
            other.base_time_ns.span.line(text),
            "its ports have different base times, so its offsets have no common zero; give all ports the same base_time",
        )),
    }
}

impl OldSchedule {
    /// Reads the schedule, and finds the flows that it does not send where their offsets and routes would have them.
    fn read(network: &Network, text: &str, lateness: Lateness) -> Result<Self, InputError> {
        let mut scheduled = network::read(network, text, Lateness { margin_ns: 0, ..lateness })?;
        // The limits of the new file count.
        scheduled.instance.flows.iter_mut().for_each(|flow| flow.deadline_ns = None);
        let instance = &scheduled.instance;
        let placement = |(flow, place): (&Flow, &usize)| match network.flows[*place].pace {
            Pace::Periodic { offset_ns, .. } => placement_at(instance, flow, offset_ns),
            Pace::FlatOut => None,
        };
        let placements: Vec<Option<Placement>> =
            instance.flows.iter().zip(&scheduled.flows).map(placement).collect();
        let mut old = Self {
            lists: lists(network, &scheduled, &placements),
            schedule: Schedule { placements },
            scheduled,
            refused: BTreeMap::new(),
        };
        old.refuse_faulty();
        Ok(old)
    }

    /// Leaves out the flows that the check finds a fault with, until it finds none.
    fn refuse_faulty(&mut self) {
        loop {
            let instance = &self.scheduled.instance;
            let used = |list: &&PortGates| {
                self.schedule.iter().any(|(_, place)| place.hops.iter().any(|hop| hop.link == list.link))
            };
            let lists: Vec<PortGates> = self.lists.iter().filter(used).cloned().collect();
            let mut has_refused = false;
            for fault in checker::check(instance, &self.schedule, &lists, None) {
                for flow in concerned(&fault, &self.schedule) {
                    if self.schedule.placements[flow].take().is_some() {
                        self.refused.insert(flow, fault.describe(instance));
                        has_refused = true;
                    }
                }
            }
            if !has_refused {
                return;
            }
        }
    }

    /// The place of a flow of the new instance; `None` if the old one does not have the flow, or why it cannot be kept.
    fn place_in(&self, instance: &Instance, flow: &Flow) -> Option<Result<Placement, String>> {
        let before = &self.scheduled.instance;
        let number = before.flows.iter().position(|other| other.name == flow.name)?;
        if let Some(change) = change(before, &before.flows[number], instance, flow) {
            return Some(Err(change));
        }
        if let Some(reason) = self.refused.get(&number) {
            return Some(Err(format!("the old schedule does not send it without waiting: {reason}")));
        }
        let offset_ns = self.schedule.placements[number].as_ref()?.offset_ns();
        let placement = placement_at(instance, flow, offset_ns)?;
        let latency_ns = latency_ns(instance, flow, &placement);
        Some(match flow.deadline_ns.filter(|deadline_ns| latency_ns > *deadline_ns) {
            Some(deadline_ns) => Err(format!(
                "its deadline is {}, and its latency {}",
                format_duration_ns(deadline_ns),
                format_duration_ns(latency_ns)
            )),
            None => Ok(placement),
        })
    }

    /// The lists by the links of another instance.
    fn lists_of(&self, instance: &Instance) -> Vec<OldList> {
        let before = &self.scheduled.instance;
        let crossing = |link: usize| {
            let routes = before.flows.iter().filter_map(|flow| flow.route.as_ref());
            routes.filter(|route| route.contains(&link)).count()
        };
        let list = |gates: &PortGates| {
            let name = before.link_name(gates.link);
            let link = (0..instance.links.len()).find(|link| instance.link_name(*link) == name)?;
            Some(OldList { gates: PortGates { link, ..gates.clone() }, flows: crossing(gates.link) })
        };
        self.lists.iter().filter_map(list).collect()
    }
}

/// The gate control lists of the ports with scheduled flows.
fn lists(network: &Network, scheduled: &Scheduled, placements: &[Option<Placement>]) -> Vec<PortGates> {
    let mut lists = Vec::new();
    for (link, port) in scheduled.ports.iter().enumerate() {
        let Some(id) = port else { continue };
        let hops = placements.iter().flatten().flat_map(|placement| &placement.hops);
        let queues = hops.filter(|hop| hop.link == link).fold(0_u32, |mask, hop| mask | 1 << hop.queue);
        let schedule = network.switches[id.switch].ports[id.port].schedule.as_ref();
        let Some(schedule) = schedule.filter(|_| queues != 0) else { continue };
        let all = (1_u32 << scheduled.instance.links[link].queues) - 1;
        lists.push(PortGates {
            link,
            cycle_ns: schedule.cycle_ns(),
            entries: schedule.gate_entries(),
            best_effort: all & !queues,
        });
    }
    lists
}

/// The flows that a fault concerns: if it is one of a list, all flows of the link.
fn concerned(fault: &Fault, schedule: &Schedule) -> Vec<usize> {
    if let Some(flow) = fault.flow() {
        return vec![flow];
    }
    let Some(link) = fault.link() else { return Vec::new() };
    let crossing = schedule.iter().filter(|(_, place)| place.hops.iter().any(|hop| hop.link == link));
    crossing.map(|(flow, _)| flow).collect()
}

/// The frames of a flow that is sent at `offset_ns` and never waits; `None` if it has no route.
fn placement_at(instance: &Instance, flow: &Flow, offset_ns: u64) -> Option<Placement> {
    let mut ready_ns: BTreeMap<usize, u64> = BTreeMap::from([(flow.source, offset_ns)]);
    let mut hops = Vec::new();
    for &number in flow.route.as_ref()? {
        let link = &instance.links[number];
        let start_ns = *ready_ns.get(&link.from)?;
        let queue = flow.queue_at.as_ref().map_or(link.queues - 1, |queues| queues[link.from]);
        hops.push(Hop { link: number, start_ns, queue });
        let end_ns = start_ns.saturating_add(link.wire_ns(flow.wire_bytes));
        ready_ns.insert(link.to, end_ns.saturating_add(link.forwarding_ns()));
    }
    Some(Placement { hops })
}

fn latency_ns(instance: &Instance, flow: &Flow, placement: &Placement) -> u64 {
    let number = instance.flows.iter().position(|other| other.name == flow.name);
    number.map_or(0, |number| placement.latency_ns(instance, number))
}

/// How a flow differs from the one of the same name before; `None` if its frames are the same, in the same queues of the same
/// links.
fn change(before: &Instance, old: &Flow, after: &Instance, new: &Flow) -> Option<String> {
    let nodes = |instance: &Instance, nodes: &[usize]| {
        nodes.iter().map(|node| instance.nodes[*node].clone()).collect::<Vec<_>>().join(", ")
    };
    let route = |instance: &Instance, flow: &Flow| {
        let links = flow.route.iter().flatten();
        links.map(|link| instance.link_name(*link)).collect::<Vec<_>>().join(", ")
    };
    let queues = |instance: &Instance, flow: &Flow| {
        let links = flow.route.iter().flatten().filter(|link| instance.links[**link].has_gates);
        let queue =
            |link: &usize| flow.queue_at.as_ref().map_or(0, |queues| queues[instance.links[*link].from]);
        links.map(|link| queue(link).to_string()).collect::<Vec<_>>().join(", ")
    };
    let facts = |instance: &Instance, flow: &Flow| {
        [
            ("talker", nodes(instance, &[flow.source])),
            ("listener", nodes(instance, &flow.destinations)),
            ("frame on the wire", format!("{} bytes", flow.wire_bytes)),
            ("period", format_duration_ns(flow.period_ns)),
            ("route", route(instance, flow)),
            ("class at the switches", queues(instance, flow)),
        ]
    };
    let pairs = facts(before, old).into_iter().zip(facts(after, new));
    let mut changed = pairs.filter(|(was, is)| was.1 != is.1);
    changed.next().map(|((what, was), (_, is))| format!("its {what} was {was} and is {is}"))
}
