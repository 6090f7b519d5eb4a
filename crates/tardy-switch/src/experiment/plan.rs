//! The plan of a test's run.

use tardy_record::plan::{FlowPlan, PhasePlan, Plan, ProbePlan, Span, SwitchPlan};
use tardy_tsn::network::{Flow, Network, Pace};

/// The uncounted time at the beginning, in which addresses are learnt, queues fill, and a few cycles pass.
const WARMUP_NS: u64 = 200_000_000;
/// The uncounted cycles at the beginning.
const WARMUP_CYCLES: u64 = 4;

/// The plan of a test of `network`: for each of `phases`, whether with the shaper, frames are counted for `duration_ns`.
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
    let flow = |flow: &Flow| FlowPlan {
        name: flow.name.value.clone(),
        frame_bytes: flow.size.value,
        period_ns: match flow.pace {
            Pace::FlatOut => None,
            Pace::Periodic { period_ns, .. } => Some(period_ns),
        },
    };
    PhasePlan {
        label: SwitchPlan::label(shaped).to_owned(),
        round: 1,
        loads: Vec::new(),
        warmup_ns: warmup_ns(network),
        span: Span::DurationNs(duration_ns),
        probe: ProbePlan::Switch(SwitchPlan { shaped, flows: network.flows.iter().map(flow).collect() }),
    }
}

/// How long frames flow before they count.
pub(super) fn warmup_ns(network: &Network) -> u64 {
    let ports = network.switches.iter().flat_map(|switch| &switch.ports);
    let longest = ports.filter_map(|port| port.schedule.as_ref()).map(|schedule| schedule.cycle_ns()).max();
    WARMUP_NS.max(longest.unwrap_or(0).saturating_mul(WARMUP_CYCLES))
}
