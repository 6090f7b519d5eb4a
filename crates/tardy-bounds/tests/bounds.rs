//! Bounds are never below what a simulation of the same network measures.

use std::fmt::Write;

use tardy_bounds::measured;
use tardy_bounds::{self as bounds, Bounds, Options};
use tardy_tsn::file::parse;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::{self, Mode, Ports};

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A random network: its switches' forwarding time, and its file.
struct Shape {
    forwarding_us: u64,
    text: String,
}

/// Which networks are generated.
#[derive(Clone, Copy)]
struct Kind {
    /// Whether most ports have gates.
    gates: bool,
    /// Whether no two classes have their gates open at the same time.
    exclusive: bool,
    /// Whether the periods have no common divisor, so that a simulation passes through all phases.
    drifting: bool,
    /// Whether classes have credit-based shapers or are preemptible. Their gates are always open.
    class_rules: bool,
}

/// A random network of switches in a line or ring, each with two hosts.
fn network(seed: u64, Kind { gates, exclusive, drifting, class_rules }: Kind) -> Shape {
    let mut random = Random(seed);
    let switches = 1 + random.below(if drifting { 2 } else { 4 });
    let ring = switches > 2 && random.below(3) == 0;
    let classes = 2 + random.below(3);
    let mbps = random.of(&[100, 1000]);
    let forwarding_us = random.below(6);
    let cycle_us = random.of(&[250, 500, 1000]);
    let mut text = format!("about = \"Random network {seed}.\"\npriority_map = [");
    for priority in 0..16 {
        let _ = write!(text, "{}, ", if priority < classes { priority } else { 0 });
    }
    text.push_str("]\n");
    // Classes that have a gate that is always open, since they have a credit-based shaper or are preemptible.
    let mut always = 0;
    for class in 0..classes {
        let _ = write!(text, "[[class]]\nname = \"class{class}\"\n");
        if class_rules {
            let rule = match random.below(5) {
                0 | 1 => format!("idle_slope = \"{}Mbit/s\"", mbps / 100 * random.of(&[5, 10, 20, 30])),
                2 | 3 => "preemptible = true".to_owned(),
                _ => continue,
            };
            let _ = writeln!(text, "{rule}");
            always |= 1 << class;
        }
    }
    for class in 1..classes {
        let _ = write!(text, "[[classify]]\npcp = {class}\npriority = {class}\n");
    }
    for switch in 0..switches {
        let _ = write!(text, "[[switch]]\nname = \"s{switch}\"\nforwarding = \"{forwarding_us}us\"\n");
        let mut port = |interface: &str, to: Option<String>, random: &mut Random| {
            let _ = write!(
                text,
                "[[switch.port]]\ninterface = \"{interface}\"\nspeed = \"{mbps}Mbit/s\"\nqueues = 8\n"
            );
            if let Some(to) = to {
                let _ = writeln!(text, "to = \"{to}\"\npropagation = \"300ns\"");
            }
            if gates && random.below(4) > 0 {
                text.push_str(&schedule(random, classes, cycle_us, exclusive, always));
            }
        };
        for host in 0..2 {
            port(&format!("h{host}"), Some(format!("host{switch}{host}")), &mut random);
        }
        let next = (switch + 1) % switches;
        if switches > 1 && (switch + 1 < switches || ring) {
            port("right", Some(format!("s{next}/left")), &mut random);
        }
        if switches > 1 && (switch > 0 || ring) {
            port("left", None, &mut random);
        }
    }
    let flows = 2 + random.below(if drifting { 4 } else { 9 });
    for flow in 0..flows {
        let host = |random: &mut Random| (random.below(switches), random.below(2));
        let from = host(&mut random);
        let mut to = host(&mut random);
        while to == from {
            to = host(&mut random);
        }
        let longest = if random.below(3) == 0 { 1400 } else { 300 };
        let size = 64 + random.below(longest);
        let class = random.below(classes);
        let period = match drifting {
            true => random.of(&[499, 997, 1009, 1013, 1499, 2003]),
            false => random.of(&[250, 500, 1000, 1000, 2000, 3000, 1300]),
        };
        let offset = random.below(period);
        let frames = if period >= 1000 && random.below(4) == 0 { 1 + random.below(4) } else { 1 };
        let pace = match random.below(12) {
            0 => "flat_out = true".to_owned(),
            _ => format!("period = \"{period}us\"\noffset = \"{offset}us\"\nframes = {frames}"),
        };
        let _ = write!(
            text,
            "[[flow]]\nname = \"f{flow}\"\ntalker = \"host{}{}\"\nlistener = \"host{}{}\"\nsize = {size}\nvlan = 5\npcp = {class}\n{pace}\n",
            from.0, from.1, to.0, to.1
        );
    }
    Shape { forwarding_us, text }
}

