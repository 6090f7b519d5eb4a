//! A switch whose bridge is Open vSwitch's, as Debian packages it.

use super::{OPEN_VSWITCH_DATA, OPEN_VSWITCH_TOOLS, TWO_FLOWS, classified, with_open_vswitch};
use crate::scripted::Scene;

const SCRIPT: &str = r"
serve_open_vswitch

cable swp0 talker 2
cable swp1 listener 2
trace swp1
everything > /tmp/before; ovs-vsctl show > /tmp/shown
part applied; answer tardy tsn apply $FILES/switch.toml
part again; answer tardy tsn apply $FILES/switch.toml
all_came() { [ $(sent swp1) -ge $((before + 100)) ]; }
flow 0 6666 50 100000; flow 1 7777 50 100000
part through; before=$(sent swp1); send; until_true all_came; traced
part removed; answer tardy tsn remove
part as before; as_in /tmp/before
part as shown before; ovs-vsctl show | answer diff /tmp/shown -
end_open_vswitch
";

/// The scene of this file.
pub(super) fn scene() -> Scene {
    let mut scene = super::scene("openvswitch", SCRIPT, &[("switch.toml", &with_open_vswitch(TWO_FLOWS))]);
    scene.modules.push("openvswitch");
    scene.tools.extend(OPEN_VSWITCH_TOOLS);
    scene.data.push(OPEN_VSWITCH_DATA);
    scene
}

#[test]
fn open_vswitch_is_a_bridge_too() {
    let Some(printed) = classified("openvswitch") else { return };
    for part in ["applied", "again", "removed", "as before", "as shown before"] {
        assert_eq!(printed.part(part).status(), 0, "{}", printed.part(part).text());
    }
    assert!(printed.part("again").text().contains("nothing was changed"), "{}", printed.part("again").text());
    assert_eq!(printed.part("through").by_queue(), (50, 50), "{}", printed.part("applied").text());
}
