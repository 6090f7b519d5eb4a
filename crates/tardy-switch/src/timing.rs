//! Chooses the time at which a running schedule is replaced.
//!
//! When the kernel receives a new schedule, it has no current entry, and all gates are open until its timer fires: at
//! the end of the old schedule's entry or at the start of the new schedule's next cycle, whichever is first. The kernel
//! then applies the new schedule's first entry until the end of that entry in the next cycle, regardless of the old
//! schedule (setup_first_end_time(), taprio_start_sched() and advance_sched() in net/sched/sch_taprio.c of Linux 6.12).
//! So the request is sent just before a cycle of the new schedule starts. Then the gates are correct from the start on,
//! and a leak lasts at most from the request to the start. If every gate is open in that time anyway, there is no leak.
//!
//! A base time in the future does not help. The kernel then frees the old schedule when its last entry begins, and
//! applies that entry until the base time: in the lab, gates that should be closed were open after about 300 us.

use serde::Serialize;
use tardy_sys::clock::Clock;
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::taprio::{self, Schedule};
use tardy_sys::waiting;

/// Spare time for a request, in ns, in addition to the time that the kernel took to read and refuse a rehearsal.
const MARGIN_NS: i64 = 5_000;
/// The lead of a request, in ns, if every gate is open anyway: an early request then causes no leak, but a late one
/// does.
const ROOM_NS: i64 = 1_000_000;
/// How long the thread polls the clock before the request, in ns, since a wake-up would be too late.
const SPIN_NS: i64 = 1_000_000;
/// The number of cycles that are searched for a start before which every gate is open.
const STARTS: usize = 32;
/// The furthest start that is waited for, in ns.
const AHEAD_NS_MAX: i64 = 10_000_000_000;
/// The most moments that are waited for; the last one is used even if the thread is late.
const MOMENTS: u32 = 8;
/// The number of rehearsals of the request: enough that frames delay some of them, as they may delay the request. After
/// a missed start, every gate is open for a whole cycle.
const REHEARSALS: usize = 16;

/// A time in which gates may have been open that should have been closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// The port.
    pub port: String,
    /// Its upper bound, in ns.
    pub bound_ns: u64,
    /// The gates of these classes, one bit each; 0: only gates that were open anyway.
    pub classes: u32,
}

/// Gives this thread the lowest real-time priority until it is dropped, if permitted: a program that preempts the
/// thread would delay the request by a cycle.
struct AheadOfPrograms {
    is_so: bool,
}

impl AheadOfPrograms {
    fn begin() -> Self {
        Self { is_so: scheduling::is_other() && scheduling::set(Scheduling::Fifo(1)).is_ok() }
    }
}

impl Drop for AheadOfPrograms {
    fn drop(&mut self) {
        if self.is_so {
            // The kernel always permits the return to SCHED_OTHER.
            let _ = scheduling::set(Scheduling::Other);
        }
    }
}

/// The running schedule, and its replacement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub running: &'a Schedule,
    pub wanted: &'a Schedule,
}

/// When to send the request, and until when gates are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    send_ns: i64,
    start_ns: i64,
    /// The gates that are open anyway.
    gates: u32,
}

/// Waits for the moment, on `clock`, at which replacing a schedule opens the fewest gates, calls `replace`, and returns
/// the possible leak of `classes` classes. `rehearse` sends the kernel a similar request that it refuses: its duration
/// is the time by which the request must precede the start of a cycle.
///
/// # Errors
/// Any error of `replace`.
pub(super) fn replace<E>(
    port: &str,
    schedules: Pair<'_>,
    clock: Clock,
    classes: usize,
    rehearse: impl Fn(),
    replace: impl FnOnce() -> Result<(), E>,
) -> Result<Leak, E> {
    let every_class = (1u32 << classes.min(31)) - 1;
    let _ahead = AheadOfPrograms::begin();
    let took_ns = |_| {
        let before_ns = clock.now_ns();
        rehearse();
        clock.now_ns() - before_ns
    };
    let took_ns: Vec<i64> = (0..REHEARSALS).map(took_ns).collect();
    let moment = await_moment(schedules, clock, &took_ns, every_class);
    let before_ns = clock.now_ns();
    replace()?;
    let after_ns = clock.now_ns();
    let in_time = moment.filter(|moment| after_ns <= moment.start_ns);
    let (classes, end_ns) = match in_time {
        Some(moment) => (every_class & !moment.gates, moment.start_ns),
        None => (every_class, start_of_cycle_after(schedules.wanted, after_ns).unwrap_or(after_ns)),
    };
    let bound_ns = if classes == 0 { 0 } else { (end_ns - before_ns).max(0).unsigned_abs() };
    Ok(Leak { port: port.to_owned(), bound_ns, classes })
}

