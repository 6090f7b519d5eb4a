//! What was measured in all observations, in pairs of the base and of the candidate, and its names.

use tardy_analyse::outcome::{self, Key};
use tardy_record::Run;

use super::factor::Factor;
use super::readings::{Readings, Subject};

/// The subjects that all observations of a group have, in the order of the first.
pub(super) fn common_subjects(observations: &[Vec<(Subject, Readings<'_>)>]) -> Vec<Subject> {
    let is_in_all =
        |subject: &Subject| observations.iter().all(|one| one.iter().any(|(known, _)| known == subject));
    observations[0].iter().map(|(subject, _)| subject.clone()).filter(is_in_all).collect()
}

/// The subjects of both groups in pairs. With the recipe under test, those that are in one group only are paired in their order.
pub(super) fn paired([base, candidate]: &[Vec<Subject>; 2], factor: &Factor) -> Vec<(Subject, Subject)> {
    let mut pairs: Vec<(Subject, Subject)> = base
        .iter()
        .filter(|subject| candidate.contains(subject))
        .map(|subject| (subject.clone(), subject.clone()))
        .collect();
    if *factor == Factor::Recipe {
        let left = |ours: &[Subject], theirs: &[Subject]| -> Vec<Subject> {
            ours.iter().filter(|subject| !theirs.contains(subject)).cloned().collect()
        };
        let (ours, theirs) = (left(base, candidate), left(candidate, base));
        if ours.len() == theirs.len() {
            pairs.extend(ours.into_iter().zip(theirs).filter(|(one, other)| is_alike(one, other)));
        }
    }
    pairs
}

/// Whether two subjects are of the same kind and level.
fn is_alike(one: &Subject, other: &Subject) -> bool {
    match (one, other) {
        (Subject::Latency(one), Subject::Latency(other)) => {
            (one.level, one.source, one.is_of_reactions())
                == (other.level, other.source, other.is_of_reactions())
        }
        (Subject::Noise(_), Subject::Noise(_)) => true,
        _ => false,
    }
}

pub(super) fn described(subject: &Subject) -> String {
    match subject {
        Subject::Latency(key) => {
            let wake = key.wake.map_or_else(|| key.level.name().to_owned(), |wake| wake.name().to_owned());
            format!("{wake} under {}", outcome::under(&key.loads))
        }
        Subject::Noise(loads) => format!("noise under {}", outcome::under(loads)),
    }
}

/// A label for each subject: that of its phase, if it has one that is its own; else what distinguishes it.
pub(super) fn labels(subjects: &[&Subject], run: &Run, readings: &[(Subject, Readings<'_>)]) -> Vec<String> {
    let of_phase = |subject: &&Subject| {
        let series = &readings.iter().find(|(known, _)| known == *subject)?.1.series;
        let phase = series.first()?.phase;
        let is_one = series.iter().all(|one| one.phase == phase);
        is_one.then(|| run.phases.get(phase).map(|phase| phase.label.clone()))?
    };
    let phases: Vec<Option<String>> = subjects.iter().map(of_phase).collect();
    let is_distinct = |label: &Option<String>| {
        label.is_some() && phases.iter().filter(|other| *other == label).count() == 1
    };
    if phases.iter().all(is_distinct) {
        return phases.into_iter().flatten().collect();
    }
    let keys: Vec<&Key> = subjects
        .iter()
        .filter_map(|subject| match subject {
            Subject::Latency(key) => Some(key),
            Subject::Noise(_) => None,
        })
        .collect();
    let mut of_keys = outcome::labels(&keys).into_iter();
    let label = |subject: &&Subject| match subject {
        Subject::Latency(_) => of_keys.next().unwrap_or_default(),
        Subject::Noise(_) => described(subject),
    };
    subjects.iter().map(label).collect()
}
