//! Simulates observed frames: each enters the network when its talker actually sent it.
//!
//! A real talker is late by a varying time, and one without a period sends when its socket accepts a frame. A
//! simulation that is to agree with a test frame by frame must start from the observed send times.

use super::Options;
use super::agreement::Frames;
use super::engine::{self, Arrival, Duration, Listener, Lost};
use super::of_network::{transmitter_of, wire_from};
use super::recorded::drain_ns;
use super::wiring::{Release, WiringError};
use crate::network::{Network, PortId};

/// Where frames enter the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// At their talkers.
    Talker,
    /// At this port, where the simulation also ends: what happens behind its cable is not simulated. Flows that do not
    /// pass it send nothing.
    Port(PortId),
}

/// A frame that entered a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The flow, by its index in the network.
    pub flow: u32,
    /// Its sequence number.
    pub sequence: u64,
    /// When it entered: when its talker sent it, or when it reached the port's queues. In ns on the schedules' clock.
    pub at_ns: i64,
}

impl From<&Arrival> for Entry {
    /// The frame as it entered at its talker.
    fn from(arrival: &Arrival) -> Self {
        Self { flow: arrival.flow, sequence: arrival.sequence, at_ns: arrival.sent_ns }
    }
}

/// Simulates the observed frames with the schedules. Returns the fate of each, with the observed flow and sequence
/// number. `entries` should include the frames that the switch dropped, since these decide the fate of others.
///
/// # Errors
///
/// What [`wire`](super::of_network::wire) refuses.
pub fn replay(
    network: &Network,
    options: &Options,
    entries: &[Entry],
    entrance: Entrance,
) -> Result<Frames, WiringError> {
    let Some(first_ns) = entries.iter().map(|entry| entry.at_ns).min() else { return Ok(Frames::default()) };
    let last_ns = entries.iter().map(|entry| entry.at_ns).max().unwrap_or(first_ns);
    // The engine also counts in ps, in 64 bits, so the simulation starts at the first frame and not at the clock's
    // zero.
    let mut wired = wire_from(network, options, true, first_ns)?;
    let mut numbers = Vec::with_capacity(wired.wiring.streams.len());
    for (flow, stream) in wired.wiring.streams.iter_mut().enumerate() {
        let of_flow = entries.iter().filter(|entry| entry.flow as usize == flow);
        let mut sent: Vec<(u64, i64)> = of_flow.map(|entry| (entry.sequence, entry.at_ns)).collect();
        sent.sort_unstable();
        if let Entrance::Port(port) = entrance {
            let transmitter = transmitter_of(network, port);
            let mut hops = stream.first_hop..stream.first_hop + u32::from(stream.hops);
            match hops.find(|hop| wired.wiring.hops[*hop as usize].transmitter == transmitter) {
                Some(hop) => {
                    (stream.first_hop, stream.hops) = (hop, 1);
                    wired.wiring.hops[hop as usize].last = true;
                }
                None => sent.clear(),
            }
        }
        let since_first = |&(_, at_ns): &(u64, i64)| at_ns.abs_diff(first_ns);
        stream.release = Release::Recorded(sent.iter().map(since_first).collect());
        numbers.push(sent.into_iter().map(|(sequence, _)| sequence).collect());
    }
    let duration = Duration { talk_ns: last_ns.abs_diff(first_ns) + 1, drain_ns: drain_ns(network) };
    let mut kept = Kept { numbers, frames: Frames::default() };
    engine::run(&wired.wiring, duration, options.seed, &mut kept);
    Ok(kept.frames)
}

/// Collects frames, with the sequence numbers of the observed ones.
struct Kept {
    numbers: Vec<Vec<u64>>,
    frames: Frames,
}

impl Kept {
    fn observed(&self, flow: u32, sequence: u64) -> u64 {
        self.numbers[flow as usize].get(sequence as usize).copied().unwrap_or(sequence)
    }
}

impl Listener for Kept {
    fn arrived(&mut self, arrival: &Arrival) {
        let sequence = self.observed(arrival.flow, arrival.sequence);
        self.frames.arrivals.push(Arrival { sequence, ..*arrival });
    }