/// A gate control list with entries of at least a few frames.
fn schedule(random: &mut Random, classes: u64, cycle_us: u64, exclusive: bool, always: u64) -> String {
    let base_us = random.below(cycle_us);
    let mut text = format!("clock = \"tai\"\noverhead = 24\nbase_time = \"{base_us}us\"\ngates = [\n");
    let count = if exclusive { classes } else { 1 + random.below(4) };
    for entry in 0..count {
        let mask = match (exclusive, random.below(3)) {
            (true, _) => 1 << entry,
            (false, 0) => (1 << classes) - 1,
            (false, _) => 1 + random.below((1 << classes) - 1),
        };
        let mask = mask | always;
        let us = cycle_us / count + if entry == 0 { cycle_us % count } else { 0 };
        let _ = writeln!(text, "{{ mask = {mask}, for = \"{us}us\" }},");
    }
    text.push_str("]\n");
    text
}

fn simulated(mode: Mode, ports: Ports, jitter_ns: u64) -> simulate::Options {
    simulate::Options { mode, ports, talker_jitter_ns: jitter_ns, ..simulate::Options::default() }
}

/// What was compared, over all networks.
#[derive(Default)]
struct Compared {
    flows: usize,
    bounded: usize,
    /// Bounds divided by the largest delays measured.
    ratios: Vec<f64>,
}

impl Compared {
    /// Compares bounds with what simulations measure.
    fn add(
        &mut self,
        name: &str,
        network: &Network,
        bounds: &Bounds,
        talk_ns: u64,
        simulations: &[(&Network, simulate::Options)],
    ) {
        let mut longest_ns = vec![0; network.flows.len()];
        for (of, options) in simulations {
            let maxima = measured::simulate(of, options, talk_ns).unwrap();
            for ((longest_ns, maximum), bound) in longest_ns.iter_mut().zip(&maxima).zip(&bounds.flows) {
                let Some(bound_ns) = bound.delay_ns else { continue };
                assert!(
                    maximum.delay_ns <= bound_ns,
                    "{name}: {} took {} ns, and its bound is {bound_ns} ns with {options:?}\n{bound:#?}",
                    bound.flow,
                    maximum.delay_ns
                );
                assert!(
                    maximum.under_way <= bound.frames_under_way.unwrap(),
                    "{name}: {} had {} frames under way: {bound:#?}",
                    bound.flow,
                    maximum.under_way
                );
                *longest_ns = (*longest_ns).max(maximum.delay_ns);
            }
        }
        for (bound, longest_ns) in bounds.flows.iter().zip(longest_ns) {
            self.flows += 1;
            if let Some(bound_ns) = bound.delay_ns {
                self.bounded += 1;
                assert!(bound.least_ns.unwrap() <= bound_ns);
                if longest_ns > 0 {
                    self.ratios.push(bound_ns as f64 / longest_ns as f64);
                }
            }
        }
    }

    /// Flows with a bound; the lowest decile, the median, the highest decile and the maximum of the ratios.
    fn describe(&mut self) -> String {
        if self.ratios.is_empty() {
            return format!("0 of {} |", self.flows);
        }
        self.ratios.sort_by(f64::total_cmp);
        let at = |share: f64| self.ratios[((self.ratios.len() - 1) as f64 * share) as usize];
        format!(
            "{} of {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            self.bounded,
            self.flows,
            at(0.1),
            at(0.5),
            at(0.9),
            at(1.0)
        )
    }
}

