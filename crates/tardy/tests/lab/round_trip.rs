//! Round trips over a veth pair in a guest: tardy's, those of a loop in C with the same peer, and ping's, in counted instructions.
//!
//! The guest has one CPU, and the peer has a lower priority, so that what a program does until it waits delays the peer: each system
//! call of it is in the round trip.

use tardy_record::Series;

use crate::scripted::{Place, Printed, Scene};
use crate::{c_program, cost};

const NAME: &str = "round-trip";
const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/round_trip.c");
/// The ratio to the loop in C, as last measured (docs/round-trip.md), and how much it may grow before this test fails.
const RATIO_RECORDED: f64 = 1.0;
/// The same to ping.
const PING_RATIO_RECORDED: f64 = 1.15;
const GROWTH: f64 = 1.05;

/// The peer is in another network namespace, with ordinary scheduling.
const SCRIPT: &str = r#"
quiet_network
ip link add here type veth peer name there
unshare -n sh -c 'until /sbin/ip addr add 10.84.0.2/24 dev there 2> /dev/null; do usleep 10000; done
    /sbin/ip link set there up; exec tardy reflect --priority 0' 2> /tmp/peer &
peer=$!
is_apart() { [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
until_true is_apart
ip link set there netns $peer
ip addr add 10.84.0.1/24 dev here
ip link set here up
until_true grep -q returning /tmp/peer
mkdir -p /lab/results
for protocol in udp icmp; do
    tardy run -q --probe round-trip --peer 10.84.0.2 --protocol $protocol --interval 2ms --priority 80 \
        --duration 200ms --warmup 20ms -o /lab/results/$protocol.run.json || exit
done
part c
/usr/bin/chrt -f 80 $FILES/round_trip 10.84.0.2 7 2000 100
part ping
/usr/bin/chrt -f 80 /bin/ping -q -s 48 -i 0.002 -c 100 10.84.0.2
part end
kill $peer
"#;

/// The scene of this file. `None`, with the reason printed, if the C program cannot be built here.
pub(crate) fn scene() -> Option<Scene> {
    let program = c_program::compiled(LOOP)?;
    Some(Scene {
        name: NAME,
        script: SCRIPT.to_owned(),
        place: Place::OwnNetwork,
        modules: vec!["veth"],
        tools: vec![("iproute2", "/sbin/ip"), ("iputils-ping", "/bin/ping"), ("util-linux", "/usr/bin/chrt")],
        programs: vec![("round_trip".to_owned(), program)],
        ..Scene::default()
    })
}

/// The round trips of tardy and their parts.
fn series_of(printed: &Printed, file: &str) -> Vec<Series> {
    let run = printed.run(file);
    assert!(run.validity.valid, "{:?}", run.validity);
    let sum = |series: &Series| series.sum_ns.get().unwrap();
    assert_eq!(sum(&run.series[0]), run.series[1..].iter().map(sum).sum::<i64>(), "the parts add up");
    run.series
}

#[test]
fn a_round_trip_takes_little_longer_than_that_of_a_loop_in_c_and_of_ping() {
    let Some(printed) = cost::counted(NAME) else { return };
    let [udp, icmp] = ["udp.run.json", "icmp.run.json"].map(|file| series_of(printed, file));
    for series in [&udp, &icmp] {
        for part in series {
            println!(
                "{}: median {:.0} ns, mean {:.0} ns",
                part.label,
                cost::median_of(part),
                part.mean_ns().unwrap()
            );
        }
    }
    let text = printed.part("c").text();
    let words: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [count, of_c, _] = words[..] else { panic!("{text}") };
    assert_eq!(count, 100.0);
    // rtt min/avg/max/mdev = 0.010/0.020/0.030/0.004 ms
    let text = printed.part("ping").text();
    let times = text.lines().find_map(|line| line.strip_prefix("rtt ")?.split(" = ").nth(1)).unwrap();
    let of_ping: f64 = times.split('/').nth(1).unwrap().parse::<f64>().unwrap() * 1e6;
    let to_c = cost::median_of(&udp[0]) / of_c;
    // ping takes the kernel's stamp of the answer's delivery, so that the way to the program is not in its times.
    let delivered = |part: &Series| part.label.ends_with(", send") || part.label.ends_with(", wire");
    let of_tardy: f64 = icmp.iter().filter(|part| delivered(part)).filter_map(Series::mean_ns).sum();
    println!("loop in C: median {of_c} ns, tardy {to_c:.3} of it");
    println!(
        "ping: mean {of_ping} ns, tardy up to the delivery {of_tardy:.0} ns, {:.3} of it",
        of_tardy / of_ping
    );
    assert!(of_tardy <= of_ping * PING_RATIO_RECORDED * GROWTH, "{of_tardy} {of_ping}");
    assert!(to_c <= RATIO_RECORDED * GROWTH, "{to_c:.3}");
}
