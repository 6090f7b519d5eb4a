//! PTP beside slots: ptp4l runs on both ends of a line with more delay in one direction than in the other. The ends share the
//! guest's clock, so the offset that it reports is half of the difference, and the verdict of a late flow names it.

use tardy_analyse::{flows, ptp};

use super::BRIDGED;
use crate::scripted::Scene;

/// More delay from the master to the slave than back, in ns. The offset is half of it.
const ASYMMETRY_NS: f64 = 4_000_000.0;
/// By how much an offset may differ from that: software stamps are as late as the emulated CPU's interrupts, in ns.
const TOLERANCE_NS: f64 = 200_000.0;

/// Free-running, so that no clock is set, with software stamps, and an offset every second.
const CONFIGURATION: &str = "\
[global]
free_running 1
time_stamping software
network_transport L2
logAnnounceInterval -3
announceReceiptTimeout 2
logSyncInterval -3
logMinDelayReqInterval -3
freq_est_interval 0
summary_interval -3
";

/// A flow that no switch can send in time, next to one without a deadline.
const SWITCH: &str = r#"
about = "A deadline that no frame meets."

[[class]]
name = "other"

[[class]]
name = "control"

[[classify]]
udp_port = 6001
priority = 1

[switch]
name = "tsn0"

[[switch.port]]
interface = "swp0"
to = "talker"

[[switch.port]]
interface = "swp1"
to = "listener"
speed = "100Mbit/s"
cycle_time = "10ms"
gates = [{ open = ["other"], for = "5ms" }, { open = ["control"], for = "5ms" }]

[[flow]]
name = "late"
talker = "talker"
listener = "listener"
udp_port = 6001
size = 200
period = "10ms"
offset = "7ms"
deadline = "1ns"

[[flow]]
name = "steady"
talker = "talker"
listener = "listener"
udp_port = 6002
size = 200
period = "10ms"
offset = "2ms"

[netns]
ports = "veth"
"#;

/// The bridge is between the two, and delays frames to the slave after they have got their stamps.
const SCRIPT: &str = r#"
mkdir -p /run/netns
ip link add middle type bridge stp_state 0 forward_delay 0
for end in clock follower; do
    ip netns add $end
    ip link add to-$end type veth peer name eth0 netns $end
    ip link set to-$end master middle
    ip link set to-$end up
    ip -n $end link set eth0 up
done
ip link set middle up
tc qdisc add dev to-follower root netem delay 4ms
cd /lab/results
servers=
trap 'kill $servers; wait; ip netns del clock; ip netns del follower' EXIT
serve() {
    ip netns exec $1 ptp4l -f $FILES/ptp4l.conf -i eth0 -m -q --uds_address=/tmp/$1 $2 > ptp-$1.log 2>&1 < /dev/null &
    servers="$servers $!"
}
serve clock --priority1=1
serve follower --slaveOnly=1
until_true grep -q offset ptp-follower.log
part test
answer tardy tsn test $FILES/late.toml --netns --with-shaper --for 1200ms -q --ptp4l-log ptp-follower.log -o ptp.run.json
part absent; answer tardy tsn test $FILES/late.toml --netns -q --ptp4l-log absent.log -o absent.run.json
"#;

/// The scene of this file.
pub(super) fn scene() -> Scene {
    let mut scene = super::scene("ptp", SCRIPT, &[("late.toml", SWITCH), ("ptp4l.conf", CONFIGURATION)]);
    scene.modules.push("sch_netem");
    scene.tools.push(("linuxptp", "/usr/sbin/ptp4l"));
    scene
}

#[test]
fn ptp4l_reports_half_of_the_asymmetry_and_the_verdict_of_a_late_flow_names_it() {
    let Some(printed) = BRIDGED.scene("ptp") else { return };
    let shown = printed.part("test");
    println!("{}\n{}", shown.text(), printed.text_file("ptp-follower.log"));
    assert_eq!(shown.status(), 3);
    let run = printed.run("ptp.run.json");
    assert!(run.validity.valid, "{:?}", run.validity);

    let recorded = ptp::of(&run).expect("offsets are recorded");
    let of = |name: &str| recorded.quantities.iter().find(|found| found.name == name).unwrap();
    for name in ["PTP offset", "PTP path delay"] {
        let found = of(name);
        assert!(found.readings >= 1, "{found:?}");
        for ns in [found.least_ns, found.greatest_ns] {
            assert!((ns - ASYMMETRY_NS / 2.0).abs() <= TOLERANCE_NS, "{found:?}");
        }
    }
    assert_eq!(recorded.ports[0].states, ["UNCALIBRATED"], "a free-running port stays so: {recorded:?}");

    let phases = flows::of(&run);
    let flow = |name: &str| phases[0].flows.iter().find(|flow| flow.flow == name).unwrap();
    assert!(flow("steady").clocks.is_empty(), "{:?}", flow("steady"));
    let [clock] = &flow("late").clocks[..] else { panic!("{:?}", flow("late")) };
    assert!((clock.offset_ns - ASYMMETRY_NS / 2.0).abs() <= TOLERANCE_NS, "{clock:?}");
    assert_eq!(clock.state, Some("UNCALIBRATED"));
    let text = shown.text().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["When the worst frame of late arrived", "the offset of master was"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    let absent = printed.part("absent");
    assert_eq!(absent.status(), 1, "{}", absent.text());
    assert!(absent.text().contains("absent.log: No such file"), "{}", absent.text());
}
