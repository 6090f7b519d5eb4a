//! Finds the wait that a thread's cycles begin with, and its interval, among all its waits.

use std::collections::BTreeMap;

use crate::wait::{Signature, Source, Wait};

/// The most waits of one signature that are kept.
const WAITS_MAX: usize = 64;
/// The most signatures of a thread that are considered.
const SIGNATURES_MAX: usize = 32;
/// How many waits show a period: with a schedule, which every due time lies on, and without.
const SCHEDULED_MIN: usize = 4;
const OTHERS_MIN: usize = 8;
/// The least time for which a thread is observed before its rhythm is decided, so that other waits are seen.
const OBSERVED_MIN_NS: u64 = 200_000_000;
/// The share of intervals that must be near a multiple of the period.
const REGULAR_SHARE: f64 = 0.7;
/// How near: this share of the period.
const NEAR: f64 = 0.15;
/// The most waits of one signature in a cycle, of which one begins it.
const PER_CYCLE_MAX: usize = 4;
/// The same for a schedule, whose due times are multiples of the period but for rounding.
const NEAR_OF_SCHEDULE: f64 = 0.0005;

/// The wait with which a thread's cycles begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// What distinguishes this wait from the thread's others.
    pub signature: Signature,
    /// From one due time to the next.
    pub interval_ns: u64,
    /// Whether due times lie on a schedule, which a late wake-up does not shift. It follows from the times themselves: an
    /// absolute time may also be computed from the present one.
    pub has_schedule: bool,
    /// If the thread waits several times per cycle in the same way, a due time with which a cycle begins: the one after the
    /// longest pause.
    pub begin_ns: Option<i64>,
}

impl Rhythm {
    /// Whether a cycle begins with a wait of the signature for this due time.
    pub fn begins(&self, due_ns: i64) -> bool {
        let Some(begin_ns) = self.begin_ns else { return true };
        let interval_ns = i64::try_from(self.interval_ns).unwrap_or(i64::MAX).max(1);
        let after_ns = due_ns.wrapping_sub(begin_ns).rem_euclid(interval_ns);
        after_ns.min(interval_ns - after_ns) as f64 <= NEAR_OF_SCHEDULE * 4.0 * interval_ns as f64
    }
}

/// The waits of a thread so far.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    first_ns: Option<u64>,
    due_ns: BTreeMap<Signature, Vec<i64>>,
}

impl Observed {
    /// Adds a wait. Returns the rhythm once it is clear.
    pub fn add(&mut self, wait: &Wait) -> Option<Rhythm> {
        let first_ns = *self.first_ns.get_or_insert(wait.left_ns);
        if self.due_ns.len() >= SIGNATURES_MAX && !self.due_ns.contains_key(&wait.signature()) {
            return None;
        }
        let due_ns = self.due_ns.entry(wait.signature()).or_default();
        if due_ns.len() == WAITS_MAX {
            due_ns.remove(0);
        }
        due_ns.push(wait.due_ns());
        if wait.left_ns - first_ns < OBSERVED_MIN_NS {
            return None;
        }
        self.rhythm()
    }

    /// The waits that the thread makes, with their number, for a thread that has no rhythm.
    pub fn signatures(&self) -> impl Iterator<Item = (&Signature, usize)> {
        self.due_ns.iter().map(|(signature, due)| (signature, due.len()))
    }

    fn rhythm(&self) -> Option<Rhythm> {
        let regular = self.due_ns.iter().filter_map(|(signature, due_ns)| {
            let enough = if signature.absolute { SCHEDULED_MIN } else { OTHERS_MIN };
            if due_ns.len() < enough {
                return None;
            }
            let by_timer = matches!(signature.source, Source::Timer(_));
            let scheduled = period(due_ns, NEAR_OF_SCHEDULE).filter(|_| by_timer);
            let scheduled = scheduled.map(|interval_ns| (interval_ns, true, None));
            let near = || Some((period(due_ns, NEAR)?, false, None));
            // Relative sleeps have no common beginning: each delay shifts all that follow.
            let several = || {
                let (interval_ns, begin_ns) = several_per_period(due_ns).filter(|_| signature.absolute)?;
                Some((interval_ns, true, Some(begin_ns)))
            };
            let (interval_ns, has_schedule, begin_ns) = scheduled.or_else(near).or_else(several)?;
            Some((Rhythm { signature: *signature, interval_ns, has_schedule, begin_ns }, due_ns.len()))
        });
        let rank = |(rhythm, count): &(Rhythm, usize)| {
            let by_timer = matches!(rhythm.signature.source, Source::Timer(_));
            (rhythm.has_schedule, rhythm.signature.absolute, by_timer, *count)
        };
        regular.max_by_key(rank).map(|(rhythm, _)| rhythm)
    }
}

/// The period of a schedule on which these times are several times per period, and a time after the longest pause.
fn several_per_period(times: &[i64]) -> Option<(u64, i64)> {
    (2..=PER_CYCLE_MAX).filter(|count| times.len() >= SCHEDULED_MIN * count).find_map(|count| {
        let latest = times[times.len() - count - 1..].windows(2).enumerate();
        let (place, begin) = latest.max_by_key(|(_, pair)| pair[1] - pair[0])?;
        let first = (times.len() - count + place) % count;
        let begins: Vec<i64> = times[first..].iter().copied().step_by(count).collect();
        Some((period(&begins, NEAR_OF_SCHEDULE)?, begin[1]))
    })
}

