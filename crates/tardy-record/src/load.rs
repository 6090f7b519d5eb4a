//! What the loads achieved. A load that nobody proved to have run is no load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many readings a load's part keeps; when full, neighbours merge.
pub const READING_COUNT: usize = 4096;

/// One load of one phase, or of several phases that it ran through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// As the person wrote it: `doload`, `cmd:…`.
    pub spec: String,
    /// Index of the first phase that it ran in.
    pub first_phase: usize,
    /// Index of the last one.
    pub last_phase: usize,
    /// Its parts; most loads have one.
    pub parts: Vec<LoadPart>,
    /// What a reader must know, such as `no network-card interrupts: doload's listener ran over loopback`.
    pub remarks: Vec<String>,
}

/// One part of a load: what it did, counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPart {
    /// Its name, such as `scheduler`.
    pub name: String,
    /// What is counted, such as `messages`, `bytes`, `entries`; empty where nothing can be (`cmd:`).
    pub unit: String,
    /// Whether its work comes in bursts by design, so that a quiet second says nothing.
    pub bursty: bool,
    /// When each reading was taken, in ns from the start of the run.
    pub at_ns: Vec<u64>,
    /// How much had been done by then, in all.
    pub done: Vec<u64>,
    /// Whether it lived, at each reading.
    pub alive: Vec<bool>,
    /// Ends that were not by design: when, and how.
    pub deaths: Vec<Death>,
}

/// A load that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Death {
    /// When it was noticed, in ns from the start of the run.
    pub at_ns: u64,
    /// How: exit status or signal, and its last words.
    pub how: String,
}

impl LoadPart {
    /// Adds a reading, first thinning to every second one when there are [`READING_COUNT`] already.
    pub fn push(&mut self, at_ns: u64, done: u64, alive: bool) {
        if self.at_ns.len() >= READING_COUNT {
            let last = self.at_ns.len() - 1;
            // `done` is a running total, so leaving out every second reading loses time resolution, not work. A
            // death between two readings must stay visible.
            for i in (1..=last).step_by(2) {
                if i < last {
                    self.alive[i + 1] &= self.alive[i];
                }
            }
            let mut index = 0;
            self.at_ns.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            index = 0;
            self.done.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            index = 0;
            self.alive.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        self.at_ns.push(at_ns);
        self.done.push(done);
        self.alive.push(alive);
    }

    /// Work per second between neighbouring readings: when the stretch begins and ends, and the rate.
    pub fn rates(&self) -> Vec<(u64, u64, f64)> {
        let stretch = |i: usize| {
            let (from, to) = (self.at_ns[i], self.at_ns[i + 1]);
            let seconds = (to.saturating_sub(from)) as f64 / 1e9;
            let done = self.done[i + 1].saturating_sub(self.done[i]) as f64;
            (from, to, if seconds > 0.0 { done / seconds } else { 0.0 })
        };
        (0..self.at_ns.len().saturating_sub(1)).map(stretch).collect()
    }
}
