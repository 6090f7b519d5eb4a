//! Channels of a logic analyser: their resolution, their holes, and the periods of the holes.

use serde::Serialize;
use tardy_record::capture::ResolvedBy;
use tardy_record::gaps::GapTrain;
use tardy_record::{Run, Series};

use crate::periods::{self, Event, Period};
use crate::row::{self, Row};

/// Two periods that differ by less than this share have the same source.
const SAME_PERIOD: f64 = 2e-3;

/// A channel of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapturedChannel {
    /// Index of the phase.
    pub phase: usize,
    /// The channel's name in the file.
    pub channel: String,
    /// The resolution of times, in ps.
    pub resolution_ps: u64,
    /// The source of the resolution.
    pub resolved_by: ResolvedBy,
    /// Its intervals if the capture has reactions; these are not in the rows of a phase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// Its holes; `None` if they were not searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holes: Option<Holes>,
}

/// The holes of a regular signal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Holes {
    /// Their number.
    pub count: u64,
    /// The longest, in ns: how long an edge was overdue.
    pub longest_ns: Option<i64>,
    /// The time of the longest hole, in ns from the beginning of the capture.
    pub longest_at_ns: Option<u64>,
    /// Their periods, the most frequent first.
    pub periods: Vec<Period>,
}

/// The channels of `run`, in its order.
pub fn of(run: &Run) -> Vec<CapturedChannel> {
    let mut channels: Vec<CapturedChannel> = Vec::new();
    for series in &run.series {
        let Some(capture) = series.capture() else { continue };
        let known =
            channels.iter().position(|one| one.channel == capture.channel && one.phase == series.phase);
        let known = known.unwrap_or_else(|| {
            channels.push(CapturedChannel {
                phase: series.phase,
                channel: capture.channel.clone(),
                resolution_ps: capture.resolution_ps,
                resolved_by: capture.resolved_by,
                rows: Vec::new(),
                holes: None,
            });
            channels.len() - 1
        });
        let channel = &mut channels[known];
        channel.rows.extend(capture.beside.then(|| row::of_series(series)));
        if let Some(holes) = holes(series) {
            channel.holes = Some(holes);
        }
    }
    channels
}

fn holes(series: &Series) -> Option<Holes> {
    let kept = series.capture()?.holes.as_ref()?;
    let mut found = periods::find(&events(&kept.first));
    // If not all holes are in the first set, rare ones may only be among the longest.
    if kept.first.count() != kept.longest.count() {
        for period in periods::find_slow(&events(&kept.longest)) {
            if !found.iter().any(|known| is_same(known, &period)) {
                found.push(period);
            }
        }
    }
    Some(Holes {
        count: series.tally.recorded,
        longest_ns: series.max_ns,
        longest_at_ns: series.max_at_ns,
        periods: found,
    })
}

fn events(train: &GapTrain) -> Vec<Event> {
    train.gaps().map(|gap| Event { at_ns: gap.at_ns, length_ns: gap.length_ns }).collect()
}

/// Whether the periods are equal, or one is a multiple of the other.
fn is_same(a: &Period, b: &Period) -> bool {
    let ratio = (a.period_ns / b.period_ns).max(b.period_ns / a.period_ns);
    (ratio / ratio.round() - 1.0).abs() < SAME_PERIOD
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::capture::{CaptureSeries, Edge, Interval};
    use tardy_record::gaps::{Gap, GapKeeper};
    use tardy_record::series::{Level, Quantity, SeriesKind};
    use tardy_record::series_builder::{Reading, SeriesBuilder};

    /// The article's busy loop: a hole of 4.5 us every 125 us.
    #[test]
    fn periodic_holes_have_a_period() {
        let mut builder = SeriesBuilder::new(0, None, 0, &[]);
        let mut keeper = GapKeeper::new(1_000_000_000);
        for cycle in 0..4000 {
            // A loop that writes every 250 ns sees each hole up to one iteration late.
            let gap = Gap { at_ns: cycle * 125_000 + cycle * 7919 % 250, length_ns: 4500 };
            keeper.add(gap);
            let reading = Reading { value_ns: 4500, at_ns: gap.at_ns + gap.length_ns, cycle, missed: 0 };
            builder.record(reading);
        }
        let kind = CaptureSeries {
            interval: Interval::Hole,
            channel: "D0".to_owned(),
            answer: None,
            beside: false,
            edge: Edge::Rising,
            resolution_ps: 1000,
            resolved_by: ResolvedBy::TimeScale,
            holes: Some(keeper.kept()),
        };
        let kind = SeriesKind::Capture(Box::new(kind));
        let series = builder.series("D0 holes".to_owned(), 0, Quantity::Spacing, Level::Wire, kind);
        let holes = holes(&series).unwrap();
        assert_eq!((holes.count, holes.longest_ns), (4000, Some(4500)));
        let [period] = holes.periods.as_slice() else { panic!("{:?}", holes.periods) };
        assert!((period.period_ns - 125_000.0).abs() < 0.1, "{period:?}");
        assert_eq!((period.length_ns, period.events), (4500, 4000));
    }
}
