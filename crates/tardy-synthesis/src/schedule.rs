//! A schedule: when each frame is sent on each link, and the gates that follow.

use serde::Serialize;
use tardy_record::gates::GateEntry;

use crate::instance::Instance;

/// A frame of a flow on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The link, by its index.
    pub link: usize,
    /// The start of its transmission, in ns from the start of the flow's first period. The frames of later periods follow at
    /// the distance of a period.
    pub start_ns: u64,
    /// Its queue.
    pub queue: u8,
}

/// The frames of a flow on its way to all listeners. Each hop is after the one that it continues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// The hops; the first is the talker's.
    pub hops: Vec<Hop>,
}

impl Placement {
    /// When the talker sends, in ns from the start of the period.
    pub fn offset_ns(&self) -> u64 {
        self.hops.first().map_or(0, |hop| hop.start_ns)
    }

    /// The longest time from the first bit sent to the last bit received by a listener, in ns.
    pub fn latency_ns(&self, instance: &Instance, flow: usize) -> u64 {
        let flow = &instance.flows[flow];
        let arrival = |hop: &Hop| {
            let link = &instance.links[hop.link];
            let end_ns = hop.start_ns + link.wire_ns(flow.wire_bytes) + link.propagation_ns;
            flow.destinations.contains(&link.to).then(|| end_ns.saturating_sub(self.offset_ns()))
        };
        self.hops.iter().filter_map(arrival).max().unwrap_or(0)
    }
}

/// The placements of an instance's flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The placement of each flow; `None` if it is left out.
    pub placements: Vec<Option<Placement>>,
}

impl Schedule {
    /// The number of flows that are placed.
    pub fn placed(&self) -> usize {
        self.placements.iter().flatten().count()
    }

    /// The flows that are placed, by their index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Placement)> {
        self.placements.iter().enumerate().filter_map(|(flow, placement)| Some((flow, placement.as_ref()?)))
    }
}

/// The gate control list of a link's port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGates {
    /// The link, by its index.
    pub link: usize,
    /// The length of the cycle, in ns: the sum of the entries.
    pub cycle_ns: u64,
    /// The entries, from time 0 of the schedule.
    pub entries: Vec<GateEntry>,
    /// The gates of the classes without scheduled flows.
    pub best_effort: u32,
}

impl PortGates {
    /// The number of entries of a list that may begin anywhere in its cycle: equal gates at the end and the start are one entry.
    pub fn entries_needed(&self) -> usize {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) if self.entries.len() > 1 && first.gates == last.gates => {
                self.entries.len() - 1
            }
            _ => self.entries.len(),
        }
    }

    /// How long the gates of best effort are open, as a share of the cycle.
    pub fn best_effort_share(&self) -> f64 {
        if self.best_effort == 0 || self.cycle_ns == 0 {
            return 0.0;
        }
        let open = self.entries.iter().filter(|entry| entry.gates & self.best_effort != 0);
        open.map(|entry| f64::from(entry.interval_ns)).sum::<f64>() / self.cycle_ns as f64
    }
}
