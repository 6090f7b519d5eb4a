//! When the gates of a class are open, as Linux's software TAPRIO computes it (`net/sched/sch_taprio.c` of 6.12).

use crate::network::Schedule;

/// What the kernel takes the speed of a port to be where nobody knows it.
pub const UNKNOWN_SPEED_BITS_PER_SECOND: u64 = 10_000_000;

/// A stretch of a cycle in which a class's gate stays open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// From the beginning of the cycle.
    pub start_ns: u64,
    /// How long; over the end of the cycle into the next one if it must.
    pub duration_ns: u64,
    /// The entries that make it, by their place in the list.
    pub entries: Vec<usize>,
}

/// All about one class's gate in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Openings {
    /// The gate never closes.
    pub always: bool,
    /// When it is open, in the order of the entries that begin it.
    pub windows: Vec<Window>,
}

impl Openings {
    /// The longest stretch; 0 where the gate never opens.
    pub fn longest_ns(&self) -> u64 {
        self.windows.iter().map(|window| window.duration_ns).max().unwrap_or(0)
    }

    /// The longest time for which the gate stays closed; `None` where it never opens.
    pub fn longest_closed_ns(&self, cycle_ns: u64) -> Option<u64> {
        if self.always {
            return Some(0);
        }
        let first = self.windows.first()?;
        let ends = self.windows.iter().map(|window| window.start_ns + window.duration_ns);
        let starts = self.windows.iter().skip(1).map(|window| window.start_ns);
        let starts = starts.chain([first.start_ns + cycle_ns]);
        ends.zip(starts).map(|(end, start)| start.saturating_sub(end)).max()
    }
}

/// Entry durations as they really run: a cycle time shorter than the sum cuts the tail off, a longer one is ignored by
/// software TAPRIO, which begins anew after the last entry.
pub fn running_ns(schedule: &Schedule) -> Vec<u64> {
    let mut left = schedule.cycle_time_ns.as_ref().map_or(u64::MAX, |cycle| cycle.value);
    if left == 0 {
        left = u64::MAX;
    }
    let mut running = Vec::with_capacity(schedule.entries.len());
    for entry in &schedule.entries {
        let duration = u64::from(entry.duration_ns.value).min(left);
        left -= duration;
        running.push(duration);
    }
    running
}

/// When the gate of `class` is open.
pub fn of(schedule: &Schedule, class: usize) -> Openings {
    let running = running_ns(schedule);
    let open = |entry: usize| class < 32 && schedule.entries[entry].gate_mask.value >> class & 1 == 1;
    let alive: Vec<usize> = (0..running.len()).filter(|entry| running[*entry] > 0).collect();
    if alive.is_empty() {
        return Openings { always: false, windows: Vec::new() };
    }
    let always = alive.iter().all(|entry| open(*entry));
    let mut windows: Vec<Window> = Vec::new();
    let mut start_ns = 0;
    let mut was_open = false;
    for &entry in &alive {
        match windows.last_mut() {
            Some(window) if open(entry) && was_open => {
                window.duration_ns += running[entry];
                window.entries.push(entry);
            }
            _ if open(entry) => {
                windows.push(Window { start_ns, duration_ns: running[entry], entries: vec![entry] });
            }
            _ => {}
        }
        was_open = open(entry);
        start_ns += running[entry];
    }
    // What is open at the end and at the beginning is one window.
    if !always && was_open && open(alive[0]) && windows.len() > 1 {
        let first = windows.remove(0);
        if let Some(last) = windows.last_mut() {
            last.duration_ns += first.duration_ns;
            last.entries.extend(first.entries);
        }
    }
    Openings { always, windows }
}

/// How long the kernel takes a byte to be on the wire, in picoseconds: whole megabits count, and 17 is the least.
pub fn picos_per_byte(bits_per_second: u64) -> u64 {
    let megabits = bits_per_second / 1_000_000;
    let megabits = if megabits == 0 { UNKNOWN_SPEED_BITS_PER_SECOND / 1_000_000 } else { megabits };
    (8_000_000 / megabits).max(17)
}

/// How long the kernel takes `bytes` to be on the wire (`length_to_duration`).
pub fn wire_ns(bytes: u64, bits_per_second: u64) -> u64 {
    bytes * picos_per_byte(bits_per_second) / 1000
}

/// How many bytes the kernel takes to fit into a time (`duration_to_length`).
pub fn bytes_in(ns: u64, bits_per_second: u64) -> u64 {
    (u128::from(ns) * 1000 / u128::from(picos_per_byte(bits_per_second))).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;

    fn openings(gates: &str, more: &str, class: usize) -> Openings {
        let text = format!(
            "about = \"x\"\n[[class]]\n[[class]]\n[switch]\nname = \"s\"\n[[switch.port]]\ninterface = \"p\"\n{more}\ngates = [{gates}]"
        );
        let network = file::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        of(network.switches[0].ports[0].schedule.as_ref().unwrap(), class)
    }

    #[test]
    fn neighbouring_entries_are_one_window_and_so_are_the_last_and_the_first() {
        let gates = "{mask=1,for=\"1us\"},{mask=2,for=\"2us\"},{mask=3,for=\"3us\"},{mask=1,for=\"4us\"}";
        let first = openings(gates, "", 0);
        assert_eq!(first.windows, [Window { start_ns: 3000, duration_ns: 8000, entries: vec![2, 3, 0] }]);
        assert_eq!(first.longest_closed_ns(10_000), Some(2000));
        let second = openings(gates, "", 1);
        assert_eq!(second.windows, [Window { start_ns: 1000, duration_ns: 5000, entries: vec![1, 2] }]);
        assert_eq!(second.longest_closed_ns(10_000), Some(5000));
    }

    #[test]
    fn a_short_cycle_cuts_the_tail_off() {
        let gates = "{mask=1,for=\"6us\"},{mask=2,for=\"4us\"}";
        assert!(openings(gates, "cycle_time = \"6us\"", 0).always);
        assert_eq!(openings(gates, "cycle_time = \"6us\"", 1).windows, []);
        assert_eq!(openings(gates, "cycle_time = \"7us\"", 1).longest_ns(), 1000);
        assert_eq!(openings(gates, "cycle_time = \"20us\"", 1).longest_ns(), 4000);
    }

    #[test]
    fn the_kernels_arithmetic() {
        assert_eq!(wire_ns(60, 10_000_000), 48_000);
        assert_eq!(wire_ns(60, 10_000_000_000), 48);
        assert_eq!(wire_ns(1538, 100_000_000), 123_040);
        assert_eq!(bytes_in(50_000, 100_000_000), 625);
        assert_eq!(picos_per_byte(800_000_000_000), 17);
        assert_eq!(picos_per_byte(64_000), picos_per_byte(10_000_000));
    }
}
