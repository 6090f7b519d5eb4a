//! `tardy run --probe round-trip` and `tardy reflect`, over a veth pair between two network namespaces of the test.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tardy_sys::links;
use tardy_sys::network::{Namespace, add_address};

use crate::bench::{Bench, Printed, Running};
use crate::probe_program::{as_a_user, copy_of_tardy, is_root};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 84, 0, 1);
const THERE: &str = "10.84.0.2";
const LOOP_IN_C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/round_trip.c");

/// Two namespaces with a link between them.
struct Network {
    here: Namespace,
    there: Namespace,
}

impl Network {
    /// `None`, with the reason on standard error, if this user or kernel cannot make one.
    fn new() -> Option<Self> {
        let made = Namespace::new().and_then(|here| Ok(Self { here, there: Namespace::new()? }));
        let network = made.inspect_err(|error| eprintln!("skipped: no network namespace: {error}")).ok()?;
        let (here, there) = (&network.here, &network.there);
        let veth = here.run(|| links::make_veth("here", "there", Some(there.file()), None)).unwrap();
        veth.inspect_err(|error| eprintln!("skipped: no veth pair: {error}")).ok()?;
        let set_up = |name: &str, address: Ipv4Addr| {
            links::set_up("lo").unwrap();
            links::set_up(name).unwrap();
            add_address(name, address, 24).unwrap();
        };
        here.run(|| set_up("here", HERE)).unwrap();
        there.run(|| set_up("there", THERE.parse().unwrap())).unwrap();
        Some(network)
    }

    /// Starts a peer, which is ready when this returns.
    fn reflect(&self, bench: &Bench, arguments: &[&str]) -> Running {
        let words = [&["reflect", "--priority", "0"], arguments].concat();
        let mut peer = self.there.run(|| bench.start(&words)).unwrap();
        let mut line = String::new();
        BufReader::new(peer.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("tardy: returning "), "{line}");
        peer
    }

    fn measure(&self, bench: &Bench, arguments: &[&str]) -> Printed {
        let usual = ["run", "--probe", "round-trip", "--duration", "1s", "--warmup", "300ms", "--quiet"];
        let words = [&usual[..], &["-o", "a.run.json", "--force"], arguments].concat();
        self.here.run(|| bench.run(&words)).unwrap()
    }
}

fn sum(series: &Value) -> i64 {
    series["sum_ns"].as_i64().unwrap()
}

/// Checks the run and returns its series of the whole.
fn checked(bench: &Bench, parts: &[&str]) -> Value {
    let run = bench.json("a.run.json");
    let series = run["series"].as_array().unwrap();
    let of: Vec<&str> = series.iter().map(|one| one["kind"]["part"].as_str().unwrap()).collect();
    assert_eq!(of, [&["whole"], parts].concat());
    let (whole, tally) = (&series[0], &series[0]["tally"]);
    let recorded = tally["recorded"].as_u64().unwrap();
    assert!(recorded > 50, "{tally}");
    let lost = whole["kind"]["lost"].as_u64().unwrap() + whole["kind"]["unrecorded"].as_u64().unwrap();
    assert_eq!(tally["attempted"], recorded + lost, "{tally}");
    assert_eq!(whole["kind"]["undivided"], 0, "{}", whole["kind"]);
    assert_eq!(sum(whole), series[1..].iter().map(sum).sum::<i64>(), "the parts add up");
    assert_eq!(run["validity"]["valid"], true, "{}", run["validity"]);
    whole.clone()
}

#[test]
fn udp_to_tardy_reflect_has_all_parts_and_is_shown() {
    let bench = Bench::new();
    let Some(network) = Network::new() else { return };
    let peer = network.reflect(&bench, &[]);
    let printed = network.measure(&bench, &["--peer", THERE, "--load", "cpu", "--limit", "10s"]).exits(0);
    checked(&bench, &["send", "wire", "peer", "receive"]);
    for text in ["Round trips, part by part", "send path", "wire", "receive, wake-up", "round trips over"] {
        assert!(printed.out.contains(text), "{text}: {}", printed.out);
    }
    peer.signal("-INT");
    assert!(peer.printed().exits(0).err.contains("returned "));
    bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(0);
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("Round trips, part by part"));
    bench.run(&["gate", "a.run.json", "--require", "max<1ns"]).exits(3);
}

#[test]
fn the_kernel_of_any_host_answers_icmp() {
    let bench = Bench::new();
    let Some(network) = Network::new() else { return };
    network.measure(&bench, &["--peer", THERE, "--protocol", "icmp", "--interval", "2ms"]).exits(0);
    checked(&bench, &["send", "wire", "receive"]);
}

#[test]
fn raw_frames_and_ethercat_frames_are_returned() {
    let bench = Bench::new();
    let Some(network) = Network::new() else { return };
    let address = network.there.run(|| links::find("there").unwrap().unwrap().address).unwrap();
    let mac: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    let mac = mac.join(":");
    let peer = network.reflect(&bench, &["--protocol", "ethernet", "--link", "there"]);
    network.measure(&bench, &["--peer", &mac, "--protocol", "ethernet", "--link", "here"]).exits(0);
    checked(&bench, &["send", "wire", "peer", "receive"]);
    drop(peer);
    let _peer = network.reflect(&bench, &["--protocol", "ethercat", "--link", "there"]);
    let printed = network.measure(&bench, &["--protocol", "ethercat", "--link", "here"]).exits(0);
    let whole = checked(&bench, &["send", "wire", "peer", "receive"]);
    assert_eq!(whole["kind"]["devices"], 1);
    assert!(printed.out.contains("had passed at least 1 device."), "{}", printed.out);
}

