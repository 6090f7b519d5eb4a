//! Gate control lists: their entries, and when the gates of a traffic class are open.
//!
//! Every part of tardy that handles a gate control list uses [`GateEntry`]; only tardy-sys also uses the kernel's form.
//! The simulations of the standard's and of Linux's gates (tardy-tsn) model more than open windows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry of a gate control list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateEntry {
    /// The entry's effect on preemptible frames. It is not stored in run files, because Linux's software TAPRIO ignores it.
    #[serde(skip)]
    pub operation: GateOperation,
    /// Bit n is the gate of traffic class n: 1 is open.
    pub gates: u32,
    /// Duration, in ns.
    pub interval_ns: u32,
}

/// The operation of an entry (IEEE 802.1Q table 8-7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateOperation {
    /// SetGateStates: sets the gates.
    #[default]
    Set,
    /// Set-And-Hold-MAC: sets the gates and holds preemptible frames back.
    SetAndHold,
    /// Set-And-Release-MAC: sets the gates and releases preemptible frames.
    SetAndRelease,
}

impl GateOperation {
    /// The operation of a command number of the kernel (`TC_TAPRIO_CMD_*` in linux/pkt_sched.h); `None` for a number
    /// that has no meaning.
    pub fn of_command(command: u8) -> Option<Self> {
        match command {
            0 => Some(Self::Set),
            1 => Some(Self::SetAndHold),
            2 => Some(Self::SetAndRelease),
            _ => None,
        }
    }

    /// The kernel's command number.
    pub fn command(self) -> u8 {
        match self {
            Self::Set => 0,
            Self::SetAndHold => 1,
            Self::SetAndRelease => 2,
        }
    }
}

impl GateEntry {
    /// An entry that sets the gates and does nothing to preemptible frames.
    pub fn set(gates: u32, interval_ns: u32) -> Self {
        Self { operation: GateOperation::Set, gates, interval_ns }
    }

    /// Entries that keep the gates for `duration_ns`: one, or several if that does not fit into 32 bits.
    pub fn lasting(gates: u32, duration_ns: u64) -> impl Iterator<Item = Self> {
        let mut left_ns = duration_ns;
        std::iter::from_fn(move || {
            let interval_ns = u32::try_from(left_ns).unwrap_or(u32::MAX);
            left_ns -= u64::from(interval_ns);
            (interval_ns > 0).then(|| Self::set(gates, interval_ns))
        })
    }

    /// Whether the gate of `class` is open.
    pub fn opens(&self, class: u8) -> bool {
        self.gates.checked_shr(u32::from(class)).unwrap_or(0) & 1 == 1
    }
}

/// The sum of the entries' durations, in ns.
pub fn sum_ns(entries: &[GateEntry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.interval_ns)).sum()
}

/// The state of the gates after the last entry of a list that is shorter than its cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLast {
    /// The list starts again at once: Linux's software TAPRIO.
    Restart,
    /// The gates stay as the last entry set them until the cycle ends: IEEE 802.1Q clause 8.6.9.2.
    Hold,
}

/// How long each entry runs, in ns: a cycle that is shorter than the list cuts the list. `cycle_ns` of 0 is the sum of
/// the entries.
pub fn running_ns(entries: &[GateEntry], cycle_ns: u64, after_last: AfterLast) -> Vec<u64> {
    let mut left_ns = if cycle_ns == 0 { u64::MAX } else { cycle_ns };
    let mut running = Vec::with_capacity(entries.len());
    for entry in entries {
        let duration_ns = u64::from(entry.interval_ns).min(left_ns);
        left_ns -= duration_ns;
        running.push(duration_ns);
    }
    if let (AfterLast::Hold, true, Some(last)) = (after_last, cycle_ns != 0, running.last_mut()) {
        *last += left_ns;
    }
    running
}

/// A stretch of the cycle in which the gate of a class is open, `[open_ns, close_ns)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// When the gate opens, in ns from the start of the cycle.
    pub open_ns: u64,
    /// When it closes, in ns; past the end of the cycle for an opening that continues in the next cycle.
    pub close_ns: u64,
    /// The entries of the opening, by their index in the list.
    pub entries: Vec<usize>,
}

