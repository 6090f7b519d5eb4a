//! Properties of every simulation, and results that were calculated by hand.

use std::fmt::Write;

use proptest::prelude::*;
use tardy_record::flow::FlowSeries;
use tardy_record::{Knowable, Run};
use tardy_tsn::file;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::agreement::{Frames, agreement, rules};
use tardy_tsn::simulate::engine::{self, Arrival, Duration, Fate, Listener, Lost, Outcome};
use tardy_tsn::simulate::of_network::wire;
use tardy_tsn::simulate::recorded::{Audience, Request, simulate};
use tardy_tsn::simulate::{Mode, Options, Ports};

const TWO_FLOWS: &str = include_str!("../../../recipes/tsn-two-flows.toml");
const MS: u64 = 1_000_000;

/// All events of a simulation.
#[derive(Debug, Default, PartialEq)]
struct Everything {
    arrivals: Vec<Arrival>,
    /// Transmitter, flow, class, start and end.
    sent: Vec<(u32, u32, u8, u64, u64)>,
}

impl Listener for Everything {
    fn arrived(&mut self, arrival: &Arrival) {
        self.arrivals.push(*arrival);
    }

    fn sent(&mut self, transmitter: u32, flow: u32, class: u8, start_ns: u64, end_ns: u64) {
        self.sent.push((transmitter, flow, class, start_ns, end_ns));
    }
}

