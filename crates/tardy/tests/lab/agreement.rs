//! The simulator against a real kernel, frame by frame, on switches that chance made up.

use std::path::Path;
use std::time::{Duration, Instant};

use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::orders::Orders;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_tsn::kernel_modules::KERNEL_MODULES;
use tardy_tsn::network::{Network, Schedule};
use tardy_tsn::simulate::agreement::{Agreement, agreement, rules};
use tardy_tsn::simulate::engine::Arrival;
use tardy_tsn::simulate::replay::{Entrance, replay};
use tardy_tsn::simulate::{Options, Ports};

use crate::guests::{self, Turn};

/// How many files are held against the kernel, and how many of them in every run of the tests.
const FILES: usize = 50;
const FEW: usize = 10;
/// The rate that the emulated CPU keeps up with, being talker, switch, wire and listener at once (docs/tsn.md).
const BITS_PER_SECOND: u64 = 10_000_000;
/// Where the kernel notes when the gates' timer fires.
const TRACE: &str = "/sys/kernel/tracing/instances/gates";

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
        let event = format!("{TRACE}/events/timer/hrtimer_expire_entry/enable");
        let begin = format!(
            "mkdir -p {TRACE}; echo 8192 > {TRACE}/buffer_size_kb; echo > {TRACE}/trace; echo 1 > {event}"
        );
        let end = format!(
            "echo 0 > {event}; grep function=advance_sched {TRACE}/trace > /lab/results/{seed}.timers"
        );
        // A test whose switch holds frames back for good ends with a status of its own, and the next shall begin all the same.
        let all = format!("{begin}; {line}; {end}; true");
        commands.push(["/bin/busybox", "sh", "-c", &all].map(str::to_owned).to_vec());
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
    queued_ns: i64,
    left_ns: i64,
}

/// The frames of a list, each of which the kernel's trace must tell of.
fn seen(csv: &str, network: &Network) -> Vec<Seen> {
    let flow_of = |name: &str| network.flows.iter().position(|flow| flow.name.value == name).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, name, sequence, sent, arrived, bytes, queued, left] = fields[..] else { panic!("{line}") };
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{line}"));
        let flow = flow_of(name.trim_matches('"'));
        let arrival = Arrival {
            flow: flow as u32,
            sequence: sequence.parse().unwrap(),
            sent_ns: number(sent),
            arrived_ns: number(arrived),
            bytes: bytes.parse().unwrap(),
        };
        Seen { arrival, queued_ns: number(queued), left_ns: number(left) }
    };
    csv.lines().skip(1).map(line).collect()
}

/// When each frame was through the wire, which begins with it when it left its queue, or when the one before is through.
fn through_ns(seen: &[Seen]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by_key(|place| (seen[*place].left_ns, seen[*place].arrival.arrived_ns));
    let (mut through, mut free_ns) = (vec![0; seen.len()], i64::MIN);
    for place in order {
        let wire_ns = u64::from(seen[place].arrival.bytes) * 8_000_000_000 / BITS_PER_SECOND;
        free_ns = free_ns.max(seen[place].left_ns) + wire_ns.cast_signed();
        through[place] = free_ns;
    }
    through
}

