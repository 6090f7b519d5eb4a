//! Instances and schedules of TSNKit, as input of the simulator.
//!
//! TSNKit (Chuanyu Xue and others, RTAS 2024) is a collection of scheduling methods. An instance is a table of
//! streams and one of links; a schedule adds gates, sending times, routes and queues. In its model a frame of n bytes
//! takes n * 8 bit on a link without overhead, a node takes `t_proc` to forward it, every interface has gates,
//! including those of talkers, and a gate opens for one queue at a time.

mod csv;

use std::collections::BTreeMap;
use std::fmt;

use tardy_record::gates::GateEntry;

use self::csv::Table;
use crate::network::CLASSES_MAX;
use crate::simulate::standard_gates::Windows;
use crate::simulate::wiring::{
    ClassQueues, ClassRules, Device, Discipline, Hop, Release, Stream, Transmitter, Wiring,
};
use crate::transmission_time::{OnCable, octets_ps};

/// The longest time in a table, in ns: a day.
const TIME_MAX_NS: u64 = 86_400_000_000_000;
/// The fastest link, in bit/ns.
const RATE_MAX: u64 = 1_000_000;
/// The longest frame, in bytes.
const SIZE_MAX: u64 = 1 << 20;
/// The capacity of a queue, in frames; TSNKit's queues are unlimited.
const QUEUE_FRAMES: u32 = 1 << 20;

/// The texts of an instance and a schedule for it.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// `…_task.csv`: stream, src, dst, size, period.
    pub task: &'a str,
    /// `…_topo.csv`: link, rate, t_proc, t_prop.
    pub topology: &'a str,
    /// `…-GCL.csv`: link, queue, start, end, cycle.
    pub gates: &'a str,
    /// `…-OFFSET.csv`: stream, frame, offset.
    pub offsets: &'a str,
    /// `…-ROUTE.csv`: stream, link.
    pub routes: &'a str,
    /// `…-QUEUE.csv`: stream, frame, link, queue.
    pub queues: &'a str,
}

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The streams.
    Task,
    /// The links.
    Topology,
    /// The gates.
    Gates,
    /// When each frame is sent.
    Offsets,
    /// The routes.
    Routes,
    /// The queues.
    Queues,
}

impl Part {
    /// The suffix of the table's file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "_task.csv",
            Self::Topology => "_topo.csv",
            Self::Gates => "-GCL.csv",
            Self::Offsets => "-OFFSET.csv",
            Self::Routes => "-ROUTE.csv",
            Self::Queues => "-QUEUE.csv",
        }
    }
}

/// A problem in an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceError {
    /// The table.
    pub part: Part,
    /// The line, from 1; `None` if a record is missing.
    pub line: Option<usize>,
    /// The problem.
    pub what: String,
}

impl InstanceError {
    fn at(part: Part, line: usize, what: String) -> Self {
        Self { part, line: Some(line), what }
    }

    fn missing(part: Part, what: String) -> Self {
        Self { part, line: None, what }
    }
}

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.part.name(), self.what),
            None => write!(f, "{}: {}", self.part.name(), self.what),
        }
    }
}

impl std::error::Error for InstanceError {}

type LinkEnds = (u32, u32);

/// Prepares an instance and its schedule for simulation. The streams are in the order of the task table.
///
/// # Errors
///
/// Invalid tables, invalid or too large numbers, streams without a route or an offset, windows that overlap.
pub fn wiring(instance: &Instance<'_>) -> Result<Wiring, InstanceError> {
    let mut links = links(instance.topology)?;
    gates(instance.gates, &mut links)?;
    let mut streams = streams(instance.task)?;
    offsets(instance.offsets, &mut streams)?;
    routes(instance.routes, &mut streams)?;
    queues(instance.queues, &mut streams)?;
    let mut wiring = Wiring::default();
    // A node has a forwarding time only if it forwards other nodes' streams: a listener has none, even if it also
    // talks.
    let forwards =
        |node: u32| streams.values().any(|stream| stream.from != node && stream.next.contains_key(&node));
    for (ends, link) in &links {
        let forwarding_ns = if forwards(ends.1) { link.forwarding_ns } else { 0 };
        wiring.transmitters.push(link.transmitter(*ends, link.propagation_ns + forwarding_ns)?);
    }
    for (number, stream) in &streams {
        stream.wire(*number, &links, &mut wiring)?;
    }
    Ok(wiring)
}

struct LinkRow {
    place: u32,
    bits_per_second: u64,
    propagation_ns: u64,
    forwarding_ns: u64,
    /// Queue, start and end of each window.
    windows: Vec<(u8, u64, u64)>,
    cycle_ns: Option<u64>,
}

