//! Matches the phases and series of two runs, and decides whether they can be compared.
//!
//! Runs of one recipe use the same names for the same things. Files of other tools do not: `cpu 0` in one file is `thread 0` in
//! another, and a capture names its phases after channels. Phases and series whose name is in one run only are paired if the
//! pair is unambiguous, with a note.

use tardy_record::plan::PhasePlan;
use tardy_record::series::{Level, Quantity};
use tardy_record::{Run, Series};

use tardy_analyse::name::Readings;

/// The matching phases of two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paired {
    /// Indices into the phases of the base and of the candidate, in the base's order.
    pub(crate) phases: Vec<(usize, usize)>,
    /// Notes on pairs with different names, with the reason.
    pub(crate) notes: Vec<String>,
    /// Whether the user named the phases, so that all others are left out on purpose.
    pub(crate) asked: bool,
}

/// Pairs the phases. If both runs have a single phase, these two are paired. Else phases are paired by wake method, loads and
/// round, in order; then by their labels; then a remaining phase with the only phase of the other run that counts the same
/// quantity at the same level.
pub(crate) fn phases(base: &Run, candidate: &Run) -> Paired {
    let mut paired = Paired::default();
    if let ([one], [other]) = (&base.phases[..], &candidate.phases[..]) {
        if why_not(base, 0, candidate, 0).is_none() {
            paired.phases.push((0, 0));
            if one.label != other.label {
                paired.notes.push(format!(
                    "'{}' with '{}': each is the only phase of its run",
                    one.label, other.label
                ));
            }
        }
        return paired;
    }
    let same_label = |a: usize, b: usize| base.phases[a].label == candidate.phases[b].label;
    let same_plan = |a: usize, b: usize| same_plan(base, a, candidate, b);
    let rules: [&dyn Fn(usize, usize) -> bool; 2] = [&same_plan, &same_label];
    for same in rules {
        for index in 0..base.phases.len() {
            if paired.phases.iter().any(|(taken, _)| *taken == index) {
                continue;
            }
            let found = paired.free_of(candidate).into_iter().find(|other| same(index, *other));
            paired.phases.extend(found.map(|other| (index, other)));
        }
    }
    paired.add_only_ones(base, candidate);
    paired.phases.sort_unstable();
    paired
}

/// Pairs the phases that the user named, each as `BASE=CANDIDATE`, by label or by number from 1.
///
/// # Errors
/// A message for the user if there is no such phase, or if the two count different things.
pub(crate) fn asked(base: &Run, candidate: &Run, pairs: &[String]) -> Result<Paired, String> {
    let mut paired = Paired { asked: true, ..Paired::default() };
    for pair in pairs {
        let (a, b) = one_asked(base, candidate, pair)?;
        if let Some(reason) = why_not(base, a, candidate, b) {
            return Err(reason);
        }
        paired.phases.push((a, b));
    }
    paired.phases.sort_unstable();
    paired.phases.dedup();
    Ok(paired)
}

fn one_asked(base: &Run, candidate: &Run, pair: &str) -> Result<(usize, usize), String> {
    let splits: Vec<(&str, &str)> =
        pair.match_indices('=').map(|(at, _)| (&pair[..at], &pair[at + 1..])).collect();
    if splits.is_empty() {
        return Err(format!(
            "'{pair}' is not a pair of phases: expected BASE=CANDIDATE, each a name or a number from 1"
        ));
    }
    // A name may contain an equals sign.
    let found = splits.iter().find_map(|(a, b)| Some((named(base, a)?, named(candidate, b)?)));
    found.ok_or_else(|| {
        let (ours, theirs) = (all_of(base), all_of(candidate));
        format!("'{pair}' does not name a phase of each run: the base has {ours}; the candidate has {theirs}")
    })
}

/// The phase that `text` names: by its label, else by its number from 1.
fn named(run: &Run, text: &str) -> Option<usize> {
    let text = text.trim();
    run.phases.iter().position(|phase| phase.label == text).or_else(|| {
        let number: usize = text.parse().ok()?;
        (1..=run.phases.len()).contains(&number).then(|| number - 1)
    })
}

/// The phases of a run, for a message.
pub(crate) fn all_of(run: &Run) -> String {
    let labels: Vec<String> = run
        .phases
        .iter()
        .enumerate()
        .map(|(index, phase)| format!("{} '{}'", index + 1, phase.label))
        .collect();
    if labels.is_empty() { "no phase".to_owned() } else { labels.join(", ") }
}

