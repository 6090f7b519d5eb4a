//! Which of many things happens next.
//!
//! Every source of events (a transmitter, the end of a cable, a talker) has at most one event to come, so a knock-out
//! tournament over the sources does what a heap of events would do, in memory that never grows: a change costs one
//! comparison a level. Of two sources at the same time the one with the lower number comes first, which makes a
//! simulation the same every time.

/// The time of a source that has nothing to come.
pub(super) const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contender {
    at_ns: u64,
    source: u32,
}

/// The sources, and the next of them.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Node 1 is the winner, nodes 2n and 2n + 1 play for node n, and the second half are the sources.
    nodes: Vec<Contender>,
    sources: usize,
}

impl Tournament {
    /// So many sources, none of which has anything to come.
    pub(super) fn of(sources: usize) -> Self {
        let sources = sources.max(1).next_power_of_two();
        let mut nodes = vec![Contender { at_ns: NEVER, source: 0 }; 2 * sources];
        for (source, node) in nodes[sources..].iter_mut().enumerate() {
            node.source = source as u32;
        }
        for node in (1..sources).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, sources }
    }

    /// When the next event is, and whose; [`NEVER`] where there is none.
    pub(super) fn next(&self) -> (u64, usize) {
        let winner = self.nodes[1];
        (winner.at_ns, winner.source as usize)
    }

    /// Sets when a source's event comes, in place of what it had before.
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
    fn equals_come_in_the_order_of_their_numbers() {
        let mut tournament = Tournament::of(5);
        assert_eq!(tournament.next().0, NEVER);
        for source in [4, 2, 3] {
            tournament.set(source, 10);
        }
        let mut order = Vec::new();
        while tournament.next().0 != NEVER {
            let (_, source) = tournament.next();
            order.push(source);
            tournament.set(source, NEVER);
        }
        assert_eq!(order, [2, 3, 4]);
    }

    proptest! {
        #[test]
        fn the_winner_is_the_least(changes in prop::collection::vec((0usize..23, 0u64..50), 1..200)) {
            let mut tournament = Tournament::of(23);
            let mut plain = [NEVER; 23];
            for (source, at_ns) in changes {
                tournament.set(source, at_ns);
                plain[source] = at_ns;
                let least = plain.iter().min().unwrap();
                let first = plain.iter().position(|at| at == least).unwrap();
                prop_assert_eq!(tournament.next(), (*least, first));
            }
        }
    }
}