/// Waits for a moment that leaves the request enough time. `took_ns` has the durations of the rehearsals. If the thread
/// wakes up too late for a moment, it waits for the next.
fn await_moment(schedules: Pair<'_>, clock: Clock, took_ns: &[i64], every_class: u32) -> Option<Moment> {
    let longest_ns = took_ns.iter().copied().max().unwrap_or(0);
    let held_up_ns = longest_ns - took_ns.iter().copied().min().unwrap_or(0);
    // Twice that time: an accepted request takes longer than a refused one, and may be delayed more than any rehearsal.
    let needed_ns = 2 * longest_ns + MARGIN_NS;
    let mut moments_left = MOMENTS;
    loop {
        let from_ns = clock.now_ns() + 2 * SPIN_NS;
        let moment = moment(schedules, from_ns, needed_ns + held_up_ns, every_class)?;
        // A signal ends the sleep early; the thread then polls for longer.
        let _ = waiting::sleep_until(clock, moment.send_ns - SPIN_NS);
        while clock.now_ns() < moment.send_ns {
            std::hint::spin_loop();
        }
        moments_left -= 1;
        if moments_left == 0 || moment.start_ns - clock.now_ns() >= needed_ns {
            return Some(moment);
        }
    }
}

/// The best moment after `from_ns`: before the first start of a new cycle at which the running schedule has every gate open. If
/// there is none, before the start at which it has the most gates open.
fn moment(schedules: Pair<'_>, from_ns: i64, lead_ns: i64, every_class: u32) -> Option<Moment> {
    let Pair { running, wanted } = schedules;
    let mut best: Option<Moment> = None;
    let mut at_ns = from_ns + lead_ns;
    for _ in 0..STARTS {
        let start_ns = start_of_cycle_after(wanted, at_ns).filter(|ns| ns - from_ns <= AHEAD_NS_MAX);
        let Some(start_ns) = start_ns else { break };
        let (end_ns, entry) = next_boundary(running, start_ns - 1)?;
        let entry = running.entries.get(entry)?;
        // The request must not precede the start of this entry, whose gates are assumed.
        let since_ns = start_ns - (end_ns - i64::from(entry.interval_ns));
        let gates = entry.gates & every_class;
        let wanted_ns = if gates == every_class { lead_ns.max(ROOM_NS) } else { lead_ns };
        let send_ns = start_ns - wanted_ns.min(since_ns / 2);
        if best.is_none_or(|best| gates.count_ones() > best.gates.count_ones()) {
            best = Some(Moment { send_ns, start_ns, gates });
        }
        if gates == every_class {
            break;
        }
        at_ns = start_ns + 1;
    }
    best
}

/// The start of the first cycle of `schedule` at or after `after_ns`; its base time, if that is later.
pub(super) fn start_of_cycle_after(schedule: &Schedule, after_ns: i64) -> Option<i64> {
    // The cycle as it was requested, from which the kernel computes starts (taprio_get_start_time()).
    let cycle_ns = i64::try_from(taprio::cycle_ns(schedule)).ok().filter(|cycle| *cycle > 0)?;
    let ahead_ns = (schedule.base_time_ns - after_ns).rem_euclid(cycle_ns);
    Some((after_ns + ahead_ns).max(schedule.base_time_ns))
}

