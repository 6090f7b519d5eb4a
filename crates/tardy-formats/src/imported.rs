//! The content of an imported file, before it becomes a run: the tool's numbers and its own description of them.

use tardy_record::foreign::LatePeriods;
use tardy_record::plan::{Policy, Wake};
use tardy_record::series::{Level, Quantity};
use tardy_record::{Bin, Knowable, Series};

use crate::error::{ImportError, Result};

/// A unit of another tool's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// The length of one unit in ns.
    pub fn ns(self) -> i64 {
        match self {
            Self::Us => 1000,
            Self::Ns => 1,
        }
    }

    /// The name of the unit in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Self::Us => "microseconds",
            Self::Ns => "nanoseconds",
        }
    }
}

/// The unit of a capture's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// Picoseconds.
    Ps,
}

impl TimeUnit {
    /// The length of the unit in ps, as a power of ten.
    pub(crate) fn ps_exponent(self) -> i32 {
        match self {
            Self::S => 12,
            Self::Ms => 9,
            Self::Us => 6,
            Self::Ns => 3,
            Self::Ps => 0,
        }
    }
}

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    pub(crate) tool: String,
    pub(crate) version: Option<String>,
    pub(crate) command: Option<String>,
    /// Where each measured interval begins and ends.
    pub(crate) measures: &'static str,
    pub(crate) late_periods: LatePeriods,
    /// How the tool's thread waited for its timer. `None` if no thread waited for one.
    pub(crate) wake: Option<Knowable<Wake>>,
    /// The start of the measurement, in seconds since 1970.
    pub(crate) started: Option<i64>,
    /// Its end.
    pub(crate) ended: Option<i64>,
    pub(crate) duration_ns: Option<u64>,
    /// Whether the duration covers the measurement alone, so that cycles missing from it were skipped.
    pub(crate) duration_is_exact: bool,
    pub(crate) system: System,
    pub(crate) phases: Vec<ImportedPhase>,
    /// Limits of the measurement, as sentences for the user.
    pub(crate) remarks: Vec<String>,
    /// Contradictions in the file that leave its numbers readable.
    pub(crate) contradictions: Vec<String>,
    /// Whether the format has no end, total or maximum from which a missing part could be recognised.
    pub(crate) has_no_end: bool,
    /// Whether the file was cut off.
    pub(crate) cut_short: bool,
    /// The number of the last line, if the file is text.
    pub(crate) last_line: Option<u64>,
    /// If a capture states the unit of its times: the place and the unit, as a sentence.
    pub(crate) time_unit_stated: Option<String>,
    pub(crate) used: Used,
}

/// The options that had an effect on an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// `--unit`.
    pub unit: bool,
    /// `--command`.
    pub command: bool,
    /// `--in` or `--out`.
    pub channels: bool,
    /// `--edge`.
    pub edge: bool,
    /// `--time-unit`.
    pub time_unit: bool,
}

impl Used {
    /// Adds the options that had an effect on another file.
    pub fn add(&mut self, other: Self) {
        self.unit |= other.unit;
        self.command |= other.command;
        self.channels |= other.channels;
        self.edge |= other.edge;
        self.time_unit |= other.time_unit;
    }
}

/// The machine, as the tool describes it.
#[derive(Debug, Default)]
pub(crate) struct System {
    pub(crate) host: Option<String>,
    pub(crate) release: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) machine: Option<String>,
    /// /sys/kernel/realtime as the tool read it; 0 also if the file is absent.
    pub(crate) realtime: Option<u64>,
    pub(crate) command_line: Option<String>,
    pub(crate) clock_source: Option<String>,
    pub(crate) cpu_model: Option<String>,
}

/// The streams of one phase of the run.
#[derive(Debug, Default)]
pub(crate) struct ImportedPhase {
    pub(crate) label: String,
    pub(crate) streams: Vec<Stream>,
}

/// The readings of one thread or CPU, with its properties.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) thread: u32,
    pub(crate) cpu: Option<u32>,
    /// The name. `None` if the stream is named after its CPU or thread.
    pub(crate) label: Option<String>,
    pub(crate) level: Level,
    pub(crate) quantity: Quantity,
    pub(crate) policy: Option<Policy>,
    pub(crate) priority: Option<u32>,
    pub(crate) interval_ns: Option<u64>,
    /// Whether the stream is secondary: a lower level of the same cycles.
    pub(crate) beside: bool,
    pub(crate) readings: Readings,
}

impl Stream {
    /// A thread that measures its wake-up latency; nothing else is known about it.
    pub(crate) fn of_thread(thread: u32, readings: Readings) -> Self {
        Self {
            thread,
            cpu: None,
            label: None,
            level: Level::UserThread,
            quantity: Quantity::Latency,
            policy: None,
            priority: None,
            interval_ns: None,
            beside: false,
            readings,
        }
    }

