//! Instances from switch files.
//!
//! Every periodic flow is scheduled, on the route that its network gives it, in the class that each switch gives it. Flows that send
//! as fast as they can are best effort.

use tardy_tsn::intervals::Intervals;
use tardy_tsn::network::{End, Flow as NetworkFlow, Link as Cable, Marks, Network, Pace, PortId, Switch};
use tardy_tsn::transmission_time::{FRAMING_BYTES, GAP_BYTES, OVERHEAD_BYTES};

use crate::instance::{Flow, InputError, Instance, Lines, Link, Source, least_entry_ns};
use crate::lateness::Lateness;

/// A VLAN tag, which a switch may add.
const TAG_BYTES: u32 = 4;
/// A full frame of best effort as the kernel counts it.
const FULL_FRAME_BYTES: u32 = 1514;

/// The flows of a switch file that are scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The instance.
    pub instance: Instance,
    /// The index of each flow in [`Network::flows`].
    pub flows: Vec<usize>,
    /// The port that sends on each link; `None`: a host.
    pub ports: Vec<Option<PortId>>,
    /// What is not scheduled, as messages for the user.
    pub remarks: Vec<String>,
}

/// The instance of a network. `text` is the file that it was read from, for the lines of messages, and `lateness` is how late frames,
/// gates and talkers can be.
///
/// # Errors
///
/// Flows without a route, cables without a speed, bursts of several frames, a scheduled flow and one of best effort in the same class
/// of a port, and what [`Instance::complete`] refuses.
pub fn read(network: &Network, text: &str, lateness: Lateness) -> Result<Scheduled, InputError> {
    let mut reader = Reader { network, text, links: Vec::new(), ports: Vec::new() };
    reader.read_links();
    if let Some(intervals) = lateness.intervals {
        reader.widen(&intervals);
    }
    let mut scheduled = reader.scheduled()?;
    scheduled.instance.margin_ns = lateness.margin_ns;
    reader.check_best_effort(&mut scheduled)?;
    let line = |place: &usize| network.flows[*place].span.line(text);
    let lines = Lines { source: Source::Switch, flows: scheduled.flows.iter().map(line).collect() };
    scheduled.instance.complete(&lines)?;
    Ok(scheduled)
}

struct Reader<'n> {
    network: &'n Network,
    text: &'n str,
    links: Vec<Link>,
    ports: Vec<Option<PortId>>,
}

