//! Logic analyser captures: reactions, widths, periods, jitter and holes, computed from the levels of one or two channels.
//!
//! Every importer supplies the times of changes and the new levels. This module counts the intervals in memory that does not
//! grow with the capture. Times are whole ticks of the file's scale until an interval is known, so that nothing is rounded
//! twice.
//!
//! Rejected alternative: a table of all edges, as in pandas scripts. A capture of an hour can have billions of edges.

mod blocks;
mod channel;
mod choice;
mod reactions;
mod time;

use tardy_record::Series;
use tardy_record::capture::{CaptureSeries, Edge, Interval, ResolvedBy};
use tardy_record::foreign::LatePeriods;
use tardy_record::gaps::KeptGaps;
use tardy_record::series::{Level as WayLevel, Quantity, SeriesKind};
use tardy_record::series_builder::SeriesBuilder;

use crate::counting_thread::{Counter, CountingThread};
use crate::imported::{Imported, ImportedPhase, Readings, Stream};
use channel::Channel;
pub(crate) use choice::{Choice, Named};
use reactions::Reactions;
use time::NANOSECOND_PS;
pub(crate) use time::TimeBase;

/// The name of the tool. Files do not name the instrument reliably.
const TOOL: &str = "logic analyser";

/// The level of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    /// Unknown: before the first value, `x`, `z`, or not captured.
    #[default]
    Unknown,
    Low,
    High,
}

impl Level {
    /// The level of a bit.
    pub(crate) fn of(bit: bool) -> Self {
        if bit { Self::High } else { Self::Low }
    }

    /// The opposite level; unknown stays unknown.
    fn opposite(self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }
}

/// The levels of the chosen channels; a stimulus comes first.
pub(crate) type Levels = [Level; 2];

/// A change of a channel's level.
struct Change {
    at: u64,
    from: Level,
    to: Level,
}

/// A channel with the file's time scale.
struct Timed {
    channel: Channel,
    time: TimeBase,
}

impl Counter for Timed {
    type Item = Change;

    #[inline]
    fn count(&mut self, change: Change) {
        self.channel.change(change.at, change.from, change.to, &self.time);
    }
}

/// Counts the edges and intervals of the chosen channels.
pub(crate) struct Capture {
    choice: Choice,
    time: TimeBase,
    levels: Levels,
    /// For each channel, the number of pulses that begin and end at the time of the next [`Self::state`].
    pulses: [u64; 2],
    channels: Vec<CountingThread<Timed>>,
    /// For each channel, the number of all pulses that begin and end at one time.
    all_pulses: [u64; 2],
    reactions: Option<Reactions>,
    /// Whether the intervals of the channels are secondary to reactions.
    channels_beside: bool,
    /// The end of the capture, in ticks from the beginning.
    end: u64,
}

impl Capture {
    /// Begins to count the channels of `choice` in a file with the time scale `time`.
    pub(crate) fn new(choice: Choice, time: TimeBase) -> Self {
        let channel = || CountingThread::new(Timed { channel: Channel::new(choice.edge), time });
        let channels: Vec<_> = choice.names.iter().map(|_| channel()).collect();
        let reactions = (channels.len() > 1).then(Reactions::new);
        Self {
            choice,
            time,
            levels: Levels::default(),
            pulses: [0; 2],
            channels,
            all_pulses: [0; 2],
            reactions,
            channels_beside: false,
            end: 0,
        }
    }

    /// The latest time that can be represented, in ticks from the beginning.
    pub(crate) fn ticks_max(&self) -> u64 {
        self.time.ticks_max()
    }

    /// Records that channel `index` changes its level at the time of the next [`Self::state`]. If the channel returns
    /// to its previous level, [`Self::state`] counts a pulse with a width of 0.
    #[inline]
    pub(crate) fn change(&mut self, index: usize, from: Level, to: Level) {
        if to == self.levels[index] && from != to && from != Level::Unknown && to != Level::Unknown {
            self.pulses[index] += 1;
        }
    }

    /// Whether `levels` differ from the current state or pulses are pending.
    pub(crate) fn differs_from(&self, levels: Levels) -> bool {
        self.levels != levels || self.pulses != [0; 2]
    }

    /// Records the channels' `levels` from `at` on, in ticks from the beginning. Times must not descend.
    #[inline]
    pub(crate) fn state(&mut self, at: u64, levels: Levels) {
        if self.pulses != [0; 2] {
            self.pulse(at, levels);
        }
        self.step(at, levels);
    }

