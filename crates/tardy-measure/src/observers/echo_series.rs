//! The spacing of a wiggle's edges that a wire returns to an input, by the kernel's time stamps.

use tardy_record::Series;
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::wiggle::{EdgeSeries, Seen};

use tardy_probe::reaction::Storm;

use crate::engine::Counted;

/// The echoed edges of one phase.
#[derive(Debug)]
pub(super) struct EchoSeries {
    builder: SeriesBuilder,
    counted: Counted,
    /// Time and number of the last edge.
    last: Option<(u64, u32)>,
    /// Intervals so far, lost ones included.
    intervals: u64,
    storm: Storm,
}

impl EchoSeries {
    /// A series without edges.
    pub(super) fn new(counted: Counted) -> Self {
        let Counted { from_ns, to_ns, .. } = counted;
        let start_ns = counted.counted_from_ns();
        Self {
            builder: SeriesBuilder::new(start_ns, None, to_ns.saturating_sub(from_ns), &[]),
            counted,
            last: None,
            intervals: 0,
            storm: Storm::since(from_ns),
        }
    }

    /// Adds an edge and its number, which the kernel counts with 32 bits. Returns whether edges come in a storm. If
    /// numbers are missing, the kernel's queue was full, and the intervals in between are lost.
    pub(super) fn edge(&mut self, at_ns: u64, number: u32) -> bool {
        if !(self.counted.from_ns..self.counted.to_ns).contains(&at_ns) {
            return false;
        }
        let Some((before_ns, before)) = self.last.replace((at_ns, number)) else { return false };
        let edges = u64::from(number.wrapping_sub(before)).max(1);
        if edges > 1 {
            self.builder.drop_readings(edges);
        } else {
            self.builder.record(Reading {
                value_ns: at_ns.saturating_sub(before_ns) as i64,
                at_ns: at_ns.saturating_sub(self.counted.run_start_ns),
                cycle: self.intervals,
                missed: 0,
            });
        }
        self.intervals += edges;
        self.storm.is_one(edges, at_ns)
    }

    /// The series of phase `phase` so far. `beside`: another series measures the same edges at the writing thread.
    pub(super) fn series(&self, phase: usize, line: &str, beside: bool) -> Series {
        let kind = EdgeSeries { seen: Seen::Echoed { line: line.to_owned() }, beside };
        let label = format!("echo on {line}");
        self.builder.series(label, phase, Quantity::Spacing, Level::Irq, SeriesKind::Edges(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: Counted =
        Counted { run_start_ns: 1_000, start_ns: 10_000, from_ns: 10_000, to_ns: 50_000 };

    fn heard(edges: &[(u64, u32)]) -> Series {
        let mut echo = EchoSeries::new(COUNTED);
        for (at_ns, number) in edges {
            assert!(!echo.edge(*at_ns, *number));
        }
        echo.series(0, "gpiochip0:2", true)
    }

    #[test]
    fn only_intervals_between_edges_of_the_counted_part_are_recorded() {
        let series = heard(&[(9_000, 1), (12_000, 2), (14_000, 3), (17_000, 4), (60_000, 5)]);
        assert_eq!((series.tally.recorded, series.min_ns, series.max_ns), (2, Some(2_000), Some(3_000)));
        assert_eq!((series.max_at_ns, series.counted_ns), (Some(16_000), 7_000));
        assert!(series.stands_beside());
    }

    /// Three edges were lost, and with them the four intervals that they bound.
    #[test]
    fn an_interval_across_lost_edges_is_not_recorded() {
        let series = heard(&[(12_000, u32::MAX), (14_000, 0), (30_000, 4), (31_000, 5)]);
        assert_eq!((series.tally.recorded, series.tally.dropped.get()), (2, Some(4)));
        assert_eq!((series.tally.attempted.get(), series.max_ns), (Some(6), Some(2_000)));
    }

    #[test]
    fn a_storm_is_noticed() {
        let mut echo = EchoSeries::new(Counted { to_ns: u64::MAX, ..COUNTED });
        let storm = (0u32..30_000).position(|number| echo.edge(10_000 + u64::from(number) * 100, number));
        assert!(storm.is_some_and(|number| number <= 20_001), "{storm:?}");
        let mut echo = EchoSeries::new(Counted { to_ns: u64::MAX, ..COUNTED });
        assert!((0u32..30_000).all(|number| !echo.edge(10_000 + u64::from(number) * 20_000, number)));
    }
}
