//! A comparison as tables with one column for each run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tardy_analyse::stop;

use super::{Comparison, Pair, RowPair};
use crate::difference::Difference;
use crate::shape::Shape;
use tardy_analyse::name::Readings;
use tardy_analyse::row::Row;

/// The statistics of one series, or of all series of a phase, in several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns<'a> {
    /// The phase's label in the base.
    pub phase: &'a str,
    /// The series' label, or `all`.
    pub label: &'a str,
    /// For `all`, the series that are included, if a run has others too.
    pub only: Option<&'a [String]>,
    /// What is counted.
    pub readings: Readings,
    /// The columns: indices of runs, 0 for the base.
    pub runs: Vec<usize>,
    /// The statistics.
    pub statistics: Vec<Statistic>,
    /// The distances between the distributions of the base and of the candidate in each column but the first.
    pub shapes: Vec<Option<Shape>>,
    base: &'a Row,
}

/// One statistic of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Its name: `min`, `mean`, a quantile, `max`.
    pub name: &'static str,
    /// The value of each column.
    pub figures: Vec<Figure>,
}

/// One statistic of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The value in ns; `None` if it is not determined.
    pub ns: Option<f64>,
    /// Whether it is a lower bound.
    pub at_least: bool,
    /// This value over that of the base; `None` for the base, and if either is absent, a lower bound or not positive.
    pub ratio: Option<f64>,
}

/// One part of a machine that was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The machine and the kernel.
    Machine,
    /// The kernel's command line.
    CommandLine,
    /// The kernel's configuration.
    Configuration,
}

impl Part {
    /// All parts, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Machine, Self::CommandLine, Self::Configuration];

    /// Its name, as a heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Machine => "Machine and kernel",
            Self::CommandLine => "Kernel command line",
            Self::Configuration => "Kernel configuration",
        }
    }

    /// Its differences in `pair`; `None` if they are unknown.
    fn of(self, pair: &Pair) -> Option<&Vec<Difference>> {
        match self {
            Self::Machine if pair.differences.facts.is_empty() && pair.differences.unknown_machine => None,
            Self::Machine => Some(&pair.differences.facts),
            Self::CommandLine => pair.differences.command_line.as_ref(),
            Self::Configuration => pair.differences.config.as_ref(),
        }
    }
}

/// The differences of one part of the machines.
#[derive(Clone, Debug, PartialEq)]
pub struct PartDifferences {
    /// The part.
    pub part: Part,
    /// What differs, a row each.
    pub rows: Vec<DifferenceRow>,
    /// Whether the part is unknown for the base or for all candidates.
    pub is_unknown: bool,
}

/// One difference between several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferenceRow {
    /// The difference, such as `kernel: release`.
    pub name: String,
    /// The value of each run, the base first.
    pub values: Vec<DifferingValue>,
}

/// The value of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferingValue {
    /// A value.
    Known(String),
    /// The run's machine lacks it.
    Absent,
    /// The part is unknown for this run.
    Unknown,
}

impl From<&Option<String>> for DifferingValue {
    fn from(value: &Option<String>) -> Self {
        value.clone().map_or(Self::Absent, Self::Known)
    }
}

impl Comparison {
    /// The names of the runs, the base first.
    pub fn names(&self) -> Vec<&str> {
        let candidates = self.candidates.iter().map(|pair| pair.candidate.name.as_str());
        std::iter::once(self.base.name.as_str()).chain(candidates).collect()
    }

    /// The statistics of all runs: a table for each phase and series of the base that a candidate has too.
    pub fn tables(&self) -> Vec<Columns<'_>> {
        let mut tables: Vec<Columns<'_>> = Vec::new();
        // The tables of each label: a phase may have many series.
        let mut by_label: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (run, pair) in (1..).zip(&self.candidates) {
            for row in &pair.rows {
                stop::check();
                let of_label = by_label.entry(&row.label).or_default();
                match of_label.iter().find(|table| tables[**table].fits(row)) {
                    Some(table) => tables[*table].add(run, row),
                    None => {
                        of_label.push(tables.len());
                        tables.push(Columns::of(run, row));
                    }
                }
            }
        }
        tables
    }

    /// What differs between the machines, a table for each part.
    pub fn differences(&self) -> Vec<PartDifferences> {
        Part::ALL.into_iter().map(|part| self.differences_of(part)).collect()
    }

    /// Facts that are unknown of the base and of a candidate, each once.
    pub fn unknown_facts(&self) -> Vec<&str> {
        let all: BTreeSet<&str> =
            self.candidates.iter().flat_map(|pair| &pair.differences.unknown).map(String::as_str).collect();
        all.into_iter().collect()
    }

    fn differences_of(&self, part: Part) -> PartDifferences {
        let lists: Vec<Option<&Vec<Difference>>> = self.candidates.iter().map(|pair| part.of(pair)).collect();
        // By name, each candidate's difference: there are as many as a kernel has options.
        let mut by_name: BTreeMap<&str, Vec<Option<&Difference>>> = BTreeMap::new();
        for (candidate, list) in lists.iter().enumerate() {
            for difference in list.iter().copied().flatten() {
                let of_name = by_name.entry(&difference.name).or_insert_with(|| vec![None; lists.len()]);
                of_name[candidate].get_or_insert(difference);
            }
        }
        let row = |(name, found): (&str, Vec<Option<&Difference>>)| {
            stop::check();
            let base = found.iter().flatten().next().map_or(DifferingValue::Absent, |one| (&one.base).into());
            let of_candidate = |(list, found): (&Option<&Vec<Difference>>, &Option<&Difference>)| {
                if list.is_none() {
                    return DifferingValue::Unknown;
                }
                found.map_or_else(|| base.clone(), |one| (&one.candidate).into())
            };
            let of_candidates = lists.iter().zip(&found).map(of_candidate);
            let values = std::iter::once(base.clone()).chain(of_candidates).collect();
            DifferenceRow { name: name.to_owned(), values }
        };
        let rows = by_name.into_iter().map(row).collect();
        PartDifferences { part, rows, is_unknown: lists.iter().all(Option::is_none) }
    }
}

