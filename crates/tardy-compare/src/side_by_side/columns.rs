//! A comparison as tables with one column for each run.

use serde::Serialize;

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
        for (run, pair) in (1..).zip(&self.candidates) {
            for row in &pair.rows {
                match tables.iter_mut().find(|table| table.fits(row)) {
                    Some(table) => table.add(run, row),
                    None => tables.push(Columns::of(run, row)),
                }
            }
        }
        tables
    }

    /// What differs between the machines, a table for each part.
    pub fn differences(&self) -> Vec<PartDifferences> {
        Part::ALL.into_iter().map(|part| self.differences_of(part)).collect()
    }

    fn differences_of(&self, part: Part) -> PartDifferences {
        let lists: Vec<Option<&Vec<Difference>>> = self.candidates.iter().map(|pair| part.of(pair)).collect();
        let mut rows: Vec<DifferenceRow> = Vec::new();
        for difference in lists.iter().copied().flatten().flatten() {
            if rows.iter().any(|row| row.name == difference.name) {
                continue;
            }
            let base = DifferingValue::from(&difference.base);
            let of_candidate = |list: &Option<&Vec<Difference>>| {
                let Some(list) = list else { return DifferingValue::Unknown };
                let found = list.iter().find(|one| one.name == difference.name);
                found.map_or_else(|| base.clone(), |one| (&one.candidate).into())
            };
            let values: Vec<DifferingValue> =
                std::iter::once(base.clone()).chain(lists.iter().map(of_candidate)).collect();
            rows.push(DifferenceRow { name: difference.name.clone(), values });
        }
        rows.sort_by(|one, other| one.name.cmp(&other.name));
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
