//! The gates of IEEE 802.1Q.
//!
//! A frame can be sent while its class's gate is open, if all of it is sent before the gate closes (8.6.8.4). After a list that
//! ends before its cycle, the gates stay as the last entry set them until the next cycle; a cycle that ends before its list
//! cuts the list (list execute state machine, 8.6.9.2). Before the base time the gates are as AdminGateStates sets them, by
//! default all open (8.6.9.4.5), and the time at which they close is not known.

use tardy_record::gates::{self, AfterLast, GateEntry, Openings};

use super::event_queue::NEVER;

/// A stretch in which a gate is open: `[open_ns, close_ns)`, in ns of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// When it opens; [`u64::MAX`] for a gate that never opens.
    pub open_ns: u64,
    /// When it closes; [`u64::MAX`] for a gate that never closes.
    pub close_ns: u64,
}

/// The windows of each class under a gate control list.
#[derive(Clone, Debug)]
pub struct Windows {
    cycle_ns: u64,
    /// When the first cycle starts, in ns of the simulation; before it all gates are open.
    start_ns: u64,
    /// The phase at the start of the first cycle, for a schedule that is already running.
    ahead_ns: u64,
    classes: Vec<ClassWindows>,
}

#[derive(Clone, Debug)]
enum ClassWindows {
    AlwaysOpen,
    NeverOpen,
    /// Windows within a cycle, in ascending order; the last may continue in the next cycle.
    Some {
        windows: Vec<(u64, u64)>,
        longest_ns: u64,
        cursor: Cursor,
    },
}

/// The last window that was found; the next lookup usually finds it or its successor.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    window: usize,
    cycle_start_ns: u64,
    since_ns: u64,
}

impl Cursor {
    /// Moves to the first window that closes after `since_ns`.
    #[inline]
    fn seek(&mut self, windows: &[(u64, u64)], cycle_ns: u64, since_ns: u64) {
        if since_ns < self.since_ns || since_ns.saturating_sub(self.cycle_start_ns) > 2 * cycle_ns {
            // One cycle early, since a window may continue from there.
            (self.window, self.cycle_start_ns) = (0, (since_ns / cycle_ns).saturating_sub(1) * cycle_ns);
        }
        while windows[self.window].1 + self.cycle_start_ns <= since_ns {
            self.window += 1;
            if self.window == windows.len() {
                (self.window, self.cycle_start_ns) = (0, self.cycle_start_ns + cycle_ns);
            }
        }
        self.since_ns = since_ns;
    }
}

impl Windows {
    /// The windows of `classes` classes under `entries`.
    ///
    /// `base_ns` is the base time in ns of the simulation, negative for one that is past. `None` for a cycle of 0.
    pub fn of(entries: &[GateEntry], cycle_ns: Option<u64>, base_ns: i128, classes: u8) -> Option<Self> {
        let cycle_ns = cycle_ns.filter(|cycle| *cycle > 0).unwrap_or_else(|| gates::sum_ns(entries));
        if cycle_ns == 0 || entries.is_empty() {
            return None;
        }
        let classes = (0..classes).map(|class| ClassWindows::of(entries, cycle_ns, class)).collect();
        let ahead_ns = if base_ns < 0 { (-base_ns % i128::from(cycle_ns)) as u64 } else { 0 };
        Some(Self { cycle_ns, start_ns: u64::try_from(base_ns.max(0)).unwrap_or(NEVER), ahead_ns, classes })
    }

    /// The current opening of a class's gate, or otherwise the next. Fastest if times do not decrease.
    #[inline]
    pub fn at(&mut self, class: u8, now_ns: u64) -> Opening {
        if now_ns < self.start_ns {
            return Opening { open_ns: 0, close_ns: NEVER };
        }
        match &mut self.classes[usize::from(class)] {
            ClassWindows::AlwaysOpen => Opening { open_ns: 0, close_ns: NEVER },
            ClassWindows::NeverOpen => Opening { open_ns: NEVER, close_ns: NEVER },
            ClassWindows::Some { windows, cursor, .. } => {
                // Counted from the start of the cycle before the first, so that a window that continues from it is
                // found.
                let zero_ns = self.start_ns.wrapping_sub(self.ahead_ns).wrapping_sub(self.cycle_ns);
                let since_ns = now_ns.wrapping_sub(zero_ns);
                cursor.seek(windows, self.cycle_ns, since_ns);
                let (open_ns, close_ns) = windows[cursor.window];
                let at = |ns: u64| zero_ns.wrapping_add(cursor.cycle_start_ns + ns);
                // A window that opened before the start of the simulation has time 0.
                let is_open = cursor.cycle_start_ns + open_ns <= since_ns;
                Opening { open_ns: if is_open { 0 } else { at(open_ns) }, close_ns: at(close_ns) }
            }
        }
    }

    /// When a class's gate opens again after the opening that [`Windows::at`] last returned; [`u64::MAX`] if it does
    /// not close.
    pub fn opens_again_ns(&self, class: u8) -> u64 {
        let ClassWindows::Some { windows, cursor, .. } = &self.classes[usize::from(class)] else {
            return NEVER;
        };
        let zero_ns = self.start_ns.wrapping_sub(self.ahead_ns).wrapping_sub(self.cycle_ns);
        let open_ns = match windows.get(cursor.window + 1) {
            Some(next) => next.0,
            None => windows[0].0 + self.cycle_ns,
        };
        zero_ns.wrapping_add(cursor.cycle_start_ns + open_ns)
    }

