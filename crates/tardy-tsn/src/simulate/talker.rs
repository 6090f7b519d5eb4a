//! The send times of a talker with a period, or of one that was observed.

use super::event_queue::NEVER;
use super::wiring::{Release, Stream};
use crate::random::Random;

/// A talker while the simulation runs.
#[derive(Clone, Debug)]
pub(super) struct Talker {
    period_ns: u64,
    offsets_ns: Vec<u64>,
    frames: u32,
    jitter_ns: u64,
    /// The next burst: the index of its offset, the start of its period, and when the talker sends.
    next: usize,
    period_start_ns: u64,
    next_ns: u64,
    random: Random,
    /// The remaining times of an observed talker, the next one last.
    recorded: Vec<u64>,
}

impl Talker {
    /// The talker of a flow. A talker that sends as fast as it can never sends by the clock.
    pub(super) fn of(stream: &Stream, seed: u64, flow: u64) -> Self {
        let random = Random::of(seed ^ flow.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut talker = Self {
            period_ns: 0,
            offsets_ns: Vec::new(),
            frames: 0,
            jitter_ns: 0,
            next: 0,
            period_start_ns: 0,
            next_ns: NEVER,
            random,
            recorded: Vec::new(),
        };
        if let Release::Recorded(times_ns) = &stream.release {
            talker.frames = 1;
            talker.recorded = times_ns.iter().rev().copied().collect();
            talker.next_ns = talker.recorded.pop().unwrap_or(NEVER);
        }
        if let Release::Periodic { period_ns, offsets_ns, frames, jitter_ns } = &stream.release
            && let Some(first_ns) = offsets_ns.first()
        {
            (talker.period_ns, talker.frames, talker.jitter_ns) = ((*period_ns).max(1), *frames, *jitter_ns);
            talker.offsets_ns.clone_from(offsets_ns);
            talker.next_ns = talker.late(*first_ns, 0);
        }
        talker
    }

    /// When it sends next; [`NEVER`] if it does not.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The number of frames in the burst.
    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// Advances to the next burst.
    pub(super) fn advance(&mut self) {
        if self.offsets_ns.is_empty() {
            self.next_ns = self.recorded.pop().unwrap_or(NEVER);
            return;
        }
        let before_ns = self.next_ns;
        self.next += 1;
        if self.next == self.offsets_ns.len() {
            self.next = 0;
            self.period_start_ns = self.period_start_ns.saturating_add(self.period_ns);
        }
        let due_ns = self.period_start_ns.saturating_add(self.offsets_ns[self.next]);
        self.next_ns = self.late(due_ns, before_ns);
    }

    /// When the burst due at `due_ns` is sent: with a random delay, but not before `before_ns`, the time of the
    /// previous one.
    fn late(&mut self, due_ns: u64, before_ns: u64) -> u64 {
        let late_ns =
            if self.jitter_ns == 0 { 0 } else { self.random.below(self.jitter_ns.saturating_add(1)) };
        due_ns.saturating_add(late_ns).max(before_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talker(offsets_ns: Vec<u64>, jitter_ns: u64) -> Talker {
        let release = Release::Periodic { period_ns: 100, offsets_ns, frames: 2, jitter_ns };
        Talker::of(&Stream { first_hop: 0, hops: 1, wire_bytes: 64, release }, 1, 0)
    }

    fn times(mut talker: Talker, count: usize) -> Vec<u64> {
        let mut times = Vec::new();
        for _ in 0..count {
            times.push(talker.next_ns());
            talker.advance();
        }
        times
    }

    #[test]
    fn a_talker_sends_at_each_offset_in_each_period() {
        assert_eq!(times(talker(vec![10, 60], 0), 5), [10, 60, 110, 160, 210]);
        assert_eq!(talker(Vec::new(), 0).next_ns(), NEVER);
    }

    #[test]
    fn an_observed_talker_sends_at_its_observed_times() {
        let release = Release::Recorded(vec![5, 5, 90]);
        let talker = Talker::of(&Stream { first_hop: 0, hops: 1, wire_bytes: 64, release }, 1, 0);
        assert_eq!(talker.frames(), 1);
        assert_eq!(times(talker, 4), [5, 5, 90, NEVER]);
    }

    #[test]
    fn jitter_is_bounded_and_reproducible_and_keeps_the_order() {
        let late = times(talker(vec![0, 10], 50), 400);
        assert_eq!(late, times(talker(vec![0, 10], 50), 400));
        assert!(late.is_sorted());
        let lateness: Vec<u64> = late
            .iter()
            .enumerate()
            .map(|(index, at)| at - (index as u64 / 2 * 100 + index as u64 % 2 * 10))
            .collect();
        assert!(lateness.iter().all(|late| *late <= 50));
        assert!(lateness.contains(&0) && lateness.contains(&49));
    }
}
