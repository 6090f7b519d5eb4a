//! The time-aware switch that a run tested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::{WINDOW_COUNT, Window};
use crate::gates::{self, AfterLast, GateEntry, Opening, Openings};
use crate::knowable::Knowable;

/// The most entries of a schedule in a run.
pub const ENTRY_COUNT: usize = 2 * WINDOW_COUNT;
/// The most traffic classes, and so gates, of a port.
pub const CLASS_COUNT: u32 = 16;

/// The switch that a run tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchRecord {
    /// Its name in the switch file.
    pub name: String,
    /// The switch file's name.
    pub file_name: String,
    /// The switch file's text.
    pub file: String,
    /// How the switch was built.
    pub place: SwitchPlace,
    /// The operating schedule of each port that has one, in phases with the shaper.
    pub ports: Vec<PortSchedule>,
    /// How the clock was synchronised.
    pub ptp: Ptp,
    /// TAI − UTC of the system clock, in s.
    pub tai_minus_utc_s: Knowable<i32>,
    /// Remarks for the user, such as a missing classifier and its substitute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// How a switch was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchPlace {
    /// Real ports: talkers and listeners were interfaces of the machine, connected by cables.
    Ports,
    /// Network namespaces of one machine and virtual links.
    Namespaces,
    /// A simulator.
    Simulator,
}

/// The schedule of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortSchedule {
    /// The port's name in the switch file.
    pub port: String,
    /// The source of the schedule.
    pub source: ScheduleSource,
    /// Its clock, such as `CLOCK_TAI`.
    pub clock: String,
    /// A start of the cycle, in ns on that clock.
    pub base_ns: i64,
    /// Length of the cycle, in ns.
    pub cycle_ns: u64,
    /// The gate control list.
    pub entries: Vec<GateEntry>,
    /// The link's speed in bit/s, from the kernel.
    pub link_bps: Knowable<u64>,
    /// Bytes on the wire in addition to a frame's own.
    pub overhead_bytes: u32,
}

/// The source of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleSource {
    /// Read back from the kernel.
    ReadBack,
    /// Sent to the kernel, which accepted it but cannot show it (it shows at most about 880 entries).
    Sent,
    /// From the switch file: the switch is another machine, or has no shaper that can be read back.
    File,
    /// Computed by a simulator.
    Simulated,
}

impl PortSchedule {
    /// When the gate of `class` is open in the cycle; `guard_ns` is the guard band that each window gets.
    pub fn windows(&self, class: u8, guard_ns: u64) -> Vec<Window> {
        let found = Openings::of(&self.entries, self.cycle_ns, AfterLast::Restart, class);
        let window =
            |opening: &Opening| Window { open_ns: opening.open_ns, close_ns: opening.close_ns, guard_ns };
        found.openings.iter().map(window).collect()
    }
}

/// How the clock was synchronised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ptp {
    /// Whether ptp4l ran.
    pub ptp4l: Knowable<bool>,
    /// Whether phc2sys ran.
    pub phc2sys: Knowable<bool>,
    /// Whether the kernel considers its clock synchronised (adjtimex(2) without STA_UNSYNC).
    pub synchronised: Knowable<bool>,
    /// The kernel's estimate of the clock's error, in us (adjtimex(2), `esterror`).
    pub estimated_error_us: Knowable<u64>,
}

/// A description of the contradiction in a switch that was read from a file; `None` if there is none.
pub(crate) fn contradiction(switch: &SwitchRecord) -> Option<String> {
    let unsound = |port: &&PortSchedule| {
        let sum = gates::sum_ns(&port.entries);
        port.entries.len() > ENTRY_COUNT || port.cycle_ns == 0 || (sum == 0 && !port.entries.is_empty())
    };
    let port = switch.ports.iter().find(unsound)?;
    Some(format!("port '{}' has an impossible schedule: too many entries, or a cycle of 0", port.port))
}
