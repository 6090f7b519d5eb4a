//! From what was typed to what will be done on this machine. Every mistake that can be known beforehand is known here.

use std::fmt::Display;
use std::str::FromStr;

use tardy_host::co_kernel::CoKernel;
use tardy_host::gpio::chips::ChipState;
use tardy_host::trace::tracefs::Offer;
use tardy_record::plan::{CausesPlan, ClockId, PhasePlan, Plan, Policy, Span, ThreadPlan, TimerPlan, Wake};
use tardy_record::units::{format_duration_ns, parse_duration_ns};
use thiserror::Error;

use crate::recipe::{Recipe, TimerTable};
use crate::resolve_pins::{GPIO_REACTION, GPIO_WIGGLE};
use crate::{resolve_loads, resolve_probe};

/// How many thresholds a series counts; the probe has room for so many.
const THRESHOLD_COUNT_MAX: usize = tardy_probe::cells::THRESHOLD_COUNT;
/// Shorter intervals measure little but the measuring itself.
const INTERVAL_NS_MIN: u64 = 20_000;
/// A loop that spins until it is time for the next edge waits for no timer: there a toggle is all that there is.
const WIGGLE_INTERVAL_NS_MIN: u64 = 1_000;
/// Longest run that is accepted: a slip of the fingers in a unit, not a plan.
const SPAN_NS_MAX: u64 = 366 * 86_400 * 1_000_000_000;
/// Room for what a CPU did before a late wake-up, in KiB: some 10,000 events.
const CAUSES_BUFFER_KIB: u32 = 512;

/// A mistake in what was asked for.
#[derive(Debug, Error)]
#[error("{key}: {reason}")]
pub(crate) struct UsageError {
    /// The key, as recipes and (with dashes) flags have it.
    pub(crate) key: &'static str,
    /// What is wrong, and what would be right.
    pub(crate) reason: String,
}

/// What resolving needs to know of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// CPUs that this process may use, in ascending order.
    pub(crate) allowed: Vec<u32>,
    /// What its kernel's trace offers.
    pub(crate) trace: Offer,
    /// Its co-kernel and that one's program, or in words what is missing.
    pub(crate) co_kernel: Result<CoKernel, String>,
    /// Its GPIO chips.
    pub(crate) pins: Pins,
}

/// What is known of a machine's GPIO chips.
#[derive(Clone, Debug)]
pub(crate) enum Pins {
    /// These are all.
    Known(Vec<ChipState>),
    /// Nothing: it has not been booted.
    Elsewhere,
}

/// What the command line adds beside the recipe's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extras {
    pub(crate) scale: f64,
    pub(crate) ambient_c: Option<f64>,
    pub(crate) housekeeping_cpu: Option<u32>,
}

/// The mistake `reason` under `key`.
pub(crate) fn wrong(key: &'static str, reason: impl Display) -> UsageError {
    UsageError { key, reason: reason.to_string() }
}

/// Resolves `recipe` for `machine`.
pub(crate) fn resolve(recipe: &Recipe, extras: Extras, machine: &Machine) -> Result<Plan, UsageError> {
    if !(extras.scale > 0.0 && extras.scale <= 1000.0) {
        return Err(wrong("scale", format!("{} is not a factor above 0 and up to 1000", extras.scale)));
    }
    if let Some(celsius) = extras.ambient_c.filter(|celsius| !(-100.0..=150.0).contains(celsius)) {
        return Err(wrong("ambient", format!("{celsius} is no room's temperature in degrees Celsius")));
    }
    let cpus = cpus(&recipe.timer, machine)?;
    let limit_ns = recipe.run.limit.as_deref().map(|text| positive("limit", text)).transpose()?;
    let housekeeping_cpu = housekeeping_cpu(extras.housekeeping_cpu, &cpus, machine)?;
    let phases = phases(recipe, extras.scale, &cpus, housekeeping_cpu, machine)?;
    Ok(Plan {
        recipe: recipe.name.clone().unwrap_or_else(|| "none".to_owned()),
        about: recipe.about.clone(),
        published: recipe.published.clone(),
        scale: extras.scale,
        seed: recipe.run.seed.unwrap_or(1),
        limit_ns,
        thresholds_ns: thresholds(recipe, limit_ns)?,
        housekeeping_cpu,
        ambient_c: extras.ambient_c,
        peer: recipe.run.peer.clone(),
        load_floors: resolve_loads::floors(recipe.run.load_floor.as_deref().unwrap_or_default(), &phases)?,
        phases,
    })
}

