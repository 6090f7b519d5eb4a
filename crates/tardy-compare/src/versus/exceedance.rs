//! How many times more often the candidate exceeds a limit than the base.

use serde::Serialize;
use tardy_analyse::quantile::CONFIDENCE;
use tardy_analyse::{dependence, late};
use tardy_statistics::distributions::chi_square_quantile;
use tardy_statistics::permutation;

use super::readings::Readings;

/// Exceedances of a limit in both groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exceedance {
    /// The limit, in ns.
    pub limit_ns: u64,
    /// The number of late wake-ups in the base and in the candidate, all observations together. Those in the bin that contains
    /// the limit are included if the limit was not declared before the run.
    pub late: [u64; 2],
    /// The number of wake-ups.
    pub of: [u64; 2],
    /// How often the candidate is late for each time that the base is; `None` if neither was late, infinite (`null` in JSON) if
    /// only the candidate was.
    pub ratio: Option<f64>,
    /// Lower end of the 95 % interval of the ratio; `None` if the counts do not determine it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// By which factor the counts vary more than independent ones, within runs or between observations; both counts were divided
    /// by it.
    pub dispersion: f64,
    /// The probability of counts at least as different if the rates are equal.
    pub p: f64,
}

/// The counts of one observation.
struct Count {
    late: u64,
    of: u64,
    dispersion: f64,
}

/// The exceedances of `limit_ns` in the observations of both groups.
pub(super) fn of(groups: [&[Readings<'_>]; 2], limit_ns: u64) -> Exceedance {
    let counts =
        groups.map(|group| group.iter().map(|readings| count(readings, limit_ns)).collect::<Vec<_>>());
    let sum = |part: fn(&Count) -> u64| {
        counts.each_ref().map(|counts| counts.iter().fold(0u64, |sum, count| sum.saturating_add(part(count))))
    };
    let (late, of) = (sum(|count| count.late), sum(|count| count.of));
    let within = counts.iter().flatten().map(|count| count.dispersion).fold(1.0, f64::max);
    let between = counts.iter().map(|counts| between(counts)).fold(1.0, f64::max);
    let dispersion = within.max(between);
    let found = permutation::exceedance_ratio((late[0], of[0]), (late[1], of[1]), dispersion, CONFIDENCE);
    Exceedance {
        limit_ns,
        late,
        of,
        ratio: found.ratio,
        low: found.interval.low,
        high: found.interval.high,
        dispersion,
        p: found.p,
    }
}

fn count(readings: &Readings<'_>, limit_ns: u64) -> Count {
    let signed_ns = i64::try_from(limit_ns).unwrap_or(i64::MAX);
    let mut sum = Count { late: 0, of: 0, dispersion: 1.0 };
    for series in &readings.series {
        let late = late::beyond(series, limit_ns);
        sum.late = sum.late.saturating_add(late.at_most);
        sum.of = sum.of.saturating_add(late.of);
        if late.at_most > 0 {
            sum.dispersion = sum.dispersion.max(dependence::inflation(dependence::of(series, signed_ns)));
        }
    }
    sum
}

/// The dispersion of the counts of several boots: the statistic of Pearson's test of equal rates by its degrees of freedom.
/// 1 if independent counts vary as much with a probability above 5 %: the dispersion of few counts is mostly chance.
fn between(counts: &[Count]) -> f64 {
    let late: u64 = counts.iter().map(|count| count.late).sum();
    let of: u64 = counts.iter().map(|count| count.of).sum();
    let freedom = counts.len().saturating_sub(1) as f64;
    if freedom == 0.0 || late == 0 || of == 0 {
        return 1.0;
    }
    let rate = late as f64 / of as f64;
    let squared = |count: &Count| {
        let expected = rate * count.of as f64;
        if expected > 0.0 { (count.late as f64 - expected).powi(2) / expected } else { 0.0 }
    };
    let statistic: f64 = counts.iter().map(squared).sum();
    if statistic > chi_square_quantile(CONFIDENCE, freedom) { statistic / freedom } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(late: &[u64]) -> Vec<Count> {
        late.iter().map(|late| Count { late: *late, of: 1_000_000, dispersion: 1.0 }).collect()
    }

    #[test]
    fn counts_that_vary_between_boots_are_worth_less() {
        assert_eq!(between(&counts(&[4, 6, 5, 5, 3])), 1.0);
        assert_eq!(between(&counts(&[7])), 1.0);
        assert_eq!(between(&counts(&[0, 0, 0])), 1.0);
        // Pearson's statistic of 0, 0, 0, 0, 50 with 10 expected each: 4·10 + 160 = 200; 4 degrees of freedom.
        assert!((between(&counts(&[0, 0, 0, 0, 50])) - 50.0).abs() < 1e-9);
    }
}
