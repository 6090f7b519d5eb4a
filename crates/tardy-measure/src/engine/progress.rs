//! How far a run is, in one line.

use std::fmt;

use tardy_record::units::format_duration_ns;

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress<'a> {
    /// Label of the phase.
    pub phase: &'a str,
    /// Number of the phase, from 1.
    pub number: usize,
    /// Number of phases.
    pub of: usize,
    /// Counted time in this phase, in ns.
    pub counted_ns: u64,
    /// Planned counted time of the phase, in ns.
    pub planned_ns: u64,
    /// The highest value so far in this phase, in ns, and its CPU.
    pub worst: Option<(i64, u32)>,
    /// Deadlines missed so far in this phase.
    pub missed: u64,
}

/// One line: the phase, the elapsed time, and the worst latency.
impl fmt::Display for RunProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ns: u64| format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
        if self.of > 1 {
            write!(f, "{} ({} of {})  ", self.phase, self.number, self.of)?;
        }
        write!(f, "{} of {}  ", seconds(self.counted_ns), seconds(self.planned_ns))?;
        match self.worst {
            None => f.write_str("warming up")?,
            Some((ns, cpu)) => write!(f, "worst so far {:.1} us on CPU {cpu}", ns as f64 / 1000.0)?,
        }
        if self.missed > 0 {
            write!(f, ", {} missed", self.missed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_elapsed_time_and_the_worst_latency() {
        let now = RunProgress {
            phase: "nanosleep, round 2",
            number: 2,
            of: 3,
            counted_ns: 61_400_000_000,
            planned_ns: 120_000_000_000,
            worst: Some((41_260, 3)),
            missed: 7,
        };
        assert_eq!(
            now.to_string(),
            "nanosleep, round 2 (2 of 3)  1m1s of 2m  worst so far 41.3 us on CPU 3, 7 missed"
        );
    }
}
