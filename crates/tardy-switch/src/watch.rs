//! Keeping a switch alive.
//!
//! The kernel's gate timer is cancelled for good when the port loses its carrier, is set down, or gets another queue below
//! the shaper (dev_deactivate() → taprio_reset() in net/sched/sch_taprio.c): the gates stay as they were, and what waits
//! waits for ever. Sending the shaper again starts the timer again.

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
    /// Mends, and by nothing else: its port tells news of what mending itself stirred up from others'.
    socket: RouteSocket,
    ports: BTreeMap<u32, Port>,
    remark: Option<String>,
}

#[derive(Debug)]
struct Port {
    name: String,
    shaper: taprio::Taprio,
    has_carrier: bool,
    /// Since when its gates stand still, on the monotonic clock.
    stands_since_ns: Option<(i64, Cause)>,
    dropped: u32,
}

/// Why gates stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Carrier,
    Child,
    Gone,
    Already,
}

impl Cause {
    fn in_words(self) -> &'static str {
        match self {
            Self::Carrier => "its carrier went, or it was set down",
            Self::Child => "a queue below its shaper was changed",
            Self::Gone => "its shaper was taken away",
            Self::Already => "its timer had been stopped before it was watched",
        }
    }
}

/// A port whose gates move again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Healed {
    /// The port.
    pub port: String,
    /// Why they stood still.
    pub cause: &'static str,
    /// For how long, in ns, from the news to the shaper's being there again.
    pub stood_still_ns: u64,
    /// Frames that waited in it when it was sent again.
    pub waiting_frames: u32,
    /// Frames that the shaper dropped meanwhile.
    pub dropped: u32,
    /// Why it could not be mended; the next news are another chance.
    pub failed: Option<String>,
}

impl Watch {
    /// Begins to watch the ports of `settings` that have shapers. Gates that stand still already are mended by the first
    /// look.
    ///
    /// # Errors
    /// In words, if the kernel does not tell news.
    pub fn begin(settings: &Settings) -> Result<Self, String> {
        let monitor = Monitor::open().map_err(|error| format!("the kernel tells no news: {error}"))?;
        let socket = RouteSocket::open().map_err(|error| format!("no socket to the kernel: {error}"))?;
        let mut ports = BTreeMap::new();
        for port in &settings.ports {
            let Some(shaper) = &port.taprio else { continue };
            let name = port.interface.clone();
            let link = links::find(&name).map_err(|error| error.to_string())?;
            let link = link.ok_or_else(|| format!("there is no interface {name}"))?;
            let (dropped, stands) = (counters(&name).1, stands_already(&name));
            let watched = Port {
                name,
                shaper: to_kernel(shaper),
                has_carrier: link.is_up && link.has_carrier,
                stands_since_ns: stands.map(|cause| (Clock::Monotonic.now_ns(), cause)),
                dropped,
            };
            ports.insert(link.index, watched);
        }
        let mut watch = Self { monitor, socket, ports, remark: None };
        watch.remark = watch.find_standing().err().map(|error| {
            format!(
                "{error}: gates that stand still already are not seen; only what stops them from now on is"
            )
        });
        Ok(watch)
    }

    /// What could not be looked at.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Notes the gates that stand still before any news.
    fn find_standing(&mut self) -> Result<(), KernelFileError> {
        let there: Vec<&mut Port> =
            self.ports.values_mut().filter(|port| port.stands_since_ns.is_none()).collect();
        let shapers: Vec<&taprio::Taprio> = there.iter().map(|port| &port.shaper).collect();
        let standing = gate_timers::standing(&shapers)?;
        let now_ns = Clock::Monotonic.now_ns();
        for (port, _) in there.into_iter().zip(standing).filter(|(_, stands)| *stands) {
            port.stands_since_ns = Some((now_ns, Cause::Already));
        }
        Ok(())
    }

    /// What to wait on for news.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Hears the news and mends what they tell of.
    ///
    /// # Errors
    /// In words, if the kernel tells no more.
    pub fn look(&mut self) -> Result<Vec<Healed>, String> {
        match self.monitor.news() {
            Ok(news) => news.iter().for_each(|message| self.hear(message)),
            // More news than there was room for: anything may have happened.
            Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => self.suspect_everything(),
            Err(error) => return Err(format!("the kernel tells no more news: {error}")),
        }
        let socket = &self.socket;
        Ok(self.ports.values_mut().filter_map(|port| mend(port, socket)).collect())
    }

    fn hear(&mut self, message: &Message) {
        let now_ns = Clock::Monotonic.now_ns();
        if let Some((link, gone)) = links::changed_link(message)
            && let Some(port) = self.ports.get_mut(&link.index)
        {
            let has_carrier = link.is_up && link.has_carrier && !gone;
            if port.has_carrier && !has_carrier {
                port.stands_since_ns.get_or_insert((now_ns, Cause::Carrier));
            }
            port.has_carrier = has_carrier;
        }
        let Some(port) = qdiscs::device_of(message).and_then(|index| self.ports.get_mut(&index)) else {
            return;
        };
        // Nothing was sent yet where the port is 0, as it is of news of the kernel's own doing.
        if message.port != 0 && self.socket.port().is_ok_and(|own| own == message.port) {
            return;
        }
        let Some(qdisc) = qdiscs::Qdisc::read(message) else { return };
        if qdisc.parent >> 16 == u32::from(HANDLE) {
            port.stands_since_ns.get_or_insert((now_ns, Cause::Child));
        } else if qdisc.parent == ROOT && (qdisc.kind != "taprio" || is_deletion(message)) {
            port.stands_since_ns.get_or_insert((now_ns, Cause::Gone));
        }
    }

    fn suspect_everything(&mut self) {
        let now_ns = Clock::Monotonic.now_ns();
        for port in self.ports.values_mut() {
            let link = links::find(&port.name).ok().flatten();
            port.has_carrier = link.is_some_and(|link| link.is_up && link.has_carrier);
            port.stands_since_ns.get_or_insert((now_ns, Cause::Carrier));
        }
    }
}

/// ENOBUFS.
const NO_BUFFERS: i32 = 105;

fn is_deletion(message: &Message) -> bool {
    /// RTM_DELQDISC.
    const DELETION: u16 = 37;
    message.kind == DELETION
}

/// Whether the shaper is missing from the beginning.
fn stands_already(name: &str) -> Option<Cause> {
    let ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(HANDLE);
    let there = qdiscs::classes_of(name).is_ok_and(|classes| classes.iter().any(ours));
    (!there).then_some(Cause::Gone)
}

/// Sends the shaper again, once its port has a carrier.
fn mend(port: &mut Port, socket: &RouteSocket) -> Option<Healed> {
    if !port.has_carrier {
        return None;
    }
    let (since_ns, cause) = port.stands_since_ns.take()?;
    let (waiting_frames, dropped) = counters(&port.name);
    let failed = taprio::replace_by(socket, &port.name, &port.shaper).err().map(|error| error.to_string());
    let stood_still_ns = (Clock::Monotonic.now_ns() - since_ns).max(0).unsigned_abs();
    let dropped_meanwhile = dropped.saturating_sub(port.dropped);
    port.dropped = dropped;
    Some(Healed {
        port: port.name.clone(),
        cause: cause.in_words(),
        stood_still_ns,
        waiting_frames,
        dropped: dropped_meanwhile,
        failed,
    })
}

/// Frames that wait in the shaper, and that it dropped.
fn counters(name: &str) -> (u32, u32) {
    let shown = taprio::shown(name).ok().flatten();
    shown.map_or((0, 0), |shown| (shown.waiting_frames, shown.dropped))
}
