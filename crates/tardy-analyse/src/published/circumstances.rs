//! Compares the circumstances of a run and of a published result. A circumstance that is not stated is unknown, which
//! does not count as the same.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::facts::Preemption;
use tardy_record::load_spec::{LoadSpec, LoadTask};
use tardy_record::units::format_duration_ns;

use super::PublishedResult;
use super::duration::{self, Stated};
use crate::outcome::{self, DURATION_TOLERANCE, Outcome};

/// A duration that is stated as "about" counts as the same if it differs by at most this share.
const ABOUT: f64 = 0.1;

/// One circumstance of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Circumstance {
    /// Its name.
    pub name: &'static str,
    /// As published; empty if it is not stated.
    pub published: Vec<Value>,
    /// Here; empty if it is unknown.
    pub ours: Vec<Value>,
    /// Whether they are the same.
    pub sameness: Sameness,
}

/// A value to be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A text.
    Text(String),
    /// A count.
    Count(u64),
    /// A duration in ns.
    DurationNs(u64),
    /// A derived duration in ns: samples times interval.
    DerivedNs(u64),
}

impl Value {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// Whether two circumstances are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sameness {
    /// Both are the same.
    Same,
    /// They differ.
    Different,
    /// One of them is not stated, or not precisely enough.
    Unknown,
}

impl Sameness {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Unknown => "unknown",
        }
    }

    /// Lower is more similar.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Same => 0,
            Self::Unknown => 1,
            Self::Different => 2,
        }
    }

    fn of(same: bool) -> Self {
        if same { Self::Same } else { Self::Different }
    }

    /// The sameness for several outcomes: the same if all are the same, unknown if any is unknown.
    fn of_all(all: impl Iterator<Item = Self>) -> Self {
        let all: Vec<Self> = all.collect();
        let any = |one| all.contains(&one);
        match () {
            () if all.is_empty() || any(Self::Unknown) => Self::Unknown,
            () => Self::of(!any(Self::Different)),
        }
    }
}

/// All circumstances of `published` and of the outcomes `ours` of `run`.
pub(super) fn of(run: &Run, published: &PublishedResult, ours: &[&Outcome]) -> Vec<Circumstance> {
    if published.cycle_us.is_some() {
        return of_switch(run, published, ours);
    }
    vec![
        board(run, published),
        cpus(run, published),
        kernel(run, published),
        preemption(run, published),
        loads(published, ours),
        interval(published, ours),
        duration(published, ours),
        samples(published, ours),
        wake(published, ours),
        at_level(published, ours),
    ]
}

/// The circumstances of a test of a time-aware switch: the schedule replaces load, interval and wake method.
fn of_switch(run: &Run, published: &PublishedResult, ours: &[&Outcome]) -> Vec<Circumstance> {
    let port = run.switch.iter().flat_map(|switch| &switch.ports).next();
    let ns = |us: f64| (us * 1000.0).round() as u64;
    let cycle_ns = port.map(|port| port.cycle_ns);
    let published_cycle_ns = published.cycle_us.map(ns);
    let slots = |slots: &mut dyn Iterator<Item = u64>| {
        let texts: Vec<String> = slots.map(format_duration_ns).collect();
        (!texts.is_empty()).then(|| Value::text(texts.join(", ")))
    };
    let published_slots = slots(&mut published.slots_us.iter().map(|us| ns(*us)));
    let our_slots =
        port.and_then(|port| slots(&mut port.entries.iter().map(|entry| u64::from(entry.interval_ns))));
    let same_slots = published_slots == our_slots;
    vec![
        board(run, published),
        kernel(run, published),
        preemption(run, published),
        circumstance(
            "cycle",
            published_cycle_ns.map(Value::DurationNs),
            cycle_ns.map(Value::DurationNs),
            || Sameness::of(published_cycle_ns == cycle_ns),
        ),
        circumstance("slots", published_slots, our_slots, || Sameness::of(same_slots)),
        duration(published, ours),
    ]
}

fn circumstance(
    name: &'static str,
    published: Option<Value>,
    ours: Option<Value>,
    sameness: impl FnOnce() -> Sameness,
) -> Circumstance {
    let known = published.is_some() && ours.is_some();
    Circumstance {
        name,
        published: published.into_iter().collect(),
        ours: ours.into_iter().collect(),
        sameness: if known { sameness() } else { Sameness::Unknown },
    }
}

/// A circumstance that depends on the outcome.
fn of_each(
    name: &'static str,
    published: Vec<Value>,
    ours: &[&Outcome],
    value: impl Fn(&Outcome) -> Vec<Value>,
    sameness: impl Fn(&Outcome) -> Sameness,
) -> Circumstance {
    let mut values: Vec<Value> = Vec::new();
    for one in ours.iter().flat_map(|outcome| value(outcome)) {
        if !values.contains(&one) {
            values.push(one);
        }
    }
    let known = !published.is_empty() && !values.is_empty();
    let sameness =
        if known { Sameness::of_all(ours.iter().map(|one| sameness(one))) } else { Sameness::Unknown };
    Circumstance { name, published, ours: values, sameness }
}

