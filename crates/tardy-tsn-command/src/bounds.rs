//! `tardy tsn bounds`: the longest delay that each flow can have, next to the longest that is simulated.

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use tardy_bounds::measured::{self, Maximum};
use tardy_bounds::{self as bounds, Bounds, Options, QueueBound};
use tardy_tsn::network::Network;
use tardy_tsn::simulate;
use tardy_tsn::simulate::wiring::WiringError;
use tardy_tsn_report::bounds::{self as shown, Row};

use super::{simulate as simulating, switch_file};
use tardy_args::TsnBoundsArgs;
use tardy_command::{Exit, output};

/// Seeds of the simulations with random delays of the talkers.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

#[derive(Serialize)]
struct Answer<'a> {
    file: &'a str,
    /// The model of gates and ports.
    model: &'a str,
    flows: &'a [Row],
    queues: &'a [QueueBound],
}

/// Computes the bounds, simulates, and prints both.
pub(crate) fn run(arguments: &TsnBoundsArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    if file.network.flows.is_empty() {
        bail!("{} has no [[flow]], so there is nothing to bound; see docs/tsn.md", file.name);
    }
    let options = options(arguments, &file.network)?;
    let talk_ns = simulating::limited("for", arguments.duration.ns())?;
    let wrong_file = |error: WiringError| anyhow!("{}:{}: {error}", file.name, error.span.line(&file.text));
    let bounds = bounds::of(&file.network, &options).map_err(wrong_file)?;
    let maxima = maxima(&file.network, &options.simulated, talk_ns).map_err(wrong_file)?;
    let rows = rows(&file.network, &bounds, &maxima);
    let simulated = &options.simulated;
    let model = tardy_tsn::port_model::describe(simulated.mode, simulated.ports, Some(simulated.ring_frames));
    if arguments.json {
        output::print_json(&Answer {
            file: &file.name,
            model: &model,
            flows: &rows,
            queues: &bounds.queues,
        })?;
    } else {
        output::print(&shown::of(&rows, &bounds.queues, &model, output::width()))?;
    }
    Ok(if rows.iter().any(Row::exceeds_deadline) {
        Exit::Failed
    } else if rows.iter().any(|row| row.deadline_ns.is_some() && row.bound.delay_ns.is_none()) {
        Exit::Inconclusive
    } else {
        Exit::Done
    })
}

fn options(arguments: &TsnBoundsArgs, network: &Network) -> Result<Options> {
    let simulated = simulate::Options {
        mode: simulating::mode(arguments.mode),
        ports: simulating::ports(arguments.ports, network),
        ring_frames: arguments.ring,
        gate_latency_ns: simulating::limited("gate-latency", arguments.gate_latency.ns())?,
        talker_jitter_ns: simulating::limited("talker-jitter", arguments.talker_jitter.ns())?,
        ..simulate::Options::default()
    };
    Ok(Options {
        known_phases: !arguments.any_phase,
        forwarding_variation_ns: simulating::limited(
            "forwarding-variation",
            arguments.forwarding_variation.ns(),
        )?,
        ..Options::of(simulated)
    })
}

/// The maxima of a simulation without random delays, and of some with them.
fn maxima(network: &Network, options: &simulate::Options, talk_ns: u64) -> Result<Vec<Maximum>, WiringError> {
    let on_time = simulate::Options { talker_jitter_ns: 0, ..options.clone() };
    let mut longest = measured::simulate(network, &on_time, talk_ns)?;
    if options.talker_jitter_ns > 0 {
        for seed in SEEDS {
            let one = measured::simulate(network, &simulate::Options { seed, ..options.clone() }, talk_ns)?;
            longest.iter_mut().zip(one).for_each(|(longest, one)| longest.join(one));
        }
    }
    Ok(longest)
}

fn rows(network: &Network, bounds: &Bounds, maxima: &[Maximum]) -> Vec<Row> {
    let flows = network.flows.iter().zip(&bounds.flows).zip(maxima);
    flows
        .map(|((flow, bound), maximum)| Row {
            bound: bound.clone(),
            simulated_ns: Some(maximum.delay_ns).filter(|_| maximum.frames > 0),
            simulated_under_way: Some(maximum.under_way).filter(|_| maximum.frames > 0),
            deadline_ns: flow.limits.deadline_ns.as_deref().copied(),
        })
        .collect()
}
