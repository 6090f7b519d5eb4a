//! A bound on the probability of a late value that stays valid however often it is looked at.
//!
//! A bound for a fixed number of values is wrong too often if a run ends as soon as the bound is reached: every look is
//! another opportunity for an error. Here the bound is a bet. Against the hypothesis that the probability is p, a player
//! stakes on alternatives whose odds are fixed multiples c of the odds of p; his wealth after n values with k late ones is
//!
//! ```text
//! E(p) = Σ w_c · c^k / (1 + (c − 1) p)^n
//! ```
//!
//! If the hypothesis is true, the expected wealth never increases, so it ever reaches 1/α with probability at most α (Ville,
//! 1939). With factors below 1 the wealth increases with p, with factors above 1 it decreases, so the values of p that are not
//! refuted are an interval. Sources: Robbins, Annals of Mathematical Statistics 41 (1970); Waudby-Smith and Ramdas, Journal of
//! the Royal Statistical Society B 86 (2024). Compared with a fixed number of values, showing that nothing is late needs 1.2
//! times as many at 95 %. The values must be independent; for clusters, count episodes.

use crate::roots;

/// The multiples of the odds, for hypotheses that the probability is too high, with their weights. A factor of 0 is the
/// alternative that nothing is ever late.
const BELOW: &[(f64, f64)] =
    &[(0.0, 0.3), (0.05, 0.1), (0.1, 0.1), (0.2, 0.1), (0.35, 0.1), (0.5, 0.1), (0.7, 0.1), (0.85, 0.1)];

/// The same for hypotheses that the probability is too low.
const ABOVE: &[(f64, f64)] = &[
    (1.15, 0.1),
    (1.4, 0.1),
    (2.0, 0.15),
    (3.0, 0.15),
    (5.0, 0.1),
    (10.0, 0.1),
    (30.0, 0.1),
    (1e2, 0.05),
    (1e3, 0.05),
    (1e4, 0.04),
    (1e6, 0.03),
    (1e8, 0.03),
];

/// The values so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequential {
    /// How many values were measured.
    pub count: u64,
    /// How many of them were late.
    pub late: u64,
    /// The confidence of each bound, for example 0.95: the probability that it is wrong at any time of the run is at most
    /// 1 − `confidence`. Above 0 and below 1.
    pub confidence: f64,
}

impl Sequential {
    /// The upper bound of the probability of a late value. It is not below the true one at any time of the run.
    pub fn upper_bound(&self) -> f64 {
        if self.count == 0 {
            return 1.0;
        }
        let needed = self.log_wealth_needed();
        // In ln p, which gives small bounds all their digits.
        let excess = |log_p: f64| self.log_wealth(BELOW, libm::exp(log_p)) - needed;
        if excess(0.0).is_nan() || excess(0.0) <= 0.0 {
            1.0
        } else {
            libm::exp(roots::between(-90.0, 0.0, excess))
        }
    }

    /// The lower bound of the probability of a late value. It is not above the true one at any time of the run. An error of
    /// this bound does not count as one of the upper bound: an interval of both has the sum of their errors.
    pub fn lower_bound(&self) -> f64 {
        if self.late == 0 {
            return 0.0;
        }
        let needed = self.log_wealth_needed();
        let excess = |log_p: f64| needed - self.log_wealth(ABOVE, libm::exp(log_p));
        if excess(-90.0) >= 0.0 { 0.0 } else { libm::exp(roots::between(-90.0, 0.0, excess)) }
    }

