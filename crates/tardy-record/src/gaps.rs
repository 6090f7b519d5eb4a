//! Gaps: the times and lengths of the interruptions of a loop that only reads a counter.
//!
//! All gaps are in the histogram of the series. The times of a limited number are kept, chosen so that periods can be
//! found in a run of any length: all of the first gaps, then windows of consecutive gaps spread over the run, and the
//! longest gaps of the whole run. Alternative not taken: a random sample of all gaps, in which no period can be found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scheduling::Policy;

/// The number of gaps at the start of the run whose times are kept.
pub const FIRST_COUNT: usize = 8192;
/// The run is divided into this many parts; a window of gaps is kept at the start of each.
pub const WINDOW_COUNT: usize = 16;
/// The number of consecutive gaps in a window.
pub const WINDOW_GAPS: usize = 1024;
/// The number of longest gaps of the whole run whose times are kept.
pub const LONGEST_COUNT: usize = 2048;
/// The end of the time range of a run, in ns (2^62, 146 years); later times are invalid.
const TIME_MAX_NS: u64 = 1 << 62;

/// The fields of a series of gaps. Its readings are the lengths of the gaps; their sum is the noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapSeries {
    /// The CPU.
    pub cpu: u32,
    /// The policy that the thread actually had.
    pub policy: Policy,
    /// The real-time priority that the thread actually had.
    pub priority: u32,
    /// Whether the loop toggled a pin. A gap is then a time during which the pin did not change, and the loop's own
    /// readings are another series of the phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_pin: bool,
    /// The counter that the loop read.
    pub counter: Counter,
    /// The length of the shortest gap that is counted, in ns. It is longer than requested if one iteration of the loop
    /// takes too long.
    pub threshold_ns: u64,
    /// Iterations of the loop in the counted part.
    pub loops: u64,
    /// The shortest iteration seen before the counted part, in ps.
    pub shortest_loop_ps: u64,
    /// The time in which the loop stored gaps, in ns; it detected no gaps in this time.
    pub blind_ns: u64,
    /// Ticks of the counter per second, measured against CLOCK_MONOTONIC before the counted part; lengths are
    /// computed with this rate.
    pub rate_before_hz: f64,
    /// The same over the whole counted part; absent until it has ended.
    pub rate_whole_hz: Option<f64>,
    /// All gaps at the start of the run.
    pub first: GapTrain,
    /// Consecutive gaps at the start of later parts of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<GapTrain>,
    /// The longest gaps: every gap of the run of at least `longest_from_ns`.
    pub longest: GapTrain,
    /// The shortest length that is kept among the longest, in ns.
    pub longest_from_ns: u64,
    /// Gaps that are in the histogram but whose times were lost because the ring between the two processes was full.
    pub times_lost: u64,
}

/// The counter that the loop reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// The time-stamp counter of x86 (`rdtsc`).
    Tsc,
    /// The virtual counter of Arm's generic timer (`cntvct_el0`).
    Cntvct,
    /// CLOCK_MONOTONIC: user space cannot read the kernel's clock source directly, or the loop drives a pin.
    #[default]
    ClockMonotonic,
}

impl Counter {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Cntvct => "cntvct",
            Self::ClockMonotonic => "clock_gettime",
        }
    }
}

/// Gaps in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapTrain {
    /// When the first gap started, in ns from the start of the run.
    pub start_ns: u64,
    /// From the start of the previous gap to the start of each, in ns; 0 for the first.
    pub apart_ns: Vec<u64>,
    /// The length of each, in ns.
    pub length_ns: Vec<u64>,
}

/// One gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it started, in ns from the start of the run.
    pub at_ns: u64,
    /// Its length, in ns.
    pub length_ns: u64,
}

impl GapTrain {
    /// A train of `gaps`, which must be in order of time.
    pub fn of(gaps: &[Gap]) -> Self {
        let mut before_ns = gaps.first().map_or(0, |gap| gap.at_ns);
        let mut train = Self { start_ns: before_ns, ..Self::default() };
        for gap in gaps {
            train.apart_ns.push(gap.at_ns.saturating_sub(before_ns));
            train.length_ns.push(gap.length_ns);
            before_ns = before_ns.max(gap.at_ns);
        }
        train
    }

    /// The number of gaps.
    pub fn count(&self) -> usize {
        self.length_ns.len()
    }

