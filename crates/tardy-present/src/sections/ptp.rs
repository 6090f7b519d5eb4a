//! How far the clock was from its source, if the run followed ptp4l or phc2sys.

use tardy_analyse::ptp::{self, OffsetAt, PortStates, Quantity};

use crate::section::{Context, Section};
use tardy_plot::numbers::{counted, harmless, short, with_unit};

/// The most states of a port that are listed.
const STATE_MAX: usize = 12;
const NAME_MAX: usize = 40;

/// PTP during the run.
pub(super) struct Ptp;

impl Section for Ptp {
    fn name(&self) -> &'static str {
        "ptp"
    }

    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        let Some(found) = ptp::of(context.run) else { return Vec::new() };
        found.quantities.iter().map(quantity).chain(found.ports.iter().map(port)).collect()
    }
}

fn quantity(found: &Quantity) -> String {
    let [least, median, greatest] = [found.least_ns, found.median_ns, found.greatest_ns].map(with_unit);
    format!(
        "{} of {}: {least} to {greatest}, with a median of {median} ({}).",
        harmless(&found.name),
        source(&found.of),
        counted(found.readings as u64, "reading", "readings"),
    )
}

fn port(found: &PortStates) -> String {
    let more = if found.states.len() > STATE_MAX { ", and further ones" } else { "" };
    let states = found.states[..found.states.len().min(STATE_MAX)].join(", then ");
    format!("PTP {}: {states}{more}.", short(&harmless(&found.port), NAME_MAX))
}

/// What an offset is of; ptp4l's summaries of an interval do not name it.
fn source(of: &str) -> String {
    if of.is_empty() { "master".to_owned() } else { short(&harmless(of), NAME_MAX) }
}

/// A sentence on an offset at a moment at which `name` failed.
pub(super) fn at_moment(name: &str, found: &OffsetAt) -> String {
    let of = source(&found.of);
    let what = if found.is_largest { "the largest offset of its interval" } else { "the offset" };
    let delay = found.path_delay_ns.map_or_else(String::new, |ns| format!(", path delay {}", with_unit(ns)));
    let state = found.state.map_or_else(String::new, |state| format!(", port {state}"));
    format!(
        "When the worst frame of {name} arrived, {:.3} s after the start of the run, {what} of {of} was {}{delay}{state} \
         (measured {} {}).",
        found.at_ns as f64 / 1e9,
        with_unit(found.offset_ns),
        with_unit(found.measured_at_ns.abs_diff(found.at_ns) as f64),
        if found.measured_at_ns < found.at_ns { "before" } else { "after" },
    )
}
