//! Generates random switch files, as examples and to compare the simulator with a real kernel.
//!
//! Each has one switch or two in a row, a talker for each flow and one listener, as built by `--netns`: 2 to 8 classes with 1
//! to 3 queues each, selected by the VLAN priority. Each switch's port towards the listener has a gate control list of 1 to 6
//! entries in a cycle of 1 to 20 ms. Flows may share a class. Some files have properties that the kernel handles differently
//! from the standard: a cycle that is longer or shorter than its list, a class that never opens, no overhead. Some limit a
//! class's frames near the size of a flow's, and some have a base time that is not a multiple of the cycle.

use std::fmt::Write;

use crate::random::Random;
use crate::transmission_time;

/// Bytes on the wire in addition to a frame's own.
const OVERHEAD_BYTES: u64 = transmission_time::OVERHEAD_BYTES as u64;
/// The VLAN of all flows, which gives frames a priority code point.
const VLAN: u32 = 5;
/// The bytes of its tag and of the Ethernet header, which the kernel does not count as payload.
const HEADER_BYTES: u64 = 18;
/// The shortest part of a cut entry, in us: the time of a 60-byte frame at 10 Mbit/s.
const CUT_US_MIN: u64 = 48;

/// The text of the file for `seed`.
pub fn file(seed: u64) -> String {
    let mut random = Random::of(seed);
    let mbps = [10, 100, 1000][random.below(3) as usize];
    let classes = classes(&mut random);
    let flows = flows(&mut random, classes.len() as u64, mbps);
    let classes = limited(&mut random, classes, &flows);
    let hops = 1 + u64::from(one_in(&mut random, 4));
    let schedules: Vec<Schedule> =
        (0..hops).map(|_| schedule(&mut random, classes.len() as u64, &flows, mbps)).collect();
    // With two switches, some talkers other than the first are at the second.
    let mut at: Vec<u64> = flows.iter().map(|_| if one_in(&mut random, 3) { hops - 1 } else { 0 }).collect();
    at[0] = 0;
    let mut text = head(seed, &classes, &flows, &schedules);
    for (hop, schedule) in schedules.iter().enumerate() {
        let talkers: Vec<usize> = (0..flows.len()).filter(|flow| at[*flow] == hop as u64).collect();
        let is_last = hop + 1 == schedules.len();
        text.push_str(&switch(hop, is_last, &talkers, schedule, &classes, mbps));
    }
    for (number, flow) in flows.iter().enumerate() {
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"flow{number}\"\ntalker = \"talker{number}\"\nlistener = \"listener\"\nvlan = {VLAN}\n\
             pcp = {}\nsize = {}\n{}",
            flow.class,
            flow.bytes,
            flow.pace()
        );
    }
    text
}

fn one_in(random: &mut Random, count: u64) -> bool {
    random.below(count) == 0
}

struct GeneratedClass {
    first_queue: u64,
    queues: u64,
    max_sdu: Option<u64>,
}

struct GeneratedFlow {
    class: u64,
    bytes: u64,
    /// Period and offset; `None`: as fast as possible.
    period_us: Option<(u64, u64)>,
}

impl GeneratedFlow {
    fn pace(&self) -> String {
        match self.period_us {
            Some((period, offset)) => format!("period = \"{period}us\"\noffset = \"{offset}us\"\n"),
            None => "flat_out = true\n".to_owned(),
        }
    }
}

struct Entry {
    mask: u32,
    us: u64,
}

struct Schedule {
    entries: Vec<Entry>,
    cycle_us: u64,
    base_ns: u64,
    overhead: u64,
}

/// Two to eight classes.
fn classes(random: &mut Random) -> Vec<GeneratedClass> {
    let count = 2 + random.below(7);
    let mut first_queue = 0;
    let one = |_| {
        let queues = if one_in(random, 2) { 1 + random.below(3) } else { 1 };
        let class = GeneratedClass { first_queue, queues, max_sdu: None };
        first_queue += queues;
        class
    };
    (0..count).map(one).collect()
}

/// In a quarter of the files, the class of a flow accepts frames up to about the size of that flow's.
fn limited(
    random: &mut Random,
    mut classes: Vec<GeneratedClass>,
    flows: &[GeneratedFlow],
) -> Vec<GeneratedClass> {
    if one_in(random, 4) {
        let flow = &flows[random.below(flows.len() as u64) as usize];
        let payload = flow.bytes - HEADER_BYTES;
        let limit = [payload - 1, payload, payload + 200][random.below(3) as usize];
        classes[flow.class as usize].max_sdu = Some(limit);
    }
    classes
}

