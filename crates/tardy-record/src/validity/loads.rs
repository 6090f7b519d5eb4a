//! Whether the loads ran and worked in all phases that they are recorded for.
//!
//! A part is compared with itself. A machine's performance is not known beforehand, but a load that works steadily and then
//! does less than half as much for ten seconds was stalled. Its usual rate is the median over the phase, weighted by time, so
//! neither a slow start nor a planned restart affects it. Readings are cut to the phase, so that the warm-up and the next phase
//! do not count.
//!
//! A part whose first pass is slow by design (see [`FirstPass`]) must only make progress during that pass; after it,
//! the part is compared with the rest of the phase.
//!
//! In a phase shorter than ten seconds, a part must not do nothing for half of the phase.
//!
//! Alternative not taken: fixed rates. They would be wrong on either a board or a server. A user who knows what a load achieves
//! on a machine can require it (`--load-floor`).

use crate::load::{Death, FirstPass, LoadPart, LoadResult, STRETCH_NS, Stretch};
use crate::plan::LoadFloor;
use crate::reason::{Reason, Shortfall};
use crate::run::Phase;

/// A load's rate must stay above this share of its median over any [`STRETCH_NS`].
const LEAST_SHARE: f64 = 0.5;
/// How late a burst may start and still be regular, in ns.
const BURST_SLACK_NS: u64 = 1_000_000_000;
/// In a phase shorter than a stretch, a part that does nothing for half of the phase has stalled, unless that time is less than
/// this: a busy scheduler can delay a task by a second or two.
const STANDSTILL_NS: u64 = 2_500_000_000;

/// The total work at a time: ns from the start of the run, and work.
type Point = (u64, f64);

/// Judges the loads of a run with these phases.
pub(super) fn judge(
    loads: &[LoadResult],
    phases: &[Phase],
    floors: &[LoadFloor],
    spoilt_by: &mut Vec<Reason>,
    limits: &mut Vec<String>,
) {
    for load in loads {
        limits.extend(load.remarks.iter().map(|remark| format!("load {}: {remark}", load.spec)));
        for part in &load.parts {
            let name = if part.name.is_empty() { String::new() } else { format!(" ({})", part.name) };
            let name = format!("load {}{name}", load.spec);
            spoilt_by.extend(deaths(phases, load, part).map(|death| Reason::LoadDied {
                load: name.clone(),
                at_ns: death.at_ns,
                how: death.how.clone(),
            }));
            if part.first_pass == Some(FirstPass::GoesOn) && was_long(phases, load) {
                limits.push(format!("{name} had not ended its first pass, which may be slow by design"));
            }
            for index in load.first_phase..=load.last_phase {
                let Some(phase) = phases.get(index) else { break };
                let fell_short =
                    |how| Reason::LoadFellShort { load: name.clone(), phase: phase.label.clone(), how };
                spoilt_by.extend(shortfall(part, index, phase.start_ns, phase.end_ns).map(fell_short));
                for floor in floors.iter().filter(|floor| floor.part == part.name) {
                    match reaches(part, phase, floor.per_second) {
                        Reached::Yes => {}
                        Reached::No(how) => spoilt_by.push(fell_short(how)),
                        Reached::Undecided(reason) => {
                            limits.push(format!("{name} in phase '{}': {reason}", phase.label));
                        }
                    }
                }
            }
        }
    }
}

/// Whether any of the load's phases has ended and was long enough to judge the load's rate.
fn was_long(phases: &[Phase], load: &LoadResult) -> bool {
    let own = phases.iter().take(load.last_phase.saturating_add(1)).skip(load.first_phase);
    own.filter_map(|phase| Some(phase.end_ns?.saturating_sub(phase.start_ns)))
        .any(|length| length >= STRETCH_NS)
}

/// The unplanned ends before the end of the load's last phase; later ones affected no number.
fn deaths<'a>(phases: &[Phase], load: &LoadResult, part: &'a LoadPart) -> impl Iterator<Item = &'a Death> {
    let end = phases.get(load.last_phase).and_then(|phase| phase.end_ns).unwrap_or(u64::MAX);
    part.deaths.iter().filter(move |death| death.at_ns <= end)
}

/// Whether a part did the required work.
enum Reached {
    Yes,
    No(Shortfall),
    Undecided(String),
}

