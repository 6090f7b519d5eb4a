//! TSNKit's instances: all streams are scheduled, and every frame is on time in the simulator of tardy-tsn.

use tardy_synthesis::answer::{Answer, Verdict};
use tardy_synthesis::read::tsnkit::{self, Tables};
use tardy_synthesis::write;
use tardy_tsn::simulate::engine::{self, Arrival, Duration, Listener};
use tardy_tsn::tsnkit::{Instance as Simulated, wiring};

use crate::instances::{FIXTURES, answered, options};

/// Every arrival: flow, time of sending, time of receiving.
#[derive(Default)]
struct Arrivals(Vec<(usize, u64, u64)>);

impl Listener for Arrivals {
    fn arrived(&mut self, arrival: &Arrival) {
        let times = [arrival.sent_ns, arrival.arrived_ns].map(|at_ns| u64::try_from(at_ns).unwrap());
        self.0.push((arrival.flow as usize, times[0], times[1]));
    }
}

fn simulated(task: &str, topology: &str, tables: &Tables, answer: &Answer) -> (Arrivals, u64) {
    let [gates, offsets, routes, queues] = write::tsnkit::texts(tables, &answer.schedule, &answer.ports);
    let instance =
        Simulated { task, topology, gates: &gates, offsets: &offsets, routes: &routes, queues: &queues };
    let mut arrivals = Arrivals::default();
    let whole_ns = 2 * tables.instance.hyperperiod_ns;
    let outcome = engine::run(
        &wiring(&instance).unwrap(),
        Duration { talk_ns: whole_ns, drain_ns: whole_ns },
        0,
        &mut arrivals,
    );
    (arrivals, outcome.flows.iter().map(|flow| flow.sent).sum())
}

#[test]
fn every_stream_is_scheduled_and_every_simulated_frame_arrives_when_the_schedule_states() {
    for (name, task, topology) in FIXTURES {
        let tables = tsnkit::read(task, topology, 0).unwrap();
        let answer = answered(&tables.instance, 0);
        assert_eq!(answer.verdict, Verdict::Scheduled, "{name}");
        let (arrivals, sent) = simulated(task, topology, &tables, &answer);
        assert_eq!(arrivals.0.len() as u64, sent, "{name}: a frame was lost");
        let frames: u64 = tables
            .instance
            .flows
            .iter()
            .map(|flow| 2 * tables.instance.hyperperiod_ns / flow.period_ns)
            .sum();
        assert_eq!(sent, frames, "{name}");
        for (flow, sent_ns, arrived_ns) in arrivals.0 {
            let placement = answer.schedule.placements[flow].as_ref().unwrap();
            let of = &tables.instance.flows[flow];
            assert_eq!(sent_ns % of.period_ns, placement.offset_ns(), "{name}, flow {flow}");
            assert_eq!(
                arrived_ns - sent_ns,
                placement.latency_ns(&tables.instance, flow),
                "{name}, flow {flow}"
            );
            assert!(arrived_ns - sent_ns <= of.deadline_ns.unwrap(), "{name}, flow {flow}");
        }
    }
}

#[test]
fn lists_of_at_most_a_few_entries_are_possible_and_cost_best_effort_only() {
    let (_, task, topology) = FIXTURES[3];
    let tables = tsnkit::read(task, topology, 0).unwrap();
    let mut before = f64::INFINITY;
    for most in [1000, 31, 8, 2, 1] {
        let answer = tardy_synthesis::answer::find(&tables.instance, &options(0, 1, 1), Some(most)).unwrap();
        assert_eq!(answer.verdict, Verdict::Scheduled, "{most}");
        assert!(answer.ports.iter().all(|port| port.entries_needed() <= most), "{most}");
        let share: f64 =
            answer.ports.iter().map(tardy_synthesis::schedule::PortGates::best_effort_share).sum();
        assert!(share <= before, "{most}: {share} after {before}");
        let (arrivals, sent) = simulated(task, topology, &tables, &answer);
        assert_eq!(arrivals.0.len() as u64, sent, "{most}");
        before = share;
    }
}
