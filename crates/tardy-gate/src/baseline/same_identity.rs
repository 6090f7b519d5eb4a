//! Boots of the lab that both sides have with one identity. They have the same bytes ([`tardy_record::lab`]), so a histogram bin
//! that moved comes from something that the identity does not contain.

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_compare::shape::{self, BinOfBoth};
use tardy_plot::numbers::{count, counted, first_few, with_unit};
use tardy_record::{Histogram, Run, Series};

/// How many bins of a series are named, from the highest.
const BINS_MAX: usize = 10;

/// Two boots of one identity, one of each side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SameIdentity {
    /// The identity.
    pub identity: String,
    /// The seed.
    pub seed: u64,
    /// The series whose histograms differ.
    pub moved: Vec<Moved>,
}

/// The bins of a series that moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The phase.
    pub phase: String,
    /// The series.
    pub series: String,
    /// The bins with different counts, from the highest, at most ten.
    pub bins: Vec<MovedBin>,
    /// How many further bins have different counts.
    pub more: usize,
}

/// A bin whose count differs. Its edges are in ns; the upper one is beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MovedBin {
    /// The lowest value that the bin holds.
    pub lower_ns: i64,
    /// The first value beyond the bin.
    pub upper_ns: i64,
    /// Its count in the baseline.
    pub base: u64,
    /// Its count in the candidate.
    pub candidate: u64,
}

/// The pairs of boots of `base` and `candidate` with one identity. Only clocks that count instructions give the same bytes.
pub(super) fn pairs(base: &[&Run], candidate: &[&Run]) -> Vec<SameIdentity> {
    let by_identity = |runs: &[&'_ Run]| -> BTreeMap<String, usize> {
        let exact = |run: &Run| {
            run.lab.as_ref().filter(|lab| lab.clock.means_something()).map(|lab| lab.identity.clone())
        };
        runs.iter().enumerate().filter_map(|(index, run)| Some((exact(run)?, index))).collect()
    };
    let of_base = by_identity(base);
    let pair = |(identity, index): (String, usize)| {
        let (base, candidate) = (base[*of_base.get(&identity)?], candidate[index]);
        Some(SameIdentity { identity, seed: candidate.plan.seed, moved: moved(base, candidate) })
    };
    by_identity(candidate).into_iter().filter_map(pair).collect()
}

/// The boots of `candidate` that are not also in the baseline, bin for bin. A boot whose bins moved stays: it is not comparable.
pub(super) fn without<'r>(pairs: &[SameIdentity], candidate: &[&'r Run]) -> Vec<&'r Run> {
    let is_equal = |run: &&Run| {
        let identity = run.lab.as_ref().map(|lab| &lab.identity);
        pairs.iter().any(|pair| Some(&pair.identity) == identity && pair.moved.is_empty())
    };
    candidate.iter().copied().filter(|run| !is_equal(run)).collect()
}

/// The series of two runs of one identity whose histograms differ.
fn moved(base: &Run, candidate: &Run) -> Vec<Moved> {
    let of = |series: &Series| {
        let others = base.series.iter();
        let other =
            others.into_iter().find(|other| other.phase == series.phase && other.label == series.label);
        let nothing = Histogram::default();
        let all = differing_bins(other.map_or(&nothing, |other| &other.measured), &series.measured);
        let phase = candidate.phases.get(series.phase).map(|phase| phase.label.clone()).unwrap_or_default();
        let more = all.len().saturating_sub(BINS_MAX);
        let bins: Vec<MovedBin> = all.into_iter().rev().take(BINS_MAX).collect();
        (!bins.is_empty()).then(|| Moved { phase, series: series.label.clone(), bins, more })
    };
    candidate.series.iter().filter_map(of).collect()
}

/// The bins with different counts, in ascending order.
fn differing_bins(base: &Histogram, candidate: &Histogram) -> Vec<MovedBin> {
    let moved = |bin: BinOfBoth| {
        let BinOfBoth { lower_ns, upper_ns, counts: [base, candidate] } = bin;
        (base != candidate).then_some(MovedBin { lower_ns, upper_ns, base, candidate })
    };
    shape::bins_of_both(base, candidate).into_iter().filter_map(moved).collect()
}

/// What the pairs show, in one sentence. `None` if there is no pair.
pub(super) fn sentence(pairs: &[SameIdentity]) -> Option<String> {
    if pairs.is_empty() {
        return None;
    }
    let identities = counted(pairs.len() as u64, "identity is", "identities are");
    let all: Vec<String> =
        pairs.iter().flat_map(|pair| pair.moved.iter().map(|moved| named(pair, moved))).collect();
    Some(match all.is_empty() {
        true => format!("{identities} on both sides, with equal counts in all bins."),
        false => format!(
            "{identities} on both sides, but bins moved, by something that the identity does not contain: {}.",
            first_few(&all, "; ")
        ),
    })
}

fn named(pair: &SameIdentity, moved: &Moved) -> String {
    let bin = |bin: &MovedBin| {
        let (lower, upper) = (with_unit(bin.lower_ns as f64), with_unit(bin.upper_ns as f64));
        format!("{lower} to {upper} {} → {}", count(bin.base), count(bin.candidate))
    };
    let bins: Vec<String> = moved.bins.iter().map(bin).collect();
    let more = if moved.more > 0 { format!(", {} more", count(moved.more as u64)) } else { String::new() };
    format!("seed {}, {}/{}: {}{more}", pair.seed, moved.phase, moved.series, bins.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::Bin;

    fn histogram(bins: &[(i64, u64)]) -> Histogram {
        let bin = |(lower_ns, count): &(i64, u64)| Bin {
            lower_ns: *lower_ns,
            upper_ns: lower_ns + 100,
            count: *count,
        };
        Histogram::from_bins(bins.iter().map(bin).collect()).unwrap()
    }

    #[test]
    fn bins_that_moved_came_or_went_are_found() {
        let base = histogram(&[(1_000, 5), (1_100, 7), (9_000, 1)]);
        let candidate = histogram(&[(1_000, 5), (1_100, 6), (1_200, 1), (9_000, 1)]);
        let moved: Vec<_> = differing_bins(&base, &candidate)
            .iter()
            .map(|bin| (bin.lower_ns, bin.base, bin.candidate))
            .collect();
        assert_eq!(moved, [(1_100, 7, 6), (1_200, 0, 1)]);
        assert_eq!(differing_bins(&base, &base), []);
    }

    #[test]
    fn the_sentence_names_what_moved() {
        let pair =
            |seed, moved: &[Moved]| SameIdentity { identity: String::new(), seed, moved: moved.to_vec() };
        assert_eq!(sentence(&[]), None);
        assert_eq!(
            sentence(&[pair(1, &[]), pair(2, &[])]).unwrap(),
            "2 identities are on both sides, with equal counts in all bins."
        );
        let bin = MovedBin { lower_ns: 12_000, upper_ns: 12_100, base: 4, candidate: 5 };
        let moved =
            Moved { phase: "loaded".to_owned(), series: "cpu 0".to_owned(), bins: vec![bin], more: 2 };
        assert_eq!(
            sentence(&[pair(3, &[moved])]).unwrap(),
            "1 identity is on both sides, but bins moved, by something that the identity does not contain: \
             seed 3, loaded/cpu 0: 12 us to 12.1 us 4 → 5, 2 more."
        );
    }
}
