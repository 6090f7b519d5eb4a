//! A link's speed (ethtool(8)), through the older of two interfaces, which takes one call and which every kernel
//! supports.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `struct ethtool_cmd` of include/uapi/linux/ethtool.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Command {
    command: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    duplex: u8,
    port: u8,
    phy_address: u8,
    transceiver: u8,
    autoneg: u8,
    mdio_support: u8,
    maxtxpkt: u32,
    maxrxpkt: u32,
    speed_high: u16,
    mdix: u8,
    mdix_control: u8,
    lp_advertising: u32,
    reserved: [u32; 2],
}

const GET: u32 = 1;
const SET: u32 = 2;
const FULL_DUPLEX: u8 = 1;

/// The speed of the link `name` in Mbit/s; `None` if it is unknown, for which the time-aware shaper assumes 10.
///
/// # Errors
/// EOPNOTSUPP for a device without such settings, ENODEV if there is no such link.
pub fn speed_mbps(name: &str) -> io::Result<Option<u32>> {
    let mut command = Command { command: GET, ..Command::default() };
    ask(name, &mut command)?;
    let speed = u32::from(command.speed) | u32::from(command.speed_high) << 16;
    // SPEED_UNKNOWN is all ones; in drivers that fill in only the older half, all ones in that half.
    Ok((speed != 0 && speed != u32::MAX && speed != u32::from(u16::MAX)).then_some(speed))
}

/// Sets the speed that the link `name` reports to `speed` Mbit/s, full duplex: a tap device accepts any.
///
/// # Errors
/// EOPNOTSUPP for a device without that setting, EPERM without CAP_NET_ADMIN.
pub fn set_speed_mbps(name: &str, speed: u32) -> io::Result<()> {
    let mut command = Command { command: GET, ..Command::default() };
    ask(name, &mut command)?;
    command.command = SET;
    command.speed = (speed & 0xffff) as u16;
    command.speed_high = (speed >> 16) as u16;
    command.duplex = FULL_DUPLEX;
    command.autoneg = 0;
    ask(name, &mut command)
}

/// How a device delays its receive interrupts (ethtool(8), --coalesce).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// The longest delay, in us.
    pub receive_us: u32,
    /// The frames after which it ends; 0 if the device does not count them.
    pub receive_frames: u32,
    /// Whether the device or the driver adapts both to the traffic.
    pub is_adaptive: bool,
}

/// How the link `name` delays its receive interrupts.
///
/// # Errors
/// EOPNOTSUPP for a device without that setting, ENODEV if there is no such link.
pub fn coalescing(name: &str) -> io::Result<Coalescing> {
    // `struct ethtool_coalesce`: the command, 22 numbers.
    const GET_COALESCE: u32 = 0x0e;
    let mut words = [0_u32; 23];
    words[0] = GET_COALESCE;
    ask(name, &mut words)?;
    Ok(Coalescing { receive_us: words[1], receive_frames: words[2], is_adaptive: words[10] != 0 })
}

/// Whether energy-efficient Ethernet is in use on the link `name`.
///
/// # Errors
/// EOPNOTSUPP for a device without it, ENODEV if there is no such link.
pub fn is_energy_efficient(name: &str) -> io::Result<bool> {
    // `struct ethtool_eee`: the command, three masks of modes, active, enabled, and four more numbers.
    const GET_EEE: u32 = 0x44;
    let mut words = [0_u32; 10];
    words[0] = GET_EEE;
    ask(name, &mut words)?;
    Ok(words[4] != 0 && words[5] != 0)
}

/// Passes `command`, one of ethtool's structures, to the device `name`, which writes its answer there.
pub(super) fn ask<T: Copy>(name: &str, command: &mut T) -> io::Result<()> {
    // SAFETY: socket(2) takes integers only.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut request = super::tap::request_for(name)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(command).cast();
    // SAFETY: the request names a device, and its data points at a command that lives as long as the call.
    if unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
