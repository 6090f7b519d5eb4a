//! Extended schedules: kept flows stay where they are, and what cannot stay is named.

use std::collections::BTreeSet;
use std::fmt::Write;

use tardy_synthesis::answer::{self, Answer, Verdict};
use tardy_synthesis::files::Files;
use tardy_synthesis::keep::{KeepError, Kept, PortChange};
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::schedule::Schedule;
use tardy_synthesis::verify;
use tardy_tsn::check::{self, Finding, Kind, Machine};
use tardy_tsn::file;
use tardy_tsn::network::{Network, Pace};
use tardy_tsn::simulate::{Mode, Options, Ports};

use crate::instances::options;

const SWITCHES: usize = 3;

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }

    /// A flow between two of the six hosts.
    fn flow(&mut self, name: usize) -> String {
        let talker = self.below(2 * SWITCHES);
        let listener = (talker + 1 + self.below(2 * SWITCHES - 1)) % (2 * SWITCHES);
        let (size, period_us) = (64 + self.below(700), [250, 500, 1000][self.below(3)]);
        flow(&format!("flow{name}"), (talker, listener), size, &format!("{period_us}us"))
    }
}

fn flow(name: &str, (talker, listener): (usize, usize), size: usize, period: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\ntalker = \"host{talker}\"\nlistener = \"host{listener}\"\nsize = {size}\n\
         period = \"{period}\"\npcp = 6\nvlan = 5\n"
    )
}

/// Three switches in a line with two hosts each, at 100 Mbit/s.
fn network(flows: &[String]) -> String {
    let mut text = "about = \"A line.\"\n[[class]]\nname = \"other\"\n[[class]]\nname = \"control\"\n\
                    [[classify]]\npcp = 6\npriority = 1\n"
        .to_owned();
    for switch in 0..SWITCHES {
        let _ = write!(text, "[[switch]]\nname = \"switch{switch}\"\nforwarding = \"2us\"\n");
        let mut port = |interface: &str, to: &str| {
            let to = if to.is_empty() { String::new() } else { format!("to = \"{to}\"\n") };
            let _ = write!(text, "[[switch.port]]\ninterface = \"{interface}\"\n{to}speed = \"100Mbit/s\"\n");
        };
        port("a", &format!("host{}", 2 * switch));
        port("b", &format!("host{}", 2 * switch + 1));
        if switch > 0 {
            port("left", "");
        }
        if switch + 1 < SWITCHES {
            port("right", &format!("switch{}/left", switch + 1));
        }
    }
    text + &flows.concat()
}

struct Extended {
    answer: Answer,
    kept: Kept,
    text: String,
    ports: Vec<(String, PortChange)>,
}

/// The schedule of `text`, if all flows have a place.
fn scheduled(text: &str, margin_ns: u64) -> Option<String> {
    scheduled_within(text, margin_ns, None)
}

fn scheduled_within(text: &str, margin_ns: u64, entries_max: Option<usize>) -> Option<String> {
    let files = Files::of_switch(&file::parse(text).unwrap(), text, Lateness::of_margin(margin_ns)).unwrap();
    let answer = answer::find(files.instance(), &options(3, 1, 2), entries_max).unwrap();
    files.texts(&answer).unwrap().pop()
}

fn read(text: &str, old: &str, margin_ns: u64) -> Result<Files, KeepError> {
    let mut files =
        Files::of_switch(&file::parse(text).unwrap(), text, Lateness::of_margin(margin_ns)).unwrap();
    files.keep(&file::parse(old).unwrap(), old)?;
    Ok(files)
}

fn extend(text: &str, old: &str, margin_ns: u64) -> Extended {
    let files = read(text, old, margin_ns).unwrap();
    let kept = files.kept().unwrap().clone();
    let answer = answer::find_keeping(files.instance(), Some(&kept), &options(3, 1, 2), None).unwrap();
    let text = files.texts(&answer).unwrap().pop().unwrap_or_default();
    let ports = match text.is_empty() {
        true => Vec::new(),
        false => kept
            .replacements(&file::parse(&text).unwrap(), files.scheduled().unwrap())
            .into_iter()
            .map(|port| (port.port, port.change))
            .collect(),
    };
    Extended { answer, kept, text, ports }
}