/// Two to four flows of different sizes, so that the size of a frame identifies its flow.
fn flows(random: &mut Random, classes: u64, mbps: u64) -> Vec<GeneratedFlow> {
    let count = 2 + random.below(3);
    let mut flows: Vec<GeneratedFlow> = Vec::new();
    while (flows.len() as u64) < count {
        let bytes = 64 + random.below(1451);
        if flows.iter().any(|flow| flow.bytes == bytes) {
            continue;
        }
        // A period in which the port can send several such frames, so that queues drain.
        let wire_us = (bytes + OVERHEAD_BYTES) * 8 / mbps + 1;
        let period = (wire_us * 4).max(200) + random.below(5000);
        let period_us = (random.below(4) > 0).then(|| (period, random.below(period)));
        flows.push(GeneratedFlow { class: random.below(classes), bytes, period_us });
    }
    flows
}

fn schedule(random: &mut Random, classes: u64, flows: &[GeneratedFlow], mbps: u64) -> Schedule {
    let entries = entries(random, classes, flows, mbps);
    let sum_us: u64 = entries.iter().map(|entry| entry.us).sum();
    let last_us = entries.last().map_or(0, |last| last.us);
    let cycle_us = match random.below(4) {
        0 => sum_us + 1 + random.below(sum_us),
        1 if entries.len() > 1 => sum_us - random.below(last_us - CUT_US_MIN),
        _ => sum_us,
    };
    let base_ns = match random.below(3) {
        0 => 0,
        1 => random.below(20_000_000),
        _ => random.below(1_000_000_000_000_000),
    };
    let overhead = match random.below(4) {
        0 => 0,
        1 => random.below(64),
        _ => OVERHEAD_BYTES,
    };
    Schedule { entries, cycle_us, base_ns, overhead }
}

/// One to six entries. Most flows' classes are open in at least one of them, for the longest frame and its guard band.
fn entries(random: &mut Random, classes: u64, flows: &[GeneratedFlow], mbps: u64) -> Vec<Entry> {
    let count = 1 + random.below(6);
    let longest_bytes = flows.iter().map(|flow| flow.bytes).max().unwrap_or(64);
    let least_us = (longest_bytes + OVERHEAD_BYTES) * 8 / mbps * 2 + 100;
    let cycle_us = (1000 + random.below(19_001)).max(least_us * count);
    let spare_us = cycle_us - least_us * count;
    let shares: Vec<u64> = (0..count).map(|_| 1 + random.below(100)).collect();
    let all: u64 = shares.iter().sum();
    let mut entries: Vec<Entry> = shares
        .iter()
        .map(|share| Entry {
            mask: random.below((1 << classes) - 1) as u32 + 1,
            us: least_us + spare_us * share / all,
        })
        .collect();
    for flow in flows {
        let is_closed = entries.iter().all(|entry| entry.mask >> flow.class & 1 == 0);
        if is_closed && !one_in(random, 4) {
            let chosen = random.below(count) as usize;
            entries[chosen].mask |= 1 << flow.class;
        }
    }
    entries
}

/// Everything that applies to all switches.
fn head(seed: u64, classes: &[GeneratedClass], flows: &[GeneratedFlow], schedules: &[Schedule]) -> String {
    let lists: Vec<String> = schedules
        .iter()
        .map(|schedule| format!("{} entries in {} us", schedule.entries.len(), schedule.cycle_us))
        .collect();
    let mut text = format!(
        "about = \"Generated from seed {seed}: {} classes, {}, {} flows.\"\n",
        classes.len(),
        lists.join(", then "),
        flows.len()
    );
    let map: Vec<String> =
        (0..16).map(|priority| if priority < classes.len() { priority } else { 0 }.to_string()).collect();
    let _ = writeln!(text, "priority_map = [{}]", map.join(", "));
    for (number, class) in classes.iter().enumerate() {
        let _ = write!(
            text,
            "\n[[class]]\nname = \"class{number}\"\nqueues = \"{}@{}\"\n",
            class.queues, class.first_queue
        );
        if let Some(bytes) = class.max_sdu {
            let _ = writeln!(text, "max_sdu = {bytes}");
        }
    }
    for class in 1..classes.len() {
        let _ = write!(text, "\n[[classify]]\npcp = {class}\npriority = {class}\n");
    }
    text
}