    /// The smallest number of values, with `late` late ones among them, of which the upper bound is at most `limit`. `None` if
    /// the limit or the confidence is not between 0 and 1, or if the number does not fit.
    pub fn values_needed(late: u64, limit: f64, confidence: f64) -> Option<u64> {
        if !(limit > 0.0 && limit < 1.0 && confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        let shows = |count: u64| {
            let all = Self { count, late, confidence };
            all.log_wealth(BELOW, limit) >= all.log_wealth_needed()
        };
        let mut high = late.max(1);
        while !shows(high) {
            high = high.checked_mul(2)?;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            if shows(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// The wealth at which a hypothesis is refuted.
    fn log_wealth_needed(&self) -> f64 {
        -libm::log(1.0 - self.confidence)
    }

    /// ln E(p). A late value leaves nothing of a bet that there are none.
    fn log_wealth(&self, bets: &[(f64, f64)], p: f64) -> f64 {
        let (n, k) = (self.count as f64, self.late as f64);
        let term = |&(factor, weight): &(f64, f64)| {
            // Where p is 1, both parts of a lost bet are infinite.
            if factor == 0.0 && self.late > 0 {
                return f64::NEG_INFINITY;
            }
            let of_late = if self.late == 0 { 0.0 } else { k * libm::log(factor) };
            libm::log(weight) + of_late - n * libm::log1p((factor - 1.0) * p)
        };
        let highest = bets.iter().map(term).fold(f64::NEG_INFINITY, f64::max);
        if highest.is_infinite() {
            return highest;
        }
        highest + libm::log(bets.iter().map(|bet| libm::exp(term(bet) - highest)).sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial;
    use crate::random::Random;

    #[test]
    fn the_weights_are_shares_of_one_stake() {
        for bets in [BELOW, ABOVE] {
            assert!((bets.iter().map(|bet| bet.1).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    /// Over all outcomes of a few values, the expected wealth is 1 at the hypothesis.
    #[test]
    fn a_bet_is_fair() {
        for bets in [BELOW, ABOVE] {
            let (n, p) = (40, 0.07);
            let expected: f64 = (0..=n)
                .map(|late| {
                    let wealth =
                        libm::exp(Sequential { count: n, late, confidence: 0.95 }.log_wealth(bets, p));
                    wealth * binomial::probability(late, n, p)
                })
                .sum();
            assert!((expected - 1.0).abs() < 1e-9, "{expected}");
        }
    }

    #[test]
    fn bounds_contain_the_share_and_are_not_far_from_it() {
        for (count, late) in [(1000, 0), (1000, 3), (1000, 100), (10, 10), (1_000_000_000, 50)] {
            let so_far = Sequential { count, late, confidence: 0.95 };
            let (low, high, share) = (so_far.lower_bound(), so_far.upper_bound(), late as f64 / count as f64);
            assert!(low <= share && share <= high, "{so_far:?} {low} {high}");
            // The price of looking at any time, over the bound for a fixed number.
            let fixed = binomial::upper_bound(late, count, 0.95);
            assert!(high >= fixed && high < 1.7 * fixed, "{so_far:?} {high} {fixed}");
        }
        let nothing = Sequential { count: 0, late: 0, confidence: 0.95 };
        assert_eq!((nothing.lower_bound(), nothing.upper_bound()), (0.0, 1.0));
    }

    /// A fixed number needs 3.0/p; the freedom to look at any time costs the rest.
    #[test]
    fn looking_at_any_time_costs_less_than_twice_the_values() {
        for (late, most) in [(0, 4_500_000), (3, 12_500_000)] {
            let needed = Sequential::values_needed(late, 1e-6, 0.95).unwrap();
            let fixed = crate::duration::values_needed(1e-6, 0.95, late).unwrap();
            assert!((fixed..most).contains(&needed), "{late}: {needed}");
            let bound = |count| Sequential { count, late, confidence: 0.95 }.upper_bound();
            assert!(bound(needed) <= 1e-6 * (1.0 + 1e-9) && bound(needed - 1) > 1e-6 * (1.0 - 1e-9));
        }
        assert_eq!(Sequential::values_needed(0, 0.0, 0.95), None);
        assert_eq!(Sequential::values_needed(u64::MAX - 1, 0.5, 0.95), None);
    }

    /// The shares of runs in which the upper and the lower bound were wrong at any of the looks. The bounds change only with late
    /// values and are tightest just before one (above) and at one (below), so looking there is looking always.
    fn ever_wrong(p: f64, late_values: u64, runs: u64, random: &mut Random) -> [f64; 2] {
        let mut wrong = [0u64; 2];
        for _ in 0..runs {
            let (mut count, mut late) = (0u64, 0u64);
            let mut is_wrong = [false; 2];
            while late < late_values {
                // The distance to the next late value is geometric.
                let distance = (libm::log(random.unit()) / libm::log1p(-p)).floor() as u64 + 1;
                let before = Sequential { count: count + distance - 1, late, confidence: 0.95 };
                count += distance;
                late += 1;
                let after = Sequential { count, late, confidence: 0.95 };
                // As the bounds, without the search for their value.
                is_wrong[0] |= before.log_wealth(BELOW, p) > before.log_wealth_needed();
                is_wrong[1] |= after.log_wealth(ABOVE, p) > after.log_wealth_needed();
            }
            (0..2).for_each(|side| wrong[side] += u64::from(is_wrong[side]));
        }
        wrong.map(|wrong| wrong as f64 / runs as f64)
    }

    /// Before a late value, the wealth grows by such small factors that Ville's bound is nearly reached: about 5 % of runs are
    /// wrong. So many of `runs` may be wrong by chance, with three standard errors.
    fn allowed(runs: u64) -> f64 {
        0.05 + 3.0 * (0.05 * 0.95 / runs as f64).sqrt()
    }

    #[test]
    fn a_bound_is_rarely_wrong_at_any_look() {
        const RUNS: u64 = 2000;
        for wrong in ever_wrong(1e-3, 200, RUNS, &mut Random::new(6)) {
            assert!(wrong <= allowed(RUNS), "{wrong}");
            // The bound is not useless either.
            assert!(wrong > 0.002, "{wrong}");
        }
    }

    #[test]
    #[ignore = "prints a table"]
    fn long_table_of_sequential_errors() {
        for p in [0.3, 0.01, 1e-4, 1e-7] {
            for late_values in [10, 100, 3000] {
                const RUNS: u64 = 20_000;
                let [upper, lower] = ever_wrong(p, late_values, RUNS, &mut Random::new(late_values));
                println!(
                    "p = {p:e}, every look until {late_values} late: upper bound ever wrong {:.2} %, lower {:.2} %",
                    100.0 * upper,
                    100.0 * lower
                );
                assert!(upper <= allowed(RUNS) && lower <= allowed(RUNS));
            }
        }
    }
}
