//! Each rule is provoked by one change to the article's file.

use std::fmt::Write;

use proptest::prelude::*;
use tardy_record::gates::GateOperation;
use tardy_tsn::check::{self, Device, DeviceSpeed, Finding, Kind, Machine, Running};
use tardy_tsn::file;
use tardy_tsn::network::{Clock, Network};
use tardy_tsn::settings::{self, Taprio};

const TWO_FLOWS: &str = include_str!("../../../recipes/tsn-two-flows.toml");

fn findings(text: &str, machine: &Machine) -> Vec<Finding> {
    let network = file::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    check::check(&network, text, machine)
}

fn rules(text: &str) -> Vec<&'static str> {
    findings(text, &Machine::default()).iter().map(|finding| finding.rule).collect()
}

fn describe(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { rule, kind, what, effect, change, line, .. } in findings {
        let kind = match kind {
            Kind::Refused { errno, message } => format!("refused, {errno}: {message}"),
            Kind::Unsupported => "unsupported".to_owned(),
            Kind::Accepted => "accepted".to_owned(),
            Kind::Note => "note".to_owned(),
        };
        writeln!(text, "line {line} [{rule}] ({kind})\n  {what}\n  {effect}\n  {change}").unwrap();
    }
    text
}

/// Replacements in the article's file, and the rules whose findings they add.
const CHANGES: &[(&str, &str, &[&str])] = &[
    ("queues = 2", "queues = 1", &["single-queue", "more-classes-than-queues", "queues-not-there"]),
    ("\"1@1\"", "\"1@4\"", &["queues-not-there"]),
    ("name = \"tsn0\"", "name = \"swp1\"", &["switch-named-like-port"]),
    ("interface = \"swp0\"", "interface = \"lo\"", &["loopback-as-port"]),
    ("\"1@1\"", "\"0@1\"", &["queues-not-there"]),
    ("\"1@0\"", "\"2@0\"", &["queues-overlap"]),
    ("[\n  \"red\",", "[\n  7,", &["priority-without-class"]),
    (
        "for = \"200us\"",
        "for = \"4799ns\"",
        &["interval-too-short", "cycle-longer-than-sum", "window-shorter-than-frame"],
    ),
    (
        "  { open = [\"blue\"], for = \"800us\" },\n  { open = [\"red\"], for = \"200us\" },\n",
        "",
        &["empty-list"],
    ),
    ("cycle_time = \"1ms\"", "cycle_time = \"3s\"", &["cycle-too-long", "cycle-longer-than-sum"]),
    ("cycle_time = \"1ms\"", "cycle_time = \"9us\"", &["cycle-too-short"]),
    ("queues = 2", "queues = 2\nclock = \"none\"", &["clock"]),
    ("queues = 2", "queues = 2\nclock = \"monotonic-raw\"", &["clock"]),
    ("queues = 2", "queues = 2\nflags = 1", &["no-etf"]),
    ("queues = 2", "queues = 2\nflags = 3", &["flags"]),
    (
        "name = \"red\"\nqueues",
        "name = \"red\"\npreemptible = true\nqueues",
        &["preemption-in-software", "preemption-without-mac-merge"],
    ),
    ("name = \"red\"\nqueues", "name = \"red\"\npreemptible = false\nqueues", &[]),
    (
        "name = \"red\"\nqueues",
        "name = \"red\"\netf_delta = \"200us\"\nqueues",
        &["etf-without-transmit-times"],
    ),
    ("name = \"red\"\nqueues", "name = \"red\"\nidle_slope = \"20Mbit/s\"\nqueues", &[]),
    (
        "name = \"red\"\nqueues",
        "name = \"red\"\nidle_slope = \"100Mbit/s\"\nqueues",
        &["idle-slope-too-high"],
    ),
    ("queues = 2", "queues = 2\nflags = 4", &["flags"]),
    ("queues = 2", "queues = 2\nflags = 2", &["clock"]),
    ("queues = 2", "queues = 2\ntxtime_delay = \"1us\"", &["txtime-delay"]),
    ("cycle_time = \"1ms\"", "cycle_time = \"15ms\"", &["cycle-longer-than-sum"]),
    ("cycle_time = \"1ms\"", "cycle_time = \"900us\"", &["cycle-shorter-than-sum"]),
    ("cycle_time = \"1ms\"", "cycle_time = \"800us\"", &["cycle-shorter-than-sum", "class-never-opens"]),
    ("{ open = [\"red\"],", "{ mask = 6,", &["mask-beyond-classes"]),
    ("{ open = [\"red\"],", "{ mask = 0xffffffff,", &["mask-all-ones"]),
    ("{ open = [\"red\"],", "{ open = \"none\",", &["class-never-opens"]),
    ("for = \"200us\" }", "for = \"200us\", operation = \"hold\" }", &["hold-in-software"]),
    ("base_time = \"0s\"", "base_time = \"-300us\"", &["negative-base-time"]),
    (
        "{ open = [\"blue\"], for = \"800us\" }",
        "{ open = [\"blue\"], for = \"400us\" },\n  { open = [\"blue\"], for = \"400us\" }",
        &["split-window"],
    ),
    (
        "{ open = [\"red\"], for = \"200us\" }",
        "{ open = \"all\", for = \"100us\" },
  { open = [\"red\"], for = \"100us\" }",
        &["split-window"],
    ),
    (
        "speed = \"100Mbit/s\"\nqueues",
        "speed = \"unknown\"\nqueues",
        &["unknown-speed", "window-shorter-than-frame", "window-shorter-than-frame"],
    ),
    ("speed = \"100Mbit/s\"\nqueues", "queues", &["speed-not-said"]),
    ("udp_port = 7777\nsize = 1014", "udp_port = 7777\nsize = 2476", &["window-shorter-than-frame"]),
    ("udp_port = 7777\nsize = 1014", "udp_port = 7777\nsize = 2477", &["window-shorter-than-frame"]),
    ("udp_port = 7777\nsize = 1014", "udp_port = 7777\nsize = 2400", &["window-hardly-longer"]),
    ("name = \"red\"\nqueues", "name = \"red\"\nmax_sdu = 999\nqueues", &["max-sdu-drops-flow"]),
    ("name = \"red\"\nqueues", "name = \"red\"\nmax_sdu = 1000\nqueues", &[]),
    ("\"red\", \"blue\",", "\"red\", \"red\",", &["class-without-priority", "wrong-class"]),
    ("\"red\",\n]", "]", &["short-map"]),
    ("udp_port = 6666\npriority = 1", "udp_port = 6667\npriority = 1", &["wrong-class"]),
    ("udp_port = 7777\npriority = 0", "udp_port = 7777\npriority = 1", &["wrong-class"]),
    ("to = \"talkers\"", "to = \"talkers\"\npvid = 3", &["wrong-vlan", "wrong-vlan"]),
    ("to = \"talkers\"\nspeed", "to = \"talkers\"\ntagged = [3]\nspeed", &["wrong-vlan", "wrong-vlan"]),
    (
        "udp_port = 7777\nsize = 1014\nflat_out = true",
        "udp_port = 7777\nsize = 1014\nperiod = \"400us\"",
        &["more-than-windows-carry"],
    ),
    (
        "udp_port = 7777\nsize = 1014\nflat_out = true",
        "udp_port = 7777\nsize = 1014\nperiod = \"500us\"",
        &[],
    ),
    // Frames of 1,038 and 1,462 bytes on the wire fill the 2,500 bytes of the window.
    (
        "udp_port = 7777\nsize = 1014\nflat_out = true",
        "udp_port = 7777\nsize = 1014\nperiod = \"1ms\"\n\n[[flow]]\nname = \"longer\"\ntalker = \"talkers\"\nlistener = \"listeners\"\n\
         udp_port = 7777\nsize = 1438\nperiod = \"1ms\"",
        &[],
    ),
    (
        "udp_port = 7777\nsize = 1014\nflat_out = true",
        "udp_port = 7777\nsize = 1014\nperiod = \"1ms\"\n\n[[flow]]\nname = \"longer\"\ntalker = \"talkers\"\nlistener = \"listeners\"\n\
         udp_port = 7777\nsize = 1439\nperiod = \"1ms\"",
        &["more-than-windows-carry"],
    ),
    (
        "udp_port = 7777\nsize = 1014\nflat_out = true",
        "udp_port = 7777\nsize = 1014\nperiod = \"2ms\"\ndeadline = \"850us\"\njitter = \"10us\"",
        &["deadline-out-of-reach", "jitter-margin"],
    ),
    (
        "udp_port = 7777\nsize = 1014\nflat_out = true",
        "udp_port = 7777\nsize = 1014\nperiod = \"800us\"\ndeadline = \"1ms\"\njitter = \"500us\"\nloss = \"1%\"",
        &["deadline-margin", "jitter-out-of-reach"],
    ),
    (
        "udp_port = 7777\npriority = 0\n",
        "udp_port = 7777\npriority = 0\n\n[[classify]]\nethertype = 0x88f7\npriority = 7\n",
        &["-no-class-for-ptp"],
    ),
];

#[test]
fn every_rule_reports_its_mistake_and_nothing_else() {
    let own = rules(TWO_FLOWS);
    let mut golden = format!("the article's file\n{}\n", describe(&findings(TWO_FLOWS, &Machine::default())));
    for (right, wrong, wanted) in CHANGES {
        assert!(TWO_FLOWS.contains(right), "{right:?} is not in the file any more");
        let text = TWO_FLOWS.replacen(right, wrong, 1);
        let found = findings(&text, &Machine::default());
        let news: Vec<&Finding> = found.iter().filter(|finding| !own.contains(&finding.rule)).collect();
        for rule in *wanted {
            match rule.strip_prefix('-') {
                Some(gone) => assert!(!found.iter().any(|finding| finding.rule == gone), "{wrong:?}"),
                None => assert!(
                    found.iter().any(|finding| finding.rule == *rule),
                    "{wrong:?}: no {rule} in {found:#?}"
                ),
            }
        }
        if wanted.is_empty() {
            assert_eq!(news, Vec::<&Finding>::new(), "{wrong:?}");
        }
        let news: Vec<Finding> = news.into_iter().cloned().collect();
        writeln!(golden, "{right:?} -> {wrong:?}\n{}", describe(&news)).unwrap();
    }
    insta::assert_snapshot!(golden);
}

fn network() -> Network {
    file::parse(TWO_FLOWS).unwrap()
}

fn machine(change: impl FnOnce(&mut Device)) -> Machine {
    let mut device = Device {
        tx_queues: Some(2),
        real_tx_queues: Some(2),
        speed: Some(DeviceSpeed::BitsPerSecond(100_000_000)),
        mtu_max: Some(9000),
        mtu: Some(1500),
        ptp_clock: Some(false),
        running: None,
    };
    change(&mut device);
    Machine { devices: [("swp1".to_owned(), device)].into(), ..Machine::default() }
}

#[test]
fn facts_of_the_machine_override_the_file() {
    let running = Running::from(settings::of(&network().switches[0]).ports[1].taprio.as_ref().unwrap());
    let far = 4_102_444_800_000_000_000;
    let ahead = TWO_FLOWS.replace("base_time = \"0s\"", "base_time = \"4102444800.0003s\"");
    let now = |tai, utc| Machine {
        now_ns: [(Clock::Tai, tai), (Clock::Realtime, utc)].into(),
        ..Machine::default()
    };
    let offload = TWO_FLOWS.replace("queues = 2", "queues = 2\nflags = 2\nclock = \"none\"");
    let sdu = TWO_FLOWS.replace("name = \"red\"\nqueues", "name = \"red\"\nmax_sdu = 9001\nqueues");
    let other_clock = TWO_FLOWS.replace("queues = 2", "queues = 2\nclock = \"realtime\"");
    let cases: Vec<(&str, &str, Machine)> = vec![
        ("no problem", TWO_FLOWS, machine(|_| {})),
        (
            "one queue",
            TWO_FLOWS,
            machine(|device| (device.tx_queues, device.real_tx_queues) = (Some(1), Some(1))),
        ),
        (
            "one of eight queues in use",
            TWO_FLOWS,
            machine(|device| (device.tx_queues, device.real_tx_queues) = (Some(8), Some(1))),
        ),
        ("no speed", TWO_FLOWS, machine(|device| device.speed = Some(DeviceSpeed::Unknown))),
        (
            "another speed",
            TWO_FLOWS,
            machine(|device| device.speed = Some(DeviceSpeed::BitsPerSecond(1_000_000_000))),
        ),
        ("no PTP clock", &offload, machine(|_| {})),
        ("frames too long", &sdu, machine(|_| {})),
        ("the same already runs", TWO_FLOWS, machine(|device| device.running = Some(running.clone()))),
        (
            "the same with another clock already runs",
            &other_clock,
            machine(|device| device.running = Some(running.clone())),
        ),
        ("a base time ahead", &ahead, now(far - 90_000_000_000, far - 127_000_000_000)),
        ("a base time that has passed", &ahead, now(far + 1_000_000_000, far - 36_000_000_000)),
        ("TAI without an offset", TWO_FLOWS, now(far, far)),
    ];
    let own = rules(TWO_FLOWS);
    let mut golden = String::new();
    for (name, text, machine) in cases {
        let mut found = findings(text, &machine);
        found.retain(|finding| !own.contains(&finding.rule));
        writeln!(golden, "{name}\n{}", describe(&found)).unwrap();
    }
    insta::assert_snapshot!(golden);
}

/// A schedule in the device has neither the kernel's timer nor its budgets.
#[test]
fn findings_on_a_schedule_in_hardware_do_not_describe_software() {
    let changes = [
        ("{ open = [\"red\"],", "{ open = \"none\","),
        ("{ open = [\"red\"],", "{ mask = 0xffffffff,"),
        ("udp_port = 7777\nsize = 1014", "udp_port = 7777\nsize = 2477"),
        ("udp_port = 7777\nsize = 1014", "udp_port = 7777\nsize = 2400"),
        ("name = \"red\"\nqueues", "name = \"red\"\nmax_sdu = 999\nqueues"),
        ("base_time = \"0s\"", "base_time = \"-300us\""),
        ("cycle_time = \"1ms\"", "cycle_time = \"15ms\""),
        ("speed = \"100Mbit/s\"\nqueues", "speed = \"unknown\"\nqueues"),
        ("for = \"200us\" }", "for = \"200us\", operation = \"hold\" }"),
        (
            "{ open = [\"blue\"], for = \"800us\" }",
            "{ open = [\"blue\"], for = \"400us\" },\n  { open = [\"blue\"], for = \"400us\" }",
        ),
    ];
    let offload = TWO_FLOWS.replace("queues = 2", "queues = 2\nflags = 2\nclock = \"none\"");
    let mut golden = String::new();
    for (right, wrong) in changes {
        let text = offload.replacen(right, wrong, 1);
        assert!(text != offload, "{right:?} is not in the file any more");
        let found = describe(&findings(&text, &machine(|device| device.ptp_clock = Some(true))));
        for words in ["software", "instead of queued", "timer", "budget"] {
            assert!(!found.contains(words), "{wrong:?}: {words}\n{found}");
        }
        writeln!(golden, "{right:?} -> {wrong:?}\n{found}").unwrap();
    }
    insta::assert_snapshot!(golden);
}

#[test]
fn a_kernel_without_taprio_is_reported_for_ports_of_this_machine() {
    let reported = |machine: Machine| {
        findings(TWO_FLOWS, &machine).iter().filter(|finding| finding.rule == "no-taprio").count()
    };
    let of = |has_taprio| Machine { has_taprio, ..machine(|_| {}) };
    assert_eq!(reported(of(Some(false))), 1, "the device of one port is here");
    assert_eq!((reported(of(Some(true))), reported(of(None))), (0, 0));
    assert_eq!(reported(Machine { has_taprio: Some(false), ..Machine::default() }), 0);
}

#[test]
fn a_missing_class_for_ptp_is_a_note_unless_ptp_is_in_use() {
    let kind = |text: &str, machine: &Machine| {
        let found = findings(text, machine);
        found.into_iter().find(|finding| finding.rule == "no-class-for-ptp").map(|finding| finding.kind)
    };
    let with_flow = TWO_FLOWS.replacen("udp_port = 7777\nsize", "ethertype = 0x88f7\nsize", 1);
    assert_eq!(kind(TWO_FLOWS, &Machine::default()), Some(Kind::Note));
    assert_eq!(kind(&with_flow, &Machine::default()), Some(Kind::Accepted));
    let with_daemon = Machine { runs_ptp: Some(true), ..Machine::default() };
    assert_eq!(kind(TWO_FLOWS, &with_daemon), Some(Kind::Accepted));
}

#[test]
fn lists_too_long_for_tc_for_the_dump_or_for_a_message_are_reported() {
    let with = |entries: usize| {
        let list = "  { open = [\"blue\"], for = \"500us\" },\n  { open = [\"red\"], for = \"500us\" },\n"
            .repeat(entries / 2);
        let (head, rest) = TWO_FLOWS.split_once("gates = [\n").unwrap();
        let (_, tail) = rest.split_once("]\n").unwrap();
        rules(&format!("{}gates = [\n{list}]\n{tail}", head.replace("cycle_time = \"1ms\"\n", "")))
    };
    let own = rules(TWO_FLOWS);
    let news = |entries| with(entries).into_iter().filter(|rule| !own.contains(rule)).collect::<Vec<_>>();
    assert_eq!(news(28), Vec::<&str>::new());
    assert_eq!(news(32), ["list-too-long-for-tc"]);
    assert_eq!(news(906), ["list-not-shown", "list-too-long-for-tc"]);
    assert_eq!(news(3240), ["list-not-shown", "list-too-long-for-tc"]);
    assert_eq!(news(3242), ["list-too-long"]);
}

#[test]
fn tc_can_send_31_entries_without_other_attributes() {
    let mut taprio = settings::of(&network().switches[0]).ports[1].taprio.clone().unwrap();
    (taprio.overhead, taprio.cycle_time_ns) = (0, None);
    assert_eq!(taprio.entries_max_of_tc(), 31);
    // Such a message was observed to have 220 bytes: 16 and 20 of headers, 12 of the kind.
    assert_eq!(taprio.options_bytes(), 220 - 48);
    assert_eq!(taprio.entries_max(), 3241);
    taprio.entries[0].operation = GateOperation::SetAndHold;
    assert_eq!(taprio.entries_max(), 2315);
}

#[test]
fn attributes_other_than_entries_take_space_in_tcs_message() {
    let plain = settings::of(&network().switches[0]).ports[1].taprio.clone().unwrap();
    let plain = Taprio { overhead: 0, cycle_time_ns: None, ..plain };
    let limits = |bytes: [u32; 2]| {
        let mut max_sdu = [0; 16];
        max_sdu[..2].copy_from_slice(&bytes);
        max_sdu
    };
    let cycle = Taprio { cycle_time_ns: Some(1_000_000), ..plain.clone() };
    // Each number is the most entries that tc 6.1 sends with these options; the lab asks tc itself.
    for (most, taprio) in [
        (31, Taprio { overhead: 24, ..plain.clone() }),
        (31, Taprio { clockid: None, ..plain.clone() }),
        (30, Taprio { base_time_ns: 5, ..plain.clone() }),
        (30, cycle.clone()),
        (30, Taprio { base_time_ns: -5, overhead: 24, ..cycle.clone() }),
        (30, Taprio { cycle_time_extension_ns: Some(1000), ..cycle.clone() }),
        (30, Taprio { base_time_ns: 5, flags: 1, txtime_delay_ns: Some(100_000), ..plain.clone() }),
        (29, Taprio { max_sdu: limits([0, 500]), ..plain.clone() }),
        (29, Taprio { max_sdu: limits([500, 0]), ..plain.clone() }),
    ] {
        assert_eq!(taprio.entries_max_of_tc(), most, "{taprio:?}");
    }
}

#[test]
fn etf_needs_transmit_times_in_time_and_of_its_clock() {
    let own = rules(TWO_FLOWS);
    let news = |port: &str, classes: [&str; 2]| -> Vec<&'static str> {
        let text = TWO_FLOWS
            .replace("queues = 2", &format!("queues = 2\n{port}"))
            .replace("name = \"blue\"\nqueues", &format!("name = \"blue\"\n{}\nqueues", classes[0]))
            .replace("name = \"red\"\nqueues", &format!("name = \"red\"\n{}\nqueues", classes[1]));
        rules(&text).into_iter().filter(|rule| !own.contains(rule)).collect()
    };
    let etf = "etf_delta = \"200us\"";
    let delayed = "flags = 1\ntxtime_delay = \"300us\"";
    assert_eq!(news(delayed, [etf, etf]), Vec::<&str>::new());
    assert_eq!(news(delayed, [etf, ""]), ["no-etf"]);
    assert_eq!(news("flags = 1", [etf, etf]), ["etf-too-early", "etf-too-early"]);
    let shorter = "flags = 1\ntxtime_delay = \"200us\"";
    assert_eq!(news(shorter, [etf, etf]), ["etf-too-early", "etf-too-early"]);
    let realtime = "flags = 1\ntxtime_delay = \"300us\"\nclock = \"realtime\"";
    assert_eq!(news(realtime, [etf, etf]), ["etf-clock", "etf-clock"]);
}

#[test]
fn an_idle_slope_needs_a_known_speed() {
    let text = TWO_FLOWS
        .replace("name = \"red\"\nqueues", "name = \"red\"\nidle_slope = \"20Mbit/s\"\nqueues")
        .replace("speed = \"100Mbit/s\"\nqueues", "queues");
    assert!(rules(&text).contains(&"idle-slope-without-speed"), "{:?}", rules(&text));
}

#[test]
fn a_loop_of_cables_is_reported() {
    let switch = |name: &str, to: &[&str]| {
        let ports: String = (to.iter().enumerate())
            .map(|(port, to)| {
                format!(
                    "[[switch.port]]\ninterface = \"{name}p{port}\"\nto = \"{to}\"\nspeed = \"1Gbit/s\"\n"
                )
            })
            .collect();
        format!("[[switch]]\nname = \"{name}\"\n{ports}")
    };
    let of = |switches: &[String]| rules(&format!("about = \"x\"\n{}", switches.concat()));
    let line = [switch("a", &["b/bp0"]), switch("b", &["a/ap0", "c/cp0"]), switch("c", &["b/bp1", "h"])];
    assert_eq!(of(&line), Vec::<&str>::new());
    let ring = [
        switch("a", &["b/bp0", "c/cp1"]),
        switch("b", &["a/ap0", "c/cp0"]),
        switch("c", &["b/bp1", "a/ap1"]),
    ];
    assert_eq!(of(&ring), ["ring-of-bridges"]);
    let double = [switch("a", &["b/bp0", "b/bp1"]), switch("b", &["a/ap0", "a/ap1"])];
    assert_eq!(of(&double), ["ring-of-bridges"]);
}

/// One port with two classes and a list.
fn file_with(entries: &[(u32, u32)], speed: &str) -> String {
    let gates: String =
        entries.iter().map(|(mask, us)| format!("{{ mask = {mask}, for = \"{us}us\" }},")).collect();
    format!(
        "about = \"x\"\n[[class]]\n[[class]]\n[switch]\nname = \"s\"\n[[switch.port]]\ninterface = \"p\"\nspeed = \"{speed}\"\ngates = [{gates}]\n"
    )
}

proptest! {
    #[test]
    fn any_list_can_be_checked(
        entries in prop::collection::vec((0u32..8, 0u32..5000), 0..12),
        cycle in prop::option::of(0u32..20_000),
    ) {
        let cycle = cycle.map(|us| format!("cycle_time = \"{us}us\"\n")).unwrap_or_default();
        for speed in ["10Mbit/s", "1Gbit/s", "unknown"] {
            let text = file_with(&entries, speed) + &cycle;
            let lines = text.lines().count();
            for finding in findings(&text, &Machine::default()) {
                prop_assert!((1..=lines).contains(&finding.line));
                prop_assert!(!finding.what.is_empty() && !finding.effect.is_empty() && finding.change.ends_with('.'));
            }
        }
    }

    #[test]
    fn merging_equal_neighbours_leaves_no_split_window(
        entries in prop::collection::vec((1u32..3, 200u32..2000), 2..8),
    ) {
        // Only lists that open one class at a time, and do not start in the middle of a window.
        prop_assume!(entries.first().map(|entry| entry.0) != entries.last().map(|entry| entry.0));
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (mask, us) in &entries {
            match merged.last_mut() {
                Some(last) if last.0 == *mask => last.1 += us,
                _ => merged.push((*mask, *us)),
            }
        }
        let split = |entries: &[(u32, u32)]| rules(&file_with(entries, "100Mbit/s")).contains(&"split-window");
        prop_assert!(!split(&merged), "{merged:?}");
        // A window of 200 us or more in two entries always passes at least one frame too many.
        prop_assert_eq!(split(&entries), merged.len() < entries.len());
    }
}

/// `flags = 2` alone sends frames whole: what check accepts must be what apply sets up.
#[test]
fn a_preemptible_class_is_refused_in_hardware_too() {
    let text = include_str!("switches/inet-frame-preemption.toml");
    let found = findings(text, &Machine::default());
    let finding = found.iter().find(|finding| finding.rule == "preemption-without-mac-merge").unwrap();
    assert!(finding.kind.is_refusal() && finding.line == 5, "{finding:?}");
    assert!(!rules(&text.replace("preemptible = true", "preemptible = false")).contains(&finding.rule));
}

/// The kernel ignores bits of classes that do not exist, so the list does what it says.
#[test]
fn a_mask_with_bits_to_spare_is_not_wrong() {
    let text = include_str!("switches/mask-of-eight-queues.toml");
    let kind = |text: &str| {
        let found = findings(text, &Machine::default());
        found.into_iter().find(|finding| finding.rule == "mask-beyond-classes").map(|finding| finding.kind)
    };
    assert_eq!(kind(text), Some(Kind::Note));
    assert_eq!(kind(&text.replace("0xf8", "0xf0")), Some(Kind::Accepted));
}

/// Deadlines are judged with the time of every cable and switch on the way, and without the gap after the last one.
#[test]
fn what_the_gates_leave_of_a_deadline_counts_cables_and_switches() {
    let text = include_str!("switches/inet-time-aware-shaping.toml");
    let alone = |text: &str| {
        let machine = Machine { ports: tardy_tsn::port_model::Ports::Hardware, ..Machine::default() };
        let found = findings(text, &machine);
        let finding = found.iter().find(|finding| finding.rule.starts_with("deadline-")).unwrap();
        finding.what.clone()
    };
    assert_eq!(alone(text), "flow 'hp' alone needs 11.62us of its deadline of 20us");
    let slower = text.replace("name = \"sw\"", "name = \"sw\"\nforwarding = \"3us\"");
    assert_eq!(alone(&slower), "flow 'hp' alone needs 14.62us of its deadline of 20us");
}

#[test]
fn the_document_names_every_rule() {
    let document = include_str!("../../../docs/tsn.md");
    let sources = [
        include_str!("../src/check/cabling.rs"),
        include_str!("../src/check/classes.rs"),
        include_str!("../src/check/flows.rs"),
        include_str!("../src/check/limits.rs"),
        include_str!("../src/check/refused.rs"),
        include_str!("../src/check/schedule.rs"),
        include_str!("../src/check/environment.rs"),
    ];
    let mut seen = 0;
    for source in sources {
        let quoted = source.split('"').skip(1).step_by(2);
        for rule in quoted.filter(|text| {
            text.contains('-') && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())
        }) {
            assert!(document.contains(&format!("`{rule}`")), "docs/tsn.md does not name {rule}");
            seen += 1;
        }
    }
    assert!(seen > 30, "hardly any rules were found: {seen}");
}