fn phases(
    recipe: &Recipe,
    scale: f64,
    cpus: &[u32],
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Vec<PhasePlan>, UsageError> {
    let warmup_ns = time("warmup", recipe.run.warmup.as_deref().unwrap_or("1s"))?;
    let mut phases = Vec::new();
    for (name, recipe) in parts(recipe)? {
        let loads = resolve_loads::loads(&recipe)?;
        let span = span(&recipe, scale)?;
        let rounds = rounds(&recipe)?;
        let probe = recipe.run.probe.as_deref();
        let timers: Vec<TimerPlan> = (wakes(&recipe)?.into_iter())
            .map(|wake| timer(&recipe.timer, wake, probe, cpus, machine))
            .collect::<Result<_, _>>()?;
        // A loop does not wait, another program waits in its own way, and edges are waited for in ways of their own.
        let has_no_wake = matches!(probe, Some("noise" | "xenomai" | GPIO_REACTION));
        for timer in &timers[..if has_no_wake { 1 } else { timers.len() }] {
            for round in 1..=rounds {
                let parts = resolve_probe::parts(&recipe, timer, span, housekeeping_cpu, machine)?;
                let only_part = matches!(probe, Some("noise" | GPIO_REACTION)) && parts.len() == 1;
                for part in parts {
                    let alone = only_part || timers.len() == 1 && part.label == timer.wake.name();
                    let label =
                        phase_label(name.as_deref(), &part.label, alone, (rounds > 1).then_some(round));
                    let (loads, span, probe) = (loads.clone(), part.span, part.probe);
                    phases.push(PhasePlan { label, round, loads, warmup_ns, span, probe });
                }
            }
        }
    }
    Ok(phases)
}

/// How threads wait, one after the other.
fn wakes(recipe: &Recipe) -> Result<Vec<Wake>, UsageError> {
    let wakes: Vec<Wake> = match &recipe.timer.wake {
        None => vec![Wake::default()],
        Some(names) => names.iter().map(|name| wake(name)).collect::<Result<_, _>>()?,
    };
    if wakes.is_empty() {
        return Err(wrong(
            "wake",
            "the list is empty; name a method, or leave the key out for clock_nanosleep",
        ));
    }
    if let Some(twice) = given_twice(&wakes) {
        return Err(wrong(
            "wake",
            format!("{} is given twice; --repeat measures a method several times", twice.name()),
        ));
    }
    Ok(wakes)
}

/// How often each is measured.
fn rounds(recipe: &Recipe) -> Result<u32, UsageError> {
    let rounds = recipe.run.repeat.unwrap_or(1);
    if rounds == 0 || rounds > 10_000 {
        return Err(wrong("repeat", format!("{rounds} rounds; give 1 to 10000")));
    }
    Ok(rounds)
}

/// The parts of the recipe, each with the recipe as it is for that part, and its name if it has one.
fn parts(recipe: &Recipe) -> Result<Vec<(Option<String>, Recipe)>, UsageError> {
    if recipe.phase.is_empty() {
        return Ok(vec![(None, recipe.clone())]);
    }
    let names: Vec<&String> = recipe.phase.iter().map(|phase| &phase.name).collect();
    if let Some(twice) = given_twice(&names) {
        return Err(wrong("phase", format!("two parts are named '{twice}'; give each a name of its own")));
    }
    if let Some(phase) = recipe.phase.iter().find(|phase| phase.timer.cpus.is_some()) {
        let reason = format!("part '{}' has CPUs of its own; a run has the same ones throughout", phase.name);
        return Err(wrong("cpus", reason));
    }
    Ok(recipe.phase.iter().map(|phase| (Some(phase.name.clone()), phase.over(recipe))).collect())
}

/// What tells a phase from the others: its part's name, what it measures with where that is not all the same, and the
/// round.
fn phase_label(name: Option<&str>, probe: &str, alone: bool, round: Option<u32>) -> String {
    let mut label = match name {
        Some(name) if alone => name.to_owned(),
        Some(name) => format!("{name}, {probe}"),
        None => probe.to_owned(),
    };
    if let Some(round) = round {
        label += &format!(", round {round}");
    }
    label
}

pub(crate) fn given_twice<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(index, one)| list[..*index].contains(one)).map(|(_, one)| one)
}