fn network(text: &str) -> Network {
    file::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn options(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

fn run_for(network: &Network, options: &Options, talk_ns: u64) -> (Outcome, Everything) {
    let wired = wire(network, options, true).unwrap();
    let mut everything = Everything::default();
    let duration = Duration { talk_ns, drain_ns: 200 * MS };
    let outcome = engine::run(&wired.wiring, duration, options.seed, &mut everything);
    (outcome, everything)
}

/// A switch with one listener's port and this many talkers, from a schedule and flows as TOML.
fn one_switch(port: &str, flows: &[String]) -> String {
    let mut text = String::from("about = \"one switch\"\npriority_map = [0, 1, 2, 3]\n");
    (0..4).for_each(|class| writeln!(text, "[[class]]\nname = \"c{class}\"").unwrap());
    (0..4).for_each(|pcp| writeln!(text, "[[classify]]\npcp = {pcp}\npriority = {pcp}").unwrap());
    text += "[switch]\nname = \"s\"\n";
    for talker in 0..flows.len() {
        writeln!(
            text,
            "[[switch.port]]\ninterface = \"in{talker}\"\nto = \"t{talker}\"\nspeed = \"1Gbit/s\""
        )
        .unwrap();
    }
    writeln!(text, "[[switch.port]]\ninterface = \"out\"\nto = \"listener\"\n{port}").unwrap();
    for (talker, flow) in flows.iter().enumerate() {
        writeln!(
            text,
            "[[flow]]\nname = \"f{talker}\"\ntalker = \"t{talker}\"\nlistener = \"listener\"\n{flow}"
        )
        .unwrap();
    }
    text
}

fn flat_out(class: u8, size: u32) -> String {
    format!("flat_out = true\nsize = {size}\npcp = {class}\nvlan = 5")
}

fn gates(entries: &[(u32, u64)]) -> String {
    let list: Vec<String> =
        entries.iter().map(|(mask, us)| format!("{{ mask = {mask}, for = \"{us}us\" }}")).collect();
    format!("base_time = \"0s\"\nclock = \"tai\"\nqueues = 4\ngates = [{}]", list.join(", "))
}

/// INET measures 11.62 us: 72 octets on each of two cables of 50 ns. The latency does not contain the gap after the frame.
#[test]
fn a_frame_of_64_octets_takes_the_time_that_inet_measures() {
    let network = network(include_str!("switches/inet-time-aware-shaping.toml"));
    for mode in [Mode::Standard, Mode::Linux] {
        let options = Options { ports: Ports::Hardware, ring_frames: 1, ..options(mode) };
        let (_, everything) = run_for(&network, &options, 50 * MS);
        let own = everything.arrivals.iter().filter(|arrival| arrival.flow == 0);
        let latencies: Vec<i64> = own.map(|arrival| arrival.arrived_ns - arrival.sent_ns).collect();
        assert_eq!(latencies, [11_620; 50], "{mode:?}");
    }
}

#[test]
fn a_millisecond_at_100_megabit_passes_8_full_frames_in_both_modes() {
    // The 1514 bytes of a frame include its tag, which the kernel does not count.
    let port = format!("speed = \"100Mbit/s\"\n{}", gates(&[(1, 1000), (14, 1000)]));
    let network = network(&one_switch(&port, &[flat_out(0, 1514)]));
    for mode in [Mode::Standard, Mode::Linux] {
        let (_, everything) = run_for(&network, &options(mode), 20 * MS);
        let out = everything.sent.iter().filter(|sent| sent.0 == 1 && sent.3 >= 2 * MS);
        let in_cycle = |cycle: u64| out.clone().filter(|sent| sent.3 / (2 * MS) == cycle).count();
        assert_eq!((1..9).map(in_cycle).collect::<Vec<_>>(), [8; 8], "{mode:?}");
    }
}

#[test]
fn a_window_in_two_entries_passes_12_frames_in_linux_and_8_by_the_standard() {
    let port = format!("speed = \"100Mbit/s\"\n{}", gates(&[(1, 500), (3, 500), (12, 9000)]));
    let network = network(&one_switch(&port, &[flat_out(0, 1514)]));
    for (mode, frames) in [(Mode::Standard, 8), (Mode::Linux, 12)] {
        let (_, everything) = run_for(&network, &options(mode), 100 * MS);
        let chosen = everything.arrivals.iter().filter(|arrival| arrival.arrived_ns / 10_000_000 == 3);
        assert_eq!(chosen.count(), frames, "{mode:?}");
    }
}

#[test]
fn veth_delivers_a_windows_frames_at_its_opening() {
    let port = gates(&[(14, 8000), (1, 2000)]);
    let text = one_switch(&port, &["period = \"100us\"\nsize = 1000\npcp = 0\nvlan = 5".to_owned()]);
    let options =
        Options { ports: Ports::Virtual, frame_cost_ns: 500, gate_latency_ns: 3_000, ..options(Mode::Linux) };
    let text = text.replace("speed = \"1Gbit/s\"\n", "") + "[netns]\nports = \"veth\"\n";
    let (outcome, everything) = run_for(&network(&text), &options, 100 * MS);
    let third: Vec<i64> = everything
        .arrivals
        .iter()
        .map(|arrival| arrival.arrived_ns - 28_000_000)
        .filter(|at| (0..2_000_000).contains(at))
        .collect();
    assert_eq!(third[..4], [3_500, 4_000, 4_500, 5_000], "back to back, at the kernel's cost per frame");
    assert_eq!(outcome.flows[0].received, outcome.flows[0].sent);
}

#[test]
fn a_virtual_talker_is_limited_to_its_rate_by_a_bucket_of_one_full_frame() {
    let text =
        one_switch("", &[flat_out(0, 1014)]) + "[netns]\nports = \"veth\"\ningress_rate = \"100Mbit/s\"\n";
    let options = Options { ports: Ports::Virtual, ..options(Mode::Linux) };
    let (_, everything) = run_for(&network(&text), &options, MS);
    // Of 1538 bytes 1038 are spent at once; 538 more take 43,040 ns at 80 ns each, and then 1038 at a time.
    let first: Vec<i64> = everything.arrivals.iter().map(|arrival| arrival.arrived_ns).take(4).collect();
    assert_eq!(first, [0, 43_040, 126_080, 209_120]);
}

#[test]
fn a_network_cards_ring_sends_a_frame_after_its_gate_has_closed() {
    let port = format!("speed = \"10Mbit/s\"\n{}", gates(&[(14, 500), (1, 9500)]));
    let flow = "period = \"10ms\"\noffset = \"9ms\"\nframes = 2\nsize = 1000\npcp = 0";
    let network = network(&one_switch(&port, &[flow.to_owned()]));
    let first_two = |ring_frames: u32| {
        let options = Options { ring_frames, ..options(Mode::Linux) };
        let (_, everything) = run_for(&network, &options, 50 * MS);
        everything.arrivals.iter().map(|arrival| arrival.arrived_ns).take(2).collect::<Vec<_>>()
    };
    // 8,096 ns each into the switch and 809,600 ns out of it, and the gap after a frame keeps the next one away. Each fits when the kernel dequeues it, almost 1 ms before
    // the gate closes at 10 ms. When the second one reaches the wire, it no longer fits.
    assert_eq!(first_two(1), [9_817_696, 11_309_600], "waits for the opening at 10.5 ms");
    assert_eq!(first_two(16), [9_817_696, 10_636_896], "in the ring already");
}

#[test]
fn frames_of_a_class_that_never_opens_are_dropped_in_linux_and_wait_by_the_standard() {
    let port = format!("speed = \"100Mbit/s\"\n{}", gates(&[(1, 1000), (1, 1000)]));
    let text = one_switch(&port, &["period = \"1ms\"\nsize = 200\npcp = 2\nvlan = 5".to_owned()]);
    let linux = run_for(&network(&text), &options(Mode::Linux), 100 * MS).0;
    assert_eq!((linux.flows[0].of(Fate::TooLong), linux.flows[0].received), (100, 0));
    let standard = run_for(&network(&text), &options(Mode::Standard), 100 * MS).0;
    assert_eq!((standard.flows[0].of(Fate::AtGates), standard.flows[0].received), (100, 0));
}

#[test]
fn frames_longer_than_the_maximum_of_their_class_are_dropped() {
    let port = format!("speed = \"100Mbit/s\"\n{}", gates(&[(1, 1000), (14, 1000)]));
    let flow = |size: u32| format!("period = \"1ms\"\nsize = {size}\npcp = 0");
    let text =
        one_switch(&port, &[flow(314), flow(315)]).replace("name = \"c0\"", "name = \"c0\"\nmax_sdu = 300");
    for mode in [Mode::Standard, Mode::Linux] {
        let outcome = run_for(&network(&text), &options(mode), 50 * MS).0;
        assert_eq!((outcome.flows[0].received, outcome.flows[1].of(Fate::TooLong)), (50, 50), "{mode:?}");
    }
}

#[test]
fn frames_are_dropped_at_a_port_outside_their_vlan() {
    let text = one_switch("tagged = [5]\nspeed = \"100Mbit/s\"", &[flat_out(0, 64), flat_out(1, 64)]);
    let text = text.replacen("to = \"t0\"", "to = \"t0\"\ntagged = [5]", 1);
    let network = network(&text.replacen("to = \"t1\"", "to = \"t1\"\ntagged = [6]", 1));
    let outcome = run_for(&network, &options(Mode::Standard), MS).0;
    assert_eq!((outcome.flows[0].of(Fate::Astray), outcome.flows[1].received), (0, 0));
    assert!(outcome.flows[1].of(Fate::Astray) > 0);
    let remarks = wire(&network, &options(Mode::Standard), true).unwrap().remarks;
    assert_eq!(remarks, ["flow 'f1' does not arrive: s/in1 is not in VLAN 5"]);
}

#[test]
fn all_gates_are_open_before_the_base_time_and_while_a_schedule_is_replaced() {
    let port = format!("speed = \"100Mbit/s\"\n{}", gates(&[(2, 900_000), (1, 100_000)]));
    let text = one_switch(&port, &["period = \"10ms\"\nsize = 200\npcp = 0".to_owned()]);
    let early = |options: &Options| {
        let (_, everything) = run_for(&network(&text), options, 3000 * MS);
        let in_slot = |at: &i64| at.rem_euclid(1_000_000_000) >= 900_000_000;
        everything
            .arrivals
            .iter()
            .map(|arrival| arrival.arrived_ns)
            .filter(|at| !in_slot(at))
            .collect::<Vec<_>>()
    };
    assert_eq!(early(&options(Mode::Linux)), [0i64; 0]);
    let lead = Options { lead_ns: 500 * MS, ..options(Mode::Linux) };
    assert!(early(&lead).iter().all(|at| *at < 0));
    assert_eq!(early(&lead).len(), 40, "-500 to -100 ms; the others arrive at the phase of their slot");
    let replaced = Options { replaced_after_ns: Some(1306 * MS), ..options(Mode::Linux) };
    let leaked = early(&replaced);
    assert_eq!(leaked.len(), 31 + 59, "frames that waited, and frames that were sent until 1900 ms");
    assert!(leaked.iter().all(|at| (1_306_000_000..1_900_000_000).contains(at)));
}

fn request<'a>(network: &'a Network, options: &'a Options, text: &'a str) -> Request<'a> {
    Request {
        network,
        options,
        talk_ns: 200 * MS,
        phases: &[true, false],
        file: ("two-flows.toml", text),
        command: &[],
        version: "1",
    }
}