    /// The gaps.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        let starts = self.apart_ns.iter().scan(self.start_ns, |at_ns, apart_ns| {
            *at_ns += apart_ns;
            Some(*at_ns)
        });
        starts.zip(&self.length_ns).map(|(at_ns, length_ns)| Gap { at_ns, length_ns: *length_ns })
    }

    /// A description of the contradiction in the train; `None` if there is none.
    fn contradiction(&self, most: usize) -> Option<String> {
        if self.apart_ns.len() != self.length_ns.len() {
            return Some(format!("{} distances for {} lengths", self.apart_ns.len(), self.length_ns.len()));
        }
        if self.count() > most {
            return Some(format!("{} gaps; the maximum is {most}", self.count()));
        }
        let last = self.apart_ns.iter().try_fold(self.start_ns, |at, apart| at.checked_add(*apart));
        let longest = self.length_ns.iter().copied().max().unwrap_or(0);
        let end = last.and_then(|at| at.checked_add(longest));
        if end.is_none_or(|end| end >= TIME_MAX_NS) {
            return Some("its last gap is later than the end of any run".to_owned());
        }
        None
    }
}

/// The field of a series of gaps with `recorded` readings that contradicts the others, and why; `None` if all agree.
pub(crate) fn contradiction(gaps: &GapSeries, recorded: u64) -> Option<(&'static str, String)> {
    if gaps.threshold_ns == 0 {
        return Some(("kind.threshold_ns", "a threshold of 0".to_owned()));
    }
    let rates = [Some(gaps.rate_before_hz), gaps.rate_whole_hz];
    if rates.iter().flatten().any(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return Some(("kind.rate_before_hz", "the rate of a counter is not positive".to_owned()));
    }
    if gaps.times_lost > recorded {
        return Some(("kind.times_lost", format!("more than the {recorded} gaps that were recorded")));
    }
    trains_contradiction(&gaps.first, &gaps.windows, &gaps.longest, gaps.longest_from_ns, recorded)
}

/// As [`contradiction`], for the trains of gaps that are kept.
fn trains_contradiction(
    first: &GapTrain,
    windows: &[GapTrain],
    longest: &GapTrain,
    longest_from_ns: u64,
    recorded: u64,
) -> Option<(&'static str, String)> {
    if windows.len() > WINDOW_COUNT {
        let count = windows.len();
        return Some(("kind.windows", format!("{count} windows; the maximum is {WINDOW_COUNT}")));
    }
    let trains = [(first, FIRST_COUNT, "kind.first"), (longest, LONGEST_COUNT, "kind.longest")];
    let kept_windows = windows.iter().map(|window| (window, WINDOW_GAPS, "kind.windows"));
    for (train, most, field) in trains.into_iter().chain(kept_windows) {
        if let Some(reason) = train.contradiction(most) {
            return Some((field, reason));
        }
    }
    let kept = first.count() + windows.iter().map(GapTrain::count).sum::<usize>();
    if kept as u64 > recorded || longest.count() as u64 > recorded {
        return Some(("kind.first", format!("more gaps than the {recorded} that were recorded")));
    }
    if longest.length_ns.iter().any(|length_ns| *length_ns < longest_from_ns) {
        let reason = format!("a gap shorter than {longest_from_ns} ns is among the longest");
        return Some(("kind.longest", reason));
    }
    None
}

/// Selects the gaps whose times are kept, as they arrive.
#[derive(Clone, Debug)]
pub struct GapKeeper {
    /// The length of a part of the run, in ns.
    stretch_ns: u64,
    start_ns: Option<u64>,
    first: Vec<Gap>,
    windows: Vec<Vec<Gap>>,
    /// When the next window opens.
    next_window_ns: u64,
    longest: Vec<Gap>,
    longest_from_ns: u64,
}

/// The gaps that were kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptGaps {
    /// The gaps at the start of the run.
    pub first: GapTrain,
    /// Windows of consecutive gaps.
    pub windows: Vec<GapTrain>,
    /// The longest gaps.
    pub longest: GapTrain,
    /// The shortest length that is kept among the longest, in ns.
    pub longest_from_ns: u64,
}

impl KeptGaps {
    /// The field that contradicts a total of `recorded` gaps, and why; `None` if all agree.
    pub(crate) fn contradiction(&self, recorded: u64) -> Option<(&'static str, String)> {
        trains_contradiction(&self.first, &self.windows, &self.longest, self.longest_from_ns, recorded)
    }
}

impl GapKeeper {
    /// Creates a keeper for a run of about `planned_ns`.
    pub fn new(planned_ns: u64) -> Self {
        Self {
            stretch_ns: (planned_ns / WINDOW_COUNT as u64).max(1),
            start_ns: None,
            first: Vec::new(),
            windows: Vec::new(),
            next_window_ns: 0,
            longest: Vec::new(),
            longest_from_ns: 0,
        }
    }