/// Whether the part's mean rate in a phase that has ended is at least this. Bursts are compared over the whole
/// periods that fit into the phase, since their position in a period is arbitrary.
fn reaches(part: &LoadPart, phase: &Phase, floor: f64) -> Reached {
    let Some(end) = phase.end_ns.filter(|end| *end > phase.start_ns) else { return Reached::Yes };
    let points = cut_to_phase(part, phase.start_ns, end);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Reached::Yes };
    let read = last.0 - first.0;
    let length = part.burst_every_ns.map_or(read, |every| read - read % every.max(1));
    if length == 0 {
        let reason = format!("{:.1} s are too short to compare its rate with a floor", read as f64 / 1e9);
        return Reached::Undecided(reason);
    }
    let rate = (last.1 - first.1) / (length as f64 / 1e9);
    match rate >= floor {
        true => Reached::Yes,
        false => Reached::No(Shortfall::BelowFloor { rate, floor, unit: part.unit.clone() }),
    }
}

/// Why a load's part did too little in the phase; `None` if it did enough.
fn shortfall(part: &LoadPart, phase: usize, start: u64, end: Option<u64>) -> Option<Shortfall> {
    let over = end.is_some_and(|end| end > start);
    let end = end.unwrap_or(u64::MAX);
    let dead = part.at_ns.iter().zip(&part.alive).find(|(at, alive)| !**alive && (start..=end).contains(*at));
    if let Some((at, _)) = dead {
        // The end of the load is already reported, with its reason.
        return part.deaths.is_empty().then_some(Shortfall::NotRunning { at_ns: *at });
    }
    let points = cut_to_phase(part, start, end);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return over.then_some(Shortfall::TooFewReadings);
    };
    let length = last.0 - first.0;
    if length == 0 {
        return over.then_some(Shortfall::TooFewReadings);
    }
    if part.unit.is_empty() {
        return None;
    }
    if last.1 <= first.1 {
        let burst_was_due =
            part.burst_every_ns.is_none_or(|every| length >= every.saturating_add(BURST_SLACK_NS));
        return burst_was_due.then_some(Shortfall::Standstill { stood_ns: length, of_ns: None });
    }
    if let Some((from, to)) = standstill(part, &points) {
        return Some(Shortfall::Standstill { stood_ns: to - from, of_ns: Some(length) });
    }
    let over_at = match part.first_pass {
        None => 0,
        Some(FirstPass::GoesOn) => u64::MAX,
        Some(FirstPass::OverAtNs(at)) => at,
    };
    let (first_pass, since) = points.iter().partition::<Vec<Point>, _>(|(at, _)| *at < over_at);
    let found = |in_first_pass: bool| {
        let is_mine =
            move |found: &&Stretch| found.phase == phase && (found.from_ns < over_at) == in_first_pass;
        part.slowest.iter().filter(is_mine).map(|found| (found.from_ns, found.to_ns, found.rate()))
    };
    too_slow(part, &first_pass, found(true), 0.0)
        .or_else(|| too_slow(part, &since, found(false), LEAST_SHARE))
}

/// Where, in a phase shorter than a stretch, the part did nothing for half of it; parts that work in bursts may.
fn standstill(part: &LoadPart, points: &[Point]) -> Option<(u64, u64)> {
    let (first, last) = (points.first()?, points.last()?);
    let length = last.0 - first.0;
    if length >= STRETCH_NS || part.burst_every_ns.is_some() {
        return None;
    }
    let still = points.chunk_by(|before, after| after.1 <= before.1);
    let longest = still.map(|same| (same[0].0, same[same.len() - 1].0)).max_by_key(|(from, to)| to - from)?;
    (longest.1 - longest.0 >= STANDSTILL_NS.max(length / 2)).then_some(longest)
}

/// The part's readings within the phase, interpolated at its edges.
fn cut_to_phase(part: &LoadPart, start: u64, end: u64) -> Vec<Point> {
    let readings: Vec<Point> =
        part.at_ns.iter().zip(&part.done).map(|(at, done)| (*at, *done as f64)).collect();
    let edge = |time: u64| {
        let after = readings.iter().position(|(at, _)| *at > time)?;
        let (before, after) = (readings.get(after.checked_sub(1)?)?, readings.get(after)?);
        let share = (time - before.0) as f64 / (after.0 - before.0) as f64;
        Some((time, before.1 + (after.1 - before.1) * share))
    };
    let within = readings.iter().copied().filter(|(at, _)| *at > start && *at < end);
    let exactly = |time: u64| readings.iter().copied().rfind(|(at, _)| *at == time);
    let at = |time: u64| exactly(time).or_else(|| edge(time));
    at(start).into_iter().chain(within).chain(at(end).filter(|_| end > start)).collect()
}