fn offset_ns(network: &Network, flow: &str) -> u64 {
    let of = network.flows.iter().find(|other| other.name.value == flow).unwrap();
    match of.pace {
        Pace::Periodic { offset_ns, .. } => offset_ns,
        Pace::FlatOut => panic!("{flow} is not periodic"),
    }
}

fn names(flows: &[String]) -> BTreeSet<String> {
    let name = |flow: &String| flow.lines().nth(1).unwrap().split('"').nth(1).unwrap().to_owned();
    flows.iter().map(name).collect()
}

#[test]
fn flows_are_added_and_removed_at_random_and_the_others_stay_where_they_are() {
    let (mut extended, mut moved_without, mut untouched) = (0, 0, 0);
    for seed in 0..24 {
        let mut random = Random(seed);
        let mut before: Vec<String> = (0..12 + seed as usize % 10).map(|name| random.flow(name)).collect();
        let Some(mut old) = scheduled(&network(&before), 1000) else { continue };
        // Each change starts from the schedule before it.
        for step in 0..4 {
            let mut after = before.clone();
            for _ in 0..random.below(4) {
                after.remove(random.below(after.len()));
            }
            for added in 0..random.below(4) {
                let place = random.below(after.len() + 1);
                after.insert(place, random.flow(1000 * (step + 1) + added));
            }
            let new = network(&after);
            let Extended { answer, kept, text, ports } = extend(&new, &old, 1000);
            let (was, is) = (names(&before), names(&after));
            assert_eq!(kept.not_kept, [], "seed {seed}");
            assert_eq!(kept.count(), was.intersection(&is).count(), "seed {seed}");
            assert_eq!(kept.added.iter().cloned().collect::<BTreeSet<_>>(), &is - &was, "seed {seed}");
            assert_eq!(kept.removed.iter().cloned().collect::<BTreeSet<_>>(), &was - &is, "seed {seed}");
            for (flow, place) in kept.placements.iter().enumerate().filter(|(_, place)| place.is_some()) {
                assert_eq!(answer.schedule.placements[flow], *place, "seed {seed}, flow {flow}");
            }
            if answer.verdict != Verdict::Scheduled {
                break;
            }
            let (old_network, new_network) = (file::parse(&old).unwrap(), file::parse(&text).unwrap());
            for flow in was.intersection(&is) {
                assert_eq!(
                    offset_ns(&new_network, flow),
                    offset_ns(&old_network, flow),
                    "seed {seed}, {flow}"
                );
            }
            // The written file, read as an old one, has a place for every flow.
            let again = extend(&text, &text, 1000);
            assert_eq!(again.kept.count(), after.len(), "seed {seed}: {:?}", again.kept.not_kept);
            assert!(again.ports.iter().all(|(_, change)| *change == PortChange::None), "{:?}", again.ports);
            assert_eq!(again.text, text, "seed {seed}");
            for (port, change) in &ports {
                assert!(!matches!(change, PortChange::SetAgain { .. }), "seed {seed}: {port} {change:?}");
                untouched += usize::from(*change == PortChange::None);
            }
            check_gates(&format!("seed {seed}"), &text);
            if step == 0 && seed % 6 == 0 {
                check_promises(&format!("seed {seed}"), &text);
            }
            // Without --keep the same flows are elsewhere in some of the files.
            let anew = scheduled(&new, 1000).map(|text| file::parse(&text).unwrap());
            moved_without += usize::from(anew.is_some_and(|anew| {
                was.intersection(&is).any(|flow| offset_ns(&anew, flow) != offset_ns(&old_network, flow))
            }));
            extended += 1;
            (before, old) = (after, text);
        }
    }
    assert!(extended > 25 && moved_without > 8 && untouched > 100, "{extended} {moved_without} {untouched}");
}

/// Linux accepts the lists, and no window continues from the end of a list to its start.
fn check_gates(what: &str, text: &str) {
    let findings = check::check(&file::parse(text).unwrap(), text, &Machine::default());
    let wrong =
        |finding: &&Finding| matches!(finding.kind, Kind::Refused { .. }) || finding.rule == "split-window";
    assert_eq!(findings.iter().find(wrong).map(|finding| &finding.what), None, "{what}");
}