fn flow<'r>(run: &'r Run, phase: usize, name: &str) -> &'r FlowSeries {
    let mut flows =
        run.series.iter().filter(|series| series.phase == phase).filter_map(|series| series.flow());
    flows.find(|flow| flow.flow == name).unwrap()
}

#[test]
fn the_articles_switch_keeps_its_slots_only_with_the_shaper() {
    let network = network(TWO_FLOWS);
    for mode in [Mode::Standard, Mode::Linux] {
        let options = options(mode);
        let simulated = simulate(&request(&network, &options, TWO_FLOWS), &mut ()).unwrap();
        let run = simulated.run;
        tardy_record::file::check(&run).unwrap();
        assert!(run.validity.valid, "{:?}", run.validity);
        for (name, slot) in [("blue", 0..=800_000), ("red", 800_000..=1_000_000)] {
            let shaped = flow(&run, 0, name);
            assert_eq!(shaped.out_of_slot(), 0, "{name} {mode:?}");
            assert_eq!(shaped.windows.len(), 1);
            let (min_ns, max_ns) = (shaped.phases.min_ns.unwrap(), shaped.phases.max_ns.unwrap());
            // A frame that ends with the cycle has phase 0 of the next.
            assert!(
                slot.contains(&max_ns) && (slot.contains(&min_ns) || min_ns == 0),
                "{name}: {min_ns} to {max_ns}"
            );
            let unshaped = flow(&run, 1, name);
            assert!(unshaped.windows.is_empty());
            let outside: u64 = {
                let inside = |bin: u64| slot.contains(&(bin * unshaped.phases.bin_ns));
                let bins = unshaped.phases.bins.iter().filter(|bin| !inside(u64::from(bin.index)));
                bins.map(|bin| bin.frames).sum()
            };
            let share = outside as f64 / unshaped.frames.received as f64;
            let other = if name == "blue" { 0.2 } else { 0.8 };
            assert!((share - other).abs() < 0.03, "{name}: {share}");
        }
    }
}

