//! Gate control lists of all lengths: read back from the kernel if it shows them, else proved by their effect.

use std::fmt::Write;

use tardy_record::gates::GateEntry;
use tardy_record::switch::ScheduleSource;
use tardy_tsn::plan::commands;
use tardy_tsn::settings::{self, Taprio};

use super::{BRIDGED, TWO_FLOWS, slots};
use crate::scripted::Scene;

/// Lengths that are read back: the usual one, the longest that tc can send, the first that it cannot, and many.
const SHOWN: [usize; 4] = [2, 31, 32, 800];
/// More than the kernel shows.
const NOT_SHOWN: usize = 2000;

/// A list whose entries all differ: classes take turns, for 300 to 700 us.
fn entries(count: usize) -> Vec<(u32, u32)> {
    let mut state = 1u32;
    let mut interval_ns = || {
        // Numerical Recipes' generator of 32 bits.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        300_000 + (state >> 8) % 400_000
    };
    (0..count).map(|index| (1 << (index % 2), interval_ns())).collect()
}

fn file(entries: &[(u32, u32)]) -> String {
    let mut text = TWO_FLOWS.to_owned();
    let mut gates = String::from("gates = [\n");
    for (mask, interval_ns) in entries {
        writeln!(gates, "  {{ mask = {mask}, for = \"{interval_ns}ns\" }},").unwrap();
    }
    gates.push(']');
    let begin = text.find("gates = [").unwrap();
    let end = begin + text[begin..].find("\n]").unwrap() + 1;
    text.replace_range(begin..=end, &gates);
    text
}

const SCRIPT: &str = r"
cable swp0 talker 2
cable swp1 listener 2
for count in 2 31 32 800 2000; do
    part applied $count; answer tardy tsn apply $FILES/$count.toml
    part again $count; answer tardy tsn apply $FILES/$count.toml
    part shown $count; tardy tsn show --json
    part told $count; tardy tsn show
    part removed $count; answer tardy tsn remove
done
for list in $FILES/*.tc; do
    part sent $(basename $list .tc); answer . $list
    tc qdisc del dev swp1 root 2> /dev/null
done
part effect
answer tardy tsn test --netns $FILES/2000.toml --with-shaper --for 1s -o /lab/results/effect.run.json
";

/// Shapers with attributes that take different space in tc's message. Debian's tc 6.1 does not know max-sdu.
fn shapers() -> [(&'static str, Taprio); 5] {
    let network = tardy_tsn::file::parse(TWO_FLOWS).unwrap();
    let taprio = settings::of(&network.switches[0]).ports[1].taprio.clone().unwrap();
    let plain = Taprio { overhead: 0, cycle_time_ns: None, base_time_ns: 0, ..taprio };
    let based = Taprio { base_time_ns: 5, ..plain.clone() };
    let cycle_time_ns = Some(1_000_000);
    [
        ("plain", plain.clone()),
        ("overhead", Taprio { overhead: 24, ..plain.clone() }),
        ("base-time", based.clone()),
        ("cycle", Taprio { overhead: 24, cycle_time_ns, cycle_time_extension_ns: Some(1000), ..plain }),
        ("flags", Taprio { flags: 1, txtime_delay_ns: Some(100_000), ..based }),
    ]
}

/// tc's command for the longest list that it can send by tardy's computation, and for one entry more.
fn commands_of_tc() -> impl Iterator<Item = (String, String)> {
    shapers().into_iter().flat_map(|(name, taprio)| {
        let most = taprio.entries_max_of_tc();
        [("longest", most), ("longer", most + 1)].map(|(what, count)| {
            let entries = entries(count).into_iter().map(|(mask, ns)| GateEntry::set(mask, ns)).collect();
            let command = commands::tc("swp1", &Taprio { entries, ..taprio.clone() });
            (format!("{name}-{what}.tc"), command)
        })
    })
}

/// The scene of this file.
pub(super) fn scene() -> Scene {
    let lengths = SHOWN.into_iter().chain([NOT_SHOWN]);
    let lists = lengths.map(|count| (format!("{count}.toml"), file(&entries(count))));
    let files = lists.chain(commands_of_tc()).collect();
    Scene { files, ..super::scene("lists", SCRIPT, &[]) }
}

#[test]
fn lists_of_any_length_are_applied_whole() {
    let Some(printed) = BRIDGED.scene("lists") else { return };
    for count in SHOWN.into_iter().chain([NOT_SHOWN]) {
        let part = |of: &str| printed.part(&format!("{of} {count}"));
        assert_eq!(part("applied").status(), 0, "{}", part("applied").text());
        assert_eq!(part("removed").status(), 0, "{}", part("removed").text());
        let again = part("again").text();
        assert!(again.contains("nothing was changed"), "{count} entries were sent again: {again}");
        let shaper = &part("shown").json()[0]["ports"][1]["shaper"];
        if count == NOT_SHOWN {
            assert_eq!((&shaper["shaper"], &shaper["entries_sent"]), (&"too_long".into(), &count.into()));
            let told = part("told").text();
            assert!(told.contains("cannot show one with more than about 880 entries: 2000"), "{told}");
        } else {
            // A schedule that has not begun yet is in `admin`.
            let runs =
                ["operating", "admin"].map(|which| &shaper[which]).into_iter().find(|one| !one.is_null());
            let read: Vec<(u32, u32)> = serde_json::from_value(runs.unwrap()["entries"].clone()).unwrap();
            assert_eq!(read, entries(count), "the kernel has another list of {count}");
        }
    }
    assert_eq!(printed.part("effect").status(), 0, "{}", printed.part("effect").text());
    // If the kernel used another cycle, most frames would arrive outside these windows.
    let run = slots::held(printed.file("effect.run.json"));
    let port = &run.switch.as_ref().unwrap().ports[0];
    assert_eq!((port.entries.len(), port.source), (NOT_SHOWN, ScheduleSource::Sent));
}

#[test]
fn tc_sends_as_many_entries_as_tardy_says() {
    let Some(printed) = BRIDGED.scene("lists") else { return };
    for (name, _) in shapers() {
        let is_too_long = |what: &str| {
            let part = printed.part(&format!("sent {name}-{what}"));
            part.text().contains("exceeded bound of 1024")
        };
        assert!(!is_too_long("longest"), "{name}: {}", printed.part(&format!("sent {name}-longest")).text());
        assert!(is_too_long("longer"), "{name}: {}", printed.part(&format!("sent {name}-longer")).text());
    }
}
