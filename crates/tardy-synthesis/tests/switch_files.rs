//! Switch files: what is scheduled, and the file with the schedule in it.

use tardy_synthesis::answer::{Answer, Verdict};
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::read::network::read;
use tardy_synthesis::write::switch_file::{self, Timing};
use tardy_tsn::check::{self, Kind, Machine};
use tardy_tsn::file;
use tardy_tsn::intervals::{Interval, Intervals};
use tardy_tsn::simulate::engine::{self, Arrival, Duration, Listener};
use tardy_tsn::simulate::of_network::wire;
use tardy_tsn::simulate::{Mode, Options, Ports};

use crate::instances::answered;

const FILE: &str = include_str!("two_switches.toml");

fn timing(answer: &Answer) -> Timing<'_> {
    Timing { schedule: &answer.schedule, ports: &answer.ports, base_time_ns: 0 }
}

/// The file with a schedule for it.
fn scheduled(text: &str) -> String {
    let network = file::parse(text).unwrap();
    let scheduled = read(&network, text, Lateness::of_margin(1000)).unwrap();
    let answer = answered(&scheduled.instance, 0);
    assert_eq!(answer.verdict, Verdict::Scheduled);
    switch_file::text(text, &network, &scheduled, &timing(&answer)).unwrap()
}

#[test]
fn the_file_keeps_its_text_and_gets_gates_and_offsets() {
    insta::assert_snapshot!(scheduled(FILE));
}

#[test]
fn a_schedule_is_replaced_by_the_same_one() {
    let once = scheduled(FILE);
    assert_eq!(scheduled(&once), once);
}