    /// Counts the pulses of width 0 at `at`. Channels without a pulse change to their new level first, so that a
    /// stimulus precedes an answer that is a pulse at the same time.
    #[cold]
    fn pulse(&mut self, at: u64, levels: Levels) {
        let settled = self.levels;
        while self.pulses != [0; 2] {
            let (mut within, mut after) = (levels, levels);
            for (index, left) in self.pulses.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                *left -= 1;
                (within[index], after[index]) = (settled[index].opposite(), settled[index]);
                self.all_pulses[index] += 1;
            }
            self.step(at, within);
            self.step(at, after);
        }
    }

    #[inline]
    fn step(&mut self, at: u64, levels: Levels) {
        let before = std::mem::replace(&mut self.levels, levels);
        self.end = at;
        for (index, channel) in self.channels.iter_mut().enumerate() {
            if before[index] != levels[index] {
                channel.count(Change { at, from: before[index], to: levels[index] });
            }
        }
        let Some(reactions) = &mut self.reactions else { return };
        // Edges at the same time count as stimulus and answer, in either order in the file.
        let is_edge = |index: usize| {
            let (from, to) = match self.choice.edge {
                Edge::Rising => (Level::Low, Level::High),
                Edge::Falling => (Level::High, Level::Low),
            };
            before[index] == from && levels[index] == to
        };
        if is_edge(0) {
            reactions.stimulus(at);
        }
        if is_edge(1) {
            reactions.answer(at, &self.time);
        }
        if levels.contains(&Level::Unknown) {
            reactions.lose();
        }
    }

    /// Extends the capture to `at`.
    pub(crate) fn end_at(&mut self, at: u64) {
        self.end = self.end.max(at);
    }

    /// Sets the resolution of the times and the source of that resolution.
    pub(crate) fn resolve(&mut self, resolution_ps: u64, by: ResolvedBy) {
        self.time.resolution_ps = resolution_ps;
        self.time.resolved_by = by;
    }

    /// The imported content. `version` names the program that wrote the file.
    pub(crate) fn imported(mut self, version: Option<String>) -> Imported {
        let mut imported = Imported {
            tool: TOOL.to_owned(),
            version,
            measures: "between the edges of signals, on the wire",
            late_periods: LatePeriods::NoSchedule,
            duration_ns: Some(self.time.ns(self.end)),
            used: self.choice.used,
            ..Imported::default()
        };
        imported.remarks.extend(self.choice.remark.take());
        imported.remarks.extend(self.time.remark());
        let mut phase = ImportedPhase { label: self.choice.names[0].clone(), streams: Vec::new() };
        if let Some(reactions) = self.reactions.take() {
            self.channels_beside = true;
            let answer = &self.choice.names[1];
            let label = format!("{} → {answer}", self.choice.names[0]);
            imported.remarks.extend(reactions.remarks(&self.choice.names[0], answer));
            imported.contradictions.extend(reactions.nothing(
                &self.choice.names[0],
                answer,
                self.choice.edge,
            ));
            let kind = self.kind(Interval::Reaction, 0, Some(answer.clone()), None);
            let series = series(reactions.builder(), &label, Quantity::Latency, kind);
            phase = ImportedPhase { label, streams: vec![stream(series)] };
        }
        for (index, channel) in std::mem::take(&mut self.channels).into_iter().enumerate() {
            let mut channel = channel.finish().channel;
            channel.add_pulses(self.all_pulses[index]);
            channel.finish(&self.time);
            let name = self.choice.names[index].clone();
            imported.remarks.extend(channel.remarks(&name));
            let streams =
                channel.intervals(self.channels_beside).into_iter().map(|(interval, builder, holes)| {
                    let label = format!("{name} {}", interval.name());
                    let kind = self.kind(interval, index, None, holes);
                    stream(series(builder, &label, Quantity::Spacing, kind))
                });
            phase.streams.extend(streams);
        }
        imported.phases.push(phase);
        imported
    }

    fn kind(
        &self,
        interval: Interval,
        index: usize,
        answer: Option<String>,
        holes: Option<KeptGaps>,
    ) -> CaptureSeries {
        CaptureSeries {
            interval,
            channel: self.choice.names[index].clone(),
            answer,
            beside: self.channels_beside && interval != Interval::Reaction,
            edge: self.choice.edge,
            // Readings are whole ns, even if the file's times are finer.
            resolution_ps: self.time.resolution_ps.max(NANOSECOND_PS),
            resolved_by: self.time.resolved_by,
            holes,
        }
    }
}

fn series(builder: &SeriesBuilder, label: &str, quantity: Quantity, kind: CaptureSeries) -> Series {
    let kind = SeriesKind::Capture(Box::new(kind));
    builder.series(label.to_owned(), 0, quantity, WayLevel::Wire, kind)
}

fn stream(series: Series) -> Stream {
    let mut stream = Stream::of_thread(0, Readings::Captured(Box::new(series)));
    if let Readings::Captured(series) = &stream.readings {
        stream.label = Some(series.label.clone());
    }
    stream
}

#[cfg(test)]
mod tests;
