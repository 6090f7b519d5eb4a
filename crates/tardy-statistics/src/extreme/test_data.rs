//! The samples of the reference table of research/statistics.md section 4, and simulated ones.
//!
//! `rain.csv` (daily rainfall in mm in south-west England, 1914 to 1961) and `portpirie.csv` (annual maximum sea level in m at
//! Port Pirie, 1923 to 1987) are those of Coles, 2001; Extremes.jl (MIT) and R's ismev contain them.

use super::likelihood::{Family, inverse};
use crate::bins::Bin;
use crate::random::Random;

/// Fails unless the relative difference is below `relative`.
pub(crate) fn close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() < relative, "{found} is not {expected}");
}

fn column(text: &str, index: usize) -> Vec<f64> {
    text.lines().skip(1).map(|line| line.split(',').nth(index).unwrap().trim().parse().unwrap()).collect()
}

/// Port Pirie's annual maxima, in their order.
pub(crate) fn portpirie() -> Vec<Bin> {
    column(include_str!("../../tests/data/portpirie.csv"), 1).into_iter().map(Bin::exact).collect()
}

/// Every day's rain, in its order.
pub(crate) fn rain() -> Vec<f64> {
    column(include_str!("../../tests/data/rain.csv"), 0)
}

/// Every day's rain, as bins.
pub(crate) fn rain_bins() -> Vec<Bin> {
    rain().into_iter().map(Bin::exact).collect()
}

/// Values of a distribution.
pub(crate) fn simulate(
    family: Family,
    (location, scale, shape): (f64, f64, f64),
    count: usize,
    random: &mut Random,
) -> Vec<f64> {
    let value = |random: &mut Random| {
        let y = match family {
            Family::Gev => -libm::log(random.exponential()),
            Family::Gpd => random.exponential(),
        };
        location + scale * inverse(y, shape)
    };
    (0..count).map(|_| value(random)).collect()
}

/// The bins of this width that the values are in, one for each, in their order.
pub(crate) fn binned(values: &[f64], width: f64) -> Vec<Bin> {
    values
        .iter()
        .map(|value| {
            let low = (value / width).floor() * width;
            if width > 0.0 { Bin::one(low, low + width) } else { Bin::exact(*value) }
        })
        .collect()
}
