//! What a switch is just now, as the kernel has it.

use serde::{Serialize, Serializer};
use tardy_record::gates::GateEntry;
use tardy_sys::taprio::{self, Shown};
use tardy_sys::{links, qdiscs};

use super::gate_timers;
use super::open_vswitch::OpenVSwitch;
use super::shaper::{HANDLE, ShaperRecord, gate_entries};
use super::state::{Shelf, SwitchState};
use super::step::{Change, Step};

/// A switch just now.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchView {
    /// Its bridge's name.
    pub name: String,
    /// Whether that bridge is there.
    pub bridge_is_there: bool,
    /// What classifies, as it was sent.
    pub classifier: Option<String>,
    /// Its ports.
    pub ports: Vec<PortView>,
}

/// A port just now.
#[derive(Clone, Debug, Serialize)]
pub struct PortView {
    /// Its name.
    pub name: String,
    /// Whether it is a port of the switch's bridge.
    pub is_of_bridge: bool,
    /// Whether it is set up and something is plugged in at the other end.
    pub has_carrier: bool,
    /// Its speed in Mbit/s; absent: unknown, which the shaper takes for 10.
    pub speed_mbps: Option<u32>,
    /// How many queues it has to send.
    pub tx_queues: u32,
    /// How many times its carrier came or went.
    pub carrier_changes: u32,
    /// Its shaper.
    pub shaper: ShaperView,
}

/// A port's shaper just now.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "shaper", rename_all = "snake_case")]
pub enum ShaperView {
    /// It was given none.
    None,
    /// It was given one, and has none any more.
    Gone,
    /// It has one that the kernel cannot show: of more than about 880 entries it shows none.
    TooLong {
        /// How many entries were sent.
        entries_sent: Option<usize>,
    },
    /// As the kernel shows it.
    Shown {
        /// The clock's number, as clock_gettime(2) has it.
        clock_id: Option<i32>,
        /// The schedule that runs.
        operating: Option<ScheduleView>,
        /// The schedule that will run from its base time on.
        admin: Option<ScheduleView>,
        /// Whether its gates stand still, as after a lost carrier; absent where that cannot be known.
        stands_still: Option<bool>,
        /// Frames that wait.
        waiting_frames: u32,
        /// Frames that were dropped.
        dropped: u32,
    },
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScheduleView {
    /// A start of the cycle, in ns.
    pub base_time_ns: i64,
    /// Length of the cycle, in ns.
    pub cycle_ns: u64,
    /// The gate control list; in JSON a pair of gates and interval for each entry.
    #[serde(serialize_with = "as_pairs")]
    pub entries: Vec<GateEntry>,
}

fn as_pairs<S: Serializer>(entries: &[GateEntry], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| (entry.gates, entry.interval_ns)))
}

/// The switch `name` just now; nothing if no such switch of tardy's is up in this network namespace.
///
/// # Errors
/// In words.
pub fn show(shelf: &Shelf, name: &str) -> Result<Option<SwitchView>, String> {
    let Some(state) = shelf.find(name)? else { return Ok(None) };
    let bridge = links::find(&state.name).map_err(|error| error.to_string())?;
    let bridge_index = bridge.as_ref().map(|link| link.index);
    let ports = ports_of(&state);
    let mut view = SwitchView {
        name: state.name.clone(),
        bridge_is_there: bridge.is_some(),
        classifier: state.classifier.clone(),
        ports: ports.iter().map(|port| port_view(port, &state, bridge_index)).collect(),
    };
    find_standing(&mut view);
    Ok(Some(view))
}

/// Notes which gates stand still; where that cannot be known, nothing is said.
fn find_standing(view: &mut SwitchView) {
    let mut shown = Vec::new();
    for port in &mut view.ports {
        let now = taprio::shown(&port.name).ok().flatten().map(|shown| Shown {
            // What is to come has no timer of its own as long as another runs.
            admin: shown.admin.clone().filter(|_| shown.operating.is_none()),
            ..shown
        });
        let shaper = now.and_then(|now| ShaperRecord::of(&now));
        if let (ShaperView::Shown { stands_still, .. }, Some(shaper)) = (&mut port.shaper, shaper) {
            shown.push((stands_still, shaper.taprio()));
        }
    }
    let shapers: Vec<&taprio::Taprio> = shown.iter().map(|(_, shaper)| shaper).collect();
    let Ok(standing) = gate_timers::standing(&shapers) else { return };
    for ((stands_still, _), stands) in shown.into_iter().zip(standing) {
        *stands_still = Some(stands);
    }
}

/// Whether `name` is a port of the switch's bridge.
fn is_of_bridge(name: &str, master: Option<u32>, state: &SwitchState, bridge_index: Option<u32>) -> bool {
    let is_of_open_vswitch =
        |step: &Step| matches!(step.change, Change::OpenVSwitch { .. } | Change::OpenVSwitchPort { .. });
    if state.steps.iter().any(is_of_open_vswitch) {
        return OpenVSwitch::System.bridge_of(name).is_ok_and(|bridge| bridge == state.name);
    }
    bridge_index.is_some() && master == bridge_index
}

/// The ports that it was given.
pub(super) fn ports_of(state: &SwitchState) -> Vec<String> {
    let port = |change: &Change| match change {
        Change::Port { name, .. } | Change::OpenVSwitchPort { name, .. } => Some(name.clone()),
        _ => None,
    };
    let mut ports: Vec<String> = state.steps.iter().filter_map(|step| port(&step.change)).collect();
    let others = state.shapers.iter().map(|(name, _)| name.clone());
    let new: Vec<String> = others.filter(|name| !ports.contains(name)).collect();
    ports.extend(new);
    ports
}

fn port_view(name: &str, state: &SwitchState, bridge_index: Option<u32>) -> PortView {
    let link = links::find(name).ok().flatten().unwrap_or_default();
    PortView {
        name: name.to_owned(),
        is_of_bridge: is_of_bridge(name, link.master, state, bridge_index),
        has_carrier: link.is_up && link.has_carrier,
        speed_mbps: links::speed_mbps(name).ok().flatten(),
        tx_queues: link.tx_queues,
        carrier_changes: link.carrier_changes,
        shaper: shaper_view(name, state),
    }
}

fn shaper_view(name: &str, state: &SwitchState) -> ShaperView {
    let Some((_, sent)) = state.shapers.iter().find(|(port, _)| port == name) else {
        return ShaperView::None;
    };
    if let Ok(Some(shown)) = taprio::shown(name) {
        return seen(&shown);
    }
    let ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(HANDLE);
    if qdiscs::classes_of(name).is_ok_and(|classes| classes.iter().any(ours)) {
        let sent: Option<serde_json::Value> = serde_json::from_str(sent).ok();
        let entries_sent = sent.and_then(|sent| Some(sent.get("entries")?.as_array()?.len()));
        return ShaperView::TooLong { entries_sent };
    }
    ShaperView::Gone
}

fn seen(shown: &Shown) -> ShaperView {
    let schedule = |schedule: &taprio::Schedule| ScheduleView {
        base_time_ns: schedule.base_time_ns,
        cycle_ns: taprio::cycle_ns(schedule),
        entries: gate_entries(schedule),
    };
    ShaperView::Shown {
        clock_id: shown.clock_id,
        operating: shown.operating.as_ref().map(schedule),
        admin: shown.admin.as_ref().map(schedule),
        stands_still: None,
        waiting_frames: shown.waiting_frames,
        dropped: shown.dropped,
    }
}
