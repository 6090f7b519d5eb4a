//! Counts wake-ups later than a limit: exactly if the limit was a threshold of the run, else to the width of a bin.

use serde::Serialize;
use tardy_record::{Histogram, Knowable, Series};

use crate::dependence::{self, Dependence};
use crate::name::Readings;

/// The count of wake-ups later than a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Late {
    /// The number of wake-ups that were certainly late.
    pub at_least: u64,
    /// The number of wake-ups that may have been late: those in the bin that straddles the limit are included.
    pub at_most: u64,
    /// The number of all wake-ups, including missed periods if they are known.
    pub of: u64,
    /// How much their counts per block of time vary; `None` if it is not known.
    #[serde(skip)]
    pub dependence: Option<Dependence>,
}

/// Counts the values of `series` above `limit_ns`. An unanswered edge counts as possibly late for every limit.
pub fn beyond(series: &Series, limit_ns: u64) -> Late {
    let late = of_recorded(series, limit_ns);
    let unanswered = unanswered(series);
    Late { at_most: late.at_most.saturating_add(unanswered), of: late.of.saturating_add(unanswered), ..late }
}

/// The number of edges without a known answer.
pub fn unanswered(series: &Series) -> u64 {
    let is_reaction = Readings::of(series) == Readings::Reactions;
    let known = |count: Knowable<u64>| count.get().unwrap_or(0);
    if is_reaction { known(series.tally.missed).saturating_add(known(series.tally.dropped)) } else { 0 }
}

fn of_recorded(series: &Series, limit_ns: u64) -> Late {
    let histogram = series.quoted();
    let of = histogram.total();
    let signed_limit_ns = i64::try_from(limit_ns).unwrap_or(i64::MAX);
    let dependence = dependence::of(series, signed_limit_ns);
    if let Some(count) = series.thresholds.iter().find(|count| count.limit_ns == limit_ns) {
        let late = if series.corrected.is_some() { count.corrected } else { Some(count.measured) };
        if let Some(late) = late {
            return Late { at_least: late, at_most: late, of, dependence };
        }
    }
    let (at_least, at_most) = in_histogram(histogram, signed_limit_ns, series.max_ns);
    // The readings that are missing from the file may all be late, whatever their number.
    let at_most = if series.max_at_least { of.max(1) } else { at_most };
    let dependence = dependence.filter(|_| at_most > 0);
    Late { at_least, at_most, of, dependence }
}

/// The least and the largest possible number of values of `histogram` above `limit_ns`. The exact maximum decides about
/// the topmost bin.
pub fn in_histogram(histogram: &Histogram, limit_ns: i64, max_ns: Option<i64>) -> (u64, u64) {
    let certain = histogram.count_from(limit_ns.saturating_add(1));
    if max_ns.is_some_and(|max| max <= limit_ns) {
        return (0, 0);
    }
    let straddling: u64 = histogram
        .bins()
        .iter()
        .filter(|bin| bin.lower_ns <= limit_ns && bin.upper_ns > limit_ns.saturating_add(1))
        .map(|bin| bin.count)
        .sum();
    // The maximum itself is certainly late.
    let known = u64::from(certain == 0 && max_ns.is_some_and(|max| max > limit_ns));
    (certain.max(known), certain + straddling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_across_the_limit_counts_as_possibly_late() {
        let histogram =
            Histogram::from_bins(vec![(0, 10, 5).into(), (10, 20, 3).into(), (20, 30, 2).into()]).unwrap();
        assert_eq!(in_histogram(&histogram, 9, None), (5, 5));
        assert_eq!(in_histogram(&histogram, 12, None), (2, 5));
        assert_eq!(in_histogram(&histogram, 25, Some(25)), (0, 0));
        assert_eq!(in_histogram(&histogram, 25, Some(27)), (1, 2));
    }
}
