//! The route of a flow: the ports by which it leaves switches.

use std::collections::VecDeque;

use crate::network::{End, Flow, Link, Network, PortId};

impl Network {
    /// The hardware address of a host: the file's, or that of its namespace in a test.
    pub fn address_of(&self, host: usize) -> [u8; 6] {
        let given = self.hosts[host].mac.as_ref().map(|mac| mac.value);
        given.unwrap_or([2, 0x74, 0x64, 0, (host >> 8) as u8, host as u8])
    }

    /// The ports by which `flow` leaves switches, in order; `None` if no cables connect its talker and its listener.
    /// It is the route with the fewest switches, and of several the one whose cables come first in the file.
    pub fn way_out(&self, flow: &Flow) -> Option<Vec<PortId>> {
        let (from, to) = (End::Host(flow.talker.value), End::Host(flow.listener.value));
        let mut reached_by: Vec<Option<PortId>> = vec![None; self.switches.len()];
        let mut seen = vec![false; self.switches.len()];
        let mut queue = VecDeque::new();
        for next in self.links.iter().filter_map(|link| other_end(link, from)) {
            match next {
                End::Port(port) if !seen[port.switch] => {
                    seen[port.switch] = true;
                    queue.push_back(port.switch);
                }
                // A cable between two hosts passes no switch.
                End::Host(_) if next == to => return Some(Vec::new()),
                _ => {}
            }
        }
        while let Some(switch) = queue.pop_front() {
            for link in &self.links {
                for (own, far) in [(link.a, link.b), (link.b, link.a)] {
                    let End::Port(out) = own else { continue };
                    if out.switch != switch {
                        continue;
                    }
                    if far == to {
                        return Some(self.traced_back(out, &reached_by));
                    }
                    if let End::Port(next) = far
                        && !seen[next.switch]
                    {
                        seen[next.switch] = true;
                        reached_by[next.switch] = Some(out);
                        queue.push_back(next.switch);
                    }
                }
            }
        }
        None
    }

    /// The ports up to `last`; `reached_by` holds the port through which each switch was reached.
    fn traced_back(&self, last: PortId, reached_by: &[Option<PortId>]) -> Vec<PortId> {
        let mut way = vec![last];
        let mut switch = last.switch;
        while let Some(out) = reached_by[switch] {
            way.push(out);
            switch = out.switch;
        }
        way.reverse();
        way
    }

    /// The other end of a port's cable.
    pub fn far_end(&self, port: PortId) -> Option<End> {
        self.links.iter().find_map(|link| other_end(link, End::Port(port)))
    }

    /// The port that a host is connected to, and the cable.
    pub fn port_of_host(&self, host: usize) -> Option<(PortId, Link)> {
        self.links.iter().find_map(|link| match other_end(link, End::Host(host)) {
            Some(End::Port(port)) => Some((port, *link)),
            _ => None,
        })
    }
}

fn other_end(link: &Link, end: End) -> Option<End> {
    if link.a == end {
        Some(link.b)
    } else if link.b == end {
        Some(link.a)
    } else {
        None
    }
}