/// By the gates of the standard and of Linux, every frame takes the planned time, and the bound is not below it.
fn check_promises(what: &str, text: &str) {
    let network = file::parse(text).unwrap();
    let files = Files::of_switch(&network, text, Lateness::of_margin(1000)).unwrap();
    let scheduled = files.scheduled().unwrap();
    let kept = Kept::read(&network, text, &network, scheduled, Lateness::of_margin(1000)).unwrap();
    let schedule = Schedule { placements: kept.placements };
    for mode in [Mode::Standard, Mode::Linux] {
        let simulated = Options { mode, ports: Ports::Hardware, ring_frames: 1, ..Options::default() };
        let verified =
            verify::of(&network, scheduled, &schedule, &tardy_bounds::Options::of(simulated)).unwrap();
        for flow in &verified.flows {
            let (planned_ns, simulated_ns) = (flow.planned_ns.unwrap(), flow.simulated_ns.unwrap());
            assert!(simulated_ns.abs_diff(planned_ns) <= 1000, "{what} {mode:?}: {flow:?}");
            assert!(
                flow.bound_ns.is_none_or(|bound_ns| bound_ns >= simulated_ns),
                "{what} {mode:?}: {flow:?}"
            );
            assert!(
                mode == Mode::Linux || flow.bound_ns.is_some_and(|bound_ns| bound_ns <= planned_ns + 1000),
                "{what}: {flow:?}"
            );
        }
    }
}

/// Two flows to the same host, and one the other way.
fn three() -> Vec<String> {
    vec![
        flow("torque", (0, 4), 128, "500us"),
        flow("pressure", (2, 4), 256, "1ms"),
        flow("position", (4, 0), 128, "500us"),
    ]
}

#[test]
fn flows_that_cannot_stay_are_named_with_the_reason() {
    let old = scheduled(&network(&three()), 1000).unwrap();
    let reason = |flows: &[String], old: &str, margin_ns: u64| -> Vec<String> {
        let extended = extend(&network(flows), old, margin_ns);
        extended.kept.not_kept.iter().map(|one| format!("{}: {}", one.flow, one.reason)).collect()
    };
    let mut golden = String::new();
    let mut add = |what: &str, reasons: Vec<String>| {
        assert!(!reasons.is_empty(), "{what}");
        let _ = writeln!(golden, "{what}\n    {}", reasons.join("\n    "));
    };
    let changed = |flow: &str| [vec![flow.to_owned()], three().split_off(1)].concat();
    for (what, new) in [
        ("another period", flow("torque", (0, 4), 128, "1ms")),
        ("another size", flow("torque", (0, 4), 129, "500us")),
        ("another talker", flow("torque", (1, 4), 128, "500us")),
        ("another listener", flow("torque", (0, 5), 128, "500us")),
        ("another class", flow("torque", (0, 4), 128, "500us").replace("pcp = 6", "pcp = 0")),
        ("a deadline that is too short", flow("torque", (0, 4), 128, "500us") + "deadline = \"50us\"\n"),
    ] {
        add(what, reason(&changed(&new), &old, 1000));
    }
    add("a longer margin", reason(&three(), &old, 60_000));
    let offset = old.lines().find(|line| line.starts_with("offset")).unwrap();
    add(
        "an offset at which gates are closed",
        reason(&three(), &old.replacen(offset, "offset = \"333us\"", 1), 1000),
    );
    insta::assert_snapshot!(golden);
}

#[test]
fn the_schedule_of_another_network_is_refused_with_the_differences() {
    let text = network(&three());
    let old = scheduled(&text, 1000).unwrap();
    let mut golden = String::new();
    for (what, from, to) in [
        ("a switch", "name = \"switch1\"", "name = \"middle\""),
        ("forwarding", "forwarding = \"2us\"", "forwarding = \"3us\""),
        ("a port", "interface = \"a\"", "interface = \"c\""),
        ("a speed", "speed = \"100Mbit/s\"", "speed = \"1Gbit/s\""),
        ("a cable", "to = \"host1\"", "to = \"host7\""),
        ("classes", "name = \"other\"", "name = \"best\""),
        ("a map", "about = \"A line.\"", "about = \"A line.\"\npriority_map = [0, 1, 1]"),
    ] {
        let other = text
            .replacen(from, to, 1)
            .replace("switch1/", if what == "a switch" { "middle/" } else { "switch1/" });
        assert_ne!(other, text, "{what}");
        match read(&other, &old, 1000) {
            Err(KeepError::OtherNetwork(differences)) => {
                let _ = writeln!(golden, "{what}: {}", differences.join("; "));
            }
            result => panic!("{what}: {:?}", result.map(|files| files.kept().map(Kept::count))),
        }
    }
    insta::assert_snapshot!(golden);
    // More switches, ports and hosts are not a difference.
    let more =
        text.clone() + "[[switch]]\nname = \"more\"\n[[switch.port]]\ninterface = \"x\"\nto = \"host9\"\n";
    let reordered = more.replace(&three().concat(), "") + &three().concat();
    assert_eq!(extend(&reordered, &old, 1000).kept.count(), 3);
}