/// When the gates' timer fired, on its own clock: the schedule's.
fn timers_ns(trace: &str) -> Vec<i64> {
    let fired = |line: &str| line.rsplit_once("now=")?.1.trim().parse().ok();
    trace.lines().map(|line| fired(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// How long after an entry's beginning the timer fired while there were frames, sorted.
fn gates_ns(timers_ns: &[i64], seen: &[Seen], schedule: &Schedule) -> Vec<i64> {
    let first_ns = seen.iter().map(|one| one.queued_ns).min().unwrap_or(i64::MAX);
    let last_ns = seen.iter().map(|one| one.left_ns).max().unwrap_or(i64::MIN);
    let cycle_ns = schedule.cycle_ns().cast_signed();
    let late_ns = |fired_ns: &i64| {
        let mut since_ns = (fired_ns - schedule.base_time_ns.value).rem_euclid(cycle_ns);
        for entry in &schedule.entries {
            let entry_ns = i64::from(entry.duration_ns.value);
            if since_ns < entry_ns {
                break;
            }
            since_ns -= entry_ns;
        }
        since_ns
    };
    let fired = timers_ns.iter().filter(|fired_ns| (first_ns..=last_ns).contains(fired_ns));
    let mut gates: Vec<i64> = fired.map(late_ns).collect();
    gates.sort_unstable();
    gates
}

fn last(sorted: &[i64]) -> i64 {
    sorted.last().copied().unwrap_or(0)
}

fn median(sorted: &[i64]) -> i64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Holds one file's frames against the simulator's, and says what came of it: with each frame's time when it was through
/// the wire by the kernel's trace, and when it was received.
fn compare(seed: u64, csv: &str, trace: &str, run: &tardy_record::Run) -> [Agreement; 2] {
    let network = network(seed);
    let (seen, timers) = (seen(csv, &network), timers_ns(trace));
    let (through, gates) = (through_ns(&seen), gates_ns(&timers, &seen, schedule(&network)));
    let received: Vec<Arrival> = seen.iter().map(|one| one.arrival).collect();
    let left = |(arrival, through_ns): (&Arrival, &i64)| Arrival { arrived_ns: *through_ns, ..*arrival };
    let left: Vec<Arrival> = received.iter().zip(&through).map(left).collect();
    let mut receipts: Vec<i64> =
        received.iter().zip(&left).map(|(received, left)| received.arrived_ns - left.arrived_ns).collect();
    receipts.sort_unstable();
    let entered: Vec<Arrival> =
        seen.iter().map(|one| Arrival { sent_ns: one.queued_ns, ..one.arrival }).collect();
    let options = Options {
        ports: Ports::Virtual,
        gate_latency_ns: median(&gates).unsigned_abs(),
        gate_timer_ns: timers,
        queue_frames: u32::MAX,
        ..Options::default()
    };
    let simulated = replay(&network, &options, &entered, Entrance::LastPort).unwrap();
    println!(
        "seed {seed}: {} frames, {} openings; gate latency {} ns (median) to {} ns, receipt {} ns to {} ns",
        seen.len(),
        gates.len(),
        median(&gates),
        last(&gates),
        median(&receipts),
        last(&receipts),
    );
    let held = |what: &str, observed: &[Arrival], latency_ns: i64| {
        let agreed = agreement(&simulated, observed, &rules(run, 0, latency_ns.unsigned_abs()));
        println!(
            "  {what}: from {} ns to {} ns after the simulator's time; order {}, slot {}, time {}, only simulated {}, only \
             observed {}",
            agreed.earliest_ns,
            agreed.latest_ns,
            agreed.out_of_order,
            agreed.other_slot,
            agreed.other_time,
            agreed.only_simulated,
            agreed.only_observed,
        );
        agreed.examples.iter().for_each(|example| println!("    {example}"));
        agreed
    };
    [
        held("through the wire", &left, last(&gates)),
        held("received", &received, last(&gates) + last(&receipts)),
    ]
}

#[test]
fn switches_of_chance_agree_with_the_kernel_in_every_frame() {
    agree(FEW);
}

#[test]
#[ignore = "takes five minutes; `make agreement` runs it"]
fn fifty_switches_of_chance_agree_with_the_kernel_in_every_frame() {
    agree(FILES);
}

fn agree(count: usize) {
    let Some(guests) = guests::directory() else { return };
    let spec = KernelSpec::parse("debian:6.12-rt").unwrap();
    let kernel = kernel::find(&spec, Arch::X86_64, false, &mut |text| eprintln!("{text}")).unwrap();
    let modules = kernel::modules::resolve(&kernel, &KERNEL_MODULES.map(ModuleRequest::parse), &[]).unwrap();
    let seeds = seeds(count);
    let began = Instant::now();
    let turn = Turn::on_one();
    let host = Host { core: Some(turn.core()), cancel: None };
    let outcome = experiment(&guests, &seeds).run(&kernel, modules, host, &mut |_| {}).unwrap();
    println!("{} files in {:.0} s, status {}", seeds.len(), began.elapsed().as_secs_f64(), outcome.status);
    let text = |name: &str| {
        let file = outcome.files.iter().find(|(given, _)| given == name);
        String::from_utf8(file.unwrap_or_else(|| panic!("no {name}")).1.clone()).unwrap()
    };
    let compared: Vec<(u64, [Agreement; 2])> = seeds
        .iter()
        .map(|seed| {
            let run = tardy_record::file::from_text(text(&format!("{seed}.run.json")).as_bytes()).unwrap();
            let (csv, trace) = (text(&format!("{seed}.csv")), text(&format!("{seed}.timers")));
            (*seed, compare(*seed, &csv, &trace, &run))
        })
        .collect();
    let frames: u64 = compared.iter().map(|(_, [agreed, _])| agreed.frames).sum();
    let is_whole = |agreed: &[Agreement; 2]| agreed.iter().all(Agreement::is_whole);
    let wrong: Vec<u64> =
        compared.iter().filter(|(_, agreed)| !is_whole(agreed)).map(|(seed, _)| *seed).collect();
    println!("{} of {count} files agree, {frames} frames compared", count - wrong.len());
    assert_eq!(wrong, Vec::<u64>::new(), "files whose frames came otherwise than in the simulator");
}
