//! A switch whose bridge is Open vSwitch's, as Debian packages it.

use super::machine::Guest;
use crate::guests;

const PACKAGE: &str = "openvswitch-switch";

#[test]
fn open_vswitch_is_a_bridge_too() {
    let Some(guests) = guests::directory() else { return };
    let kernels = "name = \"tsn0\"";
    let file = include_str!("two-flows.toml");
    assert!(file.contains(kernels));
    let file = file.replace(kernels, "name = \"tsn0\"\nbridge = \"openvswitch\"");
    let guest = Guest {
        modules: vec!["openvswitch"],
        tools: vec![
            (PACKAGE, "/usr/sbin/ovsdb-server"),
            (PACKAGE, "/usr/lib/openvswitch-switch/ovs-vswitchd"),
            (PACKAGE, "/usr/bin/ovsdb-tool"),
            (PACKAGE, "/usr/bin/ovs-vsctl"),
        ],
        texts: vec![(PACKAGE, "/usr/share/openvswitch/vswitch.ovsschema")],
        files: vec![("switch.toml".to_owned(), file)],
        ..Guest::default()
    };
    // Its servers must not hold on to the script's output, which ends when nobody does.
    let script = r"
        mkdir -p /run/openvswitch /etc/openvswitch /var/log/openvswitch
        rm -rf /var/run; ln -s /run /var/run
        echo root:x:0:0::/:/bin/sh > /etc/passwd
        database=/etc/openvswitch/conf.db
        ovsdb-tool create $database /usr/share/openvswitch/vswitch.ovsschema
        serve() { $@ --pidfile --detach --no-chdir > /tmp/served 2>&1 < /dev/null || cat /tmp/served; }
        serve ovsdb-server $database --remote=punix:/run/openvswitch/db.sock
        ovs-vsctl --timeout=60 --no-wait init
        serve /usr/lib/openvswitch-switch/ovs-vswitchd

        cable swp0 talker 2
        cable swp1 listener 2
        trace swp1
        everything > /tmp/before; ovs-vsctl show > /tmp/shown
        part applied; answer tardy tsn apply /lab/switch.toml
        part again; answer tardy tsn apply /lab/switch.toml
        all_came() { [ $(sent swp1) -ge $((before + 100)) ]; }
        flow 0 6666 50 100000; flow 1 7777 50 100000
        part through; before=$(sent swp1); send; until_true all_came; traced
        part removed; answer tardy tsn remove
        part as before; as_in /tmp/before
        part as shown before; ovs-vsctl show | answer diff /tmp/shown -
        kill $(cat /run/openvswitch/ovs-vswitchd.pid /run/openvswitch/ovsdb-server.pid)
    ";
    let said = guest.run(&guests, script);
    for part in ["applied", "again", "removed", "as before", "as shown before"] {
        assert_eq!(said.part(part).status(), 0, "{}", said.part(part).text());
    }
    assert!(said.part("again").text().contains("nothing was changed"), "{}", said.part("again").text());
    assert_eq!(said.part("through").by_queue(), (50, 50), "{}", said.part("applied").text());
}
