//! The fake: gaps generated from a seed, without waiting. A tick every 4 ms, a controller that interrupts every 125 us
//! and sometimes skips one, and random interruptions.

use tardy_record::gaps::Gap;

const TICK_NS: u64 = 4_000_000;
const CONTROLLER_NS: u64 = 125_000;

/// Generates gaps in the order of time.
pub(crate) struct FakeGaps {
    tick_ns: u64,
    controller_ns: u64,
    random_ns: u64,
    /// End of the last gap.
    free_ns: u64,
    state: u64,
}

impl FakeGaps {
    /// Gaps from `start_ns` on, of a CPU with this seed.
    pub(crate) fn new(start_ns: u64, seed: u64) -> Self {
        Self {
            tick_ns: start_ns + 1_700_000,
            controller_ns: start_ns + 31_000,
            random_ns: start_ns + 777_000,
            free_ns: start_ns,
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// The next gap.
    pub(crate) fn next(&mut self) -> Gap {
        loop {
            let gap = self.due();
            // Another gap during this one would not be detected.
            if gap.at_ns > self.free_ns {
                self.free_ns = gap.at_ns + gap.length_ns;
                return gap;
            }
        }
    }

    fn due(&mut self) -> Gap {
        let spread = self.random();
        let soonest = self.tick_ns.min(self.controller_ns).min(self.random_ns);
        if soonest == self.tick_ns {
            self.tick_ns += TICK_NS;
            return Gap { at_ns: soonest + spread % 300, length_ns: 2_000 + spread % 1_500 };
        }
        if soonest == self.controller_ns {
            let pulses = if spread.is_multiple_of(50) { 2 } else { 1 };
            self.controller_ns += pulses * CONTROLLER_NS;
            return Gap { at_ns: soonest + spread % 900, length_ns: 4_300 + spread % 400 };
        }
        self.random_ns += 100_000 + spread % 4_000_000;
        Gap {
            at_ns: soonest,
            length_ns: if spread.is_multiple_of(200) { 60_000 } else { 700 } + spread % 900,
        }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 16
    }
}