impl Paired {
    fn free_of(&self, candidate: &Run) -> Vec<usize> {
        (0..candidate.phases.len())
            .filter(|index| self.phases.iter().all(|(_, taken)| taken != index))
            .collect()
    }

    /// Pairs each remaining phase that has exactly one counterpart, which has no other.
    fn add_only_ones(&mut self, base: &Run, candidate: &Run) {
        let left: Vec<usize> = (0..base.phases.len())
            .filter(|index| self.phases.iter().all(|(taken, _)| taken != index))
            .collect();
        let free = self.free_of(candidate);
        let fits = |a: usize, b: usize| {
            level(base, a).is_some()
                && level(base, a) == level(candidate, b)
                && why_not(base, a, candidate, b).is_none()
        };
        for a in &left {
            let theirs: Vec<&usize> = free.iter().filter(|b| fits(*a, **b)).collect();
            let [b] = theirs[..] else { continue };
            if left.iter().filter(|other| fits(**other, *b)).count() == 1 {
                self.phases.push((*a, *b));
                let (one, other) = (&base.phases[*a].label, &candidate.phases[*b].label);
                self.notes.push(format!("'{one}' with '{other}': no others are at the same level"));
            }
        }
    }
}

/// The level of a phase, which is that of its first own series.
fn level(run: &Run, phase: usize) -> Option<Level> {
    run.own_series().find(|series| series.phase == phase).map(|series| series.level)
}

fn same_plan(base: &Run, phase: usize, candidate: &Run, other: usize) -> bool {
    let labels = (&base.phases[phase].label, &candidate.phases[other].label);
    match (base.plan.phases.get(phase), candidate.plan.phases.get(other)) {
        (Some(a), Some(b)) => {
            let wake = |plan: &PhasePlan| plan.probe.timer().map(|timer| timer.wake);
            // The levels in a file of another tool are phases of one plan, which only their labels distinguish.
            let foreign = a.probe.foreign().is_some();
            (a.probe.name(), wake(a), &a.loads, a.round) == (b.probe.name(), wake(b), &b.loads, b.round)
                && (!foreign || labels.0 == labels.1)
        }
        _ => labels.0 == labels.1,
    }
}

/// The reason why two phases with readings are not comparable, because they count different things; `None` if they are.
pub(crate) fn why_not(base: &Run, phase: usize, candidate: &Run, other: usize) -> Option<String> {
    let (ours, theirs) = (series_of(base, phase), series_of(candidate, other));
    let none_alike = !ours.iter().any(|one| theirs.iter().any(|their| alike(one, their)));
    let (first, second) = (ours.first()?, theirs.first()?);
    none_alike.then(|| {
        format!(
            "'{}' of the base has {}, and '{}' of the candidate has {}: they count different things",
            base.phases[phase].label,
            Readings::of(first).name(),
            candidate.phases[other].label,
            Readings::of(second).name()
        )
    })
}

/// The own series of a phase.
pub(crate) fn series_of(run: &Run, phase: usize) -> Vec<&Series> {
    run.own_series().filter(|series| series.phase == phase).collect()
}

/// Whether the numbers of two series are of the same kind: both latencies, or both noise in the same form.
pub(crate) fn alike(one: &Series, other: &Series) -> bool {
    let readings = (Readings::of(one), Readings::of(other));
    readings.0 == readings.1
        || one.quantity == other.quantity
            && one.quantity != Quantity::Spacing
            && ![readings.0, readings.1].contains(&Readings::Gaps)
}

/// The matching series of two phases, by label; if no labels agree and both have a single series, these two.
pub(crate) fn series<'a, 'b>(ours: &[&'a Series], theirs: &[&'b Series]) -> Vec<(&'a Series, &'b Series)> {
    let same = |one: &&'a Series| {
        tardy_analyse::stop::check();
        let found = theirs.iter().find(|other| other.label == one.label && alike(one, other))?;
        Some((*one, *found))
    };
    let named: Vec<_> = ours.iter().filter_map(same).collect();
    match (ours, theirs) {
        ([one], [other]) if named.is_empty() && alike(one, other) => vec![(*one, *other)],
        _ => named,
    }
}
