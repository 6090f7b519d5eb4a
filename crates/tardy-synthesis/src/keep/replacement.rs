//! What `tardy tsn apply` does at each port to get from an old schedule to a new one.

use serde::Serialize;
use tardy_tsn::network::{Network, Schedule, Switch};

use crate::read::network::Scheduled;
use crate::schedule::Placement;

/// The most entries of a list that the kernel shows. A longer one cannot be replaced while it runs, since the time of the
/// replacement is computed from what the kernel shows.
const ENTRIES_SHOWN_MAX: usize = 880;

/// A port that has a schedule before or after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortReplacement {
    /// The port: `SWITCH/INTERFACE`.
    pub port: String,
    /// What happens there.
    #[serde(flatten)]
    pub change: PortChange,
}

/// What happens at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum PortChange {
    /// Its list stays; `apply` does nothing.
    None,
    /// Its list is replaced just before a cycle of the new one starts. Until then every gate is open.
    Replaced {
        /// How long before the start of a cycle no kept frame is on the port, in ns: an open gate sends nothing early if the
        /// replacement takes less time. `None`: no kept frame crosses it.
        quiet_ns: Option<u64>,
    },
    /// It gets its first list.
    Added,
    /// It has no scheduled flow any more, and no list.
    Removed,
    /// Its list cannot be replaced while it runs: `apply` removes and sets it again, and every gate is open in between.
    SetAgain {
        /// Why, as a part of a sentence.
        reason: String,
    },
}

/// The ports with a schedule in either network, in the order of the new one.
pub(super) fn of(
    old: &Network,
    new: &Network,
    scheduled: &Scheduled,
    kept: &[Option<Placement>],
) -> Vec<PortReplacement> {
    let mut replacements = Vec::new();
    for (number, switch) in new.switches.iter().enumerate() {
        let before = old.switches.iter().find(|other| other.name.value == switch.name.value);
        for (place, port) in switch.ports.iter().enumerate() {
            let was = before.and_then(|before| schedule_of(before, &port.interface.value));
            let change = match (was, &port.schedule) {
                (None, None) => continue,
                (None, Some(_)) => PortChange::Added,
                (Some(_), None) => PortChange::Removed,
                (Some(was), Some(is)) if is_same(was, is) => PortChange::None,
                (Some(was), Some(is)) => match obstacle(was, is) {
                    Some(reason) => PortChange::SetAgain { reason },
                    None => {
                        let of_port =
                            |id: &tardy_tsn::network::PortId| id.switch == number && id.port == place;
                        let link = scheduled.ports.iter().position(|id| id.as_ref().is_some_and(of_port));
                        let quiet_ns = link.and_then(|link| quiet_ns(scheduled, kept, link));
                        PortChange::Replaced { quiet_ns }
                    }
                },
            };
            let port = format!("{}/{}", switch.name.value, port.interface.value);
            replacements.push(PortReplacement { port, change });
        }
    }
    replacements
}

fn schedule_of<'n>(switch: &'n Switch, interface: &str) -> Option<&'n Schedule> {
    let port = switch.ports.iter().find(|port| port.interface.value == interface)?;
    port.schedule.as_ref()
}

fn is_same(was: &Schedule, is: &Schedule) -> bool {
    was.gate_entries() == is.gate_entries()
        && was.cycle_ns() == is.cycle_ns()
        && was.base_time_ns.value == is.base_time_ns.value
        && fixed_parameter(was, is).is_none()
}

/// What prevents the replacement of a running list.
fn obstacle(was: &Schedule, is: &Schedule) -> Option<String> {
    let entries = was.entries.len();
    fixed_parameter(was, is).or_else(|| {
        (entries > ENTRIES_SHOWN_MAX).then(|| {
            format!(
                "its list has {entries} entries, and the kernel does not show more than {ENTRIES_SHOWN_MAX}"
            )
        })
    })
}

/// A parameter that the kernel does not change while a schedule runs.
fn fixed_parameter(was: &Schedule, is: &Schedule) -> Option<String> {
    let clock = |schedule: &Schedule| schedule.clock.as_ref().map_or("none", |clock| clock.word());
    let delay = |schedule: &Schedule| schedule.txtime_delay_ns.as_ref().map_or(0, |delay| delay.value);
    let differs = |what: &str, was: String, is: String| {
        (was != is).then(|| {
            format!("{what} was {was} and is {is}, and the kernel changes it only without a schedule")
        })
    };
    differs("clock", clock(was).to_owned(), clock(is).to_owned())
        .or_else(|| differs("flags", was.flags.value.to_string(), is.flags.value.to_string()))
        .or_else(|| differs("overhead", was.overhead.value.to_string(), is.overhead.value.to_string()))
        .or_else(|| differs("txtime_delay", delay(was).to_string(), delay(is).to_string()))
}

/// The time from the end of the last kept frame of a cycle, with its margin, to the end of the cycle, in ns; 0 if a frame of the next
/// cycle can be in the queue before. Every cycle that a list may have is a multiple of the flows' periods.
fn quiet_ns(scheduled: &Scheduled, kept: &[Option<Placement>], link: usize) -> Option<u64> {
    let instance = &scheduled.instance;
    let mut quiet_ns = None;
    for (flow, placement) in kept.iter().enumerate() {
        let hops = placement.iter().flat_map(|placement| &placement.hops);
        for hop in hops.filter(|hop| hop.link == link) {
            let flow = &instance.flows[flow];
            let end_ns = hop.start_ns % flow.period_ns + instance.reserved_ns(flow, link);
            let waits = hop.start_ns % flow.period_ns < instance.links[link].early_ns;
            let left_ns = if waits { 0 } else { flow.period_ns.saturating_sub(end_ns) };
            quiet_ns = Some(quiet_ns.map_or(left_ns, |least: u64| least.min(left_ns)));
        }
    }
    quiet_ns
}