#[test]
fn an_old_file_without_a_schedule_or_a_common_zero_is_refused() {
    let text = network(&three());
    let refused = |old: &str| match read(&text, old, 1000) {
        Err(KeepError::Old(wrong)) => wrong,
        result => panic!("{:?}", result.map(|files| files.kept().map(Kept::count))),
    };
    assert!(refused(&text).what.contains("it has no schedule"));
    let old = scheduled(&text, 1000).unwrap();
    let shifted = old.replacen("gates = [", "base_time = \"3us\"\ngates = [", 1);
    let wrong = refused(&shifted);
    assert!(wrong.what.contains("different base times"), "{}", wrong.what);
    assert!(wrong.line.is_some());
}

#[test]
fn base_time_stays_and_a_changed_clock_is_reported() {
    let text = network(&three());
    let old = scheduled(&text, 1000).unwrap().replace("gates = [", "base_time = \"3us\"\ngates = [");
    let same = extend(&text, &old, 1000);
    assert_eq!(same.kept.base_time_ns, 3000);
    let ports: Vec<_> =
        file::parse(&same.text).unwrap().switches.into_iter().flat_map(|one| one.ports).collect();
    let base_times: BTreeSet<i64> =
        ports.iter().filter_map(|port| Some(port.schedule.as_ref()?.base_time_ns.value)).collect();
    assert_eq!(base_times, BTreeSet::from([3000]));
    assert!(same.ports.iter().all(|(_, change)| *change == PortChange::None), "{:?}", same.ports);
    let monotonic = old.replace("gates = [", "clock = \"monotonic\"\ngates = [");
    let changed = extend(&text, &monotonic, 1000);
    let again = changed.ports.iter().filter(|(_, change)| matches!(change, PortChange::SetAgain { .. }));
    assert_eq!(again.count(), changed.ports.len());
}

#[test]
fn a_port_that_only_kept_flows_cross_keeps_its_list_even_if_another_one_would_be_computed() {
    let old = scheduled_within(&network(&three()), 1000, Some(1)).unwrap();
    let more = [three(), vec![flow("heat", (2, 1), 400, "1ms")]].concat();
    let extended = extend(&network(&more), &old, 1000);
    let lengths = |text: &str| -> Vec<(String, usize)> {
        let network = file::parse(text).unwrap();
        let of_switch = |switch: &tardy_tsn::network::Switch| {
            let port = |port: &tardy_tsn::network::Port| {
                let entries = port.schedule.as_ref()?.entries.len();
                Some((format!("{}/{}", switch.name.value, port.interface.value), entries))
            };
            switch.ports.iter().filter_map(port).collect::<Vec<_>>()
        };
        network.switches.iter().flat_map(of_switch).collect()
    };
    let computed = lengths(&scheduled(&network(&more), 1000).unwrap());
    let after = lengths(&extended.text);
    let mut kept_another = 0;
    for (port, change) in &extended.ports {
        let entries = |list: &[(String, usize)]| list.iter().find(|(name, _)| name == port).unwrap().1;
        match change {
            PortChange::None => kept_another += usize::from(entries(&after) != entries(&computed)),
            PortChange::Replaced { quiet_ns } => {
                assert!(quiet_ns.is_some_and(|quiet_ns| quiet_ns > 0), "{port}")
            }
            PortChange::Added => {}
            other => panic!("{port}: {other:?}"),
        }
    }
    assert!(kept_another > 0, "{:?}", extended.ports);
    assert!(extended.ports.iter().any(|(_, change)| *change == PortChange::Added), "{:?}", extended.ports);
}
