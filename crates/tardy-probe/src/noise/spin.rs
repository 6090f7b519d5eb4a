//! The loop itself. It cannot notice a gap while it does other work, so between two readings of the counter it only compares
//! their difference with the threshold, and the time with the next time at which it has other work.

use tardy_sys::cycle_counter::Ticks;

/// Why the loop returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The last reading but one.
    pub(super) before: u64,
    /// The last reading.
    pub(super) now: u64,
    /// Turns of the loop.
    pub(super) loops: u64,
}

/// Turns until a turn takes at least `threshold` ticks, or until the counter has reached `attend_at`.
#[inline(never)]
pub(super) fn spin<T: Ticks>(ticks: &mut T, since: u64, threshold: u64, attend_at: u64) -> Seen {
    let mut before = since;
    let mut loops = 0;
    loop {
        let now = ticks.now();
        loops += 1;
        // A counter that steps back by a tick or two, as rdtsc may without a fence, is not a gap.
        if now.saturating_sub(before) >= threshold || now >= attend_at {
            return Seen { before, now, loops };
        }
        before = now;
    }
}

/// The shortest and the usual duration of an iteration of the loop, in ticks, from a number of iterations that takes little
/// time.
pub(super) fn turn<T: Ticks>(ticks: &mut T) -> Turn {
    const ROUNDS: usize = 101;
    const TURNS: u64 = 100;
    let mut shortest = u64::MAX;
    let mut means = [0u64; ROUNDS];
    for mean in &mut means {
        let start = ticks.now();
        let mut before = start;
        for _ in 0..TURNS {
            let now = ticks.now();
            shortest = shortest.min(now.saturating_sub(before));
            before = now;
        }
        *mean = before.saturating_sub(start) / TURNS;
    }
    means.sort_unstable();
    Turn { shortest, usual: means[ROUNDS / 2] }
}

/// How long an iteration of the loop takes, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    pub(super) shortest: u64,
    pub(super) usual: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that returns given readings.
    struct GivenTicks(std::vec::IntoIter<u64>);

    impl Ticks for GivenTicks {
        fn now(&mut self) -> u64 {
            self.0.next().expect("the loop has ended")
        }
    }

    #[test]
    fn a_gap_is_between_two_readings_and_a_step_back_is_not_a_gap() {
        let mut ticks = GivenTicks(vec![110, 120, 118, 130, 190, 999].into_iter());
        let seen = spin(&mut ticks, 100, 50, u64::MAX);
        assert_eq!((seen.before, seen.now, seen.loops), (130, 190, 5));
    }

    #[test]
    fn the_loop_returns_at_the_given_time() {
        let mut ticks = GivenTicks(vec![110, 120, 130].into_iter());
        assert_eq!(spin(&mut ticks, 100, 50, 120).now, 120);
    }
}
