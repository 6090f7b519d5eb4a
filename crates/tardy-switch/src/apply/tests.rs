use std::collections::BTreeMap;

use tardy_sys::network::Namespace;
use tardy_tsn::{file, settings};

use super::*;
use crate::OpenVSwitch;

/// A switch with two ports and VLANs. Every kernel refuses the second port's schedule, with or without TAPRIO.
const FILE: &str = r#"
about = "A switch whose last port is refused."
[[class]]
[[class]]
[switch]
name = "tsn0"
[[switch.port]]
interface = "p0"
pvid = 7
[[switch.port]]
interface = "p1"
gates = [{ open = [0], for = "1ns" }]
"#;

/// The properties of each link that a switch changes: its master, whether it is up, its number of VLANs, and the kinds
/// of its queueing disciplines.
type Seen = BTreeMap<String, (Option<u32>, bool, usize, Vec<String>)>;

fn seen() -> Seen {
    let of = |link: links::LinkInfo| {
        let kinds = qdiscs::of(&link.name).unwrap().into_iter().map(|qdisc| qdisc.kind).collect();
        let vlans = links::vlans_of(&link.name).unwrap().len();
        (link.name, (link.master, link.is_up, vlans, kinds))
    };
    links::all().unwrap().into_iter().map(of).collect()
}

#[test]
fn a_failure_halfway_restores_everything() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => return eprintln!("skipped: no network namespace for this user: {error}"),
    };
    namespace.run(in_namespace).unwrap();
}

fn in_namespace() {
    for (port, end) in [("p0", "e0"), ("p1", "e1")] {
        if let Err(error) = links::make_veth(port, end, None, Some(4)) {
            return eprintln!("skipped: this kernel cannot create a veth: {error}");
        }
    }
    let options = links::BridgeOptions { vlan_filtering: true, default_pvid: 1 };
    if let Err(error) = links::make_bridge("other", options) {
        return eprintln!("skipped: this kernel cannot create a bridge: {error}");
    }
    // One port belongs to another bridge, and the other has another program's queueing discipline.
    links::set_master("p0", Some("other")).unwrap();
    qdiscs::set_root("p1", "pfifo", 0x11, &77u32.to_ne_bytes()).unwrap();
    let before = seen();

    let network = file::parse(FILE).unwrap();
    let directory = std::env::temp_dir().join(format!("tardy-halfway-{}", std::process::id()));
    let saved_states = SavedStates::at(&directory);
    let mut request = Request {
        settings: settings::of(&network.switches[0]),
        file: FILE.to_owned(),
        replace: false,
        unchecked: false,
        even_own_connection: true,
        shaped: true,
        open_vswitch: OpenVSwitch::System,
    };
    let refused = apply(None, &saved_states, &request).unwrap_err();
    assert!(refused.contains("p0 is a port of other") && refused.contains("pfifo 11:"), "{refused}");
    assert_eq!(seen(), before);

    request.replace = true;
    let failed = apply(None, &saved_states, &request).unwrap_err();
    assert!(failed.contains("shaper of p1") && failed.contains("all changes were undone"), "{failed}");
    assert_eq!(seen(), before);
    assert_eq!(saved_states.names().unwrap(), Vec::<String>::new());
}
