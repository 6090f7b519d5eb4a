//! The guest's network: loopback, and a peer host. The peer is a network namespace of the same guest behind a veth
//! pair, so no packet leaves the emulated machine, and no arrival time depends on the host's clock.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use tardy_sys::{links, network};

use crate::orders::{GUEST_ADDRESS, PEER_ADDRESS};

/// The two ends of the veth pair.
const GUEST_LINK: &str = "eth0";
const PEER_LINK: &str = "eth0";

/// Sets the loopback device up.
pub(super) fn set_up_loopback() -> Result<(), String> {
    links::set_up("lo").map_err(|error| format!("the loopback device cannot be set up: {error}"))
}

/// Creates the peer host and starts `commands` on it. They run until the machine ends.
pub(super) fn create(commands: &[Vec<String>]) -> Result<(), String> {
    let (namespace, entered) = mpsc::channel();
    let (linked, link_is_there) = mpsc::channel();
    let (report, outcome) = mpsc::channel();
    let commands = commands.to_vec();
    // A network namespace belongs to a thread, and the thread's children inherit it.
    std::thread::spawn(move || {
        let _ = namespace.send(network::enter_new_namespace());
        if link_is_there.recv() == Ok(()) {
            let _ = report.send(set_up_peer(&commands));
        }
    });
    let gone = "the peer host's thread ended early".to_owned();
    let peer = entered.recv().map_err(|_| gone.clone())?.map_err(|error| {
        format!("no network namespace for the peer host: {error}; the kernel needs CONFIG_NET_NS")
    })?;
    links::make_veth(GUEST_LINK, PEER_LINK, Some(&peer), None)
        .and_then(|()| links::set_up(GUEST_LINK))
        .and_then(|()| network::add_address(GUEST_LINK, address(GUEST_ADDRESS), 24))
        .map_err(|error| format!("no link to the peer host: {error}; the kernel needs CONFIG_VETH"))?;
    linked.send(()).map_err(|_| gone.clone())?;
    outcome.recv().map_err(|_| gone)?
}

/// Sets up the links in the peer's namespace and starts its commands. Runs on the peer's thread.
fn set_up_peer(commands: &[Vec<String>]) -> Result<(), String> {
    set_up_loopback()?;
    links::set_up(PEER_LINK)
        .and_then(|()| network::add_address(PEER_LINK, address(PEER_ADDRESS), 24))
        .map_err(|error| format!("the peer host's link cannot be set up: {error}"))?;
    for command in commands {
        let (program, arguments) = command.split_first().ok_or("a command for the peer host is empty")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| format!("{program} on the peer host: {error}"))?;
    }
    Ok(())
}

fn address(text: &str) -> Ipv4Addr {
    text.parse().expect("the lab's addresses are constants")
}
