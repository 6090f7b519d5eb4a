//! TSNKit's tables: streams and links.
//!
//! In TSNKit's model (Chuanyu Xue and others, RTAS 2024) a frame of n bytes takes n * 8 bit on a link, without overhead; every
//! interface has gates, those of talkers too; and a node forwards a frame `t_proc` after its last bit.

use std::collections::BTreeMap;

use super::tables::{Record, Table};
use crate::instance::{Flow, InputError, Instance, Lines, Link, QUEUES_MAX, Source, TIME_MAX_NS};

/// The fastest link, in bit/ns.
const RATE_MAX: u64 = 1_000_000;
/// The longest frame, in bytes.
const SIZE_MAX: u64 = 1 << 20;
/// The highest number of a node or a stream.
const NUMBER_MAX: u64 = u32::MAX as u64;
/// The most links, and the most streams.
const RECORDS_MAX: usize = 1_000_000;
/// A full Ethernet frame with its VLAN tag in TSNKit's model, which has no overhead.
const FULL_FRAME_BYTES: u32 = 1522;

/// An instance with the numbers of its streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The instance.
    pub instance: Instance,
    /// The number of each flow in the table.
    pub streams: Vec<u64>,
}

/// Reads the table of streams (stream, src, dst, size, period, deadline, jitter, and perhaps release) and that of links (link,
/// rate, t_proc, t_prop and perhaps q_num). `margin_ns` is [`Instance::margin_ns`].
///
/// # Errors
///
/// Missing columns, invalid numbers, links or streams that are listed twice, and what [`Instance::complete`] refuses.
pub fn read(task: &str, topology: &str, margin_ns: u64) -> Result<Tables, InputError> {
    let mut nodes = Nodes::default();
    let links = links(topology, &mut nodes)?;
    let (flows, streams, lines) = flows(task, &nodes)?;
    let mut instance = Instance {
        nodes: nodes.names,
        links,
        flows,
        hyperperiod_ns: 1,
        gap_bytes: 0,
        margin_ns,
        starts_at_zero: false,
        best_effort_bytes: FULL_FRAME_BYTES,
        best_effort_ppm: 0,
    };
    instance.complete(&Lines { source: Source::Task, flows: lines })?;
    Ok(Tables { instance, streams })
}

/// The nodes of the topology, in the order in which they occur.
#[derive(Default)]
struct Nodes {
    names: Vec<String>,
    places: BTreeMap<u64, usize>,
}

impl Nodes {
    fn add(&mut self, number: u64) -> usize {
        *self.places.entry(number).or_insert_with(|| {
            self.names.push(number.to_string());
            self.names.len() - 1
        })
    }

    fn find(&self, number: u64, record: &Record) -> Result<usize, InputError> {
        self.places.get(&number).copied().ok_or_else(|| {
            record.wrong(format!("there is no node {number}: the topology has no link to or from it"))
        })
    }
}

fn links(text: &str, nodes: &mut Nodes) -> Result<Vec<Link>, InputError> {
    let table = Table::of(Source::Topology, text);
    let (ends, rate) = (table.column("link")?, table.column("rate")?);
    let (processing, propagation) = (table.column("t_proc")?, table.column("t_prop")?);
    let queues = table.optional_column("q_num");
    let mut links = Vec::new();
    let mut seen: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for record in table.records() {
        let (from, to) = record.link(ends)?;
        if from == to {
            return Err(record.wrong(format!("link ({from}, {to}) leads from a node to itself")));
        }
        if let Some(first) = seen.insert((from, to), record.line()) {
            return Err(
                record.wrong(format!("link ({from}, {to}) is also on line {first}; remove one of them"))
            );
        }
        if links.len() == RECORDS_MAX {
            return Err(record.wrong(format!("there are more than {RECORDS_MAX} links")));
        }
        let queues = queues.map(|queues| record.number(queues, 1..=u64::from(QUEUES_MAX))).transpose()?;
        links.push(Link {
            from: nodes.add(from),
            to: nodes.add(to),
            bits_per_second: record.number(rate, 1..=RATE_MAX)? * 1_000_000_000,
            propagation_ns: record.number(propagation, 0..=TIME_MAX_NS)?,
            processing_ns: record.number(processing, 0..=TIME_MAX_NS)?,
            late_ns: 0,
            early_ns: 0,
            queues: queues.map_or(8, |queues| queues as u8),
            has_gates: true,
        });
    }
    if links.is_empty() {
        return Err(InputError::at(
            Source::Topology,
            1,
            "the topology has no links; add a line for each, such as \"(0, 1)\",8,1,2000,0",
        ));
    }
    Ok(links)
}

type Flows = (Vec<Flow>, Vec<u64>, Vec<usize>);

fn flows(text: &str, nodes: &Nodes) -> Result<Flows, InputError> {
    let table = Table::of(Source::Task, text);
    let (stream, source, destinations) =
        (table.column("stream")?, table.column("src")?, table.column("dst")?);
    let (size, period) = (table.column("size")?, table.column("period")?);
    let (deadline, jitter) = (table.column("deadline")?, table.column("jitter")?);
    let release = table.optional_column("release");
    let (mut flows, mut streams, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for record in table.records() {
        let number = record.number(stream, 0..=NUMBER_MAX)?;
        if let Some(first) = seen.insert(number, record.line()) {
            return Err(
                record.wrong(format!("stream {number} is also on line {first}; give each its own number"))
            );
        }
        if flows.len() == RECORDS_MAX {
            return Err(record.wrong(format!("there are more than {RECORDS_MAX} streams")));
        }
        let from = nodes.find(record.number(source, 0..=NUMBER_MAX)?, &record)?;
        let mut listeners = Vec::new();
        for node in record.nodes(destinations)? {
            let to = nodes.find(node, &record)?;
            if to == from {
                return Err(
                    record.wrong(format!("stream {number}: node {node} is its talker and a listener"))
                );
            }
            if !listeners.contains(&to) {
                listeners.push(to);
            }
        }
        flows.push(Flow {
            name: number.to_string(),
            source: from,
            destinations: listeners,
            wire_bytes: record.number(size, 1..=SIZE_MAX)? as u32,
            period_ns: record.number(period, 1..=TIME_MAX_NS)?,
            deadline_ns: Some(record.number(deadline, 0..=TIME_MAX_NS)?),
            jitter_ns: Some(record.number(jitter, 0..=TIME_MAX_NS)?),
            release_ns: release.map_or(Ok(0), |release| record.number(release, 0..=TIME_MAX_NS))?,
            queue_at: None,
            route: None,
        });
        streams.push(number);
        lines.push(record.line());
    }
    Ok((flows, streams, lines))
}
