//! Measures the solver next to a plain first fit on rings of switches, each with an end station.
//!
//! usage: solver_times SWITCHES FLOWS SEED
//!        solver_times TASK.csv TOPO.csv
//!        solver_times SWITCHES.toml
//!
//! The first fit takes the flows in order of their periods, tries every offset in steps of 100 ns, and compares it with every frame
//! already on each link of the shortest route.

use std::time::{Duration, Instant};

use tardy_synthesis::instance::{Flow, Instance, Lines, Link, Source, greatest_common_divisor};
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::read::{network, tsnkit};
use tardy_synthesis::schedule::Placement;
use tardy_synthesis::{answer, solver};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let instance = match words.as_slice() {
        [switches, flows, seed] => ring(switches.parse()?, flows.parse()?, seed.parse()?)?,
        [task, topology] => {
            tsnkit::read(&std::fs::read_to_string(task)?, &std::fs::read_to_string(topology)?, 0)?.instance
        }
        [file] => {
            let text = std::fs::read_to_string(file)?;
            network::read(&tardy_tsn::file::parse(&text)?, &text, Lateness::of_margin(1000))?.instance
        }
        _ => {
            let usage = "usage: solver_times SWITCHES FLOWS SEED, or TASK.csv TOPO.csv, or SWITCHES.toml";
            return Err(usage.into());
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let options = solver::Options { effort: 20, seed: 1, threads, is_over: &|| false };
    let mut times = Vec::new();
    let mut solved = solver::solve(&instance, &options);
    for _ in 0..5 {
        let begun = Instant::now();
        solved = solver::solve(&instance, &options);
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let all = instance.flows.len();
    println!(
        "solver: {} of {all} flows in {:.3} ms (median of {}), effort {}",
        solved.schedule.placed(),
        milliseconds(times[times.len() / 2]),
        times.len(),
        solved.effort
    );
    let begun = Instant::now();
    let answer = answer::find(&instance, &options, None).map_err(|mistake| format!("{mistake:?}"))?;
    let entries =
        answer.ports.iter().map(tardy_synthesis::schedule::PortGates::entries_needed).max().unwrap_or(0);
    println!(
        "with gates and check: {:.3} ms; at most {entries} entries a port",
        milliseconds(begun.elapsed())
    );
    let routes: Vec<&Placement> = solved.schedule.placements.iter().flatten().collect();
    if routes.len() == all {
        let begun = Instant::now();
        let placed = first_fit(&instance, &routes);
        println!("first fit: {placed} of {all} flows in {:.3} ms", milliseconds(begun.elapsed()));
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A ring of switches at 1 Gbit/s and 2 us: flows of 50 to 400 bytes every 2 to 16 ms between random end stations.
fn ring(switches: usize, flows: usize, seed: u64) -> Result<Instance, Box<dyn std::error::Error>> {
    let mut state = seed;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    let between = (0..switches).map(|switch| (switch, (switch + 1) % switches));
    let cables = between.chain((0..switches).map(|switch| (switch, switches + switch)));
    let links = cables.flat_map(|(a, b)| [(a, b), (b, a)]).map(|(from, to)| Link {
        from,
        to,
        bits_per_second: 1_000_000_000,
        propagation_ns: 0,
        processing_ns: 2000,
        late_ns: 0,
        early_ns: 0,
        queues: 8,
        has_gates: true,
    });
    let flows = (0..flows).map(|number| {
        let source = below(switches);
        let destination = (source + 1 + below(switches - 1)) % switches;
        Flow {
            name: number.to_string(),
            source: switches + source,
            destinations: vec![switches + destination],
            wire_bytes: [50, 100, 200, 400][below(4)],
            period_ns: [2_000_000, 4_000_000, 8_000_000, 16_000_000][below(4)],
            deadline_ns: None,
            jitter_ns: None,
            release_ns: 0,
            queue_at: None,
            route: None,
        }
    });
    let mut instance = Instance {
        nodes: (0..2 * switches).map(|node| node.to_string()).collect(),
        links: links.collect(),
        flows: flows.collect(),
        hyperperiod_ns: 1,
        gap_bytes: 0,
        margin_ns: 0,
        best_effort_bytes: 1522,
        best_effort_ppm: 0,
        starts_at_zero: false,
    };
    let lines = Lines { source: Source::Task, flows: (1..=instance.flows.len()).collect() };
    instance.complete(&lines)?;
    Ok(instance)
}

/// The number of flows that a plain first fit places on these routes.
fn first_fit(instance: &Instance, routes: &[&Placement]) -> usize {
    let mut order: Vec<usize> = (0..routes.len()).collect();
    order.sort_by_key(|flow| instance.flows[*flow].period_ns);
    // Start, length and period of each frame on each link.
    let mut links: Vec<Vec<(u64, u64, u64)>> = vec![Vec::new(); instance.links.len()];
    let mut placed = 0;
    for flow in order {
        let Flow { period_ns, wire_bytes, .. } = instance.flows[flow];
        let first_ns = routes[flow].offset_ns();
        let hops: Vec<(usize, u64, u64)> = routes[flow]
            .hops
            .iter()
            .map(|hop| (hop.link, hop.start_ns - first_ns, instance.links[hop.link].wire_ns(wire_bytes)))
            .collect();
        let last_ns = hops.iter().map(|(_, shift_ns, wire_ns)| shift_ns + wire_ns).max().unwrap_or(0);
        let is_free = |offset_ns: u64| {
            hops.iter().all(|(link, shift_ns, wire_ns)| {
                links[*link].iter().all(|(start_ns, length_ns, other_period_ns)| {
                    let common_ns = greatest_common_divisor(period_ns, *other_period_ns);
                    let apart_ns = (offset_ns + shift_ns + common_ns - start_ns % common_ns) % common_ns;
                    apart_ns >= *length_ns && common_ns - apart_ns >= *wire_ns
                })
            })
        };
        let found =
            (0..=period_ns.saturating_sub(last_ns)).step_by(100).find(|offset_ns| is_free(*offset_ns));
        if let Some(offset_ns) = found {
            for (link, shift_ns, wire_ns) in hops {
                links[link].push((offset_ns + shift_ns, wire_ns, period_ns));
            }
            placed += 1;
        }
    }
    placed
}
