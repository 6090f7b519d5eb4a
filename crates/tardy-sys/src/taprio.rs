//! The time-aware shaper as a queueing discipline (tc-taprio(8)), spoken to by netlink: `tc` can send no more than 31
//! entries, since it gives each attribute no more than 1024 bytes.
//!
//! Attribute numbers: include/uapi/linux/pkt_sched.h; their meaning: net/sched/sch_taprio.c.

use thiserror::Error;

use crate::links;
use crate::netlink::{NetlinkError, Request, RouteSocket};
use crate::qdiscs;

mod decode;
mod encode;

pub use decode::Shown;

/// The longest list that the kernel can show: one of more does not fit into the 32 KiB that a dump's message may take,
/// and is then left out of it without a word.
pub const ENTRIES_SHOWN_MAX: usize = 880;

/// A time-aware shaper as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taprio {
    /// Its handle's major number, such as 0x100 for `100:`.
    pub handle: u16,
    /// Bytes that each frame takes on the wire beyond its own, for the kernel's reckoning (`stab overhead`).
    pub overhead_bytes: Option<u32>,
    /// Which priority is of which class, and which queues a class has.
    pub classes: ClassMap,
    /// The gate control list.
    pub schedule: Schedule,
    /// The clock's id, such as `libc::CLOCK_TAI`; absent for full offload, which has the device's.
    pub clock_id: Option<i32>,
    /// 0: software; 1: transmit times (txtime-assist); 2: full offload.
    pub flags: u32,
    /// With transmit times: how long before its time a frame is handed over, in ns.
    pub txtime_delay_ns: Option<u32>,
    /// What is set of single classes.
    pub class_options: Vec<ClassOption>,
}

/// Which priority is of which class, and which queues a class has (`struct tc_mqprio_qopt`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassMap {
    /// The class of each of the 16 priorities.
    pub of_priority: [u8; 16],
    /// For each class, how many queues it has and which is the first.
    pub queues: Vec<Queues>,
}

/// The queues of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// How many.
    pub count: u16,
    /// The first.
    pub first: u16,
}

/// What is set of a single class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassOption {
    /// The class.
    pub class: u32,
    /// The longest frame without its Ethernet header, in bytes; 0: as the kernel works it out.
    pub max_sdu: u32,
    /// Whether its frames may be preempted; absent: not said.
    pub preemptible: Option<bool>,
}

/// A gate control list and its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// A start of the cycle, in ns on the shaper's clock.
    pub base_time_ns: i64,
    /// Length of the cycle, in ns; 0: the sum of the entries.
    pub cycle_time_ns: i64,
    /// By how much the last cycle before another schedule may be longer, in ns.
    pub cycle_time_extension_ns: i64,
    /// The entries.
    pub entries: Vec<Entry>,
}

/// An entry of a gate control list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// 0: SetGateStates; 1: Set-And-Hold-MAC; 2: Set-And-Release-MAC.
    pub command: u8,
    /// A bit for each class whose gate is open.
    pub gates: u32,
    /// For how long, in ns.
    pub interval_ns: u32,
}

/// Why a shaper was not set.
#[derive(Debug, Error)]
pub enum TaprioError {
    /// An attribute's length is 16 bits, and the kernel would misread what is longer.
    #[error(
        "{entries} entries are {bytes} bytes and netlink can carry {}, which is about {fit} entries; merge neighbours with the same gates, or shorten the cycle",
        crate::netlink::ATTRIBUTE_BYTES_MAX
    )]
    TooLong {
        /// How many entries there are.
        entries: usize,
        /// How many bytes they take.
        bytes: usize,
        /// How many entries fit.
        fit: usize,
    },
    /// What the kernel says.
    #[error(transparent)]
    Kernel(#[from] NetlinkError),
}

/// Makes `taprio` the root queueing discipline of the device `name`, or changes the one that is there if its handle is
/// the same. Returns what the kernel warns of.
///
/// # Errors
/// What the kernel says: docs of its words in `docs/tsn.md`.
pub fn replace(name: &str, taprio: &Taprio) -> Result<Option<String>, TaprioError> {
    prepare(name, taprio)?.send()
}

/// As [`replace`], by a socket of the caller's: what the kernel then tells everybody has that socket's port
/// ([`crate::netlink::Message::port`]).
///
/// # Errors
/// As [`replace`].
pub fn replace_by(socket: &RouteSocket, name: &str, taprio: &Taprio) -> Result<Option<String>, TaprioError> {
    let index = links::index_of(name).map_err(NetlinkError::from)?;
    Ok(socket.ask_for_warning(&encode::request(index, taprio)?)?)
}

/// A shaper that only has to be sent: for those who wait for the right moment.
#[derive(Debug)]
pub struct Prepared {
    socket: RouteSocket,
    request: Request,
}

/// Prepares what [`replace`] does.
///
/// # Errors
/// ENODEV when there is no such device; what is too long.
pub fn prepare(name: &str, taprio: &Taprio) -> Result<Prepared, TaprioError> {
    let index = links::index_of(name).map_err(NetlinkError::from)?;
    let request = encode::request(index, taprio)?;
    Ok(Prepared { socket: RouteSocket::open().map_err(NetlinkError::from)?, request })
}

impl Prepared {
    /// Sends it, and waits for the kernel's answer: what it warns of.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&self) -> Result<Option<String>, TaprioError> {
        Ok(self.socket.ask_for_warning(&self.request)?)
    }
}

/// The time-aware shaper of the device `name` as the kernel shows it; nothing where it shows none. It shows none of more
/// than about [`ENTRIES_SHOWN_MAX`] entries: [`crate::qdiscs::classes_of`] tells whether there is one all the same.
///
/// # Errors
/// ENODEV when there is no such device.
pub fn shown(name: &str) -> Result<Option<Shown>, NetlinkError> {
    let qdiscs = qdiscs::of(name)?;
    let Some(taprio) = qdiscs.iter().find(|qdisc| qdisc.kind == "taprio") else { return Ok(None) };
    // Its own count of what waits is not taken down again for what its queues drop (taprio_enqueue_one()).
    let queues = qdiscs
        .iter()
        .filter(|qdisc| qdisc.parent != qdiscs::ROOT && qdisc.parent >> 16 == taprio.handle >> 16);
    let (waiting, dropped) = queues.fold((0u32, taprio.dropped), |(waiting, dropped), queue| {
        (waiting.saturating_add(queue.waiting_frames), dropped.saturating_add(queue.dropped))
    });
    let counted = qdiscs::Qdisc { waiting_frames: waiting, dropped, ..taprio.clone() };
    Ok(Some(decode::shown(taprio.handle, &counted)))
}

/// How long the cycle is that the schedule says: its cycle time, or the sum of its entries.
pub fn cycle_ns(schedule: &Schedule) -> u64 {
    match u64::try_from(schedule.cycle_time_ns) {
        Ok(cycle) if cycle > 0 => cycle,
        _ => schedule.entries.iter().map(|entry| u64::from(entry.interval_ns)).sum(),
    }
}

#[cfg(test)]
mod tests;