    /// Adds a gap, which must start after the one before.
    pub fn add(&mut self, gap: Gap) {
        self.keep_if_long(gap);
        let start_ns = *self.start_ns.get_or_insert(gap.at_ns);
        if self.first.len() < FIRST_COUNT {
            self.first.push(gap);
            return;
        }
        let open = self.windows.last_mut().filter(|window| window.len() < WINDOW_GAPS);
        if let Some(window) = open {
            window.push(gap);
            return;
        }
        if self.next_window_ns == 0 {
            self.next_window_ns = self.stretch_after(start_ns, gap.at_ns);
        }
        if gap.at_ns >= self.next_window_ns && self.windows.len() < WINDOW_COUNT {
            self.windows.push(vec![gap]);
            self.next_window_ns = self.stretch_after(start_ns, gap.at_ns);
        }
    }

    /// The gaps kept so far.
    pub fn kept(&self) -> KeptGaps {
        KeptGaps {
            first: GapTrain::of(&self.first),
            windows: self.windows.iter().map(|window| GapTrain::of(window)).collect(),
            longest: GapTrain::of(&self.longest),
            longest_from_ns: self.longest_from_ns,
        }
    }

    fn stretch_after(&self, start_ns: u64, at_ns: u64) -> u64 {
        let stretch = at_ns.saturating_sub(start_ns) / self.stretch_ns + 1;
        start_ns.saturating_add(stretch.saturating_mul(self.stretch_ns))
    }

    /// Keeps a gap if it is among the longest. If there is no room, the shorter half is dropped.
    fn keep_if_long(&mut self, gap: Gap) {
        if gap.length_ns < self.longest_from_ns {
            return;
        }
        if self.longest.len() == LONGEST_COUNT {
            let mut lengths: Vec<u64> = self.longest.iter().map(|gap| gap.length_ns).collect();
            lengths.sort_unstable();
            self.longest_from_ns = lengths[LONGEST_COUNT / 2] + 1;
            self.longest.retain(|gap| gap.length_ns >= self.longest_from_ns);
            self.keep_if_long(gap);
            return;
        }
        self.longest.push(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gaps(count: u64, apart_ns: u64) -> impl Iterator<Item = Gap> {
        (0..count).map(move |n| Gap { at_ns: 1_000 + n * apart_ns, length_ns: 500 + (n * 7_919) % 10_007 })
    }

    #[test]
    fn a_short_run_is_kept_whole() {
        let mut keeper = GapKeeper::new(1_000_000_000);
        let all: Vec<Gap> = gaps(800, 125_000).collect();
        all.iter().for_each(|gap| keeper.add(*gap));
        let kept = keeper.kept();
        assert_eq!(kept.first.gaps().collect::<Vec<_>>(), all);
        assert_eq!(kept.longest.gaps().collect::<Vec<_>>(), all);
        assert!(kept.windows.is_empty());
    }

    /// An hour with 8,000 gaps per second.
    #[test]
    fn a_long_run_keeps_windows_from_all_of_it_and_its_longest_gaps() {
        let (count, apart_ns) = (8_000 * 3_600, 125_000);
        let mut keeper = GapKeeper::new(count * apart_ns);
        gaps(count, apart_ns).for_each(|gap| keeper.add(gap));
        let kept = keeper.kept();
        assert_eq!(kept.first.count(), FIRST_COUNT);
        assert_eq!(kept.windows.len(), WINDOW_COUNT - 1);
        assert!(kept.windows.iter().all(|window| window.count() == WINDOW_GAPS));
        let starts: Vec<u64> = kept.windows.iter().map(|window| window.start_ns / 225_000_000_000).collect();
        assert_eq!(starts, (1..WINDOW_COUNT as u64).collect::<Vec<_>>());
        let long = gaps(count, apart_ns).filter(|gap| gap.length_ns >= kept.longest_from_ns);
        assert!(kept.longest.gaps().eq(long), "every gap that is long enough is there, and no other");
        assert!(kept.longest.count() <= LONGEST_COUNT);
    }

    proptest! {
        #[test]
        fn a_train_returns_its_gaps(steps in prop::collection::vec((0u64..1 << 40, 1u64..1 << 30), 0..50)) {
            let mut at_ns = 17;
            let gaps: Vec<Gap> = steps
                .into_iter()
                .map(|(apart, length_ns)| {
                    at_ns += apart;
                    Gap { at_ns, length_ns }
                })
                .collect();
            prop_assert_eq!(GapTrain::of(&gaps).gaps().collect::<Vec<_>>(), gaps);
        }
    }
}
