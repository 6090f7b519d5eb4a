//! The credit-based shaper of IEEE 802.1Q 8.6.8.2, for a class whose gate is always open.
//!
//! The credit of a class rises with its idle slope while frames wait or the credit is below 0, and falls with the send slope during a
//! transmission. A frame may leave if the credit is not below 0. If no frame waits, a credit above 0 becomes 0.

/// The credit of a class.
#[derive(Clone, Debug)]
pub(super) struct Credit {
    /// The idle slope and the rate of the port, in bit/s.
    slope: i128,
    rate: i128,
    /// The credit at `at_ps`, in bit/s times ps.
    level: i128,
    at_ps: u64,
}

impl Credit {
    pub(super) fn of(slope_bps: u64, rate_bps: u64) -> Self {
        Self { slope: i128::from(slope_bps.max(1)), rate: i128::from(rate_bps), level: 0, at_ps: 0 }
    }

    /// Advances to `now_ps`. `waits`: whether a frame has waited since the last time.
    pub(super) fn advance(&mut self, now_ps: u64, waits: bool) {
        // During a transmission the time of the credit is its end.
        let Some(passed_ps) = now_ps.checked_sub(self.at_ps).filter(|passed_ps| *passed_ps > 0) else {
            return;
        };
        let grown = self.level + self.slope * i128::from(passed_ps);
        self.level = match (waits, self.level > 0) {
            (true, _) => grown,
            (false, true) => 0,
            (false, false) => grown.min(0),
        };
        self.at_ps = now_ps;
    }

    /// When the next frame may leave, in ps.
    pub(super) fn may_leave_ps(&self) -> u64 {
        let missing = (-self.level).max(0);
        let ps = (missing + self.slope - 1) / self.slope;
        self.at_ps.saturating_add(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// A frame that occupies the cable for this long leaves at `start_ps`.
    pub(super) fn send(&mut self, start_ps: u64, busy_ps: u64) {
        self.advance(start_ps, true);
        self.level -= (self.rate - self.slope) * i128::from(busy_ps);
        self.at_ps = self.at_ps.saturating_add(busy_ps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_sends_at_its_slope_while_frames_wait() {
        // A quarter of the rate: each frame of 100 ps is followed by 300 ps in which the credit returns to 0.
        let mut credit = Credit::of(25, 100);
        for frame in 0..5 {
            let start_ps = credit.may_leave_ps();
            assert_eq!(start_ps, frame * 400);
            credit.send(start_ps, 100);
        }
    }

    #[test]
    fn a_frame_that_waited_for_another_leaves_credit_for_a_burst_and_an_empty_queue_leaves_none() {
        let mut credit = Credit::of(50, 100);
        // 100 ps of waiting are the credit for a frame of 100 ps, and the next may follow at once.
        credit.advance(100, true);
        credit.send(100, 100);
        assert_eq!(credit.may_leave_ps(), 200);
        let mut idle = Credit::of(50, 100);
        idle.advance(100, true);
        idle.advance(101, false);
        idle.send(101, 100);
        assert_eq!(idle.may_leave_ps(), 301);
    }
}
