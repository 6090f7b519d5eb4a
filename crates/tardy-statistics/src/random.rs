//! Pseudo-random numbers from a seed, so that the same data and seed give the same result.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, ACM TOMS 47, 2021), seeded by SplitMix64. Alternative not used: the
//! crate rand, whose streams may change between versions, which would change the results of old runs.

use statrs::function::erf;

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut position = seed;
        let state = [0; 4].map(|_: u64| {
            position = position.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = position;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        });
        Self { state }
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number between 0 and 1, both excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) * 2f64.powi(-53)
    }

    /// A whole number below `end`, each with the same probability to within 2^-64 × `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number of the exponential distribution with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// A number of the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        std::f64::consts::SQRT_2 * erf::erfc_inv(2.0 * self.unit())
    }

    /// Puts the values into a random order (Fisher–Yates).
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation for the state 1, 2, 3, 4 (prng.di.unimi.it).
    #[test]
    fn the_stream_is_xoshiro256_plus_plus() {
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(
            [random.next(), random.next(), random.next()],
            [41_943_041, 58_720_359, 3_588_806_011_781_223]
        );
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(1);
        let n = 200_000;
        let mut sums = [0.0; 4];
        for _ in 0..n {
            let normal = random.normal();
            sums[0] += random.unit();
            sums[1] += random.exponential();
            sums[2] += normal;
            sums[3] += normal * normal;
        }
        for (sum, expected) in sums.iter().zip([0.5, 1.0, 0.0, 1.0]) {
            assert!((sum / f64::from(n) - expected).abs() < 0.015, "{sum} {expected}");
        }
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut random = Random::new(2);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut order = [0, 1, 2, 3];
            random.shuffle(&mut order);
            *counts.entry(order).or_insert(0i32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|count| (count - 1000).abs() < 160), "{counts:?}");
    }
}
