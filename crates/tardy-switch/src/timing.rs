//! When to replace a running schedule.
//!
//! From the moment at which the kernel takes a new schedule it has no current entry, and all gates are open, until its
//! timer fires: at the end of the old schedule's entry or at the start of the new schedule's next cycle, whichever is
//! first. From there it goes on with the new schedule's first entry until that one's end in the next cycle, whatever the
//! old one would have had open until then (setup_first_end_time(), taprio_start_sched() and advance_sched() in
//! net/sched/sch_taprio.c of Linux 6.12). So the request is sent just before a cycle of the new schedule starts: then
//! what follows is right from the start, and the stretch between the request and the start is the bound of what can
//! leak; nothing, where every gate is open anyhow by then.
//!
//! A base time that is still to come is no way out. The kernel then frees the old schedule as its last entry begins and
//! goes by that entry until the base time: after some 300 us, in the lab, gates were open that it had shut.

use tardy_sys::clock::Clock;
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::taprio::{self, Schedule};
use tardy_sys::waiting;

/// Time to spare for a request, beyond what the kernel took to read and refuse its like.
const MARGIN_NS: i64 = 5_000;
/// The same where every gate is open by then: nothing is lost by room to spare, and much by a request that comes too late.
const ROOM_NS: i64 = 1_000_000;
/// Before that it spins on the clock instead of sleeping: a wake-up is later than all else here.
const SPIN_NS: i64 = 1_000_000;
/// So many cycles ahead are looked at for a start before which every gate is open.
const STARTS: usize = 32;
/// A start further ahead than this is not waited for.
const AHEAD_NS_MAX: i64 = 10_000_000_000;
/// So many moments are waited for: where each is held up, the last one is taken all the same.
const MOMENTS: u32 = 8;
/// How often the request is rehearsed: often enough that some are held up by frames that come meanwhile, as the request itself may
/// be. A boundary that is missed costs a whole cycle with every gate open.
const REHEARSALS: usize = 16;

/// For how long gates may have been open that should not have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The port.
    pub port: String,
    /// At most so long, in ns.
    pub bound_ns: u64,
    /// Gates of these classes, a bit for each; 0: none that was not open anyhow.
    pub classes: u32,
}

/// Ahead of ordinary programs while it lives, where that is allowed: a program that came in between would cost a cycle. Behind
/// whatever is urgent on purpose.
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
            // What raised it may lower it: the kernel always allows that.
            let _ = scheduling::set(Scheduling::Other);
        }
    }
}

/// The schedule that runs, and the one that shall take its place.
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
    /// Those that are open anyhow.
    gates: u32,
}

/// Waits for the moment at which replacing a schedule, on `clock`, does the least harm, does `replace`, and tells what may
/// have leaked of `classes` classes. `rehearse` sends the kernel the like of it that it refuses: how long that takes is
/// how long before the start of a cycle the request has to be sent.
///
/// # Errors
/// What `replace` says.
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

/// Waits for a moment that leaves the request the time it needs. A rehearsal `took_ns`; what held one up may as well hold
/// up the word to go: then that moment is over, and the next one is waited for.
fn await_moment(schedules: Pair<'_>, clock: Clock, took_ns: &[i64], every_class: u32) -> Option<Moment> {
    let longest_ns = took_ns.iter().copied().max().unwrap_or(0);
    let held_up_ns = longest_ns - took_ns.iter().copied().min().unwrap_or(0);
    // Once more as long: what is not refused takes longer, and may be held up where no rehearsal was.
    let needed_ns = 2 * longest_ns + MARGIN_NS;
    let mut moments_left = MOMENTS;
    loop {
        let from_ns = clock.now_ns() + 2 * SPIN_NS;
        let moment = moment(schedules, from_ns, needed_ns + held_up_ns, every_class)?;
        // Interrupted by a signal it spins for longer.
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

/// The best moment after `from_ns`: before the first start of a new cycle at which every gate is open in the schedule that
/// runs, or else most of them.
fn moment(schedules: Pair<'_>, from_ns: i64, lead_ns: i64, every_class: u32) -> Option<Moment> {
    let Pair { running, wanted } = schedules;
    let mut best: Option<Moment> = None;
    let mut at_ns = from_ns + lead_ns;
    for _ in 0..STARTS {
        let start_ns = start_of_cycle_after(wanted, at_ns).filter(|ns| ns - from_ns <= AHEAD_NS_MAX);
        let Some(start_ns) = start_ns else { break };
        let (end_ns, entry) = next_boundary(running, start_ns - 1)?;
        let entry = running.entries.get(entry)?;
        // Not before the entry itself has begun: its gates are what counts.
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

/// When the first cycle of `schedule` at or after `after_ns` starts; its base time, where that is later.
fn start_of_cycle_after(schedule: &Schedule, after_ns: i64) -> Option<i64> {
    // The cycle as it was said: the kernel reckons starts by that (taprio_get_start_time()).
    let cycle_ns = i64::try_from(taprio::cycle_ns(schedule)).ok().filter(|cycle| *cycle > 0)?;
    let ahead_ns = (schedule.base_time_ns - after_ns).rem_euclid(cycle_ns);
    Some((after_ns + ahead_ns).max(schedule.base_time_ns))
}

/// The first boundary after `at_ns`, and which entry ends there. The kernel goes by the sum of the entries where the cycle
/// is said to be longer, and cuts them off where it is shorter.
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
    fn nothing_leaks_where_every_gate_is_open_before_a_start() {
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
    fn a_base_time_far_ahead_is_not_waited_for() {
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
