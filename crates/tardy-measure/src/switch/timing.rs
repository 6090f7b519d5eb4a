//! When to replace a running schedule.
//!
//! From the moment at which the kernel takes a new schedule to the next boundary between two entries of the old one it
//! has no current entry, and all gates are open (setup_first_end_time() and taprio_dequeue() in
//! net/sched/sch_taprio.c). So the request is sent just before a boundary: best one at whose other side every gate of
//! the entry before is open anyhow, since then nothing leaks; otherwise the stretch between the request and the boundary
//! is the bound of what can leak.

use tardy_sys::clock::Clock;
use tardy_sys::taprio::{self, Schedule};
use tardy_sys::waiting;

/// How long before the boundary the request is sent, beyond what the kernel took to read and refuse its like.
const MARGIN_NS: i64 = 5_000;
/// Before that it spins on the clock instead of sleeping: a wake-up is later than all else here.
const SPIN_NS: i64 = 1_000_000;
/// How often the request is rehearsed.
const REHEARSALS: usize = 3;

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

/// When to send the request, and until when gates are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    send_ns: i64,
    boundary_ns: i64,
    gates: u32,
}

/// Waits for the moment at which replacing `running`, on `clock`, does the least harm, does `replace`, and tells what may
/// have leaked of `classes` classes. `rehearse` sends the kernel the like of it that it refuses: how long that takes is
/// how long before the boundary the request has to be sent.
///
/// # Errors
/// What `replace` says.
pub(super) fn replace<E>(
    port: &str,
    running: &Schedule,
    clock: Clock,
    classes: usize,
    rehearse: impl Fn(),
    replace: impl FnOnce() -> Result<(), E>,
) -> Result<Leak, E> {
    let every_class = (1u32 << classes.min(31)) - 1;
    let took_ns = |_| {
        let before_ns = clock.now_ns();
        rehearse();
        clock.now_ns() - before_ns
    };
    let longest_ns = (0..REHEARSALS).map(took_ns).max().unwrap_or(0);
    let lead_ns = longest_ns + longest_ns / 4 + MARGIN_NS;
    let moment = moment(running, clock.now_ns() + 2 * SPIN_NS, lead_ns, every_class);
    if let Some(moment) = moment {
        // Interrupted by a signal it spins for longer.
        let _ = waiting::sleep_until(clock, moment.send_ns - SPIN_NS);
        while clock.now_ns() < moment.send_ns {
            std::hint::spin_loop();
        }
    }
    let before_ns = clock.now_ns();
    replace()?;
    let after_ns = clock.now_ns();
    let end_ns = next_boundary(running, after_ns).map_or(after_ns, |(at_ns, _)| at_ns);
    let shut = every_class & !moment.map_or(0, |moment| moment.gates);
    let in_time = moment.is_some_and(|moment| after_ns <= moment.boundary_ns);
    let end_ns = moment.filter(|_| in_time).map_or(end_ns, |moment| moment.boundary_ns);
    let classes = if in_time { shut } else { every_class };
    let bound_ns = if classes == 0 { 0 } else { (end_ns - before_ns).max(0).unsigned_abs() };
    Ok(Leak { port: port.to_owned(), bound_ns, classes })
}

/// The best moment after `from_ns`: in the next cycle the boundary behind the entry with the most gates open.
fn moment(schedule: &Schedule, from_ns: i64, lead_ns: i64, every_class: u32) -> Option<Moment> {
    let mut best: Option<Moment> = None;
    let mut at_ns = from_ns + lead_ns;
    for _ in 0..schedule.entries.len() {
        let (boundary_ns, entry) = next_boundary(schedule, at_ns)?;
        let entry = schedule.entries.get(entry)?;
        // Not before the entry itself has begun: its gates are what counts.
        let lead_ns = lead_ns.min(i64::from(entry.interval_ns) / 2);
        let gates = entry.gates & every_class;
        if best.is_none_or(|best| gates.count_ones() > best.gates.count_ones()) {
            best = Some(Moment { send_ns: boundary_ns - lead_ns, boundary_ns, gates });
        }
        if gates == every_class {
            break;
        }
        at_ns = boundary_ns;
    }
    best
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
    fn nothing_leaks_behind_an_entry_with_every_gate_open() {
        let schedule = schedule(&[(1, 400_000), (3, 300_000), (2, 300_000)], 0);
        let moment = moment(&schedule, 0, 10_000, 3).unwrap();
        assert_eq!((moment.gates, moment.boundary_ns), (3, 701_000));
        assert_eq!(moment.send_ns, 691_000);
    }

    #[test]
    fn a_short_entry_shortens_the_lead() {
        let schedule = schedule(&[(1, 8_000), (1, 2_000)], 0);
        let moment = moment(&schedule, 0, 100_000, 3).unwrap();
        assert!(moment.boundary_ns - moment.send_ns <= 4_000, "{moment:?}");
    }
}
