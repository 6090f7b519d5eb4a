//! The queueing disciplines below the shaper, one for each queue of a class, in the kernel's own numbers.

use serde::Serialize;

use crate::network::{Class, Port, Schedule, Switch};

/// The longest frame on the wire: a payload of 1,500 bytes, header 14, VLAN tag 4, and 24 of preamble, check sequence and gap.
const LONGEST_FRAME_BYTES: u64 = 1542;

/// A queueing discipline below the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Child {
    /// The transmit queue, from 0. The shaper's class with this number plus 1 is the parent.
    pub queue: u16,
    /// What it is.
    #[serde(flatten)]
    pub kind: ChildKind,
}

/// What a queueing discipline below the shaper is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum ChildKind {
    /// Sends each frame at its transmit time (tc-etf(8)), by CLOCK_TAI. It accepts frames of other hosts, which have no socket.
    Etf {
        /// How long before its transmit time a frame is passed to the driver, in ns.
        delta_ns: u32,
        /// Whether the card sends it at its time.
        offload: bool,
    },
    /// The credit-based shaper of IEEE 802.1Q 8.6.8.2 (tc-cbs(8)).
    Cbs {
        /// The rate, in kbit/s.
        idle_slope_kbps: i32,
        /// The rate less that of the port, in kbit/s.
        send_slope_kbps: i32,
        /// The most credit, in bytes.
        high_credit_bytes: i32,
        /// The least credit, in bytes.
        low_credit_bytes: i32,
        /// Whether the card shapes.
        offload: bool,
    },
}

/// The queueing disciplines below the shaper of a port, in the order of the queues; none without a schedule. Without a known speed, a
/// class has no credit-based shaper.
pub fn of(switch: &Switch, port: &Port) -> Vec<Child> {
    let Some(schedule) = &port.schedule else { return Vec::new() };
    let mut children = Vec::new();
    for (number, class) in switch.classes.iter().enumerate() {
        let Some(kind) = kind(switch, port, schedule, (number, class)) else { continue };
        let queues = switch.queues_of(number);
        let queues = queues.offset..queues.offset.saturating_add(queues.count);
        children.extend(queues.map(|queue| Child { queue, kind }));
    }
    children.sort_unstable_by_key(|child| child.queue);
    children
}

fn kind(
    switch: &Switch,
    port: &Port,
    schedule: &Schedule,
    (number, class): (usize, &Class),
) -> Option<ChildKind> {
    let offload = schedule.is_in_hardware();
    if let Some(delta) = &class.etf_delta_ns {
        return Some(ChildKind::Etf { delta_ns: delta.value, offload });
    }
    let (slope, rate) = (class.idle_slope.as_ref()?.value, port.speed.value.known()?);
    let above =
        switch.classes.iter().skip(number + 1).filter_map(|class| class.idle_slope.as_deref().copied());
    let above: Vec<u64> = above.collect();
    let (high_bytes, low_bytes) = credits_bytes(slope, rate, &above);
    let kbps = |bits_per_second: u64| i32::try_from(bits_per_second / 1000).unwrap_or(i32::MAX);
    Some(ChildKind::Cbs {
        idle_slope_kbps: kbps(slope),
        send_slope_kbps: kbps(slope).saturating_sub(kbps(rate)),
        high_credit_bytes: high_bytes,
        low_credit_bytes: low_bytes,
        offload,
    })
}

/// The most and the least credit of a class with the rate `slope` on a port with `rate`, in bytes (802.1Q, annex L). `above` has the
/// rates of the higher classes with a credit-based shaper: a frame may wait for one that is being sent, and for one of each of these.
fn credits_bytes(slope: u64, rate: u64, above: &[u64]) -> (i32, i32) {
    let longest = u128::from(LONGEST_FRAME_BYTES);
    let (slope, rate) = (u128::from(slope), u128::from(rate.max(1)));
    let left = rate.saturating_sub(above.iter().map(|slope| u128::from(*slope)).sum()).max(1);
    let waits = (longest * rate).div_ceil(left) + longest * above.len() as u128;
    let high = (waits * slope).div_ceil(rate);
    let low = (longest * rate.saturating_sub(slope)).div_ceil(rate);
    let bytes = |bytes: u128| i32::try_from(bytes).unwrap_or(i32::MAX);
    (bytes(high), -bytes(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_those_of_tc_cbs_in_its_manual() {
        // Two classes of 98.688 and 3.648 Mbit/s on 1 Gbit/s. The manual rounds the least credit of its first class up.
        assert_eq!(credits_bytes(98_688_000, 1_000_000_000, &[]), (153, -1390));
        let (high, low) = credits_bytes(3_648_000, 1_000_000_000, &[98_688_000]);
        assert_eq!((high, low), (12, -1537));
    }
}
