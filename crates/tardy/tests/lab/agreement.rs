//! The simulator compared with a real kernel, frame by frame and port by port, on randomly generated switches.

mod trace;

use std::collections::BTreeMap;

use tardy_lab::kernel::KernelSpec;
use tardy_lab::machine::Pace;
use tardy_record::switch::PortSchedule;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::agreement::{Agreement, Frames, agreement, rules};
use tardy_tsn::simulate::engine::{self, Arrival, Lost};
use tardy_tsn::simulate::replay::{Entrance, Entry, replay};
use tardy_tsn::simulate::{Options, Ports};
use tardy_tsn::transmission_time::{OVERHEAD_BYTES, OnCable};

use self::trace::{Fate, Frame, Port, SHORTENED, Trace};
use crate::scripted::{self, Printed, Scene, SharedBoot};
use crate::{guests, switch};

/// A CPU of a billion instructions per second.
pub(crate) const PACE: Pace = Pace::Instructions { shift: 0 };
pub(crate) const KERNEL: &str = "debian:6.12-rt";
/// How many files a boot of the long test compares with the kernel: a guest may take only so long.
const FILES: usize = 20;
/// The short test compares one file in so many of these.
const ONE_IN: usize = 2;
/// How many boots the long test has.
const BOOTS: usize = 10;
/// The rate that the emulated CPU keeps up with as talker, switch, wire and listener (docs/tsn.md).
const BITS_PER_SECOND: u64 = 10_000_000;
/// Where the kernel records the frames at the switch's ports and when their gates' timers fire.
const TRACE: &str = "/sys/kernel/tracing/instances/gates";

/// The files of the short test, and another scene at the rate that this CPU keeps up with.
pub(crate) static FEW: SharedBoot =
    SharedBoot::at_pace(PACE, KERNEL, || vec![switch::three_switches::scene(), scene(&few())]);

/// The first seeds whose switch has the rate [`BITS_PER_SECOND`].
fn seeds(count: usize) -> Vec<u64> {
    let has_rate = |seed: &u64| {
        let speed = network(*seed).switches[0].ports[0].speed.value.known();
        speed == Some(BITS_PER_SECOND)
    };
    (0..).filter(has_rate).take(count).collect()
}

/// The seeds of the short test.
fn few() -> Vec<u64> {
    seeds(FILES).into_iter().step_by(ONE_IN).collect()
}

fn network(seed: u64) -> Network {
    tardy_tsn::file::parse(&tardy_tsn::generate::file(seed)).unwrap()
}

/// A test of each file, one after the other.
fn scene(seeds: &[u64]) -> Scene {
    let files = seeds.iter().map(|seed| (format!("{seed}.toml"), tardy_tsn::generate::file(*seed)));
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let script = format!(
        "mkdir {TRACE}\ncd {TRACE}\nSEEDS='{}'\nshortened() {{ {SHORTENED} trace; }}\n{TEST}",
        seeds.join(" ")
    );
    Scene { name: "agreement", script, files: files.collect(), ..switch::parts() }
}

/// A test whose switch loses frames exits with an error status; the next one begins in any case.
const TEST: &str = r#"
echo 16384 > buffer_size_kb
echo tai > trace_clock
echo nohash-ptr > trace_options
echo 'name == "out0" || name == "out1"' > events/net/net_dev_queue/filter
echo 'handle == 0x75140000' > events/qdisc/qdisc_enqueue/filter
echo 'handle == 0x75140000 && packets > 0' > events/qdisc/qdisc_dequeue/filter
events='net/net_dev_queue qdisc/qdisc_enqueue qdisc/qdisc_dequeue timer/hrtimer_expire_entry'
enable() { for event in $events; do echo $1 > events/$event/enable; done; }
for seed in $SEEDS; do
    part $seed
    until_true sh -c '! grep -q advance_sched /proc/timer_list'
    echo > trace
    enable 1
    tardy tsn test $FILES/$seed.toml --netns --with-shaper --for 60ms -q --frames /lab/results/$seed.csv \
        -o /lab/results/$seed.run.json > /dev/null
    enable 0
    shortened > /lab/results/$seed.trace
    grep -h overrun: per_cpu/cpu0/stats