#[test]
fn what_prevents_a_round_trip_is_said() {
    let bench = Bench::new();
    let Some(network) = Network::new() else { return };
    for (arguments, message) in [
        (&["--peer", THERE][..], "refuses the requests: nothing listens on this port"),
        (&["--peer", "192.0.2.1"], "cannot be reached: Network is unreachable"),
        (&["--peer", "no-such-host.invalid"], "has no address"),
        (&["--protocol", "ethercat", "--link", "none"], "there is no link 'none'"),
        (&["--protocol", "ethercat", "--link", "here"], "EtherCAT devices on here did not answer within 3 s"),
        (&["--protocol", "ethernet", "--link", "here", "--peer", "host"], "not a hardware address"),
    ] {
        let printed = network.measure(&bench, arguments);
        assert!(printed.err.contains(message), "{arguments:?}: {}", printed.err);
        printed.exits(1);
        assert!(!bench.path("a.run.json").exists(), "{arguments:?}");
    }
    network.here.run(|| links::set_down("here").unwrap()).unwrap();
    let printed = network.measure(&bench, &["--protocol", "ethercat", "--link", "here"]);
    assert!(printed.exits(1).err.contains("the link here is down"));
}

#[test]
fn another_user_may_use_udp_and_reads_what_raw_frames_need() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let Some(network) = Network::new() else { return };
    let tardy = copy_of_tardy(&bench, None).unwrap();
    let _peer = network.reflect(&bench, &[]);
    let run = |arguments: &[&str]| {
        let usual = ["run", "--probe", "round-trip", "--duration", "300ms", "--quiet", "-o", "a.run.json"];
        let words = [&usual[..], &["--force"], arguments].concat();
        let output =
            network.here.run(|| as_a_user(&bench, &tardy, 64).args(&words).output().unwrap()).unwrap();
        Printed::from(output)
    };
    let printed = run(&["--peer", THERE]).exits(0);
    assert!(printed.out.contains("CAP_SYS_NICE permits it"), "{}", printed.out);
    let printed = run(&["--protocol", "ethercat", "--link", "here"]).exits(1);
    assert!(printed.err.contains("raw frames on here need CAP_NET_RAW"), "{}", printed.err);
}

/// Medians of the same link in one run. The ratios are printed: `cargo test -p tardy --test cli -- --nocapture as_long`.
#[test]
fn round_trips_take_about_as_long_as_those_of_ping_and_of_a_loop_in_c() {
    let bench = Bench::new();
    let Some(network) = Network::new() else { return };
    let program = bench.path("round_trip");
    let built = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(LOOP_IN_C).status();
    if !built.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no C compiler");
    }
    let _peer = network.reflect(&bench, &[]);
    let (mut udp, mut icmp, mut of_c, mut of_ping) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        udp.push(median(&network, &bench, &["--peer", THERE]));
        of_c.push(median_of_c(&network, &program));
        icmp.push(median(&network, &bench, &["--peer", THERE, "--protocol", "icmp"]));
        of_ping.extend(mean_of_ping(&network));
    }
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = least(&udp) / least(&of_c);
    println!(
        "us: udp {udp:.1?}, loop in C {of_c:.1?}, icmp {icmp:.1?}, ping {of_ping:.1?}; udp to C {ratio:.2}"
    );
    assert!((0.2..5.0).contains(&ratio), "{udp:?} {of_c:?}");
    if of_ping.is_empty() {
        return eprintln!("skipped: ping is not installed");
    }
    let ratio = least(&icmp) / least(&of_ping);
    println!("icmp to ping {ratio:.2}");
    assert!((0.1..5.0).contains(&ratio), "{icmp:?} {of_ping:?}");
}

/// The median round trip of tardy, in us.
fn median(network: &Network, bench: &Bench, arguments: &[&str]) -> f64 {
    network.measure(bench, &[arguments, &["--policy", "other", "--interval", "2ms"]].concat()).exits(0);
    let run = bench.json("a.run.json");
    // Lower edge, upper edge and count.
    let bins: Vec<[f64; 3]> = serde_json::from_value(run["series"][0]["measured"].clone()).unwrap();
    let total: f64 = bins.iter().map(|bin| bin[2]).sum();
    let mut before = 0.0;
    let middle = bins.iter().find(|bin| {
        before += bin[2];
        before * 2.0 >= total
    });
    let [lower_ns, upper_ns, _] = middle.unwrap();
    (lower_ns + upper_ns) / 2000.0
}

/// The median round trip of the loop in C, in us.
fn median_of_c(network: &Network, program: &Path) -> f64 {
    let output = network
        .here
        .run(|| Command::new(program).args([THERE, "7", "2000", "500"]).output().unwrap())
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    words[1] / 1000.0
}

/// The mean round trip of ping, in us; `None` if it is not installed.
fn mean_of_ping(network: &Network) -> Option<f64> {
    let words = ["-q", "-s", "48", "-i", "0.002", "-c", "500", THERE];
    let output = network.here.run(|| Command::new("ping").args(words).output()).unwrap().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // rtt min/avg/max/mdev = 0.010/0.020/0.030/0.004 ms
    let times = text.lines().find_map(|line| line.strip_prefix("rtt ")?.split(" = ").nth(1))?;
    Some(times.split('/').nth(1)?.parse::<f64>().ok()? * 1000.0)
}
