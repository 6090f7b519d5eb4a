//! Whether two runs measured the same thing, so that a difference between them is due to the kernels.

use std::collections::BTreeSet;

use tardy_record::foreign::{ForeignPlan, ForeignSeries, LOADS_UNKNOWN};
use tardy_record::lab::Lab;
use tardy_record::plan::{PhasePlan, Policy, ProbePlan, TimerPlan, Wake};
use tardy_record::run::Origin;
use tardy_record::series::TimerSeries;
use tardy_record::units::format_duration_ns;
use tardy_record::wiggle::{Pace, WigglePlan};
use tardy_record::{Knowable, Run, cpu_list};

use tardy_analyse::lab;
use tardy_analyse::outcome::DURATION_TOLERANCE;

/// Reasons why two runs, whose phases are paired by `matched`, are not comparable; empty if they are.
pub(crate) fn obstacles(base: &Run, candidate: &Run, matched: &[(usize, usize)]) -> Vec<String> {
    let mut reasons = Vec::new();
    let unnamed = |run: &Run| Origin { name: None, ..run.origin.clone() };
    if !base.origin.id.is_empty() && unnamed(base) == unnamed(candidate) {
        reasons.push(format!("the same run twice, {}: there is nothing to compare", base.origin.id));
    }
    for (name, run) in [("the base", base), ("the candidate", candidate)] {
        reasons.extend(run.validity.spoilt_by.first().map(|why| format!("{name} is invalid: {why}")));
        let meaningless = lab::meaningless_because(run);
        reasons.extend(meaningless.map(|why| format!("the latencies of {name} mean nothing: {why}")));
    }
    reasons.extend(measured_differently(base, candidate, matched));
    reasons.extend(duration_obstacle(base, candidate));
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    reasons
}

/// Reasons why two runs did not measure the same thing in the same way, whatever their durations.
pub(crate) fn measured_differently(base: &Run, candidate: &Run, matched: &[(usize, usize)]) -> Vec<String> {
    let mut reasons: Vec<String> =
        place_obstacle(base.lab.as_ref(), candidate.lab.as_ref()).into_iter().collect();
    if base.phases.len() != candidate.phases.len() {
        reasons.push(format!("phases: {} and {}", base.phases.len(), candidate.phases.len()));
    }
    for (ours, theirs) in matched {
        if let (Some(a), Some(b)) = (base.plan.phases.get(*ours), candidate.plan.phases.get(*theirs)) {
            reasons.extend(plan_obstacles(a, b));
        }
    }
    reasons.extend(series_obstacles(base, candidate));
    reasons
}

/// The reason if one run is from the lab and the other is not, or if the clocks of their labs differ.
pub(crate) fn place_obstacle(base: Option<&Lab>, candidate: Option<&Lab>) -> Option<String> {
    let place = |lab: Option<&Lab>| {
        lab.map_or_else(
            || "outside the lab".to_owned(),
            |lab| format!("in the lab, on {}, where the clock counts {}", lab.machine, lab::clock(lab.clock)),
        )
    };
    match (base, candidate) {
        (None, None) => None,
        (Some(a), Some(b)) => (a.clock != b.clock)
            .then(|| format!("clock of the lab: {} and {}", lab::clock(a.clock), lab::clock(b.clock))),
        _ => Some(format!("place: {} and {}", place(base), place(candidate))),
    }
}

