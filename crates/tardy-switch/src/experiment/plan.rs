//! The plan of a test's run.

use tardy_record::plan::{PhasePlan, Plan, ProbePlan, Span, SwitchPlan};
use tardy_tsn::network::Network;

/// The shortest warm-up, in ns. Frames do not count while addresses are learnt and queues fill.
const WARMUP_NS: u64 = 200_000_000;
/// The shortest warm-up, in cycles.
const WARMUP_CYCLES: u64 = 4;

/// The plan of a test of `network`. `phases` states for each phase whether the ports have their shapers. Frames count
/// for `duration_ns` in each phase.
pub fn plan(network: &Network, file_name: &str, duration_ns: u64, phases: &[bool]) -> Plan {
    let about = Some(network.about.clone()).filter(|about| !about.is_empty());
    Plan {
        recipe: file_name.to_owned(),
        about,
        published: network.published.clone(),
        scale: 1.0,
        seed: 0,
        phases: phases.iter().map(|shaped| phase(network, duration_ns, *shaped)).collect(),
        ..Plan::default()
    }
}

fn phase(network: &Network, duration_ns: u64, shaped: bool) -> PhasePlan {
    PhasePlan {
        label: SwitchPlan::label(shaped).to_owned(),
        round: 1,
        loads: Vec::new(),
        warmup_ns: warmup_ns(network),
        span: Span::DurationNs(duration_ns),
        probe: ProbePlan::Switch(SwitchPlan { shaped, flows: network.flow_plans() }),
    }
}

/// The length of the warm-up, in which frames do not count, in ns.
pub(super) fn warmup_ns(network: &Network) -> u64 {
    let ports = network.switches.iter().flat_map(|switch| &switch.ports);
    let longest = ports.filter_map(|port| port.schedule.as_ref()).map(|schedule| schedule.cycle_ns()).max();
    WARMUP_NS.max(longest.unwrap_or(0).saturating_mul(WARMUP_CYCLES))
}
