//! The beginning and the end of a thread's counted part.

use tardy_record::plan::{Span, Wake};

/// The extent of a thread's measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Cycles that are not counted, at the beginning.
    pub warmup_cycles: u64,
    /// The maximum number of counted cycles, missed ones included.
    pub cycles: u64,
    /// The longest counted time. A schedule is ended by its cycles; without one only the clock can determine the end.
    pub duration_ns: u64,
}

impl Pace {
    /// The pace of a thread with this interval.
    pub(super) fn new(wake: Wake, interval_ns: u64, warmup_ns: u64, span: Span) -> Self {
        let warmup_cycles = warmup_ns.div_ceil(interval_ns);
        let (cycles, duration_ns) = match span {
            Span::Loops(loops) => (loops, u64::MAX),
            Span::DurationNs(duration_ns) if wake.has_schedule() => {
                ((duration_ns / interval_ns).max(1), u64::MAX)
            }
            Span::DurationNs(duration_ns) => (u64::MAX, duration_ns),
            // Only an imported run has this, and it is never measured again.
            Span::Unknown => (0, 0),
        };
        Self { warmup_cycles, cycles, duration_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_counts_the_same_cycles_on_a_schedule() {
        let pace = Pace::new(Wake::Timerfd, 200_000, 1_000_000, Span::DurationNs(1_000_000_000));
        assert_eq!(pace, Pace { warmup_cycles: 5, cycles: 5000, duration_ns: u64::MAX });
    }

    #[test]
    fn a_relative_sleep_ends_by_the_clock() {
        let pace = Pace::new(Wake::Nanosleep, 200_000, 0, Span::DurationNs(1_000_000_000));
        assert_eq!(pace, Pace { warmup_cycles: 0, cycles: u64::MAX, duration_ns: 1_000_000_000 });
    }
}
