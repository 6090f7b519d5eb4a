//! Many runs next to each other: one row per run, sorted and ranked.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tardy_record::load_spec::LoadSpec;
use tardy_record::run::State;
use tardy_record::{Run, Series};

use tardy_analyse::name::{self, Readings};
use tardy_analyse::outcome::{self, Outcome};
use tardy_analyse::row::{self, Row};
use tardy_analyse::{lab, quantile};

/// The runs of a directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overview {
    /// What the runs are sorted by.
    pub sorted_by: SortKey,
    /// The runs. Those that count different readings, such as wake-ups and gaps, are in separate stretches.
    pub runs: Vec<OverviewRow>,
    /// The files that are not among the runs.
    #[serde(flatten)]
    pub left_out: LeftOut,
}

/// Files of a directory that are not shown as runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Run files and directories that cannot be read, with the error.
    pub unreadable: Vec<Unreadable>,
    /// Files that are not run files.
    pub other_files: Vec<String>,
    /// Symbolic links that lead out of the directory.
    pub links_outside: Vec<String>,
}

/// A run file or a directory that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Its path.
    pub file: String,
    /// The error.
    pub error: String,
}

/// One run. Its figures are those of the outcome with the highest latency, all CPUs and rounds together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverviewRow {
    /// Its place among the runs with the same readings, from 1, by the 99.9 % quantile if the runs are sorted by it and else
    /// by the worst value. `None` if its numbers must not be used or are lower bounds.
    pub rank: Option<usize>,
    /// The run's name, with the file after it if another run has the same name.
    pub name: String,
    /// The file.
    pub file: String,
    /// The run's id.
    pub id: String,
    /// When it started, in RFC 3339, UTC; empty if it is unknown.
    pub started_at: String,
    /// What is counted.
    pub readings: Readings,
    /// The highest value, in ns.
    pub worst_ns: Option<i64>,
    /// Whether that is a lower bound.
    pub worst_at_least: bool,
    /// The 99.9 % quantile, in ns; `None` if there are too few values.
    pub p999_ns: Option<i64>,
    /// Whether that is a lower bound.
    pub p999_at_least: bool,
    /// The number of readings.
    pub count: u64,
    /// The distinct intervals between deadlines, in ns, ascending; empty if there are none or they are unknown.
    pub intervals_ns: Vec<u64>,
    /// The measured time, in ns; 0 if it is unknown.
    pub measured_ns: u64,
    /// The kernel's release; `None` if it is unknown.
    pub kernel: Option<String>,
    /// Whether that is a real-time kernel; `None` if it is unknown.
    pub real_time: Option<bool>,
    /// The loads; `None` if nothing was measured.
    pub loads: Option<Vec<LoadSpec>>,
    /// How many outcomes the run has, such as one for each load.
    pub outcomes: usize,
    /// Whether its numbers may be used.
    pub standing: Standing,
    /// The reasons if they must not.
    pub reasons: Vec<String>,
}

/// Whether the numbers of a run may be used, and whether the run ended as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is valid and complete.
    Valid,
    /// It is valid, but was interrupted.
    Interrupted,
    /// It is valid, but was killed.
    CutShort,
    /// It is in progress.
    InProgress,
    /// It is invalid.
    Invalid,
    /// It was measured correctly, but its latencies mean nothing.
    Meaningless,
}

impl Standing {
    /// The standing of `run`.
    pub fn of(run: &Run) -> Self {
        match run.progress.state {
            State::Running => Self::InProgress,
            _ if !run.validity.valid => Self::Invalid,
            _ if lab::meaningless_because(run).is_some() => Self::Meaningless,
            State::Complete => Self::Valid,
            State::Interrupted => Self::Interrupted,
            State::CutShort => Self::CutShort,
        }
    }

    /// Whether the run's numbers may be used.
    pub fn is_usable(self) -> bool {
        !matches!(self, Self::Invalid | Self::Meaningless)
    }

    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Interrupted => "interrupted",
            Self::CutShort => "cut short",
            Self::InProgress => "in progress",
            Self::Invalid => "INVALID",
            Self::Meaningless => "MEANINGLESS",
        }
    }
}

