//! A scheduling problem: links, and flows that are to be sent over them.

use std::collections::VecDeque;
use std::fmt;

use serde::Serialize;

/// The longest hyperperiod, in ns: the longest cycle of a gate control list that Linux accepts (`INT_MAX` in
/// `net/sched/sch_taprio.c`).
pub const HYPERPERIOD_MAX_NS: u64 = 2_147_483_647;
/// The longest time of an instance, in ns: a day.
pub const TIME_MAX_NS: u64 = 86_400_000_000_000;
/// The most steps in a hyperperiod. A step is the greatest common divisor of all periods: the solver keeps a bit for each.
const STEPS_MAX: u64 = 1 << 24;
/// The share of each port's cycle that is left for best effort unless requested otherwise, in millionths.
pub const BEST_EFFORT_PPM: u32 = 100_000;
/// The most queues of a link: the classes of TAPRIO.
pub const QUEUES_MAX: u8 = 16;

/// Links and flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// The names of the nodes: switches and end stations.
    pub nodes: Vec<String>,
    /// The links, each in one direction.
    pub links: Vec<Link>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The least common multiple of all periods, in ns; 1 without flows.
    pub hyperperiod_ns: u64,
    /// The octets after each frame in which a link carries no other one. A latency does not contain them.
    pub gap_bytes: u32,
    /// How long a link is reserved after the gap of each frame, in ns: for gates and talkers that are late.
    pub margin_ns: u64,
    /// The frame that must fit between two windows, in bytes on the wire with its gap: a shorter stretch stays closed for best
    /// effort.
    pub best_effort_bytes: u32,
    /// The share of each port's cycle that stays open for best effort, in millionths. A port whose classes all have scheduled flows
    /// has no best effort.
    pub best_effort_ppm: u32,
    /// Whether every gate control list begins at time 0 and an opening must not continue from its last entry to its first, since
    /// Linux grants the budget of such an opening twice.
    pub starts_at_zero: bool,
}

/// A link from one node to another, in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The node that sends, by its index.
    pub from: usize,
    /// The node that receives, by its index.
    pub to: usize,
    /// Its rate.
    pub bits_per_second: u64,
    /// The time of a bit from one end to the other, in ns.
    pub propagation_ns: u64,
    /// The time from the last bit at the receiving node to the queue of the next link, in ns.
    pub processing_ns: u64,
    /// How late a transmission can start because its gate opens late, in ns.
    pub late_ns: u64,
    /// How much earlier than planned a frame can be in the queue of this link, in ns, because nodes before it took less time than they
    /// can.
    pub early_ns: u64,
    /// The number of its queues; each has a gate.
    pub queues: u8,
    /// Whether the sending node has gates.
    pub has_gates: bool,
}

/// A periodic flow: one frame in each period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The talker, by its index in [`Instance::nodes`].
    pub source: usize,
    /// The listeners; at least one.
    pub destinations: Vec<usize>,
    /// The length of a frame on the wire, from its first bit to its last: without the gap after it.
    pub wire_bytes: u32,
    /// The time from one frame to the next, in ns.
    pub period_ns: u64,
    /// The longest permitted time from the first bit sent to the last bit received, in ns.
    pub deadline_ns: Option<u64>,
    /// The largest permitted difference between two of these times, in ns.
    pub jitter_ns: Option<u64>,
    /// The earliest time of sending, in ns from the start of the period.
    pub release_ns: u64,
    /// The queue of its frames at each node, by the node's index; `None`: the solver chooses.
    pub queue_at: Option<Vec<u8>>,
    /// The links that its frames take, in order from the talker; `None`: the solver chooses.
    pub route: Option<Vec<usize>>,
}

/// A file of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The table of the flows.
    Task,
    /// The table of the links.
    Topology,
    /// The switch file.
    Switch,
}

/// A problem in an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file.
    pub source: Source,
    /// The line, from 1; `None` if the problem is not in one line.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl InputError {
    /// A problem in a line.
    pub fn at(source: Source, line: usize, what: impl Into<String>) -> Self {
        Self { source, line: Some(line), what: what.into() }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for InputError {}

/// Where the links and flows of an instance are in its files, for messages.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The file of the flows.
    pub source: Source,
    /// The line of each flow, from 1.
    pub flows: Vec<usize>,
}

impl Link {
    /// How long the link carries `bytes`, in ns, rounded up.
    pub fn wire_ns(&self, bytes: u32) -> u64 {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        u64::try_from(bits.div_ceil(u128::from(self.bits_per_second.max(1)))).unwrap_or(u64::MAX)
    }

    /// The longest time from the planned end of a frame at the sending node to its entry into the queue of the next link, in ns.
    pub fn forwarding_ns(&self) -> u64 {
        self.late_ns + self.propagation_ns + self.processing_ns
    }

    /// The longest time from the planned end of a frame at the sending node to its last bit at the receiving one, in ns.
    pub fn arrival_ns(&self) -> u64 {
        self.late_ns + self.propagation_ns
    }
}

impl Instance {
    /// The name of a link, `FROM→TO`.
    pub fn link_name(&self, link: usize) -> String {
        let Link { from, to, .. } = self.links[link];
        format!("{}→{}", self.nodes[from], self.nodes[to])
    }

    /// How long a link is reserved for a frame of a flow, in ns: for a late start, the frame, and the gap and the margin after it.
    pub fn reserved_ns(&self, flow: &Flow, link: usize) -> u64 {
        let link = &self.links[link];
        link.late_ns + link.wire_ns(flow.wire_bytes + self.gap_bytes) + self.margin_ns
    }

