//! The printed forms of a switch, and whether their programs accept them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use tardy_tsn::file;
use tardy_tsn::network::Bridge;
use tardy_tsn::plan::commands::{self, Classifying};
use tardy_tsn::plan::message;
use tardy_tsn::plan::yang::{self, Model};
use tardy_tsn::settings::{self, Settings};

const TWO_FLOWS: &str = include_str!("../../../recipes/tsn-two-flows.toml");

/// A switch that uses every key.
const EVERYTHING: &str = r#"
about = "some of everything"
priority_map = [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
[[class]]
[[class]]
max_sdu = 1500
[[class]]
queues = "2@2"
[[classify]]
pcp = 2
vlan = 5
priority = 2
[[classify]]
tcp_port = 102
dscp = 46
priority = 1
[[classify]]
ethertype = 0x88f7
priority = 2
[[classify]]
source_mac = "02:00:00:00:00:01"
destination_mac = "02:00:00:00:00:0a"
priority = 1
[switch]
name = "br-1"
[[switch.port]]
interface = "swp0"
tagged = [5]
pvid = 1
[[switch.port]]
interface = "swp1"
tagged = [5]
base_time = "-300us"
cycle_time = "1ms"
cycle_time_extension = "10us"
clock = "realtime"
flags = 1
txtime_delay = "500us"
gates = [
  { open = "all", for = "500us", operation = "hold" },
  { open = [1, 2], for = "400us", operation = "release" },
  { mask = 0x04, for = "100us" },
]
"#;

fn settings_of(text: &str) -> Settings {
    settings::of(&file::parse(text).unwrap_or_else(|error| panic!("{error}")).switches[0])
}

fn everything_in_json(settings: &Settings) -> String {
    serde_json::to_string_pretty(&yang::document(settings, Model::Bridge).unwrap()).unwrap()
}

#[test]
fn the_articles_switch_in_commands() {
    insta::assert_snapshot!(commands::script(&settings_of(TWO_FLOWS), Classifying::Nft, &[]).unwrap());
}

#[test]
fn the_articles_switch_with_the_other_classifiers() {
    let settings = settings_of(TWO_FLOWS);
    let tc = commands::script(&settings, Classifying::Tc, &[]).unwrap();
    let iptables = commands::script(&settings, Classifying::Iptables, &[]).unwrap();
    insta::assert_snapshot!(format!("{tc}\n{iptables}"));
}

#[test]
fn every_key_in_commands() {
    insta::assert_snapshot!(commands::script(&settings_of(EVERYTHING), Classifying::Nft, &[]).unwrap());
}

#[test]
fn open_vswitch_in_commands() {
    let mut settings = settings_of(EVERYTHING);
    settings.bridge.kind = Bridge::OpenVSwitch;
    insta::assert_snapshot!(commands::script(&settings, Classifying::Nft, &[]).unwrap());
    assert!(commands::script(&settings, Classifying::Iptables, &[]).is_err());
}

#[test]
fn a_list_that_is_too_long_for_tc_is_not_a_command() {
    let long = "{ open = [\"blue\"], for = \"10us\" }, { open = [\"red\"], for = \"10us\" },".repeat(20);
    let (head, rest) = TWO_FLOWS.split_once("gates = [").unwrap();
    let (_, tail) = rest.split_once("\n]").unwrap();
    let settings = settings_of(&format!("{head}gates = [{long}]{tail}"));
    let script = commands::script(&settings, Classifying::Nft, &[]).unwrap();
    assert!(
        !script.contains("taprio") && script.contains("40 gate entries") && script.contains("exit 1"),
        "{script}"
    );
}

#[test]
fn messages_field_by_field() {
    let (two, all) = (settings_of(TWO_FLOWS), settings_of(EVERYTHING));
    insta::assert_snapshot!(format!("{}\n{}", message::text(&two), message::text(&all)));
}

#[test]
fn the_standards_model() {
    let (two, all) = (settings_of(TWO_FLOWS), settings_of(EVERYTHING));
    insta::assert_snapshot!(format!("{}\n{}", everything_in_json(&two), everything_in_json(&all)));
}

/// A bridge with eight queues that keeps the standard's own table (8.6.6) would put priority 7 into class 7.
#[test]
fn no_priority_has_a_class_whose_gate_the_list_closes_for_ever() {
    for text in [TWO_FLOWS, EVERYTHING] {
        let json = serde_json::to_value(yang::document(&settings_of(text), Model::Bridge).unwrap()).unwrap();
        let port = &json["ietf-interfaces:interfaces"]["interface"].as_array().unwrap().last().unwrap();
        let port = &port["ieee802-dot1q-bridge:bridge-port"];
        let gates = &port["ieee802-dot1q-sched-bridge:gate-parameter-table"]["admin-control-list"];
        let entries = gates["gate-control-entry"].as_array().unwrap();
        let opened = entries.iter().fold(0, |all, entry| all | entry["gate-states-value"].as_u64().unwrap());
        let table = port["traffic-class"]["traffic-class-map"].as_array().unwrap();
        assert_eq!(table.len(), 8);
        for row in table {
            let with_eight = row["available-traffic-class"].as_array().unwrap().last().unwrap();
            assert_eq!(with_eight["num-traffic-class"], 8);
            let class = with_eight["traffic-class"].as_u64().unwrap();
            assert!(opened >> class & 1 == 1, "{row}");
        }
    }
}

#[test]
fn settings_that_the_standard_cannot_express_are_errors() {
    let nine = EVERYTHING.replacen("[[class]]", &"[[class]]\n".repeat(7), 1);
    assert!(yang::document(&settings_of(&nine), Model::Bridge).unwrap_err().contains("8"));
    let long = EVERYTHING.replace("cycle_time = \"1ms\"", "cycle_time = \"3s\"");
    assert!(yang::document(&settings_of(&long), Model::Bridge).unwrap_err().contains("cycle"));
}

/// Feeds a program in a separate network namespace; `None`, with the reason printed, if that is not possible.
fn fed(program: &[&str], input: &str) -> Option<Result<(), String>> {
    let mut words = vec!["--net", "--map-root-user", "--"];
    words.extend(program);
    let child = Command::new("unshare")
        .args(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            println!("skipped: unshare: {error}");
            return None;
        }
    };
    // A program that ends early does not read its input; its own message gives the reason.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let absent =
        said.contains("failed to execute") || said.starts_with("unshare:") || said.contains("not permitted");
    if absent {
        println!("skipped: {}", said.trim());
        return None;
    }
    Some(if output.status.success() { Ok(()) } else { Err(said) })
}