fn span(recipe: &Recipe, scale: f64) -> Result<Span, UsageError> {
    let scaled = |value: u64| ((value as f64 * scale).round() as u64).max(1);
    match (&recipe.run.duration, recipe.run.loops) {
        (Some(_), Some(_)) => Err(wrong("duration", "a run ends by duration or by loops, not by both")),
        (None, Some(0)) => Err(wrong("loops", "0 cycles measure nothing; give at least 1")),
        (None, Some(loops)) => Ok(Span::Loops(scaled(loops))),
        (duration, None) => {
            let ns = scaled(positive("duration", duration.as_deref().unwrap_or("1m"))?);
            if ns > SPAN_NS_MAX {
                return Err(wrong("duration", format!("{} is more than a year", format_duration_ns(ns))));
            }
            Ok(Span::DurationNs(ns))
        }
    }
}

fn thresholds(recipe: &Recipe, limit_ns: Option<u64>) -> Result<Vec<u64>, UsageError> {
    let given = recipe.run.thresholds.iter().flatten();
    let mut thresholds: Vec<u64> =
        given.map(|text| positive("thresholds", text)).collect::<Result<Vec<_>, _>>()?;
    thresholds.extend(limit_ns);
    thresholds.sort_unstable();
    thresholds.dedup();
    if thresholds.len() > THRESHOLD_COUNT_MAX {
        let count = thresholds.len();
        return Err(wrong(
            "thresholds",
            format!("{count} with the limit, and {THRESHOLD_COUNT_MAX} is the most"),
        ));
    }
    Ok(thresholds)
}

fn timer(
    table: &TimerTable,
    wake: Wake,
    probe: Option<&str>,
    cpus: &[u32],
    machine: &Machine,
) -> Result<TimerPlan, UsageError> {
    let clock = choice(
        "clock",
        table.clock.as_deref(),
        [ClockId::Monotonic, ClockId::Realtime, ClockId::Tai],
        ClockId::name,
    )?;
    let policies = [Policy::Fifo, Policy::Rr, Policy::Other, Policy::Deadline];
    let policy = match (table.policy.as_deref(), wake) {
        (None, Wake::Deadline) => Policy::Deadline,
        (name, _) => choice("policy", name, policies, Policy::name)?,
    };
    let least_ns = match (probe, wake) {
        (Some(GPIO_WIGGLE), Wake::Busy) => WIGGLE_INTERVAL_NS_MIN,
        _ => INTERVAL_NS_MIN,
    };
    let interval_ns = interval(table, least_ns)?;
    let dither_ns = table.dither.as_deref().map_or(Ok(0), |text| time("dither", text))?;
    check_combination(wake, clock, policy, interval_ns, dither_ns)?;
    let plan = TimerPlan {
        wake,
        clock,
        dither_ns,
        policy,
        memory_locked: true,
        dma_latency_us: match table.dma_latency.as_deref() {
            None | Some("hold") => Some(0),
            Some("leave") => None,
            Some(other) => return Err(wrong("dma_latency", format!("'{other}' is neither hold nor leave"))),
        },
        causes: causes(table)?,
        threads: threads(table, policy, interval_ns, cpus, machine)?,
    };
    Ok(plan)
}

/// Whether the kernel is traced for causes, and from which lateness on.
fn causes(table: &TimerTable) -> Result<Option<CausesPlan>, UsageError> {
    let over_ns = match table.causes.as_deref() {
        None | Some("off") => return Ok(None),
        Some("worst") => 0,
        Some(text) => positive("causes", text)?,
    };
    Ok(Some(CausesPlan { over_ns, buffer_kib: CAUSES_BUFFER_KIB }))
}

