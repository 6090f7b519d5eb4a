//! Restarts gates that the kernel has stopped.
//!
//! The kernel cancels the gate timer for good when the port loses its carrier, is set down, or gets another queueing
//! discipline below the shaper (dev_deactivate() → taprio_reset() in net/sched/sch_taprio.c). The gates then stay as
//! they are, and waiting frames stay in the queue. Sending the shaper again restarts the timer.

use std::collections::BTreeMap;

use tardy_sys::clock::Clock;
use tardy_sys::kernel_files::KernelFileError;
use tardy_sys::netlink::{Message, Monitor, RouteSocket};
use tardy_sys::qdiscs::{self, ROOT};
use tardy_sys::{links, taprio};
use tardy_tsn::settings::Settings;

use super::gate_timers;
use super::shaper::{HANDLE, to_kernel};

/// A watcher of one switch's ports.
#[derive(Debug)]
pub struct Watch {
    monitor: Monitor,
    /// Used only for repairs: its port number distinguishes events that a repair caused from others.
    socket: RouteSocket,
    ports: BTreeMap<u32, Port>,
    remarks: Vec<String>,
}

#[derive(Debug)]
struct Port {
    name: String,
    shaper: taprio::Taprio,
    has_carrier: bool,
    /// The time at which its gates stopped, on the monotonic clock.
    stopped_since_ns: Option<(i64, Cause)>,
    dropped: u32,
}

/// Why gates had stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Carrier,
    Child,
    Gone,
    Already,
}

impl Cause {
    fn describe(self) -> &'static str {
        match self {
            Self::Carrier => "its carrier was lost, or it was set down",
            Self::Child => "a queueing discipline below its shaper was changed",
            Self::Gone => "its shaper was removed",
            Self::Already => "its timer had stopped before the watch began",
        }
    }
}

/// A port whose gates move again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The port.
    pub port: String,
    /// Why they had stopped.
    pub cause: &'static str,
    /// How long they were stopped, in ns: from the event until the shaper was sent again.
    pub stood_still_ns: u64,
    /// Frames that waited in the shaper when it was sent again.
    pub waiting_frames: u32,
    /// Frames that the shaper dropped in that time.
    pub dropped: u32,
    /// Why the repair failed; the next event triggers another attempt.
    pub failed: Option<String>,
}

impl Watch {
    /// Begins to watch the ports of `settings` that have shapers. The first call of [`Self::look`] repairs gates that have
    /// already stopped.
    ///
    /// # Errors
    /// A message for the user, if the kernel does not report events.
    pub fn begin(settings: &Settings) -> Result<Self, String> {
        let monitor =
            Monitor::open().map_err(|error| format!("cannot receive the kernel's events: {error}"))?;
        let socket = RouteSocket::open().map_err(|error| format!("cannot open a netlink socket: {error}"))?;
        let mut ports = BTreeMap::new();
        for port in &settings.ports {
            let Some(shaper) = &port.taprio else { continue };
            let name = port.interface.clone();
            let link = links::find(&name).map_err(|error| error.to_string())?;
            let link = link.ok_or_else(|| format!("there is no interface {name}"))?;
            let (dropped, stands) = (counters(&name).1, missing_shaper(&name));
            let watched = Port {
                name,
                shaper: to_kernel(shaper),
                has_carrier: link.is_up && link.has_carrier,
                stopped_since_ns: stands.map(|cause| (Clock::Monotonic.now_ns(), cause)),
                dropped,
            };
            ports.insert(link.index, watched);
        }
        let mut watch = Self { monitor, socket, ports, remarks: Vec::new() };
        let without = watch.ports.values().filter(|port| !gate_timers::has_timer(&port.shaper));
        let mut remarks: Vec<String> = without.map(without_gates).collect();
        let error = watch.find_stopped().err();
        remarks
            .extend(error.map(|error| format!("{error}: gates that have already stopped are not detected")));
        watch.remarks = remarks;
        Ok(watch)
    }

    /// Remarks for the user: ports whose gates are not in software, and whether gates that had stopped before the watch cannot
    /// be detected.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Records the gates that have stopped before any event.
    fn find_stopped(&mut self) -> Result<(), KernelFileError> {
        let there: Vec<&mut Port> =
            self.ports.values_mut().filter(|port| port.stopped_since_ns.is_none()).collect();
        let shapers: Vec<&taprio::Taprio> = there.iter().map(|port| &port.shaper).collect();
        let stopped = gate_timers::stopped(&shapers)?;
        let now_ns = Clock::Monotonic.now_ns();
        for (port, _) in there.into_iter().zip(stopped).filter(|(_, stands)| *stands) {
            port.stopped_since_ns = Some((now_ns, Cause::Already));
        }
        Ok(())
    }