/// What runs are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SortKey {
    /// The highest value, the lowest first.
    #[default]
    Worst,
    /// The 99.9 % quantile, the lowest first.
    P999,
    /// The number of readings, most first.
    Count,
    /// The interval, the shortest first.
    Interval,
    /// The name.
    Name,
    /// The kernel.
    Kernel,
    /// The load.
    Load,
    /// Valid runs first.
    Validity,
    /// The start of the run, the oldest first.
    Date,
}

impl SortKey {
    /// All keys.
    pub const ALL: [Self; 9] = [
        Self::Worst,
        Self::P999,
        Self::Count,
        Self::Interval,
        Self::Name,
        Self::Kernel,
        Self::Load,
        Self::Validity,
        Self::Date,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::P999 => "p99.9",
            Self::Count => "count",
            Self::Interval => "interval",
            Self::Name => "name",
            Self::Kernel => "kernel",
            Self::Load => "load",
            Self::Validity => "validity",
            Self::Date => "date",
        }
    }

    fn order(self, one: &OverviewRow, other: &OverviewRow) -> Ordering {
        match self {
            Self::Worst => missing_last(one.worst_ns, other.worst_ns),
            Self::P999 => missing_last(one.p999_ns, other.p999_ns),
            Self::Count => other.count.cmp(&one.count),
            Self::Interval => missing_last(one.intervals_ns.first(), other.intervals_ns.first()),
            Self::Name => one.name.cmp(&other.name),
            Self::Kernel => missing_last(one.kernel.as_ref(), other.kernel.as_ref()),
            Self::Load => missing_last(one.loads.as_ref(), other.loads.as_ref()),
            Self::Validity => one.standing.cmp(&other.standing),
            Self::Date => one.started_at.cmp(&other.started_at),
        }
    }
}

impl FromStr for SortKey {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|key| key.name() == name);
        found.ok_or_else(|| format!("'{name}' is not a column; expected one of {}", names()))
    }
}