#[test]
fn the_kernel_would_accept_the_file() {
    let text = scheduled(FILE);
    let findings = check::check(&file::parse(&text).unwrap(), &text, &Machine::default());
    let refused: Vec<_> =
        findings.iter().filter(|finding| matches!(finding.kind, Kind::Refused { .. })).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[derive(Default)]
struct Latencies(Vec<(u32, i64)>);

impl Listener for Latencies {
    fn arrived(&mut self, arrival: &Arrival) {
        self.0.push((arrival.flow, arrival.arrived_ns - arrival.sent_ns));
    }
}

#[test]
fn every_scheduled_frame_is_on_time_by_the_standard_and_in_linux_next_to_best_effort() {
    let text = scheduled(FILE);
    let network = file::parse(&text).unwrap();
    let planned = read(&network, &text, Lateness::of_margin(1000)).unwrap();
    let answer = answered(&planned.instance, 0);
    for mode in [Mode::Standard, Mode::Linux] {
        let options = Options { mode, ports: Ports::Hardware, ring_frames: 1, ..Options::default() };
        let wired = wire(&network, &options, true).unwrap();
        let mut latencies = Latencies::default();
        let duration = Duration { talk_ns: 20_000_000, drain_ns: 10_000_000 };
        let outcome = engine::run(&wired.wiring, duration, 0, &mut latencies);
        for (flow, place) in planned.flows.iter().enumerate() {
            assert!(
                outcome.flows[*place].sent > 0
                    && outcome.flows[*place].sent == outcome.flows[*place].received
            );
            let expected_ns =
                answer.schedule.placements[flow].as_ref().unwrap().latency_ns(&planned.instance, flow);
            let own = latencies.0.iter().filter(|(of, _)| *of as usize == *place);
            for (_, latency_ns) in own {
                assert_eq!(*latency_ns, expected_ns.cast_signed(), "{mode:?} {flow}");
            }
        }
    }
}

#[test]
fn what_cannot_be_scheduled_is_reported_with_its_line() {
    let replaced = |from: &str, to: &str| {
        assert!(FILE.contains(from), "{from}");
        FILE.replacen(from, to, 1)
    };
    let cases = [
        replaced("to = \"drive\"\nspeed = \"100Mbit/s\"", "to = \"drive\""),
        replaced("period = \"500us\"", "period = \"500us\"\nframes = 2"),
        replaced("period = \"500us\"", "period = \"5us\""),
        replaced("size = 1514\nflat_out = true", "size = 1514\nflat_out = true\nvlan = 5\npcp = 6"),
        replaced("to = \"valve\"", "").replace(
            "[[flow]]\nname = \"torque\"",
            "[[host]]\nname = \"valve\"\n\n[[flow]]\nname = \"torque\"",
        ),
    ];
    let mut golden = String::new();
    for text in &cases {
        let network = file::parse(text).unwrap_or_else(|error| panic!("{error}"));
        golden += &format!("{}\n", read(&network, text, Lateness::of_margin(1000)).expect_err(text));
    }
    insta::assert_snapshot!(golden);
}

#[test]
fn tables_in_one_line_are_refused() {
    let text = "about = \"One line.\"\n[[class]]\nname = \"a\"\n[[class]]\nname = \"b\"\n[switch]\nname = \"s\"\nport = [{ interface = \"p\", \
                to = \"x\", speed = \"100Mbit/s\" }, { interface = \"q\", to = \"y\", speed = \"100Mbit/s\" }]\n[[flow]]\nname = \"f\"\n\
                talker = \"x\"\nlistener = \"y\"\nsize = 100\nperiod = \"1ms\"\n";
    let network = file::parse(text).unwrap();
    let scheduled = read(&network, text, Lateness::default()).unwrap();
    let answer = answered(&scheduled.instance, 0);
    let error = switch_file::text(text, &network, &scheduled, &timing(&answer)).unwrap_err();
    assert!(error.contains("write each port as [[switch.port]]"), "{error}");
}

/// The latencies of the scheduled flows of `text`, whose switches forward in `forwarding` and whose gates open `late_ns` late.
fn latencies(text: &str, forwarding: &str, late_ns: u64) -> Latencies {
    assert!(text.contains("forwarding = \"2us\""));
    let network =
        file::parse(&text.replace("forwarding = \"2us\"", &format!("forwarding = \"{forwarding}\"")))
            .unwrap();
    let options = Options {
        mode: Mode::Linux,
        ports: Ports::Hardware,
        ring_frames: 1,
        gate_latency_ns: late_ns,
        ..Options::default()
    };
    let wired = wire(&network, &options, true).unwrap();
    let mut latencies = Latencies::default();
    let duration = Duration { talk_ns: 20_000_000, drain_ns: 10_000_000 };
    engine::run(&wired.wiring, duration, 0, &mut latencies);
    latencies
}

/// Without the isolation of intervals, a frame that is forwarded faster than the slowest leaves in the window of another.
#[test]
fn with_intervals_every_frame_is_between_the_shortest_and_the_longest_time_whatever_switches_take() {
    let network = file::parse(FILE).unwrap();
    let intervals = Intervals {
        talker: Interval { least_ns: 1_000, most_ns: 9_000 },
        forwarding: Interval { least_ns: 1_000, most_ns: 9_000 },
        gate: Interval { least_ns: 0, most_ns: 4_000 },
        listener: Interval::default(),
    };
    let lateness = Lateness { margin_ns: 1_000, intervals: Some(intervals) };
    let planned = read(&network, FILE, lateness).unwrap();
    let answer = answered(&planned.instance, 0);
    assert_eq!(answer.verdict, Verdict::Scheduled);
    let text = switch_file::text(FILE, &network, &planned, &timing(&answer)).unwrap();
    let mut widest_ns = 0;
    for (forwarding, late_ns) in [("1us", 0), ("1us", 4_000), ("9us", 0), ("9us", 4_000), ("5us", 2_000)] {
        let latencies = latencies(&text, forwarding, late_ns);
        for (flow, place) in planned.flows.iter().enumerate() {
            let placement = answer.schedule.placements[flow].as_ref().unwrap();
            let least_ns = placement.least_latency_ns(&planned.instance, flow).cast_signed();
            let most_ns = placement.latency_ns(&planned.instance, flow).cast_signed();
            let own: Vec<i64> =
                latencies.0.iter().filter(|(of, _)| *of as usize == *place).map(|(_, ns)| *ns).collect();
            assert!(!own.is_empty(), "{forwarding}: flow {flow} does not arrive");
            let wrong: Vec<&i64> = own.iter().filter(|ns| !(least_ns..=most_ns).contains(*ns)).collect();
            assert!(wrong.is_empty(), "{forwarding}, {late_ns}: {wrong:?} not in {least_ns} to {most_ns}");
            widest_ns = widest_ns.max(most_ns - least_ns);
        }
    }
    assert!(widest_ns > 0);
}
