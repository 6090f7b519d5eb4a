//! `--spike`: a list of the wake-ups above a limit.

use std::fmt::Write as _;

/// Spikes that are listed if `--spike-nodes` does not give another number.
pub const NODES_DEFAULT: usize = 1024;

/// The wake-ups above the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Spikes {
    /// In the unit of the results.
    limit: u64,
    nodes: usize,
    /// The number of all spikes.
    count: u64,
    listed: Vec<Spike>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spike {
    thread: usize,
    value: u64,
    at_us: u64,
}

impl Spikes {
    /// A list of the first `nodes` wake-ups above `limit`.
    pub fn above(limit: u64, nodes: usize) -> Self {
        Self { limit, nodes, count: 0, listed: Vec::new() }
    }

    /// Counts a reading of a thread in the unit of the results. `at_us` is the time of the wake-up.
    pub fn add(&mut self, thread: usize, value: u64, at_us: u64) {
        if value > self.limit {
            self.count += 1;
            if self.listed.len() < self.nodes {
                self.listed.push(Spike { thread, value, at_us });
            }
        }
    }

    /// The output at the end; empty without spikes.
    pub fn text(&self) -> String {
        if self.listed.is_empty() {
            return String::new();
        }
        let mut text = "\n".to_owned();
        for Spike { thread, value, at_us } in &self.listed {
            let _ = writeln!(text, "T:{thread:2} Spike:{value:8}: TS: {at_us:12}");
        }
        let _ = write!(text, "spikes = {}\n\n", self.count);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_above_the_limit_are_listed_until_the_list_is_full() {
        let mut spikes = Spikes::above(50, 2);
        assert_eq!(spikes.text(), "");
        for (thread, value) in [(0, 50), (1, 51), (0, 900), (0, 60)] {
            spikes.add(thread, value, 1_234_567);
        }
        assert_eq!(
            spikes.text(),
            "\nT: 1 Spike:      51: TS:      1234567\nT: 0 Spike:     900: TS:      1234567\nspikes = 3\n\n"
        );
    }
}
