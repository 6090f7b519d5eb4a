//! The observations of one frame: the talker's time, the listener's, and the kernel's own times at the last port.

use std::collections::BTreeMap;

use tardy_tsn::simulate::engine::Arrival;

use super::dequeue::DequeueTimes;
use super::listener::{KeptFrames, Stamp};

/// A frame that arrived. All times are in ns on the clock of its last port's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedFrame {
    /// Flow, number, when it was sent and when it arrived.
    pub arrival: Arrival,
    /// When the last port's shaper queued it (the kernel's event qdisc_enqueue); `None` if there is no such trace, or
    /// its events cannot be matched with the frames.
    pub queued_ns: Option<i64>,
    /// When it left that queue (qdisc_dequeue), under the same condition.
    pub left_ns: Option<i64>,
}

/// The frames that a listener kept, with the kernel's times of its port. `classes` has the class of each flow by
/// number, `stamps` all frames that arrived. `ahead_ns` is how far the frames' clock is ahead of the
/// trace's.
///
/// Frames of a class do not overtake each other, so the n-th frame that was queued is the n-th that arrived.
pub(super) fn of(
    kept: KeptFrames,
    classes: &[u8],
    port: Option<&DequeueTimes>,
    stamps: &[Stamp],
    ahead_ns: i64,
) -> Vec<ObservedFrame> {
    let KeptFrames { mut frames, left_out } = kept;
    frames.sort_by_key(|frame| frame.arrived_ns);
    let class_of = |flow: u32| classes.get(flow as usize).copied().unwrap_or_default();
    let mut received: BTreeMap<u8, usize> = BTreeMap::new();
    frames.iter().for_each(|frame| *received.entry(class_of(frame.flow)).or_default() += 1);
    let port = port.filter(|_| left_out == 0);
    let left = port.and_then(|port| port.left_ns(stamps));
    let queued = port.and_then(|port| port.queued_ns(&received));
    let mut nth: BTreeMap<u8, usize> = BTreeMap::new();
    let observed = |arrival: Arrival| {
        let class = class_of(arrival.flow);
        let place = nth.entry(class).or_default();
        let queued_ns = queued.as_ref().and_then(|queued| queued.get(&class)?.get(*place).copied());
        *place += 1;
        let left_ns = left.as_ref().and_then(|left| left.get(&(arrival.arrived_ns - ahead_ns)).copied());
        ObservedFrame {
            arrival,
            queued_ns: queued_ns.map(|at_ns| at_ns + ahead_ns),
            left_ns: left_ns.map(|at_ns| at_ns + ahead_ns),
        }
    };
    frames.into_iter().map(observed).collect()
}
