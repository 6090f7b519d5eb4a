//! Applying a switch, applying it again, removing it, and killing tardy in between. Only the switch's settings change.

use super::{BRIDGED, PRIORITY_TAGS};
use crate::scripted::{Printed, Scene};

const REPEATED: &str = r"
cable swp0 talker 2
cable swp1 listener 2
everything > /tmp/before
part applied; answer tardy tsn apply $FILES/switch.toml
everything > /tmp/applied
part differs; answer diff /tmp/before /tmp/applied
part again; answer tardy tsn apply $FILES/switch.toml
part unchanged by that; as_in /tmp/applied
sed /^max_sdu/d $FILES/switch.toml > /tmp/unlimited.toml
part unlimited; answer tardy tsn apply /tmp/unlimited.toml
part unlimited again; answer tardy tsn apply /tmp/unlimited.toml
part removed; answer tardy tsn remove --json
part as before; as_in /tmp/before
part for a time; answer tardy tsn apply $FILES/switch.toml --for 100ms --json
part as before that; as_in /tmp/before
";

const KILLED: &str = r#"
cable swp0 talker 2
cable swp1 listener 2
everything > /tmp/before
mv /usr/sbin/nft /usr/sbin/nft.real
cat > /usr/sbin/nft <<'END'
#!/bin/busybox sh
if [ "$1" = --version ]; then exec /usr/sbin/nft.real "$1"; fi
echo > /tmp/nft-is-at-work
exec sleep 100
END
chmod +x /usr/sbin/nft
tardy tsn apply $FILES/switch.toml > /dev/null 2>&1 &
until_true test -e /tmp/nft-is-at-work
kill -9 $!
wait $!
mv /usr/sbin/nft.real /usr/sbin/nft
part left; everything | answer diff /tmp/before -
part restored; answer tardy restore
part as before; as_in /tmp/before
tardy tsn apply $FILES/switch.toml --for 100s > /tmp/applied 2>&1 &
until_true grep -q shaper /tmp/applied
kill -9 $!
wait $!
part left up; everything | answer diff /tmp/before -
part restored again; answer tardy restore
part as before that; as_in /tmp/before
"#;

const FOREIGN: &str = r"
cable swp0 talker 2
cable swp1 listener 2
refused() {
    everything > /tmp/before
    part refused: $1; answer tardy tsn apply $FILES/switch.toml
    part untouched: $1; as_in /tmp/before
    part allowed: $1; answer tardy tsn apply $FILES/switch.toml --replace
    tardy tsn remove > /dev/null
    part put back: $1; as_in /tmp/before
}
ip link add tsn0 address 02:00:00:00:00:99 type bridge
ip link set tsn0 up
refused bridge
ip link del tsn0
ip link add other type bridge vlan_filtering 1
ip link set swp1 master other
bridge vlan add dev swp1 vid 7
refused port
ip link del other
tc qdisc replace dev swp1 root handle 8001: pfifo
refused discipline
";

/// The scenes of this file.
pub(super) fn scenes() -> [Scene; 3] {
    [("repeated", REPEATED), ("killed", KILLED), ("foreign", FOREIGN)]
        .map(|(name, script)| super::scene(name, script, &[("switch.toml", PRIORITY_TAGS)]))
}

/// Asserts that the comparison in `part` found no difference.
fn is_unchanged(printed: &Printed, part: &str) {
    let part = printed.part(part);
    assert_eq!(part.status(), 0, "{}", part.text());
}

fn is_refused(printed: &Printed, part: &str, words: &str) {
    let part = printed.part(part);
    assert!(part.status() == 1 && part.text().contains(words), "{}", part.text());
}

#[test]
fn a_second_apply_changes_nothing_and_remove_undoes_everything() {
    let Some(printed) = BRIDGED.scene("repeated") else { return };
    for part in ["applied", "again", "unlimited", "unlimited again", "removed", "for a time"] {
        assert_eq!(printed.part(part).status(), 0, "{}", printed.part(part).text());
    }
    let differs = printed.part("differs").text();
    for what in ["taprio 7514:", "table bridge tardy_tsn0", "\"vlan\": 5", "tsn0@"] {
        assert!(differs.contains(what), "no {what} in what was changed:\n{differs}");
    }
    let is_idle = |part: &str| printed.part(part).text().contains("nothing was changed");
    assert_eq!(
        ["again", "unlimited", "unlimited again"].map(is_idle),
        [true, false, true],
        "{}",
        printed.text()
    );
    let (removed, applied) = (printed.part("removed").json(), printed.part("for a time").json());
    assert_eq!((&removed["switch"], &applied["switch"]), (&"tsn0".into(), &"tsn0".into()));
    for list in [&removed["restored"], &applied["changed"], &applied["restored"]] {
        assert!(!list.as_array().unwrap().is_empty(), "{removed}\n{applied}");
    }
    is_unchanged(printed, "unchanged by that");
    is_unchanged(printed, "as before");
    is_unchanged(printed, "as before that");
}

/// tardy is killed while nft is at work, when bridge and ports are set up and the shaper is not; and again when everything
/// is set up for a limited time.
#[test]
fn restore_undoes_what_a_killed_apply_left() {
    let Some(printed) = BRIDGED.scene("killed") else { return };
    for part in ["left", "left up"] {
        let left = printed.part(part);
        assert!(left.status() == 1 && left.text().contains("\"master\": \"tsn0\""), "{}", left.text());
    }
    for part in ["restored", "restored again"] {
        assert_eq!(printed.part(part).status(), 0, "{}", printed.part(part).text());
    }
    is_unchanged(printed, "as before");
    is_unchanged(printed, "as before that");
}

#[test]
fn foreign_settings_stay_unless_replace_is_given() {
    let Some(printed) = BRIDGED.scene("foreign") else { return };
    is_refused(printed, "refused: bridge", "the bridge tsn0 exists, and tardy did not create it");
    is_refused(printed, "refused: port", "swp1 is a port of other");
    is_refused(printed, "refused: discipline", "swp1 has a queueing discipline already (pfifo 8001:)");
    for what in ["bridge", "port", "discipline"] {
        is_unchanged(printed, &format!("untouched: {what}"));
        let allowed = printed.part(&format!("allowed: {what}"));
        assert_eq!(allowed.status(), 0, "{}", allowed.text());
    }
    is_unchanged(printed, "put back: bridge");
    is_unchanged(printed, "put back: port");
    is_unchanged(printed, "put back: discipline");
}
