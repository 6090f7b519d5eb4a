//! A tap device: a link whose other end is this process (Documentation/networking/tuntap.rst).

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::steering::{self, QueueRange};

/// A tap device with several queues. It is deleted when the last of them is closed.
#[derive(Debug)]
pub struct Tap {
    queues: Vec<File>,
}

impl Tap {
    /// Creates `name` with the requested number of queues. It is down.
    ///
    /// # Errors
    /// ENOENT if there is no /dev/net/tun (CONFIG_TUN), EBUSY if the name is in use, EPERM without CAP_NET_ADMIN.
    pub fn make(name: &str, queues: usize) -> io::Result<Self> {
        Self::make_with_index(name, queues, None)
    }

    /// The same, with an interface index that is free in the calling thread's namespace.
    ///
    /// # Errors
    /// As [`Self::make`], and EBUSY if the index is in use.
    pub fn make_with_index(name: &str, queues: usize, index: Option<u32>) -> io::Result<Self> {
        let mut request = request_for(name)?;
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_MULTI_QUEUE;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        let open = |queue| {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
            if let Some(index) = index.filter(|_| queue == 0) {
                // The index of the device that the next TUNSETIFF of this file creates.
                // SAFETY: the kernel only reads the number.
                if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFINDEX as _, &raw const index) } != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // SAFETY: the request is valid, and the kernel writes only the name back.
            if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(file)
        };
        Ok(Self { queues: (0..queues.max(1)).map(open).collect::<io::Result<_>>()? })
    }

    /// Makes it send frames of each of the 16 priorities over the given queues; of several, the last byte of the source
    /// address selects one. By default it selects the queue by flow, whatever classes a shaper assigns to its queues.
    ///
    /// # Errors
    /// ENOSYS without CONFIG_BPF_SYSCALL, EPERM without CAP_BPF and CAP_NET_ADMIN, EINVAL before Linux 4.16.
    pub fn steer_by_priority(&self, queues: [QueueRange; 16]) -> io::Result<()> {
        self.queues.first().map_or(Ok(()), |queue| steering::by_priority(queue, queues))
    }

    /// The descriptors of the queues, for polling.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(AsFd::as_fd).collect()
    }

    /// Reads a frame that the kernel sent over queue `queue`; returns its length, or `None` if there is no frame.
    ///
    /// # Errors
    /// read(2)'s.
    pub fn take(&self, queue: usize, frame: &mut [u8]) -> io::Result<Option<usize>> {
        match self.queues.get(queue).map_or(Ok(0), |mut file| file.read(frame)) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Passes a frame to the kernel as if it had been received.
    ///
    /// # Errors
    /// write(2)'s: EIO while the device is down.
    pub fn give(&self, frame: &[u8]) -> io::Result<()> {
        self.queues.first().map_or(Ok(()), |mut file| file.write_all(frame))
    }
}

/// `struct ifreq` for the device `name`.
pub(super) fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an ifreq of zeros is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}