    /// The longest opening of a class's gate, in ns.
    pub fn longest_ns(&self, class: u8) -> u64 {
        match &self.classes[usize::from(class)] {
            ClassWindows::AlwaysOpen => NEVER,
            ClassWindows::NeverOpen => 0,
            ClassWindows::Some { longest_ns, .. } => *longest_ns,
        }
    }
}

impl ClassWindows {
    fn of(entries: &[GateEntry], cycle_ns: u64, class: u8) -> Self {
        let found = Openings::of(entries, cycle_ns, AfterLast::Hold, class);
        if found.is_always_open() {
            return Self::AlwaysOpen;
        }
        if found.openings.is_empty() {
            return Self::NeverOpen;
        }
        let longest_ns = found.longest_ns();
        let windows = found.openings.iter().map(|opening| (opening.open_ns, opening.close_ns)).collect();
        Self::Some { windows, longest_ns, cursor: Cursor::default() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows(entries: &[(u32, u32)], cycle_ns: Option<u64>, base_ns: i128) -> Windows {
        let entries: Vec<GateEntry> = entries.iter().map(|one| GateEntry::set(one.0, one.1)).collect();
        Windows::of(&entries, cycle_ns, base_ns, 3).unwrap()
    }

    fn opening(open_ns: u64, close_ns: u64) -> Opening {
        Opening { open_ns, close_ns }
    }

    #[test]
    fn neighbours_are_one_opening_also_across_the_end_of_the_cycle() {
        let mut gates = windows(&[(1, 100), (3, 200), (2, 300), (1, 400)], None, 0);
        assert_eq!(gates.at(0, 0), opening(0, 300));
        assert_eq!(gates.at(0, 300), opening(600, 1300));
        assert_eq!(gates.at(0, 1100).close_ns, 1300);
        assert_eq!(gates.at(1, 650), opening(1100, 1600));
        assert_eq!(gates.at(2, 5), opening(NEVER, NEVER));
        assert_eq!((gates.longest_ns(0), gates.longest_ns(1), gates.longest_ns(2)), (700, 500, 0));
    }

    #[test]
    fn a_cycle_longer_than_its_list_holds_the_last_state() {
        let mut gates = windows(&[(1, 100), (2, 100)], Some(500), 0);
        assert_eq!(gates.at(1, 150), opening(0, 500));
        assert_eq!(gates.at(0, 150), opening(500, 600));
        let mut cut = windows(&[(1, 400), (2, 600)], Some(500), 0);
        assert_eq!(cut.at(1, 0), opening(400, 500));
    }

    #[test]
    fn all_gates_are_open_before_the_base_time() {
        let mut gates = windows(&[(1, 100), (2, 100)], None, 1_000);
        assert_eq!(gates.at(1, 999), opening(0, NEVER));
        assert_eq!(gates.at(1, 1_000), opening(1_100, 1_200));
        let mut past = windows(&[(1, 100), (2, 100)], None, -150);
        assert_eq!(past.at(1, 0), opening(0, 50));
        assert_eq!(past.at(0, 0), opening(50, 150));
    }

    #[test]
    fn a_list_without_length_is_refused() {
        assert!(Windows::of(&[], Some(5), 0, 1).is_none());
        assert!(Windows::of(&[GateEntry::set(1, 0)], None, 0, 1).is_none());
    }

    proptest! {
        #[test]
        fn openings_follow_from_the_list(
            entries in prop::collection::vec((0u32..8, 1u32..60), 1..7),
            cycle in prop::option::of(20u64..400),
            base in -500i128..500,
            times in prop::collection::vec(0u64..3_000, 1..60),
        ) {
            let mut gates = windows(&entries, cycle, base);
            let sum: u64 = entries.iter().map(|entry| u64::from(entry.1)).sum();
            let cycle = cycle.unwrap_or(sum);
            let open = |class: u32, at: u64| {
                if i128::from(at) < base {
                    return true;
                }
                let phase = (i128::from(at) - base).rem_euclid(i128::from(cycle)) as u64;
                let mut end = 0;
                let now = entries.iter().find(|entry| { end += u64::from(entry.1); phase < end }).or(entries.last()).unwrap();
                now.0 >> class & 1 == 1
            };
            for at in times {
                for class in 0..3u8 {
                    let opening = gates.at(class, at);
                    prop_assert_eq!(opening.open_ns <= at, open(u32::from(class), at), "class {} at {}", class, at);
                    prop_assert!(opening.close_ns > at);
                    if opening.open_ns > at && opening.open_ns != NEVER {
                        prop_assert!((at..opening.open_ns).all(|at| !open(u32::from(class), at)));
                        prop_assert!(open(u32::from(class), opening.open_ns));
                    }
                    if i128::from(at) >= base && opening.close_ns != NEVER {
                        let from = opening.open_ns.max(at);
                        prop_assert!((from..opening.close_ns).all(|at| open(u32::from(class), at)));
                        prop_assert!(!open(u32::from(class), opening.close_ns));
                        let again = gates.opens_again_ns(class);
                        prop_assert!((opening.close_ns..again).all(|at| !open(u32::from(class), at)));
                        prop_assert!(open(u32::from(class), again));
                    }
                }
            }
        }
    }
}
