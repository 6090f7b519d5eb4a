//! Valid and invalid switch files.

use std::fmt::Write;

use proptest::prelude::*;
use tardy_tsn::file;
use tardy_tsn::network::{Bridge, End, Network, Pace, PortId, Speed};
use tardy_tsn::settings;

const TWO_FLOWS: &str = include_str!("../../../recipes/tsn-two-flows.toml");

fn parsed(text: &str) -> Network {
    file::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_articles_switch_is_read_as_published() {
    let network = parsed(TWO_FLOWS);
    assert_eq!(network.published, ["tsn-switch-two-flows"]);
    let switch = &network.switches[0];
    assert_eq!(switch.bridge, Bridge::Kernel);
    assert_eq!(network.hosts.len(), 2);
    assert_eq!(network.links.len(), 2);
    let out = PortId { switch: 0, port: 1 };
    assert_eq!(network.far_end(out), Some(End::Host(1)));
    assert_eq!(network.way_out(&network.flows[0]), Some(vec![out]));
    assert_eq!(network.flows[0].pace, Pace::FlatOut);
    let classes: Vec<u8> = network.flows.iter().map(|flow| switch.class_of(&flow.marks)).collect();
    assert_eq!(classes, [0, 1]);
    assert_eq!(switch.ports[1].speed.value, Speed::BitsPerSecond(100_000_000));
}

#[test]
fn the_articles_switch_becomes_the_articles_taprio() {
    let settings = settings::of(&parsed(TWO_FLOWS).switches[0]);
    assert!(!settings.bridge.vlan_filtering);
    assert_eq!(settings.ports[0].taprio, None);
    insta::assert_debug_snapshot!(settings.ports[1].taprio.as_ref().unwrap());
}

/// Two switches between two hosts, in the shortest form.
const TWO_SWITCHES: &str = r#"
about = "two switches"
[[class]]
[[class]]
[[switch]]
name = "a"
port = [
  { interface = "a0", to = "talker", length = "10m" },
  { interface = "a1", to = "b/b0", gates = [{ open = "all", for = "1ms" }] },
]
[[switch]]
name = "b"
port = [
  { interface = "b0", to = "a/a1" },
  { interface = "b1", to = "listener", pvid = 1, tagged = [5, 7] },
]
[[host]]
name = "listener"
address = "10.0.0.2"
mac = "02:00:00:00:00:02"
[[flow]]
name = "f"
talker = "talker"
listener = "listener"
vlan = 5
size = 64
period = "1ms"
offset = "10us"
"#;

#[test]
fn a_flow_passes_both_switches() {
    let network = parsed(TWO_SWITCHES);
    assert_eq!(network.links.len(), 3, "a cable that both ends name is one cable");
    assert_eq!(network.links[0].propagation_ns, 50);
    let flow = &network.flows[0];
    let port = |switch| PortId { switch, port: 1 };
    assert_eq!(network.way_out(flow), Some(vec![port(0), port(1)]));
    assert_eq!((flow.marks.vlan, flow.marks.pcp), (Some(5), Some(0)));
    assert_eq!(flow.marks.destination_mac, Some([2, 0, 0, 0, 0, 2]));
    assert_eq!(network.switches[0].ports[1].schedule.as_ref().unwrap().entries[0].entry.gates, 0b11);
    let vlans = &settings::of(&network.switches[1]).ports[1].vlans;
    let listed: Vec<(u16, bool)> = vlans.iter().map(|vlan| (vlan.id, vlan.untagged)).collect();
    assert_eq!(listed, [(1, true), (5, false), (7, false)]);
}

#[test]
fn classes_and_rules_of_a_switch_override_those_of_the_file() {
    let own = "[[switch.class]]\nname = \"x\"\nqueues = \"2@3\"\n";
    let text = TWO_SWITCHES.replace("[[host]]", &format!("{own}[[host]]"));
    let network = parsed(&text);
    assert_eq!(network.switches[0].classes.len(), 2);
    assert_eq!(network.switches[1].classes.len(), 1);
    assert_eq!(network.switches[1].queues_of(0).offset, 3);
}

/// Replacements in the article's file.
const MISTAKES: &[(&str, &str)] = &[
    ("about =", "abuot ="),
    ("[switch]", "[swtich]"),
    ("[switch]", "[switch"),
    ("name = \"tsn0\"", "name = \"a name that no interface can have\""),
    ("bridge = \"kernel\"", "bridge = \"ovs\""),
    ("bridge = \"kernel\"", "bridge = 3"),
    ("interface = \"swp1\"", "interface = \"swp0\""),
    ("interface = \"swp1\"", ""),
    ("to = \"listeners\"", "to = \"talkers\""),
    ("to = \"listeners\"", "to = \"tsn0/swp9\""),
    ("to = \"listeners\"", "to = \"tsn0/swp1\""),
    ("to = \"listeners\"", "length = \"3 miles\""),
    ("speed = \"100Mbit/s\"\nqueues", "speed = \"100\"\nqueues"),
    ("speed = \"100Mbit/s\"\nqueues", "speed = 100\nqueues"),
    ("queues = 2", "queues = 0"),
    ("udp_port = 7777\nsize", "loss = \"a few\"\nsize"),
    ("udp_port = 7777\nsize", "loss = 3\nsize"),
    ("udp_port = 7777\nsize", "jitter = \"10\"\nsize"),
    ("queues = 2", "pvid = 4095"),
    ("queues = 2", "clock = \"sundial\""),
    ("queues = 2", "flags = -1"),
    ("queues = 2", "txtime_delay = \"5s\""),
    ("base_time = \"0s\"", "bsae_time = \"0s\""),
    ("base_time = \"0s\"", "base_time = 0"),
    ("base_time = \"0s\"", "base_time = \"soon\""),
    ("cycle_time = \"1ms\"", "cycle_time = \"1\""),
    ("gates = [", "gates = ["),
    ("{ open = [\"blue\"]", "{ open = [\"bleu\"]"),
    ("{ open = [\"blue\"]", "{ open = \"blue\""),
    ("{ open = [\"blue\"]", "{ mask = 0x1ffffffff"),
    ("{ open = [\"blue\"]", "{ mask = 1, open = [\"blue\"]"),
    ("{ open = [\"blue\"],", "{"),
    (", for = \"800us\"", ""),
    ("for = \"800us\"", "for = \"800\""),
    ("for = \"800us\"", "for = \"5s\""),
    ("for = \"800us\"", "for = \"800us\", operation = \"H\""),
    ("\"1@0\"", "\"1-0\""),
    ("name = \"red\"\nqueues", "name = \"blue\"\nqueues"),
    ("name = \"red\"\nqueues", "name = \"0\"\nqueues"),
    ("[\n  \"red\",", "[\n  \"red\", 0,"),
    ("[\n  \"red\",", "[\n  \"read\","),
    ("[\n  \"red\",", "[\n  256,"),
    ("udp_port = 6666\npriority = 1", "priority = 1"),
    ("udp_port = 6666\npriority = 1", "udp_port = 6666"),
    ("udp_port = 6666\npriority = 1", "udp_port = 66666\npriority = 16"),
    (
        "udp_port = 6666\npriority = 1",
        "udp_port = 6666\ntcp_port = 1\npcp = 8\nsource_mac = \"02:00\"\npriority = 1",
    ),
    ("talker = \"talkers\"", "talker = \"talker\""),
    ("talker = \"talkers\"", "talker = \"listeners\""),
    ("talker = \"talkers\"", "talker = \"somebody else\""),
    ("size = 1014", "size = 59"),
    ("size = 1014", "size = 1.5"),
    ("flat_out = true", "flat_out = true\nperiod = \"1ms\""),
    ("flat_out = true", "period = \"0s\""),
    ("flat_out = true", ""),
    ("flat_out = true", "flat_out = true\nframes = 3"),
    ("class = \"red\"", "class = \"green\""),
    ("name = \"red\"\ntalker", "name = \"blue\"\ntalker"),
    ("ports = \"veth\"\ningress_rate = \"50Mbit/s\"", "ports = \"tun\"\ningress_rate = \"fast\""),
    ("[switch]", "[[host]]\nname = \"a/b\"\naddress = \"here\"\n[switch]"),
];

#[test]
fn every_mistake_is_reported_with_its_line_and_a_correction() {
    let mut golden = String::new();
    for (right, wrong) in MISTAKES {
        assert!(TWO_FLOWS.contains(right), "{right:?} is not in the file any more");
        if right == wrong {
            // Renames the key gates: the port then has no gate control list.
            let text = TWO_FLOWS.replace("gates = [\n", "unheard_of = [\n");
            let error = file::parse(&text).unwrap_err();
            writeln!(golden, "gates -> unheard_of\n{error}\n").unwrap();
            continue;
        }
        let text = TWO_FLOWS.replacen(right, wrong, 1);
        let error = file::parse(&text).expect_err(wrong);
        writeln!(golden, "{right:?} -> {wrong:?}\n{error}\n").unwrap();
    }
    let error = file::parse("").unwrap_err();
    writeln!(golden, "an empty file\n{error}").unwrap();
    insta::assert_snapshot!(golden);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = file::parse(&text);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0..TWO_FLOWS.len(), length in 0usize..40, instead in "[ -~\n]{0,8}") {
        let start = (0..=at).rev().find(|at| TWO_FLOWS.is_char_boundary(*at)).unwrap();
        let end = (start + length).min(TWO_FLOWS.len());
        let mut text = TWO_FLOWS.to_owned();
        text.replace_range(start..end, &instead);
        match file::parse(&text) {
            Ok(network) => {
                for switch in &network.switches {
                    settings::of(switch);
                }
            }
            Err(error) => {
                let lines = text.matches('\n').count() + 1;
                prop_assert!(!error.problems.is_empty());
                prop_assert!(error.problems.iter().all(|problem| (1..=lines).contains(&problem.line)));
            }
        }
    }
}
