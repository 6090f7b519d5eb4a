//! The simulator compared with a real kernel, frame by frame, on randomly generated switches.

use tardy_lab::machine::Pace;
use tardy_tsn::network::{Network, Schedule};
use tardy_tsn::simulate::agreement::{Agreement, agreement, rules};
use tardy_tsn::simulate::engine::Arrival;
use tardy_tsn::simulate::replay::{Entrance, replay};
use tardy_tsn::simulate::{Options, Ports};

use crate::scripted::{Printed, Scene, SharedBoot};
use crate::switch;

/// A CPU of a billion instructions per second.
const PACE: Pace = Pace::Instructions { shift: 0 };
const KERNEL: &str = "debian:6.12-rt";
/// How many files the long test compares with the kernel. `make test` compares a twentieth of them.
const FILES: usize = 200;
const TWENTIETH: usize = 20;
/// The rate that the emulated CPU keeps up with as talker, switch, wire and listener (docs/tsn.md).
const BITS_PER_SECOND: u64 = 10_000_000;
/// Where the kernel records when the gates' timer fires.
const TRACE: &str = "/sys/kernel/tracing/instances/gates";

/// The first seeds whose switch has the rate [`BITS_PER_SECOND`].
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
fn scene(seeds: &[u64]) -> Scene {
    let files = seeds.iter().map(|seed| (format!("{seed}.toml"), tardy_tsn::generate::file(*seed)));
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let script =
        format!("mkdir {TRACE}\necho 8192 > {TRACE}/buffer_size_kb\nSEEDS='{}'\n{TEST}", seeds.join(" "));
    Scene { name: "agreement", script, files: files.collect(), ..switch::parts() }
}

/// A test whose switch never releases some frames exits with an error status; the next one begins in any case.
const TEST: &str = r"
event=/sys/kernel/tracing/instances/gates/events/timer/hrtimer_expire_entry/enable
trace=/sys/kernel/tracing/instances/gates/trace
for seed in $SEEDS; do
    part $seed
    echo > $trace
    echo 1 > $event
    tardy tsn test $FILES/$seed.toml --netns --with-shaper --for 60ms -q --frames /lab/results/$seed.csv \
        -o /lab/results/$seed.run.json > /dev/null
    echo 0 > $event
    grep function=advance_sched $trace > /lab/results/$seed.timers
done
true
";

/// A frame of `--frames`.
#[derive(Clone, Copy)]
struct Seen {
    arrival: Arrival,
    queued_ns: i64,
    left_ns: i64,
}

/// The frames of a list. Each must be in the kernel's trace.
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

/// The end of each frame's transmission, in ns. It begins when the frame leaves its queue, or when the frame before it
/// ends.
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

/// When the gates' timer fired, on the schedule's clock.
fn timers_ns(trace: &str) -> Vec<i64> {
    let fired = |line: &str| line.rsplit_once("now=")?.1.trim().parse().ok();
    trace.lines().map(|line| fired(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// How long after the beginning of an entry the timer fired while there were frames, sorted.
fn gates_ns(timers_ns: &[i64], seen: &[Seen], schedule: &Schedule) -> Vec<i64> {
    let first_ns = seen.iter().map(|one| one.queued_ns).min().unwrap_or(i64::MAX);
    let last_ns = seen.iter().map(|one| one.left_ns).max().unwrap_or(i64::MIN);
    let cycle_ns = schedule.cycle_ns().cast_signed();
    let late_ns = |fired_ns: &i64| {
        let mut since_ns = (fired_ns - schedule.base_time_ns.value).rem_euclid(cycle_ns);
        for entry in &schedule.entries {
            let entry_ns = i64::from(entry.entry.interval_ns);
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

/// Compares one file's frames with the simulator's: the end of its transmission by the kernel's trace, and the time of
/// its receipt.
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
    let compared = |what: &str, observed: &[Arrival], latency_ns: i64| {
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
        compared("through the wire", &left, last(&gates)),
        compared("received", &received, last(&gates) + last(&receipts)),
    ]
}

#[test]
fn random_switches_agree_with_the_kernel_in_every_frame() {
    static FEW: SharedBoot = SharedBoot::at_pace(PACE, KERNEL, || vec![scene(&seeds(FILES / TWENTIETH))]);
    let Some(printed) = FEW.scene("agreement") else { return };
    agree(printed, &seeds(FILES / TWENTIETH));
}

#[test]
#[ignore = "takes twenty times as long as the test above; `make long-tests` runs it"]
fn long_random_switches_agree_with_the_kernel_in_every_frame() {
    static ALL: SharedBoot = SharedBoot::at_pace(PACE, KERNEL, || vec![scene(&seeds(FILES))]);
    let Some(printed) = ALL.scene("agreement") else { return };
    agree(printed, &seeds(FILES));
}

fn agree(printed: &Printed, seeds: &[u64]) {
    let compared: Vec<(u64, [Agreement; 2])> = seeds
        .iter()
        .map(|seed| {
            let (csv, trace) =
                (printed.text_file(&format!("{seed}.csv")), printed.text_file(&format!("{seed}.timers")));
            (*seed, compare(*seed, csv, trace, &printed.run(&format!("{seed}.run.json"))))
        })
        .collect();
    let frames: u64 = compared.iter().map(|(_, [agreed, _])| agreed.frames).sum();
    let is_whole = |agreed: &[Agreement; 2]| agreed.iter().all(Agreement::is_whole);
    let wrong: Vec<u64> =
        compared.iter().filter(|(_, agreed)| !is_whole(agreed)).map(|(seed, _)| *seed).collect();
    println!("{} of {} files agree, {frames} frames compared", seeds.len() - wrong.len(), seeds.len());
    assert_eq!(wrong, Vec::<u64>::new(), "seeds of files whose frames differ from the simulator's");
}
