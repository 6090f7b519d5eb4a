//! Arrival curves: how many frames of a flow arrive in any interval.

/// The staircase of a periodic flow with jitter: in a closed interval of length t at most
/// `burst * (floor((t + jitter) / period) + 1)` frames arrive (Le Boudec and Thiran, Network Calculus, section 1.2.1, the
/// stair functions; with a jitter: Proposition 1.2.3 applied to a variable delay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Frames that arrive together.
    pub(super) burst: i64,
    /// Time between bursts, in ps; at least 1.
    pub(super) period_ps: i64,
    /// How much later than its earliest time a burst can arrive, in ps.
    pub(super) jitter_ps: i64,
}

impl Arrival {
    /// The most frames in a closed interval of this length.
    pub(super) fn frames_in(&self, length_ps: i64) -> i64 {
        self.burst.saturating_mul((length_ps.saturating_add(self.jitter_ps)) / self.period_ps + 1)
    }

    /// The next length, after `length_ps`, at which the staircase rises.
    pub(super) fn rises_after(&self, length_ps: i64) -> i64 {
        let steps = (length_ps.saturating_add(self.jitter_ps)) / self.period_ps + 1;
        steps.saturating_mul(self.period_ps) - self.jitter_ps
    }

    /// The curve after an element whose delay varies by `variation_ps`.
    pub(super) fn later_by(self, variation_ps: i64) -> Self {
        Self { jitter_ps: self.jitter_ps.saturating_add(variation_ps), ..self }
    }

    /// Frames per ps.
    pub(super) fn rate(&self) -> f64 {
        self.burst as f64 / self.period_ps as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staircase_rises_by_a_burst_per_period_and_jitter_moves_it_to_the_left() {
        let curve = Arrival { burst: 2, period_ps: 100, jitter_ps: 0 };
        assert_eq!([0, 99, 100, 250].map(|at| curve.frames_in(at)), [2, 2, 4, 6]);
        assert_eq!([0, 99, 100].map(|at| curve.rises_after(at)), [100, 100, 200]);
        let late = curve.later_by(130);
        assert_eq!([0, 69, 70, 170].map(|at| late.frames_in(at)), [4, 4, 6, 8]);
        assert_eq!(late.rises_after(0), 70);
    }
}
