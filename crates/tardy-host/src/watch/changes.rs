//! How unusual a rate or a change between two readings is.

/// How many earlier changes are remembered.
const REMEMBERED: usize = 31;
/// Minimum number of earlier changes to determine the usual change.
const FEWEST: usize = 5;
/// A change is notable if it deviates from the usual by this many times the usual spread.
const NOTABLE: f64 = 4.0;

/// The changes of one series between readings: the rate of a counter, the difference of any other value.
#[derive(Clone, Debug)]
pub(super) struct Track {
    /// Its name for users.
    what: String,
    unit: &'static str,
    /// Smaller changes are never notable.
    grain: f64,
    last: f64,
    last_round: Option<u64>,
    before: [f32; REMEMBERED],
    count: usize,
}

/// A change, and the usual change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unusual<'track> {
    pub(super) what: &'track str,
    pub(super) unit: &'static str,
    pub(super) by: f64,
    pub(super) usual: f64,
    /// The deviation from the usual, in spreads.
    pub(super) score: f64,
}

impl Track {
    /// A track that begins in round `born`. A series is created when its first event occurs, so each earlier round
    /// counts as a change of 0, except the first, which only reads initial values.
    pub(super) fn new(what: String, unit: &'static str, grain: f64, born: u64) -> Self {
        let count = usize::try_from(born.saturating_sub(1)).unwrap_or(REMEMBERED);
        Self { what, unit, grain, last: 0.0, last_round: None, before: [0.0; REMEMBERED], count }
    }

    /// Adds the change of a round.
    pub(super) fn note(&mut self, round: u64, by: f64) {
        if self.last_round.is_some() {
            self.before[self.count % REMEMBERED] = self.last as f32;
            self.count += 1;
        }
        self.last = by;
        self.last_round = Some(round);
    }

    /// The change of `round`; `None` if it is not notable.
    pub(super) fn unusual(&self, round: u64) -> Option<Unusual<'_>> {
        if self.last_round != Some(round) || self.count < FEWEST {
            return None;
        }
        let known = &self.before[..self.count.min(REMEMBERED)];
        let usual = median(known.iter().map(|by| f64::from(*by)));
        let spread = 1.4826 * median(known.iter().map(|by| (f64::from(*by) - usual).abs()));
        let distance = (self.last - usual).abs();
        let score = distance / (spread + self.grain + 0.05 * usual.abs());
        (score >= NOTABLE).then_some(Unusual {
            what: &self.what,
            unit: self.unit,
            by: self.last,
            usual,
            score,
        })
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_unusual_and_a_steady_rate_is_not() {
        let mut track = Track::new("irq 39 dwc_otg, cpu 0".into(), "interrupts/s", 5.0, 0);
        for round in 0..20 {
            track.note(round, 8000.0 + (round % 3) as f64);
            assert_eq!(track.unusual(round), None, "round {round}");
        }
        track.note(20, 16_000.0);
        let unusual = track.unusual(20).unwrap();
        assert_eq!((unusual.by, unusual.usual), (16_000.0, 8001.0));
        assert_eq!(track.unusual(21), None, "that was the round before");
    }

    #[test]
    fn a_first_event_after_a_quiet_time_is_unusual() {
        let mut track = Track::new("cpu 1 throttled".into(), "times/s", 0.1, 30);
        track.note(30, 1.0);
        assert_eq!(track.unusual(30).map(|unusual| unusual.usual), Some(0.0));
        let mut early = Track::new("cpu 1 throttled".into(), "times/s", 0.1, 1);
        early.note(1, 1.0);
        assert_eq!(early.unusual(1), None, "too few rounds to know what is usual");
    }
}
