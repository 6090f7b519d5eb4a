//! The fake: wake-ups generated from a seed, without waiting, so that all code that processes them can be tested
//! without privileges and without delay. The hidden flag `--fake` enables it.

use std::io;
use std::time::Duration;

use tardy_record::missed_periods::missed_behind;
use tardy_record::plan::Wake;
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;

use super::grid::Schedule;
use super::waiter::Waiter;
use super::woken::Woken;

/// The id that the fake thread with this index reports instead of the kernel's.
pub fn thread_id(index: usize) -> u32 {
    index as u32 + 1
}

/// How long a fake waits for the supervisor before it checks again.
const PAUSE: Duration = Duration::from_micros(200);

/// Generates wake-ups: mostly a few us late, sometimes tens, occasionally a stall of several periods.
pub struct Fake {
    deadline_ns: i64,
    interval_ns: u64,
    has_schedule: bool,
    state: u64,
}

/// A fake that waits until the supervisor has taken its samples. Synthetic time can stop, so no sample is ever lost and
/// the file of a fake run is the same every time.
pub struct PatientFake<'a> {
    fake: Fake,
    block: Block<'a>,
    ring: Ring<'a>,
}

impl<'a> PatientFake<'a> {
    /// A fake for the thread that records into `ring`. It waits while `ring` is full, until `block` asks the thread to
    /// end.
    pub fn new(fake: Fake, block: Block<'a>, ring: Ring<'a>) -> Self {
        Self { fake, block, ring }
    }
}

impl Fake {
    /// A fake thread on `schedule` in a run of seed `seed`.
    pub fn new(schedule: Schedule, wake: Wake, seed: u64) -> Self {
        let state = (seed ^ schedule.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self {
            deadline_ns: schedule.first_ns,
            interval_ns: schedule.interval_ns,
            has_schedule: wake.has_schedule(),
            state,
        }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn lateness_ns(&mut self) -> i64 {
        let kind = self.random() % 10_000;
        let spread = self.random() % 4000;
        match kind {
            0 => (self.interval_ns * 3 + spread * 100) as i64,
            1..=50 => (30_000 + spread * 10) as i64,
            51 => -((spread % 500) as i64),
            _ => (3000 + spread) as i64,
        }
    }
}

impl Waiter for Fake {
    const MAY_END_BY_CLOCK: bool = true;

    fn wait(&mut self) -> io::Result<Woken> {
        let late_ns = self.lateness_ns();
        let deadline_ns = self.deadline_ns;
        let missed = if self.has_schedule { missed_behind(late_ns, self.interval_ns) } else { 0 };
        self.deadline_ns += ((missed + 1) * self.interval_ns) as i64;
        Ok(Woken { deadline_ns, now_ns: deadline_ns + late_ns, missed, kernel_overruns: 0, dropped: 0 })
    }
}

impl Waiter for PatientFake<'_> {
    const MAY_END_BY_CLOCK: bool = true;

    fn wait(&mut self) -> io::Result<Woken> {
        while self.ring.is_full() && !self.block.is_asked_to_end() {
            std::thread::sleep(PAUSE);
        }
        self.fake.wait()
    }
}
