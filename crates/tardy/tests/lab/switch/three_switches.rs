//! A synthesised schedule on three switches in a line: frames that talkers send at launch times arrive within what the schedule
//! promises, and with all gates open they do not. What talkers, switches, gates and listeners take is measured in the same guest.
//!
//! The first schedule is for wide intervals. The one for twice the measured intervals is sent with the kernel's timer threads above those
//! that send frames, without which it does not hold here in every guest (docs/synthesis.md).

use std::collections::BTreeMap;

use tardy_record::plan::SwitchPlan;
use tardy_tsn::file;
use tardy_tsn::intervals::Intervals;
use tardy_tsn::network::{Network, Pace};
use tardy_tsn::transmission_time::OnCable;

use crate::agreement::{FEW, KERNEL, PACE};
use crate::scripted::{Printed, Scene, SharedBoot};

const LINE: &str = include_str!("three-switches.toml");
/// The flow that the second schedule adds, and which is not sent.
const ADDED: &str = r#"
[[flow]]
name = "alarm"
talker = "controller"
listener = "drive"
udp_port = 6001
class = "control"
size = 300
period = "20ms"
"#;
/// Wider than anything that is measured, so that frames are alone in their queues while it is.
const WIDE: &str = r#"talker = { least = "-600us", most = "750us" }
forwarding = { least = "0s", most = "750us" }
gate = { least = "0s", most = "300us" }
listener = { least = "0s", most = "750us" }
"#;
/// Frames of the warm-up do not count: the first one of a flow makes the kernel load what later ones find.
const WARMUP_NS: i64 = 200_000_000;
/// The threads in which the kernel's timers open gates have FIFO 1 otherwise, as those that send frames may have too.
const RAISE: &str = r#"
raise() {
    for thread in $(grep -l '^Name:.*ktimers' /proc/[0-9]*/status); do
        thread=${thread#/proc/}; chrt -f -p $1 ${thread%/status}
    done
}
"#;
const SCRIPT: &str = r"
cd /lab/results
part promise; tardy tsn synthesize $FILES/line.toml --intervals $FILES/wide.toml --json -o line.toml
part test
answer tardy tsn test line.toml --netns --for 600ms -q --intervals intervals.toml --frames line.csv -o line.run.json
part next; tardy tsn synthesize $FILES/next.toml --keep line.toml --intervals $FILES/wide.toml --json -o next.toml
part replacement
answer tardy tsn test line.toml --netns --with-shaper --for 600ms -q --replace next.toml --frames next.csv -o next.run.json
part measured; tardy tsn synthesize $FILES/line.toml --intervals intervals.toml --json -o measured.toml
raise 80
part narrow; answer tardy tsn test measured.toml --netns --with-shaper --for 600ms -q --intervals narrow.toml --frames narrow.csv -o narrow.run.json
raise 1
";

/// Sends a schedule for the measured intervals four times: as it is, with windows that hold two frames, with the kernel's threads
/// that open gates above all others, and with both.
const NARROW: &str = r#"
cd /lab/results
tardy tsn synthesize $FILES/line.toml --intervals $FILES/wide.toml -o line.toml
tardy tsn test line.toml --netns --with-shaper --for 600ms -q --intervals intervals.toml --frames line.csv -o line.run.json
part measured; tardy tsn synthesize $FILES/line.toml --intervals intervals.toml --json -o one.toml
# A window that is as long as its frame, the latest gate and the margin gets another frame's time from the entry after it.
awk -F'"' '
    function us(time) { return time + 0 > 0 && time ~ /ms$/ ? time * 1000 : time + 0 }
    /open = \["control"\]/ { length_us = us($4); frame_us = length_us - 339.2 > 0 ? 339.2 : 179.2; taken_us = frame_us
        printf "  { open = [\"control\"], for = \"%.1fus\" },\n", length_us + frame_us; next }
    taken_us && /for = / { time = $(NF - 1); sub("for = \"" time, sprintf("for = \"%.1fus", us(time) - taken_us)); taken_us = 0 }
    { print }' one.toml > two.toml
part two; cat two.toml; answer tardy tsn check two.toml --offline
run() { tardy tsn test $1.toml --netns --with-shaper --for 2s -q --intervals $2.toml --frames $2.csv -o $2.run.json > $2.txt 2>&1; part $2; cat $2.toml; }
run one one-default
run two two-default
raise 80
run one one-raised
run two two-raised
"#;

/// The scene of this file, at a pace at which the emulated CPU sends 10 Mbit/s over four cables.
pub(crate) fn scene() -> Scene {
    let next = LINE.replace("[netns]", &format!("{ADDED}\n[netns]"));
    let files = [("line.toml", LINE), ("next.toml", &next), ("wide.toml", WIDE)];
    Scene {
        name: "three-switches",
        script: format!("{RAISE}{SCRIPT}"),
        files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        ..parts()
    }
}

/// The shortest and the longest time that a schedule promises for each flow, in ns.
fn promised(printed: &Printed, part: &str) -> BTreeMap<String, (i64, i64)> {
    let summary = printed.part(part).json();
    assert_eq!(summary["verdict"], "scheduled", "{summary}");
    let number = |placed: &serde_json::Value, key: &str| placed[key].as_i64().unwrap();
    let placements = summary["placements"].as_array().unwrap();
    let of = |placed: &serde_json::Value| {
        let times = (number(placed, "least_latency_ns"), number(placed, "latency_ns"));
        (placed["flow"].as_str().unwrap().to_owned(), times)
    };
    placements.iter().map(of).collect()
}

/// The latencies of each flow's frames in a phase, after the warm-up, in ns.
fn latencies(csv: &str, shaped: bool) -> BTreeMap<String, Vec<i64>> {
    let mut first_ns: Option<i64> = None;
    let mut latencies: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [phase, flow, _, sent, arrived, ..] = fields[..] else { panic!("{line}") };
        if phase != SwitchPlan::label(shaped) {
            continue;
        }
        let (sent_ns, arrived_ns): (i64, i64) = (sent.parse().unwrap(), arrived.parse().unwrap());
        if sent_ns - *first_ns.get_or_insert(sent_ns) >= WARMUP_NS {
            latencies.entry(flow.to_owned()).or_default().push(arrived_ns - sent_ns);
        }
    }
    latencies
}

