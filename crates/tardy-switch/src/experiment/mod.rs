//! Tests a switch: sends its flows through it, and records the arrival of each frame.
//!
//! Everything happens on one machine. Talkers, switches and listeners are network namespaces. Cables are veth pairs, or
//! tap devices with this process as the wire between them if a port has a set speed (`cable.rs`). Frames carry their
//! number and the time at which they were sent; the listener's kernel adds the time of arrival. The caller drives a
//! [`TestPhase`]: begin, step until it has ended, finish.

mod build;
mod cable;
mod dequeue;
mod flow_paths;
mod followed;
mod frame;
mod listener;
mod machine;
mod observed;
mod own_open_vswitch;
mod phase;
mod phase_times;
mod plan;
mod port_schedule;
mod readings;
mod stamps;
mod talker;
mod test_threads;

use tardy_record::Knowable;
use tardy_record::switch::{PortSchedule, SwitchPlace, SwitchRecord};
use tardy_sys::clock_discipline;
use tardy_tsn::network::{Bridge, Network};

pub use followed::Followed;
pub use observed::ObservedFrame;
pub use phase::{Outcome, TestPhase};
pub use phase_times::PhaseTimes;
pub use plan::plan;

/// A test of a switch.
#[derive(Clone, Debug)]
pub struct Test {
    /// The switches, hosts and flows.
    pub network: Network,
    /// The switch file's name.
    pub file_name: String,
    /// The switch file's text.
    pub file: String,
    /// Whether everything is built of network namespaces. Otherwise talkers and listeners are interfaces of this
    /// machine, and the switch is up already.
    pub namespaces: bool,
    /// Whether every frame is kept until its phase is over: 262,144 of each listener at most. The phase's remarks state
    /// how many more there were.
    pub keep_frames: bool,
    /// Whether frames are followed from port to port, which measures how long talkers, switches, gates and listeners take. Needs
    /// `keep_frames` and `namespaces`.
    pub follow: bool,
    /// What the schedules are replaced by in the middle of a phase with the shaper, while the flows are sent. Needs `namespaces`.
    pub replacement: Option<Replacement>,
}

/// Other schedules of the same switches.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The switches, with their new schedules. Its flows are not sent.
    pub network: Network,
    /// The switch file's text.
    pub file: String,
}

impl Replacement {
    /// The schedules of `new`, whose file has the text `file`, for the switches of `old`.
    ///
    /// # Errors
    /// Why they cannot replace those of `old`.
    pub fn of(old: &Network, new: Network, file: String) -> Result<Self, String> {
        let ports = |network: &Network| -> Vec<(String, Vec<String>)> {
            let names = network.switches.iter().map(|switch| {
                let ports = switch.ports.iter().map(|port| port.interface.value.clone());
                (switch.name.value.clone(), ports.collect())
            });
            names.collect()
        };
        if ports(&new) != ports(old) {
            return Err("its switches or ports are others".to_owned());
        }
        if new.switches.iter().any(|switch| switch.bridge == Bridge::OpenVSwitch) {
            return Err("a switch of Open vSwitch is not changed while it runs".to_owned());
        }
        Ok(Self { network: new, file })
    }
}

impl Test {
    /// The record of the switch before its ports are known.
    pub fn record(&self) -> SwitchRecord {
        let name = self.network.switches.first().map(|switch| switch.name.value.clone());
        SwitchRecord {
            name: name.unwrap_or_default(),
            file_name: self.file_name.clone(),
            file: self.file.clone(),
            place: if self.namespaces { SwitchPlace::Namespaces } else { SwitchPlace::Ports },
            ports: Vec::new(),
            ptp: readings::ptp(),
            tai_minus_utc_s: tai_minus_utc(),
            remarks: Vec::new(),
        }
    }
}

/// Adds to a record the schedules of a phase, in the order of their ports, and its remarks.
pub fn add_to_record(record: &mut SwitchRecord, schedules: &[PortSchedule], remarks: &[String]) {
    for schedule in schedules {
        match record.ports.binary_search_by(|known| known.port.cmp(&schedule.port)) {
            Ok(index) => record.ports[index] = schedule.clone(),
            Err(index) => record.ports.insert(index, schedule.clone()),
        }
    }
    for remark in remarks {
        if !record.remarks.contains(remark) {
            record.remarks.push(remark.clone());
        }
    }
}

/// The kernel's current offset TAI − UTC, in s.
fn tai_minus_utc() -> Knowable<i32> {
    clock_discipline::read().map(|clock| clock.tai_minus_utc_s).ok().into()
}
