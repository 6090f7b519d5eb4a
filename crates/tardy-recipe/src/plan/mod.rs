//! The plan of a run: a recipe with its flags, resolved for one machine. Planning reports every mistake that can be found
//! before the run.

mod cpus;
mod loads;
mod machine;
mod noise;
mod pin_notices;
mod pins;
mod probe;
mod reaction;
mod round_trip;
mod stimulus;
mod stop_rule;
mod timer;
mod tracer;
mod unused_options;
mod wiggle;

use tardy_record::plan::{PhasePlan, Plan, Span, TimerPlan, Wake};
use tardy_record::units::format_duration_ns;

use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};
use crate::values::ProbeKind;

pub use loads::checked_loads;
pub use machine::{Machine, Pins};
pub use pin_notices::pin_notices;
pub use stimulus::{dither_ns, period_ns};
pub use unused_options::refuse_unused;

/// Largest number of thresholds, as in the probe's memory.
const THRESHOLD_COUNT_MAX: usize = tardy_probe::cells::THRESHOLD_COUNT;
/// Longest phase, in ns. A longer one is probably a mistake in the unit.
const SPAN_NS_MAX: u64 = 366 * 86_400 * 1_000_000_000;
/// Most rounds of a wake method.
const ROUNDS_MAX: u32 = 10_000;

/// Options of the command line that are not recipe keys.
#[derive(Clone, Copy, Debug)]
pub struct Extras {
    /// Factor on durations and loop counts.
    pub scale: f64,
    /// Room temperature in °C.
    pub ambient_c: Option<f64>,
    /// The CPU of tardy's supervisor.
    pub housekeeping_cpu: Option<u32>,
}

impl Extras {
    /// None of these options.
    pub const NONE: Self = Self { scale: 1.0, ambient_c: None, housekeeping_cpu: None };
}