/// How many frames arrive earlier and later than promised, for each flow with a promise.
fn outside(
    promised: &BTreeMap<String, (i64, i64)>,
    latencies: &BTreeMap<String, Vec<i64>>,
) -> BTreeMap<String, (usize, usize)> {
    let of = |(flow, (least_ns, most_ns)): (&String, &(i64, i64))| {
        let frames = &latencies[flow];
        let early = frames.iter().filter(|ns| *ns < least_ns).count();
        let late = frames.iter().filter(|ns| *ns > most_ns).count();
        println!(
            "{flow}: {} frames in {} to {} us, promised {} to {} us; {early} early, {late} late",
            frames.len(),
            frames.iter().min().unwrap() / 1000,
            frames.iter().max().unwrap() / 1000,
            least_ns / 1000,
            most_ns / 1000,
        );
        assert!(frames.len() >= 20, "{flow}: only {} frames", frames.len());
        (flow.clone(), (early, late))
    };
    promised.iter().filter(|(flow, _)| latencies.contains_key(*flow)).map(of).collect()
}

/// The sum of all intervals on the way of a flow, and of its times on the wire, in ns.
fn sum_ns(network: &Network, flow: &str, intervals: &Intervals) -> i64 {
    let flow = network.flows.iter().find(|other| other.name.value == flow).unwrap();
    let ports = network.way_out(flow).unwrap().len() as i64;
    let sent_ns = OnCable::of(flow.size.value, 10_000_000).sent_ns();
    intervals.talker.most_ns.max(0)
        + ports * intervals.gate.most_ns
        + (ports - 1) * intervals.forwarding.most_ns
        + intervals.listener.most_ns
        + (ports + 1) * sent_ns.cast_signed()
}

