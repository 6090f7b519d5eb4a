//! L-moments: means of differences of order statistics, which one far value changes little. They give the start of the
//! search for the highest likelihood.
//!
//! Source: Hosking, "L-moments", Journal of the Royal Statistical Society B 52 (1990), 105–124.

use statrs::function::gamma::gamma;

use super::likelihood::inverse;
use crate::bins::Bin;
use crate::roots;

const EULER: f64 = 0.577_215_664_901_532_9;

/// The first L-moments of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LMoments {
    /// The mean, in the unit of the values.
    pub mean: f64,
    /// Half the mean difference of two values, in the unit of the values.
    pub scale: f64,
    /// The skewness, from −1 to 1.
    pub skewness: f64,
    /// The kurtosis, below 1.
    pub kurtosis: f64,
}

/// Location, scale and shape ξ of an extreme value distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The location μ, or the threshold.
    pub location: f64,
    /// The scale σ.
    pub scale: f64,
    /// The shape ξ.
    pub shape: f64,
}

/// The L-moments of binned values, each taken as the middle of its bin; `None` for fewer than four values.
pub fn of(bins: &[Bin]) -> Option<LMoments> {
    let mut sorted: Vec<(f64, f64)> =
        bins.iter().filter(|bin| bin.count > 0).map(|bin| (bin.middle(), bin.count as f64)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n: f64 = sorted.iter().map(|(_, count)| count).sum();
    if n < 4.0 {
        return None;
    }
    // Probability-weighted moments: b_r is the mean of x_i times (i choose r)/(n−1 choose r), i from 0. A bin's values share
    // the mean weight of their ranks.
    let mut moments = [0.0; 4];
    let mut before = 0.0;
    for (value, count) in sorted {
        let (first, end) = (before, before + count);
        // Sums of i, i(i−1) and i(i−1)(i−2) over first ≤ i < end.
        let sum = |degree: i32| {
            let falling = |x: f64| (0..=degree).map(|j| x - f64::from(j)).product::<f64>();
            (falling(end) - falling(first)) / f64::from(degree + 1)
        };
        moments[0] += value * count;
        moments[1] += value * sum(1) / (n - 1.0);
        moments[2] += value * sum(2) / ((n - 1.0) * (n - 2.0));
        moments[3] += value * sum(3) / ((n - 1.0) * (n - 2.0) * (n - 3.0));
        before = end;
    }
    let [b0, b1, b2, b3] = moments.map(|moment| moment / n);
    let scale = 2.0 * b1 - b0;
    Some(LMoments {
        mean: b0,
        scale,
        skewness: (6.0 * b2 - 6.0 * b1 + b0) / scale,
        kurtosis: (20.0 * b3 - 30.0 * b2 + 12.0 * b1 - b0) / scale,
    })
}

/// The GEV with these L-moments; `None` if there is none with a finite mean.
pub fn gev(moments: &LMoments) -> Option<Parameters> {
    if !(moments.scale > 0.0 && moments.skewness > -0.95 && moments.skewness < 0.95) {
        return None;
    }
    // With ξ, the skewness is 2 (1 − 3^ξ)/(1 − 2^ξ) − 3, which increases with ξ.
    let skewness = |shape: f64| 2.0 * inverse(libm::log(3.0), shape) / inverse(libm::log(2.0), shape) - 3.0;
    let shape = roots::between(-5.0, 0.95, |shape| skewness(shape) - moments.skewness);
    if shape.abs() < 1e-6 {
        let scale = moments.scale / libm::log(2.0);
        return Some(Parameters { location: moments.mean - EULER * scale, scale, shape: 0.0 });
    }
    let of_one = gamma(1.0 - shape);
    let scale = moments.scale * shape / (of_one * libm::expm1(shape * libm::log(2.0)));
    Some(Parameters { location: moments.mean - scale * (of_one - 1.0) / shape, scale, shape })
}

/// The GPD over `threshold` with these L-moments; `None` if there is none with a finite mean.
pub fn gpd(moments: &LMoments, threshold: f64) -> Option<Parameters> {
    let mean = moments.mean - threshold;
    if !(moments.scale > 0.0 && mean > moments.scale) {
        return None;
    }
    let shape = 2.0 - mean / moments.scale;
    Some(Parameters { location: threshold, scale: mean * (1.0 - shape), shape })
}

#[cfg(test)]
mod tests {
    use super::super::test_data::{close, portpirie};
    use super::*;

    /// The reference table of research/statistics.md section 4, from lmoments3.
    #[test]
    fn port_pirie_agrees_with_the_reference_values() {
        let moments = of(&portpirie()).unwrap();
        close(moments.mean, 3.980_615_4, 1e-7);
        close(moments.scale, 0.134_644_2, 1e-6);
        close(moments.skewness, 0.137_433_1, 1e-5);
        close(moments.kurtosis, 0.132_831_2, 1e-5);
        let gev = gev(&moments).unwrap();
        close(gev.location, 3.873_148, 1e-6);
        close(gev.scale, 0.203_222, 1e-5);
        close(gev.shape, -0.051_212, 1e-4);
    }

    #[test]
    fn counted_values_have_the_moments_of_repeated_ones() {
        let values = [(1.0, 3), (2.0, 4), (5.0, 2), (9.0, 1)];
        let counted: Vec<Bin> = values.iter().map(|&(low, count)| Bin { low, high: low, count }).collect();
        let repeated: Vec<Bin> =
            counted.iter().flat_map(|bin| vec![Bin::exact(bin.low); bin.count as usize]).collect();
        let (a, b) = (of(&counted).unwrap(), of(&repeated).unwrap());
        close(a.skewness, b.skewness, 1e-12);
        close(a.kurtosis, b.kurtosis, 1e-12);
    }

    #[test]
    fn distributions_have_the_moments_that_they_were_computed_from() {
        // An exponential distribution of mean 2: L-scale 1, so ξ = 0.
        let moments = LMoments { mean: 12.0, scale: 1.0, skewness: 1.0 / 3.0, kurtosis: 1.0 / 6.0 };
        assert_eq!(gpd(&moments, 10.0), Some(Parameters { location: 10.0, scale: 2.0, shape: 0.0 }));
        // A Gumbel distribution: skewness ln(9/8)/ln 2.
        let moments =
            LMoments { mean: EULER, scale: libm::log(2.0), skewness: libm::log2(9f64 / 8.0), kurtosis: 0.15 };
        let gumbel = gev(&moments).unwrap();
        assert!(gumbel.location.abs() < 1e-5 && (gumbel.scale - 1.0).abs() < 1e-5, "{gumbel:?}");
        assert!(gpd(&LMoments { mean: 10.0, ..moments }, 10.0).is_none());
    }
}
