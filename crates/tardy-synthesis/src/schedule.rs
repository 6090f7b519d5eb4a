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

    /// From the planned sending to the end of a frame whose last gate opens on time, at the sending end of its last link, in ns: no
    /// frame is received earlier.
    pub fn least_latency_ns(&self, instance: &Instance, flow: usize) -> u64 {
        let flow = &instance.flows[flow];
        let arrival = |hop: &Hop| {
            let link = &instance.links[hop.link];
            let end_ns = hop.start_ns + link.wire_ns(flow.wire_bytes);
            flow.destinations.contains(&link.to).then(|| end_ns.saturating_sub(self.offset_ns()))
        };
        self.hops.iter().filter_map(arrival).min().unwrap_or(0)
    }

    /// The longest time from the planned sending to the last bit received by a listener, in ns.
    pub fn latency_ns(&self, instance: &Instance, flow: usize) -> u64 {
        let flow = &instance.flows[flow];
        let arrival = |hop: &Hop| {
            let link = &instance.links[hop.link];
            let end_ns = hop.start_ns + link.wire_ns(flow.wire_bytes) + link.arrival_ns();
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

    /// How long a frame of best effort that finds its queue empty and the link free can wait for the gates, in ns. `frame_ns` is
    /// its time on the link: it is not sent if it would end after its gate closes. `None`: it is longer than every opening.
    pub fn best_effort_wait_ns(&self, frame_ns: u64) -> Option<u64> {
        let mut openings = self.best_effort_openings();
        if let [(0, end_ns)] = openings[..]
            && end_ns == self.cycle_ns
        {
            return Some(0);
        }
        openings.retain(|(start_ns, end_ns)| end_ns - start_ns >= frame_ns);
        let again = openings.first().map(|(start_ns, _)| start_ns + self.cycle_ns)?;
        let next_ns = openings.iter().skip(1).map(|(start_ns, _)| *start_ns).chain([again]);
        let waits_ns = openings.iter().zip(next_ns).map(|((_, end_ns), next_ns)| next_ns + frame_ns - end_ns);
        waits_ns.max()
    }

    /// When the gates of best effort are open: start and end in ns, in order. One that continues at the start of the next cycle
    /// ends after this one, and is not listed there.
    pub fn best_effort_openings(&self) -> Vec<(u64, u64)> {
        let mut openings: Vec<(u64, u64)> = Vec::new();
        let mut at_ns = 0;
        for entry in &self.entries {
            let end_ns = at_ns + u64::from(entry.interval_ns);
            if entry.gates & self.best_effort != 0 {
                match openings.last_mut().filter(|last| last.1 == at_ns) {
                    Some(last) => last.1 = end_ns,
                    None => openings.push((at_ns, end_ns)),
                }
            }
            at_ns = end_ns;
        }
        if let [(0, first_end_ns), .., (_, last_end_ns)] = &mut openings[..]
            && *last_end_ns == at_ns
        {
            *last_end_ns += *first_end_ns;
            openings.remove(0);
        }
        openings
    }

    /// How long the gates of best effort are open, as a share of the cycle.
    pub fn best_effort_share(&self) -> f64 {
        if self.cycle_ns == 0 { 0.0 } else { self.best_effort_ns(0) as f64 / self.cycle_ns as f64 }
    }

    /// The time of a cycle in which the gates of best effort are open for at least `frame_ns`, as a share of the cycle in millionths;
    /// `None`: all classes have scheduled flows, so there is no best effort.
    pub fn best_effort_ppm(&self, frame_ns: u64) -> Option<u32> {
        let ppm = u128::from(self.best_effort_ns(frame_ns)) * 1_000_000 / u128::from(self.cycle_ns.max(1));
        (self.best_effort != 0).then_some(ppm as u32)
    }

    fn best_effort_ns(&self, frame_ns: u64) -> u64 {
        let lengths_ns = self.best_effort_openings().into_iter().map(|(start_ns, end_ns)| end_ns - start_ns);
        lengths_ns.filter(|length_ns| *length_ns >= frame_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use tardy_record::gates::GateOperation;

    use super::*;

    fn port(entries: &[(u32, u32)]) -> PortGates {
        let entries: Vec<GateEntry> = entries
            .iter()
            .map(|&(gates, interval_ns)| GateEntry { operation: GateOperation::Set, gates, interval_ns })
            .collect();
        let cycle_ns = entries.iter().map(|entry| u64::from(entry.interval_ns)).sum();
        PortGates { link: 0, cycle_ns, entries, best_effort: 1 }
    }

    #[test]
    fn best_effort_waits_for_the_next_opening_that_is_long_enough() {
        // Open from 100 to 500 and from 600 to 1,000, which continues to 0.
        let usual = port(&[(2, 100), (1, 400), (2, 100), (1, 300), (3, 100)]);
        assert_eq!(usual.best_effort_wait_ns(0), Some(100));
        assert_eq!(usual.best_effort_wait_ns(50), Some(150));
        let short = port(&[(2, 100), (1, 40), (2, 460), (1, 400)]);
        assert_eq!(short.best_effort_wait_ns(50), Some(650), "the opening of 40 ns is too short");
        assert_eq!(short.best_effort_wait_ns(401), None);
        let across = port(&[(1, 100), (2, 200), (1, 100)]);
        assert_eq!(across.best_effort_wait_ns(150), Some(350), "200 ns that begin at 300");
        assert_eq!(port(&[(1, 100), (3, 100)]).best_effort_wait_ns(500), Some(0));
        assert_eq!(port(&[(2, 100)]).best_effort_wait_ns(1), None);
    }
}
