//! The time-aware switch that a run tested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Knowable;
use crate::flow::{WINDOW_COUNT, Window};

/// The most entries that a schedule of a run may have.
pub const ENTRY_COUNT: usize = 2 * WINDOW_COUNT;
/// The gates that a traffic class can have.
pub const CLASS_COUNT: u32 = 16;

/// The switch that a run tested, and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchRecord {
    /// Its name in the switch file.
    pub name: String,
    /// The switch file's name.
    pub file_name: String,
    /// The switch file's text.
    pub file: String,
    /// What it was.
    pub place: SwitchPlace,
    /// The operating schedule of each port that has one, while the shaper was on.
    pub ports: Vec<PortSchedule>,
    /// How the clock was synchronised.
    pub ptp: Ptp,
    /// TAI − UTC of the system clock, in s.
    pub tai_minus_utc_s: Knowable<i32>,
    /// What a reader should know, such as a classifier that was used because the better one was missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What a switch was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchPlace {
    /// Real ports: talkers and listeners were interfaces of the machine, cabled to them.
    Ports,
    /// Network namespaces of one machine, and virtual links.
    Namespaces,
    /// A simulator.
    Simulator,
}

/// The schedule of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortSchedule {
    /// The port's name in the switch file.
    pub port: String,
    /// How it is known.
    pub source: ScheduleSource,
    /// Its clock, such as `CLOCK_TAI`.
    pub clock: String,
    /// A start of the cycle, in ns on that clock.
    pub base_ns: i64,
    /// Length of the cycle, in ns.
    pub cycle_ns: u64,
    /// The gate control list.
    pub entries: Vec<GateEntry>,
    /// The link's speed in bit/s as the kernel has it.
    pub link_bps: Knowable<u64>,
    /// Bytes that a frame takes on the wire beyond its own.
    pub overhead_bytes: u32,
}

/// How a schedule is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleSource {
    /// Read back from the kernel.
    ReadBack,
    /// Sent to the kernel, which accepted it and cannot show it (it shows none of more than about 880 entries).
    Sent,
    /// As the switch file has it: the switch is another machine, or has no shaper that shows it.
    File,
    /// Computed by a simulator.
    Simulated,
}

/// An entry of a gate control list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateEntry {
    /// A bit for each traffic class whose gate is open.
    pub gates: u32,
    /// For how long, in ns.
    pub interval_ns: u32,
}

impl PortSchedule {
    /// When the gate of `class` is open in the cycle. Neighbouring open entries are one window, also round the end of the
    /// cycle; of a gate that never shuts there is one window, the whole cycle. `guard_ns` is what each is given.
    pub fn windows(&self, class: u8, guard_ns: u64) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        let mut at_ns = 0u64;
        for entry in &self.entries {
            let end_ns = (at_ns + u64::from(entry.interval_ns)).min(self.cycle_ns);
            if entry.gates.checked_shr(u32::from(class)).unwrap_or(0) & 1 == 1 && end_ns > at_ns {
                match windows.last_mut().filter(|last| last.close_ns == at_ns) {
                    Some(last) => last.close_ns = end_ns,
                    None => windows.push(Window { open_ns: at_ns, close_ns: end_ns, guard_ns }),
                }
            }
            at_ns = end_ns;
        }
        let goes_on = windows.len() > 1
            && windows.first().is_some_and(|first| first.open_ns == 0)
            && windows.last().is_some_and(|last| last.close_ns == self.cycle_ns);
        if goes_on {
            let first = windows.remove(0);
            if let Some(last) = windows.last_mut() {
                last.close_ns += first.close_ns;
            }
        }
        windows
    }
}

/// How the clock was synchronised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ptp {
    /// Whether ptp4l ran.
    pub ptp4l: Knowable<bool>,
    /// Whether phc2sys ran.
    pub phc2sys: Knowable<bool>,
    /// Whether the kernel calls its clock synchronised (adjtimex(2) without STA_UNSYNC).
    pub synchronised: Knowable<bool>,
    /// The kernel's estimate of the clock's error, in us (adjtimex(2), `esterror`).
    pub estimated_error_us: Knowable<u64>,
}

/// What is wrong with a switch that was read from outside; nothing if all is well.
pub(crate) fn contradiction(switch: &SwitchRecord) -> Option<String> {
    let unsound = |port: &&PortSchedule| {
        let sum = port.entries.iter().fold(0u64, |sum, entry| sum + u64::from(entry.interval_ns));
        port.entries.len() > ENTRY_COUNT || port.cycle_ns == 0 || (sum == 0 && !port.entries.is_empty())
    };
    let port = switch.ports.iter().find(unsound)?;
    Some(format!("port '{}' has a schedule that cannot be: too many entries, or a cycle of 0", port.port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(entries: &[(u32, u32)], cycle_ns: u64) -> PortSchedule {
        PortSchedule {
            port: "p2".to_owned(),
            source: ScheduleSource::ReadBack,
            clock: "CLOCK_TAI".to_owned(),
            base_ns: 0,
            cycle_ns,
            entries: entries.iter().map(|&(gates, interval_ns)| GateEntry { gates, interval_ns }).collect(),
            link_bps: Knowable::Known(1_000_000_000),
            overhead_bytes: 24,
        }
    }

    fn spans(schedule: &PortSchedule, class: u8) -> Vec<(u64, u64)> {
        schedule.windows(class, 0).iter().map(|window| (window.open_ns, window.close_ns)).collect()
    }

    #[test]
    fn neighbouring_open_entries_are_one_window() {
        let schedule = schedule(&[(1, 100), (3, 200), (2, 300), (1, 400)], 1000);
        assert_eq!(spans(&schedule, 0), [(600, 1300)], "round the end of the cycle");
        assert_eq!(spans(&schedule, 1), [(100, 600)]);
        assert!(spans(&schedule, 2).is_empty());
        assert!(spans(&schedule, 200).is_empty());
    }

    #[test]
    fn what_never_shuts_is_open_for_the_cycle() {
        assert_eq!(spans(&schedule(&[(1, 400), (1, 600)], 1000), 0), [(0, 1000)]);
    }

    #[test]
    fn a_cycle_shorter_than_its_entries_cuts_them() {
        assert_eq!(spans(&schedule(&[(1, 400), (2, 600), (1, 50)], 700), 1), [(400, 700)]);
        assert_eq!(spans(&schedule(&[(1, 400), (2, 600), (1, 50)], 700), 0), [(0, 400)]);
    }
}