/// Compares bounds of random networks with simulations: all talkers on time, all with random delays, switches that forward at
/// once or after their whole forwarding time.
fn compare(seeds: std::ops::Range<u64>, (mode, ports): (Mode, Ports), kind: Kind, known: bool) -> Compared {
    let talk_ns = if kind.drifting { 1_000_000_000 } else { 30_000_000 };
    let mut compared = Compared::default();
    for seed in seeds {
        let shape = network(seed, kind);
        let network = parse(&shape.text).unwrap_or_else(|error| panic!("{seed}: {error}\n{}", shape.text));
        let fast = parse(
            &shape
                .text
                .replace(&format!("forwarding = \"{}us\"", shape.forwarding_us), "forwarding = \"0us\""),
        )
        .unwrap();
        let jitter_ns = [0, 3_000, 150_000][(seed % 3) as usize];
        let options = Options {
            known_phases: known,
            forwarding_variation_ns: u64::MAX,
            ..Options::of(simulated(mode, ports, jitter_ns))
        };
        let of_all = bounds::of(&network, &options).unwrap();
        let with =
            |jitter_ns: u64, seed: u64| simulate::Options { seed, ..simulated(mode, ports, jitter_ns) };
        let mut simulations = vec![(&network, with(0, 1)), (&fast, with(0, 1))];
        for seed in 1..if kind.drifting { 2 } else { 4 } {
            simulations.push((&network, with(jitter_ns, seed)));
            simulations.push((&fast, with(jitter_ns, seed)));
        }
        compared.add(&format!("{seed} {mode:?} {ports:?}"), &network, &of_all, talk_ns, &simulations);
        if known {
            let exact = Options { forwarding_variation_ns: 0, ..options };
            let of_exact = bounds::of(&network, &exact).unwrap();
            for (exact, any) in of_exact.flows.iter().zip(&of_all.flows) {
                assert!(
                    exact.delay_ns.unwrap_or(u64::MAX) <= any.delay_ns.unwrap_or(u64::MAX),
                    "{exact:?} {any:?}"
                );
            }
            compared.add(
                &format!("{seed} {mode:?} {ports:?} exact"),
                &network,
                &of_exact,
                talk_ns,
                &[(&network, with(0, 1)), (&network, with(jitter_ns, 2))],
            );
        }
    }
    compared
}

fn report(name: &str, mut compared: Compared) {
    println!("| {name} | {}", compared.describe());
    assert!(compared.bounded * 3 > compared.flows, "{} of {}", compared.bounded, compared.flows);
}

/// Every combination of model and network.
fn compare_all(count: u64) {
    use {Mode::*, Ports::*};
    let (standard, hardware, devices) = ((Standard, Hardware), (Linux, Hardware), (Linux, Virtual));
    let open = Kind { gates: false, exclusive: false, drifting: false, class_rules: false };
    let gates = Kind { gates: true, ..open };
    let exclusive = Kind { exclusive: true, ..gates };
    let drifting = |kind: Kind| Kind { drifting: true, ..kind };
    report("standard, gates", compare(0..count, standard, gates, true));
    report("standard, exclusive windows", compare(0..count, standard, exclusive, true));
    report("standard, gates, any phase", compare(0..count, standard, drifting(gates), false));
    report("standard, no gates, any phase", compare(0..count, standard, drifting(open), false));
    let rules = Kind { class_rules: true, ..gates };
    report("standard, shapers and preemption", compare(0..2 * count, standard, rules, true));
    report(
        "standard, shapers and preemption, any phase",
        compare(0..count, standard, drifting(rules), false),
    );
    report("Linux, gates, network cards", compare(0..count, hardware, gates, true));
    report("Linux, exclusive windows, network cards", compare(0..count, hardware, exclusive, true));
    report("Linux, exclusive windows, any phase", compare(0..count, hardware, drifting(exclusive), false));
    report("Linux, exclusive windows, veth and tap", compare(0..count, devices, exclusive, true));
    report("Linux, no gates", compare(0..count, hardware, open, true));
}

#[test]
fn a_bound_is_never_below_a_simulation() {
    compare_all(4);
}

#[test]
#[ignore = "takes a minute; prints the table of docs/tsn.md"]
fn a_bound_is_never_below_a_simulation_of_many_networks() {
    compare_all(25);
}

#[test]
fn a_bound_of_a_generated_file_is_never_below_a_simulation() {
    let mut compared = Compared::default();
    for seed in 0..30 {
        let network = parse(&tardy_tsn::generate::file(seed)).unwrap();
        for (mode, ports) in
            [(Mode::Standard, Ports::Hardware), (Mode::Linux, Ports::Virtual), (Mode::Linux, Ports::Hardware)]
        {
            for latency_ns in [0, 20_000] {
                let options = simulate::Options { gate_latency_ns: latency_ns, ..simulated(mode, ports, 0) };
                let bounds = bounds::of(&network, &Options::of(options.clone())).unwrap();
                compared.add(
                    &format!("generated {seed} {mode:?} {ports:?}"),
                    &network,
                    &bounds,
                    200_000_000,
                    &[(&network, options)],
                );
            }
        }
    }
    println!("| generated files | {}", compared.describe());
    assert!(compared.bounded > 100, "{}", compared.bounded);
}

