//! Simulates observed frames: each enters the network when its talker actually sent it.
//!
//! A real talker is late by a varying time, and one without a period sends when its socket accepts a frame. A
//! simulation that is to agree with a test frame by frame must start from the observed send times.

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
    /// At their talkers; `sent_ns` is when they were sent.
    Talker,
    /// In the queues of the last port of their route; `sent_ns` is when they were queued.
    LastPort,
}

/// Simulates the observed frames with the schedules. Returns the simulated arrivals in order, with the observed flow
/// and sequence number. A frame that the switch dropped has no observed arrival, and is not simulated.
///
/// # Errors
///
/// What [`wire`](super::of_network::wire) refuses.
pub fn replay(
    network: &Network,
    options: &Options,
    observed: &[Arrival],
    entrance: Entrance,
) -> Result<Vec<Arrival>, WiringError> {
    let Some(first_ns) = observed.iter().map(|arrival| arrival.sent_ns).min() else { return Ok(Vec::new()) };
    let last_ns = observed.iter().map(|arrival| arrival.sent_ns).max().unwrap_or(first_ns);
    // The engine also counts in ps, in 64 bits, so the simulation starts at the first frame and not at the clock's
    // zero.
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

/// Collects arrivals, with the sequence numbers of the observed frames.
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

    /// The arrivals of a file's flows with talkers that send for 50 ms.
    fn simulated(network: &Network) -> Vec<Arrival> {
        let wired = wire(network, &options(), true).unwrap();
        let mut all = All(Vec::new());
        let duration = Duration { talk_ns: 50_000_000, drain_ns: drain_ns(network) };
        engine::run(&wired.wiring, duration, 1, &mut all);
        all.0
    }

    #[test]
    fn a_replay_of_a_simulation_gives_the_same_arrivals() {
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
    fn missing_frames_do_not_change_the_numbers_of_the_others() {
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