done
true
"#;

fn options() -> Options {
    Options { ports: Ports::Virtual, ..Options::default() }
}

/// When each frame was received, and its bytes on the wire.
fn received(csv: &str, network: &Network) -> BTreeMap<(usize, u64), (i64, u32)> {
    let flow_of = |name: &str| network.flows.iter().position(|flow| flow.name.value == name).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, name, sequence, _, arrived, bytes, ..] = fields[..] else { panic!("{line}") };
        let key = (flow_of(name.trim_matches('"')), sequence.parse().unwrap());
        (key, (arrived.parse().unwrap(), bytes.parse().unwrap()))
    };
    csv.lines().skip(1).map(line).collect()
}

/// What the simulator returns for frames that the kernel treated like these: a frame arrives at the end of its
/// transmission. That begins when the frame leaves its queue, or after the gap of the frame before it.
fn observed(frames: &[Frame], network: &Network) -> Frames {
    let mut of_kernel = Frames::default();
    let mut sent: Vec<(i64, &Frame)> = Vec::new();
    for frame in frames {
        let fate = match frame.fate {
            Fate::Left(left_ns) => {
                sent.push((left_ns, frame));
                continue;
            }
            Fate::Dropped => engine::Fate::TooLong,
            Fate::Waits => engine::Fate::AtGates,
        };
        let (flow, sequence, sent_ns) = (frame.flow as u32, frame.sequence, frame.reached_ns);
        of_kernel.lost.push(Lost { flow, sequence, sent_ns, bytes: 0, fate });
    }
    // Frames that leave together keep the order in which they were queued.
    sent.sort_by_key(|(left_ns, _)| *left_ns);
    let mut free_ns = i64::MIN;
    for (left_ns, frame) in sent {
        let size = network.flows[frame.flow].size.value;
        let on_cable = OnCable::of(size, BITS_PER_SECOND);
        let start_ns = free_ns.max(left_ns);
        free_ns = start_ns + on_cable.busy_ns().cast_signed();
        of_kernel.arrivals.push(Arrival {
            flow: frame.flow as u32,
            sequence: frame.sequence,
            sent_ns: frame.reached_ns,
            arrived_ns: start_ns + on_cable.sent_ns().cast_signed(),
            bytes: size.max(60) + OVERHEAD_BYTES,
        });
    }
    of_kernel
}

