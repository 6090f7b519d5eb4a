//! Readings of the watchers during a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most readings that an environment series keeps; when it is full, neighbours merge.
pub const POINT_COUNT: usize = 4096;
/// The number of readings that each series can keep, however many series there are.
pub const POINT_COUNT_LEAST: usize = 256;
/// The most readings that all environment series of a run keep together: the more series, the coarser each is.
pub const POINT_TOTAL: usize = 131_072;
/// The most environment series that a run keeps; the others are counted in [`Environment::series_left_out`].
pub const SERIES_COUNT: usize = 512;

/// The states of a PTP port, in the order of their numbers in IEEE 1588, from 1; the last is linuxptp's own.
pub const PTP_PORT_STATES: &str =
    "INITIALIZING FAULTY DISABLED LISTENING PRE_MASTER MASTER PASSIVE UNCALIBRATED SLAVE GRAND_MASTER";

/// The name of the PTP port state with this number; `unknown` if there is none.
pub fn ptp_port_state(number: u8) -> &'static str {
    PTP_PORT_STATES.split(' ').nth(usize::from(number).wrapping_sub(1)).unwrap_or("unknown")
}

/// The number of readings that each of `series` series keeps.
pub fn points_each(series: usize) -> usize {
    (POINT_TOTAL / series.max(1)).clamp(POINT_COUNT_LEAST, POINT_COUNT)
}

/// The environment during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Readings over time.
    pub series: Vec<EnvSeries>,
    /// Series that were left out because there were too many.
    pub series_left_out: u64,
    /// Interrupts by source over the whole run, counts per CPU.
    pub interrupts: Vec<SourceTotal>,
    /// Softirqs by kind over the whole run, counts per CPU.
    pub softirqs: Vec<SourceTotal>,
    /// Kernel threads that ran; the one with the most CPU time first.
    pub kernel_threads: Vec<ThreadTime>,
    /// The cost of each watcher; also the watchers that were not available or were skipped, with the reason.
    pub watchers: Vec<WatcherCost>,
}

/// One quantity over time.
///
/// A reading that equals the two before it is not stored; the time of the last one moves instead. Between two points,
/// the value is that of the later point. A rate or share is the mean since the point before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvSeries {
    /// The quantity, such as `temperature` or `interrupts`.
    pub name: String,
    /// The sensor, source or thread; empty if there is only one.
    pub of: String,
    /// The CPU, if the quantity belongs to one.
    pub cpu: Option<u32>,
    /// Unit of the values, such as `°C`, `MHz`, `1/s`, `%`.
    pub unit: String,
    /// How two neighbours are merged.
    pub merge: Merge,
    /// When each reading was taken, in ns from the start of the run.
    pub at_ns: Vec<u64>,
    /// The readings.
    pub values: Vec<f64>,
}

/// How two neighbouring readings are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Keeps the higher one: temperatures.
    Max,
    /// Keeps the lower one: frequencies.
    Min,
    /// Keeps the mean, weighted by time: rates and shares.
    Mean,
    /// Keeps the one of larger magnitude: offsets of clocks.
    FarFromZero,
}

impl EnvSeries {
    /// Adds a reading. If there are [`POINT_COUNT`] already, neighbours are merged first.
    pub fn push(&mut self, at_ns: u64, value: f64) {
        self.push_within(POINT_COUNT, at_ns, value);
    }

    /// Adds a reading. If there are `limit` already, neighbours are merged first.
    pub fn push_within(&mut self, limit: usize, at_ns: u64, value: f64) {
        if let [.., last_but_one, last] = self.values[..]
            && last_but_one == value
            && last == value
            && let Some(at) = self.at_ns.last_mut()
        {
            *at = at_ns;
            return;
        }
        while self.values.len() >= limit.max(2) {
            self.merge_neighbours();
        }
        self.at_ns.push(at_ns);
        self.values.push(value);
    }

    /// Halves the number of readings.
    fn merge_neighbours(&mut self) {
        let count = self.values.len();
        let merged =
            (0..count).step_by(2).map(|first| self.merged(first, (first + 1).min(count - 1))).collect();
        self.at_ns = self.at_ns.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
        self.values = merged;
    }

    /// The merged value of two neighbours, or of the last reading alone.
    fn merged(&self, first: usize, second: usize) -> f64 {
        let (a, b) = (self.values[first], self.values[second]);
        match self.merge {
            Merge::Max => a.max(b),
            Merge::Min => a.min(b),
            Merge::FarFromZero => {
                if a.abs() >= b.abs() {
                    a
                } else {
                    b
                }
            }
            Merge::Mean => {
                // Intervals differ in length, since equal readings are merged. The first reading has no interval
                // before it.
                let stretch = |index: usize| match index {
                    0 => self.at_ns.get(1).map_or(0, |next| next.saturating_sub(self.at_ns[0])),
                    index => self.at_ns[index].saturating_sub(self.at_ns[index - 1]),
                } as f64;
                let (long_a, long_b) = (stretch(first), stretch(second));
                if first == second || long_a + long_b <= 0.0 {
                    return (a + b) / 2.0;
                }
                (a * long_a + b * long_b) / (long_a + long_b)
            }
        }
    }
}

/// Totals of one source of interrupts or softirqs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceTotal {
    /// Its number or short name, as in /proc/interrupts or /proc/softirqs.
    pub source: String,
    /// The chip, type and device.
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

/// The cost of a watcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatcherCost {
    /// Its name.
    pub name: String,
    /// Number of readings.
    pub readings: u64,
    /// Total time of its readings.
    pub total_ns: u64,
    /// Time of its longest reading.
    pub longest_ns: u64,
    /// The reason why it did not read, or its omissions; absent if it read everything.
    pub left_out: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(merge: Merge) -> EnvSeries {
        EnvSeries {
            name: "temperature".into(),
            of: "soc".into(),
            cpu: None,
            unit: "°C".into(),
            merge,
            at_ns: vec![],
            values: vec![],
        }
    }

    #[test]
    fn a_long_run_keeps_the_hottest_moment() {
        let mut series = series(Merge::Max);
        for second in 0..100_000u64 {
            let wobble = (second % 7) as f64;
            series.push(second, if second == 31_234 { 91.0 } else { 50.0 + wobble });
        }
        assert!(series.values.len() <= POINT_COUNT);
        assert_eq!(series.values.len(), series.at_ns.len());
        assert_eq!(series.values.iter().copied().fold(0.0, f64::max), 91.0);
    }

    #[test]
    fn constant_readings_take_no_space() {
        let mut series = series(Merge::Mean);
        for second in 1..=1000 {
            series.push(second, 0.0);
        }
        series.push(1001, 3.0);
        series.push(1002, 0.0);
        assert_eq!(series.at_ns, [1, 1000, 1001, 1002]);
        assert_eq!(series.values, [0.0, 0.0, 3.0, 0.0]);
    }

    #[test]
    fn a_mean_counts_the_time_that_each_value_lasted() {
        let mut series = series(Merge::Mean);
        for (at, value) in [(10, 1.0), (20, 5.0), (50, 9.0), (60, 1.0)] {
            series.push_within(4, at, value);
        }
        series.push_within(4, 70, 2.0);
        assert_eq!(series.at_ns, [20, 60, 70]);
        assert_eq!(series.values, [3.0, 7.0, 2.0]);
    }

    #[test]
    fn the_more_series_the_coarser_each() {
        assert_eq!(points_each(0), POINT_COUNT);
        assert_eq!(points_each(20), POINT_COUNT);
        assert!(points_each(SERIES_COUNT) * SERIES_COUNT <= POINT_TOTAL);
    }
}
