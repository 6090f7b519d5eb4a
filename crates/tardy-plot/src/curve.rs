//! The curves of a plot: CPUs of one phase, phases of one run, or runs.

use std::collections::BTreeSet;

use tardy_analyse::name::Readings;
use tardy_analyse::{lab, name, pool};
use tardy_record::{Histogram, Run, Series};

use crate::numbers::{harmless, short_inside};
use crate::worst_cpus::{self, WorstCpus};

/// The number of colours. If there are more curves, only the worst have separate colours; the others share a faint one.
pub const COLOURS: usize = 8;
/// Longer labels are shortened.
const LABEL_MAX: usize = 40;
/// How many curves have a separate colour if there are more than [`COLOURS`].
const STANDING_OUT: usize = 3;

/// CSS class of the curve of all CPUs together.
pub const POOLED: &str = "pool";

/// A curve of a plot.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name, such as `cpu 1`.
    pub name: String,
    /// The name, shortened for a legend.
    pub label: String,
    /// CSS class of its colour.
    pub class: &'static str,
    /// The values.
    pub histogram: Histogram,
    /// Highest value recorded.
    pub max_ns: Option<i64>,
    /// Whether that is a lower bound.
    pub max_at_least: bool,
}

/// The curves of `runs`: one for each of several runs, or for each run and phase if they share a few phases; for a
/// single run one for each of several phases, or for each CPU. Of many CPUs the worst have a curve, and all together
/// have one, which is the first.
///
/// Empty curves, and those that [`undrawn`] names, are left out.
pub fn curves(runs: &[&Run]) -> Vec<Curve> {
    with_series(runs).into_iter().map(|(curve, _)| curve).collect()
}

/// The same as [`curves`], each with the series that it consists of.
pub fn with_series<'a>(runs: &[&'a Run]) -> Vec<(Curve, Vec<&'a Series>)> {
    let lines = lines(runs);
    if let ([run], Some(worst)) = (runs, worst_of(runs, &lines)) {
        let all = drawn(&(format!("all {}", lines.len()), drawn_of(run).collect()));
        let worst = coloured(worst.shown.iter().filter_map(|index| drawn(&lines[*index])).collect());
        let pooled = |(curve, series)| (Curve { class: POOLED, ..curve }, series);
        return all.map(pooled).into_iter().chain(worst).collect();
    }
    coloured(lines.iter().filter_map(drawn).collect())
}

/// The curve of these series together, without a colour, and the series; `None` if it is empty or cannot be drawn.
fn drawn<'a>((label, series): &(String, Vec<&'a Series>)) -> Option<(Curve, Vec<&'a Series>)> {
    let pool = pool::of(series).ok().filter(|pool| !pool.histogram.has_no_distribution())?;
    let name = harmless(label);
    let curve = Curve {
        label: short_inside(&name, LABEL_MAX),
        name,
        class: "",
        max_ns: pool.max_ns,
        max_at_least: pool.max_at_least,
        histogram: pool.histogram,
    };
    (!curve.histogram.is_empty()).then(|| (curve, series.clone()))
}

/// Which of the CPUs of a single run have a curve; `None` if all have.
fn worst_of(runs: &[&Run], lines: &[(String, Vec<&Series>)]) -> Option<WorstCpus> {
    let [run] = runs else { return None };
    let maxima: Vec<Option<i64>> =
        lines.iter().map(|(_, series)| series.iter().filter_map(|one| one.max_ns).max()).collect();
    let is_one_phase = run.phases.len() < 2 && worst_cpus::are_of_cpus(Readings::of_runs(runs));
    worst_cpus::of(&maxima).filter(|_| is_one_phase)
}

/// The number of CPUs of `run` that have no curve since they are not among the worst; `None` if all have one.
pub fn left_out(run: &Run) -> Option<usize> {
    worst_of(&[run], &lines(&[run])).map(|worst| worst.folded.len())
}

/// The names of series without a curve: only their counts, minimum and maximum are known, or their bins do not fit each
/// other.
pub fn undrawn(runs: &[&Run]) -> Vec<String> {
    let cannot_be = |(_, series): &(String, Vec<&Series>)| {
        let holds = series.iter().any(|one| one.tally.recorded > 0);
        holds && pool::of(series).map_or(true, |pool| pool.histogram.has_no_distribution())
    };
    lines(runs).into_iter().filter(cannot_be).map(|(label, _)| harmless(&label)).collect()
}

