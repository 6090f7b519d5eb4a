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

use tardy_analyse::outcome::DURATION_TOLERANCE;
use tardy_analyse::{isolation, lab};

/// What speaks against a comparison of two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Obstacles {
    /// Reasons why they are not comparable: conditions that differ, and runs that must not be used.
    pub(crate) reasons: Vec<String>,
    /// Conditions that are not known of both: they may differ.
    pub(crate) unknown: Vec<String>,
}

impl Obstacles {
    /// Notes a condition with different values. What is unknown of one may be the same.
    fn differ(&mut self, what: &str, base: &str, candidate: &str) {
        if base == candidate {
            return;
        }
        let list = if [base, candidate].contains(&UNKNOWN) { &mut self.unknown } else { &mut self.reasons };
        list.push(format!("{what}: {base} and {candidate}"));
    }

    /// Notes a condition with different values, or one that is unknown of both.
    fn differ_or_unknown(&mut self, what: &str, base: &str, candidate: &str) {
        match (base, candidate) {
            (UNKNOWN, UNKNOWN) => self.unknown.push(format!("{what}: unknown for both")),
            _ => self.differ(what, base, candidate),
        }
    }

    /// All of them, each once.
    fn distinct(mut self) -> Self {
        for list in [&mut self.reasons, &mut self.unknown] {
            let mut seen = BTreeSet::new();
            list.retain(|reason| seen.insert(reason.clone()));
        }
        self
    }
}

/// What speaks against a comparison of two runs, whose phases are paired by `matched`.
pub(crate) fn obstacles(base: &Run, candidate: &Run, matched: &[(usize, usize)]) -> Obstacles {
    let mut found = Obstacles::default();
    let reasons = &mut found.reasons;
    let unnamed = |run: &Run| Origin { name: None, ..run.origin.clone() };
    if !base.origin.id.is_empty() && unnamed(base) == unnamed(candidate) {
        reasons.push(format!("the same run twice, {}: there is nothing to compare", base.origin.id));
    }
    for (name, run) in [("the base", base), ("the candidate", candidate)] {
        reasons.extend(run.validity.spoilt_by.first().map(|why| format!("{name} is invalid: {why}")));
        let meaningless = lab::meaningless_because(run);
        reasons.extend(meaningless.map(|why| format!("the latencies of {name} mean nothing: {why}")));
    }
    conditions(base, candidate, matched, &mut found);
    duration_obstacle(base, candidate, &mut found);
    for (run, name) in [(base, "base"), (candidate, "candidate")] {
        if run.own_series().any(|series| series.max_at_least) {
            found.unknown.push(format!(
                "maximum: the file of the {name} does not establish it; '≥' marks lower bounds"
            ));
        }
    }
    found.distinct()
}

/// Reasons why two runs did not measure the same thing in the same way, whatever their durations, and conditions that may differ.
pub(crate) fn measured_differently(base: &Run, candidate: &Run, matched: &[(usize, usize)]) -> Vec<String> {
    let mut found = Obstacles::default();
    conditions(base, candidate, matched, &mut found);
    let Obstacles { mut reasons, unknown } = found;
    reasons.extend(unknown);
    reasons
}

