//! What the watchers saw while the run went on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many readings an environment series keeps; when full, neighbours merge.
pub const POINT_COUNT: usize = 4096;
/// How many environment series a run keeps; further ones are counted in [`Environment::series_left_out`].
pub const SERIES_COUNT: usize = 512;

/// The environment during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Readings over time.
    pub series: Vec<EnvSeries>,
    /// Series that there was no room for.
    pub series_left_out: u64,
    /// Interrupts by source over the whole run, counts per CPU.
    pub interrupts: Vec<SourceTotal>,
    /// Softirqs by kind over the whole run, counts per CPU.
    pub softirqs: Vec<SourceTotal>,
    /// Kernel threads that ran, most CPU time first.
    pub kernel_threads: Vec<ThreadTime>,
    /// What each watcher cost, and which were not available or skipped, with the reason.
    pub watchers: Vec<WatcherCost>,
}

/// One reading over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvSeries {
    /// What is read, such as `temperature` or `frequency`.
    pub name: String,
    /// Which one of several: sensor, source, or thread; empty where there is only one.
    pub of: String,
    /// The CPU, where it belongs to one.
    pub cpu: Option<u32>,
    /// Unit of the values, such as `°C`, `MHz`, `1/s`, `%`.
    pub unit: String,
    /// What merging two neighbours keeps.
    pub merge: Merge,
    /// When each reading was taken, in ns from the start of the run.
    pub at_ns: Vec<u64>,
    /// The readings.
    pub values: Vec<f64>,
}

/// What merging two neighbours keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// The higher one: temperatures.
    Max,
    /// The lower one: frequencies.
    Min,
    /// The mean: rates and shares over equal stretches.
    Mean,
}

impl EnvSeries {
    /// Adds a reading, first merging all in pairs when there are [`POINT_COUNT`] already.
    pub fn push(&mut self, at_ns: u64, value: f64) {
        if self.values.len() >= POINT_COUNT {
            let merge = |pair: &[f64]| match (pair, self.merge) {
                ([a, b], Merge::Max) => a.max(*b),
                ([a, b], Merge::Min) => a.min(*b),
                ([a, b], Merge::Mean) => (a + b) / 2.0,
                (alone, _) => alone[0],
            };
            self.values = self.values.chunks(2).map(merge).collect();
            self.at_ns = self.at_ns.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
        }
        self.at_ns.push(at_ns);
        self.values.push(value);
    }
}

/// Totals of one source of interrupts or softirqs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceTotal {
    /// Its number or short name, as /proc/interrupts or /proc/softirqs has it.
    pub source: String,
    /// What is behind it: chip, type and device.
    pub description: String,
    /// Counts by CPU.
    pub per_cpu: BTreeMap<u32, u64>,
}

/// CPU time of one kernel thread during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTime {
    /// Its name.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// CPU time that it used during the run.
    pub cpu_ns: u64,
    /// The same as a share of one CPU, from 0 to 1.
    pub share: f64,
}

/// What a watcher cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatcherCost {
    /// Its name.
    pub name: String,
    /// How often it read.
    pub readings: u64,
    /// How long its readings took together.
    pub total_ns: u64,
    /// How long its longest took.
    pub longest_ns: u64,
    /// Why it did not read, or what it left out; absent when it read everything.
    pub left_out: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_the_hottest_moment() {
        let mut series = EnvSeries {
            name: "temperature".into(),
            of: "soc".into(),
            cpu: None,
            unit: "°C".into(),
            merge: Merge::Max,
            at_ns: vec![],
            values: vec![],
        };
        for second in 0..100_000u64 {
            series.push(second, if second == 31_234 { 91.0 } else { 50.0 });
        }
        assert!(series.values.len() <= POINT_COUNT);
        assert_eq!(series.values.len(), series.at_ns.len());
        assert_eq!(series.values.iter().copied().fold(0.0, f64::max), 91.0);
    }
}