/// A switch with a talker that sends 200 bytes in class 1 and one that sends full frames of class 0 all the time, with these gates.
fn next_to_best_effort(gates: &str) -> Network {
    parse(&text_next_to_best_effort(gates)).unwrap()
}

fn text_next_to_best_effort(gates: &str) -> String {
    format!(
        "about = \"A flow next to best effort.\"\npriority_map = [0, 1]\n[[class]]\nname = \"other\"\n[[class]]\nname = \"control\"\n\
         [[classify]]\npcp = 1\npriority = 1\n[switch]\nname = \"s\"\n\
         [[switch.port]]\ninterface = \"a\"\nto = \"control\"\nspeed = \"100Mbit/s\"\n\
         [[switch.port]]\ninterface = \"b\"\nto = \"camera\"\nspeed = \"100Mbit/s\"\n\
         [[switch.port]]\ninterface = \"c\"\nto = \"drive\"\nspeed = \"100Mbit/s\"\nqueues = 2\n{gates}\n\
         [[flow]]\nname = \"torque\"\ntalker = \"control\"\nlistener = \"drive\"\nsize = 200\nperiod = \"1009us\"\npcp = 1\nvlan = 5\n\
         [[flow]]\nname = \"video\"\ntalker = \"camera\"\nlistener = \"drive\"\nsize = 1514\nflat_out = true\n"
    )
}

#[test]
fn a_bound_is_reached_if_a_simulation_passes_through_all_phases() {
    let list = |entries: &str| format!("clock = \"tai\"\noverhead = 24\ngates = [{entries}]");
    let cases = [
        ("no gates", String::new()),
        (
            "a window that best effort shares",
            list("{ mask = 3, for = \"500us\" }, { mask = 1, for = \"500us\" }"),
        ),
        ("a window of its own", list("{ mask = 2, for = \"200us\" }, { mask = 1, for = \"800us\" }")),
    ];
    for (name, gates) in cases {
        let network = next_to_best_effort(&gates);
        let options = simulated(Mode::Standard, Ports::Hardware, 0);
        let maximum = measured::simulate(&network, &options, 5_000_000_000).unwrap()[0];
        let bounds = bounds::of(&network, &Options { known_phases: false, ..Options::of(options) }).unwrap();
        let bound_ns = bounds.flows[0].delay_ns.unwrap();
        assert!(maximum.delay_ns <= bound_ns, "{name}: {} {bound_ns}", maximum.delay_ns);
        assert!(maximum.delay_ns * 100 >= bound_ns * 95, "{name}: {} {bound_ns}", maximum.delay_ns);
    }
}

/// Two cables with 72 octets and 50 ns each; the window is open when the frame arrives, and nothing else may be sent in it.
#[test]
fn a_bound_ends_with_the_last_bit() {
    let network = parse(include_str!("../../tardy-tsn/tests/switches/inet-time-aware-shaping.toml")).unwrap();
    for mode in [Mode::Standard, Mode::Linux] {
        let options = simulate::Options { ring_frames: 1, ..simulated(mode, Ports::Hardware, 0) };
        let maximum = measured::simulate(&network, &options, 50_000_000).unwrap()[0];
        let bound = bounds::of(&network, &Options::of(options)).unwrap().flows[0].clone();
        // In Linux frames of best effort could fill the ring, and nothing has a bound.
        let least_ns = (mode == Mode::Standard).then_some(11_620);
        assert_eq!((maximum.delay_ns, bound.least_ns), (11_620, least_ns), "{mode:?}");
        // A bound rounds each hop up.
        assert!(bound.delay_ns.is_none_or(|ns| (11_620..=11_625).contains(&ns)), "{mode:?} {bound:?}");
        assert_eq!(bound.delay_ns.is_some(), mode == Mode::Standard);
    }
}

