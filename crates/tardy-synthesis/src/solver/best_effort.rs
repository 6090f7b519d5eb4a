//! Time for best effort: the solver places stretches for it like frames of flows that cross one link.

use std::collections::BTreeSet;

use crate::instance::{Flow, Instance, least_common_multiple};
use crate::schedule::Schedule;

/// The most stretches of a link in their period: beyond it they are longer.
const STRETCHES_MAX: u64 = 64;

/// `instance` with further flows that stand for best effort, after its own: on each link that `known` uses, this share of every
/// period in millionths, in stretches that a full frame fits into.
pub(super) fn with_stretches(instance: &Instance, known: &Schedule, ppm: u32) -> Instance {
    let mut extended = instance.clone();
    let mut crossing: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); instance.links.len()];
    for (flow, placement) in known.iter() {
        for hop in &placement.hops {
            crossing[hop.link].insert(instance.flows[flow].period_ns);
        }
    }
    for (link, periods) in crossing.iter().enumerate() {
        if ppm > 0 && instance.links[link].has_gates && !periods.is_empty() {
            extended.flows.extend(stretches(instance, link, periods, ppm));
        }
    }
    extended
}

/// The stretches of a link whose flows have these periods. They repeat with the shortest one of which the share is a full frame, or
/// with the cycle of the port.
fn stretches(instance: &Instance, link: usize, periods: &BTreeSet<u64>, ppm: u32) -> Vec<Flow> {
    let of = &instance.links[link];
    let frame_ns = of.wire_ns(instance.best_effort_bytes);
    let share_ns = |period_ns: u64| (u128::from(period_ns) * u128::from(ppm)).div_ceil(1_000_000) as u64;
    let cycle_ns = periods
        .iter()
        .try_fold(1, |cycle, period| least_common_multiple(cycle, *period))
        .unwrap_or(instance.hyperperiod_ns);
    let period_ns = periods.iter().copied().find(|period| share_ns(*period) >= frame_ns).unwrap_or(cycle_ns);
    let count = (share_ns(period_ns) / frame_ns.max(1)).clamp(1, STRETCHES_MAX);
    let each_ns = share_ns(period_ns).div_ceil(count).max(frame_ns);
    // What the link is reserved for in addition to the bytes of a frame is part of the stretch.
    let sent_ns = each_ns.saturating_sub(of.late_ns + instance.margin_ns);
    let bits = u128::from(sent_ns) * u128::from(of.bits_per_second);
    let bytes = u32::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u32::MAX);
    let flow = Flow {
        name: String::new(),
        source: of.from,
        destinations: vec![of.to],
        wire_bytes: bytes.saturating_sub(instance.gap_bytes).max(1),
        period_ns,
        deadline_ns: None,
        jitter_ns: None,
        release_ns: 0,
        queue_at: None,
        route: Some(vec![link]),
    };
    vec![flow; count as usize]
}