/// The period of these times: the median of their distances, if most distances are near a multiple of it,
/// by this share of it.
fn period(times: &[i64], near: f64) -> Option<u64> {
    let distances: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|ns| *ns > 0).collect();
    let mut sorted = distances.clone();
    sorted.sort_unstable();
    let median = *sorted.get(sorted.len() / 2)?;
    let is_near = |ns: &&i64| {
        let periods = (**ns as f64 / median as f64).round();
        periods >= 1.0 && (**ns as f64 - periods * median as f64).abs() <= near * median as f64
    };
    let regular = distances.iter().filter(is_near).count();
    (regular as f64 >= REGULAR_SHARE * (times.len() - 1) as f64).then_some(median.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;
    use crate::wait::{Call, Due, TimerKind, Woken};

    fn wait(call: i64, source: Source, due_ns: i64) -> Wait {
        let at_ns = due_ns as u64 + 5000;
        let due = match source {
            Source::Timer(kind) => {
                Some(Due { soft_ns: due_ns, hard_ns: due_ns, armed_ns: 0, expired_ns: at_ns, cpu: 0, kind })
            }
            _ => None,
        };
        Wait {
            call: Call { number: call, args: [0; 4], entered_ns: 0 },
            woken: Woken { at_ns, source, by: Name::default() },
            due,
            switched_ns: at_ns,
            cpu: 0,
            queued_cpu: 0,
            moved_ns: None,
            left_ns: at_ns + 3000,
            stop: None,
        }
    }

    const TIMERFD: Source = Source::Timer(TimerKind::Timerfd);
    const SLEEP: Source = Source::Timer(TimerKind::Sleep);

    fn rhythm(waits: impl IntoIterator<Item = Wait>) -> Option<Rhythm> {
        let mut observed = Observed::default();
        waits.into_iter().filter_map(|wait| observed.add(&wait)).last()
    }

    #[test]
    fn a_schedule_is_found_among_other_waits() {
        let waits = (1..600).flat_map(|cycle: i64| {
            let due_ns = cycle * 1_000_000;
            [
                wait(0, TIMERFD, due_ns),
                wait(7, SLEEP, due_ns + 200_000),
                wait(1, Source::Task(9), due_ns + (cycle * 7919 % 800_000)),
            ]
        });
        let found = rhythm(waits).unwrap();
        assert_eq!((found.signature.call, found.interval_ns), (0, 1_000_000));
        assert!(found.has_schedule);
    }

    #[test]
    fn skipped_cycles_do_not_change_the_period() {
        let waits =
            (1..300).filter(|cycle| cycle % 5 != 0).map(|cycle: i64| wait(0, TIMERFD, cycle * 4_000_000));
        assert_eq!(rhythm(waits).unwrap().interval_ns, 4_000_000);
    }

    #[test]
    fn of_two_sleeps_per_cycle_the_one_after_the_longer_pause_begins_it() {
        let call = tardy_sys::system_calls::number("clock_nanosleep").unwrap();
        let until = |due_ns: i64, absolute: u64| {
            let wait = wait(call, SLEEP, due_ns);
            Wait { call: Call { args: [1, absolute, 0, 0], ..wait.call }, ..wait }
        };
        let sleeps = |from: i64, absolute: u64| {
            (from..from + 300)
                .flat_map(move |cycle: i64| [0, 600_000].map(|ns| until(cycle * 2_000_000 + ns, absolute)))
        };
        let waits = |from: i64| sleeps(from, 1);
        assert_eq!(rhythm(sleeps(1, 0)), None, "relative sleeps have no common beginning");
        for skipped in [0, 1] {
            let found = rhythm(waits(1).skip(skipped)).unwrap();
            assert_eq!((found.interval_ns, found.has_schedule), (2_000_000, true));
            let begins = waits(1000).filter(|wait| found.begins(wait.due_ns()));
            assert!(begins.map(|wait| wait.due_ns() % 2_000_000).all(|ns| ns == 0));
        }
    }

    #[test]
    fn each_wait_of_an_equal_distance_but_for_noise_begins_a_cycle() {
        // Each distance differs from the others by more than a schedule's do, and the sum of two does not.
        let waits = (0..600i64).map(|number| wait(0, TIMERFD, number * 1_000_000 + number % 2 * 20_000));
        let found = rhythm(waits).unwrap();
        assert_eq!((found.has_schedule, found.begin_ns), (false, None));
        assert!((980_000..=1_040_000).contains(&found.interval_ns), "{}", found.interval_ns);
    }

    #[test]
    fn irregular_waits_have_no_period() {
        let mut at_ns = 0i64;
        let waits = (1..400i64).map(|cycle| {
            at_ns += 1_000_000 + (cycle * 104_729 % 97) * 100_000;
            wait(7, SLEEP, at_ns)
        });
        assert_eq!(rhythm(waits), None);
    }

    #[test]
    fn a_short_observation_decides_nothing() {
        assert_eq!(rhythm((1..100).map(|cycle: i64| wait(0, TIMERFD, cycle * 1_000_000))), None);
    }
}