/// The name and the series of each curve.
fn lines<'a>(runs: &[&'a Run]) -> Vec<(String, Vec<&'a Series>)> {
    match runs {
        [run] if run.phases.len() > 1 => {
            let of_phase = |phase: usize| drawn_of(run).filter(|series| series.phase == phase).collect();
            let labels: Vec<String> = run.phases.iter().map(|phase| phase.label.clone()).collect();
            let phases: Vec<usize> = (0..labels.len()).collect();
            let labels = name::distinct(&labels, &phases);
            labels.into_iter().zip(phases).map(|(label, phase)| (label, of_phase(phase))).collect()
        }
        [run] => run.own_series().map(|series| (name::of(series), vec![series])).collect(),
        runs => {
            let shared = shared(runs);
            let phases = shared_phases(runs);
            let marked = |(run, name): (&&'a Run, String)| match lab::meaningless_because(run) {
                Some(_) => (*run, format!("{name}, meaningless")),
                None => (*run, name),
            };
            let of_run = |(run, name): (&'a Run, String)| -> Vec<(String, Vec<&'a Series>)> {
                let of = |phase: Option<usize>| {
                    let wanted = |series: &&Series| {
                        let is_shared =
                            shared.as_ref().is_none_or(|shared| shared.contains(&series.label.as_str()));
                        is_shared && phase.is_none_or(|phase| series.phase == phase)
                    };
                    drawn_of(run).filter(wanted).collect::<Vec<_>>()
                };
                match &phases {
                    None => vec![(name, of(None))],
                    Some(labels) => {
                        let labelled = labels.iter().enumerate();
                        labelled.map(|(phase, label)| (format!("{name}, {label}"), of(Some(phase)))).collect()
                    }
                }
            };
            runs.iter().zip(names(runs)).map(marked).flat_map(of_run).collect()
        }
    }
}

/// The series of `run` that are drawn together: lengths of gaps, durations of toggles and latencies do not share an
/// axis. If there are latencies these are drawn; the others have separate plots or tables.
fn drawn_of(run: &Run) -> impl Iterator<Item = &Series> {
    let readings = Readings::of_runs(&[run]);
    run.own_series().filter(move |series| {
        let of_it = Readings::of(series);
        of_it.shares_axis_with(readings)
    })
}

/// The labels of the series that all of `runs` have, if some have others too: only these are pooled and compared.
/// `None` if all have the same, or if they have none in common.
pub fn shared<'a>(runs: &[&'a Run]) -> Option<Vec<&'a str>> {
    let labels =
        |run: &&'a Run| run.own_series().map(|series| series.label.as_str()).collect::<BTreeSet<_>>();
    let all: Vec<BTreeSet<&str>> = runs.iter().map(labels).filter(|labels| !labels.is_empty()).collect();
    let (first, others) = all.split_first()?;
    let shared: Vec<&str> =
        first.iter().copied().filter(|label| others.iter().all(|other| other.contains(label))).collect();
    (!shared.is_empty() && all.iter().any(|labels| labels.len() > shared.len())).then_some(shared)
}

/// The labels of the phases of several runs, if they are the same and so few that each can have its own curve: an idle
/// phase and a loaded one must not be pooled.
pub fn shared_phases(runs: &[&Run]) -> Option<Vec<String>> {
    let labels = |run: &Run| run.phases.iter().map(|phase| phase.label.clone()).collect::<Vec<_>>();
    let first = labels(runs.first()?);
    let same = runs.iter().all(|run| labels(run) == first);
    (same && first.len() > 1 && first.len() * runs.len() <= COLOURS).then_some(first)
}

/// A name for each of several runs, as [`name::of_runs`] has them, for a page.
pub fn names(runs: &[&Run]) -> Vec<String> {
    name::of_runs(runs).iter().map(|name| harmless(name)).collect()
}

fn coloured(mut curves: Vec<(Curve, Vec<&Series>)>) -> Vec<(Curve, Vec<&Series>)> {
    let weights: Vec<i64> = curves.iter().map(|(curve, _)| curve.max_ns.unwrap_or(i64::MIN)).collect();
    for ((curve, _), class) in curves.iter_mut().zip(classes(&weights)) {
        curve.class = class;
    }
    curves
}

/// The CSS class of the colour of each curve. If there are more than [`COLOURS`], those with the highest weights have
/// separate colours.
pub fn classes(weights: &[i64]) -> Vec<&'static str> {
    const CLASSES: [&str; COLOURS] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
    if weights.len() <= COLOURS {
        return CLASSES[..weights.len()].to_vec();
    }
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(weights[*index]));
    let mut classes = vec!["rest"; weights.len()];
    for (place, index) in order.into_iter().take(STANDING_OUT).enumerate() {
        classes[index] = CLASSES[place];
    }
    classes
}

/// The curves in drawing order: faint ones first, so that the others are on top.
pub fn drawing_order(curves: &[Curve]) -> Vec<&Curve> {
    let (faint, others): (Vec<&Curve>, Vec<&Curve>) = curves.iter().partition(|curve| curve.class == "rest");
    faint.into_iter().chain(others).collect()
}
