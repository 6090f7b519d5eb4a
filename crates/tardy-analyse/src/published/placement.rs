//! The rank of a run among all published results of its kind, whether or not its recipe repeats them.

use serde::Serialize;
use tardy_record::Run;

use super::{Figures, Kind, Match, PublishedResult, Sameness, match_of, withheld_because};
use crate::outcome;

/// The rank of a run among published results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// The highest value of the run, in ns.
    pub max_ns: i64,
    /// Whether that is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub max_at_least: bool,
    /// The label of the outcome.
    pub label: String,
    /// The result that has the most circumstances in common with the run.
    pub nearest: Match,
    /// That result's board and kernel.
    pub nearest_what: String,
    /// All results of the kind and the run itself, in ascending order of their maxima.
    pub rows: Vec<PlacedRow>,
}

/// A result among those of its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacedRow {
    /// The result's id; `None` for the run itself.
    pub id: Option<String>,
    /// Board and kernel.
    pub what: String,
    /// Its figures; for the run only the highest.
    pub figures: Figures,
}

/// The rank of `run` among the results in `published` with the same wake method and level. `None` if there are none, or
/// if the run's numbers may not be used.
pub fn place(run: &Run, published: &[PublishedResult]) -> Option<Placed> {
    if withheld_because(run).is_some() {
        return None;
    }
    let outcomes = outcome::of(run);
    // The highest level counts: that of the program's own thread.
    let worst = outcomes
        .iter()
        .filter(|one| one.row.max_ns.is_some())
        .max_by_key(|one| (one.key.level, one.row.max_ns))?;
    let max_ns = worst.row.max_ns?;
    // If the wake method is unknown, it is unknown which results are of the same kind.
    if worst.key.wake_unknown {
        return None;
    }
    let has_figure = |one: &&PublishedResult| one.max_us.or(one.max_at_least_us).is_some();
    let of_the_kind: Vec<&PublishedResult> = (published.iter())
        .filter(has_figure)
        .filter(|one| {
            Kind::of(one).is_some_and(|kind| (kind.wake.is_some() || kind.reaction) && kind.fits(worst))
        })
        .collect();
    let in_common =
        |one: &Match| one.circumstances.iter().filter(|row| row.sameness == Sameness::Same).count();
    let matches = of_the_kind.iter().map(|one| (match_of(run, one), *one));
    // Of equally similar results, the first is chosen.
    let (nearest, of) =
        matches.reduce(|best, next| if in_common(&next.0) > in_common(&best.0) { next } else { best })?;
    let mut rows: Vec<PlacedRow> = (of_the_kind.iter())
        .map(|one| PlacedRow { id: Some(one.id.clone()), what: what(one), figures: one.figures() })
        .collect();
    let max_us = max_ns as f64 / 1000.0;
    rows.push(PlacedRow {
        id: None,
        what: "this run".to_owned(),
        figures: match worst.row.max_at_least {
            true => Figures { max_at_least_us: Some(max_us), ..Figures::default() },
            false => Figures { max_us: Some(max_us), ..Figures::default() },
        },
    });
    let highest_us = |row: &PlacedRow| row.figures.max_us.or(row.figures.max_at_least_us).unwrap_or(f64::MAX);
    rows.sort_by(|a, b| highest_us(a).total_cmp(&highest_us(b)));
    Some(Placed {
        max_ns,
        max_at_least: worst.row.max_at_least,
        label: worst.label.clone(),
        nearest,
        nearest_what: what(of),
        rows,
    })
}

/// Board and kernel, as stated.
pub fn what(published: &PublishedResult) -> String {
    let board = published.board.clone().unwrap_or_else(|| "a board that is not named".to_owned());
    let co_kernel = published.xenomai.as_ref().map(|version| format!(" with Xenomai {version}"));
    match &published.kernel {
        Some(kernel) => format!("{board}, {kernel}{}", co_kernel.unwrap_or_default()),
        None => board + &co_kernel.unwrap_or_default(),
    }
}
