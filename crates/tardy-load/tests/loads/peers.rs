//! Network loads with a sink in another process or on another host.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tardy_load::Loads;

use crate::kinds::can_use;
use crate::processes::{eventually, own_descendants};
use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[
    ("a_sink_takes_what_the_network_part_sends", a_sink_takes_what_the_network_part_sends),
    ("a_sink_on_another_host_takes_it_too", a_sink_on_another_host_takes_it_too),
    ("a_sink_takes_streams_and_datagrams_too", a_sink_takes_streams_and_datagrams_too),
    ("a_peer_without_an_address_is_named", a_peer_without_an_address_is_named),
];

fn a_sink_takes_what_the_network_part_sends() {
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut context = context();
    context.port = free;
    // The sink starts first and must keep trying.
    let mut sink = Loads::start(&specs(&["sink:127.0.0.1"]), &context).unwrap();
    context.peer = Some("localhost".to_owned());
    let mut sender = Loads::start(&specs(&["network"]), &context).unwrap();
    eventually("what was sent has arrived", || {
        sender.read(1);
        sink.read(1);
        let done = |loads: &Loads| loads.snapshot()[0].parts[0].done.last().copied();
        done(&sender) >= Some(4 << 20) && done(&sender) == done(&sink)
    });
    let (sent, taken) = (sender.stop(), sink.stop());
    assert_eq!(sent[0].remarks, ["no network-card interrupts: the data went over loopback"]);
    assert_eq!(sent[0].parts[0].burst_every_ns, Some(7_000_000_000));
    assert!(taken[0].parts[0].deaths.is_empty());
    assert_eq!(own_descendants(), []);
}

fn a_sink_takes_streams_and_datagrams_too() {
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut context = context();
    context.port = free;
    let mut sink = Loads::start(&specs(&["sink:127.0.0.1"]), &context).unwrap();
    context.peer = Some("127.0.0.1".to_owned());
    let mut sender = Loads::start(&specs(&["net"]), &context).unwrap();
    let done = |loads: &mut Loads| {
        loads.read(1);
        loads.snapshot()[0].parts.iter().map(|part| *part.done.last().unwrap()).collect::<Vec<u64>>()
    };
    let first = (done(&mut sender), done(&mut sink));
    eventually("more of both has arrived", || {
        let (sent, taken) = (done(&mut sender), done(&mut sink));
        sent.iter().zip(&first.0).all(|(now, first)| now > first) && taken[0] > first.1[0]
    });
    assert_eq!(
        sender.snapshot()[0].parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(),
        ["tcp", "udp"]
    );
}

fn a_peer_without_an_address_is_named() {
    let mut context = context();
    context.peer = Some("no-such-host.invalid".to_owned());
    let told = Loads::start(&specs(&["network"]), &context).unwrap_err().to_string();
    assert!(told.contains("no-such-host.invalid") && told.contains("--peer"), "{told}");
}

/// Two hosts on one machine: two network namespaces connected by a veth pair.
fn a_sink_on_another_host_takes_it_too() {
    if !can_use(&["ip", "unshare", "nsenter"]) {
        return;
    }
    let mut hosts = [Host::new(), Host::new()];
    let (first, second) = (hosts[0].pid(), hosts[1].pid());
    hosts[0].run(&["ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", &second]);
    for (host, address) in hosts.iter().zip(["192.0.2.1/24", "192.0.2.2/24"]) {
        host.run(&["ip", "address", "add", address, "dev", "cable"]);
        host.run(&["ip", "link", "set", "cable", "up"]);
    }
    let exe = std::env::current_exe().unwrap().display().to_string();
    let mut sender = on(&first, &[&exe, "alone", "5566", "192.0.2.2", "network"]);
    let mut words = BufReader::new(sender.stderr.take().unwrap());
    let mut sink = on(&second, &[&exe, "alone", "5566", "-", "sink:192.0.2.1"]);
    let mut rates = String::new();
    words.read_line(&mut rates).unwrap();
    assert!(rates.contains("network "), "{rates}");
    let processes = own_descendants();
    // nsenter has replaced itself with the load (execve(2)).
    tardy_sys::child::send(sender.id(), tardy_sys::child::signal::TERMINATE).unwrap();
    let mut rest = String::new();
    words.read_to_string(&mut rest).unwrap();
    assert!(sender.wait().unwrap().success());
    assert!(rest.contains("network for") && !rest.contains("loopback"), "{rest}");
    sink.kill().unwrap();
    sink.wait().unwrap();
    for host in &mut hosts {
        host.holder.kill().unwrap();
        host.holder.wait().unwrap();
    }
    crate::processes::assert_all_end(&processes);
}

/// A network namespace, held open by a process.
struct Host {
    holder: Child,
}

impl Host {
    fn new() -> Self {
        let mut command = Command::new("unshare");
        let holder =
            command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        eventually("a network namespace is there", || {
            std::fs::read_link(format!("/proc/{}/ns/net", holder.id())).is_ok_and(|space| space != own)
        });
        Self { holder }
    }

    fn pid(&self) -> String {
        self.holder.id().to_string()
    }

    fn run(&self, line: &[&str]) {
        let status = on(&self.pid(), line).wait().unwrap();
        assert!(status.success(), "{line:?}");
    }
}

/// Starts a command in the network namespace of a process.
fn on(pid: &str, line: &[&str]) -> Child {
    let mut command = Command::new("nsenter");
    command.args(["--net", "--target", pid, "--"]).args(line);
    command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}