fn interval(table: &TimerTable, least_ns: u64) -> Result<u64, UsageError> {
    let interval_ns = positive("interval", table.interval.as_deref().unwrap_or("200us"))?;
    if interval_ns < least_ns {
        let (given, least) = (format_duration_ns(interval_ns), format_duration_ns(least_ns));
        return Err(wrong(
            "interval",
            format!("{given} is shorter than {least}, the shortest that can be measured"),
        ));
    }
    if interval_ns > 3_600_000_000_000 {
        return Err(wrong("interval", format!("{} is longer than an hour", format_duration_ns(interval_ns))));
    }
    Ok(interval_ns)
}

fn check_combination(
    wake: Wake,
    clock: ClockId,
    policy: Policy,
    interval_ns: u64,
    dither_ns: u64,
) -> Result<(), UsageError> {
    if dither_ns >= interval_ns {
        return Err(wrong("dither", format!("{} is not below the interval", format_duration_ns(dither_ns))));
    }
    let own_schedule = matches!(wake, Wake::TimerSettime | Wake::Setitimer | Wake::Timerfd | Wake::Deadline);
    if dither_ns > 0 && own_schedule {
        let name = wake.name();
        return Err(wrong(
            "dither",
            format!(
                "{name} keeps its own period in the kernel; dither works with clock_nanosleep, nanosleep and busy"
            ),
        ));
    }
    if wake == Wake::Timerfd && clock == ClockId::Tai {
        return Err(wrong(
            "clock",
            "timerfd has no CLOCK_TAI; use monotonic or realtime, or another wake method",
        ));
    }
    if wake == Wake::Setitimer && clock != ClockId::Monotonic {
        return Err(wrong("clock", "setitimer counts monotonic time only; leave --clock out"));
    }
    if wake == Wake::Setitimer && !interval_ns.is_multiple_of(1000) {
        return Err(wrong("interval", "setitimer knows whole microseconds only"));
    }
    if wake == Wake::Deadline && policy != Policy::Deadline {
        return Err(wrong(
            "wake",
            "deadline waits for SCHED_DEADLINE's own period, and so needs --policy deadline",
        ));
    }
    Ok(())
}

fn threads(
    table: &TimerTable,
    policy: Policy,
    interval_ns: u64,
    cpus: &[u32],
    machine: &Machine,
) -> Result<Vec<ThreadPlan>, UsageError> {
    let distance_ns = table.distance.as_deref().map_or(Ok(0), |text| time("distance", text))?;
    let first = table.priority.unwrap_or(90);
    let step = table.priority_step.unwrap_or(0);
    // The kernel refuses a deadline task that is pinned to fewer CPUs than its root domain has: only where the whole
    // domain is that CPU (an exclusive cpuset partition) is pinning no restriction.
    let pinned = policy != Policy::Deadline || machine.allowed.len() == 1;
    cpus.iter()
        .zip(0u32..)
        .map(|(cpu, index)| {
            let priority =
                if policy.has_priority() { first.saturating_sub(step.saturating_mul(index)) } else { 0 };
            if policy.has_priority() && !(1..=99).contains(&priority) {
                let reason =
                    format!("{priority} for cpu {cpu} is out of range; real-time priorities go from 1 to 99");
                return Err(wrong("priority", reason));
            }
            // Spread over the interval: threads that all wake at once would measure each other.
            let offset_ns = interval_ns * u64::from(index) / cpus.len() as u64;
            let interval_ns = interval_ns + distance_ns * u64::from(index);
            Ok(ThreadPlan { cpu: *cpu, pinned, priority, interval_ns, offset_ns })
        })
        .collect()
}

