//! The interface of the caller's own SSH connection, which is not cut off unless requested.

use std::net::IpAddr;

use tardy_sys::processes::{self, ProcessState};
use tardy_sys::{links, network};

/// The most ancestors whose environments are searched: usually sudo, one or two shells, and sshd's child.
const GENERATIONS: usize = 16;

/// The name of the interface through which the caller's SSH connection arrives, if there is one on this machine.
pub(super) fn interface() -> Option<String> {
    let server = server_address()?;
    let (index, _) = network::addresses().ok()?.into_iter().find(|(_, address)| *address == server)?;
    Some(links::all().ok()?.into_iter().find(|link| link.index == index)?.name)
}

/// The address of this machine's end of the SSH connection. sshd passes it to its children in SSH_CONNECTION, which
/// sudo removes, so the environments of ancestors are searched too.
fn server_address() -> Option<IpAddr> {
    if let Ok(connection) = std::env::var("SSH_CONNECTION") {
        return third_word(&connection);
    }
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..GENERATIONS {
        if let Some(address) = processes::environment_of(pid).and_then(|all| in_environment(&all)) {
            return Some(address);
        }
        pid = ProcessState::of(pid)?.parent;
        if pid <= 1 {
            return None;
        }
    }
    None
}

fn in_environment(bytes: &[u8]) -> Option<IpAddr> {
    let text = String::from_utf8_lossy(bytes);
    third_word(text.split('\0').find_map(|entry| entry.strip_prefix("SSH_CONNECTION="))?)
}

/// `client port server port` (sshd(8)).
fn third_word(connection: &str) -> Option<IpAddr> {
    // A link-local address is followed by a percent sign and the link's name.
    connection.split(' ').nth(2)?.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_address_is_read_from_the_environment() {
        let environment = b"HOME=/root\0SSH_CONNECTION=10.0.0.9 50000 10.0.0.1 22\0TERM=dumb\0";
        assert_eq!(in_environment(environment), "10.0.0.1".parse().ok());
        assert_eq!(third_word("fe80::2%eth0 1 fe80::1%eth0 22"), "fe80::1".parse().ok());
        assert_eq!(third_word("nonsense"), None);
    }
}