fn missing_last<T: Ord>(one: Option<T>, other: Option<T>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => one.cmp(&other),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

/// Why the numbers of `run` must not be used; empty if they may.
pub fn reasons(run: &Run) -> Vec<String> {
    let meaningless = lab::meaningless_because(run).map(str::to_owned);
    run.validity.spoilt_by.iter().map(ToString::to_string).chain(meaningless).collect()
}

/// The machine: its name and board, or the emulated one. Empty if it is unknown.
pub fn machine(run: &Run) -> String {
    if let Some(lab) = &run.lab {
        return format!("an emulated {}", lab.machine);
    }
    let board = run.facts.machine.board.value.known().map(String::as_str);
    [Some(run.origin.host.as_str()), board]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The row of `run`, which is in `file`.
pub fn row(run: &Run, file: &str) -> OverviewRow {
    let standing = Standing::of(run);
    let (worst, count) = worst_of(run);
    let figures = worst.as_ref().map(|worst| &worst.row);
    let p999 = figures.and_then(p999);
    OverviewRow {
        rank: None,
        name: name::of_run(run),
        file: file.to_owned(),
        id: run.origin.id.clone(),
        started_at: run.origin.started_at.clone(),
        readings: Readings::of_runs(&[run]),
        worst_ns: figures.and_then(|row| row.max_ns),
        worst_at_least: figures.is_some_and(|row| row.max_at_least),
        p999_ns: p999.map(|value| value.quoted_ns()),
        p999_at_least: p999.is_some_and(|value| value.at_least),
        count: figures.map_or(0, |row| row.recorded),
        intervals_ns: worst.as_ref().map(|worst| worst.intervals_ns.clone()).unwrap_or_default(),
        measured_ns: run.progress.measured_ns,
        kernel: run.facts.kernel.release.get().cloned(),
        real_time: run.facts.kernel.real_time.get().copied(),
        loads: worst.map(|worst| worst.loads),
        outcomes: count,
        reasons: reasons(run),
        standing,
    }
}

/// The part of a run with the highest latency.
struct Worst {
    row: Row,
    intervals_ns: Vec<u64>,
    loads: Vec<LoadSpec>,
}

/// The outcome with the highest latency, and the number of outcomes. For a run that measured no latency: all series of its kind
/// together.
fn worst_of(run: &Run) -> (Option<Worst>, usize) {
    let outcomes: Vec<Outcome> = outcome::of(run)
        .into_iter()
        .filter(|one| one.series.iter().any(|index| !run.series[*index].stands_beside()))
        .collect();
    let count = outcomes.len();
    let worst = outcomes.into_iter().max_by_key(|one| one.row.max_ns);
    if let Some(Outcome { row, intervals_ns, key, .. }) = worst {
        return (Some(Worst { row, intervals_ns, loads: key.loads }), count);
    }
    let readings = Readings::of_runs(&[run]);
    let series: Vec<&Series> = run.own_series().filter(|series| Readings::of(series) == readings).collect();
    let Some(row) = (!series.is_empty()).then(|| row::of_several("all", &series).ok()).flatten() else {
        return (None, 0);
    };
    let loads = run.plan.phases.get(series[0].phase).map(|phase| phase.loads.clone()).unwrap_or_default();
    (Some(Worst { row, intervals_ns: Vec::new(), loads }), 1)
}

fn p999(row: &Row) -> Option<quantile::Value> {
    row.quantiles.iter().find(|quantile| quantile.level == "p99.9")?.value
}

/// The overview of `rows`, sorted by `key`, or the other way round if `reversed`.
pub fn of(mut rows: Vec<OverviewRow>, left_out: LeftOut, key: SortKey, reversed: bool) -> Overview {
    make_names_distinct(&mut rows);
    let figure = if key == SortKey::P999 { SortKey::P999 } else { SortKey::Worst };
    rows.sort_by(|one, other| figure.order(one, other).then_with(|| one.file.cmp(&other.file)));
    let kinds = kinds(&rows);
    for kind in &kinds {
        let is_ranked = |row: &&mut OverviewRow| {
            let (known, at_least) = match figure {
                SortKey::P999 => (row.p999_ns.is_some(), row.p999_at_least),
                _ => (row.worst_ns.is_some(), row.worst_at_least),
            };
            row.readings == *kind && row.standing.is_usable() && known && !at_least
        };
        for (rank, row) in (1..).zip(rows.iter_mut().filter(is_ranked)) {
            row.rank = Some(rank);
        }
    }
    // Runs whose numbers must not be used come last, unless the user asked for another order.
    let by_key = |one: &OverviewRow, other: &OverviewRow| {
        let usable = match key {
            SortKey::Worst | SortKey::P999 => other.standing.is_usable().cmp(&one.standing.is_usable()),
            _ => Ordering::Equal,
        };
        let order = key.order(one, other);
        usable.then(if reversed { order.reverse() } else { order })
    };
    let place = |row: &OverviewRow| kinds.iter().position(|kind| *kind == row.readings);
    rows.sort_by(|one, other| place(one).cmp(&place(other)).then_with(|| by_key(one, other)));
    Overview { sorted_by: key, runs: rows, left_out }
}

/// The kinds of readings of `rows`, the most frequent first.
fn kinds(rows: &[OverviewRow]) -> Vec<Readings> {
    let mut kinds: Vec<(Readings, usize)> = Vec::new();
    for row in rows {
        match kinds.iter_mut().find(|(kind, _)| *kind == row.readings) {
            Some((_, count)) => *count += 1,
            None => kinds.push((row.readings, 1)),
        }
    }
    kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), kind.name()));
    kinds.into_iter().map(|(kind, _)| kind).collect()
}

fn make_names_distinct(rows: &mut [OverviewRow]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.iter() {
        *counts.entry(row.name.clone()).or_default() += 1;
    }
    for row in rows {
        if counts[&row.name] > 1 {
            row.name = format!("{} ({})", row.name, row.file);
        }
    }
}

