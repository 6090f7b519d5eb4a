//! Service curves: how much a class can send at least, as a staircase of its windows.
//!
//! Work is the time of transmission at the port's rate, so the rate of the link is 1.

/// A window in which the gate of a class is open, and what it loses of it to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// When it opens, in ps from the start of the cycle.
    pub(super) open_ps: i64,
    /// When it closes, in ps; past the end of the cycle if it continues in the next.
    pub(super) close_ps: i64,
    /// The longest frame of a lower class that can be in transmission when the window opens, in ps.
    pub(super) blocked_at_open_ps: i64,
    /// The longest frame of a lower class that can be in transmission later in the window, in ps.
    pub(super) blocked_inside_ps: i64,
    /// All work that is sent in the window is a multiple of this, in ps; at least 1.
    pub(super) grain_ps: i64,
}

/// What a class is guaranteed by its gate, by the guard band and by non-preemptive transmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// The gate is always open: rate 1 after the longest frame of a lower class (the rate-latency curve of non-preemptive
    /// priority, Le Boudec and Thiran, Proposition 1.3.4).
    Always {
        /// The longest frame of a lower class, in ps.
        blocked_ps: i64,
    },
    /// A credit-based shaper: a share of the rate after a latency.
    Shaped {
        /// In ps.
        latency_ps: i64,
        /// The idle slope and the rate of the port, in bit/s.
        slope: i64,
        rate: i64,
        /// The shortest frame of the class, in ps.
        shortest_ps: i64,
    },
    /// Windows in a cycle. In a window that is open for c, a class whose queue is not empty sends more than c less its longest
    /// frame: it stops only when its next frame would not end before the gate closes.
    Gated {
        /// A start of the cycle, in ps of the simulation.
        zero_ps: i64,
        /// The length of the cycle, in ps.
        cycle_ps: i64,
        /// The windows, in ascending order; at least one.
        windows: Vec<Window>,
        /// The longest frame of the class, in ps.
        longest_ps: i64,
    },
}

/// The start of a busy interval of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// When the queue gets its first frame.
    pub(super) arrival_ps: i64,
    /// The earliest time at which it can be served.
    pub(super) served_ps: i64,
}

