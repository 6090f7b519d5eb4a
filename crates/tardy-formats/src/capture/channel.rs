//! One channel: its widths, periods, jitter and holes.

use tardy_record::capture::{Edge, Interval};
use tardy_record::gaps::KeptGaps;
use tardy_record::series_builder::{Reading, SeriesBuilder};

use super::blocks::Blocks;
use super::{Level, TimeBase};

/// One channel.
#[derive(Debug)]
pub(super) struct Channel {
    edge: Edge,
    /// The time of the last edge in ticks, if the level was known since.
    last: Option<u64>,
    /// The time of the last edge of the counted direction.
    period_began: Option<u64>,
    high: SeriesBuilder,
    low: SeriesBuilder,
    period: SeriesBuilder,
    blocks: Blocks,
    /// How often its level became unknown.
    unknown: u64,
    /// The number of pulses that begin and end at one time stamp.
    pulses: u64,
}

impl Channel {
    pub(super) fn new(edge: Edge) -> Self {
        let builder = || SeriesBuilder::new(0, None, 0, &[]);
        Self {
            edge,
            last: None,
            period_began: None,
            high: builder(),
            low: builder(),
            period: builder(),
            blocks: Blocks::new(edge),
            unknown: 0,
            pulses: 0,
        }
    }

    /// Records a change of level at `at`.
    #[inline]
    pub(super) fn change(&mut self, at: u64, from: Level, to: Level, time: &TimeBase) {
        let edge = match (from, to) {
            (Level::Low, Level::High) => Edge::Rising,
            (Level::High, Level::Low) => Edge::Falling,
            _ => return self.lose(from, time),
        };
        let at_ns = time.ns(at);
        if let Some(last) = self.last {
            let width = match edge {
                Edge::Rising => &mut self.low,
                Edge::Falling => &mut self.high,
            };
            record(width, time.ns(at - last), at_ns);
        }
        self.last = Some(at);
        if edge == self.edge
            && let Some(began) = self.period_began.replace(at)
        {
            record(&mut self.period, time.ns(at - began), at_ns);
        }
        self.blocks.edge(at, edge, time);
    }

    /// Adds pulses whose two edges have the same time stamp.
    pub(super) fn add_pulses(&mut self, count: u64) {
        self.pulses += count;
    }

    /// A change from or to unknown is not an edge.
    fn lose(&mut self, from: Level, time: &TimeBase) {
        if from != Level::Unknown {
            self.unknown += 1;
        }
        (self.last, self.period_began) = (None, None);
        self.blocks.interrupt(time);
    }

    /// Ends the channel with the capture.
    pub(super) fn finish(&mut self, time: &TimeBase) {
        self.blocks.interrupt(time);
    }

    /// The channel's series. If the channel is secondary to reactions (`beside`), it may have none. A single channel
    /// always has a series of periods, even an empty one, so that the run shows that nothing was measured.
    pub(super) fn intervals(&self, beside: bool) -> Vec<(Interval, &SeriesBuilder, Option<KeptGaps>)> {
        let mut all = Vec::new();
        for (interval, builder) in [(Interval::High, &self.high), (Interval::Low, &self.low)] {
            if builder.recorded() > 0 {
                all.push((interval, builder, None));
            }
        }
        if self.period.recorded() > 0 || (all.is_empty() && !beside) {
            all.push((Interval::Period, &self.period, None));
        }
        if let Some((jitter, holes, kept)) = self.blocks.found() {
            if jitter.recorded() > 0 {
                all.push((Interval::Jitter, jitter, None));
            }
            all.push((Interval::Hole, holes, Some(kept)));
        }
        all
    }

    /// Remarks for the reader.
    pub(super) fn remarks(&self, name: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.unknown > 0 {
            let times = if self.unknown == 1 { "once".to_owned() } else { format!("{} times", self.unknown) };
            remarks.push(format!(
                "{name} became unknown {times} (x, z, or not captured); nothing is measured until its next edge"
            ));
        }
        if self.pulses > 0 {
            let pulses = match self.pulses {
                1 => "1 pulse begins and ends".to_owned(),
                count => format!("{count} pulses begin and end"),
            };
            remarks.push(format!(
                "{name}: {pulses} at one time stamp, shorter than the file's resolution; their edges count, with a width of 0"
            ));
        }
        remarks.extend(self.blocks.remark(name));
        remarks
    }
}

fn record(builder: &mut SeriesBuilder, value_ns: u64, at_ns: u64) {
    let cycle = builder.recorded();
    builder.record(Reading { value_ns: value_ns as i64, at_ns, cycle, missed: 0 });
}