    /// The socket on which to wait for events.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Reads the events and repairs the ports that they affect.
    ///
    /// # Errors
    /// A message for the user, if the kernel reports no more events.
    pub fn look(&mut self) -> Result<Vec<Repaired>, String> {
        match self.monitor.news() {
            Ok(news) => news.iter().for_each(|message| self.receive(message)),
            // Events were lost, so any port may be affected.
            Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => self.suspect_everything(),
            Err(error) => return Err(format!("the kernel's events cannot be read any more: {error}")),
        }
        let socket = &self.socket;
        Ok(self.ports.values_mut().filter_map(|port| repair(port, socket)).collect())
    }

    fn receive(&mut self, message: &Message) {
        let now_ns = Clock::Monotonic.now_ns();
        if let Some((link, gone)) = links::changed_link(message)
            && let Some(port) = self.ports.get_mut(&link.index)
        {
            let has_carrier = link.is_up && link.has_carrier && !gone;
            if port.has_carrier && !has_carrier && gate_timers::has_timer(&port.shaper) {
                port.stopped_since_ns.get_or_insert((now_ns, Cause::Carrier));
            }
            port.has_carrier = has_carrier;
        }
        let Some(port) = qdiscs::device_of(message).and_then(|index| self.ports.get_mut(&index)) else {
            return;
        };
        // The netlink port is 0 in events that the kernel itself caused, and in this socket before it has sent
        // anything.
        if message.port != 0 && self.socket.port().is_ok_and(|own| own == message.port) {
            return;
        }
        let Some(qdisc) = qdiscs::Qdisc::read(message) else { return };
        if qdisc.parent >> 16 == u32::from(HANDLE) {
            if !gate_timers::has_timer(&port.shaper) {
                return;
            }
            port.stopped_since_ns.get_or_insert((now_ns, Cause::Child));
        } else if qdisc.parent == ROOT && (qdisc.kind != "taprio" || is_deletion(message)) {
            port.stopped_since_ns.get_or_insert((now_ns, Cause::Gone));
        }
    }

    fn suspect_everything(&mut self) {
        let now_ns = Clock::Monotonic.now_ns();
        for port in self.ports.values_mut() {
            let link = links::find(&port.name).ok().flatten();
            port.has_carrier = link.is_some_and(|link| link.is_up && link.has_carrier);
            if gate_timers::has_timer(&port.shaper) {
                port.stopped_since_ns.get_or_insert((now_ns, Cause::Carrier));
            }
        }
    }
}

/// The remark on a port without a gate timer.
fn without_gates(port: &Port) -> String {
    let why = match port.shaper.flags & 2 {
        0 => "flags 1 has no gates: frames only get transmit times for ETF",
        _ => "flags 2 has its gates in the device",
    };
    format!("{}: {why}; only the removal of its shaper is repaired", port.name)
}

/// ENOBUFS.
const NO_BUFFERS: i32 = 105;

fn is_deletion(message: &Message) -> bool {
    /// RTM_DELQDISC.
    const DELETION: u16 = 37;
    message.kind == DELETION
}

/// [`Cause::Gone`] if `name` does not have tardy's shaper.
fn missing_shaper(name: &str) -> Option<Cause> {
    let ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(HANDLE);
    let there = qdiscs::classes_of(name).is_ok_and(|classes| classes.iter().any(ours));
    (!there).then_some(Cause::Gone)
}

/// Sends the shaper again, once its port has a carrier.
fn repair(port: &mut Port, socket: &RouteSocket) -> Option<Repaired> {
    if !port.has_carrier {
        return None;
    }
    let (since_ns, cause) = port.stopped_since_ns.take()?;
    let (waiting_frames, dropped) = counters(&port.name);
    let failed = taprio::replace_by(socket, &port.name, &port.shaper).err().map(|error| error.to_string());
    let stood_still_ns = (Clock::Monotonic.now_ns() - since_ns).max(0).unsigned_abs();
    let dropped_meanwhile = dropped.saturating_sub(port.dropped);
    port.dropped = dropped;
    Some(Repaired {
        port: port.name.clone(),
        cause: cause.describe(),
        stood_still_ns,
        waiting_frames,
        dropped: dropped_meanwhile,
        failed,
    })
}

/// Frames that wait in the shaper, and frames that it dropped.
fn counters(name: &str) -> (u32, u32) {
    let shown = taprio::shown(name).ok().flatten();
    shown.map_or((0, 0), |shown| (shown.waiting_frames, shown.dropped))
}