impl Service {
    /// The share of the time in which the class is guaranteed to send.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Self::Always { .. } => 1.0,
            Self::Shaped { slope, rate, .. } => *slope as f64 / *rate as f64,
            Self::Gated { cycle_ps, longest_ps, .. } => {
                self.work_per_cycle_ps(*longest_ps, 0) as f64 / *cycle_ps as f64
            }
        }
    }

    /// The repetition of the service; 1 if it does not change.
    pub(super) fn cycle_ps(&self) -> i64 {
        match self {
            Self::Always { .. } | Self::Shaped { .. } => 1,
            Self::Gated { cycle_ps, .. } => *cycle_ps,
        }
    }

    /// The worst starts of a busy interval, without a relation between gates and frames. In each window, the worst is
    /// just after the last time at which the longest frame would have been sent: an earlier start by x ends the interval
    /// earlier by x at least, since the rate is at most 1.
    pub(super) fn worst_starts(&self) -> Vec<Start> {
        match self {
            Self::Always { .. } | Self::Shaped { .. } => vec![Start { arrival_ps: 0, served_ps: 0 }],
            Self::Gated { zero_ps, windows, longest_ps, .. } => windows
                .iter()
                .map(|window| Start {
                    arrival_ps: zero_ps
                        + window.open_ps.max(window.close_ps - longest_ps - window.blocked_inside_ps),
                    served_ps: zero_ps + window.close_ps,
                })
                .collect(),
        }
    }

    /// When `work_ps` is done at the latest if the queue is not empty from `from_ps` on; `None`: never.
    pub(super) fn done_ps(&self, from_ps: i64, work_ps: i64) -> Option<i64> {
        match self {
            Self::Always { blocked_ps } => Some(from_ps + blocked_ps + work_ps),
            Self::Shaped { latency_ps, slope, rate, .. } => {
                let sent_ps =
                    (i128::from(work_ps) * i128::from(*rate) + i128::from(slope - 1)) / i128::from(*slope);
                from_ps.checked_add(*latency_ps)?.checked_add(i64::try_from(sent_ps).ok()?)
            }
            Self::Gated { longest_ps, .. } => self.done_by_these_ps(from_ps, work_ps, *longest_ps, 0),
        }
    }

    /// How much earlier than [`Service::done_ps`] the last frame is done, in ps: a frame that has started is sent at the rate of the port.
    pub(super) fn last_frame_earlier_ps(&self) -> i64 {
        match self {
            Self::Always { .. } | Self::Gated { .. } => 0,
            Self::Shaped { slope, rate, shortest_ps, .. } => {
                let at_slope_ps = i128::from(*shortest_ps) * i128::from(*rate) / i128::from(*slope);
                i64::try_from(at_slope_ps).unwrap_or(i64::MAX / 4) - shortest_ps
            }
        }
    }

    /// [`Service::done_ps`] if every frame until then has at most `longest_ps` and is a multiple of `grain_ps`; 0: not known.
    pub(super) fn done_by_these_ps(
        &self,
        from_ps: i64,
        work_ps: i64,
        longest_ps: i64,
        grain_ps: i64,
    ) -> Option<i64> {
        let Self::Gated { zero_ps, cycle_ps, windows, .. } = self else {
            return self.done_ps(from_ps, work_ps);
        };
        let mut left_ps = work_ps;
        // A window may continue from the cycle before.
        let mut cycle_start_ps = from_ps - (from_ps - zero_ps).rem_euclid(*cycle_ps) - cycle_ps;
        let mut cycles = 0;
        loop {
            for window in windows {
                let (start_ps, sends_ps) = window.sends(cycle_start_ps, from_ps, longest_ps, grain_ps);
                if left_ps <= sends_ps {
                    return Some(start_ps + left_ps);
                }
                left_ps -= sends_ps;
            }
            cycle_start_ps += cycle_ps;
            cycles += 1;
            if cycles > 2 {
                let each_ps = self.work_per_cycle_ps(longest_ps, grain_ps);
                if each_ps == 0 {
                    return None;
                }
                let whole = (left_ps - 1) / each_ps;
                left_ps -= whole * each_ps;
                cycle_start_ps = cycle_start_ps.checked_add(whole.checked_mul(*cycle_ps)?)?;
            }
        }
    }

    fn work_per_cycle_ps(&self, longest_ps: i64, grain_ps: i64) -> i64 {
        let Self::Gated { windows, .. } = self else { return 0 };
        windows.iter().map(|window| window.sends(0, i64::MIN / 4, longest_ps, grain_ps).1).sum()
    }
}

impl Window {
    /// When a class with a frame since `from_ps` starts to send in this window of a cycle, and how much it sends at
    /// least.
    fn sends(&self, cycle_start_ps: i64, from_ps: i64, longest_ps: i64, grain_ps: i64) -> (i64, i64) {
        let (open_ps, close_ps) = (cycle_start_ps + self.open_ps, cycle_start_ps + self.close_ps);
        let unblocked_ps = open_ps + self.blocked_at_open_ps;
        let start_ps = if from_ps <= open_ps {
            unblocked_ps
        } else {
            unblocked_ps.max(from_ps.saturating_add(self.blocked_inside_ps))
        };
        let room_ps = close_ps.saturating_sub(longest_ps).saturating_sub(start_ps);
        // More than `room_ps`, and a multiple of the grain.
        let grain_ps = if self.grain_ps == 1 { 1 } else { self.grain_ps.max(grain_ps) };
        let sends_ps = if room_ps < 0 { 0 } else { (room_ps / grain_ps + 1) * grain_ps };
        (start_ps, sends_ps)
    }
}

