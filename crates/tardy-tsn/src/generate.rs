//! Generates random switch files, as examples and to compare the simulator with a real kernel.
//!
//! Each has one switch, a talker for each flow and one listener, as built by `--netns`: 2 to 8 classes with a queue
//! each, selected by the VLAN priority. The listener's port has a gate control list of 1 to 6 entries in a cycle of 1
//! to 20 ms, in which the class of each flow is open long enough for its frames.

use std::fmt::Write;

use crate::random::Random;

/// Bytes on the wire in addition to a frame's own, as in files.
const OVERHEAD_BYTES: u64 = 24;
/// The VLAN of all flows, which gives frames a priority code point.
const VLAN: u32 = 5;

/// The text of the file for `seed`.
pub fn file(seed: u64) -> String {
    let mut random = Random::of(seed);
    let classes = 2 + random.below(7);
    let mbps = [10, 100, 1000][random.below(3) as usize];
    let flows = flows(&mut random, classes, mbps);
    let longest_bytes = flows.iter().map(|flow| flow.bytes).max().unwrap_or(64);
    let entries = entries(&mut random, classes, &flows, longest_bytes, mbps);
    let cycle_us: u64 = entries.iter().map(|entry| entry.us).sum();
    let mut text = format!(
        "about = \"Generated from seed {seed}: {classes} classes, {} entries in {cycle_us} us, {} flows.\"\n",
        entries.len(),
        flows.len()
    );
    let map: Vec<String> =
        (0..16u64).map(|priority| if priority < classes { priority } else { 0 }.to_string()).collect();
    let _ = writeln!(text, "priority_map = [{}]", map.join(", "));
    for class in 0..classes {
        let _ = write!(text, "\n[[class]]\nname = \"class{class}\"\n");
    }
    for class in 1..classes {
        let _ = write!(text, "\n[[classify]]\npcp = {class}\npriority = {class}\n");
    }
    text.push_str("\n[switch]\nname = \"tsn0\"\n");
    for (talker, flow) in flows.iter().enumerate() {
        let _ = write!(
            text,
            "\n[[switch.port]]\ninterface = \"in{talker}\"\nto = \"talker{talker}\"\nspeed = \"{}Mbit/s\"\n",
            flow.way_in_mbps
        );
    }
    let _ = write!(
        text,
        "\n[[switch.port]]\ninterface = \"out0\"\nto = \"listener\"\nspeed = \"{mbps}Mbit/s\"\nqueues = {classes}\n\
         base_time = \"0s\"\ncycle_time = \"{cycle_us}us\"\nclock = \"tai\"\ngates = [\n"
    );
    for Entry { mask, us } in &entries {
        let _ = writeln!(text, "  {{ mask = {mask:#x}, for = \"{us}us\" }},");
    }
    text.push_str("]\n");
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

struct GeneratedFlow {
    class: u64,
    bytes: u64,
    /// Period and offset; `None`: as fast as possible.
    period_us: Option<(u64, u64)>,
    way_in_mbps: u64,
}

struct Entry {
    mask: u32,
    us: u64,
}

impl GeneratedFlow {
    fn pace(&self) -> String {
        match self.period_us {
            Some((period, offset)) => format!("period = \"{period}us\"\noffset = \"{offset}us\"\n"),
            None => "flat_out = true\n".to_owned(),
        }
    }
}

/// Two to four flows, each in a separate class.
fn flows(random: &mut Random, classes: u64, mbps: u64) -> Vec<GeneratedFlow> {
    let count = (2 + random.below(3)).min(classes);
    let mut free: Vec<u64> = (0..classes).collect();
    let one = |_| {
        let class = free.swap_remove(random.below(free.len() as u64) as usize);
        let bytes = 64 + random.below(1451);
        // A period in which the port can send several such frames, so that queues drain.
        let wire_us = (bytes + OVERHEAD_BYTES) * 8 / mbps + 1;
        let period = (wire_us * 4).max(200) + random.below(5000);
        let period_us = (random.below(4) > 0).then(|| (period, random.below(period)));
        GeneratedFlow { class, bytes, period_us, way_in_mbps: mbps }
    };
    (0..count).map(one).collect()
}

/// One to six entries. Every class with a flow is open in at least one of them, for the longest frame and its guard
/// band.
fn entries(
    random: &mut Random,
    classes: u64,
    flows: &[GeneratedFlow],
    longest_bytes: u64,
    mbps: u64,
) -> Vec<Entry> {
    let count = 1 + random.below(6);
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
        if entries.iter().all(|entry| entry.mask >> flow.class & 1 == 0) {
            let chosen = random.below(count) as usize;
            entries[chosen].mask |= 1 << flow.class;
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Kind, Machine, check};
    use crate::file::parse;
    use crate::network::Pace;
    use crate::simulate::of_network::wire;
    use crate::simulate::{Mode, Options};

    #[test]
    fn every_generated_file_is_valid_and_accepted_by_the_kernel() {
        let (mut flat_out, mut entry_counts) = (0, std::collections::BTreeSet::new());
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
            let schedule = network.switches[0].ports.last().unwrap().schedule.as_ref().unwrap();
            assert!(
                (1_000_000..=20_000_000).contains(&schedule.cycle_ns()),
                "seed {seed}: {}",
                schedule.cycle_ns()
            );
            entry_counts.insert(schedule.entries.len());
            assert!((2..=8).contains(&network.switches[0].classes.len()));
            assert!((2..=4).contains(&network.flows.len()));
            flat_out += network.flows.iter().filter(|flow| flow.pace == Pace::FlatOut).count();
        }
        assert_eq!(entry_counts.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert!(flat_out > 50, "{flat_out}");
    }
}