fn conditions(base: &Run, candidate: &Run, matched: &[(usize, usize)], found: &mut Obstacles) {
    found.reasons.extend(place_obstacle(base.lab.as_ref(), candidate.lab.as_ref()));
    if base.phases.len() != candidate.phases.len() {
        found.reasons.push(format!("phases: {} and {}", base.phases.len(), candidate.phases.len()));
    }
    for (ours, theirs) in matched {
        if let (Some(a), Some(b)) = (base.plan.phases.get(*ours), candidate.plan.phases.get(*theirs)) {
            plan_obstacles(a, b, found);
        }
    }
    series_obstacles(base, candidate, found);
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

fn plan_obstacles(a: &PhasePlan, b: &PhasePlan, found: &mut Obstacles) {
    imported_obstacles(a, b, found);
    let mut differ = |what: &str, base: String, candidate: String| found.differ(what, &base, &candidate);
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
    let (Some(one), Some(other)) = (a.probe.timer(), b.probe.timer()) else { return };
    differ("wake method", one.wake.name().to_owned(), other.wake.name().to_owned());
    differ("clock", one.clock.name().to_owned(), other.clock.name().to_owned());
    differ("interval", intervals(one), intervals(other));
    differ("dither", format_duration_ns(one.dither_ns), format_duration_ns(other.dither_ns));
}

const UNKNOWN: &str = "unknown";

/// Differences and unknown values, if at least one run is from the file of another tool.
fn imported_obstacles(a: &PhasePlan, b: &PhasePlan, found: &mut Obstacles) {
    let foreign = [a.probe.foreign(), b.probe.foreign()];
    if foreign == [None, None] {
        return;
    }
    let tool =
        |plan: &PhasePlan| plan.probe.foreign().map_or_else(|| "tardy".to_owned(), |one| one.tool.clone());
    found.differ("tool", &tool(a), &tool(b));
    if let [Some(one), Some(other)] = foreign {
        let period = |plan: &ForeignPlan| plan.period_ns.get().map_or(UNKNOWN.to_owned(), format_duration_ns);
        let (one, other) = (period(one), period(other));
        found.differ_or_unknown("interval", &one, &other);
    }
    if let [Some(Some(one)), Some(Some(other))] = foreign.map(|plan| plan.map(|plan| plan.wake)) {
        let name = |wake: Knowable<Wake>| wake.get().map_or(UNKNOWN, Wake::name);
        found.differ_or_unknown("wake method", name(one), name(other));
    }
    if [a, b].iter().all(|plan| plan.loads == [LOADS_UNKNOWN]) {
        found.unknown.push("loads: unknown for both".to_owned());
    }
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
fn series_obstacles(base: &Run, candidate: &Run, found: &mut Obstacles) {
    let corrected = |run: &Run| run.series.iter().all(|series| series.corrected.is_some());
    let prioritised = |run: &Run| threads(run).any(|thread| thread.policy.is_some_and(Policy::has_priority));
    let what = if prioritised(base) || prioritised(candidate) { "policy and priority" } else { "policy" };
    found.differ(what, &scheduling(base), &scheduling(candidate));
    let (a, b) = (cpus(base), cpus(candidate));
    match [a.as_str(), b.as_str()].contains(&UNKNOWN) {
        true => found.differ("CPUs", &a, &b),
        false if a != b => found
            .reasons
            .push(format!("CPUs: {a} and {b} (a measuring thread on one CPU is a load on the others)")),
        false => {}
    }
    let isolation = |run: &Run| isolation::of_measured(run).unwrap_or_else(|| UNKNOWN.to_owned());
    found.differ("isolation of the measured CPUs", &isolation(base), &isolation(candidate));
    found.reasons.extend(traced_differently(base, candidate));
    if corrected(base) != corrected(candidate) {
        found.reasons.push("only one of them counts missed periods".to_owned());
    }
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

fn duration_obstacle(base: &Run, candidate: &Run, found: &mut Obstacles) {
    let (a, b) = (base.progress.measured_ns, candidate.progress.measured_ns);
    let unknown =
        [(a, base), (b, candidate)].iter().filter(|(ns, run)| *ns == 0 && run.is_imported()).count();
    let longer = a.max(b) as f64;
    match unknown {
        0 if (longer - a.min(b) as f64) > DURATION_TOLERANCE * longer => found.reasons.push(format!(
            "duration: {} and {} (a maximum grows with time)",
            to_milliseconds(a),
            to_milliseconds(b)
        )),
        0 => {}
        1 => found.unknown.push("duration: unknown for one of them (a maximum grows with time)".to_owned()),
        _ => found.unknown.push("duration: unknown for both (a maximum grows with time)".to_owned()),
    }
}
