//! The simulation of frames that were observed: each enters the network when its talker really sent it.
//!
//! A real talker is a little late, by another bit each time, and one that is flat out sends when its socket takes a frame. A
//! simulation that shall agree with a test frame by frame begins where the test did, at the talkers.

use super::Options;
use super::engine::{self, Arrival, Duration, Listener};
use super::of_network::wire_from;
use super::recorded::drain_ns;
use super::wiring::Release;
use super::wiring::WiringError;
use crate::network::Network;

/// Where frames enter the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// At their talkers, and `sent_ns` is when these sent them.
    Talker,
    /// In the queues of the last port of their way, and `sent_ns` is when they were put there.
    LastPort,
}

/// Has the observed frames sent again, with the schedules: when each arrives in the simulation, in order, by the flow and
/// number that it was observed with. A frame that the switch dropped was never observed to arrive, and is not sent again.
///
/// # Errors
///
/// What [`wire`](super::of_network::wire) does not take.
pub fn replay(
    network: &Network,
    options: &Options,
    observed: &[Arrival],
    entrance: Entrance,
) -> Result<Vec<Arrival>, WiringError> {
    let Some(first_ns) = observed.iter().map(|arrival| arrival.sent_ns).min() else { return Ok(Vec::new()) };
    let last_ns = observed.iter().map(|arrival| arrival.sent_ns).max().unwrap_or(first_ns);
    // Times of the engine are counted in ps as well, so that it begins with the frames and not with the clock.
    let mut wired = wire_from(network, options, true, first_ns)?;
    let mut numbers = Vec::with_capacity(wired.wiring.streams.len());
    for (flow, stream) in wired.wiring.streams.iter_mut().enumerate() {
        let of_flow = observed.iter().filter(|arrival| arrival.flow as usize == flow);
        let mut sent: Vec<(u64, i64)> = of_flow.map(|arrival| (arrival.sequence, arrival.sent_ns)).collect();
        sent.sort_unstable();
        let since_first = |&(_, sent_ns): &(u64, i64)| sent_ns.abs_diff(first_ns);
        stream.release = Release::Recorded(sent.iter().map(since_first).collect());
        if let (Entrance::LastPort, 1..) = (entrance, stream.hops) {
            stream.first_hop += u32::from(stream.hops) - 1;
            stream.hops = 1;
        }
        numbers.push(sent.into_iter().map(|(sequence, _)| sequence).collect());
    }
    let duration = Duration { talk_ns: last_ns.abs_diff(first_ns) + 1, drain_ns: drain_ns(network) };
    let mut kept = Kept { numbers, arrivals: Vec::with_capacity(observed.len()) };
    engine::run(&wired.wiring, duration, options.seed, &mut kept);
    Ok(kept.arrivals)
}

/// Keeps what arrives, by the numbers of the frames that were observed.
struct Kept {
    numbers: Vec<Vec<u64>>,
    arrivals: Vec<Arrival>,
}

impl Listener for Kept {
    fn arrived(&mut self, arrival: &Arrival) {
        let numbers = &self.numbers[arrival.flow as usize];
        let sequence = numbers.get(arrival.sequence as usize).copied().unwrap_or(arrival.sequence);
        self.arrivals.push(Arrival { sequence, ..*arrival });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::parse;
    use crate::simulate::Ports;
    use crate::simulate::of_network::wire;

    struct All(Vec<Arrival>);

    impl Listener for All {
        fn arrived(&mut self, arrival: &Arrival) {
            self.0.push(*arrival);
        }
    }

    fn options() -> Options {
        Options { ports: Ports::Virtual, ..Options::default() }
    }

    /// What arrives of a file's flows while they talk for 50 ms.
    fn simulated(network: &Network) -> Vec<Arrival> {
        let wired = wire(network, &options(), true).unwrap();
        let mut all = All(Vec::new());
        let duration = Duration { talk_ns: 50_000_000, drain_ns: drain_ns(network) };
        engine::run(&wired.wiring, duration, 1, &mut all);
        all.0
    }

    #[test]
    fn what_was_simulated_comes_again_when_it_is_replayed() {
        let mut frames = 0;
        for seed in 0..40 {
            let network = parse(&crate::generate::file(seed)).unwrap();
            let first = simulated(&network);
            assert_eq!(replay(&network, &options(), &first, Entrance::Talker).unwrap(), first, "seed {seed}");
            frames += first.len();
        }
        assert!(frames > 1000, "{frames}");
    }

    #[test]
    fn what_is_missing_keeps_the_others_numbers() {
        let network = parse(&crate::generate::file(3)).unwrap();
        let all = simulated(&network);
        let some: Vec<Arrival> = all.iter().filter(|arrival| arrival.sequence % 3 != 1).copied().collect();
        let again = replay(&network, &options(), &some, Entrance::Talker).unwrap();
        let numbers = |arrivals: &[Arrival]| {
            let mut numbers: Vec<(u32, u64)> =
                arrivals.iter().map(|arrival| (arrival.flow, arrival.sequence)).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(numbers(&again), numbers(&some));
        assert!(replay(&network, &options(), &[], Entrance::LastPort).unwrap().is_empty());
    }
}
