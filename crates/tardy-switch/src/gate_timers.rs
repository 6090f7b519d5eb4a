//! Determines from the kernel's list of timers whether gates have stopped.
//!
//! Software TAPRIO does not report its progress: neither its description nor its statistics contain the current entry. But its
//! timer always waits for the end of an entry, and /proc/timer_list shows when each timer is due, on its clock (print_timer()
//! in kernel/time/timer_list.c). A running schedule has a timer that is due at the end of one of its entries; a stopped one has
//! none.

use tardy_sys::kernel_files::{KernelFileError, KernelFiles};
use tardy_sys::taprio::{self, Taprio};
use tardy_tsn::network::Clock;

const FILE: &str = "/proc/timer_list";
/// The function that TAPRIO's timer calls (net/sched/sch_taprio.c).
const FUNCTION: &str = "advance_sched";
/// The number of times that the list is read: a timer is missing from it while it fires, but hardly in three readings.
const READINGS: usize = 3;
/// The clocks of the kernel's timers, by their number (enum hrtimer_base_type); those of soft interrupts follow in the
/// same order.
const CLOCKS: [Clock; 4] = [Clock::Monotonic, Clock::Realtime, Clock::Boottime, Clock::Tai];
/// The flags of schedules without a gate timer: with transmit times for ETF (1) frames are only stamped, and with full
/// offload (2) the gates are in the device.
const WITHOUT_TIMER: u32 = 1 | 2;

/// Whether the kernel opens and closes the gates of this shaper itself, with a timer.
pub(super) fn has_timer(shaper: &Taprio) -> bool {
    shaper.flags & WITHOUT_TIMER == 0
}

/// An armed gate timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GateTimer {
    clock: i32,
    due_ns: i64,
}

/// For each of these existing shapers, whether its gates have stopped. Another shaper with an identical schedule cannot
/// be distinguished from one of these.
///
/// # Errors
/// If the list of timers cannot be read. Only root can read it.
pub(super) fn stopped(shapers: &[&Taprio]) -> Result<Vec<bool>, KernelFileError> {
    let mut stopped = vec![true; shapers.len()];
    for _ in 0..READINGS {
        let timers = timers(&KernelFiles::real().text(FILE)?);
        for (stands, moves) in stopped.iter_mut().zip(moving(shapers, &timers)) {
            *stands &= !moves;
        }
    }
    Ok(stopped)
}

/// When the gate timers of `clock` are due, in ns on that clock; none if the list cannot be read.
pub(super) fn due_ns(clock: i32) -> Vec<i64> {
    let text = KernelFiles::real().text(FILE).unwrap_or_default();
    timers(&text).into_iter().filter(|timer| timer.clock == clock).map(|timer| timer.due_ns).collect()
}

/// The gate timers in the text of the list.
fn timers(text: &str) -> Vec<GateTimer> {
    let (mut clock, mut is_gates) = (None, false);
    let mut timers = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix(".index:") {
            let place = place.trim().parse::<usize>().ok();
            clock = place.map(|place| CLOCKS[place % CLOCKS.len()].id());
        } else if let Some(due) = line.strip_prefix("# expires at ") {
            // The earliest and the latest time, which are equal for this timer, because it has no slack.
            let due_ns = due.split(['-', ' ']).next().and_then(|digits| digits.parse().ok());
            if let (true, Some(clock), Some(due_ns)) = (is_gates, clock, due_ns) {
                timers.push(GateTimer { clock, due_ns });
            }
        } else if line.starts_with('#') {
            // The module's name may follow in brackets.
            is_gates = line.split(',').any(|word| word.split_whitespace().next() == Some(FUNCTION));
        }
    }
    timers
}

/// For each shaper, whether a timer can be assigned to it. Each timer belongs to one shaper.
fn moving(shapers: &[&Taprio], timers: &[GateTimer]) -> Vec<bool> {
    let mut owner: Vec<Option<usize>> = vec![None; timers.len()];
    for shaper in 0..shapers.len() {
        claim(shaper, shapers, timers, &mut owner, &mut vec![false; timers.len()]);
    }
    let owns = |shaper| owner.contains(&Some(shaper));
    (0..shapers.len()).map(|shaper| !has_timer(shapers[shaper]) || owns(shaper)).collect()
}

/// Assigns a timer to a shaper. If another shaper has that timer, it is assigned another one (augmenting paths).
fn claim(
    shaper: usize,
    shapers: &[&Taprio],
    timers: &[GateTimer],
    owner: &mut [Option<usize>],
    asked: &mut [bool],
) -> bool {
    for timer in 0..timers.len() {
        if asked[timer] || !can_be_of(shapers[shaper], timers[timer]) {
            continue;
        }
        asked[timer] = true;
        if owner[timer].is_none_or(|other| claim(other, shapers, timers, owner, asked)) {
            owner[timer] = Some(shaper);
            return true;
        }
    }
    false
}

