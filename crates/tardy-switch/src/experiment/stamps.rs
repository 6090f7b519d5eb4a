//! Times of arrival by the network device, on the clock that the rest of a test goes by.

use std::io;

use tardy_sys::clock::Clock;
use tardy_sys::links::{self, DeviceClock};

use crate::ledger::Ledger;
use crate::step::Change;
use tardy_host::journal::Place;

/// How often the device's clock is held against the system's: two crystals drift apart by some 50 us in a second.
const COMPARED_EVERY_NS: i64 = 20_000_000;

/// A device that gives times to all that it receives, until this is dropped; then it does what it did before.
#[derive(Debug)]
pub(super) struct DeviceStamps {
    clock: DeviceClock,
    /// Puts the device's receive filter back.
    _ledger: Ledger,
    /// How far CLOCK_REALTIME is ahead of the device's clock, in ns.
    behind_ns: i64,
    compared_ns: i64,
}

impl DeviceStamps {
    /// Has the device `name` give times to what it receives, and a word on it where it could and did not; nothing where it
    /// has no such clock.
    pub(super) fn begin(name: &str) -> (Option<Self>, Option<String>) {
        let Ok(Some(clock)) = links::clock_of_stamps(name) else { return (None, None) };
        match Self::of_clock(name, clock) {
            Ok(stamps) => (Some(stamps), None),
            Err(reason) => (None, Some(format!("{name} could stamp frames itself, and did not: {reason}"))),
        }
    }

    fn of_clock(name: &str, clock: u32) -> Result<Self, String> {
        let in_words = |error: io::Error| error.to_string();
        let clock = DeviceClock::open(clock).map_err(in_words)?;
        let before = links::stamp_config(name).map_err(in_words)?;
        let mut ledger = Ledger::new(Some(Place::own()));
        if before.receiving_all() != before {
            let was = [before.flags, before.transmit, before.filter];
            ledger.step(Change::ReceiveStamps { name: name.to_owned(), was }, || {
                links::set_stamp_config(name, before.receiving_all()).map_err(in_words)
            })?;
        }
        let behind_ns = clock.behind_ns(Clock::Realtime).map_err(in_words)?;
        Ok(Self { clock, _ledger: ledger, behind_ns, compared_ns: Clock::Monotonic.now_ns() })
    }

    /// Compares the clocks again, if that was a while ago.
    pub(super) fn compare(&mut self) {
        let now_ns = Clock::Monotonic.now_ns();
        if now_ns - self.compared_ns >= COMPARED_EVERY_NS
            && let Ok(behind_ns) = self.clock.behind_ns(Clock::Realtime)
        {
            (self.behind_ns, self.compared_ns) = (behind_ns, now_ns);
        }
    }

    /// A time of the device's on CLOCK_REALTIME.
    pub(super) fn to_realtime_ns(&self, device_ns: i64) -> i64 {
        device_ns + self.behind_ns
    }

    /// How far CLOCK_REALTIME was ahead of the device's clock when last compared, in ns.
    pub(super) fn behind_ns(&self) -> i64 {
        self.behind_ns
    }
}
