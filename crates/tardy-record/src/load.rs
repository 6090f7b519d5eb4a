//! The work that loads did. A load counts only if it can be shown to have run.
//!
//! The readings of a part are running totals: leaving some out reduces the time resolution but loses no work. A long
//! run leaves out many, and a stall of ten seconds would not be visible between two readings one minute apart. The
//! slowest ten seconds of each phase are therefore found during the run and kept with the readings.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most readings that a part of a load keeps; when it is full, every second one is left out.
pub const READING_COUNT: usize = 4096;

/// The length of stretch over which a load must keep its rate, in ns.
pub const STRETCH_NS: u64 = 10_000_000_000;

/// One load of one or several phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// The load as written by the user: `doload`, `cmd:…`.
    pub spec: String,
    /// Index of the first phase that it ran in.
    pub first_phase: usize,
    /// Index of the last phase.
    pub last_phase: usize,
    /// Its parts; most loads have one.
    pub parts: Vec<LoadPart>,
    /// Remarks for the user, such as `no network-card interrupts: the data went over loopback`.
    pub remarks: Vec<String>,
}

/// One part of a load and the work that it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPart {
    /// Its name, such as `scheduler`.
    pub name: String,
    /// The unit of work, such as `messages`, `bytes`, `entries`; empty if work cannot be counted (`cmd:`).
    pub unit: String,
    /// For work that comes in bursts by design: the time between their starts, in ns. A shorter pause is not a stall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_every_ns: Option<u64>,
    /// For a part whose first pass differs from later ones by design (a listing reads from the disk first and from memory
    /// later): whether and when that pass ended. Absent for other parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_pass: Option<FirstPass>,
    /// When each reading was taken, in ns from the start of the run.
    pub at_ns: Vec<u64>,
    /// The total work done at that time.
    pub done: Vec<u64>,
    /// Whether it was alive at each reading.
    pub alive: Vec<bool>,
    /// The slowest stretch of at least [`STRETCH_NS`] in each phase that was long enough to have one; one before and
    /// one after the end of a first pass within the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<Stretch>,
    /// Unplanned ends: when and how.
    pub deaths: Vec<Death>,
}

/// The state of a part's first pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstPass {
    /// It has not ended.
    GoesOn,
    /// It was found to have ended at this time, in ns from the start of the run.
    OverAtNs(u64),
}

/// A stretch of time between two readings, and the work done in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Index of its phase.
    pub phase: usize,
    /// When it starts, in ns from the start of the run.
    pub from_ns: u64,
    /// When it ends.
    pub to_ns: u64,
    /// The work done in it.
    pub done: u64,
}

impl Stretch {
    /// Work per second.
    pub fn rate(&self) -> f64 {
        self.done as f64 / (self.to_ns.saturating_sub(self.from_ns).max(1) as f64 / 1e9)
    }
}

/// An unplanned end of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Death {
    /// When it was noticed, in ns from the start of the run.
    pub at_ns: u64,
    /// How it ended: exit status or signal, and its last output.
    pub how: String,
}

impl LoadPart {
    /// Adds a reading. If there are [`READING_COUNT`] already, every second one is left out first.
    pub fn push(&mut self, at_ns: u64, done: u64, alive: bool) {
        if self.at_ns.len() >= READING_COUNT {
            self.thin();
        }
        self.at_ns.push(at_ns);
        self.done.push(done);
        self.alive.push(alive);
    }

    fn thin(&mut self) {
        // A death between two readings must stay visible.
        for left_out in (1..self.alive.len().saturating_sub(1)).step_by(2) {
            self.alive[left_out + 1] &= self.alive[left_out];
        }
        keep_even(&mut self.at_ns);
        keep_even(&mut self.done);
        keep_even(&mut self.alive);
    }

    /// Work per second between neighbouring readings: start and end of the stretch, and the rate.
    pub fn rates(&self) -> Vec<(u64, u64, f64)> {
        let stretch = |i: usize| {
            let (from, to) = (self.at_ns[i], self.at_ns[i + 1]);
            let seconds = (to.saturating_sub(from)) as f64 / 1e9;
            let done = self.done[i + 1].saturating_sub(self.done[i]) as f64;
            (from, to, if seconds > 0.0 { done / seconds } else { 0.0 })
        };
        (0..self.at_ns.len().saturating_sub(1)).map(stretch).collect()
    }
}