impl Opening {
    /// How long the gate stays open, in ns.
    pub fn length_ns(&self) -> u64 {
        self.close_ns - self.open_ns
    }
}

/// The openings of one class's gate in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Openings {
    /// Length of the cycle as it runs, in ns.
    pub cycle_ns: u64,
    /// The openings in ascending order. Neighbouring open entries are one opening, also across the end of the cycle; a
    /// gate that never closes has one opening of a whole cycle.
    pub openings: Vec<Opening>,
}

impl Openings {
    /// The openings of `class` under `entries`. `cycle_ns` of 0 is the sum of the entries.
    pub fn of(entries: &[GateEntry], cycle_ns: u64, after_last: AfterLast, class: u8) -> Self {
        let running = running_ns(entries, cycle_ns, after_last);
        let mut openings: Vec<Opening> = Vec::new();
        let mut start_ns = 0u64;
        for (index, (entry, duration_ns)) in entries.iter().zip(running).enumerate() {
            let end_ns = start_ns.saturating_add(duration_ns);
            if entry.opens(class) && end_ns > start_ns {
                match openings.last_mut().filter(|before| before.close_ns == start_ns) {
                    Some(before) => {
                        before.close_ns = end_ns;
                        before.entries.push(index);
                    }
                    None => {
                        openings.push(Opening { open_ns: start_ns, close_ns: end_ns, entries: vec![index] });
                    }
                }
            }
            start_ns = end_ns;
        }
        let cycle_ns = start_ns;
        let continues = openings.len() > 1
            && openings.first().is_some_and(|first| first.open_ns == 0)
            && openings.last().is_some_and(|last| last.close_ns == cycle_ns);
        if continues {
            let first = openings.remove(0);
            if let Some(last) = openings.last_mut() {
                last.close_ns += first.close_ns;
                last.entries.extend(first.entries);
            }
        }
        Self { cycle_ns, openings }
    }

    /// Whether the gate never closes.
    pub fn is_always_open(&self) -> bool {
        self.openings.iter().any(|opening| opening.length_ns() == self.cycle_ns)
    }

    /// The longest opening, in ns; 0 if the gate never opens.
    pub fn longest_ns(&self) -> u64 {
        self.openings.iter().map(Opening::length_ns).max().unwrap_or(0)
    }

