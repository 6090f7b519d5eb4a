//! Ancillary data of a frame: its tag, its timestamps, or its transmit time (cmsg(3)).

use super::{PACKET_AUXDATA, Received};

/// A buffer for ancillary data, aligned for its headers.
#[derive(Debug)]
pub(super) struct Ancillary {
    words: [u64; 32],
    used_bytes: usize,
}

impl Ancillary {
    /// A buffer for received data.
    pub(super) fn room() -> Self {
        Self { words: [0; 32], used_bytes: 256 }
    }

    /// SCM_TXTIME with `at_ns`.
    pub(super) fn transmit_time(at_ns: u64) -> Self {
        // SAFETY: CMSG_SPACE computes with its argument.
        let space = unsafe { libc::CMSG_SPACE(8) } as usize;
        let mut ancillary = Self { words: [0; 32], used_bytes: space };
        let mut part = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let header = ancillary.header(&mut part);
        // SAFETY: the room is large enough for one header with eight bytes of data, and aligned for it.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_TXTIME;
            (*first).cmsg_len = libc::CMSG_LEN(8) as _;
            libc::CMSG_DATA(first).cast::<u64>().write_unaligned(at_ns);
        }
        ancillary
    }

    /// A message header for `part` with this ancillary data; it points at both.
    pub(super) fn header(&mut self, part: &mut libc::iovec) -> libc::msghdr {
        // SAFETY: a msghdr of zeros is valid.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = part;
        header.msg_iovlen = 1;
        header.msg_control = self.words.as_mut_ptr().cast();
        header.msg_controllen = self.used_bytes as _;
        header
    }
}

/// Reads the ancillary data of a frame into `received`.
pub(super) fn read(header: &libc::msghdr, received: &mut Received) {
    each(header, &mut |level, kind, data| {
        if level == libc::SOL_SOCKET && kind == libc::SO_TIMESTAMPING {
            (received.software_ns, received.hardware_ns) = (time(data, 0), time(data, 2));
        } else if level == libc::SOL_PACKET && kind == PACKET_AUXDATA {
            received.vlan_tci = tag(data);
        }
    });
}

/// Calls `take` with the level, the type and the data of each part of the ancillary data that recvmsg(2) has written.
pub(crate) fn each(header: &libc::msghdr, take: &mut dyn FnMut(libc::c_int, libc::c_int, &[u8])) {
    // SAFETY: the header was filled in by recvmsg(2), and its buffers are alive.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: the kernel wrote a header here, with as many bytes of data as its length states.
        let (level, kind, data) = unsafe {
            let length = ((*next).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            let data = std::slice::from_raw_parts(libc::CMSG_DATA(next), length);
            ((*next).cmsg_level, (*next).cmsg_type, data)
        };
        take(level, kind, data);
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(header, next) };
    }
}

/// One of the three times of SCM_TIMESTAMPING; `None` if it is zero.
pub(crate) fn time(data: &[u8], place: usize) -> Option<i64> {
    let size = size_of::<libc::timespec>();
    let bytes = data.get(place * size..(place + 1) * size)?;
    // Two words of the same size, seconds and nanoseconds, on every architecture.
    let (seconds, nanoseconds) = bytes.split_at(size / 2);
    let number = |bytes: &[u8]| match bytes.len() {
        8 => Some(i64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => Some(i64::from(i32::from_ne_bytes(bytes.try_into().ok()?))),
    };
    let time = number(seconds)? * 1_000_000_000 + number(nanoseconds)?;
    (time != 0).then_some(time)
}

/// The tag of `struct tpacket_auxdata`: status, lengths, offsets, control information, protocol.
fn tag(data: &[u8]) -> Option<u16> {
    const VLAN_VALID: u32 = 1 << 4;
    let status = u32::from_ne_bytes(data.get(..4)?.try_into().ok()?);
    let tci = u16::from_ne_bytes(data.get(16..18)?.try_into().ok()?);
    (status & VLAN_VALID != 0).then_some(tci)
}
