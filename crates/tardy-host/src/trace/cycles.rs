//! Matches kernel events to cycles: the timer that woke a thread, and the times of its wake-up.
//!
//! A thread that sleeps until a deadline starts a timer (on its kernel stack, whose address may differ each time); the
//! timer's interrupt expires it; the thread is made runnable; the scheduler switches to it. The next start begins the
//! next cycle.

use std::collections::BTreeMap;

use super::events::{TraceEvent, What};

/// Limit on timers that have started and not expired. When it is reached, all of them are forgotten.
const ARMED_MAX: usize = 256;

/// One wake-up of one thread. Times on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The thread's index in the list that the matcher was made with.
    pub thread: usize,
    /// The deadline.
    pub expires_ns: i64,
    /// Time at which the interrupt handler reached the timer.
    pub irq_ns: u64,
    /// Time at which the thread was made runnable.
    pub wakeup_ns: u64,
    /// Time at which the scheduler switched to the thread; the same as `wakeup_ns` if the thread was still on the CPU.
    pub switch_ns: u64,
    /// Whether events were lost since the thread's previous cycle.
    pub after_loss: bool,
}

/// Finds cycles in a stream of events ordered by time.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    threads: BTreeMap<u32, usize>,
    armed: BTreeMap<u64, (usize, i64)>,
    open: Vec<Open>,
}

/// A thread's cycle in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    expired: Option<(i64, u64)>,
    wakeup_ns: Option<u64>,
    lost: bool,
}

impl Matcher {
    /// A matcher for threads with these ids.
    pub fn new(tids: &[u32]) -> Self {
        Self {
            threads: tids.iter().copied().zip(0..).collect(),
            armed: BTreeMap::new(),
            open: vec![Open::default(); tids.len()],
        }
    }

    /// Processes one event and returns the cycle that it completes.
    pub fn take(&mut self, event: TraceEvent) -> Option<Cycle> {
        match event.what {
            What::Start { tid, timer, expires_ns } => {
                let thread = self.thread(tid)?;
                if self.armed.len() >= ARMED_MAX {
                    self.armed.clear();
                }
                self.armed.insert(timer, (thread, expires_ns));
                self.close(thread, None)
            }
            What::Expire { timer } => {
                let (thread, expires_ns) = self.armed.remove(&timer)?;
                let ended = self.close(thread, None);
                self.open[thread].expired = Some((expires_ns, event.at_ns));
                ended
            }
            What::Wakeup { tid } => {
                let thread = self.thread(tid)?;
                let open = &mut self.open[thread];
                if open.expired.is_some() && open.wakeup_ns.is_none() {
                    open.wakeup_ns = Some(event.at_ns);
                }
                None
            }
            What::Switch { tid } => {
                let thread = self.thread(tid)?;
                self.close(thread, Some(event.at_ns))
            }
            What::Lost => {
                self.armed.clear();
                self.open.fill(Open { lost: true, ..Open::default() });
                None
            }
        }
    }

    /// The cycle that a thread left incomplete when it ended.
    pub fn finish(&mut self, thread: usize) -> Option<Cycle> {
        self.close(thread, None)
    }

    /// Whether events were lost since the thread's last cycle.
    pub fn has_lost(&self, thread: usize) -> bool {
        self.open[thread].lost
    }

    fn thread(&self, tid: u32) -> Option<usize> {
        self.threads.get(&tid).copied()
    }

    /// Completes a thread's cycle if the thread was woken in it.
    fn close(&mut self, thread: usize, switch_ns: Option<u64>) -> Option<Cycle> {
        let open = &mut self.open[thread];
        let ((expires_ns, irq_ns), wakeup_ns) = (open.expired?, open.wakeup_ns?);
        let after_loss = open.lost;
        *open = Open::default();
        let switch_ns = switch_ns.unwrap_or(wakeup_ns);
        Some(Cycle { thread, expires_ns, irq_ns, wakeup_ns, switch_ns, after_loss })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cycles(events: &[(u64, What)]) -> Vec<Cycle> {
        let mut matcher = Matcher::new(&[7, 8]);
        let mut cycles: Vec<Cycle> = events
            .iter()
            .filter_map(|(at_ns, what)| matcher.take(TraceEvent { at_ns: *at_ns, what: *what }))
            .collect();
        cycles.extend((0..2).filter_map(|thread| matcher.finish(thread)));
        cycles
    }

    const START: What = What::Start { tid: 7, timer: 0xa, expires_ns: 100 };
    const EXPIRE: What = What::Expire { timer: 0xa };
    const WAKEUP: What = What::Wakeup { tid: 7 };
    const SWITCH: What = What::Switch { tid: 7 };

    fn cycle(irq_ns: u64, wakeup_ns: u64, switch_ns: u64) -> Cycle {
        Cycle { thread: 0, expires_ns: 100, irq_ns, wakeup_ns, switch_ns, after_loss: false }
    }

    #[test]
    fn a_wake_up_has_four_events() {
        let found = cycles(&[(1, START), (101, EXPIRE), (102, WAKEUP), (104, SWITCH)]);
        assert_eq!(found, [cycle(101, 102, 104)]);
    }

    #[test]
    fn another_timer_of_the_thread_does_not_wake_it() {
        let other = What::Start { tid: 7, timer: 0xb, expires_ns: 50 };
        let found = cycles(&[
            (0, other),
            (1, START),
            (51, What::Expire { timer: 0xb }),
            (101, EXPIRE),
            (102, WAKEUP),
            (104, SWITCH),
        ]);
        assert_eq!(found, [cycle(101, 102, 104)]);
    }

    #[test]
    fn a_thread_that_had_not_left_the_cpu_runs_when_it_is_ready() {
        let next = What::Start { tid: 7, timer: 0xc, expires_ns: 200 };
        assert_eq!(cycles(&[(1, START), (101, EXPIRE), (102, WAKEUP), (110, next)]), [cycle(101, 102, 102)]);
        assert_eq!(cycles(&[(1, START), (101, EXPIRE), (102, WAKEUP)]), [cycle(101, 102, 102)]);
    }

    #[test]
    fn events_before_and_after_a_loss_are_not_combined() {
        let found = cycles(&[
            (1, START),
            (101, EXPIRE),
            (102, What::Lost),
            (103, WAKEUP),
            (104, SWITCH),
            (105, START),
            (201, EXPIRE),
            (202, WAKEUP),
            (204, SWITCH),
        ]);
        assert_eq!(found, [Cycle { after_loss: true, ..cycle(201, 202, 204) }]);
    }

    proptest! {
        #[test]
        fn levels_are_always_in_order(events in prop::collection::vec((0u8..5, 6u32..9, 0u64..4), 0..400)) {
            let mut matcher = Matcher::new(&[7, 8]);
            for (at_ns, (kind, tid, timer)) in events.into_iter().enumerate() {
                let what = match kind {
                    0 => What::Start { tid, timer, expires_ns: at_ns as i64 },
                    1 => What::Expire { timer },
                    2 => What::Wakeup { tid },
                    3 => What::Switch { tid },
                    _ => What::Lost,
                };
                if let Some(cycle) = matcher.take(TraceEvent { at_ns: at_ns as u64, what }) {
                    prop_assert!(cycle.irq_ns <= cycle.wakeup_ns && cycle.wakeup_ns <= cycle.switch_ns);
                }
            }
        }
    }
}
