//! The watchers' readings: series of bounded number and length, and how unusual each reading is.

use tardy_record::environment::{EnvSeries, Merge, SERIES_COUNT, points_each};
use tardy_record::series::Change;

use super::changes::Track;

/// Maximum number of changes that are reported with an outlier.
const CHANGE_COUNT: usize = 8;

/// A change over a longer time than this, in s, does not explain a wake-up at its end.
const RECENT_S: f64 = 2.5;

/// All series of a run.
#[derive(Debug, Default)]
pub(super) struct Readings {
    series: Vec<EnvSeries>,
    tracks: Vec<Track>,
    left_out: u64,
    round: u64,
    /// Whether the watcher's previous reading was so recent that a change since then can explain a late wake-up.
    is_recent: bool,
}

/// The index of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeriesId(usize);

/// The properties of a new series.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) name: &'static str,
    pub(super) of: String,
    pub(super) cpu: Option<u32>,
    pub(super) unit: &'static str,
    pub(super) merge: Merge,
    /// The name of its changes, such as `irq 39 dwc_otg, cpu 0`.
    pub(super) change: String,
    /// Unit of its changes.
    pub(super) change_unit: &'static str,
    /// Smaller changes are never notable.
    pub(super) grain: f64,
}

/// How many series the current watcher may still begin, so that no watcher uses up the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota(pub(super) usize);

impl Readings {
    /// Begins a round.
    pub(super) fn begin(&mut self, round: u64) {
        self.round = round;
    }

    /// Sets the time since the watcher's previous reading, in s; `None` at the first one.
    pub(super) fn set_interval(&mut self, seconds: Option<f64>) {
        self.is_recent = seconds.is_some_and(|seconds| seconds <= RECENT_S);
    }

    /// Begins a series if the limit allows; otherwise counts it as omitted. To be called once per series.
    pub(super) fn create(&mut self, quota: &mut Quota, head: Head) -> Option<SeriesId> {
        if quota.0 == 0 || self.series.len() >= SERIES_COUNT {
            self.left_out += 1;
            return None;
        }
        quota.0 -= 1;
        self.tracks.push(Track::new(head.change, head.change_unit, head.grain, self.round));
        self.series.push(EnvSeries {
            name: head.name.to_owned(),
            of: head.of,
            cpu: head.cpu,
            unit: head.unit.to_owned(),
            merge: head.merge,
            at_ns: Vec::new(),
            values: Vec::new(),
        });
        Some(SeriesId(self.series.len() - 1))
    }

    /// Adds a reading and the change since the previous one.
    pub(super) fn put(&mut self, id: SeriesId, at_ns: u64, value: f64, by: f64) {
        let limit = points_each(self.series.len());
        self.series[id.0].push_within(limit, at_ns, shortened(value));
        if self.is_recent {
            self.tracks[id.0].note(self.round, by);
        }
    }

    /// The series so far.
    pub(super) fn series(&self) -> &[EnvSeries] {
        &self.series
    }

    /// How many series were omitted for lack of room.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Removes and returns the series, and how many were omitted.
    pub(super) fn take(&mut self) -> (Vec<EnvSeries>, u64) {
        (std::mem::take(&mut self.series), self.left_out)
    }

    /// The notable changes of the last round, the most unusual first.
    pub(super) fn recent_changes(&self) -> Vec<Change> {
        let mut unusual: Vec<_> = self.tracks.iter().filter_map(|track| track.unusual(self.round)).collect();
        unusual.sort_by(|a, b| b.score.total_cmp(&a.score));
        unusual.truncate(CHANGE_COUNT);
        let change = |unusual: &super::changes::Unusual<'_>| Change {
            what: unusual.what.to_owned(),
            by: shortened(unusual.by),
            usual: shortened(unusual.usual),
            unit: unusual.unit.to_owned(),
        };
        unusual.iter().map(change).collect()
    }
}

/// Rounds to four significant digits: no reading has more, and each digit takes room in the file.
fn shortened(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let places = 3 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(places.abs());
    if places >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_rounded_to_four_digits() {
        for (exact, short) in [
            (48.312, 48.31),
            (0.000_123_456, 0.000_123_5),
            (1_234_567.0, 1_235_000.0),
            (-3.0, -3.0),
            (f64::NAN, 0.0),
        ] {
            assert_eq!(shortened(exact), short);
        }
    }

    #[test]
    fn a_watcher_cannot_exceed_its_quota() {
        let mut readings = Readings::default();
        let mut quota = Quota(2);
        let head = Head {
            name: "x",
            of: String::new(),
            cpu: None,
            unit: "",
            merge: Merge::Max,
            change: "x".into(),
            change_unit: "",
            grain: 1.0,
        };
        let made = (0..5).filter(|_| readings.create(&mut quota, head.clone()).is_some()).count();
        assert_eq!((made, readings.left_out()), (2, 3));
    }
}
