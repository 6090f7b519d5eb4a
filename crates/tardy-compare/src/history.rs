//! Where a series of runs changed, and what changed on the machine at the same time.
//!
//! For each experiment that was run again and again, three figures are followed: the 99.9 % quantile, the typical maximum of
//! a minute (or of a second, in short runs), and the share of readings later than a declared limit. Change points are those
//! of [`tardy_statistics::change_points`]. The unit is the run: how many readings it has does not matter.

mod entry;
mod figure;

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_analyse::shape::Shape;
use tardy_statistics::change_points::{self, Options};

use crate::difference::Differences;

pub use entry::{Entry, Experiment};
pub use figure::Figure;

/// A change is certain only with this many runs after it (and as many before it).
pub const LEAST_RUNS: usize = 3;
/// A change with a higher p-value is not reported, not even as one that later runs decide.
pub const MOST_P_OF_POSSIBLE: f64 = 0.05;

/// The highest probability that a change is one by chance, unless another one is asked for.
pub const MOST_P: f64 = 0.001;
/// The least change that is reported, unless another one is asked for: 5 %.
pub const LEAST_CHANGE: f64 = 0.05;

/// A history of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// The runs, in order.
    pub runs: Vec<RunInHistory>,
    /// Whether they are in the order of their start; otherwise in the order in which they were given, since a start is unknown.
    pub by_time: bool,
    /// The figures that were followed, with their changes.
    pub lines: Vec<Line>,
    /// The distributions of each experiment, run by run.
    #[serde(skip)]
    pub distributions: Vec<Distributions>,
}

/// The distributions of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Distributions {
    /// The difference from the other experiments, as in [`Line`].
    pub experiment: String,
    /// The index of each run, and its distribution.
    pub runs: Vec<(usize, Shape)>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunInHistory {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// When it started, in RFC 3339, UTC; empty if unknown.
    pub started_at: String,
    /// Why its numbers are not used; `None` if they are.
    pub unusable_because: Option<String>,
}

/// One figure of one experiment over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The difference from the other experiments, such as `cpu_hog, interval 1ms`; the wake method if there is one only.
    pub experiment: String,
    /// The figure.
    pub figure: Figure,
    /// Its value in each run that has it.
    pub points: Vec<Point>,
    /// The levels between the changes: one more than there are changes.
    pub levels: Vec<Level>,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The index of the run.
    pub run: usize,
    /// The value: ns, or a share.
    pub value: f64,
}

/// The mean between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The index of its first point.
    pub from: usize,
    /// The index after its last point.
    pub to: usize,
    /// The mean of the values; of latencies the geometric mean.
    pub value: f64,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The index of the last run before it.
    pub before: usize,
    /// The index of the first run after it.
    pub after: usize,
    /// The level before.
    pub from: f64,
    /// The level after.
    pub to: f64,
    /// The probability that the same runs in a random order have a change as clear as this one ([`change_points::confirmed`]).
    pub p: f64,
    /// Whether `p` is at most the significance that was asked for, and enough runs are on either side. Otherwise the next runs decide.
    pub certain: bool,
    /// How many runs are on the shorter side, to the next change or the end.
    pub runs_on_the_shorter_side: usize,
    /// What differs between the machines and kernels of the two runs; `None` until it was looked up.
    pub differences: Option<Differences>,
}

/// The history of `entries`. Changes below `least_change` (0.05 is 5 %) are left out. Those with a higher p-value than `most_p` are not
/// certain.
pub fn of(mut entries: Vec<Entry>, most_p: f64, least_change: f64) -> History {
    let by_time = entries.iter().all(|entry| !entry.started_at.is_empty());
    if by_time {
        entries.sort_by(|one, other| one.started_at.cmp(&other.started_at).then(one.file.cmp(&other.file)));
    }
    let lines = lines(&entries, most_p, least_change);
    let distributions = distributions(&entries);
    let runs = entries.into_iter().map(RunInHistory::from).collect();
    History { runs, by_time, lines, distributions }
}