/// Switch number `hop` on the way to the listener.
fn switch(
    hop: usize,
    is_last: bool,
    talkers: &[usize],
    schedule: &Schedule,
    classes: &[GeneratedClass],
    mbps: u64,
) -> String {
    let mut text = format!("\n[[switch]]\nname = \"tsn{hop}\"\n");
    for talker in talkers {
        let _ = write!(
            text,
            "\n[[switch.port]]\ninterface = \"in{talker}\"\nto = \"talker{talker}\"\nspeed = \"{mbps}Mbit/s\"\n"
        );
    }
    if hop > 0 {
        let _ =
            write!(text, "\n[[switch.port]]\ninterface = \"from{}\"\nspeed = \"{mbps}Mbit/s\"\n", hop - 1);
    }
    let to = if is_last { "listener".to_owned() } else { format!("tsn{}/from{hop}", hop + 1) };
    let queues = classes.last().map_or(1, |last| last.first_queue + last.queues);
    let Schedule { entries, cycle_us, base_ns, overhead } = schedule;
    let _ = write!(
        text,
        "\n[[switch.port]]\ninterface = \"out{hop}\"\nto = \"{to}\"\nspeed = \"{mbps}Mbit/s\"\nqueues = {queues}\n\
         base_time = \"{base_ns}ns\"\ncycle_time = \"{cycle_us}us\"\noverhead = {overhead}\nclock = \"tai\"\ngates = [\n"
    );
    for Entry { mask, us } in entries {
        let _ = writeln!(text, "  {{ mask = {mask:#x}, for = \"{us}us\" }},");
    }
    text.push_str("]\n");
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::{Kind, Machine, check};
    use crate::file::parse;
    use crate::network::{Network, Pace, Schedule};
    use crate::simulate::of_network::wire;
    use crate::simulate::{Mode, Options};

    fn schedules(network: &Network) -> impl Iterator<Item = &Schedule> {
        network.switches.iter().flat_map(|switch| &switch.ports).filter_map(|port| port.schedule.as_ref())
    }

    #[test]
    fn every_generated_file_is_valid_and_accepted_by_the_kernel() {
        for seed in 0..300 {
            let text = file(seed);
            assert_eq!(text, file(seed));
            let network = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            let findings = check(&network, &text, &Machine::default());
            let refused = findings.iter().find(|finding| matches!(finding.kind, Kind::Refused { .. }));
            assert!(refused.is_none(), "seed {seed}: {refused:?}");
            for mode in [Mode::Standard, Mode::Linux] {
                wire(&network, &Options { mode, ..Options::default() }, true).unwrap();
            }
            for schedule in schedules(&network) {
                let sum_ns = schedule.sum_ns();
                assert!((1_000_000..=20_000_000).contains(&sum_ns), "seed {seed}: {sum_ns}");
            }
            assert!((2..=8).contains(&network.switches[0].classes.len()));
            assert!((2..=4).contains(&network.flows.len()));
        }
    }

    #[test]
    fn the_files_cover_what_the_kernel_does() {
        let mut covered: BTreeSet<String> = BTreeSet::new();
        for seed in 0..100 {
            let network = parse(&file(seed)).unwrap();
            let switch = &network.switches[0];
            let mut cover = |what: &str, is_so: bool| {
                if is_so {
                    covered.insert(what.to_owned());
                }
            };
            let class = |flow: usize| switch.class_of(&network.flows[flow].marks);
            let of_flows: BTreeSet<u8> = (0..network.flows.len()).map(class).collect();
            cover("several flows of a class", of_flows.len() < network.flows.len());
            cover(
                "several queues of a class",
                (0..switch.classes.len()).any(|it| switch.queues_of(it).count > 1),
            );
            cover("max_sdu", switch.classes.iter().any(|class| class.max_sdu.is_some()));
            cover("two switches", network.switches.len() == 2);
            cover("flat out", network.flows.iter().any(|flow| flow.pace == Pace::FlatOut));
            for schedule in schedules(&network) {
                let (sum_ns, cycle_ns) = (schedule.sum_ns(), schedule.cycle_ns());
                cover("longer cycle", cycle_ns > sum_ns);
                cover("shorter cycle", cycle_ns < sum_ns);
                cover("base time", schedule.base_time_ns.value % cycle_ns.cast_signed() != 0);
                cover("no overhead", schedule.overhead.value == 0);
                cover("another overhead", ![0, 24].contains(&schedule.overhead.value));
                let opens = |class: &u8| !schedule.openings(usize::from(*class)).openings.is_empty();
                cover("a flow's class never opens", !of_flows.iter().all(opens));
                cover(&format!("{} entries", schedule.entries.len()), true);
            }
        }
        assert_eq!(covered.len(), 17, "{covered:?}");
    }
}
