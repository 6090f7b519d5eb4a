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