impl Reader<'_> {
    /// The node of an end: switches come first.
    fn node(&self, end: End) -> usize {
        match end {
            End::Port(port) => port.switch,
            End::Host(host) => self.network.switches.len() + host,
        }
    }

    fn wrong(&self, flow: &NetworkFlow, what: &str) -> InputError {
        let what = format!("flow '{}': {what}", flow.name.value);
        InputError::at(Source::Switch, flow.span.line(self.text), what)
    }

    /// Both directions of every cable. A cable without a speed has a rate of 0.
    fn read_links(&mut self) {
        for cable in &self.network.links {
            for (from, to) in [(cable.a, cable.b), (cable.b, cable.a)] {
                self.links.push(self.link(cable, from, to));
                self.ports.push(match from {
                    End::Port(port) => Some(port),
                    End::Host(_) => None,
                });
            }
        }
    }

    fn link(&self, cable: &Cable, from: End, to: End) -> Link {
        let (queues, has_gates) = match from {
            End::Port(port) => (self.network.switches[port.switch].classes.len().max(1) as u8, true),
            End::Host(_) => (1, false),
        };
        let processing_ns = match to {
            End::Port(port) => self.network.switches[port.switch].forwarding_ns,
            End::Host(_) => 0,
        };
        Link {
            from: self.node(from),
            to: self.node(to),
            bits_per_second: cable.bits_per_second.unwrap_or(0),
            propagation_ns: cable.propagation_ns,
            processing_ns,
            late_ns: 0,
            early_ns: 0,
            queues,
            has_gates,
        }
    }

    /// Replaces the forwarding times of the file by the longest ones of `intervals`, and widens windows to late gates. Frames can be in
    /// a queue earlier by as much as everything between the gate before, or the talker, and this queue varies.
    fn widen(&mut self, intervals: &Intervals) {
        let Intervals { talker, forwarding, gate, listener } = intervals;
        let length = |ns: i64| ns.max(0).unsigned_abs();
        let from_switch_ns = length(gate.most_ns + forwarding.most_ns - forwarding.least_ns.max(0));
        let from_host_ns = length(talker.most_ns.max(0) - talker.least_ns);
        let switches = self.network.switches.len();
        let mut early_ns = vec![0; switches];
        for link in &mut self.links {
            let from_host = link.from >= switches;
            if link.to < switches {
                let ns = if from_host { from_host_ns } else { from_switch_ns };
                early_ns[link.to] = ns.max(early_ns[link.to]);
                link.processing_ns = length(if from_host { talker.most_ns } else { forwarding.most_ns });
            } else {
                link.propagation_ns += length(listener.most_ns);
            }
            if !from_host {
                link.late_ns = length(gate.most_ns);
            }
        }
        for link in self.links.iter_mut().filter(|link| link.from < switches) {
            // A gate that is closed before a window is an entry.
            let least_ns = if link.bits_per_second == 0 { 0 } else { least_entry_ns(link) };
            link.early_ns = Some(early_ns[link.from]).filter(|ns| *ns > 0).map_or(0, |ns| ns.max(least_ns));
        }
    }

    fn scheduled(&self) -> Result<Scheduled, InputError> {
        let network = self.network;
        let switches = network.switches.iter().map(|switch| switch.name.value.clone());
        let nodes = switches.chain(network.hosts.iter().map(|host| host.name.value.clone())).collect();
        let mut instance = Instance {
            nodes,
            links: self.links.clone(),
            flows: Vec::new(),
            hyperperiod_ns: 1,
            gap_bytes: GAP_BYTES,
            margin_ns: 0,
            best_effort_bytes: FULL_FRAME_BYTES + OVERHEAD_BYTES,
            best_effort_ppm: 0,
            starts_at_zero: true,
        };
        let (mut flows, mut remarks) = (Vec::new(), Vec::new());
        for (place, flow) in network.flows.iter().enumerate() {
            match flow.pace {
                Pace::FlatOut => remarks.push(self.remark(flow)),
                Pace::Periodic { period_ns, frames: 1, .. } => {
                    instance.flows.push(self.flow(flow, period_ns)?);
                    flows.push(place);
                }
                Pace::Periodic { .. } => {
                    return Err(self
                        .wrong(flow, "bursts are not scheduled; write a flow for each frame of the burst"));
                }
            }
        }
        remarks.extend(self.unclassified(&instance.flows));
        Ok(Scheduled { instance, flows, ports: self.ports.clone(), remarks })
    }

    /// The switches that give the class of a scheduled flow to all frames that no rule matches, as messages for the user: these frames
    /// are sent in its windows, and not as best effort.
    fn unclassified(&self, scheduled: &[Flow]) -> Vec<String> {
        let of_switch = |(number, switch): (usize, &Switch)| {
            let class = switch.class_of(&Marks::default());
            let flow = scheduled.iter().find(|flow| {
                let mut links = flow.route.iter().flatten();
                let has_class = flow.queue_at.as_ref().is_some_and(|queues| queues[number] == class);
                has_class && links.any(|link| self.links[*link].from == number)
            })?;
            Some(format!(
                "switch {} sends all frames that no [[classify]] rule matches in class {}, the windows of the scheduled flow '{}', where they \
                 delay it; give the flow a class of its own",
                switch.name.value,
                switch.class_name(class),
                flow.name
            ))
        };
        self.network.switches.iter().enumerate().filter_map(of_switch).collect()
    }

    /// What to know of a flow that is not scheduled.
    fn remark(&self, flow: &NetworkFlow) -> String {
        let name = &flow.name.value;
        let is_beside = |other: &&NetworkFlow| {
            other.talker.value == flow.talker.value && matches!(other.pace, Pace::Periodic { .. })
        };
        let beside = match self.network.flows.iter().find(is_beside) {
            Some(other) => format!(
                ", and delays scheduled flows such as '{}' on the cable of their common talker, which has no gates; give it another \
                 talker",
                other.name.value
            ),
            None => String::new(),
        };
        format!("flow '{name}' sends as fast as it can: it is best effort{beside}")
    }

    fn flow(&self, flow: &NetworkFlow, period_ns: u64) -> Result<Flow, InputError> {
        let network = self.network;
        let route = self.route(flow)?;
        let switch_vlans =
            network.switches.iter().flat_map(|switch| &switch.ports).any(|port| !port.vlans.is_empty());
        let tag_bytes = if switch_vlans && flow.marks.vlan.is_none() { TAG_BYTES } else { 0 };
        let class = |node: usize| network.switches.get(node).map_or(0, |switch| switch.class_of(&flow.marks));
        Ok(Flow {
            name: flow.name.value.clone(),
            source: self.node(End::Host(flow.talker.value)),
            destinations: vec![self.node(End::Host(flow.listener.value))],
            wire_bytes: flow.size.value + FRAMING_BYTES + tag_bytes,
            period_ns,
            deadline_ns: flow.limits.deadline_ns.as_ref().map(|deadline| deadline.value),
            jitter_ns: flow.limits.jitter_ns.as_ref().map(|jitter| jitter.value),
            release_ns: 0,
            queue_at: Some((0..network.switches.len() + network.hosts.len()).map(class).collect()),
            route: Some(route),
        })
    }

    /// The links of the route that the network gives to a flow.
    fn route(&self, flow: &NetworkFlow) -> Result<Vec<usize>, InputError> {
        let out = self.network.way_out(flow).ok_or_else(|| {
            self.wrong(
                flow,
                "no cables connect its talker and its listener; add to = in the [[switch.port]] of each",
            )
        })?;
        let host = self.node(End::Host(flow.talker.value));
        let first_switch = out.first().map(|port| port.switch);
        let of_host =
            |link: &&usize| self.links[**link].from == host && Some(self.links[**link].to) == first_switch;
        let all: Vec<usize> = (0..self.links.len()).collect();
        let mut route: Vec<usize> = all.iter().find(of_host).copied().into_iter().collect();
        if route.is_empty() {
            return Err(
                self.wrong(flow, "no switch is between its talker and its listener, so there are no gates")
            );
        }
        route.extend(out.iter().filter_map(|port| self.ports.iter().position(|own| *own == Some(*port))));
        if let Some(link) = route.iter().find(|link| self.links[**link].bits_per_second == 0) {
            let (from, to) = self.ends(*link);
            let what = format!(
                "the cable from {from} to {to} has no speed; add speed = \"1Gbit/s\" to its [[switch.port]]"
            );
            return Err(self.wrong(flow, &what));
        }
        Ok(route)
    }

    fn ends(&self, link: usize) -> (String, String) {
        let name = |node: usize| match self.network.switches.get(node) {
            Some(switch) => switch.name.value.clone(),
            None => self.network.hosts[node - self.network.switches.len()].name.value.clone(),
        };
        (name(self.links[link].from), name(self.links[link].to))
    }

    /// Refuses best effort in the class of a scheduled flow: its frames would be sent in the windows.
    fn check_best_effort(&self, scheduled: &mut Scheduled) -> Result<(), InputError> {
        for flow in self.network.flows.iter().filter(|flow| flow.pace == Pace::FlatOut) {
            for port in self.network.way_out(flow).unwrap_or_default() {
                let class = self.network.switches[port.switch].class_of(&flow.marks);
                let meets = |other: &&Flow| {
                    let links = other.route.as_deref().unwrap_or_default();
                    let queues = other.queue_at.as_deref().unwrap_or_default();
                    links.iter().any(|link| self.ports[*link] == Some(port))
                        && queues.get(port.switch) == Some(&class)
                };
                if let Some(other) = scheduled.instance.flows.iter().find(meets) {
                    let switch = &self.network.switches[port.switch];
                    let what = format!(
                        "it sends as fast as it can in class {} of switch {}, which is the class of the scheduled flow '{}'; give it \
                         another class with a [[classify]] rule",
                        switch.class_name(class),
                        switch.name.value,
                        other.name
                    );
                    return Err(self.wrong(flow, &what));
                }
            }
        }
        // A cable that no flow uses may have no speed.
        for link in scheduled.instance.links.iter_mut().filter(|link| link.bits_per_second == 0) {
            link.bits_per_second = 1;
        }
        Ok(())
    }
}