/// How long after the beginning of an entry the timer fired while there were frames, sorted.
fn gates_ns(port: &Port, schedule: &PortSchedule) -> Vec<i64> {
    let first_ns = port.frames.iter().map(|one| one.reached_ns).min().unwrap_or(i64::MAX);
    let left = |one: &Frame| if let Fate::Left(left_ns) = one.fate { Some(left_ns) } else { None };
    let last_ns = port.frames.iter().filter_map(left).max().unwrap_or(i64::MIN);
    let late_ns = |fired_ns: &i64| {
        let mut since_ns = (fired_ns - port.list_start_ns).rem_euclid(schedule.cycle_ns.cast_signed());
        for entry in &schedule.entries {
            let entry_ns = i64::from(entry.interval_ns);
            if since_ns < entry_ns {
                break;
            }
            since_ns -= entry_ns;
        }
        since_ns
    };
    let fired = port.timers_ns.iter().filter(|fired_ns| (first_ns..=last_ns).contains(fired_ns));
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

/// The resolution of the trace's times.
const RESOLUTION_NS: i64 = 1000;

/// How long the switch's software takes at most from a frame's reaching the port to its question whether the frame may
/// leave: that of the fastest frame, since the trace does not show questions that are answered with no.
fn asked_after_ns(port: &Port) -> i64 {
    let took = |frame: &Frame| match frame.fate {
        Fate::Left(left_ns) => Some(left_ns - frame.reached_ns),
        Fate::Dropped | Fate::Waits => None,
    };
    port.frames.iter().filter_map(took).min().map_or(0, |took_ns| took_ns + RESOLUTION_NS)
}

fn all_agree(agreed: &[Agreement]) -> bool {
    !agreed.is_empty() && agreed.iter().all(Agreement::is_whole)
}

/// The frames of one file at one port, compared as in [`compare_asked`]. Empty if no frame reached the port.
///
/// A frame that just fits before its gate closes when it reaches the port may not fit any more when the kernel asks. So
/// the simulator asks at the earliest time, and if frames then differ, at the latest.
fn compare_port(
    network: &Network,
    port: &Port,
    received: &BTreeMap<(usize, u64), (i64, u32)>,
    run: &tardy_record::Run,
) -> Vec<Agreement> {
    let at_once = compare_asked(network, port, received, run, 0);
    if at_once.is_empty() || all_agree(&at_once) {
        return at_once;
    }
    compare_asked(network, port, received, run, asked_after_ns(port))
}

/// The frames of one file at one port, compared in two ways: the end of their transmission by the kernel's trace, and,
/// at the last port, the time of their receipt. The simulator asks whether a frame may leave `asked_after_ns` after it
/// reached the port. Empty if no frame reached the port.
fn compare_asked(
    network: &Network,
    port: &Port,
    received: &BTreeMap<(usize, u64), (i64, u32)>,
    run: &tardy_record::Run,
    asked_after_ns: i64,
) -> Vec<Agreement> {
    let name = &network.switches[port.id.switch].ports[port.id.port].interface.value;
    let is_last = port.id.switch + 1 == network.switches.len();
    if port.frames.is_empty() {
        // The switch before lost them all, which is compared there.
        println!("  {name}: no frames");
        assert!(!is_last || received.is_empty(), "frames arrived that did not leave");
        return Vec::new();
    }
    let schedules = &run.switch.as_ref().unwrap().ports;
    let schedule = schedules.iter().find(|schedule| schedule.port == *name).unwrap();
    let apart_ns = (schedule.base_ns - port.list_start_ns).rem_euclid(schedule.cycle_ns.cast_signed());
    assert_eq!(apart_ns, 0, "{name}: the run's phases count from another start than the kernel's list");
    let gates = gates_ns(port, schedule);
    let options = Options {
        gate_latency_ns: median(&gates).unsigned_abs(),
        gate_timer_ns: port.timers_ns.clone(),
        installed_ns: Some(port.list_start_ns - 1),
        ..options()
    };
    let entry = |frame: &Frame| Entry {
        flow: frame.flow as u32,
        sequence: frame.sequence,
        at_ns: frame.reached_ns + asked_after_ns,
    };
    let entries: Vec<Entry> = port.frames.iter().map(entry).collect();
    let simulated = replay(network, &options, &entries, Entrance::Port(port.id)).unwrap();
    let through = observed(&port.frames, network);
    println!(
        "  {name}: {} frames, asked {asked_after_ns} ns after they came, {} openings; gate latency {} ns (median) to {} ns",
        entries.len(),
        gates.len(),
        median(&gates),
        last(&gates),
    );
    let compared = |what: &str, observed: &Frames, latency_ns: i64| {
        let agreed = agreement(&simulated, observed, &rules(run, 0, Some(name), latency_ns.unsigned_abs()));
        println!(
            "    {what}: {} frames from {} ns to {} ns after the simulator's time; lost {}, other loss {}, order {}, slot {}, \
             time {}, only simulated {}, only observed {}",
            agreed.frames,
            agreed.earliest_ns,
            agreed.latest_ns,
            agreed.lost,
            agreed.other_loss,
            agreed.out_of_order,
            agreed.other_slot,
            agreed.other_time,
            agreed.only_simulated,
            agreed.only_observed,
        );
        agreed.examples.iter().for_each(|example| println!("      {example}"));
        agreed
    };
    let mut agreed = vec![compared("through the wire", &through, last(&gates))];
    if is_last {
        let arrived = |arrival: &Arrival| {
            let key = (arrival.flow as usize, arrival.sequence);
            let (arrived_ns, _) =
                received.get(&key).unwrap_or_else(|| panic!("{key:?} left and did not arrive"));
            Arrival { arrived_ns: *arrived_ns, ..*arrival }
        };
        let arrivals: Vec<Arrival> = through.arrivals.iter().map(arrived).collect();
        assert_eq!(arrivals.len(), received.len(), "frames arrived that did not leave");
        let receipts =
            arrivals.iter().zip(&through.arrivals).map(|(came, left)| came.arrived_ns - left.arrived_ns);
        let latest_ns = receipts.max().unwrap_or(0);
        let frames = Frames { arrivals, lost: through.lost.clone() };
        agreed.push(compared("received", &frames, last(&gates) + latest_ns));
    }
    agreed
}

/// Compares one file's frames with the simulator's at each port with a schedule.
fn compare(seed: u64, csv: &str, trace: &str, run: &tardy_record::Run) -> Vec<Agreement> {
    let network = network(seed);
    let received = received(csv, &network);
    println!("seed {seed}: {}", network.about);
    let trace = Trace::of(trace, &network, &options());
    trace.ports.iter().flat_map(|port| compare_port(&network, port, &received, run)).collect()
}

/// Compares the files of one boot.
fn compare_all(printed: &Printed, seeds: &[u64]) -> Vec<(u64, Vec<Agreement>)> {
    let of_seed = |seed: &u64| {
        let lost_events = printed.part(&seed.to_string()).all("overrun:").any(|count| count != "0");
        assert!(!lost_events, "the trace of seed {seed} is incomplete");
        let file = |what: &str| printed.text_file(&format!("{seed}.{what}"));
        let run = printed.run(&format!("{seed}.run.json"));
        (*seed, compare(*seed, file("csv"), file("trace"), &run))
    };
    seeds.iter().map(of_seed).collect()
}

/// The seeds of the files whose frames differ from the simulator's.
fn differing(compared: &[(u64, Vec<Agreement>)]) -> Vec<u64> {
    let seeds: Vec<u64> =
        compared.iter().filter(|(_, agreed)| !all_agree(agreed)).map(|(seed, _)| *seed).collect();
    let of_all = |count: fn(&Agreement) -> u64| -> u64 {
        compared.iter().map(|(_, agreed)| agreed.first().map_or(0, count)).sum()
    };
    let lost = of_all(|agreed| agreed.lost);
    println!(
        "{} of {} files agree: {} frames passed and {lost} were lost",
        compared.len() - seeds.len(),
        compared.len(),
        of_all(|agreed| agreed.frames),
    );
    assert!(lost > 0, "no file loses frames");
    seeds
}

#[test]
fn random_switches_agree_with_the_kernel_in_every_frame() {
    let Some(printed) = FEW.scene("agreement") else { return };
    assert_eq!(differing(&compare_all(printed, &few())), Vec::<u64>::new());
}

#[test]
#[ignore = "takes twenty times as long as the test above; `make long-tests` runs it"]
fn long_random_switches_agree_with_the_kernel_in_every_frame() {
    let Some(guests) = guests::directory() else { return };
    let spec = KernelSpec::parse(KERNEL).unwrap();
    let mut compared = Vec::new();
    let mut seeds_that_differ = Vec::new();
    for seeds in seeds(FILES * BOOTS).chunks(FILES) {
        let booted = scripted::boot(&spec, Some(PACE), &[scene(seeds)], &guests).unwrap();
        compared.extend(compare_all(&booted.scenes()[0], seeds));
        seeds_that_differ = differing(&compared);
    }
    assert_eq!(seeds_that_differ, Vec::<u64>::new());
}