/// Whether a timer is due at an end of one of the schedule's entries.
fn can_be_of(shaper: &Taprio, timer: GateTimer) -> bool {
    if shaper.clock_id != Some(timer.clock) {
        return false;
    }
    let schedule = &shaper.schedule;
    let sum_ns: u64 = schedule.entries.iter().map(|entry| u64::from(entry.interval_ns)).sum();
    let cycle_ns = taprio::cycle_ns(schedule);
    if cycle_ns == 0 || cycle_ns > sum_ns {
        // The kernel restarts the list without waiting for the cycle's end, so every phase occurs.
        return true;
    }
    let cycle = i128::from(cycle_ns);
    let phase = (i128::from(timer.due_ns) - i128::from(schedule.base_time_ns)).rem_euclid(cycle);
    let mut end = 0;
    phase == 0
        || schedule.entries.iter().any(|entry| {
            end += i128::from(entry.interval_ns);
            end == phase
        })
}

#[cfg(test)]
mod tests {
    use tardy_sys::taprio::{ClassMap, Entry, Schedule};

    use super::*;

    const LIST: &str = "\
Timer List Version: v0.10
HRTIMER_MAX_CLOCK_BASES: 8
now at 5000 nsecs

cpu: 0
 clock 0:
  .base:       0000000000000000
  .index:      0
active timers:
 #0: <0000000000000000>, tick_nohz_handler, S:01
 # expires at 6000-6000 nsecs [in 1000 to 1000 nsecs]
 clock 3:
  .index:      3
active timers:
 #0: <0000000000000000>, advance_sched [sch_taprio], S:01
 # expires at 1000800-1000800 nsecs [in 800 to 800 nsecs]
 clock 7:
  .index:      7
active timers:
 #0: <0000000000000000>, advance_sched, S:01
 # expires at 2000000-2000000 nsecs [in 1000000 to 1000000 nsecs]
 #1: <0000000000000000>, hrtimer_wakeup, S:01
 # expires at 2000200-2000300 nsecs [in 1 to 2 nsecs]
";

    fn shaper(clock: i32, intervals: &[u32]) -> Taprio {
        let entry = |interval_ns: &u32| Entry { command: 0, gates: 1, interval_ns: *interval_ns };
        Taprio {
            handle: 0x7514,
            overhead_bytes: None,
            classes: ClassMap::default(),
            schedule: Schedule { entries: intervals.iter().map(entry).collect(), ..Schedule::default() },
            clock_id: Some(clock),
            flags: 0,
            txtime_delay_ns: None,
            class_options: Vec::new(),
        }
    }

    #[test]
    fn the_list_shows_clock_and_time() {
        let timer = |due_ns| GateTimer { clock: Clock::Tai.id(), due_ns };
        assert_eq!(timers(LIST), [timer(1_000_800), timer(2_000_000)]);
        assert!(timers("").is_empty());
        assert!(timers(" .index: x\n #0: a, advance_sched, S\n # expires at many-many").is_empty());
    }

    #[test]
    fn each_moving_schedule_has_its_own_timer() {
        let (tai, known) = (Clock::Tai.id(), timers(LIST));
        let (one, other) = (shaper(tai, &[800, 200]), shaper(tai, &[500, 500]));
        assert_eq!(moving(&[&one], &known), [true]);
        // Both timers match the first schedule, and only one the second.
        assert_eq!(moving(&[&one, &other], &known), [true, true]);
        assert_eq!(moving(&[&other, &one], &known), [true, true]);
        assert_eq!(moving(&[&one, &one, &other], &known), [true, true, false]);
        assert_eq!(moving(&[&shaper(Clock::Realtime.id(), &[800, 200])], &known), [false]);
        assert_eq!(moving(&[&shaper(tai, &[700, 301])], &known), [false]);
    }

    #[test]
    fn a_schedule_in_the_device_or_of_transmit_times_has_no_timer() {
        for flags in [1, 2] {
            let without = Taprio { flags, ..shaper(Clock::Tai.id(), &[800, 200]) };
            assert!(!has_timer(&without));
            assert_eq!(moving(&[&without], &[]), [true], "flags {flags}: nothing has stopped");
        }
        assert_eq!(moving(&[&shaper(Clock::Tai.id(), &[800, 200])], &[]), [false]);
    }
}
