//! Classifiers: by the priority in VLAN tags, with the article's rule and with one that works, and with each program
//! that tardy can use.

use super::{BRIDGED, IPTABLES_MODULES, IPTABLES_TOOLS, PRIORITY_TAGS, TWO_FLOWS, classified, slots};
use crate::scripted::Scene;

/// Frames of each of two flows: blue's leave by the first queue, red's by the second.
const FRAMES: usize = 50;

const TAGS: &str = r#"
name_iptables
cable swp0 talker 2
cable swp1 listener 2
trace swp1
tag() { echo "vlan_id 5" > /proc/net/pktgen/talker@$1; echo "vlan_p $2" > /proc/net/pktgen/talker@$1; }
rule() { iptables -t mangle -A POSTROUTING "$@"; }
counted() { iptables -t mangle -L POSTROUTING -v -n -x | sed -n "s/^ *\([0-9]*\) .*$1.*/$2 \1/p"; }
before=0
all_came() { [ $(sent swp1) -ge $((before + 100)) ]; }
both() { before=$(sent swp1); send; until_true all_came; traced; }

sed "/^\[\[classify\]\]/,/^priority = /d" $FILES/tags.toml > /tmp/unclassified.toml
tardy tsn apply /tmp/unclassified.toml
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
echo 1 > /proc/sys/net/bridge/bridge-nf-filter-vlan-tagged
rule -m u32 --u32 '12&0x0000E000=0x0000200' -j CLASSIFY --set-class 0:1
rule -m u32 --u32 '12&0x0000E000=0x00002000' -j CLASSIFY --set-class 0:1
rule -p udp
flow 0 6666 50 100000; tag 0 1
flow 1 6666 50 100000; tag 1 0
part u32; both
counted '0xc&0xe000=0x200"' article; counted '0xc&0xe000=0x2000"' mended; counted ' udp ' seen
tardy tsn remove
tardy tsn apply $FILES/tags.toml
part tags; both
"#;

const PROGRAMS: &str = r#"
name_iptables
cable swp0 talker 2
cable swp1 listener 2
trace swp1
flow 0 6666 50 100000; flow 1 7777 50 100000
before=0
all_came() { [ $(sent swp1) -ge $((before + 100)) ]; }
with() {
    everything > /tmp/before
    part $1; answer tardy tsn apply $FILES/ports.toml
    part again with $1; answer tardy tsn apply $FILES/ports.toml
    part through $1; before=$(sent swp1); send; until_true all_came; traced
    part removed $1; answer tardy tsn remove
    part as before $1; as_in /tmp/before
}
trap put_back EXIT
put_back() { mv /usr/sbin/nft.away /usr/sbin/nft; mv /sbin/tc.away /sbin/tc; untrace; }
with nft
mv /usr/sbin/nft /usr/sbin/nft.away
with flower
mv /sbin/tc /sbin/tc.away
tc() { /sbin/tc.away "$@"; }
with iptables
"#;

/// A scene that may use iptables.
fn scene(name: &'static str, script: &str) -> Scene {
    let mut scene = super::scene(name, script, &[("tags.toml", PRIORITY_TAGS), ("ports.toml", TWO_FLOWS)]);
    scene.modules.extend(IPTABLES_MODULES);
    scene.tools.extend(IPTABLES_TOOLS);
    scene
}

/// The scenes of this file that need iptables.
pub(super) fn scenes() -> Vec<Scene> {
    vec![scene("tags", TAGS), scene("programs", PROGRAMS)]
}

/// The scene of this file that does not need iptables.
pub(super) fn slots_scene() -> Scene {
    let script = "part slots\n\
                  answer tardy tsn test --netns $FILES/tags.toml --with-shaper --for 1s -o /lab/results/tags.run.json\n";
    super::scene("slots", script, &[("tags.toml", PRIORITY_TAGS)])
}

#[test]
fn tags_are_classified_but_not_by_the_articles_rule() {
    let Some(printed) = classified("tags") else { return };
    let u32 = printed.part("u32");
    assert_eq!(u32.by_queue(), (0, 2 * FRAMES), "every frame is red's");
    assert_eq!((u32.number("article"), u32.number("seen")), (0, 2 * FRAMES as u64), "{}", u32.text());
    // With the correct mask the rule still reads the sender's address, since the offset counts from the IP header.
    assert_eq!(u32.number("mended"), 0);
    assert_eq!(printed.part("tags").by_queue(), (FRAMES, FRAMES));
}

#[test]
fn flows_that_differ_by_their_tags_keep_to_their_slots() {
    let Some(printed) = BRIDGED.scene("slots") else { return };
    assert_eq!(printed.part("slots").status(), 0, "{}", printed.part("slots").text());
    slots::held(printed.file("tags.run.json"));
}

#[test]
fn every_program_classifies_the_same() {
    let Some(printed) = classified("programs") else { return };
    for program in ["nft", "flower", "iptables"] {
        let applied = printed.part(program);
        assert_eq!(applied.status(), 0, "{}", applied.text());
        assert!(applied.text().contains(program), "{}", applied.text());
        let again = printed.part(&format!("again with {program}"));
        assert!(again.text().contains("nothing was changed"), "{}", again.text());
        assert_eq!(printed.part(&format!("through {program}")).by_queue(), (FRAMES, FRAMES), "{program}");
        for after in ["removed", "as before"] {
            let part = printed.part(&format!("{after} {program}"));
            assert_eq!(part.status(), 0, "{program}: {}", part.text());
        }
    }
}