#[test]
fn frames_arrive_within_what_the_schedule_promises_and_with_open_gates_they_do_not() {
    let Some(printed) = FEW.scene("three-switches") else { return };
    println!("{}", printed.part("test").text());
    let measured = file::parse_intervals(printed.text_file("intervals.toml")).unwrap();
    println!("measured: {measured}");
    let wide = file::parse_intervals(WIDE).unwrap();
    for (measured, wide) in [
        (measured.forwarding, wide.forwarding),
        (measured.gate, wide.gate),
        (measured.listener, wide.listener),
    ] {
        assert!(
            measured.least_ns >= 0 && measured.most_ns > 0 && measured.most_ns <= wide.most_ns,
            "{measured:?}"
        );
    }
    let promised = promised(printed, "promise");
    assert_eq!(promised.keys().collect::<Vec<_>>(), ["position", "torque"]);
    let network = file::parse(printed.text_file("line.toml")).unwrap();
    let with_measured = self::promised(printed, "measured");
    for (flow, (_, most_ns)) in &with_measured {
        let sum_ns = sum_ns(&network, flow, &measured);
        println!(
            "{flow}: the measured intervals are {} us, and a schedule for them promises {} us",
            sum_ns / 1000,
            most_ns / 1000
        );
        assert!(
            *most_ns <= 2 * sum_ns,
            "{flow}: {most_ns} ns are promised, and the intervals are {sum_ns} ns"
        );
    }
    // The schedule for the measured intervals is sent with the threads that open gates above those that send.
    let narrow = file::parse_intervals(printed.text_file("narrow.toml")).unwrap();
    println!("{}\nmeasured with the narrow schedule: {narrow}", printed.part("narrow").text());
    for (flow, (_, most_ns)) in &with_measured {
        let sum_ns = sum_ns(&network, flow, &narrow);
        println!("{flow}: {most_ns} ns are promised, and the intervals of this schedule are {sum_ns} ns");
        assert!(
            *most_ns <= 2 * sum_ns,
            "{flow}: {most_ns} ns are promised, and the intervals are {sum_ns} ns"
        );
    }
    let sent = outside(&with_measured, &latencies(printed.text_file("narrow.csv"), true));
    assert!(sent.len() == 2 && sent.values().all(|counts| *counts == (0, 0)), "{sent:?}");
    let run = printed.run("line.run.json");
    assert!(run.validity.valid, "{:?}", run.validity);
    let csv = printed.text_file("line.csv");
    let shaped = outside(&promised, &latencies(csv, true));
    assert!(shaped.len() == 2 && shaped.values().all(|counts| *counts == (0, 0)), "{shaped:?}");
    let open = outside(&promised, &latencies(csv, false));
    assert!(open.values().all(|(early, late)| early + late > 0), "the gates make no difference: {open:?}");
    assert!(open.values().any(|(_, late)| *late > 0), "the camera delays no frame: {open:?}");
}

#[test]
fn no_gate_opens_early_while_the_schedules_of_three_switches_are_replaced_under_their_flows() {
    let Some(printed) = FEW.scene("three-switches") else { return };
    let next = printed.part("next").json();
    assert_eq!((&next["kept"]["kept"], &next["kept"]["added"][0]), (&2.into(), &"alarm".into()), "{next}");
    let promised = promised(printed, "promise");
    let replaced = printed.part("replacement").text();
    println!("{replaced}");
    let run = printed.run("next.run.json");
    assert!(run.validity.valid, "{:?}", run.validity);
    let remarks = &run.phases[0].remarks;
    remarks.iter().for_each(|remark| println!("{remark}"));
    let count = remarks.iter().filter(|remark| remark.ends_with("schedule replaced while it ran")).count();
    assert_eq!(count, 3, "{remarks:?}");
    // Frames of the camera that leave while gates are open delay others, which are then late for some cycles.
    let counts = outside(&promised, &latencies(printed.text_file("next.csv"), true));
    assert!(counts.len() == 2 && counts.values().all(|(early, _)| *early == 0), "{counts:?}");
    let offsets = |name: &str| -> Vec<Pace> {
        let network = file::parse(printed.text_file(name)).unwrap();
        network.flows.iter().take(2).map(|flow| flow.pace).collect()
    };
    assert_eq!(offsets("line.toml"), offsets("next.toml"));
}

#[test]
#[ignore = "takes minutes; its figures are in docs/synthesis.md. `make long-tests` runs it"]
fn long_a_schedule_for_the_measured_intervals_is_sent_with_wider_windows_and_higher_priorities() {
    static BOOT: SharedBoot = SharedBoot::at_pace(PACE, KERNEL, || vec![narrow_scene()]);
    let Some(printed) = BOOT.scene("narrow") else { return };
    println!("{}", printed.text());
    let promised = promised(printed, "measured");
    let network = file::parse(printed.text_file("line.toml")).unwrap();
    for variant in ["one-default", "two-default", "one-raised", "two-raised"] {
        let measured = file::parse_intervals(printed.text_file(&format!("{variant}.toml"))).unwrap();
        println!("{variant}: {measured}");
        for (flow, (_, most_ns)) in &promised {
            let sum_ns = sum_ns(&network, flow, &measured);
            println!(
                "{flow}: promised {} us, {:.2} of the intervals' sum",
                most_ns / 1000,
                *most_ns as f64 / sum_ns as f64
            );
        }
        let counts = outside(&promised, &latencies(printed.text_file(&format!("{variant}.csv")), true));
        assert!(counts.len() == 2 && counts.values().all(|(early, _)| *early == 0), "{variant}: {counts:?}");
    }
}

fn narrow_scene() -> Scene {
    let files = [("line.toml", LINE), ("wide.toml", WIDE)];
    Scene {
        name: "narrow",
        script: format!("{RAISE}{NARROW}"),
        files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        ..parts()
    }
}

fn parts() -> Scene {
    let mut parts = super::parts();
    parts.tools.push(("util-linux", "/usr/bin/chrt"));
    parts
}
