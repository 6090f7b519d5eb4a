//! `tardy restore` after a crash: everything that tardy can have changed is changed for real, tardy is killed in the middle
//! with `kill -9`, and the machine must be as it was before. Each scene says which kinds of change its journal held; a
//! kind that no scene holds fails the test.

use std::collections::BTreeSet;

use tardy_switch::Change;

use crate::guests;
use crate::switch::machine::Guest;

const OPEN_VSWITCH: &str = "openvswitch-switch";

/// What the journal calls a change of the network. A new one does not compile here until it has a name, and fails the test until a
/// scene has it, or [`ELSEWHERE`] states where it is tried.
fn name_of(change: &Change) -> &'static str {
    match change {
        Change::Bridge { .. } => "bridge",
        Change::OpenVSwitch { .. } => "open_v_switch",
        Change::OpenVSwitchPort { .. } => "open_v_switch_port",
        Change::OpenVSwitchVlans { .. } => "open_v_switch_vlans",
        Change::Filtering { .. } => "filtering",
        Change::Port { .. } => "port",
        Change::Vlans { .. } => "vlans",
        Change::Up { .. } => "up",
        Change::Shaper { .. } => "shaper",
        Change::Schedule { .. } => "schedule",
        Change::NftTable { .. } => "nft_table",
        Change::Filters { .. } => "filters",
        Change::IptablesRule { .. } => "iptables_rule",
        Change::Sysctl { .. } => "sysctl",
        Change::ReceiveStamps { .. } => "receive_stamps",
    }
}

/// Every name that [`name_of`] gives.
const NETWORK_CHANGES: [&str; 15] = [
    "bridge",
    "open_v_switch",
    "open_v_switch_port",
    "open_v_switch_vlans",
    "filtering",
    "port",
    "vlans",
    "up",
    "shaper",
    "schedule",
    "nft_table",
    "filters",
    "iptables_rule",
    "sysctl",
    "receive_stamps",
];

/// What no guest has the device for, a network card that stamps frames, whose undoing has tests beside its code; and pins,
/// which have a guest of their own (`pins.rs`).
const ELSEWHERE: [&str; 4] = ["receive_stamps", "pin", "exported_pin", "pwm"];

/// A cycle so long that tardy waits for the second port's turn while the first has its new schedule already.
fn slow_switch(blue: &str, red: &str) -> String {
    let both = format!(
        "gates = [\n  {{ open = [\"blue\"], for = \"{blue}\" }},\n  {{ open = [\"red\"], for = \"{red}\" }},\n]"
    );
    let text = include_str!("switch/two-flows.toml");
    let (head, rest) = text.split_once("gates = [").unwrap();
    let (_, tail) = rest.split_once("\n]").unwrap();
    let first = "to = \"talker\"\nspeed = \"100Mbit/s\"\n";
    assert!(head.contains(first), "{head}");
    format!("{}{both}{tail}", head.replacen(first, &format!("{first}{both}\n"), 1))
}

fn guest() -> Guest {
    let ports = include_str!("switch/two-flows.toml");
    let kernels = "name = \"tsn0\"";
    assert!(ports.contains(kernels));
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    Guest {
        modules: vec!["openvswitch", "br_netfilter", "xt_u32", "xt_CLASSIFY", "iptable_mangle", "xt_tcpudp"],
        tools: vec![
            (OPEN_VSWITCH, "/usr/sbin/ovsdb-server"),
            (OPEN_VSWITCH, "/usr/lib/openvswitch-switch/ovs-vswitchd"),
            (OPEN_VSWITCH, "/usr/bin/ovsdb-tool"),
            (OPEN_VSWITCH, "/usr/bin/ovs-vsctl"),
            ("iptables", "/usr/sbin/xtables-legacy-multi"),
            ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_u32.so"),
            ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_CLASSIFY.so"),
            ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_udp.so"),
            ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_standard.so"),
        ],
        texts: vec![(OPEN_VSWITCH, "/usr/share/openvswitch/vswitch.ovsschema")],
        files: vec![
            file("ports.toml", ports),
            file("tags.toml", include_str!("switch/priority-tags.toml")),
            file("slow.toml", &slow_switch("1s", "1s")),
            file("slow-other.toml", &slow_switch("500ms", "1500ms")),
            file("ovs.toml", &ports.replace(kernels, "name = \"tsn0\"\nbridge = \"openvswitch\"")),
            file(
                "ovs-tags.toml",
                &include_str!("switch/priority-tags.toml")
                    .replace(kernels, "name = \"tsn0\"\nbridge = \"openvswitch\""),
            ),
        ],
        ..Guest::default()
    }
}

#[test]
fn everything_that_tardy_changes_comes_back_after_a_crash() {
    let Some(guests) = guests::directory() else { return };
    let said = guest().run(&guests, include_str!("restore.sh"));
    println!("{}", said.text());
    let mut met = BTreeSet::new();
    for name in said.parts("scene") {
        let part = said.part(&format!("scene {name}"));
        let kinds: BTreeSet<String> = part.all("journal").map(str::to_owned).collect();
        assert!(!kinds.is_empty(), "{name}: the journal was empty when tardy was killed:\n{}", part.text());
        met.extend(kinds);
        assert_eq!(part.number("differed"), 1, "{name}: nothing was left:\n{}", part.text());
        assert_eq!(part.number("restored"), 0, "{name}: tardy restore failed:\n{}", part.text());
        assert_eq!(part.number("exit status"), 0, "{name}: not as it was:\n{}", part.text());
    }
    let wanted = kinds().filter(|kind| !ELSEWHERE.contains(kind)).map(str::to_owned).collect();
    assert_eq!(met, wanted, "every kind of change is crashed in some scene");
}

/// The names of all changes that tardy makes: the journal's own kinds, and those of the network in place of `network`.
fn kinds() -> impl Iterator<Item = &'static str> {
    let kinds = tardy_measure::undo_kinds().into_iter().map(|kind| kind.name);
    kinds.filter(|name| *name != tardy_switch::UNDO.name).chain(NETWORK_CHANGES)
}

#[test]
fn network_changes_are_named_as_in_the_journal() {
    let change = Change::Sysctl { path: String::new(), was: String::new() };
    let json = serde_json::to_value(&change).unwrap();
    assert_eq!(json["change"], name_of(&change));
    assert!(NETWORK_CHANGES.contains(&name_of(&change)));
}
