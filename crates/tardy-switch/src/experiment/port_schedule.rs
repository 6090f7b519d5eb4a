//! The schedule of a switch's port.

use tardy_record::Knowable;
use tardy_record::gates;
use tardy_record::switch::{PortSchedule, ScheduleSource};
use tardy_sys::clock::Clock;
use tardy_sys::links;
use tardy_sys::taprio::{self, Schedule, Shown};
use tardy_tsn::network::{self, Port, Switch};
use tardy_tsn::settings;

use crate::{gate_timers, shaper, timing};

/// When a schedule is in force: no earlier than it was read, no later than `at_ns`. Until then the port's gates are
/// open, or follow the previous schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InForce {
    clock: Clock,
    at_ns: i64,
}

impl InForce {
    fn of(schedule: &Schedule, clock: Clock, waits: bool, now_ns: i64) -> Self {
        // The kernel starts a waiting schedule with its first cycle from now on. One offloaded to a device waits forever.
        let next_ns = timing::start_of_cycle_after(schedule, now_ns).filter(|_| waits);
        Self { clock, at_ns: next_ns.unwrap_or(schedule.base_time_ns) }
    }

    /// How long until then, in ns.
    pub(super) fn ahead_ns(self) -> u64 {
        self.at_ns.saturating_sub(self.clock.now_ns()).max(0).unsigned_abs()
    }
}

/// The schedule of a port, and when it is in force: as the kernel shows it, or as it was sent if the kernel cannot show
/// it. `None` if the port has none. `between_ns` is when the kernel accepted it, if known: just before and just after.
pub(super) fn schedule_of(
    switch: &Switch,
    port: &Port,
    between_ns: Option<(i64, i64)>,
) -> Option<(PortSchedule, InForce)> {
    let schedule = port.schedule.as_ref()?;
    let name = &port.interface.value;
    let clock = schedule.clock.as_ref().map_or(network::Clock::Tai, |clock| clock.value);
    let (runs, waits, source) = match taprio::shown(name).ok().flatten().and_then(newest) {
        Some((shown, waits)) => (shown, waits, ScheduleSource::ReadBack),
        None => {
            (shaper::to_kernel(&settings::taprio_of(switch, port)?).schedule, false, ScheduleSource::Sent)
        }
    };
    let in_force = {
        let clock = Clock::of_id(clock.id()).unwrap_or(Clock::Tai);
        InForce::of(&runs, clock, waits, clock.now_ns())
    };
    let entries = shaper::gate_entries(&runs);
    let schedule = PortSchedule {
        port: name.clone(),
        source,
        clock: clock.name().to_owned(),
        base_ns: between_ns.map_or(runs.base_time_ns, |between_ns| {
            list_start_ns(&runs, between_ns, || gate_timers::due_ns(clock.id()))
        }),
        // The kernel's software uses the sum of the entries if the requested cycle is longer.
        cycle_ns: taprio::cycle_ns(&runs).min(gates::sum_ns(&entries)),
        entries,
        link_bps: match links::speed_mbps(name) {
            Ok(Some(mbps)) => Knowable::Known(u64::from(mbps) * 1_000_000),
            _ => Knowable::Unknown,
        },
        overhead_bytes: schedule.overhead.value,
    };
    Some((schedule, in_force))
}

/// The schedule that a port has or will have, and whether it waits for its start.
fn newest(shown: Shown) -> Option<(Schedule, bool)> {
    let waiting = shown.admin.map(|schedule| (schedule, true));
    waiting.or_else(|| shown.operating.map(|schedule| (schedule, false)))
}

