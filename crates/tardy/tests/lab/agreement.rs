//! The simulator against a real kernel, frame by frame, on switches that chance made up.

use std::path::Path;
use std::time::{Duration, Instant};

use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::orders::Orders;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_tsn::network::{Network, Schedule};
use tardy_tsn::simulate::agreement::{Agreement, agreement, rules};
use tardy_tsn::simulate::engine::Arrival;
use tardy_tsn::simulate::replay::{Entrance, replay};
use tardy_tsn::simulate::{Options, Ports};

use crate::guests;

/// How many files are held against the kernel each time, and in the long test.
const FILES: usize = 12;
const FILES_LONG: usize = 50;
/// The share of them that must agree in every frame: 43 of 50 were last measured (docs/tsn-simulator.md says what is known
/// of the others).
const AGREE_MIN: f64 = 0.75;
/// The rate that the emulated CPU keeps up with, being talker, switch, wire and listener at once (docs/tsn.md).
const BITS_PER_SECOND: u64 = 10_000_000;
/// What a kernel needs for the switches; `tardy lab run` loads the same.
const MODULES: [&str; 9] = [
    "veth",
    "tun",
    "bridge",
    "8021q",
    "nf_tables",
    "nft_meta_bridge",
    "sch_taprio",
    "sch_tbf",
    "sch_ingress",
];

/// The first seeds whose switch has the rate.
fn seeds(count: usize) -> Vec<u64> {
    let has_rate = |seed: &u64| {
        let speed = network(*seed).switches[0].ports[0].speed.value.known();
        speed == Some(BITS_PER_SECOND)
    };
    (0..).filter(has_rate).take(count).collect()
}

fn network(seed: u64) -> Network {
    tardy_tsn::file::parse(&tardy_tsn::generate::file(seed)).unwrap()
}

fn schedule(network: &Network) -> &Schedule {
    network.switches[0].ports.iter().find_map(|port| port.schedule.as_ref()).unwrap()
}

/// A test of each file, one after the other.
fn experiment(guests: &Path, seeds: &[u64]) -> Experiment {
    let store = PackageStore::of_this_user().unwrap();
    let mut files = Vec::new();
    for (package, path) in [("nftables", "/usr/sbin/nft"), ("busybox-static", "/bin/busybox")] {
        let tool = store.fetch_tool_root(Arch::X86_64, &[package], &mut |text| eprintln!("{text}")).unwrap();
        files.extend(libraries::tool(&tool.root, path).unwrap());
    }
    let mut commands = Vec::new();
    for seed in seeds {
        let content = tardy_tsn::generate::file(*seed).into_bytes();
        files.push((format!("lab/{seed}.toml"), Entry::File { content, executable: false }));
        let line = format!(
            "/tardy tsn test /lab/{seed}.toml --netns --with-shaper --for 60ms -q --frames /lab/results/{seed}.csv \
             -o /lab/results/{seed}.run.json > /dev/null"
        );
        // A test whose switch holds frames back for good ends with a status of its own, and the next shall begin all the same.
        commands.push(["/bin/busybox", "sh", "-c", &format!("{line}; true")].map(str::to_owned).to_vec());
    }
    Experiment {
        machine: Machine::Pc,
        // A CPU of a billion instructions a second.
        pace: Pace::Instructions { shift: 0 },
        memory_mib: 512,
        patience: Duration::from_secs(900),
        orders: Orders { commands, ..Orders::default() },
        parts: Parts {
            tardy: std::fs::read(guests.join("tardy-guest-x86_64")).unwrap(),
            files,
            ..Parts::default()
        },
    }
}

/// A frame of `--frames`.
#[derive(Clone, Copy)]
struct Seen {
    arrival: Arrival,
    class: u8,
    queued_ns: i64,
    left_ns: i64,
}

/// The frames of a list, each of which the kernel's trace must tell of.
fn seen(csv: &str, network: &Network) -> Vec<Seen> {
    let flow_of = |name: &str| network.flows.iter().position(|flow| flow.name.value == name).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, sequence, sent, arrived, bytes, queued, left] = fields[..] else { panic!("{line}") };
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{line}"));
        let flow = flow_of(name.trim_matches('"'));
        let arrival = Arrival {
            flow: flow as u32,
            sequence: sequence.parse().unwrap(),
            sent_ns: number(sent),
            arrived_ns: number(arrived),
            bytes: bytes.parse().unwrap(),
        };
        let class = network.switches[0].class_of(&network.flows[flow].marks);
        Seen { arrival, class, queued_ns: number(queued), left_ns: number(left) }
    };
    csv.lines().skip(1).map(line).collect()
}

/// How long after the end of its time on the wire each frame was received, sorted. The wire begins with a frame when it left
/// its queue, or when the one before is through.
fn receipts_ns(seen: &[Seen]) -> Vec<i64> {
    let mut seen = seen.to_vec();
    seen.sort_by_key(|one| (one.left_ns, one.arrival.arrived_ns));
    let mut free_ns = i64::MIN;
    let receipt = |one: &Seen| {
        let wire_ns = u64::from(one.arrival.bytes) * 8_000_000_000 / BITS_PER_SECOND;
        free_ns = free_ns.max(one.left_ns) + wire_ns.cast_signed();
        one.arrival.arrived_ns - free_ns
    };
    let mut receipts: Vec<i64> = seen.iter().map(receipt).collect();
    receipts.sort_unstable();
    receipts
}

