//! Measures how fast the simulator runs an instance of TSNKit (bench/against_tsnkit.py).
//!
//! usage: tsnkit_instance TASK.csv TOPO.csv SCHEDULE-PREFIX SECONDS [--arrivals]

use std::time::Instant;

use tardy_tsn::simulate::engine::{self, Arrival, Duration, Listener};
use tardy_tsn::tsnkit::{self, Instance};

/// The latencies of the frames of each flow: their number, sum and maximum.
struct Latencies {
    flows: Vec<(u64, u64, i64)>,
    print: bool,
}

impl Listener for Latencies {
    fn arrived(&mut self, arrival: &Arrival) {
        if let Some((frames, sum, longest)) = self.flows.get_mut(arrival.flow as usize) {
            let latency = arrival.arrived_ns - arrival.sent_ns;
            *frames += 1;
            *sum += latency as u64;
            *longest = (*longest).max(latency);
        }
        if self.print {
            println!("{},{},{},{}", arrival.flow, arrival.sequence, arrival.sent_ns, arrival.arrived_ns);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [task, topology, prefix, seconds, rest @ ..] = words.as_slice() else {
        return Err("usage: tsnkit_instance TASK.csv TOPO.csv SCHEDULE-PREFIX SECONDS [--arrivals]".into());
    };
    let part = |name: &str| std::fs::read_to_string(format!("{prefix}-{name}.csv"));
    let (task, topology) = (std::fs::read_to_string(task)?, std::fs::read_to_string(topology)?);
    let (gates, offsets, routes, queues) = (part("GCL")?, part("OFFSET")?, part("ROUTE")?, part("QUEUE")?);
    let instance = Instance {
        task: &task,
        topology: &topology,
        gates: &gates,
        offsets: &offsets,
        routes: &routes,
        queues: &queues,
    };
    let wiring = tsnkit::wiring(&instance)?;
    let print = rest.iter().any(|word| word == "--arrivals");
    let mut latencies = Latencies { flows: vec![(0, 0, 0); wiring.streams.len()], print };
    let talk_ns = (seconds.parse::<f64>()? * 1e9) as u64;
    let begun = Instant::now();
    let outcome = engine::run(&wiring, Duration { talk_ns, drain_ns: 1_000_000_000 }, 0, &mut latencies);
    let took = begun.elapsed().as_secs_f64();
    let received: u64 = outcome.flows.iter().map(|flow| flow.received).sum();
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent).sum();
    eprintln!(
        "{} frame-hops in {took:.3} s: {:.2} million per second; {received} of {sent} frames received",
        outcome.frame_hops,
        outcome.frame_hops as f64 / took / 1e6,
    );
    Ok(())
}