/// The parts of `windows` that are in none of `others`, both as (open, close) in a cycle.
pub(super) fn without(windows: &[(i64, i64)], others: &[(i64, i64)], cycle_ps: i64) -> Vec<(i64, i64)> {
    let mut left = windows.to_vec();
    for &(open, close) in others {
        for shift in [-cycle_ps, 0, cycle_ps] {
            let (open, close) = (open + shift, close + shift);
            left = left
                .into_iter()
                .flat_map(|(from, to)| [(from, to.min(open)), (from.max(close), to)])
                .filter(|(from, to)| from < to)
                .collect();
        }
    }
    left.sort_unstable();
    left.dedup();
    left
}

/// Whether any of `others` overlaps `window` in a cycle.
pub(super) fn overlaps(window: (i64, i64), others: &[(i64, i64)], cycle_ps: i64) -> bool {
    others.iter().any(|&(open, close)| {
        [-cycle_ps, 0, cycle_ps].iter().any(|shift| open + shift < window.1 && close + shift > window.0)
    })
}

/// Whether any of `others` is open before and after `at_ps` in a cycle.
pub(super) fn is_open_across(at_ps: i64, others: &[(i64, i64)], cycle_ps: i64) -> bool {
    others.iter().any(|&(open, close)| {
        close - open >= cycle_ps
            || [-cycle_ps, 0, cycle_ps].iter().any(|shift| open + shift < at_ps && close + shift > at_ps)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gated(windows: &[(i64, i64)], longest_ps: i64, grain_ps: i64) -> Service {
        let window = |&(open_ps, close_ps): &(i64, i64)| Window {
            open_ps,
            close_ps,
            blocked_at_open_ps: 0,
            blocked_inside_ps: 0,
            grain_ps,
        };
        Service::Gated {
            zero_ps: 0,
            cycle_ps: 1000,
            windows: windows.iter().map(window).collect(),
            longest_ps,
        }
    }

    #[test]
    fn a_window_of_exactly_one_frame_passes_one_frame_per_cycle() {
        let service = gated(&[(200, 300)], 100, 100);
        assert_eq!(service.worst_starts(), [Start { arrival_ps: 200, served_ps: 300 }]);
        assert_eq!(service.done_ps(300, 100), Some(1300));
        assert_eq!(service.done_ps(300, 200), Some(2300));
        assert_eq!(service.done_ps(300, 1_000_000), Some(10_000_300));
        assert!((service.rate() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_end_of_a_window_is_lost_to_frames_that_do_not_fit() {
        // Two frames of 100 fit into 250; of frames of up to 100 in steps of 1, more than 150 of work is certain.
        assert_eq!(gated(&[(0, 250)], 100, 100).done_ps(0, 201), Some(1001));
        assert_eq!(gated(&[(0, 250)], 100, 1).done_ps(0, 151), Some(151));
        assert_eq!(gated(&[(0, 250)], 100, 1).done_ps(0, 152), Some(1001));
        assert_eq!(gated(&[(0, 99)], 100, 1).done_ps(0, 1), None);
    }

    #[test]
    fn a_window_may_continue_in_the_next_cycle() {
        let service = gated(&[(900, 1100)], 10, 10);
        assert_eq!(service.done_ps(1050, 40), Some(1090));
        assert_eq!(service.done_ps(1050, 60), Some(1910));
    }

    #[test]
    fn the_windows_of_others_are_cut_out_also_across_the_end_of_the_cycle() {
        assert_eq!(without(&[(0, 1000)], &[(900, 1100), (300, 400)], 1000), [(100, 300), (400, 900)]);
        assert!(overlaps((50, 60), &[(900, 1100)], 1000));
        assert!(!overlaps((100, 900), &[(900, 1100)], 1000));
        assert!(is_open_across(0, &[(900, 1100)], 1000) && !is_open_across(900, &[(900, 1100)], 1000));
    }
}
