//! The present state of a switch, as the kernel shows it.

use serde::{Serialize, Serializer};
use tardy_record::gates::GateEntry;
use tardy_sys::taprio::{self, Shown};
use tardy_sys::{links, qdiscs};

use super::change::{Change, Step};
use super::gate_timers;
use super::open_vswitch::OpenVSwitch;
use super::saved_states::{SavedStates, SwitchState};
use super::shaper::{HANDLE, ShaperRecord, gate_entries};

/// The state of a switch.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchView {
    /// Its bridge's name.
    pub name: String,
    /// Whether that bridge exists.
    pub bridge_is_there: bool,
    /// The classifier, as it was sent.
    pub classifier: Option<String>,
    /// Its ports.
    pub ports: Vec<PortView>,
}

/// The state of a port.
#[derive(Clone, Debug, Serialize)]
pub struct PortView {
    /// Its name.
    pub name: String,
    /// Whether the interface exists.
    pub is_there: bool,
    /// Whether it is a port of the switch's bridge.
    pub is_of_bridge: bool,
    /// Whether it is up and has a carrier.
    pub has_carrier: bool,
    /// Its speed in Mbit/s; absent if unknown, which the shaper treats as 10.
    pub speed_mbps: Option<u32>,
    /// The number of its transmit queues.
    pub tx_queues: u32,
    /// How often its carrier came or went.
    pub carrier_changes: u32,
    /// Its shaper.
    pub shaper: ShaperView,
}

/// The state of a port's shaper.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "shaper", rename_all = "snake_case")]
pub enum ShaperView {
    /// The port has none in the switch file.
    None,
    /// A shaper was set, but another program has removed it.
    Gone,
    /// The port has a shaper that the kernel cannot show, because it has more than about 880 entries.
    TooLong {
        /// The number of entries that were sent.
        entries_sent: Option<usize>,
    },
    /// As the kernel shows it.
    Shown {
        /// The clock's number for clock_gettime(2).
        clock_id: Option<i32>,
        /// The running schedule.
        operating: Option<ScheduleView>,
        /// The schedule that runs from its base time on.
        admin: Option<ScheduleView>,
        /// The flags: 0 for gates in software, 1 for transmit times for ETF, 2 for gates in the device.
        flags: u32,
        /// Whether its gates have stopped, as after a lost carrier; absent if unknown, and for gates that are not in software.
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

/// The state of the switch `name`; `None` if tardy has no such switch in this network namespace.
///
/// # Errors
/// A message for the user.
pub fn show(saved_states: &SavedStates, name: &str) -> Result<Option<SwitchView>, String> {
    let Some(state) = saved_states.find(name)? else { return Ok(None) };
    let bridge = links::find(&state.name).map_err(|error| error.to_string())?;
    let bridge_index = bridge.as_ref().map(|link| link.index);
    let ports = ports_of(&state);
    let mut view = SwitchView {
        name: state.name.clone(),
        bridge_is_there: bridge.is_some(),
        classifier: state.classifier.clone(),
        ports: ports.iter().map(|port| port_view(port, &state, bridge_index)).collect(),
    };
    find_stopped(&mut view);
    Ok(Some(view))
}

/// Records which gates have stopped, if that can be determined.
fn find_stopped(view: &mut SwitchView) {
    let mut shown = Vec::new();
    for port in &mut view.ports {
        let now = taprio::shown(&port.name).ok().flatten().map(|shown| Shown {
            // The next schedule has no timer while another runs.
            admin: shown.admin.clone().filter(|_| shown.operating.is_none()),
            ..shown
        });
        let shaper = now.and_then(|now| ShaperRecord::of(&now));
        if let (ShaperView::Shown { stands_still, .. }, Some(shaper)) = (&mut port.shaper, shaper) {
            let shaper = shaper.taprio();
            if gate_timers::has_timer(&shaper) {
                shown.push((stands_still, shaper));
            }
        }
    }
    let shapers: Vec<&taprio::Taprio> = shown.iter().map(|(_, shaper)| shaper).collect();
    let Ok(stopped) = gate_timers::stopped(&shapers) else { return };
    for ((stands_still, _), stands) in shown.into_iter().zip(stopped) {
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

/// The ports of the switch, from its steps and its shapers.
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
    let found = links::find(name).ok().flatten();
    let is_there = found.is_some();
    let link = found.unwrap_or_default();
    PortView {
        name: name.to_owned(),
        is_there,
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
        flags: shown.flags,
        stands_still: None,
        waiting_frames: shown.waiting_frames,
        dropped: shown.dropped,
    }
}