struct StreamRow {
    from: u32,
    to: u32,
    bytes: u32,
    period_ns: u64,
    offsets_ns: BTreeMap<u64, u64>,
    next: BTreeMap<u32, u32>,
    queues: BTreeMap<LinkEnds, u8>,
}

fn links(text: &str) -> Result<BTreeMap<LinkEnds, LinkRow>, InstanceError> {
    let mut table = Table::of(Part::Topology, text, &["link", "rate", "t_proc", "t_prop"])?;
    let mut links = BTreeMap::new();
    while let Some(row) = table.next() {
        let link = LinkRow {
            place: 0,
            bits_per_second: row.number("rate", RATE_MAX)?.max(1) * 1_000_000_000,
            propagation_ns: row.number("t_prop", TIME_MAX_NS)?,
            forwarding_ns: row.number("t_proc", TIME_MAX_NS)?,
            windows: Vec::new(),
            cycle_ns: None,
        };
        links.insert(row.link("link")?, link);
    }
    for (place, link) in links.values_mut().enumerate() {
        link.place = place as u32;
    }
    Ok(links)
}

fn gates(text: &str, links: &mut BTreeMap<LinkEnds, LinkRow>) -> Result<(), InstanceError> {
    let mut table = Table::of(Part::Gates, text, &["link", "queue", "start", "end", "cycle"])?;
    while let Some(row) = table.next() {
        let ends = row.link("link")?;
        let link = links.get_mut(&ends).ok_or_else(|| row.wrong(format!("there is no link {ends:?}")))?;
        let queue = row.number("queue", CLASSES_MAX as u64 - 1)? as u8;
        let cycle_ns = row.number("cycle", TIME_MAX_NS)?;
        let (start_ns, end_ns) = (row.number("start", cycle_ns)?, row.number("end", cycle_ns)?);
        if start_ns >= end_ns {
            return Err(row.wrong("the window ends before it begins"));
        }
        if *link.cycle_ns.get_or_insert(cycle_ns) != cycle_ns {
            return Err(row.wrong(format!("link {ends:?} has two cycles")));
        }
        link.windows.push((queue, start_ns, end_ns));
    }
    Ok(())
}

fn streams(text: &str) -> Result<BTreeMap<u64, StreamRow>, InstanceError> {
    let mut table = Table::of(Part::Task, text, &["stream", "src", "dst", "size", "period"])?;
    let mut streams = BTreeMap::new();
    while let Some(row) = table.next() {
        let stream = StreamRow {
            from: row.number("src", u64::from(u32::MAX))? as u32,
            to: row.only_node("dst")?,
            bytes: row.number("size", SIZE_MAX)? as u32,
            period_ns: row.number("period", TIME_MAX_NS)?,
            offsets_ns: BTreeMap::new(),
            next: BTreeMap::new(),
            queues: BTreeMap::new(),
        };
        if stream.period_ns == 0 || stream.bytes == 0 {
            return Err(row.wrong("neither size nor period may be 0"));
        }
        let number = row.number("stream", u64::from(u32::MAX))?;
        if streams.insert(number, stream).is_some() {
            return Err(row.wrong(format!("stream {number} is listed twice")));
        }
    }
    Ok(streams)
}

fn stream_of<'s>(
    row: &csv::Row<'_>,
    streams: &'s mut BTreeMap<u64, StreamRow>,
) -> Result<&'s mut StreamRow, InstanceError> {
    let number = row.number("stream", u64::from(u32::MAX))?;
    streams.get_mut(&number).ok_or_else(|| row.wrong(format!("there is no stream {number}")))
}

fn offsets(text: &str, streams: &mut BTreeMap<u64, StreamRow>) -> Result<(), InstanceError> {
    let mut table = Table::of(Part::Offsets, text, &["stream", "frame", "offset"])?;
    while let Some(row) = table.next() {
        let stream = stream_of(&row, streams)?;
        let offset_ns = row.number("offset", stream.period_ns - 1)?;
        stream.offsets_ns.insert(row.number("frame", TIME_MAX_NS)?, offset_ns);
    }
    Ok(())
}

fn routes(text: &str, streams: &mut BTreeMap<u64, StreamRow>) -> Result<(), InstanceError> {
    let mut table = Table::of(Part::Routes, text, &["stream", "link"])?;
    while let Some(row) = table.next() {
        let (from, to) = row.link("link")?;
        let stream = stream_of(&row, streams)?;
        if stream.next.insert(from, to).is_some_and(|other| other != to) {
            return Err(row.wrong(format!("the route forks at node {from}")));
        }
    }
    Ok(())
}

