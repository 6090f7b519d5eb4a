//! The queue of pending events.
//!
//! Every source of events (a transmitter, the end of a cable, a talker) has at most one pending event, so a winner
//! tree over the sources replaces a heap, in constant memory: a change costs one comparison per level. Of two sources
//! with the same time the one with the lower number comes first, which makes a simulation reproducible.

/// The time of a source without a pending event.
pub(super) const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingEvent {
    at_ns: u64,
    source: u32,
}

/// The sources and the earliest of them.
#[derive(Clone, Debug)]
pub(super) struct EventQueue {
    /// Node 1 is the winner, node n the earlier of nodes 2n and 2n + 1, and the second half are the sources.
    nodes: Vec<PendingEvent>,
    sources: usize,
}

impl EventQueue {
    /// A queue for this many sources, all without a pending event.
    pub(super) fn of(sources: usize) -> Self {
        let sources = sources.max(1).next_power_of_two();
        let mut nodes = vec![PendingEvent { at_ns: NEVER, source: 0 }; 2 * sources];
        for (source, node) in nodes[sources..].iter_mut().enumerate() {
            node.source = source as u32;
        }
        for node in (1..sources).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, sources }
    }

    /// The time and the source of the next event; [`NEVER`] if there is none.
    pub(super) fn next(&self) -> (u64, usize) {
        let winner = self.nodes[1];
        (winner.at_ns, winner.source as usize)
    }

    /// Sets the time of a source's event, replacing the one before.
    pub(super) fn set(&mut self, source: usize, at_ns: u64) {
        let mut node = self.sources + source;
        if self.nodes[node].at_ns == at_ns {
            return;
        }
        self.nodes[node].at_ns = at_ns;
        while node > 1 {
            let (left, right) = (self.nodes[node & !1], self.nodes[node | 1]);
            let winner = if right.at_ns < left.at_ns { right } else { left };
            node /= 2;
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn simultaneous_events_come_in_the_order_of_their_sources() {
        let mut queue = EventQueue::of(5);
        assert_eq!(queue.next().0, NEVER);
        for source in [4, 2, 3] {
            queue.set(source, 10);
        }
        let mut order = Vec::new();
        while queue.next().0 != NEVER {
            let (_, source) = queue.next();
            order.push(source);
            queue.set(source, NEVER);
        }
        assert_eq!(order, [2, 3, 4]);
    }

    proptest! {
        #[test]
        fn the_next_event_is_the_earliest(changes in prop::collection::vec((0usize..23, 0u64..50), 1..200)) {
            let mut queue = EventQueue::of(23);
            let mut plain = [NEVER; 23];
            for (source, at_ns) in changes {
                queue.set(source, at_ns);
                plain[source] = at_ns;
                let least = plain.iter().min().unwrap();
                let first = plain.iter().position(|at| at == least).unwrap();
                prop_assert_eq!(queue.next(), (*least, first));
            }
        }
    }
}
