//! What the flows of a written switch file can expect: bounds by network calculus, next to a simulation.
//!
//! Both start from the file alone. They share no code with the solver, and judge flows of best effort too.

use serde::Serialize;
use tardy_bounds::measured::{self, Maximum};
use tardy_bounds::{self as bounds, FlowBound, QueueBound};
use tardy_tsn::network::Network;
use tardy_tsn::port_model;
use tardy_tsn::simulate::wiring::WiringError;

use crate::instance::Instance;
use crate::read::network::Scheduled;
use crate::schedule::Schedule;

/// The least simulated time, in ns: flows of best effort need some cycles to fill their queues.
const TALK_NS_MIN: u64 = 10_000_000;

/// Bounds and simulated maxima.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The model of gates and ports, as a phrase.
    pub model: String,
    /// For how long talkers send in the simulation, in ns: at least two hyperperiods.
    pub simulated_for_ns: u64,
    /// In the order of the file.
    pub flows: Vec<VerifiedFlow>,
    /// The queues that flows pass, in the order of the ports.
    pub queues: Vec<QueueBound>,
}

/// What a flow can expect.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedFlow {
    /// Its name.
    pub flow: String,
    /// Its latency in the schedule, in ns; `None`: it is best effort.
    pub planned_ns: Option<u64>,
    /// The longest simulated time from sending to receiving, in ns; `None`: no frame arrived.
    pub simulated_ns: Option<u64>,
    /// The number of simulated frames that arrived.
    pub simulated_frames: u64,
    /// The longest possible time from sending to receiving, in ns; `None`: no bound.
    pub bound_ns: Option<u64>,
    /// Why there is no bound.
    pub why_no_bound: Option<String>,
    /// The most frames that can be under way; `None`: no bound.
    pub frames_under_way: Option<u64>,
    /// The limit in the file, in ns.
    pub deadline_ns: Option<u64>,
}

impl VerifiedFlow {
    /// Whether its bound is longer than its deadline.
    pub fn exceeds_deadline(&self) -> bool {
        self.bound_ns.zip(self.deadline_ns).is_some_and(|(bound_ns, limit_ns)| bound_ns > limit_ns)
    }
}

/// For how long talkers send in a simulation of an instance, in ns.
pub fn talk_ns(instance: &Instance) -> u64 {
    (2 * instance.hyperperiod_ns).max(TALK_NS_MIN)
}

/// Computes bounds for `network`, which has the schedule in it, and simulates it.
///
/// # Errors
///
/// What the simulator refuses.
pub fn of(
    network: &Network,
    scheduled: &Scheduled,
    schedule: &Schedule,
    options: &bounds::Options,
) -> Result<Verified, WiringError> {
    let bounds = bounds::of(network, options)?;
    let simulated_for_ns = talk_ns(&scheduled.instance);
    let maxima = measured::simulate(network, &options.simulated, simulated_for_ns)?;
    let planned = |place: usize| {
        let flow = scheduled.flows.iter().position(|other| *other == place)?;
        Some(schedule.placements[flow].as_ref()?.latency_ns(&scheduled.instance, flow))
    };
    let flows = network.flows.iter().zip(bounds.flows).zip(maxima).enumerate();
    let flows = flows.map(|(place, ((flow, bound), maximum))| {
        let FlowBound { flow: name, delay_ns, frames_under_way, why_none, .. } = bound;
        let Maximum { delay_ns: simulated_ns, frames, .. } = maximum;
        VerifiedFlow {
            flow: name,
            planned_ns: planned(place),
            simulated_ns: Some(simulated_ns).filter(|_| frames > 0),
            simulated_frames: frames,
            bound_ns: delay_ns,
            why_no_bound: why_none,
            frames_under_way,
            deadline_ns: flow.limits.deadline_ns.as_deref().copied(),
        }
    });
    let simulated = &options.simulated;
    Ok(Verified {
        model: port_model::describe(simulated.mode, simulated.ports, Some(simulated.ring_frames)),
        simulated_for_ns,
        flows: flows.collect(),
        queues: bounds.queues,
    })
}
