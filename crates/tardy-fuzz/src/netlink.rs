//! Netlink messages as the kernel sends them, but with any content.

use tardy_sys::links::{changed_link, read_vlans};
use tardy_sys::netlink::{Message, read_answer};
use tardy_sys::qdiscs::{Qdisc, device_of};
use tardy_sys::taprio::{Shown, cycle_ns};

/// Parses a datagram as an acknowledgement and as messages about links and queueing disciplines.
pub fn parse(datagram: &[u8]) {
    let _ = read_answer(datagram);
    for message in Message::all_in(datagram) {
        let _ = changed_link(&message);
        let _ = read_vlans(&message);
        let _ = device_of(&message);
        let Some(qdisc) = Qdisc::read(&message) else { continue };
        let _ = (qdisc.etf(), qdisc.fifo_limit());
        let shown = Shown::read(&qdisc);
        let _ = shown.operating.as_ref().or(shown.admin.as_ref()).map(cycle_ns);
    }
}
