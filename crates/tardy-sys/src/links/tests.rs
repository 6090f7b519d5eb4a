//! Tests with links in a separate namespace.

use super::*;
use crate::network::Namespace;
use crate::qdiscs;

/// Runs `test` in a separate namespace, if this user may create one.
fn in_namespace(test: impl FnOnce() + Send) {
    match Namespace::new() {
        Ok(namespace) => namespace.run(test).unwrap(),
        Err(error) => eprintln!("skipped: no network namespace for this user: {error}"),
    }
}

fn is_missing(what: &str, made: Result<(), NetlinkError>) -> bool {
    match made {
        Ok(()) => false,
        Err(error) => {
            eprintln!("skipped: this kernel cannot create a {what}: {error}");
            true
        }
    }
}

#[test]
fn a_veth_has_the_requested_queues() {
    in_namespace(|| {
        if is_missing("veth", make_veth("here", "there", None, Some(3))) {
            return;
        }
        set_up("here").unwrap();
        let here = find("here").unwrap().unwrap();
        assert_eq!((here.tx_queues, here.is_up, here.has_carrier), (3, true, false));
        assert_eq!(here.kind.as_deref(), Some("veth"));
        set_up("there").unwrap();
        assert!(find("here").unwrap().unwrap().has_carrier);
        set_mtu("here", 1200).unwrap();
        set_address("here", [2, 0, 0, 0, 0, 7]).unwrap();
        let here = find("here").unwrap().unwrap();
        assert_eq!((here.mtu, here.address), (1200, vec![2, 0, 0, 0, 0, 7]));
        assert_eq!(speed_mbps("here").unwrap(), Some(10_000));
        assert!(!has_clock("here").unwrap());
        delete("there").unwrap();
        assert_eq!(find("here").unwrap(), None);
    });
}

#[test]
fn a_bridge_has_its_ports_and_their_vlans() {
    in_namespace(|| {
        let options = BridgeOptions { vlan_filtering: true, default_pvid: 1 };
        let made = make_bridge("br", options).and_then(|()| make_veth("p1", "e1", None, Some(2)));
        if is_missing("bridge with a veth", made) {
            return;
        }
        let bridge = find("br").unwrap().unwrap();
        assert_eq!(bridge.bridge, Some(BridgeInfo { vlan_filtering: true, default_pvid: 1 }));
        set_master("p1", Some("br")).unwrap();
        assert_eq!(find("p1").unwrap().unwrap().master, Some(bridge.index));
        let added = PortVlan { id: 5, pvid: false, untagged: false };
        add_vlan("p1", added).unwrap();
        let first = PortVlan { id: 1, pvid: true, untagged: true };
        assert_eq!(vlans_of("p1").unwrap(), [first, added]);
        delete_vlan("p1", 1).unwrap();
        assert_eq!(vlans_of("p1").unwrap(), [added]);
        set_master("p1", None).unwrap();
        assert_eq!(find("p1").unwrap().unwrap().master, None);
    });
}

#[test]
fn a_tap_runs_at_the_speed_that_is_set() {
    in_namespace(|| {
        let tap = match Tap::make("tap0", 2) {
            Ok(tap) => tap,
            Err(error) => return eprintln!("skipped: this kernel cannot create tap devices: {error}"),
        };
        assert_eq!(tap.descriptors().len(), 2);
        set_speed_mbps("tap0", 100).unwrap();
        assert_eq!(speed_mbps("tap0").unwrap(), Some(100));
        drop(tap);
        assert_eq!(find("tap0").unwrap(), None);
    });
}

#[test]
fn a_tap_sends_by_the_queues_of_a_frames_priority() {
    use crate::packet::PacketSocket;
    in_namespace(|| {
        let tap = match Tap::make("tap0", 6) {
            Ok(tap) => tap,
            Err(error) => return eprintln!("skipped: this kernel cannot create tap devices: {error}"),
        };
        let mut queues = [QueueRange { count: 1, first: 0 }; 16];
        queues[3] = QueueRange { count: 1, first: 2 };
        queues[5] = QueueRange { count: 1, first: 1 };
        queues[6] = QueueRange { count: 3, first: 3 };
        if let Err(error) = tap.steer_by_priority(queues) {
            return eprintln!("skipped: no BPF for this user: {error}");
        }
        set_up("tap0").unwrap();
        let mut buffer = [0; 200];
        // The last byte of the source address, of which 255 is a multiple of three queues.
        for (priority, source, queue) in [(3, 7, 2), (5, 7, 1), (0, 7, 0), (6, 255, 3), (6, 7, 4), (6, 8, 5)]
        {
            let socket = PacketSocket::sender("tap0").unwrap();
            socket.set_priority(priority).unwrap();
            let mut frame = vec![0xff; 11];
            frame.extend_from_slice(&[source, 0x88, 0xb5]);
            frame.resize(60 + queue, 0);
            socket.send(&frame).unwrap();
            // The kernel may send other frames in between.
            let came = std::iter::from_fn(|| tap.take(queue, &mut buffer).unwrap());
            assert!(
                came.into_iter().any(|length| length == 60 + queue),
                "priority {priority}, source {source}"
            );
        }
    });
}

#[test]
fn a_token_bucket_can_be_set_and_deleted() {
    in_namespace(|| {
        if is_missing("veth", make_veth("here", "there", None, None)) {
            return;
        }
        let bucket = qdiscs::TokenBucket {
            rate_bps: 100_000_000,
            burst_bytes: 1600,
            limit_bytes: 1 << 20,
            overhead_bytes: 24,
        };
        if is_missing("token bucket", qdiscs::set_token_bucket("here", bucket)) {
            return;
        }
        let qdiscs = qdiscs::of("here").unwrap();
        assert_eq!(qdiscs.iter().map(|qdisc| qdisc.kind.as_str()).collect::<Vec<_>>(), ["tbf"]);
        qdiscs::delete_root("here").unwrap();
        assert!(qdiscs::of("here").unwrap().iter().all(|qdisc| qdisc.kind != "tbf"));
    });
}

#[test]
fn changes_of_a_link_are_reported() {
    in_namespace(|| {
        let monitor = crate::netlink::Monitor::open().unwrap();
        if is_missing("veth", make_veth("here", "there", None, None)) {
            return;
        }
        set_up("here").unwrap();
        delete("here").unwrap();
        let news: Vec<_> = monitor.news().unwrap().iter().filter_map(changed_link).collect();
        assert!(news.iter().any(|(link, gone)| link.name == "here" && link.is_up && !gone));
        assert!(news.iter().any(|(link, gone)| link.name == "here" && *gone));
    });
}