fn plan_obstacles(a: &PhasePlan, b: &PhasePlan) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut differ = |what: &str, base: String, candidate: String| {
        if base != candidate {
            reasons.push(format!("{what}: {base} and {candidate}"));
        }
    };
    differ("probe", a.probe.name().to_owned(), b.probe.name().to_owned());
    differ("loads", loads(a), loads(b));
    if let (ProbePlan::Tracer(one), ProbePlan::Tracer(other)) = (&a.probe, &b.probe) {
        differ("period", format_duration_ns(one.period_ns), format_duration_ns(other.period_ns));
    }
    if let (ProbePlan::Wiggle(one), ProbePlan::Wiggle(other)) = (&a.probe, &b.probe) {
        let pace = |plan: &WigglePlan| match &plan.pace {
            Pace::Timer(_) => "by a timer".to_owned(),
            Pace::Fastest(_) => "as fast as possible".to_owned(),
            Pace::Command { words } => format!("by {}", words.join(" ")),
        };
        differ("pace", pace(one), pace(other));
        differ("access", one.through.name().to_owned(), other.through.name().to_owned());
    }
    if let (ProbePlan::RoundTrip(one), ProbePlan::RoundTrip(other)) = (&a.probe, &b.probe) {
        differ("protocol", one.protocol.name().to_owned(), other.protocol.name().to_owned());
        differ("peer", one.peer.clone(), other.peer.clone());
        differ("interval", format_duration_ns(one.interval_ns), format_duration_ns(other.interval_ns));
    }
    if let (ProbePlan::Noise(one), ProbePlan::Noise(other)) = (&a.probe, &b.probe) {
        differ("threshold", format_duration_ns(one.threshold_ns), format_duration_ns(other.threshold_ns));
        differ("policy", one.policy.name().to_owned(), other.policy.name().to_owned());
    }
    reasons.extend(imported_obstacles(a, b));
    let (Some(one), Some(other)) = (a.probe.timer(), b.probe.timer()) else { return reasons };
    let mut differ = |what: &str, base: String, candidate: String| {
        if base != candidate {
            reasons.push(format!("{what}: {base} and {candidate}"));
        }
    };
    differ("wake method", one.wake.name().to_owned(), other.wake.name().to_owned());
    differ("clock", one.clock.name().to_owned(), other.clock.name().to_owned());
    differ("interval", intervals(one), intervals(other));
    differ("dither", format_duration_ns(one.dither_ns), format_duration_ns(other.dither_ns));
    reasons
}

const UNKNOWN: &str = "unknown";

/// The reason why two values of `name` make a comparison doubtful; `None` if both are known and equal.
fn differing(name: &str, one: &str, other: &str) -> Option<String> {
    match (one, other) {
        (UNKNOWN, UNKNOWN) => Some(format!("{name}: unknown for both")),
        _ if one == other => None,
        _ => Some(format!("{name}: {one} and {other}")),
    }
}

/// Differences and unknown values, if at least one run is from the file of another tool.
fn imported_obstacles(a: &PhasePlan, b: &PhasePlan) -> Vec<String> {
    let foreign = [a.probe.foreign(), b.probe.foreign()];
    if foreign == [None, None] {
        return Vec::new();
    }
    let tool =
        |plan: &PhasePlan| plan.probe.foreign().map_or_else(|| "tardy".to_owned(), |one| one.tool.clone());
    let mut reasons = Vec::new();
    if tool(a) != tool(b) {
        reasons.push(format!("tool: {} and {}", tool(a), tool(b)));
    }
    if let [Some(one), Some(other)] = foreign {
        let period = |plan: &ForeignPlan| plan.period_ns.get().map_or(UNKNOWN.to_owned(), format_duration_ns);
        let (one, other) = (period(one), period(other));
        reasons.extend(differing("interval", &one, &other));
    }
    if let [Some(Some(one)), Some(Some(other))] = foreign.map(|plan| plan.map(|plan| plan.wake)) {
        let name = |wake: Knowable<Wake>| wake.get().map_or(UNKNOWN, Wake::name);
        reasons.extend(differing("wake method", name(one), name(other)));
    }
    if [a, b].iter().all(|plan| plan.loads == [LOADS_UNKNOWN]) {
        reasons.push("loads: unknown for both".to_owned());
    }
    reasons
}

fn intervals(timer: &TimerPlan) -> String {
    let mut all: Vec<u64> = timer.threads.iter().map(|thread| thread.interval_ns).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(format_duration_ns).collect::<Vec<_>>().join(", ")
}

fn loads(phase: &PhasePlan) -> String {
    if phase.loads.is_empty() { "none".to_owned() } else { phase.loads.join(", ") }
}