    /// The longest time for which the gate stays closed, in ns; `None` if it never opens. `cycle_ns` is the cycle of
    /// the device, which may be longer than [`Self::cycle_ns`].
    pub fn longest_closed_ns(&self, cycle_ns: u64) -> Option<u64> {
        if self.is_always_open() {
            return Some(0);
        }
        let first = self.openings.first()?;
        let next = self.openings.iter().skip(1).map(|opening| opening.open_ns);
        let next = next.chain([first.open_ns + cycle_ns]);
        self.openings.iter().zip(next).map(|(opening, next)| next.saturating_sub(opening.close_ns)).max()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(entries: &[(u32, u32)]) -> Vec<GateEntry> {
        entries.iter().map(|&(gates, interval_ns)| GateEntry::set(gates, interval_ns)).collect()
    }

    fn spans(entries: &[(u32, u32)], cycle_ns: u64, after_last: AfterLast, class: u8) -> Vec<(u64, u64)> {
        let found = Openings::of(&list(entries), cycle_ns, after_last, class);
        found.openings.iter().map(|opening| (opening.open_ns, opening.close_ns)).collect()
    }

    #[test]
    fn neighbouring_open_entries_are_one_opening_also_across_the_end_of_the_cycle() {
        let entries = [(1, 1000), (2, 2000), (3, 3000), (1, 4000)];
        let first = Openings::of(&list(&entries), 0, AfterLast::Restart, 0);
        assert_eq!(first.openings, [Opening { open_ns: 3000, close_ns: 11_000, entries: vec![2, 3, 0] }]);
        assert_eq!((first.longest_ns(), first.longest_closed_ns(10_000)), (8000, Some(2000)));
        let second = Openings::of(&list(&entries), 10_000, AfterLast::Restart, 1);
        assert_eq!(second.openings, [Opening { open_ns: 1000, close_ns: 6000, entries: vec![1, 2] }]);
        assert_eq!(second.longest_closed_ns(10_000), Some(5000));
        assert!(spans(&entries, 0, AfterLast::Restart, 2).is_empty());
        assert!(spans(&entries, 0, AfterLast::Restart, 200).is_empty());
    }

    #[test]
    fn a_long_duration_takes_several_entries() {
        let entries: Vec<GateEntry> = GateEntry::lasting(3, 5_000_000_000).collect();
        assert_eq!(entries, list(&[(3, u32::MAX), (3, 705_032_705)]));
        assert_eq!(sum_ns(&entries), 5_000_000_000);
        assert_eq!(GateEntry::lasting(3, 0).count(), 0);
    }

    #[test]
    fn a_gate_that_never_closes_has_one_opening_of_a_whole_cycle() {
        let always = Openings::of(&list(&[(1, 400), (1, 600)]), 0, AfterLast::Restart, 0);
        assert!(always.is_always_open());
        assert_eq!((always.longest_ns(), always.longest_closed_ns(1000)), (1000, Some(0)));
        let never = Openings::of(&list(&[(1, 400), (1, 600)]), 0, AfterLast::Restart, 1);
        assert!(!never.is_always_open());
        assert_eq!((never.longest_ns(), never.longest_closed_ns(1000)), (0, None));
    }

    #[test]
    fn a_cycle_that_is_shorter_than_the_list_cuts_the_list() {
        for after_last in [AfterLast::Restart, AfterLast::Hold] {
            let entries = [(1, 400), (2, 600), (1, 50)];
            assert_eq!(spans(&entries, 700, after_last, 1), [(400, 700)]);
            assert_eq!(spans(&entries, 700, after_last, 0), [(0, 400)]);
            assert_eq!(running_ns(&list(&entries), 700, after_last), [400, 300, 0]);
        }
    }

    #[test]
    fn a_cycle_that_is_longer_than_the_list_restarts_or_holds() {
        let entries = [(1, 100), (2, 100)];
        assert_eq!(spans(&entries, 500, AfterLast::Restart, 1), [(100, 200)]);
        assert_eq!(Openings::of(&list(&entries), 500, AfterLast::Restart, 1).cycle_ns, 200);
        assert_eq!(spans(&entries, 500, AfterLast::Hold, 1), [(100, 500)]);
        assert_eq!(Openings::of(&list(&entries), 500, AfterLast::Hold, 1).cycle_ns, 500);
    }

    proptest! {
        #[test]
        fn the_openings_are_exactly_the_times_with_an_open_gate(
            entries in prop::collection::vec((0u32..4, 0u32..40), 1..7),
            cycle_ns in 0u64..200,
            hold in any::<bool>(),
        ) {
            let after_last = if hold { AfterLast::Hold } else { AfterLast::Restart };
            let entries = list(&entries);
            let running = running_ns(&entries, cycle_ns, after_last);
            for class in 0..2 {
                let found = Openings::of(&entries, cycle_ns, after_last, class);
                prop_assert_eq!(found.cycle_ns, running.iter().sum::<u64>());
                let mut end_ns = 0;
                let ends: Vec<u64> = running.iter().map(|ns| { end_ns += ns; end_ns }).collect();
                for at_ns in 0..found.cycle_ns {
                    let entry = ends.iter().position(|end_ns| at_ns < *end_ns).unwrap();
                    let inside = found.openings.iter().any(|opening| {
                        (at_ns + found.cycle_ns - opening.open_ns) % found.cycle_ns < opening.length_ns()
                    });
                    prop_assert_eq!(inside, entries[entry].opens(class), "class {} at {}", class, at_ns);
                }
            }
        }
    }
}
