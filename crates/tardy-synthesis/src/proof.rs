//! Proofs that no schedule exists.

use serde::Serialize;
use tardy_record::units::format_duration_ns;

use crate::instance::Instance;

/// A part of an instance that cannot be scheduled. Every schedule fails at it, whatever routes and offsets are chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Proof {
    /// All these flows must cross the link, and need more than its whole time.
    Overload {
        /// The link, by its index.
        link: usize,
        /// The flows, by their index.
        flows: Vec<usize>,
    },
    /// Both flows must cross the link, and their frames take longer than the greatest common divisor of their periods: in some
    /// period they meet.
    Pair {
        /// The link, by its index.
        link: usize,
        /// The flows, by their index.
        flows: [usize; 2],
    },
    /// The flow is late even on the fastest way and without other flows.
    Late {
        /// The flow, by its index.
        flow: usize,
        /// The listener that it reaches too late, by its index.
        listener: usize,
        /// The least latency, in ns.
        least_ns: u64,
    },
}

impl Proof {
    /// The proof as a sentence for the user.
    pub fn describe(&self, instance: &Instance) -> String {
        let name = |flow: &usize| instance.flows[*flow].name.clone();
        match self {
            Self::Overload { link, flows } => {
                let shown: Vec<String> = flows.iter().take(5).map(name).collect();
                let more =
                    if flows.len() > 5 { format!(" and {} more", flows.len() - 5) } else { String::new() };
                let busy: f64 = flows.iter().map(|flow| load(instance, *flow, *link)).sum();
                format!(
                    "link {} is overloaded: flows {}{more} must all cross it and need {:.2} % of its time{}",
                    instance.link_name(*link),
                    shown.join(", "),
                    busy * 100.0,
                    with_margin(instance)
                )
            }
            Self::Pair { link, flows: [a, b] } => {
                let wire_ns = |flow: &usize| instance.reserved_ns(&instance.flows[*flow], *link);
                let (one_ns, other_ns) = (instance.flows[*a].period_ns, instance.flows[*b].period_ns);
                format!(
                    "flows {} and {} meet on link {}, which both must cross: their frames take {} ns and {} ns{}, together longer \
                     than the greatest common divisor of their periods of {one_ns} ns and {other_ns} ns",
                    name(a),
                    name(b),
                    instance.link_name(*link),
                    wire_ns(a),
                    wire_ns(b),
                    with_margin(instance),
                )
            }
            Self::Late { flow, listener, least_ns } => format!(
                "flow {} is late even alone: its frames reach {} after {least_ns} ns at the earliest, later than its deadline of \
                 {} ns",
                name(flow),
                instance.nodes[*listener],
                instance.flows[*flow].deadline_ns.unwrap_or(0)
            ),
        }
    }
}

/// What belongs to the time of each frame besides the frame and the gap after it.
fn with_margin(instance: &Instance) -> String {
    match instance.margin_ns {
        0 => String::new(),
        ns => format!(", with --margin {} for each frame", format_duration_ns(ns)),
    }
}

/// The share of a link's time that a flow takes.
pub fn load(instance: &Instance, flow: usize, link: usize) -> f64 {
    let of = &instance.flows[flow];
    instance.reserved_ns(of, link) as f64 / of.period_ns as f64
}
