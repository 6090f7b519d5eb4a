//! The tables of an archive in ClickHouse and as Parquet: one definition for both.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text; `optional` if it may be unknown.
    Text {
        /// Whether it may be unknown.
        optional: bool,
    },
    /// Texts, in order.
    Texts,
    /// A signed integer of 64 bits, which every reader of Parquet has.
    Integer {
        /// Whether it may be unknown.
        optional: bool,
    },
    /// Yes or no.
    Flag,
}

const TEXT: Kind = Kind::Text { optional: false };
const MAYBE_TEXT: Kind = Kind::Text { optional: true };
const INTEGER: Kind = Kind::Integer { optional: false };
const MAYBE_INTEGER: Kind = Kind::Integer { optional: true };

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns, in order. ClickHouse has the day of each row in addition; of Parquet files it is the name of the directory.
    pub(crate) columns: &'static [(&'static str, Kind)],
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Of a text.
    Text(String),
    /// Of texts.
    Texts(Vec<String>),
    /// Of an integer.
    Integer(i64),
    /// Of a flag.
    Flag(bool),
    /// Not known.
    Unknown,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// Counts of a measurement are far below the largest integer; a file that says otherwise has the largest one.
impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// One row for each run.
pub(crate) const RUNS: Table = Table {
    name: "runs",
    columns: &[
        ("address", TEXT),
        ("id", TEXT),
        ("name", TEXT),
        ("started_at", TEXT),
        ("machine", TEXT),
        ("release", MAYBE_TEXT),
        ("kernel", MAYBE_INTEGER),
        ("preemption", MAYBE_TEXT),
        ("loads", Kind::Texts),
        ("judgement", TEXT),
        ("valid", Kind::Flag),
        ("limit_ns", MAYBE_INTEGER),
        ("causes", Kind::Texts),
        ("measured_ns", INTEGER),
        ("config", MAYBE_TEXT),
    ],
};
/// The column of [`RUNS`] that only ClickHouse has: what lists and pages show of a run, as JSON.
pub(crate) const ENTRY: &str = "entry";
/// One row for each series of readings.
pub(crate) const SERIES: Table = Table {
    name: "series",
    columns: &[
        ("run", TEXT),
        ("series", INTEGER),
        ("phase", INTEGER),
        ("phase_label", TEXT),
        ("label", TEXT),
        ("cpu", INTEGER),
        ("quantity", TEXT),
        ("level", TEXT),
        ("counted_ns", INTEGER),
        ("attempted", MAYBE_INTEGER),
        ("recorded", INTEGER),
        ("missed", MAYBE_INTEGER),
        ("dropped", MAYBE_INTEGER),
        ("min_ns", MAYBE_INTEGER),
        ("max_ns", MAYBE_INTEGER),
        ("sum_ns", MAYBE_INTEGER),
    ],
};
/// One row for each bin of each series.
pub(crate) const HISTOGRAMS: Table = Table {
    name: "histograms",
    columns: &[
        ("run", TEXT),
        ("series", INTEGER),
        ("low_ns", INTEGER),
        ("high_ns", INTEGER),
        ("filled", Kind::Flag),
        ("count", INTEGER),
    ],
};
/// One row for each fact about the machine.
pub(crate) const FACTS: Table =
    Table { name: "facts", columns: &[("run", TEXT), ("key", TEXT), ("value", TEXT)] };
/// One row for each option of each configuration of a kernel.
pub(crate) const OPTIONS: Table =
    Table { name: "options", columns: &[("config", TEXT), ("name", TEXT), ("value", TEXT)] };

/// All tables. A run is known when its row in the last one is there.
pub(crate) const ALL: [&Table; 5] = [&OPTIONS, &FACTS, &HISTOGRAMS, &SERIES, &RUNS];
