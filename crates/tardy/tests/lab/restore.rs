//! `tardy restore` after a crash. tardy makes every kind of change that it can make and is killed with `kill -9`. After
//! `tardy restore` the machine must be as before. The script prints which kinds of change each journal held; a kind
//! that is missing fails the test.

use std::collections::BTreeSet;

use tardy_switch::Change;

use crate::attach::{CHAIN, HEADERS};
use crate::c_program;
use crate::scripted::{Place, Scene};
use crate::switch::{self, PRIORITY_TAGS, TWO_FLOWS};

/// What the journal calls a change of the network. A new one does not compile here until it has a name, and fails the test
/// until the script makes it or [`ELSEWHERE`] lists it.
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

/// Kinds that other tests change: a network card that stamps frames, which no guest has (unit tests), and pins (`pins.rs`).
const ELSEWHERE: [&str; 4] = ["receive_stamps", "pin", "exported_pin", "pwm"];

/// A cycle so long that tardy waits for the second port's turn after it has replaced the first port's schedule.
fn slow_switch(blue: &str, red: &str) -> String {
    let both = format!(
        "gates = [\n  {{ open = [\"blue\"], for = \"{blue}\" }},\n  {{ open = [\"red\"], for = \"{red}\" }},\n]"
    );
    let (head, rest) = TWO_FLOWS.split_once("gates = [").unwrap();
    let (_, tail) = rest.split_once("\n]").unwrap();
    let first = "to = \"talker\"\nspeed = \"100Mbit/s\"\n";
    assert!(head.contains(first), "{head}");
    format!("{}{both}{tail}", head.replacen(first, &format!("{first}{both}\n"), 1))
}

/// The scene of this file. It changes the machine and not only its networks, so it runs in the guest as it is.
pub(crate) fn scene() -> Scene {
    let files = [
        ("ports.toml", TWO_FLOWS.to_owned()),
        ("tags.toml", PRIORITY_TAGS.to_owned()),
        ("slow.toml", slow_switch("250ms", "250ms")),
        ("slow-other.toml", slow_switch("125ms", "375ms")),
        ("ovs-tags.toml", switch::with_open_vswitch(PRIORITY_TAGS)),
    ];
    let mut scene = Scene {
        place: Place::GuestNetwork,
        files: files.map(|(name, text)| (name.to_owned(), text)).to_vec(),
        ..switch::scene("restore", include_str!("restore.sh"), &[])
    };
    scene.modules.extend(["openvswitch"].into_iter().chain(switch::IPTABLES_MODULES));
    scene.tools.extend(switch::OPEN_VSWITCH_TOOLS.into_iter().chain(switch::IPTABLES_TOOLS));
    scene.data.push(switch::OPEN_VSWITCH_DATA);
    scene.programs.extend(program_with_probes().map(|program| ("chain".to_owned(), program)));
    scene
}

/// `None` if this machine has no C compiler for it.
fn program_with_probes() -> Option<Vec<u8>> {
    c_program::compiled_with(CHAIN, &["-pthread", "-I", HEADERS])
}

#[test]
fn restore_undoes_every_kind_of_change_after_a_crash() {
    let Some(printed) = switch::classified("restore") else { return };
    println!("{}", printed.text());
    let mut met = BTreeSet::new();
    for name in printed.parts("scene") {
        let part = printed.part(&format!("scene {name}"));
        let kinds: BTreeSet<String> = part.all("journal").map(str::to_owned).collect();
        assert!(!kinds.is_empty(), "{name}: the journal was empty when tardy was killed:\n{}", part.text());
        met.extend(kinds);
        assert_eq!(part.number("differed"), 1, "{name}: nothing was left:\n{}", part.text());
        assert_eq!(part.number("restored"), 0, "{name}: tardy restore failed:\n{}", part.text());
        assert_eq!(part.number("exit status"), 0, "{name}: not as it was:\n{}", part.text());
    }
    let mut wanted: BTreeSet<String> =
        kinds().filter(|kind| !ELSEWHERE.contains(kind)).map(str::to_owned).collect();
    if program_with_probes().is_none() {
        wanted.remove("user_probe");
    }
    assert_eq!(met, wanted, "kinds of change that were tried");
}

/// The names of all changes that tardy makes: the journal's kinds, with those of the network in place of `network`.
fn kinds() -> impl Iterator<Item = &'static str> {
    tardy_measure::undo_kinds().into_iter().map(|kind| kind.name).chain(NETWORK_CHANGES)
}

#[test]
fn network_changes_are_named_as_in_the_journal() {
    let change = Change::Sysctl { path: String::new(), was: String::new() };
    let json = serde_json::to_value(&change).unwrap();
    assert_eq!(json["change"], name_of(&change));
    assert!(NETWORK_CHANGES.contains(&name_of(&change)));
}