/// The first boundary after `at_ns`, and the entry that ends there. The kernel uses the sum of the entries if the
/// requested cycle is longer, and cuts the entries off if it is shorter.
fn next_boundary(schedule: &Schedule, at_ns: i64) -> Option<(i64, usize)> {
    let sum: u64 = schedule.entries.iter().map(|entry| u64::from(entry.interval_ns)).sum();
    let cycle = i64::try_from(taprio::cycle_ns(schedule).min(sum)).ok().filter(|cycle| *cycle > 0)?;
    let phase = (at_ns - schedule.base_time_ns).rem_euclid(cycle);
    let start_ns = at_ns - phase;
    let mut end = 0i64;
    for (index, entry) in schedule.entries.iter().enumerate() {
        end = (end + i64::from(entry.interval_ns)).min(cycle);
        if end > phase {
            return Some((start_ns + end, index));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_sys::taprio::Entry;

    fn schedule(entries: &[(u32, u32)], cycle_time_ns: i64) -> Schedule {
        let entry = |&(gates, interval_ns): &(u32, u32)| Entry { command: 0, gates, interval_ns };
        Schedule {
            base_time_ns: 1_000,
            cycle_time_ns,
            cycle_time_extension_ns: 0,
            entries: entries.iter().map(entry).collect(),
        }
    }

    #[test]
    fn boundaries_follow_the_kernels_cycle() {
        let plain = schedule(&[(1, 800), (2, 200)], 0);
        assert_eq!(next_boundary(&plain, 1_000), Some((1_800, 0)));
        assert_eq!(next_boundary(&plain, 1_800), Some((2_000, 1)));
        assert_eq!(next_boundary(&plain, 900), Some((1_000, 1)), "before the base time");
        let longer = schedule(&[(1, 800), (2, 200)], 5_000);
        assert_eq!(next_boundary(&longer, 3_900), Some((4_000, 1)), "it repeats every sum");
        let shorter = schedule(&[(1, 800), (2, 200)], 900);
        assert_eq!(next_boundary(&shorter, 1_850), Some((1_900, 1)));
    }

    #[test]
    fn cycles_start_at_the_base_time_and_every_cycle_after_it() {
        let plain = schedule(&[(1, 800), (2, 200)], 0);
        let starts = [900, 1_000, 1_001, 4_700].map(|after_ns| start_of_cycle_after(&plain, after_ns));
        assert_eq!(starts, [Some(1_000), Some(1_000), Some(2_000), Some(5_000)]);
    }

    #[test]
    fn no_leak_if_every_gate_is_open_before_a_start() {
        let schedule = schedule(&[(1, 400_000), (2, 300_000), (3, 300_000)], 0);
        let moment = moment(Pair { running: &schedule, wanted: &schedule }, 5_000, 10_000, 3).unwrap();
        assert_eq!(
            moment,
            Moment { send_ns: 851_000, start_ns: 1_001_000, gates: 3 },
            "with half of the entry to spare"
        );
    }

    #[test]
    fn a_start_with_more_gates_open_is_waited_for() {
        let running = schedule(&[(1, 1_000_000), (3, 500_000), (2, 500_000)], 0);
        let wanted = Schedule { base_time_ns: 500_000, ..schedule(&[(1, 1_000_000)], 0) };
        let moment = moment(Pair { running: &running, wanted: &wanted }, 1_000, 10_000, 3).unwrap();
        assert_eq!((moment.gates, moment.start_ns), (3, 1_500_000));
    }

    #[test]
    fn a_base_time_in_the_far_future_is_not_waited_for() {
        let running = schedule(&[(1, 400_000), (2, 300_000)], 0);
        let wanted = Schedule { base_time_ns: 2 * AHEAD_NS_MAX, ..running.clone() };
        assert_eq!(moment(Pair { running: &running, wanted: &wanted }, 5_000, 10_000, 3), None);
    }

    #[test]
    fn a_short_entry_shortens_the_lead() {
        let running = schedule(&[(1, 8_000), (1, 2_000)], 0);
        let moment = moment(Pair { running: &running, wanted: &running }, 0, 100_000, 3).unwrap();
        assert!(moment.start_ns - moment.send_ns <= 1_000, "{moment:?}");
    }
}
