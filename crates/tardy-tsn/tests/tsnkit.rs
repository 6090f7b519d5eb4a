//! TSNKit's instances: the same arrivals as in TSNKit's own simulator, and invalid tables.

use tardy_tsn::simulate::engine::{self, Arrival, Duration, Listener};
use tardy_tsn::tsnkit::{self, Instance, Part};

const LINE: Instance<'_> = Instance {
    task: include_str!("tsnkit/line_task.csv"),
    topology: include_str!("tsnkit/line_topo.csv"),
    gates: include_str!("tsnkit/line-GCL.csv"),
    offsets: include_str!("tsnkit/line-OFFSET.csv"),
    routes: include_str!("tsnkit/line-ROUTE.csv"),
    queues: include_str!("tsnkit/line-QUEUE.csv"),
};

#[derive(Default)]
struct Arrivals(Vec<Arrival>);

impl Listener for Arrivals {
    fn arrived(&mut self, arrival: &Arrival) {
        self.0.push(*arrival);
    }
}

#[test]
fn every_frame_arrives_at_the_time_of_tsnkits_simulator() {
    let wiring = tsnkit::wiring(&LINE).unwrap();
    let mut arrivals = Arrivals::default();
    // One hyper-period: all periods divide 4 ms.
    let outcome =
        engine::run(&wiring, Duration { talk_ns: 4_000_000, drain_ns: 4_000_000 }, 0, &mut arrivals);
    let mut ours: Vec<(i64, u32)> =
        arrivals.0.iter().map(|arrival| (arrival.arrived_ns, arrival.flow)).collect();
    ours.sort_unstable();
    let rows = include_str!("tsnkit/line-arrivals.csv").lines().skip(1);
    let theirs: Vec<(i64, u32)> = rows
        .map(|row| row.split_once(',').unwrap())
        .map(|(flow, at)| (at.parse().unwrap(), flow.parse().unwrap()))
        .collect();
    assert_eq!(ours, theirs);
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.sent && flow.sent > 0));
}

#[test]
fn an_invalid_table_is_reported_with_its_line() {
    let replaced = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let task = |from, to| (Part::Task, replaced(LINE.task, from, to));
    let gates = |from, to| (Part::Gates, replaced(LINE.gates, from, to));
    let cases = [
        task("period", "cycle"),
        task("[13]", "\"[13, 14]\""),
        task("[13]", "13"),
        task("300", "-300"),
        task("300", "99999999999"),
        task("1000000", "0"),
        gates("\"(0, 1)\"", "\"(0, 77)\""),
        gates("\"(0, 1)\"", "\"(0; 1)\""),
        gates("4000000", "4000001"),
        (Part::Topology, String::new()),
        (Part::Topology, "link,q_num,rate,t_proc,t_prop\n".to_owned()),
        (Part::Offsets, "stream,frame,offset\n0,0,99999999\n".to_owned()),
        (Part::Offsets, "stream,frame,offset\n99,0,0\n".to_owned()),
        (Part::Offsets, "stream,frame,offset\n".to_owned()),
        (Part::Routes, "stream,link\n0,\"(15, 7)\"\n0,\"(7, 15)\"\n".to_owned()),
        (Part::Routes, "stream,link\n0,\"(15, 7)\"\n0,\"(15, 6)\"\n".to_owned()),
        (Part::Queues, "stream,frame,link,queue\n0,0,\"(15, 7)\",16\n".to_owned()),
        (Part::Queues, "stream,frame,link,queue\n".to_owned()),
    ];
    let mut golden = String::new();
    for (part, text) in &cases {
        let instance = match part {
            Part::Task => Instance { task: text, ..LINE },
            Part::Topology => Instance { topology: text, ..LINE },
            Part::Gates => Instance { gates: text, ..LINE },
            Part::Offsets => Instance { offsets: text, ..LINE },
            Part::Routes => Instance { routes: text, ..LINE },
            Part::Queues => Instance { queues: text, ..LINE },
        };
        golden += &format!("{}\n", tsnkit::wiring(&instance).expect_err(text));
    }
    insta::assert_snapshot!(golden);
}
