//! The queueing disciplines below a shaper: ETF and credit-based shapers of single queues.

use tardy_sys::netlink::NetlinkError;
use tardy_sys::qdiscs::{self, Cbs, Etf, EtfMode, Qdisc};
use tardy_tsn::class_queueing::{Child, ChildKind};
use tardy_tsn::network::Clock;

use super::HANDLE;
use super::missing::explained;

/// The kinds that tardy sets below a shaper; others are the kernel's or the user's.
const KINDS: [&str; 2] = ["etf", "cbs"];

/// Sets the disciplines below the shaper of the port `name`, and deletes others of these kinds. Returns what changed, as phrases.
///
/// The kernel stops the gates' timer with each change, so the caller sends the shaper again.
///
/// # Errors
/// A message for the user: the module is missing, or the card does not support what is to be done there.
pub(super) fn set(name: &str, wanted: &[Child]) -> Result<Vec<String>, String> {
    let about = format!("queues of {name}");
    let describe = |error: NetlinkError| explained(&about, &error);
    let present: Vec<Qdisc> =
        qdiscs::of(name).map_err(describe)?.into_iter().filter(is_below_shaper).collect();
    let mut changed = Vec::new();
    for child in wanted {
        let (kind, options) = to_kernel(child);
        let parent = parent(child.queue);
        let is_same = |qdisc: &Qdisc| {
            qdisc.parent == parent && qdisc.kind == kind && qdisc.options.starts_with(&options)
        };
        if present.iter().any(is_same) {
            continue;
        }
        qdiscs::set_below(name, parent, kind, &options)
            .map_err(|error| explained(&format!("{kind} of queue {} of {name}", child.queue), &error))?;
        changed.push(format!("{name}: {kind} of queue {}", child.queue));
    }
    let is_wanted = |qdisc: &Qdisc| wanted.iter().any(|child| parent(child.queue) == qdisc.parent);
    for qdisc in present.iter().filter(|qdisc| KINDS.contains(&qdisc.kind.as_str()) && !is_wanted(qdisc)) {
        qdiscs::delete_below(name, qdisc.parent).map_err(describe)?;
        changed.push(format!("{name}: {} of queue {} removed", qdisc.kind, (qdisc.parent & 0xffff) - 1));
    }
    Ok(changed)
}

/// The class of a queue in tardy's shaper.
fn parent(queue: u16) -> u32 {
    u32::from(HANDLE) << 16 | (u32::from(queue) + 1)
}

fn is_below_shaper(qdisc: &Qdisc) -> bool {
    qdisc.parent != qdiscs::ROOT && qdisc.parent >> 16 == u32::from(HANDLE) && qdisc.parent & 0xffff != 0
}

/// The kind of a child and its settings, as the kernel has them.
fn to_kernel(child: &Child) -> (&'static str, Vec<u8>) {
    match child.kind {
        ChildKind::Etf { delta_ns, offload } => {
            let delta_ns = i32::try_from(delta_ns).unwrap_or(i32::MAX);
            let etf = Etf { delta_ns, clock_id: Clock::Tai.id() };
            ("etf", qdiscs::etf_options(etf, EtfMode { offload, accepts_other_hosts: true }))
        }
        ChildKind::Cbs { idle_slope_kbps, send_slope_kbps, high_credit_bytes, low_credit_bytes, offload } => {
            let cbs = Cbs { idle_slope_kbps, send_slope_kbps, high_credit_bytes, low_credit_bytes, offload };
            ("cbs", qdiscs::cbs_options(cbs))
        }
    }
}
