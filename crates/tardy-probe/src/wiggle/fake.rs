//! The fake: a loop whose toggles take about 250 ns, unless a gap of the noise probe's fake delays one.

use tardy_record::gaps::Gap;

use crate::noise::FakeGaps;

/// Shortest toggle. A toggle takes up to [`SPREAD_NS`] more.
pub(super) const TOGGLE_NS: u64 = 244;
const SPREAD_NS: u64 = 12;

/// Generates toggles in the order of time.
pub(super) struct FakeToggles {
    gaps: FakeGaps,
    next: Gap,
    now_ns: u64,
    state: u64,
}

impl FakeToggles {
    /// Toggles from `start_ns` on, from this seed.
    pub(super) fn new(start_ns: u64, seed: u64) -> Self {
        let mut gaps = FakeGaps::new(start_ns, seed);
        let next = gaps.next();
        Self { gaps, next, now_ns: start_ns, state: seed | 1 }
    }

    /// The end of the next toggle, which only a gap can delay.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let usual_ns = self.now_ns + TOGGLE_NS + (self.state >> 33) % SPREAD_NS;
        self.now_ns = if self.next.at_ns < usual_ns {
            let until_ns = self.next.at_ns.max(self.now_ns) + self.next.length_ns;
            self.next = self.gaps.next();
            until_ns
        } else {
            usual_ns
        };
        self.now_ns
    }
}

/// The times at which the edges of a synthetic wiggle of `period_ns` return, up to `to_ns`: each up to a quarter of the
/// period late.
pub fn synthetic_echo(from_ns: u64, to_ns: u64, period_ns: u64, seed: u64) -> impl Iterator<Item = u64> {
    let period_ns = period_ns.max(1);
    let late_ns = move |number: u64| {
        let mixed = (number ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) % (period_ns / 4).max(1)
    };
    let count = to_ns.saturating_sub(from_ns) / period_ns;
    (0..count).map(move |number| from_ns + number * period_ns + late_ns(number))
}