    pub(crate) fn name(&self) -> String {
        match (&self.label, self.cpu) {
            (Some(label), _) => label.clone(),
            (None, Some(cpu)) => format!("cpu {cpu}"),
            (None, None) => format!("thread {}", self.thread),
        }
    }
}

/// The readings of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Readings {
    /// A histogram or a summary made by the tool.
    Counts(Box<Counts>),
    /// Samples, counted by the importer.
    Samples(Box<Series>),
    /// Intervals of a logic analyser capture, counted by the importer.
    Captured(Box<Series>),
}

/// A histogram or a summary made by a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// The bins with a count, in ascending order. The last one may be open.
    pub(crate) bins: Vec<Bin>,
    pub(crate) overflows: Option<u64>,
    pub(crate) min_ns: Option<i64>,
    pub(crate) max_ns: Option<i64>,
    /// Whether the file states the maximum of the whole measurement. Otherwise the maximum of a file that was cut off is
    /// a lower bound.
    pub(crate) max_is_stated: bool,
    /// Whether the maximum is a lower bound even if the file is complete.
    pub(crate) max_at_least: bool,
    pub(crate) mean_ns: Option<f64>,
    pub(crate) deviation_ns: Option<f64>,
    /// Periods that passed without a reading, if the tool counts them.
    pub(crate) missed: Option<u64>,
    /// Readings whose values were lost, if the tool counts them.
    pub(crate) dropped: Option<u64>,
    pub(crate) resolution_ns: u64,
    /// Whether rows may be higher than their readings: tardy's exports count a bin wider than a unit at its upper end.
    pub(crate) rounded_up: bool,
    /// How many of the readings the mean may leave out: Xenomai's `latency` computes it from whole seconds.
    pub(crate) outside_mean: u64,
    /// The maximum of each second.
    pub(crate) second_maxima_ns: Vec<i64>,
}

impl Counts {
    /// Counts for a file with only a count and extremes: one open bin from 0, or from a minimum below 0.
    pub(crate) fn extremes(count: u64, min_ns: i64, max_ns: i64, resolution_ns: u64) -> Self {
        let lower_ns = min_ns.min(0);
        Self {
            bins: if count == 0 { Vec::new() } else { vec![Bin { lower_ns, upper_ns: i64::MAX, count }] },
            min_ns: (count > 0).then_some(min_ns),
            max_ns: (count > 0).then_some(max_ns),
            resolution_ns,
            ..Self::default()
        }
    }

    /// The number of values.
    ///
    /// # Errors
    /// If the counts add up to more than 2^64.
    pub(crate) fn total(&self, place: &str) -> Result<u64> {
        let sum = self.bins.iter().try_fold(0u64, |sum, bin| sum.checked_add(bin.count));
        sum.ok_or_else(|| ImportError::field(place, "the counts add up to more than 2^64"))
    }

    /// Adds the values beyond the tool's histogram as a last bin without an upper end.
    pub(crate) fn add_overflows(&mut self, from_ns: i64, count: u64) {
        self.overflows = Some(count);
        if count > 0 {
            let from_ns = self.bins.last().map_or(from_ns, |bin| from_ns.max(bin.upper_ns));
            self.bins.push(Bin { lower_ns: from_ns, upper_ns: i64::MAX, count });
        }
    }

