//! An ordinary user of a guest attacks root's tardy (`hostile_users.sh`), with the kernel's protection of links, pipes and
//! files in shared directories switched off (level 0) and on (level 1).
//!
//! `tests/cli/hostile_users.rs` plays the same user on this machine, with the protection that this machine has.

use std::collections::BTreeSet;

use crate::scripted::{Part, Scene};
use crate::switch::{self, PRIORITY_TAGS, TWO_FLOWS};

/// The numbers that a reader shows if it does not trust the map of a run.
const CHECKPOINT: &str = "these are the numbers of its last checkpoint";
/// Every attack, its levels, and texts that the part of this name must contain.
const ATTACKS: [(&str, &str, &[&str]); 20] = [
    ("a pipe for show", "01", &["this run was cut short"]),
    ("a pipe for report", "0", &["this run was cut short"]),
    ("a pipe for plot", "0", &["this run was cut short"]),
    ("a pipe for compare", "0", &["this run was cut short"]),
    ("a pipe for export", "0", &["this run was cut short"]),
    ("a map of the attacker", "01", &["status show 0", CHECKPOINT]),
    ("a map that is truncated again and again", "0", &["status show 0", CHECKPOINT]),
    ("a link to root's map", "0", &["status show 0", CHECKPOINT]),
    ("temporary names in the attacker's directory", "01", &["status run 0"]),
    ("temporary names in a sticky directory", "0", &["status run 0"]),
    (
        "a link as output",
        "01",
        &["status run 1", "a.run.json is a symbolic link", "status report 1", "a.html is a symbolic link"],
    ),
    ("the rescue name", "0", &["status run 1", "could not be written either"]),
    ("the directories of a switch's test", "1", &["status test 0", "used 0"]),
    ("the attacker's journal", "01", &["status restore 1", "is not used as the journal", "status apply 1"]),
    (
        "forged entries",
        "01",
        &[
            "status restore 1",
            "core_pattern is not a file that tardy changes",
            "is not a rule that tardy adds",
            "it belongs to user 65534, not to user 0",
            "entries 3",
            "restored: /proc/sys/kernel/timer_migration",
            "migration 0",
        ],
    ),
    ("programs of the working directory with no PATH", "0", &["status apply 0", "status remove 0"]),
    ("programs of the working directory with empty PATH", "1", &["status apply 0", "status remove 0"]),
    ("a run in a shared directory", "01", &["status recover 1", "other users can write into directory"]),
    ("no attack: show", "01", &["status show 0", "no count is lost"]),
    ("no attack: recover", "01", &["status recover 0", "the file is now sealed"]),
];

pub(crate) fn scene() -> Scene {
    let files = [("ports.toml", TWO_FLOWS), ("tags.toml", PRIORITY_TAGS)];
    let mut scene = switch::scene("hostile-users", include_str!("hostile_users.sh"), &files);
    scene.modules.extend(switch::IPTABLES_MODULES);
    scene.tools.extend(switch::IPTABLES_TOOLS);
    scene
}

/// The errors of an attack: root's files changed, a planted program ran, or a command hung or was ended by a signal.
fn success(part: &Part) -> Option<String> {
    if part.number("changed") != 0 {
        return Some("root's files changed".to_owned());
    }
    if let Some(program) = part.all("executed").next() {
        return Some(format!("root executed {program}"));
    }
    let status = |line: &str| line.rsplit_once(' ').and_then(|(_, status)| status.parse::<u8>().ok());
    let ended = part.all("status").find(|line| status(line).is_none_or(|status| status >= 128));
    ended.map(|line| format!("a command hung or was ended by a signal: {line}"))
}

#[test]
fn an_ordinary_user_changes_nothing_of_root_and_stops_no_command_of_root() {
    let Some(printed) = switch::classified("hostile-users") else { return };
    let levels = |(name, levels, _): &(&str, &str, _)| {
        levels.chars().map(|level| format!("{level} {name}")).collect::<Vec<_>>()
    };
    let wanted: BTreeSet<String> = ATTACKS.iter().flat_map(levels).collect();
    let made: BTreeSet<String> = printed.parts("attack").map(str::to_owned).collect();
    assert_eq!(made, wanted, "{}", printed.text());
    let mut failures = String::new();
    for attack in &made {
        let part = printed.part(&format!("attack {attack}"));
        let text = part.text();
        let (_, _, texts) = ATTACKS.iter().find(|(name, ..)| attack[2..] == **name).unwrap();
        let missing =
            || texts.iter().find(|wanted| !text.contains(**wanted)).map(|text| format!("no '{text}'"));
        if let Some(failure) = success(&part).or_else(missing) {
            failures += &format!("{attack}: {failure}:\n{text}\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
