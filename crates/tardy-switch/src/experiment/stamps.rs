//! Arrival times from the network device, converted to CLOCK_REALTIME.

use std::io;

use tardy_sys::clock::Clock;
use tardy_sys::links::{self, DeviceClock};

use crate::change::Change;
use crate::change_journal::ChangeJournal;
use tardy_host::journal::Place;

/// The interval at which the device's clock is compared with the system's: two crystals drift apart by about 50 us per
/// second.
const COMPARED_EVERY_NS: i64 = 20_000_000;

/// A device that time-stamps all frames that it receives. Dropping this restores the device's former setting.
#[derive(Debug)]
pub(super) struct DeviceStamps {
    clock: DeviceClock,
    /// Restores the device's receive filter when it is dropped.
    _changes: ChangeJournal,
    /// How far CLOCK_REALTIME is ahead of the device's clock, in ns.
    behind_ns: i64,
    compared_ns: i64,
}

impl DeviceStamps {
    /// Makes the device `name` time-stamp received frames; `None` if it cannot. If it supports time stamps but enabling
    /// them fails, also returns a remark for the user.
    pub(super) fn begin(name: &str) -> (Option<Self>, Option<String>) {
        let Ok(Some(clock)) = links::clock_of_stamps(name) else { return (None, None) };
        match Self::of_clock(name, clock) {
            Ok(stamps) => (Some(stamps), None),
            Err(reason) => (
                None,
                Some(format!("{name} supports hardware time stamps, but enabling them failed: {reason}")),
            ),
        }
    }

    fn of_clock(name: &str, clock: u32) -> Result<Self, String> {
        let describe = |error: io::Error| error.to_string();
        let clock = DeviceClock::open(clock).map_err(describe)?;
        let before = links::stamp_config(name).map_err(describe)?;
        let mut changes = ChangeJournal::new(Some(Place::own()));
        if before.receiving_all() != before {
            let was = [before.flags, before.transmit, before.filter];
            changes.step(Change::ReceiveStamps { name: name.to_owned(), was }, || {
                links::set_stamp_config(name, before.receiving_all()).map_err(describe)
            })?;
        }
        let behind_ns = clock.behind_ns(Clock::Realtime).map_err(describe)?;
        Ok(Self { clock, _changes: changes, behind_ns, compared_ns: Clock::Monotonic.now_ns() })
    }

    /// Compares the clocks again, if the last comparison is older than [`COMPARED_EVERY_NS`].
    pub(super) fn compare(&mut self) {
        let now_ns = Clock::Monotonic.now_ns();
        if now_ns - self.compared_ns >= COMPARED_EVERY_NS
            && let Ok(behind_ns) = self.clock.behind_ns(Clock::Realtime)
        {
            (self.behind_ns, self.compared_ns) = (behind_ns, now_ns);
        }
    }

    /// A time of the device, converted to CLOCK_REALTIME.
    pub(super) fn to_realtime_ns(&self, device_ns: i64) -> i64 {
        device_ns + self.behind_ns
    }

    /// How far CLOCK_REALTIME was ahead of the device's clock at the last comparison, in ns.
    pub(super) fn behind_ns(&self) -> i64 {
        self.behind_ns
    }
}