    fn lost(&mut self, lost: &Lost) {
        let sequence = self.observed(lost.flow, lost.sequence);
        self.frames.lost.push(Lost { sequence, ..*lost });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::parse;
    use crate::simulate::Ports;
    use crate::simulate::of_network::wire;

    #[derive(Default)]
    struct All(Vec<Arrival>, Vec<Lost>);

    impl Listener for All {
        fn arrived(&mut self, arrival: &Arrival) {
            self.0.push(*arrival);
        }

        fn lost(&mut self, lost: &Lost) {
            self.1.push(*lost);
        }
    }

    /// Schedules that begin at the same time whenever the simulation starts.
    fn options() -> Options {
        Options { ports: Ports::Virtual, installed_ns: Some(0), ..Options::default() }
    }

    /// The frames of a file's flows with talkers that send for 50 ms.
    fn simulated(network: &Network) -> Frames {
        let wired = wire(network, &options(), true).unwrap();
        let mut all = All::default();
        let duration = Duration { talk_ns: 50_000_000, drain_ns: drain_ns(network) };
        engine::run(&wired.wiring, duration, 1, &mut all);
        Frames { arrivals: all.0, lost: all.1 }
    }

    /// When each frame was sent.
    fn entries(frames: &Frames) -> Vec<Entry> {
        let lost = frames.lost.iter();
        let lost = lost.map(|lost| Entry { flow: lost.flow, sequence: lost.sequence, at_ns: lost.sent_ns });
        frames.arrivals.iter().map(Entry::from).chain(lost).collect()
    }

    /// Whether frames of two flows were sent at the same ns. A replay may order them otherwise: it sends those of a talker
    /// that sends as fast as it can at recorded times.
    fn has_ties(frames: &Frames) -> bool {
        let mut sent: Vec<(i64, u32)> =
            entries(frames).iter().map(|entry| (entry.at_ns, entry.flow)).collect();
        sent.sort_unstable();
        sent.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
    }

    #[test]
    fn a_replay_of_a_simulation_gives_the_same_frames() {
        let (mut files, mut arrived, mut lost) = (0, 0, 0);
        for seed in 0..80 {
            let network = parse(&crate::generate::file(seed)).unwrap();
            let first = simulated(&network);
            if has_ties(&first) {
                continue;
            }
            let again = replay(&network, &options(), &entries(&first), Entrance::Talker).unwrap();
            let differing = first.arrivals.iter().zip(&again.arrivals).find(|(first, again)| first != again);
            assert!(again == first, "seed {seed}: {differing:?}");
            files += 1;
            arrived += first.arrivals.len();
            lost += first.lost.len();
        }
        assert!(files > 30 && arrived > 1000 && lost > 1000, "{files}, {arrived}, {lost}");
    }

    #[test]
    fn missing_frames_do_not_change_the_numbers_of_the_others() {
        let network = parse(&crate::generate::file(3)).unwrap();
        let mut some = entries(&simulated(&network));
        some.retain(|entry| entry.sequence % 3 != 1);
        let again = replay(&network, &options(), &some, Entrance::Talker).unwrap();
        let numbers = |entries: &[Entry]| {
            let mut numbers: Vec<(u32, u64)> =
                entries.iter().map(|entry| (entry.flow, entry.sequence)).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(numbers(&entries(&again)), numbers(&some));
        let none = replay(&network, &options(), &[], Entrance::Talker).unwrap();
        assert_eq!(none, Frames::default());
    }

    #[test]
    fn a_replay_at_a_port_ends_there() {
        let two = |seed: &u64| parse(&crate::generate::file(*seed)).unwrap().switches.len() == 2;
        let network = parse(&crate::generate::file((0..).find(two).unwrap())).unwrap();
        let port = |switch: usize| PortId { switch, port: network.switches[switch].ports.len() - 1 };
        let entry = |sequence: u64| Entry { flow: 0, sequence, at_ns: sequence as i64 * 50_000_000 };
        let frames: Vec<Entry> = (0..4).map(entry).collect();
        let at = |entrance| replay(&network, &options(), &frames, entrance).unwrap();
        for id in [port(0), port(1)] {
            let passed = at(Entrance::Port(id));
            let passes = network.way_out(&network.flows[0]).unwrap().contains(&id);
            let count = passed.arrivals.len() + passed.lost.len();
            assert_eq!(count, if passes { 4 } else { 0 }, "{id:?}");
        }
    }
}