/// `all`, or a list such as `0-3,5`, of CPUs that this process may use.
fn cpus(table: &TimerTable, machine: &Machine) -> Result<Vec<u32>, UsageError> {
    let text = table.cpus.as_deref().unwrap_or("all").trim();
    if text == "all" {
        return Ok(machine.allowed.clone());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            u32::from_str(text.trim())
                .map_err(|_| wrong("cpus", format!("'{part}' is not a CPU or a range such as 0-3")))
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last > 65_535 {
            return Err(wrong("cpus", format!("'{part}' is not a range of CPUs")));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    match cpus.iter().find(|cpu| !machine.allowed.contains(cpu)) {
        Some(cpu) => Err(wrong("cpus", no_such_cpu(*cpu, machine))),
        None => Ok(cpus),
    }
}

fn no_such_cpu(cpu: u32, machine: &Machine) -> String {
    let allowed: Vec<String> = machine.allowed.iter().map(u32::to_string).collect();
    format!(
        "cpu {cpu} does not exist, is offline, or is not allowed to this process; these are: {}",
        allowed.join(" ")
    )
}

fn housekeeping_cpu(given: Option<u32>, measured: &[u32], machine: &Machine) -> Result<u32, UsageError> {
    if let Some(cpu) = given {
        return match machine.allowed.contains(&cpu) {
            true => Ok(cpu),
            false => Err(wrong("housekeeping_cpu", no_such_cpu(cpu, machine))),
        };
    }
    let spare = machine.allowed.iter().rev().find(|cpu| !measured.contains(cpu));
    // Where all are measured, the first CPU: it has the machine's own housekeeping already.
    spare
        .or(machine.allowed.first())
        .copied()
        .ok_or_else(|| wrong("cpus", "this process may use no CPU at all"))
}

fn wake(name: &str) -> Result<Wake, UsageError> {
    choice("wake", Some(name.trim()), Wake::ALL, Wake::name)
}

pub(crate) fn choice<T: Copy + Default + PartialEq, const N: usize>(
    key: &'static str,
    given: Option<&str>,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, UsageError> {
    let Some(given) = given else { return Ok(T::default()) };
    all.into_iter()
        .find(|one| name(*one) == given)
        .ok_or_else(|| wrong(key, format!("'{given}' is none of {}", all.map(name).join(", "))))
}

pub(crate) fn time(key: &'static str, text: &str) -> Result<u64, UsageError> {
    parse_duration_ns(text).map_err(|error| wrong(key, error))
}

pub(crate) fn positive(key: &'static str, text: &str) -> Result<u64, UsageError> {
    match time(key, text)? {
        0 => Err(wrong(key, "0 is too short; give a time above it, such as 200us")),
        ns => Ok(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{GpioTable, NoiseTable, PhaseTable, RunTable};

    const EXTRAS: Extras = Extras { scale: 1.0, ambient_c: None, housekeeping_cpu: None };

    fn machine() -> Machine {
        let co_kernel = Err("none here".to_owned());
        Machine { allowed: vec![0, 1, 2, 3], trace: Offer::none(), co_kernel, pins: Pins::Known(Vec::new()) }
    }

    fn of(run: RunTable, timer: TimerTable) -> Result<Plan, String> {
        let recipe = Recipe::default().overridden_by(run, timer, NoiseTable::default(), GpioTable::default());
        resolve(&recipe, EXTRAS, &machine()).map_err(|error| error.to_string())
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn nothing_typed_is_a_minute_on_every_cpu() {
        let plan = of(RunTable::default(), TimerTable::default()).unwrap();
        assert_eq!(plan.phases.len(), 1);
        assert_eq!(plan.phases[0].span, Span::DurationNs(60_000_000_000));
        let timer = plan.phases[0].probe.timer().unwrap();
        assert_eq!(timer.threads.iter().map(|thread| thread.cpu).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(timer.threads.iter().all(|thread| thread.priority == 90 && thread.interval_ns == 200_000));
    }

    #[test]
    fn the_house_keeps_off_measured_cpus_where_it_can() {
        let cpus = |list: &str| TimerTable { cpus: text(list), ..TimerTable::default() };
        assert_eq!(of(RunTable::default(), cpus("0-2")).unwrap().housekeeping_cpu, 3);
        assert_eq!(of(RunTable::default(), cpus("3")).unwrap().housekeeping_cpu, 2);
        assert_eq!(of(RunTable::default(), cpus("all")).unwrap().housekeeping_cpu, 0);
    }

    #[test]
    fn rounds_and_methods_are_phases() {
        let run = RunTable { repeat: Some(2), ..RunTable::default() };
        let timer =
            TimerTable { wake: Some(vec!["nanosleep".into(), "timerfd".into()]), ..TimerTable::default() };
        let labels: Vec<String> =
            of(run, timer).unwrap().phases.into_iter().map(|phase| phase.label).collect();
        assert_eq!(
            labels,
            ["nanosleep, round 1", "nanosleep, round 2", "timerfd, round 1", "timerfd, round 2"]
        );
    }

    #[test]
    fn parts_of_a_recipe_have_loads_and_lengths_of_their_own() {
        let part = |name: &str, loops, load: &[&str]| PhaseTable {
            name: name.into(),
            loops,
            load: Some(load.iter().map(|load| (*load).to_owned()).collect()),
            ..PhaseTable::default()
        };
        let run = RunTable { duration: text("2s"), ..RunTable::default() };
        let recipe = Recipe {
            phase: vec![part("idle", None, &["none"]), part("loaded", Some(7), &["copy", "listing"])],
            ..Recipe::default().overridden_by(
                run,
                TimerTable::default(),
                NoiseTable::default(),
                GpioTable::default(),
            )
        };
        let phases = resolve(&recipe, EXTRAS, &machine()).unwrap().phases;
        let told: Vec<_> =
            phases.iter().map(|phase| (phase.label.as_str(), phase.span, phase.loads.len())).collect();
        assert_eq!(told, [("idle", Span::DurationNs(2_000_000_000), 0), ("loaded", Span::Loops(7), 2)]);
        let flags = RunTable { loops: Some(3), load: Some(vec!["doload".into()]), ..RunTable::default() };
        let phases =
            recipe.overridden_by(flags, TimerTable::default(), NoiseTable::default(), GpioTable::default());
        let phases = resolve(&phases, EXTRAS, &machine()).unwrap().phases;
        assert!(phases.iter().all(|phase| phase.span == Span::Loops(3) && phase.loads == ["doload"]));
    }

    #[test]
    fn mistakes_name_their_key_and_what_would_be_right() {
        let timer = |change: fn(&mut TimerTable)| {
            let mut table = TimerTable::default();
            change(&mut table);
            of(RunTable::default(), table).unwrap_err()
        };
        let run = |change: fn(&mut RunTable)| {
            let mut table = RunTable::default();
            change(&mut table);
            of(table, TimerTable::default()).unwrap_err()
        };
        for (error, expected) in [
            (timer(|t| t.interval = text("0us")), "interval: 0 is too short"),
            (timer(|t| t.interval = text("200")), "interval: '200' is not a duration: the unit is missing"),
            (timer(|t| t.interval = text("5us")), "interval: 5us is shorter than 20us"),
            (timer(|t| t.cpus = text("7")), "cpus: cpu 7 does not exist, is offline, or is not allowed"),
            (timer(|t| t.cpus = text("3-1")), "cpus: '3-1' is not a range"),
            (timer(|t| t.cpus = text("x")), "cpus: 'x' is not a CPU"),
            (timer(|t| t.priority = Some(100)), "priority: 100 for cpu 0 is out of range"),
            (timer(|t| t.priority_step = Some(40)), "priority: 0 for cpu 3 is out of range"),
            (timer(|t| t.wake = Some(vec!["sleep".into()])), "wake: 'sleep' is none of clock_nanosleep,"),
            (timer(|t| t.dither = text("200us")), "dither: 200us is not below the interval"),
            (timer(|t| t.policy = text("FIFO")), "policy: 'FIFO' is none of fifo, rr"),
            (timer(|t| t.dma_latency = text("off")), "dma_latency: 'off' is neither"),
            (run(|r| r.loops = Some(0)), "loops: 0 cycles"),
            (run(|r| r.duration = text("400d")), "duration: 400d is more than a year"),
            (run(|r| r.repeat = Some(0)), "repeat: 0 rounds"),
            (run(|r| r.limit = text("0s")), "limit: 0 is too short"),
        ] {
            assert!(error.starts_with(expected), "{error}\nexpected {expected}");
        }
    }

    #[test]
    fn a_deadline_task_is_pinned_only_where_the_kernel_allows_it() {
        let table = TimerTable { policy: text("deadline"), ..TimerTable::default() };
        let recipe = Recipe::default().overridden_by(
            RunTable::default(),
            table,
            NoiseTable::default(),
            GpioTable::default(),
        );
        let pinned = |allowed: Vec<u32>| {
            let plan = resolve(&recipe, EXTRAS, &Machine { allowed, ..machine() }).unwrap();
            plan.phases[0].probe.timer().unwrap().threads[0].pinned
        };
        assert!(!pinned(vec![0, 1]));
        assert!(pinned(vec![2]));
    }
}