/// Resolves `recipe` for `machine`.
///
/// # Errors
/// If an option is wrong, contradicts another, or needs something that the machine lacks.
pub fn resolve(recipe: &Recipe, extras: Extras, machine: &Machine) -> Result<Plan, UsageError> {
    let (cpus, remarks) = cpus::measured(recipe.timer.cpus(), machine)?;
    let limit_ns = recipe.run.limit.map(|limit| limit.ns());
    let housekeeping_cpu = cpus::housekeeping(extras.housekeeping_cpu, &cpus, machine)?;
    let phases = phases(recipe, extras.scale, &cpus, housekeeping_cpu, machine)?;
    Ok(Plan {
        recipe: recipe.name.clone().unwrap_or_else(|| "none".to_owned()),
        about: recipe.about.clone(),
        published: recipe.published.clone(),
        scale: extras.scale,
        seed: recipe.run.seed(),
        limit_ns,
        until: stop_rule::stop_rule(&recipe.run, &phases)?,
        thresholds_ns: thresholds(recipe, limit_ns)?,
        housekeeping_cpu,
        placement: machine.cpus.placement(&cpus, remarks),
        ambient_c: extras.ambient_c,
        peer: recipe.run.peer.clone(),
        load_floors: loads::floors(recipe.run.load_floor.as_deref().unwrap_or_default(), &phases)?,
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
    let warmup_ns = recipe.run.warmup_ns();
    let mut phases = Vec::new();
    for (name, recipe) in parts(recipe)? {
        let loads = loads::loads(&recipe)?;
        let span = span(&recipe, scale)?;
        let rounds = rounds(&recipe)?;
        let probe = recipe.run.probe();
        let timers: Vec<TimerPlan> = (wakes(&recipe)?.into_iter())
            .map(|wake| timer::timer(&recipe.timer, wake, probe, cpus, machine))
            .collect::<Result<_, _>>()?;
        for timer in &timers[..if probe.has_no_wake() { 1 } else { timers.len() }] {
            for round in 1..=rounds {
                let parts = probe::parts(&recipe, timer, span, housekeeping_cpu, machine)?;
                let is_only_part =
                    matches!(probe, ProbeKind::Noise | ProbeKind::GpioReaction | ProbeKind::RoundTrip)
                        && parts.len() == 1;
                for part in parts {
                    let alone = is_only_part || timers.len() == 1 && part.label == timer.wake.name();
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

/// The wake methods, in sequence.
fn wakes(recipe: &Recipe) -> Result<Vec<Wake>, UsageError> {
    let wakes = recipe.timer.wakes();
    if wakes.is_empty() {
        return Err(wrong("wake", "the list is empty; name a method, or remove the key for clock_nanosleep"));
    }
    if let Some(twice) = duplicate(&wakes) {
        let reason =
            format!("{} is given twice; use --repeat to measure a method several times", twice.name());
        return Err(wrong("wake", reason));
    }
    Ok(wakes)
}

fn rounds(recipe: &Recipe) -> Result<u32, UsageError> {
    match recipe.run.rounds() {
        rounds @ 1..=ROUNDS_MAX => Ok(rounds),
        rounds => {
            Err(wrong("repeat", format!("{rounds} rounds are out of range; expected 1 to {ROUNDS_MAX}")))
        }
    }
}

/// The parts of the recipe: the name and the options of each phase. A recipe without phases is one unnamed part.
fn parts(recipe: &Recipe) -> Result<Vec<(Option<String>, Recipe)>, UsageError> {
    if recipe.phase.is_empty() {
        return Ok(vec![(None, recipe.clone())]);
    }
    let names: Vec<&String> = recipe.phase.iter().map(|phase| &phase.name).collect();
    if let Some(twice) = duplicate(&names) {
        return Err(wrong("phase", format!("two phases are named '{twice}'; give each its own name")));
    }
    if let Some(phase) = recipe.phase.iter().find(|phase| phase.timer.cpus.is_some()) {
        let reason = format!("phase '{}' sets CPUs, but a run measures the same CPUs throughout", phase.name);
        return Err(wrong("cpus", reason));
    }
    Ok(recipe.phase.iter().map(|phase| (Some(phase.name.clone()), recipe.for_phase(phase))).collect())
}

/// A phase's label: the name of its part, the probe or wake method unless it is the only one, and the round.
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

/// The first element that is in the list twice.
fn duplicate<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(index, one)| list[..*index].contains(one)).map(|(_, one)| one)
}

fn span(recipe: &Recipe, scale: f64) -> Result<Span, UsageError> {
    let scaled = |value: u64| ((value as f64 * scale).round() as u64).max(1);
    if recipe.run.duration.is_some() && recipe.run.loops.is_some() {
        return Err(wrong("duration", "loops is also given; remove one of them"));
    }
    match recipe.run.span() {
        Span::Loops(0) => Err(wrong("loops", "must be at least 1")),
        Span::Loops(loops) => Ok(Span::Loops(scaled(loops))),
        Span::DurationNs(ns) if scaled(ns) > SPAN_NS_MAX => {
            let reason = format!("{} is more than a year", format_duration_ns(scaled(ns)));
            Err(wrong("duration", reason))
        }
        Span::DurationNs(ns) => Ok(Span::DurationNs(scaled(ns))),
        Span::Unknown => Ok(Span::Unknown),
    }
}

fn thresholds(recipe: &Recipe, limit_ns: Option<u64>) -> Result<Vec<u64>, UsageError> {
    let mut thresholds: Vec<u64> =
        recipe.run.thresholds.iter().flatten().map(|threshold| threshold.ns()).collect();
    thresholds.extend(limit_ns);
    thresholds.sort_unstable();
    thresholds.dedup();
    if thresholds.len() > THRESHOLD_COUNT_MAX {
        let count = thresholds.len();
        let reason = format!(
            "{count} thresholds, including the limit, are too many; at most {THRESHOLD_COUNT_MAX} are possible"
        );
        return Err(wrong("thresholds", reason));
    }
    Ok(thresholds)
}

#[cfg(test)]
mod tests;
