//! Hardware timestamps of received frames, and the device's clock (Documentation/networking/timestamping.rst).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::ethtool;
use crate::clock::Clock;

/// `struct ethtool_ts_info` of include/uapi/linux/ethtool.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Info {
    command: u32,
    stamps: u32,
    clock: i32,
    transmit_types: u32,
    reserved: [u32; 3],
    filters: u32,
    reserved_too: [u32; 3],
}

/// ETHTOOL_GET_TS_INFO.
const GET_INFO: u32 = 0x41;
/// SOF_TIMESTAMPING_RX_HARDWARE.
const RX_HARDWARE: u32 = 1 << 2;
/// HWTSTAMP_FILTER_ALL of include/uapi/linux/net_tstamp.h.
const FILTER_ALL: libc::c_int = 1;
// include/uapi/linux/sockios.h.
const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89b1;

/// Which frames a device timestamps (`struct hwtstamp_config` of include/uapi/linux/net_tstamp.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampConfig {
    /// HWTSTAMP_FLAG_….
    pub flags: i32,
    /// For transmitted frames: HWTSTAMP_TX_….
    pub transmit: i32,
    /// For received frames: HWTSTAMP_FILTER_….
    pub filter: i32,
}

impl StampConfig {
    /// The same, with timestamps for every received frame.
    pub fn receiving_all(self) -> Self {
        Self { filter: FILTER_ALL, ..self }
    }
}

/// Which frames the device `name` currently timestamps.
///
/// # Errors
/// EOPNOTSUPP if the device does not report it, ENODEV if there is no such device.
pub fn stamp_config(name: &str) -> io::Result<StampConfig> {
    let mut config = StampConfig::default();
    configure(name, SIOCGHWTSTAMP, &mut config)?;
    Ok(config)
}

/// Makes the device `name` timestamp those frames.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN, ERANGE if the device does not support it, ENODEV if there is no such device.
pub fn set_stamp_config(name: &str, mut config: StampConfig) -> io::Result<()> {
    configure(name, SIOCSHWTSTAMP, &mut config)
}

/// Whether the device `name` has a PTP hardware clock.
///
/// # Errors
/// EOPNOTSUPP if the device does not report it, ENODEV if there is no such device.
pub fn has_clock(name: &str) -> io::Result<bool> {
    let mut info = Info { command: GET_INFO, clock: -1, ..Info::default() };
    ethtool::ask(name, &mut info)?;
    Ok(info.clock >= 0)
}

/// The number of the clock of the device `name` (`/dev/ptpN`), if the device can timestamp every received frame.
///
/// # Errors
/// EOPNOTSUPP if the device does not report it, ENODEV if there is no such device.
pub fn clock_of_stamps(name: &str) -> io::Result<Option<u32>> {
    let mut info = Info { command: GET_INFO, ..Info::default() };
    ethtool::ask(name, &mut info)?;
    let stamps_all = info.stamps & RX_HARDWARE != 0 && info.filters & (1 << FILTER_ALL) != 0;
    Ok(u32::try_from(info.clock).ok().filter(|_| stamps_all))
}

/// A device's clock.
#[derive(Debug)]
pub struct DeviceClock {
    file: File,
}

impl DeviceClock {
    /// The clock `/dev/ptpN` with this number.
    ///
    /// # Errors
    /// ENOENT if there is none.
    pub fn open(number: u32) -> io::Result<Self> {
        Ok(Self { file: File::open(format!("/dev/ptp{number}"))? })
    }

    /// How far `clock` is ahead of the device's clock, in ns, from the closest of several pairs of readings.
    ///
    /// # Errors
    /// ENODEV if the device is gone.
    pub fn behind_ns(&self, clock: Clock) -> io::Result<i64> {
        const PAIRS: usize = 8;
        let pair = |_| -> io::Result<(i64, i64)> {
            let (before, between, after) = (clock.now_ns(), self.now_ns()?, clock.now_ns());
            Ok((after - before, before + (after - before) / 2 - between))
        };
        let pairs: io::Result<Vec<(i64, i64)>> = (0..PAIRS).map(pair).collect();
        Ok(pairs?.into_iter().min().map_or(0, |(_, ahead)| ahead))
    }

    #[allow(clippy::unnecessary_cast, reason = "both fields are narrower on 32-bit targets")]
    fn now_ns(&self) -> io::Result<i64> {
        // FD_TO_CLOCKID of clock_getres(2), "Dynamic clocks".
        let id = (!self.file.as_raw_fd() << 3) | 3;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid timespec to write to; the descriptor is open as long as the clock is.
        if unsafe { libc::clock_gettime(id, &raw mut time) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64)
    }
}

fn configure(name: &str, action: libc::c_ulong, config: &mut StampConfig) -> io::Result<()> {
    // SAFETY: socket(2) takes integers only.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut request = super::tap::request_for(name)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(config).cast();
    // SAFETY: the request names a device, and its data points at a configuration that lives as long as the call.
    if unsafe { libc::ioctl(fd.as_raw_fd(), action as _, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_no_clock() {
        match clock_of_stamps("lo") {
            Ok(clock) => assert_eq!(clock, None),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
        }
        assert_eq!(clock_of_stamps("no-such-link").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(DeviceClock::open(9_999).is_err());
        assert!(stamp_config("lo").is_err());
        let asked = StampConfig { flags: 0, transmit: 1, filter: 12 };
        assert_eq!(asked.receiving_all(), StampConfig { filter: 1, ..asked });
    }
}