impl<'a> Columns<'a> {
    fn of(run: usize, row: &'a RowPair) -> Self {
        let base = |one: &super::Ratio| Statistic {
            name: one.name,
            figures: vec![Figure { ns: one.base_ns, at_least: one.base_at_least, ratio: None }],
        };
        let mut table = Self {
            phase: &row.phase,
            label: &row.label,
            only: row.only.as_deref(),
            readings: row.readings,
            runs: vec![0],
            statistics: row.ratios.iter().map(base).collect(),
            shapes: Vec::new(),
            base: &row.base,
        };
        table.add(run, row);
        table
    }

    /// Whether `row` compares the same numbers of the base.
    fn fits(&self, row: &RowPair) -> bool {
        self.phase == row.phase
            && self.label == row.label
            && self.only == row.only.as_deref()
            && *self.base == row.base
    }

    fn add(&mut self, run: usize, row: &RowPair) {
        self.runs.push(run);
        self.shapes.push(row.shape);
        for (statistic, one) in self.statistics.iter_mut().zip(&row.ratios) {
            statistic.figures.push(Figure {
                ns: one.candidate_ns,
                at_least: one.candidate_at_least,
                ratio: one.ratio,
            });
        }
    }

    /// Whether it is of all series of a phase together.
    pub fn is_pooled(&self) -> bool {
        self.label == "all"
    }

    /// The statistic of this name.
    pub fn statistic(&self, name: &str) -> Option<&Statistic> {
        self.statistics.iter().find(|statistic| statistic.name == name)
    }
}

#[cfg(test)]
mod tests {
    use tardy_record::facts::Fact;
    use tardy_record::{Run, file};

    use super::*;
    use crate::side_by_side;

    const STEADY: &[u8] = include_bytes!("../../../tardy-present/tests/runs/steady.run.json");

    /// A run whose kernel has this many options, each with the value `value`.
    fn run(options: usize, value: &str) -> Run {
        let mut run = file::from_text(STEADY).unwrap();
        let config = (0..options).map(|number| (format!("OPTION_{number}"), value.to_owned()));
        run.facts.kernel.config = Fact::known(config.collect(), "test");
        run
    }

    #[test]
    fn as_many_options_as_a_file_may_have_are_compared() {
        // A comparison of each option with each other one would take minutes.
        let runs: Vec<Run> = (0..9).map(|number| run(file::OPTIONS_MAX, &number.to_string())).collect();
        let comparison = side_by_side::of(&runs.iter().collect::<Vec<_>>()).unwrap();
        let differences = comparison.differences();
        let config = differences.iter().find(|one| one.part == Part::Configuration).unwrap();
        assert_eq!(config.rows.len(), file::OPTIONS_MAX);
        assert!(config.rows.is_sorted_by(|one, other| one.name < other.name));
        let expected: Vec<DifferingValue> =
            (0..9).map(|number| DifferingValue::Known(number.to_string())).collect();
        assert_eq!(config.rows[7].values, expected);
    }

    #[test]
    fn a_difference_of_some_candidates_has_the_base_for_the_others() {
        let mut runs = [run(3, "y"), run(3, "y"), run(3, "n"), run(3, "y")];
        runs[3].facts.kernel.config = Fact::unknown("test");
        let comparison = side_by_side::of(&runs.iter().collect::<Vec<_>>()).unwrap();
        let differences = comparison.differences();
        let config = differences.iter().find(|one| one.part == Part::Configuration).unwrap();
        let known = |value: &str| DifferingValue::Known(value.to_owned());
        assert_eq!(config.rows[0].values, [known("y"), known("y"), known("n"), DifferingValue::Unknown]);
    }
}
