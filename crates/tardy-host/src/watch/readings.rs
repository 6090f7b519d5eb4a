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
    /// Time of the round, in ns from the start of the run.
    now_ns: u64,
    /// Whether the watcher's previous reading was so recent that a change since then can explain a late wake-up.
    is_recent: bool,
}

/// The index of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeriesId(usize);

/// The place of a series, which is created with its first reading if the limits allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    /// No reading yet.
    #[default]
    Unused,
    /// The series was omitted. Its readings are discarded.
    Refused,
    /// The series exists.
    Has(SeriesId),
}

impl Slot {
    /// Whether there has been no reading yet.
    pub(super) fn is_unused(self) -> bool {
        self == Self::Unused
    }
}

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
    /// Unit of its changes: per second for a counter.
    pub(super) change_unit: &'static str,
    /// Smaller changes are never notable.
    pub(super) grain: f64,
}

/// How many more series the current watcher may begin, so that no watcher exhausts the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota(pub(super) usize);

impl Readings {
    /// Begins a round at `now_ns` from the start of the run.
    pub(super) fn begin(&mut self, round: u64, now_ns: u64) {
        (self.round, self.now_ns) = (round, now_ns);
    }

    /// Sets the time since the watcher's previous reading, in s; `None` at the first one.
    pub(super) fn set_interval(&mut self, seconds: Option<f64>) {
        self.is_recent = seconds.is_some_and(|seconds| seconds <= RECENT_S);
    }

    /// Adds a reading, and the change since the previous one: the rate of a counter, so that intervals of different lengths
    /// compare, and the difference of any other value. The first reading creates the series, or counts it as omitted.
    pub(super) fn put(
        &mut self,
        slot: &mut Slot,
        quota: &mut Quota,
        value: f64,
        by: f64,
        head: impl FnOnce() -> Head,
    ) {
        self.put_at(self.now_ns, slot, quota, value, by, head);
    }

    /// The same for a value that was not read in this round, but written by another program at `at_ns` from the start of the run.
    pub(super) fn put_at(
        &mut self,
        at_ns: u64,
        slot: &mut Slot,
        quota: &mut Quota,
        value: f64,
        by: f64,
        head: impl FnOnce() -> Head,
    ) {
        if slot.is_unused() {
            *slot = self.create(quota, head());
        }
        let Slot::Has(id) = *slot else { return };
        let limit = points_each(self.series.len());
        self.series[id.0].push_within(limit, at_ns, shortened(value));
        if self.is_recent {
            self.tracks[id.0].note(self.round, by);
        }
    }

    fn create(&mut self, quota: &mut Quota, head: Head) -> Slot {
        if quota.0 == 0 || self.series.len() >= SERIES_COUNT {
            self.left_out += 1;
            return Slot::Refused;
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
        Slot::Has(SeriesId(self.series.len() - 1))
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
    let places = 3 - libm::log10(value.abs()).floor() as i32;
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
    fn a_watcher_cannot_exceed_its_quota_and_each_series_counts_once() {
        let mut readings = Readings::default();
        let mut quota = Quota(2);
        let mut slots = [Slot::default(); 5];
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
        for round in 0..4 {
            readings.begin(round, 10 * round);
            slots
                .iter_mut()
                .for_each(|slot| readings.put(slot, &mut quota, round as f64, 0.0, || head.clone()));
        }
        assert_eq!((readings.series().len(), readings.left_out()), (2, 3));
        assert_eq!(slots[2..], [Slot::Refused; 3]);
        assert_eq!(readings.series()[1].at_ns, [0, 10, 20, 30]);
    }
}
