//! Instances for tests.

use tardy_synthesis::answer::{self, Answer};
use tardy_synthesis::instance::{Flow, Instance, Lines, Link, Source};
use tardy_synthesis::solver::Options;

/// An instance of TSNKit with the text of its tables.
macro_rules! tables {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("tsnkit/", $name, "_task.csv")),
            include_str!(concat!("tsnkit/", $name, "_topo.csv")),
        )
    };
}

/// The instances in tests/tsnkit: name, streams, links.
pub(crate) const FIXTURES: [(&str, &str, &str); 5] =
    [tables!("1"), tables!("5"), tables!("9"), tables!("13"), tables!("ring500")];

/// Options with this effort, seed and number of threads.
pub(crate) fn options(effort: u32, seed: u64, threads: usize) -> Options<'static> {
    Options { effort, seed, threads, is_over: &|| false }
}

/// The answer to an instance, which passes the check.
pub(crate) fn answered(instance: &Instance, effort: u32) -> Answer {
    answer::find(instance, &options(effort, 1, 2), None)
        .unwrap_or_else(|mistake| panic!("{mistake:?}\n{instance:#?}"))
}

/// A link of 1 Gbit/s with 8 queues and gates, whose receiver forwards after 2 us.
pub(crate) fn link(from: usize, to: usize) -> Link {
    Link {
        from,
        to,
        bits_per_second: 1_000_000_000,
        propagation_ns: 0,
        processing_ns: 2000,
        late_ns: 0,
        early_ns: 0,
        queues: 8,
        has_gates: true,
    }
}

/// A flow to one listener, without limits.
pub(crate) fn flow(source: usize, destination: usize, wire_bytes: u32, period_ns: u64) -> Flow {
    Flow {
        name: format!("{source}→{destination} {wire_bytes} {period_ns}"),
        source,
        destinations: vec![destination],
        wire_bytes,
        period_ns,
        deadline_ns: None,
        jitter_ns: None,
        release_ns: 0,
        queue_at: None,
        route: None,
    }
}

/// An instance of these links and flows. Links are given by their ends, and lead in both directions.
pub(crate) fn instance(nodes: usize, cables: &[(usize, usize)], flows: Vec<Flow>) -> Instance {
    let mut instance = Instance {
        nodes: (0..nodes).map(|node| node.to_string()).collect(),
        links: cables.iter().flat_map(|(a, b)| [link(*a, *b), link(*b, *a)]).collect(),
        flows,
        hyperperiod_ns: 1,
        gap_bytes: 0,
        margin_ns: 0,
        best_effort_bytes: 1522,
        best_effort_ppm: 0,
        starts_at_zero: false,
    };
    let lines = Lines { source: Source::Task, flows: (2..2 + instance.flows.len()).collect() };
    instance.complete(&lines).unwrap();
    instance
}