    /// The links that leave each node, in the order of the instance.
    pub fn links_from(&self) -> Vec<Vec<usize>> {
        let mut leaving = vec![Vec::new(); self.nodes.len()];
        for (number, link) in self.links.iter().enumerate() {
            leaving[link.from].push(number);
        }
        leaving
    }

    /// Checks the flows and computes the hyperperiod.
    ///
    /// # Errors
    ///
    /// A flow without a path, a frame that is longer than its period, a hyperperiod that is too long for a gate control list.
    pub fn complete(&mut self, lines: &Lines) -> Result<(), InputError> {
        let leaving = self.links_from();
        let mut reached = Vec::new();
        let mut reached_from = None;
        self.hyperperiod_ns = 1;
        let mut step_ns = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            let wrong = |what: String| InputError::at(lines.source, lines.flows[number], what);
            if reached_from != Some(flow.source) {
                reached = self.reachable(flow.source, &leaving);
                reached_from = Some(flow.source);
            }
            if let Some(far) = flow.destinations.iter().find(|node| !reached[**node]) {
                return Err(wrong(self.without_a_path(flow, *far)));
            }
            self.check_length(flow).map_err(wrong)?;
            step_ns = greatest_common_divisor(step_ns, flow.period_ns);
            let joint = least_common_multiple(self.hyperperiod_ns, flow.period_ns);
            let is_short = |joint: &u64| *joint <= HYPERPERIOD_MAX_NS && joint / step_ns <= STEPS_MAX;
            self.hyperperiod_ns =
                joint.filter(is_short).ok_or_else(|| wrong(too_long(flow, joint, step_ns)))?;
        }
        Ok(())
    }

    /// A frame must fit into its period on the fastest link.
    fn check_length(&self, flow: &Flow) -> Result<(), String> {
        let shortest_ns = self.links.iter().map(|link| link.wire_ns(flow.wire_bytes)).min().unwrap_or(0);
        if shortest_ns > flow.period_ns {
            return Err(format!(
                "flow {}: its frame of {} bytes takes {shortest_ns} ns even on the fastest link, longer than its period of {} ns; \
                 send shorter frames or less often",
                flow.name, flow.wire_bytes, flow.period_ns
            ));
        }
        if flow.release_ns >= flow.period_ns {
            return Err(format!(
                "flow {}: it may be sent from {} ns on, which is not within its period of {} ns",
                flow.name, flow.release_ns, flow.period_ns
            ));
        }
        Ok(())
    }

    /// Whether frames from `source` can reach each node.
    fn reachable(&self, source: usize, leaving: &[Vec<usize>]) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut queue = VecDeque::from([source]);
        reached[source] = true;
        while let Some(node) = queue.pop_front() {
            for link in &leaving[node] {
                let to = self.links[*link].to;
                if !std::mem::replace(&mut reached[to], true) {
                    queue.push_back(to);
                }
            }
        }
        reached
    }

    fn without_a_path(&self, flow: &Flow, far: usize) -> String {
        let part = self.part_of(flow.source);
        let (from, to) = (&self.nodes[flow.source], &self.nodes[far]);
        let head = format!("flow {}: there is no path from {from} to {to}", flow.name);
        if part[far] {
            return format!("{head}: links are one-way, and none leads there; add the link that is missing");
        }
        let own: Vec<&str> = self
            .nodes
            .iter()
            .zip(&part)
            .filter(|(_, is_in)| **is_in)
            .map(|(name, _)| name.as_str())
            .collect();
        let shown = own.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        let more = if own.len() > 5 { format!(" and {} more", own.len() - 5) } else { String::new() };
        format!(
            "{head}: the topology has two parts without a link between them, and {from} is in the one of {shown}{more}; add \
             the link that is missing"
        )
    }

    /// The nodes that are connected with `node`, whatever the direction of the links.
    fn part_of(&self, node: usize) -> Vec<bool> {
        let mut part = vec![false; self.nodes.len()];
        part[node] = true;
        loop {
            let before = part.iter().filter(|is_in| **is_in).count();
            for link in &self.links {
                if part[link.from] || part[link.to] {
                    part[link.from] = true;
                    part[link.to] = true;
                }
            }
            if part.iter().filter(|is_in| **is_in).count() == before {
                return part;
            }
        }
    }
}

/// The message about a flow that makes the hyperperiod too long.
fn too_long(flow: &Flow, joint: Option<u64>, step_ns: u64) -> String {
    let joint = joint.map_or_else(|| "more than 500 years".to_owned(), |joint| format!("{joint} ns"));
    format!(
        "flow {}: with its period of {} ns the flows repeat only after {joint}, and the periods have no common divisor longer \
         than {step_ns} ns; a gate control list is at most {HYPERPERIOD_MAX_NS} ns long, and at most {STEPS_MAX} such steps are \
         scheduled. Choose periods that divide each other, such as 1, 2 and 4 ms",
        flow.name, flow.period_ns
    )
}

/// The shortest entry of a gate control list that Linux accepts on a link: the time of the shortest frame (`ETH_ZLEN` in
/// `net/sched/sch_taprio.c`) with its overhead, in ns.
pub fn least_entry_ns(link: &Link) -> u64 {
    link.wire_ns(84)
}

/// The greatest common divisor.
pub fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The least common multiple; `None` if it does not fit.
pub fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    (a / greatest_common_divisor(a, b).max(1)).checked_mul(b)
}