impl Overview {
    /// What a ranking of these runs does not take into account, as parts of a sentence: the circumstances in which ranked runs
    /// differ.
    pub fn ranked_although_different(&self) -> Vec<&'static str> {
        let ranked: Vec<&OverviewRow> = self.runs.iter().filter(|row| row.rank.is_some()).collect();
        let differ = |same: &dyn Fn(&OverviewRow, &OverviewRow) -> bool| {
            ranked.iter().any(|one| {
                let first = ranked.iter().find(|other| other.readings == one.readings);
                first.is_some_and(|first| !same(first, one))
            })
        };
        let longer = |one: &OverviewRow, other: &OverviewRow| {
            let (long, short) =
                (one.measured_ns.max(other.measured_ns), one.measured_ns.min(other.measured_ns));
            (long - short) as f64 <= outcome::DURATION_TOLERANCE * long as f64
        };
        let mut parts = Vec::new();
        if differ(&|one, other| one.loads == other.loads) {
            parts.push("load");
        }
        if differ(&|one, other| one.intervals_ns == other.intervals_ns) {
            parts.push("interval");
        }
        if differ(&longer) {
            parts.push("duration");
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, worst_us: i64) -> OverviewRow {
        OverviewRow {
            rank: None,
            name: name.to_owned(),
            file: format!("{name}.run.json"),
            id: name.to_owned(),
            started_at: String::new(),
            readings: Readings::WakeUps,
            worst_ns: Some(worst_us * 1000),
            worst_at_least: false,
            p999_ns: Some(100_000 - worst_us),
            p999_at_least: false,
            count: 1000,
            intervals_ns: vec![200_000],
            measured_ns: 60_000_000_000,
            kernel: Some("6.12".to_owned()),
            real_time: Some(true),
            loads: Some(Vec::new()),
            outcomes: 1,
            standing: Standing::Valid,
            reasons: Vec::new(),
        }
    }

    fn order(overview: &Overview) -> Vec<(&str, Option<usize>)> {
        overview.runs.iter().map(|row| (row.name.as_str(), row.rank)).collect()
    }

    #[test]
    fn runs_are_ranked_by_the_worst_latency_and_unusable_ones_are_last() {
        let invalid = OverviewRow { standing: Standing::Invalid, ..run("invalid", 1) };
        let bound = OverviewRow { worst_at_least: true, ..run("bound", 30) };
        let gaps = OverviewRow { readings: Readings::Gaps, ..run("gaps", 2) };
        let rows = vec![run("slow", 900), gaps, invalid, bound, run("fast", 20)];
        let sorted = of(rows.clone(), LeftOut::default(), SortKey::Worst, false);
        let expected =
            [("fast", Some(1)), ("bound", None), ("slow", Some(2)), ("invalid", None), ("gaps", Some(1))];
        assert_eq!(order(&sorted), expected);
        let reversed = of(rows.clone(), LeftOut::default(), SortKey::Worst, true);
        assert_eq!(order(&reversed)[0], ("slow", Some(2)), "the rank stays");
        let by_name = of(rows, LeftOut::default(), SortKey::Name, false);
        assert_eq!(order(&by_name)[0], ("bound", None));
    }

    #[test]
    fn a_rank_by_the_quantile_follows_the_quantile() {
        let sorted = of(vec![run("a", 10), run("b", 20)], LeftOut::default(), SortKey::P999, false);
        assert_eq!(order(&sorted), [("b", Some(1)), ("a", Some(2))]);
    }

    #[test]
    fn runs_of_the_same_name_are_distinguished_by_their_files() {
        let other = OverviewRow { file: "old/a.run.json".to_owned(), ..run("a", 30) };
        let overview = of(vec![run("a", 10), other], LeftOut::default(), SortKey::Worst, false);
        assert_eq!(overview.runs[1].name, "a (old/a.run.json)");
    }

    #[test]
    fn a_ranking_of_different_circumstances_names_them() {
        let overview = |other| of(vec![run("a", 10), other], LeftOut::default(), SortKey::Worst, false);
        assert!(overview(run("b", 20)).ranked_although_different().is_empty());
        let longer = OverviewRow { measured_ns: 600_000_000_000, ..run("b", 20) };
        assert_eq!(overview(longer).ranked_although_different(), ["duration"]);
        let slower = OverviewRow { intervals_ns: vec![1_000_000], ..run("b", 20) };
        assert_eq!(overview(slower).ranked_although_different(), ["interval"]);
    }

    #[test]
    fn an_unknown_column_is_refused_with_the_names_of_all() {
        let error = "wurst".parse::<SortKey>().unwrap_err();
        assert!(error.contains("p99.9, count"), "{error}");
        assert!(SortKey::ALL.iter().all(|key| key.name().parse() == Ok(*key)));
    }
}