#[derive(Default)]
struct Collected {
    arrivals: Vec<Arrival>,
    lost: Vec<(bool, Lost)>,
}

impl Audience for Collected {
    fn arrived(&mut self, _shaped: bool, arrival: &Arrival) {
        self.arrivals.push(*arrival);
    }

    fn lost(&mut self, shaped: bool, lost: &Lost) {
        self.lost.push((shaped, *lost));
    }
}

#[test]
fn frames_that_do_not_arrive_are_reported_with_the_reason() {
    // The talker sends more than the port carries: the backlog when it stops cannot be sent in the remaining time.
    let port = format!("speed = \"10Mbit/s\"\n{}", gates(&[(1, 1000), (0, 9000)]));
    let text = one_switch(&port, &[flat_out(0, 400)]);
    let network = network(&text);
    let options = Options { queue_frames: 2000, ..options(Mode::Linux) };
    let mut collected = Collected::default();
    let simulated = simulate(&request(&network, &options, &text), &mut collected).unwrap();
    let fates = |shaped: bool, fate: Fate| {
        collected.lost.iter().filter(|(of, lost)| *of == shaped && lost.fate == fate).count() as u64
    };
    for (phase, shaped) in [(0, true), (1, false)] {
        for fate in Fate::ALL {
            assert_eq!(simulated.tallies[phase][0].of(fate), fates(shaped, fate), "{fate:?}");
        }
    }
    assert!(fates(true, Fate::QueueFull) > 0 && fates(true, Fate::AtGates) > 0, "{:?}", simulated.tallies);
    assert_eq!(fates(false, Fate::AtGates), 0, "there are no gates without the shaper");
    let remarks = simulated.run.phases[0].remarks.join("\n");
    assert!(remarks.contains("at a port with gates"), "{remarks}");
}