/// The values of each figure of each experiment, in the order of the runs.
fn lines(entries: &[Entry], most_p: f64, least_change: f64) -> Vec<Line> {
    let mut all: BTreeMap<(&Experiment, Figure), Vec<Point>> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.unusable_because.is_none()) {
        for (experiment, figures) in &entry.experiments {
            for (figure, value) in &figures.values {
                all.entry((experiment, *figure)).or_default().push(Point { run, value: *value });
            }
        }
    }
    let is_followed = |(experiment, figure): &&(&Experiment, Figure)| is_best(*figure, experiment, &all);
    let followed: Vec<&(&Experiment, Figure)> = all.keys().filter(is_followed).collect();
    let labels = Experiment::labels(&followed.iter().map(|(experiment, _)| *experiment).collect::<Vec<_>>());
    let lines = followed.iter().zip(labels);
    lines.map(|(of, label)| Line::of(label, of.1, all[*of].clone(), most_p, least_change)).collect()
}

/// The distributions of each experiment, in the order of the runs.
fn distributions(entries: &[Entry]) -> Vec<Distributions> {
    let mut all: BTreeMap<&Experiment, Vec<(usize, Shape)>> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        for (experiment, figures) in &entry.experiments {
            all.entry(experiment).or_default().push((run, figures.shape.clone()));
        }
    }
    let labels = Experiment::labels(&all.keys().copied().collect::<Vec<_>>());
    labels
        .into_iter()
        .zip(all.into_values())
        .map(|(experiment, runs)| Distributions { experiment, runs })
        .collect()
}

/// Whether `figure` is to be followed. Of the maxima of minutes and of seconds, those are followed that more runs have, and of two
/// that as many have, those of minutes.
fn is_best(
    figure: Figure,
    experiment: &Experiment,
    all: &BTreeMap<(&Experiment, Figure), Vec<Point>>,
) -> bool {
    let count = |figure: Figure| all.get(&(experiment, figure)).map_or(0, Vec::len);
    match figure {
        Figure::MaximumOfMinutes => count(figure) >= count(Figure::MaximumOfSeconds),
        Figure::MaximumOfSeconds => count(figure) > count(Figure::MaximumOfMinutes),
        _ => true,
    }
}

impl Line {
    fn of(experiment: String, figure: Figure, points: Vec<Point>, most_p: f64, least_change: f64) -> Self {
        let values: Vec<f64> = points.iter().map(|point| figure.on_its_scale(point.value)).collect();
        let options =
            Options { most_p, least_magnitude: least_change, scale: figure.scale(), ..Options::default() };
        // Only finite values are in a history.
        let found = change_points::confirmed(&values, &options, MOST_P_OF_POSSIBLE).unwrap_or_default();
        let mut edges: Vec<usize> = found.iter().map(|change| change.index).collect();
        edges.insert(0, 0);
        edges.push(points.len());
        let level = |edges: &[usize]| Level {
            from: edges[0],
            to: edges[1],
            value: figure.mean(&values[edges[0]..edges[1]]),
        };
        let levels: Vec<Level> = edges.windows(2).map(level).collect();
        let changes = found.iter().zip(levels.windows(2)).map(|(change, sides)| {
            let runs_on_the_shorter_side = sides.iter().map(|side| side.to - side.from).min().unwrap_or(0);
            Change {
                before: points[change.index - 1].run,
                after: points[change.index].run,
                from: sides[0].value,
                to: sides[1].value,
                p: change.p,
                certain: change.p <= most_p && runs_on_the_shorter_side >= LEAST_RUNS,
                runs_on_the_shorter_side,
                differences: None,
            }
        });
        let changes = changes.collect();
        Self { experiment, figure, points, levels, changes }
    }
}

impl History {
    /// The changes of all figures, in the order of the runs.
    pub fn changes(&self) -> Vec<(&Line, &Change)> {
        let mut all: Vec<(&Line, &Change)> = self
            .lines
            .iter()
            .flat_map(|line| line.changes.iter().map(move |change| (line, change)))
            .collect();
        all.sort_by_key(|(_, change)| change.after);
        all
    }

    /// Looks up the differences between the runs on both sides of each change, by the indices of the runs. A pair is looked up
    /// once, however many figures changed there.
    ///
    /// # Errors
    /// The first error of `between`.
    pub fn explain<E>(
        &mut self,
        mut between: impl FnMut(&RunInHistory, &RunInHistory) -> Result<Differences, E>,
    ) -> Result<(), E> {
        let mut known: BTreeMap<(usize, usize), Differences> = BTreeMap::new();
        for change in self.lines.iter_mut().flat_map(|line| &mut line.changes) {
            let pair = (change.before, change.after);
            if let std::collections::btree_map::Entry::Vacant(place) = known.entry(pair) {
                place.insert(between(&self.runs[pair.0], &self.runs[pair.1])?);
            }
            change.differences = known.get(&pair).cloned();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
