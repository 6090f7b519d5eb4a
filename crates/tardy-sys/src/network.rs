//! Network namespaces, and addresses in the calling thread's namespace.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

use crate::links::index_of;
use crate::netlink::{Message, NetlinkError, Request, RouteSocket};

/// Moves the calling thread, and threads and processes that it starts later, into a new network namespace, which
/// contains only a loopback device that is down. Returns the file that identifies the namespace.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN; EINVAL if the kernel has no network namespaces (CONFIG_NET_NS).
pub fn enter_new_namespace() -> io::Result<File> {
    // SAFETY: unshare(2) takes flags only.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    File::open("/proc/thread-self/ns/net")
}

/// An open network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates a namespace that contains only a loopback device that is down. It is deleted when its last user is gone.
    ///
    /// # Errors
    /// EPERM without CAP_SYS_ADMIN; EINVAL if the kernel has no network namespaces (CONFIG_NET_NS).
    pub fn new() -> io::Result<Self> {
        let file = on_a_thread(enter_new_namespace)??;
        Ok(Self { file })
    }

    /// The calling thread's namespace.
    ///
    /// # Errors
    /// If the kernel has no network namespaces, or /proc is not mounted.
    pub fn own() -> io::Result<Self> {
        Ok(Self { file: File::open("/proc/thread-self/ns/net")? })
    }

    /// The file that identifies it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The inode of its file: two namespaces that exist at the same time have different ones.
    ///
    /// # Errors
    /// fstat(2)'s.
    pub fn number(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.ino())
    }

    /// Moves the calling thread, and threads and processes that it starts later, into it (setns(2)).
    ///
    /// # Errors
    /// EPERM without CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: setns(2) takes integers only.
        if unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Runs `work` in a thread inside the namespace and returns its result; the calling thread waits.
    ///
    /// # Errors
    /// If no thread can be started, or it may not enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_a_thread(|| self.enter().map(|()| work()))?
    }
}

/// Runs `work` in a separate thread and returns its result.
fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("tardy-netns".to_owned()).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the thread in another network namespace panicked"))
    })
}

/// The addresses in the calling thread's namespace, each with the index of its link.
///
/// # Errors
/// The kernel's.
pub fn addresses() -> Result<Vec<(u32, IpAddr)>, NetlinkError> {
    // struct ifaddrmsg: family, prefix length, flags, scope, index.
    let request = Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP as u16, &[0; 8]);
    let address = |message: &Message| {
        let attributes = message.attributes(8);
        // For a point-to-point link, IFA_ADDRESS is the other end's.
        let value = attributes.find(libc::IFA_LOCAL).or(attributes.find(libc::IFA_ADDRESS))?.value;
        let address = match value.len() {
            4 => IpAddr::from(<[u8; 4]>::try_from(value).ok()?),
            _ => IpAddr::from(<[u8; 16]>::try_from(value).ok()?),
        };
        Some((message.number_at(4)?, address))
    };
    Ok(RouteSocket::open()?.dump(&request)?.iter().filter_map(address).collect())
}

/// Gives a link an IPv4 address with a prefix length.
///
/// # Errors
/// EEXIST if it already has that address, EPERM without CAP_NET_ADMIN.
pub fn add_address(name: &str, address: Ipv4Addr, prefix_bits: u8) -> Result<(), NetlinkError> {
    // struct ifaddrmsg: family, prefix length, flags, scope, index.
    let mut fixed = vec![libc::AF_INET as u8, prefix_bits, 0, 0];
    fixed.extend_from_slice(&index_of(name)?.to_ne_bytes());
    let create = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    let mut request = Request::new(libc::RTM_NEWADDR, create, &fixed);
    request.attribute(libc::IFA_LOCAL, &address.octets()).attribute(libc::IFA_ADDRESS, &address.octets());
    RouteSocket::open()?.ask(&request)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::links::{make_veth, set_up};

    /// Two threads in separate namespaces, a link between them, and a packet over it.
    #[test]
    fn a_packet_crosses_a_link_between_two_namespaces() {
        let (namespace, there) = mpsc::channel();
        let (go, ready) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let entered = enter_new_namespace();
            let failed = entered.is_err();
            namespace.send(entered).unwrap();
            if failed || ready.recv().is_err() {
                return;
            }
            set_up("there").unwrap();
            add_address("there", Ipv4Addr::new(10, 83, 0, 2), 24).unwrap();
            let socket = std::net::UdpSocket::bind("10.83.0.2:7000").unwrap();
            let mut bytes = [0; 5];
            let (_, from) = socket.recv_from(&mut bytes).unwrap();
            socket.send_to(&bytes, from).unwrap();
        });
        let here = std::thread::spawn(move || {
            let peer = match (enter_new_namespace(), there.recv().unwrap()) {
                (Ok(_), Ok(peer)) => peer,
                (Err(error), _) | (_, Err(error)) => {
                    return eprintln!("skipped: no network namespace for this user: {error}");
                }
            };
            if let Err(error) = make_veth("here", "there", Some(&peer), None) {
                return eprintln!("skipped: this kernel cannot create veth pairs: {error}");
            }
            go.send(()).unwrap();
            set_up("here").unwrap();
            add_address("here", Ipv4Addr::new(10, 83, 0, 1), 24).unwrap();
            let socket = std::net::UdpSocket::bind("10.83.0.1:0").unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
            let mut bytes = [0; 5];
            while socket.recv(&mut bytes).is_err() {
                // Repeats until the other side listens.
                socket.send_to(b"tardy", "10.83.0.2:7000").unwrap();
            }
            assert_eq!(&bytes, b"tardy");
        });
        here.join().unwrap();
        other.join().unwrap();
    }
}
