//! What happens to the clocks: CLOCK_REALTIME is set, the machine is suspended, the kernel changes its clock source.

use tardy_record::reason::Reason;
use tardy_sys::clock::Clock;
use tardy_sys::clock_changes::ClockChanges;
use tardy_sys::kernel_files::KernelFiles;

use super::polled::{Polled, Read};
use super::readings::Readings;
use super::{Round, Watcher};

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// The boot clock advances during a suspend only; readings of the two clocks differ by less than this, in ns.
const SUSPENDED_NS_MIN: i64 = 1_000_000;

/// Watches the clocks.
pub(super) struct Clocks {
    /// `None` if no thread waits for CLOCK_REALTIME or CLOCK_TAI.
    changes: Option<ClockChanges>,
    ahead_ns: Option<Ahead>,
    source_file: Option<Polled>,
    source: Option<String>,
    reasons: Vec<Reason>,
}

/// How far other clocks are ahead of the monotonic one, in ns.
#[derive(Clone, Copy)]
struct Ahead {
    realtime_ns: i64,
    boottime_ns: i64,
}

impl Ahead {
    fn now() -> Self {
        Self {
            realtime_ns: Clock::Realtime.ahead_of_ns(Clock::Monotonic),
            boottime_ns: Clock::Boottime.ahead_of_ns(Clock::Monotonic),
        }
    }
}

impl Clocks {
    /// `is_real`: the machine's clocks are read, and not only its files. `uses_realtime`: a thread waits for CLOCK_REALTIME or
    /// CLOCK_TAI.
    pub(super) fn new(files: &KernelFiles, is_real: bool, uses_realtime: bool) -> Self {
        Self {
            changes: (is_real && uses_realtime).then(|| ClockChanges::watch().ok()).flatten(),
            ahead_ns: is_real.then(Ahead::now),
            source_file: Polled::open(files, SOURCE).ok(),
            source: None,
            reasons: Vec::new(),
        }
    }

    fn read_clocks(&mut self, at_ns: u64) {
        let Some(before) = self.ahead_ns else { return };
        let now = Ahead::now();
        let suspended_ns = now.boottime_ns - before.boottime_ns;
        if suspended_ns > SUSPENDED_NS_MIN {
            self.reasons.push(Reason::Suspended { for_ns: suspended_ns.unsigned_abs(), at_ns });
        }
        if self.changes.as_ref().is_some_and(|changes| changes.was_set().unwrap_or(false)) {
            // A suspend moves CLOCK_REALTIME as well.
            let by_ns = now.realtime_ns - before.realtime_ns - suspended_ns.max(0);
            self.reasons.push(Reason::ClockSet { by_ns, at_ns });
        }
        self.ahead_ns = Some(now);
    }

    fn read_source(&mut self, round: &Round<'_>) {
        let Some(Read { content, .. }) = self.source_file.as_mut().and_then(|file| file.read(round.room))
        else {
            return;
        };
        let now = String::from_utf8_lossy(content).trim().to_owned();
        if let Some(from) = self.source.replace(now.clone()).filter(|from| *from != now) {
            self.reasons.push(Reason::ClockSourceChanged { from, to: now, at_ns: round.now_ns });
        }
    }
}

impl Watcher for Clocks {
    fn name(&self) -> &'static str {
        "clocks"
    }

    fn read(&mut self, round: &Round<'_>, _readings: &mut Readings) {
        self.read_clocks(round.now_ns);
        self.read_source(round);
    }

    fn left_out(&self) -> Option<String> {
        None
    }

    fn take_reasons(&mut self) -> Vec<Reason> {
        std::mem::take(&mut self.reasons)
    }
}