/// The slowest stretch, if the part did nothing in it or less than this share of its median rate. `found` are the stretches
/// found during the run; readings are searched as well, since they may be from another program.
fn too_slow(
    part: &LoadPart,
    points: &[Point],
    found: impl Iterator<Item = (u64, u64, f64)>,
    least_share: f64,
) -> Option<Shortfall> {
    let usual = median(windows(points, part.burst_every_ns.unwrap_or(0)))?;
    let all = found.chain(windows(points, STRETCH_NS));
    let (from, to, rate) = all.min_by(|a, b| a.2.total_cmp(&b.2))?;
    (rate <= 0.0 || rate < least_share * usual).then(|| Shortfall::RateFell {
        from_ns: from,
        length_ns: to.saturating_sub(from),
        rate,
        median: usual,
        unit: part.unit.clone(),
    })
}

/// For each point, the shortest stretch that ends there and is at least `least` ns long: its start, its end and its
/// rate.
fn windows(points: &[Point], least: u64) -> impl Iterator<Item = (u64, u64, f64)> + '_ {
    let least = least.max(1);
    let mut from = 0;
    points.iter().filter_map(move |(to, done)| {
        while points.get(from + 1).is_some_and(|(next, _)| to.saturating_sub(*next) >= least) {
            from += 1;
        }
        let (begin, before) = points[from];
        let length = to.saturating_sub(begin);
        (length >= least).then(|| (begin, *to, (done - before) / (length as f64 / 1e9)))
    })
}