#[test]
fn nft_accepts_its_script() {
    for text in [TWO_FLOWS, EVERYTHING] {
        let script = tardy_tsn::classify::nft(&settings_of(text));
        if let Some(answer) = fed(&["nft", "--check", "--file", "-"], &script) {
            assert_eq!(answer, Ok(()), "{script}");
        }
    }
    if let Some(answer) = fed(&["nft", "--check", "--file", "-"], "table bridge x { nonsense }\n") {
        assert!(answer.is_err(), "nft accepts any script");
    }
}

#[test]
fn a_shell_parses_every_script() {
    for text in [TWO_FLOWS, EVERYTHING] {
        let script = commands::script(&settings_of(text), Classifying::Nft, &[]).unwrap();
        if let Some(answer) = fed(&["sh", "-n"], &script) {
            assert_eq!(answer, Ok(()), "{script}");
        }
    }
}

#[test]
fn the_script_makes_a_bridge_and_its_classifier() {
    for (text, proof) in [
        (TWO_FLOWS, "nft list table bridge tardy_tsn0 | grep -q 7777"),
        (
            EVERYTHING,
            "bridge vlan show dev swp1 | grep -q 5 && nft list table bridge tardy_br_1 | grep -q 88f7",
        ),
    ] {
        let script = commands::script(&settings_of(text), Classifying::Nft, &[]).unwrap();
        // Without the gates, for kernels without TAPRIO; the lab tests the gates.
        let (before, _) = script.split_once("\n# The gates of").unwrap();
        let ports = "ip link add swp0 type veth peer name far0 && ip link add swp1 type veth peer name far1";
        let made = format!("{ports} || {{ echo not permitted >&2; exit 1; }}\n{before}\n{proof}\n");
        match fed(&["sh", "-s"], &made) {
            Some(Err(said)) if text == EVERYTHING && said.contains("Operation not supported") => {
                println!(
                    "skipped: this kernel's bridges know no VLANs (CONFIG_BRIDGE_VLAN_FILTERING): {said}"
                );
            }
            Some(answer) => assert_eq!(answer, Ok(()), "{made}"),
            None => {}
        }
    }
}

/// Three classes whose queues have disciplines of their own, for a card that preempts and shapes.
fn with_disciplines(offload: bool) -> Settings {
    let text = EVERYTHING.replacen(
        "[[class]]\n[[class]]\n",
        "[[class]]\npreemptible = true\n[[class]]\nidle_slope = \"20Mbit/s\"\n",
        1,
    );
    let text = text.replace("queues = \"2@2\"", "queues = \"2@2\"\netf_delta = \"300us\"");
    let text = text.replace("interface = \"swp1\"", "interface = \"swp1\"\nspeed = \"100Mbit/s\"");
    assert!(text.contains("etf_delta") && text.contains("idle_slope") && text.contains("speed"));
    match offload {
        true => settings_of(&text.replace(
            "clock = \"realtime\"\nflags = 1\ntxtime_delay = \"500us\"",
            "clock = \"none\"\nflags = 2",
        )),
        false => settings_of(&text.replace("preemptible = true\n", "")),
    }
}

#[test]
fn disciplines_below_the_shaper_in_commands_and_messages() {
    let of = |offload| {
        let settings = with_disciplines(offload);
        let commands = commands::script(&settings, Classifying::Nft, &[]).unwrap();
        let commands = commands.split("# The gates of").nth(1).unwrap().to_owned();
        let message = message::text(&settings);
        format!(
            "# The gates of{commands}\n{}",
            message.split("TCA_TAPRIO_ATTR_SCHED_BASE_TIME").nth(1).unwrap()
        )
    };
    insta::assert_snapshot!(format!("In software:\n{}\nIn the card:\n{}", of(false), of(true)));
}
