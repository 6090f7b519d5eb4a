//! What simulations measure, to be shown next to the bounds.

use std::collections::VecDeque;

use tardy_tsn::network::Network;
use tardy_tsn::simulate::Options;
use tardy_tsn::simulate::engine::{self, Arrival, Duration, Listener};
use tardy_tsn::simulate::of_network::wire;
use tardy_tsn::simulate::recorded::drain_ns;
use tardy_tsn::simulate::wiring::WiringError;

/// The maxima of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maximum {
    /// The longest time from sending a frame to receiving it, in ns; 0 if no frame arrived.
    pub delay_ns: u64,
    /// The number of frames that arrived.
    pub frames: u64,
    /// The most frames that were sent and had not arrived, without those that were lost.
    pub under_way: u64,
}

impl Maximum {
    /// The larger of two maxima of the same flow.
    pub fn join(&mut self, other: Self) {
        self.delay_ns = self.delay_ns.max(other.delay_ns);
        self.frames += other.frames;
        self.under_way = self.under_way.max(other.under_way);
    }
}

struct Recorder {
    flows: Vec<Maximum>,
    /// For each flow, when those frames arrived that were under way when its last frame was sent.
    under_way_ns: Vec<VecDeque<i64>>,
}

impl Listener for Recorder {
    fn arrived(&mut self, arrival: &Arrival) {
        let flow = &mut self.flows[arrival.flow as usize];
        flow.delay_ns = flow.delay_ns.max(arrival.arrived_ns.abs_diff(arrival.sent_ns));
        flow.frames += 1;
        // Frames of a flow stay in order.
        let under_way_ns = &mut self.under_way_ns[arrival.flow as usize];
        while under_way_ns.front().is_some_and(|arrived_ns| *arrived_ns < arrival.sent_ns) {
            under_way_ns.pop_front();
        }
        under_way_ns.push_back(arrival.arrived_ns);
        flow.under_way = flow.under_way.max(under_way_ns.len() as u64);
    }
}

/// Simulates `network` for `talk_ns`. Returns the maxima in the order of its flows.
///
/// # Errors
///
/// What [`wire`] refuses.
pub fn simulate(network: &Network, options: &Options, talk_ns: u64) -> Result<Vec<Maximum>, WiringError> {
    let wiring = wire(network, options, true)?.wiring;
    let count = network.flows.len();
    let mut recorder =
        Recorder { flows: vec![Maximum::default(); count], under_way_ns: vec![VecDeque::new(); count] };
    let duration = Duration { talk_ns, drain_ns: drain_ns(network) };
    engine::run(&wiring, duration, options.seed, &mut recorder);
    Ok(recorder.flows)
}