#[test]
fn bounds_with_shapers_and_preemption_are_reached() {
    let open = "clock = \"tai\"\noverhead = 24\ngates = [{ mask = 3, for = \"1ms\" }]";
    let with = |class: &str, rule: &str| {
        let text = text_next_to_best_effort(open).replace(class, &format!("{class}\n{rule}"));
        parse(&text).unwrap()
    };
    let of = |network: &Network, least_percent: u64| {
        let options = simulated(Mode::Standard, Ports::Hardware, 0);
        let maximum = measured::simulate(network, &options, 1_000_000_000).unwrap()[0];
        let bounds = bounds::of(network, &Options { known_phases: false, ..Options::of(options) }).unwrap();
        let bound_ns = bounds.flows[0].delay_ns.unwrap();
        assert!(maximum.delay_ns <= bound_ns, "{} {bound_ns}", maximum.delay_ns);
        assert!(maximum.delay_ns * 100 >= bound_ns * least_percent, "{} {bound_ns}", maximum.delay_ns);
        bound_ns
    };
    let plain_ns = of(&parse(&text_next_to_best_effort(open)).unwrap(), 95);
    // In place of a full frame, torque waits for 143 octets.
    let express = with("name = \"other\"", "preemptible = true");
    assert_eq!(plain_ns - of(&express, 85), (1514 + 24 - 143) * 80);
    let mut short = express;
    short.flows[1].size.value = 119;
    assert_eq!(plain_ns - of(&short, 95), (1514 + 24 - 143) * 80);
    // A single frame that has credit waits no longer than without a shaper, but for rounding.
    let shaped_ns = of(&with("name = \"control\"", "idle_slope = \"10Mbit/s\""), 95);
    assert!((0..10).contains(&(shaped_ns - plain_ns)), "{shaped_ns} {plain_ns}");
}

/// A flow that sends as fast as it can delays those below it by no more than its shaper permits.
#[test]
fn a_shaper_bounds_what_is_below_it() {
    let text =
        text_next_to_best_effort("clock = \"tai\"\noverhead = 24\ngates = [{ mask = 3, for = \"1ms\" }]")
            .replace("pcp = 1\nvlan = 5", "vlan = 5")
            .replace("flat_out = true", "flat_out = true\npcp = 1\nvlan = 5");
    let options = Options::of(simulated(Mode::Standard, Ports::Hardware, 0));
    let bound = |text: &str| {
        let network = parse(text).unwrap();
        let bounds = bounds::of(&network, &options).unwrap();
        let maximum = measured::simulate(&network, &options.simulated, 1_000_000_000).unwrap()[0];
        let bound_ns = bounds.flows[0].delay_ns;
        assert!(bound_ns.is_none_or(|bound_ns| maximum.delay_ns <= bound_ns), "{maximum:?} {bound_ns:?}");
        (bound_ns, bounds.flows[1].delay_ns)
    };
    assert_eq!(bound(&text).0, None);
    let (torque, video) =
        bound(&text.replace("name = \"control\"", "name = \"control\"\nidle_slope = \"30Mbit/s\""));
    assert!(torque.is_some() && video.is_none(), "{torque:?} {video:?}");
}

/// What has no bound, with the reason.
#[test]
fn a_flow_without_a_bound_has_a_reason() {
    use bounds::NoBound;
    let of = |network: &Network, mode| {
        let bounds = bounds::of(network, &Options::of(simulated(mode, Ports::Hardware, 0))).unwrap();
        (bounds.flows[0].reason.clone(), bounds.flows[1].reason.clone())
    };
    let open = next_to_best_effort("");
    assert!(
        matches!(of(&open, Mode::Standard), (None, Some(NoBound::Overload { flow: Some(flow), .. })) if flow == "video")
    );
    // Linux sends in order without a schedule.
    assert!(matches!(of(&open, Mode::Linux).0, Some(NoBound::Overload { .. })));
    let shared = next_to_best_effort(
        "clock = \"tai\"\ngates = [{ mask = 3, for = \"500us\" }, { mask = 1, for = \"500us\" }]",
    );
    assert!(matches!(of(&shared, Mode::Linux).0, Some(NoBound::SharedBudget { .. })));
    let short = next_to_best_effort(
        "clock = \"tai\"\noverhead = 24\ngates = [{ mask = 2, for = \"9us\" }, { mask = 1, for = \"991us\" }]",
    );
    assert!(matches!(of(&short, Mode::Standard).0, Some(NoBound::FitsNoWindow { .. })));
    let cut = next_to_best_effort(
        "clock = \"tai\"\ncycle_time = \"2ms\"\ngates = [{ mask = 2, for = \"500us\" }, { mask = 1, for = \"500us\" }]",
    );
    assert!(matches!(of(&cut, Mode::Linux).0, Some(NoBound::NoModel { .. })));
}
