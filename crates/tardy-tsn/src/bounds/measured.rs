//! What simulations measure, to be shown next to the bounds.

use crate::network::Network;
use crate::simulate::engine::{self, Arrival, Duration, Listener};
use crate::simulate::of_network::wire;
use crate::simulate::recorded::drain_ns;
use crate::simulate::wiring::WiringError;
use crate::simulate::Options;

/// The maxima of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maximum {
    /// The longest time from sending a frame to receiving it, in ns; 0 if no frame arrived.
    pub delay_ns: u64,
    /// The number of frames that arrived.
    pub frames: u64,
}

/// The maxima of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maxima {
    /// In the order of the network's flows.
    pub flows: Vec<Maximum>,
}

struct Recorder {
    flows: Vec<Maximum>,
}

impl Listener for Recorder {
    fn arrived(&mut self, arrival: &Arrival) {
        let flow = &mut self.flows[arrival.flow as usize];
        flow.delay_ns = flow.delay_ns.max(arrival.arrived_ns.abs_diff(arrival.sent_ns));
        flow.frames += 1;
    }
}

/// Simulates `network` for `talk_ns`.
///
/// # Errors
///
/// What [`wire`] refuses.
pub fn simulate(network: &Network, options: &Options, talk_ns: u64) -> Result<Maxima, WiringError> {
    let wiring = wire(network, options, true)?.wiring;
    let mut recorder = Recorder { flows: vec![Maximum::default(); network.flows.len()] };
    let duration = Duration { talk_ns, drain_ns: drain_ns(network) };
    engine::run(&wiring, duration, options.seed, &mut recorder);
    Ok(Maxima { flows: recorder.flows })
}