/// A start of the list. The kernel starts it with the first cycle after it accepted the schedule. From then on it starts
/// a list that is shorter than its cycle again whenever it ends, so its phase depends on when the schedule was accepted.
/// If a cycle began just then, `due_ns` decides: when gate timers are due.
fn list_start_ns(schedule: &Schedule, between_ns: (i64, i64), due_ns: impl FnOnce() -> Vec<i64>) -> i64 {
    let sum_ns: i64 = schedule.entries.iter().map(|entry| i64::from(entry.interval_ns)).sum();
    let cycle_ns = taprio::cycle_ns(schedule).cast_signed();
    let start_after = |at_ns| timing::start_of_cycle_after(schedule, at_ns);
    let (Some(first_ns), Some(last_ns)) = (start_after(between_ns.0), start_after(between_ns.1)) else {
        return schedule.base_time_ns;
    };
    if sum_ns == 0 || cycle_ns <= sum_ns {
        return schedule.base_time_ns;
    }
    if first_ns == last_ns {
        return first_ns;
    }
    let due_ns = due_ns();
    let is_end = |since_ns: i64| {
        let ends = schedule.entries.iter().scan(0, |end_ns, entry| {
            *end_ns += i64::from(entry.interval_ns);
            Some(*end_ns)
        });
        since_ns == 0 || ends.into_iter().any(|end_ns| end_ns == since_ns)
    };
    let fits = |start_ns: &i64| due_ns.iter().any(|due_ns| is_end((due_ns - start_ns).rem_euclid(sum_ns)));
    let starts = (0..).map(|cycle| first_ns + cycle * cycle_ns).take_while(|start_ns| *start_ns <= last_ns);
    starts.into_iter().find(fits).unwrap_or(first_ns)
}

#[cfg(test)]
mod tests {
    use tardy_sys::taprio::Entry;

    use super::*;

    fn schedule(cycle_time_ns: i64) -> Schedule {
        let entry = |interval_ns| Entry { command: 0, gates: 1, interval_ns };
        Schedule {
            base_time_ns: 100,
            cycle_time_ns,
            entries: vec![entry(700), entry(300)],
            ..Schedule::default()
        }
    }

    #[test]
    fn a_schedule_is_in_force_from_its_base_time_or_its_next_cycle() {
        let at = |waits, now_ns| InForce::of(&schedule(0), Clock::Tai, waits, now_ns).at_ns;
        assert_eq!((at(true, 40), at(false, 40)), (100, 100), "the base time is ahead");
        assert_eq!(at(true, 5_050), 5_100, "accepted, not started");
        assert_eq!(at(false, 5_050), 100, "running");
    }

    #[test]
    fn how_long_until_a_schedule_is_in_force() {
        let in_force = |ahead_ns| InForce { clock: Clock::Tai, at_ns: Clock::Tai.now_ns() + ahead_ns };
        let (second, hour) = (1_000_000_000, 3_600_000_000_000);
        assert!((hour - 600 * second..=hour).contains(&in_force(hour).ahead_ns().cast_signed()));
        assert_eq!(in_force(-second).ahead_ns(), 0);
    }

    #[test]
    fn the_waiting_schedule_is_the_one_that_is_tested() {
        let (old, new) = (schedule(0), schedule(900));
        let shown = Shown { operating: Some(old.clone()), ..Shown::default() };
        assert_eq!(newest(shown.clone()), Some((old, false)));
        assert_eq!(newest(Shown { admin: Some(new.clone()), ..shown }), Some((new, true)));
        assert_eq!(newest(Shown::default()), None);
    }

    #[test]
    fn a_list_as_long_as_its_cycle_starts_at_the_base_time() {
        let never = || panic!("the timers are not needed");
        for cycle_ns in [0, 900, 1000] {
            assert_eq!(list_start_ns(&schedule(cycle_ns), (5_050, 9_060), never), 100);
        }
    }

    #[test]
    fn a_list_shorter_than_its_cycle_starts_when_the_kernel_accepts_it() {
        let never = || panic!("the timers are not needed");
        // Cycles of 1,350 ns start at 100, 1,450, 2,800, 4,150 and 5,500 ns.
        assert_eq!(list_start_ns(&schedule(1_350), (2_900, 4_000), never), 4_150);
        let start = |due_ns: i64| list_start_ns(&schedule(1_350), (4_000, 4_300), || vec![12, due_ns]);
        assert_eq!(start(4_850), 4_150, "the first entry ends");
        assert_eq!(start(9_150), 4_150, "the last entry ends");
        assert_eq!(start(6_200), 5_500);
        assert_eq!(start(5_500), 5_500, "the list has not begun");
    }
}