fn board(run: &Run, published: &PublishedResult) -> Circumstance {
    let model = run.facts.cpu.model.get();
    let known = run.facts.machine.board.get();
    let ours = match &run.lab {
        Some(lab) => Some(match known.or(model) {
            Some(name) => format!("emulated {}: {name}", lab.machine),
            None => format!("emulated {}", lab.machine),
        }),
        None => known.or(model).cloned(),
    };
    // An emulated board is not the real one, although its name is the same.
    let same = |name: &str| run.lab.is_none() && is_board(name, published.board.as_deref().unwrap_or(""));
    let sameness = || match (&run.lab, known) {
        (None, None) => Sameness::Unknown,
        (_, name) => Sameness::of(name.is_some_and(|name| same(name))),
    };
    circumstance("CPU and board", published.board.clone().map(Value::Text), ours.map(Value::Text), sameness)
}

/// Whether the board `name` is the one that an article names `published`. A revision, the manufacturer's name at the
/// beginning and additions after a comma are ignored.
fn is_board(name: &str, published: &str) -> bool {
    let plain = |text: &str| {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let named = name.split(" Rev ").next().unwrap_or(name);
    let (named, published) = (plain(named), plain(published.split(',').next().unwrap_or("")));
    !published.is_empty() && named.ends_with(&published)
}

fn cpus(run: &Run, published: &PublishedResult) -> Circumstance {
    let ours = run.facts.cpu.online.get().map(|online| online.len() as u64);
    let theirs = published.cpus.map(u64::from);
    circumstance("CPUs", theirs.map(Value::Count), ours.map(Value::Count), || Sameness::of(theirs == ours))
}

fn kernel(run: &Run, published: &PublishedResult) -> Circumstance {
    let ours = run.facts.kernel.release.get();
    circumstance("kernel", published.kernel.clone().map(Value::Text), ours.cloned().map(Value::Text), || {
        Sameness::of(ours == published.kernel.as_ref())
    })
}

fn preemption(run: &Run, published: &PublishedResult) -> Circumstance {
    let kernel = &run.facts.kernel;
    let none_at_all = published.kernel.as_ref().is_some_and(|kernel| kernel.contains("without preemption"));
    let theirs = match (&published.xenomai, published.preempt_rt) {
        (Some(version), _) => Some(format!("Xenomai {version} next to Linux")),
        (None, Some(true)) => Some(Preemption::Rt.name().to_owned()),
        (None, Some(false)) if none_at_all => Some(Preemption::None.name().to_owned()),
        (None, Some(false)) => Some("not PREEMPT_RT; the model is not stated".to_owned()),
        (None, None) => None,
    };
    let ours = match (kernel.co_kernel.get().filter(|core| *core != "none"), kernel.preemption.get()) {
        (Some(core), _) => Some(format!("{core} next to Linux")),
        (None, Some(model)) => Some(model.name().to_owned()),
        (None, None) => kernel.real_time.get().map(|rt| {
            if *rt { Preemption::Rt.name() } else { "not PREEMPT_RT; the model is unknown" }.to_owned()
        }),
    };
    let co_kernel = kernel.co_kernel.get().map(|core| core.to_lowercase().contains("xenomai"));
    let sameness = || match (&published.xenomai, published.preempt_rt, kernel.real_time.get()) {
        // Only the presence of Xenomai is compared.
        (Some(_), _, _) => co_kernel.map_or(Sameness::Unknown, Sameness::of),
        (None, Some(true), Some(ours)) => Sameness::of(*ours),
        (None, Some(false), Some(true)) => Sameness::Different,
        (None, Some(false), Some(false)) if none_at_all => kernel
            .preemption
            .get()
            .map_or(Sameness::Unknown, |model| Sameness::of(*model == Preemption::None)),
        _ => Sameness::Unknown,
    };
    circumstance("preemption", theirs.map(Value::Text), ours.map(Value::Text), sameness)
}

fn loads(published: &PublishedResult, ours: &[&Outcome]) -> Circumstance {
    of_each(
        "load",
        published.load.clone().map(Value::Text).into_iter().collect(),
        ours,
        |one| vec![Value::Text(outcome::under(&one.key.loads))],
        |one| load(published, &one.key.loads),
    )
}

/// Whether `ours` is the published load. Articles describe their load in a sentence, of which only "none" and the
/// script doload are recognised.
pub(super) fn load(published: &PublishedResult, ours: &[LoadSpec]) -> Sameness {
    let Some(theirs) = published.load.as_deref() else { return Sameness::Unknown };
    let is_none = theirs == "none";
    match ours {
        [] => Sameness::of(is_none),
        _ if is_none => Sameness::Different,
        [one] if *one == "doload" && theirs.starts_with("doload") => Sameness::Same,
        // A part of the load is the same. The run does not record whether the rest ran, such as a ping from another
        // host.
        loads if loads.iter().any(|one| theirs.contains(command_or_name(one))) => Sameness::Unknown,
        _ => Sameness::Different,
    }
}

/// The name of a load in an article: a command without tardy's prefix.
fn command_or_name(load: &LoadSpec) -> &str {
    match load.tasks() {
        [LoadTask::Command { line }] => line,
        _ => load.text(),
    }
}

fn interval(published: &PublishedResult, ours: &[&Outcome]) -> Circumstance {
    let theirs = published.interval_us.map(|us| (us * 1000.0).round() as u64);
    of_each(
        "interval",
        theirs.map(Value::DurationNs).into_iter().collect(),
        ours,
        |one| one.intervals_ns.iter().copied().map(Value::DurationNs).collect(),
        |one| match one.intervals_ns.as_slice() {
            [] => Sameness::Unknown,
            intervals => Sameness::of(intervals.iter().all(|ns| Some(*ns) == theirs)),
        },
    )
}

fn duration(published: &PublishedResult, ours: &[&Outcome]) -> Circumstance {
    let stated = published.duration.as_deref().and_then(duration::parse);
    let derived = samples_per_thread(published)
        .zip(published.interval_us)
        .map(|(samples, us)| samples as f64 * us * 1000.0)
        .filter(|_| !matches!(stated, Some(Stated::Exactly(_))));
    let mut theirs: Vec<Value> = published.duration.iter().map(Value::text).collect();
    theirs.extend(derived.map(|ns| Value::DerivedNs(ns as u64)));
    let stated = derived.map(Stated::Exactly).or(stated);
    let sameness = |one: &Outcome| {
        let ns = one.measured_ns as f64;
        match stated {
            // Files of other tools may not state the duration.
            _ if one.measured_ns == 0 => Sameness::Unknown,
            None => Sameness::Unknown,
            Some(Stated::Exactly(stated)) => Sameness::of(is_near(ns, stated, DURATION_TOLERANCE)),
            Some(Stated::About(stated)) => Sameness::of(is_near(ns, stated, ABOUT)),
            Some(Stated::AtLeast(least)) if ns < least => Sameness::Different,
            Some(Stated::AtLeast(_)) => Sameness::Unknown,
        }
    };
    of_each("duration", theirs, ours, known_length, sameness)
}

fn known_length(one: &Outcome) -> Vec<Value> {
    Some(one.measured_ns).filter(|ns| *ns > 0).map(Value::DurationNs).into_iter().collect()
}

fn samples(published: &PublishedResult, ours: &[&Outcome]) -> Circumstance {
    let theirs = samples_per_thread(published);
    of_each(
        "samples a thread",
        theirs.map(Value::Count).into_iter().collect(),
        ours,
        |one| vec![Value::Count(one.recorded_per_cpu)],
        |one| {
            let near = |n: u64| is_near(one.recorded_per_cpu as f64, n as f64, DURATION_TOLERANCE);
            theirs.map_or(Sameness::Unknown, |n| Sameness::of(near(n)))
        },
    )
}

/// The samples of one thread; all samples if the board has one CPU.
fn samples_per_thread(published: &PublishedResult) -> Option<u64> {
    published.samples_per_thread.or(published.samples.filter(|_| published.cpus == Some(1)))
}

fn is_near(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * one.max(other)
}

fn wake(published: &PublishedResult, ours: &[&Outcome]) -> Circumstance {
    of_each(
        "wake method",
        published.wake.clone().map(Value::Text).into_iter().collect(),
        ours,
        |one| one.key.wake.map(|wake| Value::text(wake.name())).into_iter().collect(),
        |one| {
            let same = |wake: tardy_record::plan::Wake| Some(wake.name()) == published.wake.as_deref();
            one.key.wake.map_or(Sameness::Unknown, |wake| Sameness::of(same(wake)))
        },
    )
}

fn at_level(published: &PublishedResult, ours: &[&Outcome]) -> Circumstance {
    // A result with a wake method but without a level is from the program's own thread, as in cyclictest.
    let program = published.wake.as_ref().map(|_| "user task".to_owned());
    let theirs = published.level.clone().or(program);
    let wanted = theirs.as_deref().and_then(super::level);
    of_each(
        "level",
        theirs.into_iter().map(Value::Text).collect(),
        ours,
        |one| vec![Value::text(one.key.level.name())],
        |one| wanted.map_or(Sameness::Unknown, |wanted| Sameness::of(one.key.level == wanted)),
    )
}