/// How long after its gate should have opened each frame left that waited for just that, sorted.
fn gates_ns(seen: &[Seen], schedule: &Schedule) -> Vec<i64> {
    let mut seen = seen.to_vec();
    seen.sort_by_key(|one| one.left_ns);
    let cycle_ns = schedule.cycle_ns().cast_signed();
    let mut gates = Vec::new();
    let mut left_before_ns = i64::MIN;
    for one in &seen {
        let phase_ns = (one.left_ns - schedule.base_time_ns.value).rem_euclid(cycle_ns);
        let mut start_ns = 0;
        let last = schedule.entries.last().unwrap();
        let mut before = last.gate_mask.value;
        for entry in &schedule.entries {
            let end_ns = start_ns + i64::from(entry.duration_ns.value);
            if phase_ns < end_ns {
                let opened_ns = one.left_ns - phase_ns + start_ns;
                let opens = entry.gate_mask.value & !before & 1 << one.class != 0;
                if opens && one.queued_ns < opened_ns && left_before_ns < opened_ns {
                    gates.push(one.left_ns - opened_ns);
                }
                break;
            }
            (start_ns, before) = (end_ns, entry.gate_mask.value);
        }
        left_before_ns = one.left_ns;
    }
    gates.sort_unstable();
    gates
}

fn last(sorted: &[i64]) -> i64 {
    sorted.last().copied().unwrap_or(0)
}

fn median(sorted: &[i64]) -> i64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Holds one file's frames against the simulator's, and says what came of it.
fn compare(seed: u64, csv: &str, run: &tardy_record::Run) -> Agreement {
    let network = network(seed);
    let seen = seen(csv, &network);
    let (receipts, gates) = (receipts_ns(&seen), gates_ns(&seen, schedule(&network)));
    let observed: Vec<Arrival> = seen.iter().map(|one| one.arrival).collect();
    let entered: Vec<Arrival> =
        seen.iter().map(|one| Arrival { sent_ns: one.queued_ns, ..one.arrival }).collect();
    let options = Options {
        ports: Ports::Virtual,
        gate_latency_ns: median(&gates).unsigned_abs(),
        queue_frames: u32::MAX,
        ..Options::default()
    };
    let simulated = replay(&network, &options, &entered, Entrance::LastPort).unwrap();
    let latency_ns = (last(&gates) + last(&receipts)).unsigned_abs();
    let agreed = agreement(&simulated, &observed, &rules(run, 0, latency_ns));
    println!(
        "seed {seed}: {} frames, {} of them at a gate's opening; gate latency {} ns (median) to {} ns, receipt {} ns to {} ns; \
         times from {} ns to {} ns after the simulator's; order {}, slot {}, time {}, only simulated {}, only observed {}",
        agreed.frames,
        gates.len(),
        median(&gates),
        last(&gates),
        median(&receipts),
        last(&receipts),
        agreed.earliest_ns,
        agreed.latest_ns,
        agreed.out_of_order,
        agreed.other_slot,
        agreed.other_time,
        agreed.only_simulated,
        agreed.only_observed,
    );
    agreed.examples.iter().for_each(|example| println!("  {example}"));
    agreed
}

/// Tests the first `count` switches in a guest and holds each frame against the simulator.
fn held_against_the_kernel(count: usize) {
    let Some(guests) = guests::directory() else { return };
    let spec = KernelSpec::parse("debian:6.12-rt").unwrap();
    let kernel = kernel::find(&spec, Arch::X86_64, false, &mut |text| eprintln!("{text}")).unwrap();
    let modules = kernel::modules::resolve(&kernel, &MODULES.map(str::to_owned)).unwrap();
    let seeds = seeds(count);
    let began = Instant::now();
    let host = Host { core: Some(0), cancel: None };
    let outcome = experiment(&guests, &seeds).run(&kernel, modules, host, &mut |_| {}).unwrap();
    println!("{} files in {:.0} s, status {}", seeds.len(), began.elapsed().as_secs_f64(), outcome.status);
    let text = |name: &str| {
        let file = outcome.files.iter().find(|(given, _)| given == name);
        String::from_utf8(file.unwrap_or_else(|| panic!("no {name}")).1.clone()).unwrap()
    };
    let compared: Vec<(u64, Agreement)> = seeds
        .iter()
        .map(|seed| {
            let run = tardy_record::file::from_text(text(&format!("{seed}.run.json")).as_bytes()).unwrap();
            (*seed, compare(*seed, &text(&format!("{seed}.csv")), &run))
        })
        .collect();
    let frames: u64 = compared.iter().map(|(_, agreed)| agreed.frames).sum();
    let whole = compared.iter().filter(|(_, agreed)| agreed.is_whole()).count();
    println!("{whole} of {} files agree, {frames} frames compared", compared.len());
    assert!(compared.iter().all(|(_, one)| one.frames > 0 && one.only_simulated + one.only_observed == 0));
    assert!(whole as f64 >= AGREE_MIN * count as f64, "{whole} of {count}");
}

#[test]
fn most_switches_of_chance_agree_with_the_kernel_in_every_frame() {
    held_against_the_kernel(FILES);
}

#[test]
#[ignore = "minutes; the test above holds the first of its files"]
fn fifty_switches_of_chance_are_held_against_the_kernel() {
    held_against_the_kernel(FILES_LONG);
}