    /// Adds a reading above all others, which the tool states beside its counts.
    pub(crate) fn add_maximum(&mut self, reading_ns: i64) {
        let others = self.bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count)) as f64;
        self.mean_ns = self.mean_ns.map(|mean| mean + (reading_ns as f64 - mean) / (others + 1.0));
        match self.bins.last_mut().filter(|last| reading_ns < last.upper_ns) {
            Some(last) => last.count = last.count.saturating_add(1),
            None => {
                self.bins.push(Bin { lower_ns: reading_ns, upper_ns: reading_ns.saturating_add(1), count: 1 })
            }
        }
        self.min_ns = self.min_ns.or(Some(reading_ns));
        (self.max_ns, self.max_is_stated, self.max_at_least) = (Some(reading_ns), true, false);
    }

    /// Opens the last bin if the maximum is beyond it: the tool counted all higher values there.
    pub(crate) fn open_last_for_maximum(&mut self) {
        if let (Some(last), Some(max)) = (self.bins.last_mut(), self.max_ns)
            && max >= last.upper_ns
        {
            last.upper_ns = i64::MAX;
        }
    }

    /// Checks the extremes against the bins; `place` names them in an error.
    pub(crate) fn check(&self, place: &str) -> Result<()> {
        if self.bins.is_empty() {
            return Ok(());
        }
        let Some(max) = self.max_ns else {
            return Err(ImportError::field(place, "there are readings, but the maximum is missing"));
        };
        let us = |ns: i64| format!("{} us", ns as f64 / 1000.0);
        let (first, last) = (self.bins[0], self.bins[self.bins.len() - 1]);
        // A tool may not state its minimum. It is then in the lowest bin.
        let min = self.min_ns.unwrap_or(first.lower_ns);
        if min > max {
            let reason = format!("the minimum, {}, is above the maximum, {}", us(min), us(max));
            return Err(ImportError::field(place, reason));
        }
        if min < first.lower_ns || min >= first.upper_ns {
            let reason = format!(
                "the minimum is {}, but the lowest bin with a count begins at {}",
                us(min),
                us(first.lower_ns)
            );
            return Err(ImportError::field(place, reason));
        }
        if max < last.lower_ns || (max >= last.upper_ns && last.upper_ns != i64::MAX) {
            let reason = format!(
                "the maximum is {}, but the highest bin with a count begins at {}",
                us(max),
                us(last.lower_ns)
            );
            return Err(ImportError::field(place, reason));
        }
        self.check_mean(min, max, place)
    }

    /// The contradiction between the mean and the bins, if any. The mean must be between the mean of the bins' lower
    /// ends and that of their upper ends, which are at most the maximum. Without a distribution, one value is the maximum,
    /// and the others are at least the minimum. One unit on either side allows for truncation.
    pub(crate) fn mean_contradiction(&self) -> Option<String> {
        let (mean, max) = (self.mean_ns?, self.max_ns?);
        if self.rounded_up || self.bins.is_empty() {
            return None;
        }
        let unit = (self.resolution_ns as f64).max(1.0);
        let count = self.bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count));
        let covered = count.saturating_sub(self.outside_mean);
        if covered == 0 {
            return None;
        }
        let mut least = mean_of_first(covered, self.bins.iter().map(|bin| (bin.count, bin.lower_ns as f64)));
        if let ([one], true) = (&self.bins[..], covered == count)
            && one.upper_ns == i64::MAX
        {
            let min = self.min_ns.unwrap_or(one.lower_ns) as f64;
            least = (min * (count - 1) as f64 + max as f64) / count as f64;
        }
        let upper = |bin: &Bin| (bin.count, (bin.upper_ns as f64).min(max as f64 + unit));
        let most = mean_of_first(covered, self.bins.iter().rev().map(upper));
        (!(least - unit..=most + unit).contains(&mean)).then(|| {
            format!(
                "the mean, {} us, is not possible with its histogram: {:.3} us to {:.3} us",
                mean / 1000.0,
                least / 1000.0,
                most / 1000.0
            )
        })
    }

    /// Checks mean and standard deviation against the extremes, with one unit of tolerance for truncation. The standard
    /// deviation of values from `min` to `max` is less than the distance, also if it was estimated with n - 1.
    fn check_mean(&self, min: i64, max: i64, place: &str) -> Result<()> {
        let (least, most) = (min as f64, max as f64);
        let unit = (self.resolution_ns as f64).max(1.0);
        if let Some(mean) = self.mean_ns
            && !(least - unit..=most + unit).contains(&mean)
        {
            let reason = format!(
                "the mean, {} us, is not between the minimum, {} us, and the maximum, {} us",
                mean / 1000.0,
                least / 1000.0,
                most / 1000.0
            );
            return Err(ImportError::field(place, reason));
        }
        if let Some(deviation) = self.deviation_ns
            && !(0.0..=most - least + unit).contains(&deviation)
        {
            let reason = format!(
                "the standard deviation, {} us, is not possible for values from {} us to {} us",
                deviation / 1000.0,
                least / 1000.0,
                most / 1000.0
            );
            return Err(ImportError::field(place, reason));
        }
        Ok(())
    }
}

/// The mean of the first `covered` of counted values.
fn mean_of_first(covered: u64, values: impl Iterator<Item = (u64, f64)>) -> f64 {
    let (mut left, mut sum) = (covered, 0.0);
    for (count, value) in values {
        let taken = count.min(left);
        sum += taken as f64 * value;
        left -= taken;
    }
    sum / covered as f64
}

/// Converts `value` from `unit` to ns.
///
/// # Errors
/// If the result is 2^61 ns (73 years) or more.
pub(crate) fn in_ns(value: i64, unit: Unit, place: &str) -> Result<i64> {
    value
        .checked_mul(unit.ns())
        .filter(|ns| *ns < i64::MAX / 4 && *ns > i64::MIN / 4)
        .ok_or_else(|| ImportError::field(place, format!("{value} is longer than a measurement can be")))
}
