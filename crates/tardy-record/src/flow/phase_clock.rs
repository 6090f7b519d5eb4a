//! The phase of a time in a cycle, and its distance from a window.

use super::Window;

/// The cycle of a schedule: its start and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseClock {
    /// A start of the cycle, in ns on the schedule's clock.
    pub base_ns: i64,
    /// Length of the cycle, in ns; never 0.
    pub cycle_ns: u64,
}

/// The position of a phase relative to a class's windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Inside,
    /// This long before the next window, in ns.
    Early(u64),
    /// This long after the last window, in ns.
    Late(u64),
}

impl PhaseClock {
    /// The phase of `time_ns`, in `0..cycle_ns`.
    pub fn phase_ns(self, time_ns: i64) -> u64 {
        let since = i128::from(time_ns) - i128::from(self.base_ns);
        since.rem_euclid(i128::from(self.cycle_ns.max(1))) as u64
    }
}

/// The position of `phase_ns`. Without windows every phase is inside. A frame that arrives exactly at the end of a
/// window is inside: this is when the last bit of a frame that just fits arrives.
pub(crate) fn place(phase_ns: u64, windows: &[Window], cycle_ns: u64) -> Place {
    let (mut early, mut late) = (u64::MAX, u64::MAX);
    for window in windows {
        let since_open = (phase_ns + cycle_ns - window.open_ns % cycle_ns) % cycle_ns;
        let length = window.close_ns - window.open_ns;
        if since_open <= length {
            return Place::Inside;
        }
        early = early.min(cycle_ns - since_open);
        late = late.min(since_open - length);
    }
    match (windows.is_empty(), early < late) {
        (true, _) => Place::Inside,
        (false, true) => Place::Early(early),
        (false, false) => Place::Late(late),
    }
}

/// How long after `phase_ns` its window closes, in ns; negative if it closed that long ago. `None` without windows, or if
/// the gate never closes.
pub(super) fn until_close_ns(phase_ns: u64, windows: &[Window], cycle_ns: u64) -> Option<i64> {
    let until = |window: &Window| {
        let since_open = (phase_ns + cycle_ns - window.open_ns % cycle_ns) % cycle_ns;
        (window.close_ns - window.open_ns).cast_signed() - since_open.cast_signed()
    };
    let never = windows.iter().any(|window| window.close_ns - window.open_ns >= cycle_ns);
    // Of the windows that have closed, the last.
    windows.iter().map(until).max().filter(|_| !never)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_before_the_base_time_count_too() {
        let clock = PhaseClock { base_ns: 100, cycle_ns: 1000 };
        assert_eq!([clock.phase_ns(100), clock.phase_ns(99), clock.phase_ns(5099)], [0, 999, 999]);
    }

    #[test]
    fn a_frame_outside_belongs_to_the_nearer_window() {
        let windows = [Window { open_ns: 800, close_ns: 1000, guard_ns: 10 }];
        let at = |phase| place(phase, &windows, 1000);
        assert_eq!([at(800), at(999), at(0)], [Place::Inside; 3]);
        assert_eq!([at(20), at(799)], [Place::Late(20), Place::Early(1)]);
        assert_eq!(at(400), Place::Late(400), "equally far from both: late");
        assert_eq!(place(5, &[], 1000), Place::Inside);
    }

    #[test]
    fn a_window_can_continue_in_the_next_cycle() {
        let windows = [Window { open_ns: 900, close_ns: 1100, guard_ns: 0 }];
        assert_eq!(place(50, &windows, 1000), Place::Inside);
        assert_eq!(place(150, &windows, 1000), Place::Late(50));
    }
}