/// The rate that was exceeded for half of the time.
fn median(windows: impl Iterator<Item = (u64, u64, f64)>) -> Option<f64> {
    let mut windows: Vec<(u64, u64, f64)> = windows.collect();
    windows.sort_by(|a, b| a.2.total_cmp(&b.2));
    let length = |(from, to, _): &(u64, u64, f64)| u128::from(to - from);
    let total: u128 = windows.iter().map(length).sum();
    let mut below = 0;
    let half = windows.iter().find(|window| {
        below += length(window);
        below * 2 >= total
    })?;
    Some(half.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Death, PartRecorder};
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const BURST_EVERY: u64 = 7 * SECOND;

    /// A part read once per second, from five seconds before the phase to five seconds after it, that does
    /// `work(second)` in each second; the phase starts at second 0.
    fn part(burst_every_ns: Option<u64>, seconds: u64, work: impl Fn(i64) -> u64) -> (LoadPart, u64, u64) {
        let mut recorder = PartRecorder::new("scheduler", "messages", burst_every_ns);
        let mut done = 0;
        for second in -5..=seconds as i64 + 5 {
            if second == 0 {
                recorder.begin_phase(0);
            }
            recorder.push((second + 5) as u64 * SECOND, done, true);
            if second == seconds as i64 {
                recorder.end_phase();
            }
            done += work(second);
        }
        (recorder.part().clone(), 5 * SECOND, (5 + seconds) * SECOND)
    }

    fn verdict((part, start, end): (LoadPart, u64, u64)) -> Option<Shortfall> {
        shortfall(&part, 0, start, Some(end))
    }

    fn is_slack(how: Option<Shortfall>) -> bool {
        matches!(how, Some(Shortfall::RateFell { .. }))
    }

    #[test]
    fn steady_work_is_a_load() {
        for seconds in [1, 3, 9, 10, 11, 60, 20_000] {
            assert_eq!(verdict(part(None, seconds, |_| 1000)), None, "{seconds} s");
        }
    }

    #[test]
    fn a_stall_of_ten_seconds_invalidates_a_run_of_any_length() {
        for seconds in [30, 60, 40_000] {
            let stalled = part(None, seconds, |second| if (12..22).contains(&second) { 0 } else { 1000 });
            assert!(is_slack(verdict(stalled)), "{seconds} s");
        }
        let barely = part(None, 60, |second| if (12..17).contains(&second) { 0 } else { 1000 });
        assert_eq!(verdict(barely), None, "5 s of 10 are half of it");
    }

    #[test]
    fn readings_outside_the_phase_do_not_count() {
        assert_eq!(verdict(part(None, 30, |second| if second < 0 { 0 } else { 1000 })), None);
        assert_eq!(verdict(part(None, 30, |second| if second >= 30 { 0 } else { 1000 })), None);
        let busy_outside = part(None, 3, |second| if (0..3).contains(&second) { 0 } else { 1_000_000 });
        assert_eq!(verdict(busy_outside).unwrap(), "it did nothing for 3.0 s");
    }

    #[test]
    fn a_slow_start_of_less_than_ten_seconds_is_accepted() {
        assert_eq!(verdict(part(None, 60, |second| (second.clamp(0, 5) * 200) as u64)), None);
        assert!(is_slack(verdict(part(None, 60, |second| if second < 12 { 300 } else { 1000 }))));
    }

    /// Slow for 40 s, then ten times as fast.
    fn cold(first_pass: Option<FirstPass>, work: impl Fn(i64) -> u64) -> Option<Shortfall> {
        let (mut part, start, end) =
            part(None, 300, |second| work(second) * if second < 40 { 1 } else { 10 });
        part.first_pass = first_pass;
        part.slowest.clear();
        shortfall(&part, 0, start, Some(end))
    }

    #[test]
    fn a_slow_first_pass_is_not_a_stall_but_a_standstill_in_it_is() {
        let over = Some(FirstPass::OverAtNs(45 * SECOND));
        let stalled = |from: i64| move |second| if (from..from + 13).contains(&second) { 0 } else { 100 };
        assert!(is_slack(cold(None, |_| 100)));
        for first_pass in [over, Some(FirstPass::GoesOn)] {
            assert_eq!(cold(first_pass, |_| 100), None);
            assert!(is_slack(cold(first_pass, stalled(20))));
            assert!(is_slack(cold(first_pass, stalled(200))));
        }
        let slackened = |second| if (200..215).contains(&second) { 40 } else { 100 };
        assert!(is_slack(cold(over, slackened)));
        assert_eq!(cold(Some(FirstPass::GoesOn), slackened), None);
    }

    #[test]
    fn the_recorder_separates_the_first_pass() {
        let mut recorder = PartRecorder::new("listing", "entries", None);
        recorder.begin_first_pass();
        recorder.begin_phase(0);
        let mut done = 0;
        for second in 0..20_000_u64 {
            recorder.push(second * SECOND, done, true);
            if second == 40 {
                recorder.end_first_pass(second * SECOND);
            }
            done += if second < 40 {
                100
            } else if (9000..9015).contains(&second) {
                400
            } else {
                1000
            };
        }
        assert_eq!(
            recorder.part().slowest.iter().map(|stretch| stretch.done).collect::<Vec<_>>(),
            [1000, 4000]
        );
        assert!(is_slack(shortfall(recorder.part(), 0, 0, Some(20_000 * SECOND))));
    }

    #[test]
    fn a_short_phase_is_judged_as_a_whole() {
        let stumbling = part(None, 3, |second| if second == 1 { 900 } else { 0 });
        assert_eq!(verdict(stumbling), None);
        assert!(verdict(part(None, 3, |_| 0)).is_some());
    }

    #[test]
    fn standing_still_for_half_of_a_short_phase_is_a_stall() {
        let still = |seconds, from: i64, to: i64, burst| {
            verdict(part(burst, seconds, |second| if (from..to).contains(&second) { 0 } else { 1000 }))
        };
        assert_eq!(still(8, 2, 6, None).unwrap(), "it did nothing for 4.0 s of 8.0 s");
        assert_eq!(still(9, 4, 9, None).unwrap(), "it did nothing for 5.0 s of 9.0 s");
        assert_eq!(still(5, 0, 3, None).unwrap(), "it did nothing for 3.0 s of 5.0 s");
        assert_eq!(still(8, 2, 5, None), None, "3 s of 8 are less than half");
        assert_eq!(still(4, 1, 3, None), None, "2 s may pass before a task is back on its CPU");
        assert_eq!(still(8, 2, 6, Some(BURST_EVERY)), None);
    }

    #[test]
    fn a_floor_is_compared_with_the_mean_of_each_phase() {
        let judged = |burst, seconds, work: &dyn Fn(i64) -> u64, floor| {
            let (part, start_ns, end_ns) = part(burst, seconds, work);
            let phase =
                |label: &str, end_ns| Phase { label: label.to_owned(), start_ns, end_ns, ..Phase::default() };
            let phases = [phase("a", Some(end_ns))];
            let load = LoadResult {
                spec: "doload".to_owned(),
                first_phase: 0,
                last_phase: 0,
                parts: vec![part],
                remarks: Vec::new(),
            };
            let floors =
                ["scheduler", "another"].map(|part| LoadFloor { part: part.to_owned(), per_second: floor });
            let (mut spoilt_by, mut limits) = (Vec::new(), Vec::new());
            judge(std::slice::from_ref(&load), &phases, &floors, &mut spoilt_by, &mut limits);
            let mut unfinished = Vec::new();
            judge(&[load], &[phase("a", None)], &floors, &mut unfinished, &mut limits);
            assert!(unfinished.is_empty(), "a phase that goes on may still reach it: {unfinished:?}");
            (spoilt_by, limits)
        };
        let steady = |_| 1000;
        assert_eq!(judged(None, 30, &steady, 1000.0), (vec![], vec![]));
        let below = "load doload (scheduler) in phase 'a': its mean rate was 1000 messages/s, below its floor of 1001";
        assert_eq!(judged(None, 30, &steady, 1001.0), (vec![Reason::from(below.to_owned())], vec![]));
        assert_eq!(judged(None, 2, &steady, 1001.0), (vec![Reason::from(below.to_owned())], vec![]));
        for offset in 0..7 {
            let burst = move |second: i64| if (second + offset) % 7 == 0 { 7000 } else { 0 };
            for seconds in 8..30 {
                let reason = judged(Some(BURST_EVERY), seconds, &burst, 1000.0);
                assert_eq!(reason, (vec![], vec![]), "{seconds} s, offset {offset}");
            }
            assert_eq!(judged(Some(BURST_EVERY), 28, &burst, 1001.0).0.len(), 1, "offset {offset}");
            let (spoilt_by, limits) = judged(Some(BURST_EVERY), 5, &burst, 1000.0);
            assert!(
                spoilt_by.is_empty() && limits[0].contains("too short to compare"),
                "{spoilt_by:?} {limits:?}"
            );
        }
    }

    #[test]
    fn bursts_are_not_stalls_and_missing_bursts_are() {
        for offset in 0..7 {
            let burst = move |second: i64| if (second + offset) % 7 == 0 { 4_000_000 } else { 0 };
            for seconds in [3, 7, 8, 10, 11, 13, 14, 60, 40_000] {
                let reason = verdict(part(Some(BURST_EVERY), seconds, burst));
                assert_eq!(reason, None, "{seconds} s, offset {offset}");
            }
            let silenced = move |second| if (20..36).contains(&second) { 0 } else { burst(second) };
            assert!(is_slack(verdict(part(Some(BURST_EVERY), 120, silenced))), "offset {offset}");
        }
        assert!(verdict(part(Some(BURST_EVERY), 8, |_| 0)).is_some());
        assert!(verdict(part(Some(BURST_EVERY), 60, |_| 0)).is_some());
    }

    #[test]
    fn a_planned_restart_is_not_a_stall() {
        assert_eq!(verdict(part(None, 60, |second| if second % 5 == 0 { 600 } else { 1000 })), None);
    }

    #[test]
    fn a_death_is_reported_once_with_its_reason() {
        let (mut part, start, end) = part(None, 30, |second| if second < 10 { 1000 } else { 0 });
        for (at, alive) in part.at_ns.iter().zip(&mut part.alive) {
            *alive = *at < 15 * SECOND;
        }
        assert_eq!(shortfall(&part, 0, start, Some(end)).unwrap(), "it was no longer running at 15.0 s");
        part.deaths.push(Death { at_ns: 15 * SECOND, how: "exit status 1".to_owned() });
        assert_eq!(shortfall(&part, 0, start, Some(end)), None);
    }

    #[test]
    fn only_deaths_before_the_end_of_the_last_phase_invalidate() {
        let phase_end = 10 * SECOND;
        let phases =
            [Phase { label: "a".to_owned(), start_ns: 0, end_ns: Some(phase_end), ..Phase::default() }];
        let mut recorder = PartRecorder::new("command", "", None);
        recorder.push(0, 0, true);
        recorder.push(phase_end, 0, true);
        recorder.died(phase_end + 1, "exit status 0".to_owned());
        let load = |recorder: &PartRecorder| LoadResult {
            spec: "cmd:true".to_owned(),
            first_phase: 0,
            last_phase: 0,
            parts: vec![recorder.part().clone()],
            remarks: Vec::new(),
        };
        let judged = |recorder: &PartRecorder| {
            let (mut spoilt_by, mut limits) = (Vec::new(), Vec::new());
            judge(&[load(recorder)], &phases, &[], &mut spoilt_by, &mut limits);
            spoilt_by
        };
        assert!(judged(&recorder).is_empty(), "{:?}", judged(&recorder));
        recorder.died(phase_end, "exit status 127".to_owned());
        assert_eq!(judged(&recorder), ["load cmd:true (command) died, noticed at 10.0 s: exit status 127"]);
    }

    #[test]
    fn a_phase_without_readings_is_invalid() {
        let (part, _, end) = part(None, 30, |_| 1000);
        let later = shortfall(&part, 0, end + 10 * SECOND, Some(end + 20 * SECOND));
        assert_eq!(later, Some(Shortfall::TooFewReadings));
        let none = shortfall(&LoadPart::default(), 0, 0, Some(SECOND));
        assert_eq!(none, Some(Shortfall::TooFewReadings));
        assert_eq!(shortfall(&LoadPart::default(), 0, 0, None), None, "it has only just begun");
    }

    #[test]
    fn a_command_only_has_to_stay_alive() {
        let mut recorder = PartRecorder::new("command", "", None);
        recorder.push(0, 0, true);
        recorder.push(60 * SECOND, 0, true);
        assert_eq!(shortfall(recorder.part(), 0, 0, Some(60 * SECOND)), None);
    }

    proptest! {
        /// Irregular readings of uneven but lasting work are not a stall; the same with a real stall are, wherever
        /// the readings fall and however many were left out.
        #[test]
        fn only_stalls_are_found(
            gaps_ms in prop::collection::vec(200_u64..1_500, 60..9_000),
            rates in prop::collection::vec(700_u64..1_300, 50),
            stalled in any::<bool>(),
            place in 0.0..1.0_f64,
        ) {
            let total_ms: u64 = gaps_ms.iter().sum();
            let from_ms = (place * (total_ms - 15_000) as f64) as u64;
            let stall = from_ms..if stalled { from_ms + 13_000 } else { from_ms };
            let (mut at, mut done) = (0, 0);
            let mut recorder = PartRecorder::new("copy", "bytes", None);
            recorder.begin_phase(0);
            recorder.push(0, 0, true);
            for (index, gap) in gaps_ms.iter().enumerate() {
                let idle = (at + gap).min(stall.end).saturating_sub(at.max(stall.start)).min(*gap);
                at += gap;
                done += (gap - idle) * rates[index % rates.len()];
                recorder.push(at * 1_000_000, done, true);
            }
            let reason = shortfall(recorder.part(), 0, 0, Some(total_ms * 1_000_000));
            prop_assert_eq!(reason.is_some(), stalled, "{:?}", reason);
        }

        /// Whatever a file contains, judging it ends without a panic.
        #[test]
        fn invalid_readings_do_not_panic(
            readings in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 0..20),
            phase in (any::<u64>(), prop::option::of(any::<u64>())),
            burst in prop::option::of(any::<u64>()),
            stretch in (any::<u64>(), any::<u64>(), any::<u64>()),
            over_at in prop::option::of(any::<u64>()),
        ) {
            let mut part = LoadPart { unit: "bytes".to_owned(), burst_every_ns: burst, ..LoadPart::default() };
            part.first_pass = over_at.map(FirstPass::OverAtNs);
            let mut readings = readings;
            readings.sort_unstable();
            for (at, done, alive) in readings {
                part.push(at, done, alive);
            }
            let (from_ns, to_ns, done) = stretch;
            part.slowest.push(crate::load::Stretch { phase: 0, from_ns, to_ns, done });
            shortfall(&part, 0, phase.0, phase.1);
        }
    }
}
