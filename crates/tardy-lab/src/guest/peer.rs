//! The network of a guest: loopback, and the other host, which is a network namespace at the other end of a veth pair
//! in the same guest, so that no packet ever leaves the emulated machine and none arrives by the host's clock.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use tardy_sys::{links, network};

use super::orders::{BOARD_ADDRESS, PEER_ADDRESS};

/// The link's names here and there.
const HERE: &str = "eth0";
const THERE: &str = "eth0";

/// Sets loopback up.
pub(super) fn loopback() -> Result<(), String> {
    links::set_up("lo").map_err(|error| format!("the loopback device cannot be set up: {error}"))
}

/// Makes the other host, and starts `commands` on it; they run until the machine ends.
pub(super) fn connect(commands: &[Vec<String>]) -> Result<(), String> {
    let (namespace, entered) = mpsc::channel();
    let (linked, link_is_there) = mpsc::channel();
    let (report, outcome) = mpsc::channel();
    let commands = commands.to_vec();
    // A namespace is a thread's, and so are the children that a thread starts.
    std::thread::spawn(move || {
        let _ = namespace.send(network::enter_new_namespace());
        if link_is_there.recv() == Ok(()) {
            let _ = report.send(furnish(&commands));
        }
    });
    let gone = "the other host's thread is gone".to_owned();
    let peer = entered.recv().map_err(|_| gone.clone())?.map_err(|error| {
        format!("no network namespace for the other host: {error}; the kernel needs CONFIG_NET_NS")
    })?;
    links::make_veth(HERE, THERE, Some(&peer), None)
        .and_then(|()| links::set_up(HERE))
        .and_then(|()| network::add_address(HERE, address(BOARD_ADDRESS), 24))
        .map_err(|error| format!("no link to the other host: {error}; the kernel needs CONFIG_VETH"))?;
    linked.send(()).map_err(|_| gone.clone())?;
    outcome.recv().map_err(|_| gone)?
}

fn furnish(commands: &[Vec<String>]) -> Result<(), String> {
    loopback()?;
    links::set_up(THERE)
        .and_then(|()| network::add_address(THERE, address(PEER_ADDRESS), 24))
        .map_err(|error| format!("the other host's link: {error}"))?;
    for words in commands {
        let (program, arguments) = words.split_first().ok_or("the other host was ordered to run nothing")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| format!("{program} on the other host: {error}"))?;
    }
    Ok(())
}

fn address(text: &str) -> Ipv4Addr {
    text.parse().expect("the lab's addresses are written here")
}
