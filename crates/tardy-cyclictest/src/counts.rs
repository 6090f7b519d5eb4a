//! cyclictest's statistics for each thread, computed from every reading, in whole µs or ns.

use tardy_formats::cyclictest::MIN_OF_NONE;
use tardy_probe::sample_ring::Sample;

use crate::options::Options;

/// The statistics of all threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Nanoseconds in a unit of the results: 1000, or 1 with `-N`.
    unit_ns: i64,
    /// The threads, in the order of their numbers.
    pub threads: Vec<Thread>,
    /// If `-b` ended the run: the thread's number and the reading.
    pub broken: Option<(usize, u64)>,
    break_us: Option<u64>,
}

/// The statistics of one thread, in the unit of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Number of readings.
    pub cycles: u64,
    /// The lowest reading.
    pub min: u64,
    /// The highest reading.
    pub max: u64,
    /// The latest reading.
    pub last: u64,
    sum: f64,
    /// Histogram rows, one for each unit from 0; empty without `-h`.
    pub rows: Vec<u64>,
    /// Readings beyond the rows.
    pub overflows: u64,
    /// The cycles of the first overflows, at most as many as there are rows.
    pub overflow_cycles: Vec<u64>,
}

impl Thread {
    fn new(rows: usize) -> Self {
        Self {
            cycles: 0,
            min: MIN_OF_NONE,
            max: 0,
            last: 0,
            sum: 0.0,
            rows: vec![0; rows],
            overflows: 0,
            overflow_cycles: Vec::new(),
        }
    }

    /// The mean of all readings, those beyond the rows included; 0 without readings.
    pub fn mean(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.sum / self.cycles as f64 }
    }

    fn add(&mut self, value: u64, cycle: u64) {
        // The first reading replaces cyclictest's initial minimum even if it is higher.
        self.min = if self.cycles == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.last = value;
        self.sum += value as f64;
        self.cycles += 1;
        if self.rows.is_empty() {
            return;
        }
        match self.rows.get_mut(value as usize) {
            Some(row) => *row += 1,
            None => {
                self.overflows += 1;
                if self.overflow_cycles.len() < self.rows.len() {
                    self.overflow_cycles.push(cycle);
                }
            }
        }
    }
}

impl Counts {
    /// The statistics of `threads` threads before the first reading.
    pub fn new(options: &Options, threads: usize) -> Self {
        let rows = options.histogram.unwrap_or(0) as usize;
        Self {
            unit_ns: if options.in_ns { 1 } else { 1000 },
            threads: vec![Thread::new(rows); threads],
            broken: None,
            break_us: options.break_us,
        }
    }

    /// A reading in the unit of the results, truncated as in cyclictest. An early wake-up counts as 0; cyclictest would show
    /// its negative latency as a huge one.
    pub fn value(&self, sample: Sample) -> u64 {
        (sample.late_ns / self.unit_ns).max(0) as u64
    }

    /// Counts a reading of thread `thread`, unless a break has ended the run. Returns whether it was counted. Cycles are numbered
    /// by readings, as in cyclictest, not by the schedule.
    pub fn add(&mut self, thread: usize, sample: Sample) -> bool {
        let value = self.value(sample);
        let broken = self.broken.is_some();
        let Some(counted) = self.threads.get_mut(thread).filter(|_| !broken) else { return false };
        let cycle = counted.cycles;
        counted.add(value, cycle);
        if self.break_us.is_some_and(|us| sample.late_ns > (us * 1000) as i64) {
            self.broken = Some((thread, value));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(late_ns: i64) -> Sample {
        Sample { cycle: 0, at_ns: 0, late_ns }
    }

    #[test]
    fn readings_beyond_the_rows_are_overflows_with_their_cycles() {
        let options = Options { histogram: Some(2), ..Options::default() };
        let mut counts = Counts::new(&options, 1);
        for late_ns in [999, 1000, 1999, 2000, -5, 7000, 9000] {
            assert!(counts.add(0, sample(late_ns)));
        }
        let thread = &counts.threads[0];
        assert_eq!((thread.rows.clone(), thread.overflows), (vec![2, 2], 3));
        assert_eq!(thread.overflow_cycles, [3, 5], "as many as there are rows");
        assert_eq!((thread.cycles, thread.min, thread.max, thread.last), (7, 0, 9, 9));
        assert!((thread.mean() - 20.0 / 7.0).abs() < 1e-12, "{}", thread.mean());
    }

    #[test]
    fn readings_after_a_break_are_not_counted() {
        let options = Options { break_us: Some(5), in_ns: true, ..Options::default() };
        let mut counts = Counts::new(&options, 2);
        assert!(counts.add(0, sample(5000)));
        assert!(counts.add(1, sample(5001)));
        assert!(!counts.add(0, sample(1)));
        assert_eq!((counts.broken, counts.threads[0].cycles), (Some((1, 5001)), 1));
    }

    #[test]
    fn a_minimum_above_the_initial_value_is_reported() {
        let mut counts = Counts::new(&Options { in_ns: true, ..Options::default() }, 1);
        assert_eq!(counts.threads[0].min, MIN_OF_NONE);
        counts.add(0, sample(1_500_000));
        assert_eq!(counts.threads[0].min, 1_500_000);
    }
}
