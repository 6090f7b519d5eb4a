//! The trace of a synthetic probe: the events that a kernel would have recorded for its wake-ups.

use tardy_record::plan::TimerPlan;
use tardy_sys::clock::Clock;

use tardy_host::trace::events::{TraceEvent, What};
use tardy_probe::timer::fake::{self, Fake};
use tardy_probe::timer::grid::Schedule;
use tardy_probe::timer::waiter::Waiter;

/// Generates the events of a phase's synthetic threads, whose wake-ups it repeats from the same seeds.
pub(super) struct SyntheticTrace {
    fakes: Vec<Fake>,
    schedules: Vec<Schedule>,
    seed: u64,
    timer: TimerPlan,
}

impl SyntheticTrace {
    /// The trace of the threads of `timer` in a run of seed `seed` and a phase of seed `phase_seed`.
    pub(super) fn new(seed: u64, phase_seed: u64, timer: &TimerPlan) -> Self {
        let schedule = |(index, thread): (usize, &tardy_record::plan::ThreadPlan)| Schedule {
            clock: Clock::Monotonic,
            first_ns: thread.offset_ns as i64,
            interval_ns: thread.interval_ns,
            dither_ns: timer.dither_ns,
            seed: phase_seed.wrapping_add(index as u64 + 1),
        };
        let schedules = timer.threads.iter().enumerate().map(schedule).collect();
        Self { fakes: Vec::new(), schedules, seed, timer: timer.clone() }
    }

    /// Sets the threads' common start, on the monotonic clock.
    pub(super) fn set_start(&mut self, start_ns: u64) {
        let begin = |schedule: &Schedule| {
            let schedule = Schedule { first_ns: schedule.first_ns + start_ns as i64, ..*schedule };
            Fake::new(schedule, self.timer.wake, self.seed)
        };
        self.fakes = self.schedules.iter().map(begin).collect();
    }

    /// The events of each thread up to its last wake-up.
    pub(super) fn events(&mut self, ends_ns: &[u64], events: &mut Vec<TraceEvent>) {
        for (index, (fake, end_ns)) in self.fakes.iter_mut().zip(ends_ns).enumerate() {
            let (tid, timer) = (fake::thread_id(index), index as u64);
            let mut before_ns = None;
            while let Ok(woken) = fake.wait() {
                if woken.now_ns > *end_ns as i64 {
                    break;
                }
                let late_ns = woken.now_ns - woken.deadline_ns;
                // The interrupt comes after a quarter of the lateness, the wake-up after half, the switch after four
                // fifths. An early wake-up has an early interrupt.
                let at = |share: i64| {
                    let late = if late_ns > 0 { late_ns * share / 20 } else { late_ns - 20 + share };
                    (woken.deadline_ns + late) as u64
                };
                let start = What::Start { tid, timer, expires_ns: woken.deadline_ns };
                // The thread goes to sleep again as soon as it has woken.
                let before = before_ns.replace(woken.now_ns + 1).unwrap_or(woken.deadline_ns - 10_000);
                events.extend([
                    TraceEvent { at_ns: before as u64, what: start },
                    TraceEvent { at_ns: at(5), what: What::Expire { timer } },
                    TraceEvent { at_ns: at(10), what: What::Wakeup { tid } },
                    TraceEvent { at_ns: at(16), what: What::Switch { tid } },
                ]);
            }
        }
    }
}