/// Differences between the actual scheduling and CPUs of the threads, which may differ from the plan.
fn series_obstacles(base: &Run, candidate: &Run) -> Vec<String> {
    let corrected = |run: &Run| run.series.iter().all(|series| series.corrected.is_some());
    let mut reasons = Vec::new();
    let (a, b) = (scheduling(base), scheduling(candidate));
    if a != b {
        let prioritised =
            |run: &Run| threads(run).any(|thread| thread.policy.is_some_and(Policy::has_priority));
        let what = if prioritised(base) || prioritised(candidate) { "policy and priority" } else { "policy" };
        reasons.push(format!("{what}: {a} and {b}"));
    }
    let (a, b) = (cpus(base), cpus(candidate));
    if a != b {
        reasons.push(format!("CPUs: {a} and {b} (a measuring thread on one CPU is a load on the others)"));
    }
    reasons.extend(traced_differently(base, candidate));
    if corrected(base) != corrected(candidate) {
        reasons.push("only one of them counts missed periods".to_owned());
    }
    reasons
}

/// The reason if only one of the two was traced for causes, which adds latency; `None` otherwise.
pub fn traced_differently(base: &Run, candidate: &Run) -> Option<String> {
    let traced = |run: &Run| timers(run).any(|timer| timer.causes.is_some());
    let which = match (traced(base), traced(candidate)) {
        (true, false) => "the base",
        (false, true) => "the candidate",
        _ => return None,
    };
    Some(format!("{which} was traced for causes, which costs latency, and the other was not"))
}

fn timers(run: &Run) -> impl Iterator<Item = &TimerSeries> {
    run.series.iter().filter_map(|series| series.timer())
}

/// What is known about a measuring thread, of tardy or of another tool.
struct Thread {
    policy: Option<Policy>,
    priority: Option<u32>,
    cpu: Option<u32>,
    pinned: bool,
}

fn threads(run: &Run) -> impl Iterator<Item = Thread> {
    run.series.iter().filter_map(|series| match (series.timer(), series.foreign()) {
        (Some(TimerSeries { policy, priority, cpu, pinned, .. }), _) => Some(Thread {
            policy: Some(*policy),
            priority: Some(*priority),
            cpu: Some(*cpu),
            pinned: *pinned,
        }),
        (None, Some(ForeignSeries { policy, priority, cpu, .. })) => {
            let (policy, priority, cpu) = (policy.get(), priority.get(), cpu.get());
            Some(Thread { policy, priority, cpu, pinned: true })
        }
        (None, None) => None,
    })
}

/// The known policies and priorities of the threads, as text.
fn scheduling(run: &Run) -> String {
    let text = |thread: Thread| match (thread.policy?, thread.priority) {
        (policy, _) if !policy.has_priority() => Some(policy.name().to_owned()),
        (policy, Some(priority)) => Some(format!("{} {priority}", policy.name())),
        (policy, None) => Some(format!("{} of unknown priority", policy.name())),
    };
    let known: BTreeSet<String> = threads(run).filter_map(text).collect();
    match known.is_empty() {
        true if threads(run).next().is_some() => UNKNOWN.to_owned(),
        true => "none".to_owned(),
        false => known.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// The CPUs that threads were pinned to, and the number of unpinned threads, as text.
fn cpus(run: &Run) -> String {
    let distinct = |pinned: bool| {
        let cpus = threads(run).filter(|thread| thread.pinned == pinned).filter_map(|thread| thread.cpu);
        cpus.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
    };
    let (pinned, roaming) = (distinct(true), distinct(false));
    match (pinned.is_empty(), roaming.len()) {
        (true, 0) if threads(run).next().is_some() => UNKNOWN.to_owned(),
        (true, 0) => "none".to_owned(),
        (false, 0) => cpu_list::format(&pinned),
        (true, n) => format!("any ({n} unpinned)"),
        (false, n) => format!("{} and any ({n} unpinned)", cpu_list::format(&pinned)),
    }
}

/// A measured duration, in which less than a millisecond does not matter.
fn to_milliseconds(ns: u64) -> String {
    format_duration_ns(if ns < 1_000_000 { ns } else { ns.next_multiple_of(1_000_000) })
}

fn duration_obstacle(base: &Run, candidate: &Run) -> Option<String> {
    let (a, b) = (base.progress.measured_ns, candidate.progress.measured_ns);
    if (a == 0 && base.is_imported()) || (b == 0 && candidate.is_imported()) {
        return Some("duration: unknown for one of them (a maximum grows with time)".to_owned());
    }
    let longer = a.max(b) as f64;
    ((longer - a.min(b) as f64) > DURATION_TOLERANCE * longer).then(|| {
        format!("duration: {} and {} (a maximum grows with time)", to_milliseconds(a), to_milliseconds(b))
    })
}