fn keep_even<T>(values: &mut Vec<T>) {
    let mut index = 0;
    values.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

/// Builds a [`LoadPart`] from readings as they arrive, in constant memory.
#[derive(Clone, Debug, Default)]
pub struct PartRecorder {
    part: LoadPart,
    phase: Option<usize>,
    /// The readings of the phase since the start of the last stretch.
    recent: VecDeque<(u64, u64)>,
}

impl PartRecorder {
    /// A part with no readings yet.
    pub fn new(name: &str, unit: &str, burst_every_ns: Option<u64>) -> Self {
        let part =
            LoadPart { name: name.to_owned(), unit: unit.to_owned(), burst_every_ns, ..LoadPart::default() };
        Self { part, ..Self::default() }
    }

    /// Begins the counted part of the phase with this index; the readings that follow belong to it.
    pub fn begin_phase(&mut self, phase: usize) {
        self.phase = Some(phase);
        self.recent.clear();
    }

    /// Ends the counted part; the readings that follow belong to no phase.
    pub fn end_phase(&mut self) {
        self.phase = None;
    }

    /// Records the start of a first pass that differs from later ones.
    pub fn begin_first_pass(&mut self) {
        self.part.first_pass = Some(FirstPass::GoesOn);
    }

    /// Records the end of the first pass.
    pub fn end_first_pass(&mut self, at_ns: u64) {
        self.part.first_pass = Some(FirstPass::OverAtNs(at_ns));
        self.recent.clear();
    }

    /// Adds a reading: the total work so far, and whether the part is alive.
    pub fn push(&mut self, at_ns: u64, done: u64, alive: bool) {
        self.part.push(at_ns, done, alive);
        let Some(phase) = self.phase else { return };
        self.recent.push_back((at_ns, done));
        while self.recent.get(1).is_some_and(|(second, _)| at_ns.saturating_sub(*second) >= STRETCH_NS) {
            self.recent.pop_front();
        }
        let Some((from_ns, before)) = self.recent.front().copied() else { return };
        if at_ns.saturating_sub(from_ns) >= STRETCH_NS {
            self.keep_if_slowest(Stretch { phase, from_ns, to_ns: at_ns, done: done.saturating_sub(before) });
        }
    }

    fn keep_if_slowest(&mut self, stretch: Stretch) {
        let over_at = match self.part.first_pass {
            Some(FirstPass::OverAtNs(at)) => at,
            _ => 0,
        };
        let is_like = |kept: &&mut Stretch| {
            kept.phase == stretch.phase && (kept.from_ns >= over_at) == (stretch.from_ns >= over_at)
        };
        match self.part.slowest.iter_mut().find(is_like) {
            Some(kept) if kept.rate() <= stretch.rate() => {}
            Some(kept) => *kept = stretch,
            None => self.part.slowest.push(stretch),
        }
    }

    /// Records an unplanned end.
    pub fn died(&mut self, at_ns: u64, how: String) {
        self.part.deaths.push(Death { at_ns, how });
    }

    /// The part as recorded so far.
    pub fn part(&self) -> &LoadPart {
        &self.part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn thinning_loses_neither_work_nor_deaths() {
        let mut part = LoadPart::default();
        for second in 0..100_000 {
            part.push(second * SECOND, second * 7, second != 54_321);
        }
        assert!(part.at_ns.len() <= READING_COUNT);
        assert_eq!(part.done.first(), Some(&0));
        assert_eq!(part.done.last(), Some(&(99_999 * 7)));
        assert!(part.alive.contains(&false));
        let worst = part.rates().iter().fold(0.0_f64, |worst, (.., rate)| worst.max((rate - 7.0).abs()));
        assert!(worst < 1e-9, "{worst}");
    }

    #[test]
    fn the_slowest_ten_seconds_survive_days() {
        let mut recorder = PartRecorder::new("copy", "bytes", None);
        recorder.begin_phase(3);
        let mut done = 0;
        for second in 0..160_000 {
            recorder.push(second * SECOND, done, true);
            done += if (90_000..90_010).contains(&second) { 1 } else { 1000 };
        }
        let expected = Stretch { phase: 3, from_ns: 90_000 * SECOND, to_ns: 90_010 * SECOND, done: 10 };
        assert_eq!(recorder.part().slowest, [expected]);
    }

    #[test]
    fn a_stretch_is_within_its_phase() {
        let mut recorder = PartRecorder::new("copy", "bytes", None);
        for second in 0..100 {
            match second {
                20 => recorder.begin_phase(0),
                40 => recorder.end_phase(),
                60 => recorder.begin_phase(1),
                69 => recorder.end_phase(),
                _ => {}
            }
            recorder.push(second * SECOND, second, true);
        }
        let slowest = &recorder.part().slowest;
        assert_eq!(slowest.len(), 1, "the second phase is too short for one");
        assert!(slowest[0].phase == 0 && slowest[0].from_ns >= 20 * SECOND && slowest[0].to_ns < 40 * SECOND);
    }
}
