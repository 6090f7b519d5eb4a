//! The round-trip probe.

use tardy_record::plan::{Policy, Protocol, RoundTripPlan, TimerPlan};
use tardy_record::units::format_duration_ns;

use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};

/// The usual interval, in ns: that of many control loops.
const INTERVAL_NS: u64 = 1_000_000;
/// Longest interval, in ns: the thread looks at the end of the run once per interval.
const INTERVAL_NS_MAX: u64 = 10_000_000_000;

/// The plan for a resolved timer, whose first CPU, policy and priority the thread has.
pub(super) fn round_trip(recipe: &Recipe, timer: &TimerPlan) -> Result<RoundTripPlan, UsageError> {
    let protocol = recipe.run.protocol.unwrap_or_default();
    let (peer, link) = (recipe.run.peer.clone(), recipe.run.link.clone());
    let is_raw = matches!(protocol, Protocol::Ethernet | Protocol::Ethercat);
    let interval_ns = recipe.timer.interval.map_or(INTERVAL_NS, |interval| interval.ns());
    let first = timer.threads.first().ok_or_else(|| wrong("cpus", "no CPU to measure"))?;
    if is_raw && link.is_none() {
        let reason = format!("--protocol {} needs --link; `ip link` lists the links", protocol.name());
        return Err(wrong("link", reason));
    }
    if !is_raw && link.is_some() {
        return Err(wrong("link", "the route to --peer decides; only raw frames have a link"));
    }
    if protocol == Protocol::Ethercat && peer.is_some() {
        return Err(wrong("peer", "EtherCAT frames go to all devices on the link; leave --peer out"));
    }
    if protocol != Protocol::Ethercat && peer.is_none() {
        let reason =
            "round-trip needs a peer: a host where `tardy reflect` runs, or with --protocol icmp any host";
        return Err(wrong("peer", reason));
    }
    if interval_ns > INTERVAL_NS_MAX {
        let given = format_duration_ns(interval_ns);
        return Err(wrong("interval", format!("{given} is longer than 10 s, the longest of round-trip")));
    }
    if timer.policy == Policy::Deadline {
        return Err(wrong(
            "policy",
            "round-trip waits for answers, not for a deadline; expected other, fifo or rr",
        ));
    }
    Ok(RoundTripPlan {
        protocol,
        peer: peer.unwrap_or_default(),
        link,
        cpu: first.cpu,
        policy: timer.policy,
        priority: first.priority,
        interval_ns,
        dma_latency_us: timer.dma_latency_us,
    })
}
