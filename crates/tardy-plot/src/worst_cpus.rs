//! Which of many CPUs are shown: the worst ones. The others are folded into one line.

use std::collections::BTreeSet;

use tardy_analyse::name::Readings;
use tardy_analyse::row::Row;
use tardy_record::Run;

use crate::numbers::{highest_with_unit, with_unit};

/// The largest number of CPUs that are all shown. Of more, this many are shown: those with the highest maxima.
pub const SHOWN_MAX: usize = 10;

/// A part of many CPUs, as indices, the highest maximum first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstCpus {
    /// The [`SHOWN_MAX`] worst.
    pub shown: Vec<usize>,
    /// The others.
    pub folded: Vec<usize>,
}

/// The worst of the CPUs with these maxima; `None` if there are so few that all are shown. CPUs with equal maxima keep
/// their order.
pub fn of(maxima_ns: &[Option<i64>]) -> Option<WorstCpus> {
    if maxima_ns.len() <= SHOWN_MAX {
        return None;
    }
    let mut shown: Vec<usize> = (0..maxima_ns.len()).collect();
    shown.sort_by_key(|index| std::cmp::Reverse(maxima_ns[*index]));
    let folded = shown.split_off(SHOWN_MAX);
    Some(WorstCpus { shown, folded })
}

/// Whether readings of this kind have a series for each CPU or thread, and not for each flow, pin or channel.
pub fn are_of_cpus(readings: Readings) -> bool {
    match readings {
        Readings::WakeUps | Readings::Periods | Readings::Gaps | Readings::Samples | Readings::Cycles => true,
        Readings::Frames
        | Readings::Reactions
        | Readings::RoundTrips
        | Readings::Intervals
        | Readings::Toggles => false,
    }
}

/// Whether `run` has more CPUs than are all shown.
pub fn has_many(run: &Run) -> bool {
    let of_cpus = run.own_series().filter(|series| are_of_cpus(Readings::of(series)));
    let names: BTreeSet<&str> = of_cpus.map(|series| series.label.as_str()).collect();
    names.len() > SHOWN_MAX
}

/// The rows of a table with a row for each CPU.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// The rows that are shown: all of a few, in their order, or the worst of many, the worst first.
    pub shown: Vec<&'a Row>,
    /// The other rows.
    pub folded: Vec<&'a Row>,
}

impl<'a> Rows<'a> {
    /// The parts of `rows`, which count `readings`.
    pub fn of(rows: &'a [Row], readings: Readings) -> Self {
        let maxima: Vec<Option<i64>> = rows.iter().map(|row| row.max_ns).collect();
        let part = |indices: &[usize]| indices.iter().map(|index| &rows[*index]).collect();
        match of(&maxima).filter(|_| are_of_cpus(readings)) {
            Some(worst) => Self { shown: part(&worst.shown), folded: part(&worst.folded) },
            None => Self { shown: rows.iter().collect(), folded: Vec::new() },
        }
    }

    /// The folded rows in one line: `118 more CPUs: worst 41 us to 55 us`; `None` if none is folded.
    pub fn line(&self) -> Option<String> {
        let (count, noun) = (self.folded.len(), noun(&self.folded));
        let (highest, lowest) = (self.folded.first()?, self.folded.iter().rfind(|row| row.max_ns.is_some()));
        let Some((max_ns, lowest)) = highest.max_ns.zip(lowest) else {
            return Some(format!("{count} more{noun}: nothing recorded"));
        };
        let most = highest_with_unit(max_ns, self.folded.iter().any(|row| row.max_at_least));
        let least = lowest.max_ns.map_or_else(String::new, |ns| with_unit(ns as f64));
        let range = if least == most { most } else { format!("{least} to {most}") };
        Some(format!("{count} more{noun}: worst {range}"))
    }
}

/// ` CPU` or ` CPUs`; empty if some rows are not of a CPU.
fn noun(rows: &[&Row]) -> &'static str {
    match rows {
        rows if rows.iter().any(|row| row.cpu.is_none()) => "",
        [_] => " CPU",
        _ => " CPUs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_cpus_are_all_shown_and_of_eleven_the_lowest_is_folded() {
        assert_eq!(of(&[Some(5); 10]), None);
        let maxima: Vec<Option<i64>> = (0..11).map(|ns| (ns != 3).then_some(ns)).collect();
        let worst = of(&maxima).unwrap();
        assert_eq!(worst.shown, [10, 9, 8, 7, 6, 5, 4, 2, 1, 0]);
        assert_eq!(worst.folded, [3], "a CPU without a reading comes last");
    }
}