fn queues(text: &str, streams: &mut BTreeMap<u64, StreamRow>) -> Result<(), InstanceError> {
    let mut table = Table::of(Part::Queues, text, &["stream", "frame", "link", "queue"])?;
    while let Some(row) = table.next() {
        let link = row.link("link")?;
        let queue = row.number("queue", CLASSES_MAX as u64 - 1)? as u8;
        let stream = stream_of(&row, streams)?;
        if stream.queues.insert(link, queue).is_some_and(|other| other != queue) {
            return Err(row.wrong("frames of one stream in two queues of a link are not simulated"));
        }
    }
    Ok(())
}

impl LinkRow {
    fn transmitter(&self, ends: LinkEnds, delay_ns: u64) -> Result<Transmitter, InstanceError> {
        let discipline = match self.cycle_ns {
            None => Discipline::Priority,
            Some(cycle_ns) => Discipline::Standard(self.windows(ends, cycle_ns)?),
        };
        let classes = (0..CLASSES_MAX as u16).map(|first| ClassQueues { first, count: 1 });
        Ok(Transmitter {
            class_rules: ClassRules::default(),
            name: format!("{}→{}", ends.0, ends.1),
            delay_ns,
            discipline,
            device: Device::Mac,
            classes: classes.collect(),
            queue_frames: QUEUE_FRAMES,
        })
    }

    fn windows(&self, ends: LinkEnds, cycle_ns: u64) -> Result<Windows, InstanceError> {
        let mut sorted = self.windows.clone();
        sorted.sort_unstable_by_key(|(queue, start_ns, _)| (*start_ns, *queue));
        let mut entries = Vec::with_capacity(2 * sorted.len() + 1);
        let mut at_ns = 0;
        for (queue, start_ns, end_ns) in sorted {
            if start_ns < at_ns {
                let what = format!("windows of link {ends:?} overlap at {start_ns} ns");
                return Err(InstanceError::missing(Part::Gates, what));
            }
            if start_ns > at_ns {
                entries.extend(GateEntry::lasting(0, start_ns - at_ns));
            }
            entries.extend(GateEntry::lasting(1 << queue, end_ns - start_ns));
            at_ns = end_ns;
        }
        if at_ns < cycle_ns {
            entries.extend(GateEntry::lasting(0, cycle_ns - at_ns));
        }
        Windows::of(&entries, Some(cycle_ns), 0, CLASSES_MAX as u8)
            .ok_or_else(|| InstanceError::missing(Part::Gates, format!("link {ends:?} has a cycle of 0")))
    }
}

impl StreamRow {
    /// Adds the stream and its hops to `wiring`.
    fn wire(
        &self,
        number: u64,
        links: &BTreeMap<LinkEnds, LinkRow>,
        wiring: &mut Wiring,
    ) -> Result<(), InstanceError> {
        let first_hop = wiring.hops.len();
        let mut node = self.from;
        while node != self.to {
            let missing =
                |what: String| InstanceError::missing(Part::Routes, format!("stream {number}: {what}"));
            let next =
                *self.next.get(&node).ok_or_else(|| missing(format!("its route ends at node {node}")))?;
            let link =
                links.get(&(node, next)).ok_or_else(|| missing(format!("no link ({node}, {next})")))?;
            if wiring.hops.len() - first_hop >= self.next.len() {
                return Err(missing("its route contains a loop".to_owned()));
            }
            let queue = self.queues.get(&(node, next)).ok_or_else(|| {
                InstanceError::missing(
                    Part::Queues,
                    format!("stream {number}: no queue on link ({node}, {next})"),
                )
            })?;
            // TSNKit has no gap.
            let busy_ps = octets_ps(self.bytes, link.bits_per_second);
            wiring.hops.push(Hop {
                transmitter: link.place,
                class: *queue,
                queue: u16::from(*queue),
                last: next == self.to,
                on_cable: OnCable { sent_ps: busy_ps, busy_ps },
                kernel_bytes: self.bytes,
                charged_bytes: self.bytes,
                longest_bytes: u32::MAX,
            });
            node = next;
        }
        if self.offsets_ns.is_empty() {
            return Err(InstanceError::missing(
                Part::Offsets,
                format!("stream {number} has no offset, so it is never sent"),
            ));
        }
        let instances = (0u64..).zip(self.offsets_ns.values());
        wiring.streams.push(Stream {
            first_hop: first_hop as u32,
            hops: (wiring.hops.len() - first_hop) as u16,
            wire_bytes: self.bytes,
            release: Release::Periodic {
                period_ns: self.period_ns * self.offsets_ns.len() as u64,
                offsets_ns: instances.map(|(instance, offset)| instance * self.period_ns + offset).collect(),
                frames: 1,
                jitter_ns: 0,
            },
        });
        Ok(())
    }
}