#[test]
fn a_late_timer_agrees_within_its_latency_and_another_schedule_does_not() {
    let network = network(TWO_FLOWS);
    let simulated = |options: &Options, network: &Network| {
        let mut collected = Collected::default();
        let one_phase = Request { phases: &[true], ..request(network, options, TWO_FLOWS) };
        let run = simulate(&one_phase, &mut collected).unwrap().run;
        (run, Frames { arrivals: collected.arrivals, lost: Vec::new() })
    };
    let exact = Options { ports: Ports::Virtual, ..options(Mode::Linux) };
    let late = Options { gate_latency_ns: 7_000, ..exact.clone() };
    let (run, expected) = simulated(&exact, &network);
    let (_, observed) = simulated(&late, &network);
    let agreed = agreement(&expected, &observed, &rules(&run, 0, None, 7_000));
    assert!(agreed.is_whole() && agreed.frames > 1000, "{agreed:?}");
    assert!(agreed.latest_ns > 0);
    let other =
        TWO_FLOWS.replace("for = \"800us\"", "for = \"600us\"").replace("for = \"200us\"", "for = \"400us\"");
    let (_, other) = simulated(&exact, &self::network(&other));
    let disagreed = agreement(&expected, &other, &rules(&run, 0, None, 7_000));
    assert!(!disagreed.is_whole() && disagreed.other_slot > 0, "{disagreed:?}");
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let network = network(TWO_FLOWS);
    let options = Options { talker_jitter_ns: 1000, ..options(Mode::Linux) };
    let bytes = || {
        let run = simulate(&request(&network, &options, TWO_FLOWS), &mut ()).unwrap().run;
        tardy_record::file::to_text(&run)
    };
    assert_eq!(bytes(), bytes());
}

// Three of the longest frames take 37 us on the talker's cable of 1 Gbit/s, so no flow sends more than that carries.
prop_compose! {
    fn any_flow()(class in 0u8..4, size in 64u32..1515, period_us in prop::option::of(40u64..3000), offset_us in 0u64..3000, frames in 1u32..4) -> String {
        match period_us {
            None => flat_out(class, size),
            Some(period) => format!(
                "period = \"{period}us\"\noffset = \"{}us\"\nframes = {frames}\nsize = {size}\npcp = {class}\nvlan = 5",
                offset_us % period
            ),
        }
    }
}

prop_compose! {
    fn any_port()(
        speed in prop::sample::select(vec![10u32, 100, 1000]),
        entries in prop::collection::vec((1u32..16, 50u64..2000), 1..6),
        cycle in prop::option::of(50u64..8000),
    ) -> (u32, Vec<(u32, u64)>, Option<u64>) {
        (speed, entries, cycle)
    }
}

fn port_text(speed: u32, entries: &[(u32, u64)], cycle: Option<u64>) -> String {
    let cycle = cycle.map_or_else(String::new, |us| format!("\ncycle_time = \"{us}us\""));
    format!("speed = \"{speed}Mbit/s\"\n{}{cycle}", gates(entries))
}

