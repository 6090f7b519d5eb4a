//! The time-aware shaper as a queueing discipline (tc-taprio(8)), set by netlink: `tc` can send at most 31 entries,
//! since it limits each attribute to 1024 bytes.
//!
//! Attribute numbers: include/uapi/linux/pkt_sched.h; their meaning: net/sched/sch_taprio.c.

use thiserror::Error;

use crate::links;
use crate::netlink::{NetlinkError, Request, RouteSocket};
use crate::qdiscs;

mod decode;
mod encode;

pub use decode::Shown;

/// The longest list that the kernel can show: a longer one does not fit into the 32 KiB of a dump's message, and is
/// left out without an error.
pub const ENTRIES_SHOWN_MAX: usize = 880;

/// The settings of a time-aware shaper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taprio {
    /// Its handle's major number, such as 0x100 for `100:`.
    pub handle: u16,
    /// Bytes on the wire in addition to a frame's own, for the kernel's calculations (`stab overhead`).
    pub overhead_bytes: Option<u32>,
    /// The class of each priority, and the queues of each class.
    pub classes: ClassMap,
    /// The gate control list.
    pub schedule: Schedule,
    /// The clock's id, such as `libc::CLOCK_TAI`; `None` for full offload, which uses the device's.
    pub clock_id: Option<i32>,
    /// 0: software; 1: transmit times (txtime-assist); 2: full offload.
    pub flags: u32,
    /// In txtime-assist mode: how long before its transmit time a frame is passed on, in ns.
    pub txtime_delay_ns: Option<u32>,
    /// Settings of single classes.
    pub class_options: Vec<ClassOption>,
}

/// The class of each priority, and the queues of each class (`struct tc_mqprio_qopt`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassMap {
    /// The class of each of the 16 priorities.
    pub of_priority: [u8; 16],
    /// The queues of each class.
    pub queues: Vec<Queues>,
}

/// The queues of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// The number of queues.
    pub count: u16,
    /// The first queue.
    pub first: u16,
}

/// The settings of a single class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassOption {
    /// The class.
    pub class: u32,
    /// The longest frame without its Ethernet header, in bytes; 0: computed by the kernel.
    pub max_sdu: u32,
    /// Whether its frames can be preempted; `None`: not sent.
    pub preemptible: Option<bool>,
}

/// A gate control list and its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// A start of the cycle, in ns on the shaper's clock.
    pub base_time_ns: i64,
    /// Length of the cycle, in ns; 0: the sum of the entries.
    pub cycle_time_ns: i64,
    /// By how much the last cycle before another schedule can be extended, in ns.
    pub cycle_time_extension_ns: i64,
    /// The entries.
    pub entries: Vec<Entry>,
}

/// An entry of a gate control list, in the kernel's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// 0: SetGateStates; 1: Set-And-Hold-MAC; 2: Set-And-Release-MAC.
    pub command: u8,
    /// A bit for each class with an open gate.
    pub gates: u32,
    /// The duration, in ns.
    pub interval_ns: u32,
}

/// Why a shaper could not be set.
#[derive(Debug, Error)]
pub enum TaprioError {
    /// The length of an attribute has 16 bits, and the kernel would misread a longer list.
    #[error(
        "{entries} entries take {bytes} bytes, but a netlink attribute holds {}, about {fit} entries; merge neighbours with the same gates, or shorten the cycle",
        crate::netlink::ATTRIBUTE_BYTES_MAX
    )]
    TooLong {
        /// The number of entries.
        entries: usize,
        /// Their size in bytes.
        bytes: usize,
        /// The most entries that fit.
        fit: usize,
    },
    /// The kernel's error.
    #[error(transparent)]
    Kernel(#[from] NetlinkError),
}

/// Makes `taprio` the root queueing discipline of the device `name`, or changes the existing one if its handle is the
/// same. Returns the kernel's warning, if there is one.
///
/// # Errors
/// The kernel's; `docs/tsn.md` explains its messages.
pub fn replace(name: &str, taprio: &Taprio) -> Result<Option<String>, TaprioError> {
    prepare(name, taprio)?.send()
}

/// Like [`replace`], through the given socket: the kernel's notifications then carry that socket's port
/// ([`crate::netlink::Message::port`]).
///
/// # Errors
/// As [`replace`].
pub fn replace_by(socket: &RouteSocket, name: &str, taprio: &Taprio) -> Result<Option<String>, TaprioError> {
    let index = links::index_of(name).map_err(NetlinkError::from)?;
    Ok(socket.ask_for_warning(&encode::request(index, taprio)?)?)
}

/// A shaper that is ready to be sent at the right moment.
#[derive(Debug)]
pub struct Prepared {
    socket: RouteSocket,
    request: Request,
}

/// Prepares a request of [`replace`].
///
/// # Errors
/// ENODEV if there is no such device; a list that is too long.
pub fn prepare(name: &str, taprio: &Taprio) -> Result<Prepared, TaprioError> {
    let index = links::index_of(name).map_err(NetlinkError::from)?;
    let request = encode::request(index, taprio)?;
    Ok(Prepared { socket: RouteSocket::open().map_err(NetlinkError::from)?, request })
}

impl Prepared {
    /// Sends the request and waits for the kernel's answer. Returns the kernel's warning, if there is one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn send(&self) -> Result<Option<String>, TaprioError> {
        Ok(self.socket.ask_for_warning(&self.request)?)
    }
}

/// The time-aware shaper of the device `name` as shown by the kernel; `None` if it shows none. The kernel does not show
/// a shaper with more than about [`ENTRIES_SHOWN_MAX`] entries; [`crate::qdiscs::classes_of`] finds it.
///
/// # Errors
/// ENODEV if there is no such device.
pub fn shown(name: &str) -> Result<Option<Shown>, NetlinkError> {
    let qdiscs = qdiscs::of(name)?;
    let Some(taprio) = qdiscs.iter().find(|qdisc| qdisc.kind == "taprio") else { return Ok(None) };
    // The shaper's own count of waiting frames is not reduced by frames that its queues drop (taprio_enqueue_one()).
    let queues = qdiscs
        .iter()
        .filter(|qdisc| qdisc.parent != qdiscs::ROOT && qdisc.parent >> 16 == taprio.handle >> 16);
    let (waiting, dropped) = queues.fold((0u32, taprio.dropped), |(waiting, dropped), queue| {
        (waiting.saturating_add(queue.waiting_frames), dropped.saturating_add(queue.dropped))
    });
    let counted = qdiscs::Qdisc { waiting_frames: waiting, dropped, ..taprio.clone() };
    Ok(Some(Shown::read(&counted)))
}

/// The length of the cycle of a schedule: its cycle time, or the sum of its entries.
pub fn cycle_ns(schedule: &Schedule) -> u64 {
    match u64::try_from(schedule.cycle_time_ns) {
        Ok(cycle) if cycle > 0 => cycle,
        _ => schedule.entries.iter().map(|entry| u64::from(entry.interval_ns)).sum(),
    }
}

#[cfg(test)]
mod tests;
