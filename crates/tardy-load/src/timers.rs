//! Timers on every CPU that expire at irregular moments, each causing an interrupt and a wake-up.

use std::os::fd::AsRawFd;

use tardy_sys::clock::Clock;
use tardy_sys::counters::Counter;
use tardy_sys::signals::wait_readable;
use tardy_sys::waiting::TimerFd;

use super::forked_tasks;
use super::random::Random;
use super::worker::{Ended, Worker};

/// Intervals are from 0.5 to 1.5 times this, in ns, and all different, so that no two stay in step.
const INTERVAL_NS: usize = 1_000_000;

pub(super) fn run(worker: &Worker, timers: usize) -> Ended {
    let seed = worker.seed;
    forked_tasks::run(worker, forked_tasks::one_per_cpu(worker), |index| {
        expire(seed.wrapping_add(index as u64), timers)
    })
}

/// A step waits for any of the timers and reads all that have expired. Reading restarts a periodic timer
/// (fs/timerfd.c), so each counted expiry was a separate interrupt.
fn expire(seed: u64, count: usize) -> Result<impl FnMut(&Counter) -> Result<(), String>, String> {
    let mut random = Random::new(seed);
    let mut timer = |_| {
        let interval_ns = (INTERVAL_NS / 2 + random.below(INTERVAL_NS)) as u64;
        TimerFd::start(Clock::Monotonic, Clock::Monotonic.now_ns() + interval_ns as i64, interval_ns)
            .map_err(|error| format!("a timer cannot be created: {error}; raise ulimit -n"))
    };
    let timers: Vec<TimerFd> = (0..count).map(&mut timer).collect::<Result<_, _>>()?;
    let fds: Vec<i32> = timers.iter().map(AsRawFd::as_raw_fd).collect();
    Ok(move |expired: &Counter| {
        let failed = |error| format!("a timer cannot be waited for: {error}");
        let ready = wait_readable(&fds, u64::MAX).map_err(failed)?;
        for (timer, _) in timers.iter().zip(ready).filter(|(_, ready)| *ready) {
            timer.wait().map_err(failed)?;
            expired.add(1);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiries_are_counted_and_do_not_come_early() {
        let (counter, mut step) = (Counter::default(), expire(1, 4).unwrap());
        let begin = Clock::Monotonic.now_ns();
        while counter.get() < 40 {
            step(&counter).unwrap();
        }
        let lasted_ns = Clock::Monotonic.now_ns() - begin;
        // Four timers with intervals of at least half a millisecond.
        assert!(lasted_ns >= 4_000_000, "{lasted_ns}");
    }
}