/// Whether gate `class` of a list is open in all of `[from, to)`, by the standard.
fn open_throughout(entries: &[(u32, u64)], cycle: Option<u64>, class: u8, from_ns: u64, to_ns: u64) -> bool {
    let sum: u64 = entries.iter().map(|entry| entry.1).sum();
    let cycle_ns = cycle.unwrap_or(sum) * 1000;
    let mut edges = vec![from_ns];
    let mut start = from_ns / cycle_ns * cycle_ns;
    while start < to_ns {
        let mut at = start;
        for (_, us) in entries {
            edges.push(at);
            at += us * 1000;
        }
        start += cycle_ns;
        edges.push(start);
    }
    edges.iter().filter(|edge| (from_ns..to_ns).contains(*edge)).all(|edge| {
        let phase = edge % cycle_ns;
        let mut end = 0;
        let now = entries.iter().find(|entry| {
            end += entry.1 * 1000;
            phase < end
        });
        now.or(entries.last()).is_some_and(|entry| entry.0 >> class & 1 == 1)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_lost_frame_is_counted_and_flows_stay_in_order(
        (speed, entries, cycle) in any_port(),
        flows in prop::collection::vec(any_flow(), 1..5),
        linux: bool,
        virtual_ports: bool,
        queue_frames in 1u32..50,
        seed: u64,
    ) {
        let network = network(&one_switch(&port_text(speed, &entries, cycle), &flows));
        let mode = if linux { Mode::Linux } else { Mode::Standard };
        let ports = if virtual_ports { Ports::Virtual } else { Ports::Hardware };
        let options = Options { mode, ports, queue_frames, seed, talker_jitter_ns: seed % 5000, ..Options::default() };
        // The kernel refuses an entry that is shorter than its shortest frame.
        let Ok(wired) = wire(&network, &options, true) else {
            prop_assert!(linux);
            return Ok(());
        };
        let mut everything = Everything::default();
        let outcome = engine::run(&wired.wiring, Duration { talk_ns: 30 * MS, drain_ns: 10 * MS }, seed, &mut everything);
        for tally in &outcome.flows {
            let known = tally.received + tally.lost.iter().sum::<u64>();
            prop_assert_eq!(tally.sent, known);
        }
        prop_assert_eq!(outcome.frame_hops, everything.sent.len() as u64);
        prop_assert_eq!(outcome.flows.iter().map(|tally| tally.received).sum::<u64>(), everything.arrivals.len() as u64);
        prop_assert!(everything.arrivals.is_sorted_by_key(|arrival| arrival.arrived_ns));
        for flow in 0..flows.len() as u32 {
            let of_flow: Vec<&Arrival> = everything.arrivals.iter().filter(|arrival| arrival.flow == flow).collect();
            prop_assert!(of_flow.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
            prop_assert!(of_flow.iter().all(|arrival| arrival.arrived_ns > arrival.sent_ns));
        }
        let mut again = Everything::default();
        let same = engine::run(&wired.wiring, Duration { talk_ns: 30 * MS, drain_ns: 10 * MS }, seed, &mut again);
        prop_assert_eq!((same, again), (outcome, everything));
    }

    #[test]
    fn by_the_standard_frames_are_sent_in_open_gates_and_no_faster_than_the_link(
        (speed, entries, cycle) in any_port(),
        flows in prop::collection::vec(any_flow(), 1..5),
    ) {
        let network = network(&one_switch(&port_text(speed, &entries, cycle), &flows));
        let (_, everything) = run_for(&network, &options(Mode::Standard), 20 * MS);
        let out = flows.len() as u32;
        let sent: Vec<_> = everything.sent.iter().filter(|sent| sent.0 == out).collect();
        for (_, flow, class, start_ns, end_ns) in &sent {
            prop_assert!(
                open_throughout(&entries, cycle, *class, *start_ns, *end_ns),
                "class {} from {} to {}", class, start_ns, end_ns
            );
            // From the first bit of the preamble to the last of the check sequence.
            let bytes = network.flows[*flow as usize].size.value + 8 + 4;
            let least_ns = u64::from(bytes) * 8000 / u64::from(speed);
            prop_assert!(end_ns - start_ns >= least_ns && end_ns - start_ns <= least_ns + 2);
        }
        // A gap of 12 octets is between two frames; times are rounded to ns.
        let gap_ns = 12 * 8000 / u64::from(speed);
        prop_assert!(sent.windows(2).all(|pair| pair[1].3 + 2 >= pair[0].4 + gap_ns));
    }

    #[test]
    fn linux_agrees_with_the_standard_if_windows_are_single_entries_and_the_cycle_is_the_list(
        speed in prop::sample::select(vec![10u32, 100, 1000]),
        lengths in prop::collection::vec(1300u64..3000, 1..4),
        flows in prop::collection::vec((0u8..4, 60u32..1515, 300u64..3000, 0u64..3000), 1..5),
    ) {
        // Flows use only classes with a window, since a frame that never fits waits in one mode and is dropped in the
        // other. Periods, offsets and lengths are odd numbers of ns, and frames take multiples of 8, so that no frame ends exactly
        // when a gate closes.
        let entries: Vec<(u32, u64)> = lengths.iter().enumerate().map(|(class, us)| (1 << class, *us)).collect();
        let of_class = |class: u8| class % entries.len() as u8;
        let flows: Vec<String> = flows.iter().map(|(class, size, period, offset)| format!(
            "period = \"{period}003ns\"\noffset = \"{}007ns\"\nsize = {size}\npcp = {}",
            offset % period, of_class(*class)
        )).collect();
        let port = port_text(speed, &entries, None).replace("us\"", "001ns\"");
        let network = network(&one_switch(&port, &flows));
        let one_at_a_time = Options { ring_frames: 1, ..options(Mode::Linux) };
        let (linux, in_linux) = run_for(&network, &one_at_a_time, 50 * MS);
        let (standard, by_standard) = run_for(&network, &options(Mode::Standard), 50 * MS);
        prop_assert_eq!(linux.flows, standard.flows);
        prop_assert_eq!(in_linux.arrivals, by_standard.arrivals);
    }
}

#[test]
fn unsupported_settings_are_reported_with_their_line() {
    let wrong = |from: &str, to: &str, mode: Mode| {
        assert!(TWO_FLOWS.contains(from));
        let text = TWO_FLOWS.replace(from, to);
        let error = wire(&network(&text), &options(mode), true).expect_err(to);
        format!("line {}: {error}", error.span.line(&text))
    };
    let errors = [
        wrong("for = \"800us\"", "for = \"1us\"", Mode::Linux),
        wrong("queues = 2", "queues = 2\nflags = 1\ntxtime_delay = \"500us\"", Mode::Linux),
        wrong("cycle_time = \"1ms\"", "cycle_time = \"100000s\"", Mode::Standard),
    ];
    let apart = "about = \"two switches without a cable\"\n[[class]]\n\
        [[switch]]\nname = \"a\"\nport = [{ interface = \"a0\", to = \"talker\" }]\n\
        [[switch]]\nname = \"b\"\nport = [{ interface = \"b0\", to = \"listener\" }]\n\
        [[flow]]\nname = \"f\"\ntalker = \"talker\"\nlistener = \"listener\"\nsize = 64\nflat_out = true\nvlan = 5";
    let error = wire(&network(apart), &options(Mode::Standard), true).unwrap_err();
    let errors = [&errors[..], &[format!("line {}: {error}", error.span.line(apart))]].concat();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn the_run_states_why_frames_did_not_arrive() {
    let text = TWO_FLOWS.replace("class = \"red\"", "").replace("{ open = [\"red\"], for", "{ mask = 0, for");
    let network = network(&text);
    let options = options(Mode::Linux);
    let simulated = simulate(&request(&network, &options, &text), &mut ()).unwrap();
    let red = flow(&simulated.run, 0, "red");
    assert_eq!(red.frames.received, 0);
    assert_eq!(red.frames.lost, red.frames.sent);
    assert_ne!(red.frames.sent, Knowable::Known(0));
    assert!(simulated.run.phases[0].remarks[0].contains("'red'"), "{:?}", simulated.run.phases[0].remarks);
}

#[test]
fn a_credit_based_shaper_and_preemption_have_a_model_if_the_gate_is_always_open() {
    let with = |key: &str, replaced: (&str, &str), mode| {
        let text = include_str!("../../../recipes/tsn-two-flows.toml")
            .replace("name = \"red\"\nqueues", &format!("name = \"red\"\n{key}\nqueues"))
            .replace(replaced.0, replaced.1);
        let network = tardy_tsn::file::parse(&text).unwrap();
        let options = Options { mode, ..Options::default() };
        wire(&network, &options, true).map(drop).map_err(|error| error.to_string())
    };
    let open = ("open = [\"blue\"]", "open = [\"blue\", \"red\"]");
    for key in ["idle_slope = \"20Mbit/s\"", "preemptible = true"] {
        let closes = with(key, ("", ""), Mode::Standard).unwrap_err();
        assert!(closes.contains("only if the gate of the class is always open"), "{closes}");
        assert_eq!(with(key, open, Mode::Standard), Ok(()));
        let linux = with(key, open, Mode::Linux).unwrap_err();
        let refused =
            if key.starts_with("idle") { "use --mode standard" } else { "only supported with full offload" };
        assert!(linux.contains(refused), "{linux}");
    }
    let both = with("preemptible = true\nidle_slope = \"20Mbit/s\"", open, Mode::Standard).unwrap_err();
    assert!(both.contains("remove one of them"), "{both}");
    let all = with("idle_slope = \"100Mbit/s\"", open, Mode::Standard).unwrap_err();
    assert!(all.contains("not below the speed"), "{all}");
    assert_eq!(with("preemptible = false", ("", ""), Mode::Standard), Ok(()));
}
