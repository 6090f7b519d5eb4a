use super::super::test_data::{close, portpirie, rain_bins};
use super::*;

/// Every bin of a table of counts.
fn counted(first: f64, width: f64, counts: &[u64]) -> Vec<Bin> {
    let low = |i: usize| first + i as f64 * width;
    counts.iter().enumerate().map(|(i, &count)| Bin { low: low(i), high: low(i + 1), count }).collect()
}

fn assert_ends(found: Ends, low: f64, high: f64, relative: f64) {
    close(found.low.unwrap(), low, relative);
    close(found.high.unwrap(), high, relative);
}

// The values are those of research/statistics.md section 4, with more digits from Newton's method in 30-digit arithmetic
// (mpmath 1.3). R's evd 2.3 stops a little earlier: Gumbel 3.869446, 0.194891 and a variance of the rain's scale of
// 0.918775.

#[test]
fn port_pirie_agrees_with_the_reference_values() {
    let fit = gev(&portpirie()).unwrap();
    close(fit.location, 3.874_749_855, 1e-8);
    close(fit.scale, 0.198_043_957_1, 1e-7);
    close(fit.shape, -0.050_109_531_5, 1e-6);
    close(fit.negative_log_likelihood, -4.339_058_473_68, 1e-10);
    let errors = fit.standard_errors().unwrap();
    for (found, expected) in errors.iter().zip([0.027_932_181, 0.020_249_239, 0.098_255_532]) {
        close(*found, expected, 1e-6);
    }
    let covariance = fit.covariance().unwrap();
    for (i, j, expected) in [
        (0, 0, 7.802_067_2e-4),
        (0, 1, 1.970_523_6e-4),
        (0, 2, -1.074_078_6e-3),
        (1, 1, 4.100_316_8e-4),
        (1, 2, -7.774_977e-4),
        (2, 2, 9.654_149_7e-3),
    ] {
        close(covariance[i][j], expected, 2e-6);
        close(covariance[j][i], expected, 2e-6);
    }
}

#[test]
fn port_piries_sub_model_agrees_with_the_reference_values() {
    let fit = gumbel(&portpirie()).unwrap();
    close(fit.location, 3.869_443_543_54, 1e-8);
    close(fit.scale, 0.194_889_446_35, 1e-7);
    close(fit.negative_log_likelihood, -4.217_681_896_26, 1e-10);
    assert_eq!(fit.shape, 0.0);
    assert_eq!(fit.shape_interval(0.95), Ends { low: Some(0.0), high: Some(0.0) });
    let full = gev(&portpirie()).unwrap();
    close(2.0 * (fit.negative_log_likelihood - full.negative_log_likelihood), 0.243, 2e-3);
}

#[test]
fn port_piries_intervals_agree_with_the_reference_values() {
    let fit = gev(&portpirie()).unwrap();
    assert_ends(fit.shape_interval(0.95), -0.2182, 0.1704, 3e-4);
    let ten = Horizon::of_blocks(10.0).unwrap();
    close(fit.level(ten).unwrap(), 4.296_21, 1e-5);
    assert_ends(fit.level_interval(ten, 0.95).unwrap(), 4.204_61, 4.445_08, 1e-5);
    let hundred = Horizon::of_blocks(100.0).unwrap();
    close(fit.level(hundred).unwrap(), 4.688_40, 1e-5);
    assert_ends(fit.level_interval(hundred, 0.95).unwrap(), 4.490_44, 5.260_70, 1e-5);
}

#[test]
fn port_pirie_in_bins_agrees_with_the_reference_values() {
    let fit = gev(&counted(3.5, 0.1, &[1, 5, 9, 12, 11, 9, 5, 6, 4, 0, 2, 1])).unwrap();
    close(fit.location, 3.881_009, 1e-6);
    close(fit.scale, 0.197_771, 5e-6);
    close(fit.shape, -0.058_918, 5e-5);
    close(fit.negative_log_likelihood, 145.603_623, 1e-8);
}

#[test]
fn rain_agrees_with_the_reference_values() {
    let fit = gpd(&rain_bins(), 30.0).unwrap();
    assert_eq!(fit.count, 152);
    close(fit.scale, 7.440_269, 1e-6);
    close(fit.shape, 0.184_499, 5e-6);
    close(fit.negative_log_likelihood, 485.093_721, 1e-8);
    let covariance = fit.covariance().unwrap();
    close(covariance[1][1], 0.918_784_37, 1e-6);
    close(covariance[1][2], -0.065_507_85, 1e-6);
    close(covariance[2][2], 0.010_242_256, 1e-6);
    assert_eq!(covariance[0], [0.0; 3]);
    let sub = exponential(&rain_bins(), 30.0).unwrap();
    close(sub.scale, 9.084_211, 1e-6);
    close(sub.negative_log_likelihood, 487.393_746, 1e-8);
}

#[test]
fn rains_intervals_agree_with_the_reference_values() {
    let fit = gpd(&rain_bins(), 30.0).unwrap();
    assert_ends(fit.shape_interval(0.95), 0.013_56, 0.415_44, 4e-4);
    let century = Horizon::of_observations(36_500.0, 152.0 / 17_531.0, 1.0).unwrap();
    close(fit.level(century).unwrap(), 106.328, 1e-5);
    assert_ends(fit.level_interval(century, 0.95).unwrap(), 80.857, 184.988, 2e-5);
}

#[test]
fn binned_excesses_agree_with_the_reference_values() {
    let mut bins = counted(0.0, 1.0, &[180, 121, 78, 52, 30, 17, 10, 5, 3, 2]);
    bins.extend([Bin::one(12.0, 13.0), Bin::one(15.0, 16.0)]);
    let fit = gpd(&bins, 0.0).unwrap();
    close(fit.scale, 2.172_033, 1e-6);
    close(fit.shape, -0.051_821, 1e-5);
    close(fit.negative_log_likelihood, 866.331_876, 1e-8);
    let sub = exponential(&bins, 0.0).unwrap();
    // In closed form −1/ln(m/(1+m)), with m the mean number of whole units.
    close(sub.scale, 2.063_778, 1e-6);
    close(sub.negative_log_likelihood, 867.132_031, 1e-8);
}

#[test]
fn a_unit_changes_nothing_but_the_numbers() {
    let metres = gev(&portpirie()).unwrap();
    let in_nanometres: Vec<Bin> = portpirie().iter().map(|bin| Bin::exact(bin.low * 1e9 + 5e12)).collect();
    let nanometres = gev(&in_nanometres).unwrap();
    close(nanometres.scale, metres.scale * 1e9, 1e-6);
    close(nanometres.shape, metres.shape, 1e-4);
    let hundred = Horizon::of_blocks(100.0).unwrap();
    let (a, b) =
        (metres.level_interval(hundred, 0.95).unwrap(), nanometres.level_interval(hundred, 0.95).unwrap());
    close(b.high.unwrap() - 5e12, a.high.unwrap() * 1e9, 1e-6);
}

#[test]
fn quantile_and_probability_are_inverse() {
    for fit in [gev(&portpirie()).unwrap(), gpd(&rain_bins(), 30.0).unwrap()] {
        for level in [0.01, 0.5, 0.999] {
            close(fit.below(fit.quantile(level)), level, 1e-10);
            close(fit.above(fit.quantile(level)), 1.0 - level, 1e-9);
        }
    }
    let fit = gev(&portpirie()).unwrap();
    assert_eq!(fit.below(fit.upper_end().unwrap() + 0.1), 1.0);
    assert_eq!(gpd(&rain_bins(), 30.0).unwrap().upper_end(), None);
}

#[test]
fn what_the_data_do_not_support_is_an_error() {
    assert_eq!(
        gev(&[Bin::exact(1.0), Bin::exact(2.0)]).unwrap_err(),
        Reason::TooFewValues { count: 2, needed: 3 }
    );
    assert_eq!(gev(&[Bin { low: 1.0, high: 2.0, count: 500 }]).unwrap_err(), Reason::OneBin);
    assert!(matches!(gev(&[Bin::exact(f64::NAN); 5]).unwrap_err(), Reason::InvalidBin(_)));
    let wide = Bin { low: 1.0, high: 3.0, count: 10 };
    assert_eq!(gpd(&[wide, Bin::one(5.0, 6.0)], 2.0).unwrap_err(), Reason::ThresholdInsideBin(wide));
    assert_eq!(Horizon::of_blocks(1.0).unwrap_err(), Reason::HorizonTooShort);
    assert_eq!(Horizon::of_observations(100.0, 0.001, 1.0).unwrap_err(), Reason::HorizonTooShort);
    let fit = gev(&portpirie()).unwrap();
    let other = Horizon::of_observations(1e6, 0.1, 1.0).unwrap();
    assert_eq!(fit.level(other).unwrap_err(), Reason::HorizonOfOtherModel);
    assert_eq!(fit.level_interval(other, 0.95).unwrap_err(), Reason::HorizonOfOtherModel);
}

/// The error that fitting the middle or the lower end of wide bins makes does not occur (research/statistics.md section
/// 3.2: σ/w = 1 gives 1.19 for σ = 1 from the middles, and diverges from the lower ends).
#[test]
fn bins_as_wide_as_the_scale_do_not_bias_the_fit() {
    use super::super::test_data::{binned, simulate};
    use crate::random::Random;
    let mut random = Random::new(11);
    let (mut scale, mut shape) = (0.0, 0.0);
    for _ in 0..100 {
        let values = simulate(Family::Gpd, (0.0, 1.0, 0.1), 500, &mut random);
        let fit = gpd(&binned(&values, 1.0), 0.0).unwrap();
        scale += fit.scale / 100.0;
        shape += fit.shape / 100.0;
    }
    assert!((scale - 1.0).abs() < 0.03 && (shape - 0.1).abs() < 0.03, "{scale} {shape}");
}

/// The shares of 95 % intervals that contain the true shape and the true level of `blocks` blocks.
fn coverage(
    family: Family,
    shape: f64,
    count: usize,
    width: f64,
    repetitions: u64,
    blocks: f64,
) -> (f64, f64) {
    use super::super::test_data::{binned, simulate};
    use crate::random::Random;
    let mut random = Random::new(count as u64);
    let (mut of_shape, mut of_level) = (0, 0);
    for _ in 0..repetitions {
        let bins = binned(&simulate(family, (30.0, 2.0, shape), count, &mut random), width);
        let (fit, horizon) = match family {
            Family::Gev => (gev(&bins), Horizon::of_blocks(blocks).unwrap()),
            Family::Gpd => (gpd(&bins, 30.0), Horizon::of_observations(blocks, 1.0, 1.0).unwrap()),
        };
        let Ok(fit) = fit else { continue };
        let level = 30.0 + 2.0 * inverse(horizon.y, shape);
        of_shape += u64::from(fit.shape_interval(0.95).contain(shape));
        of_level += u64::from(fit.level_interval(horizon, 0.95).unwrap().contain(level));
    }
    (of_shape as f64 / repetitions as f64, of_level as f64 / repetitions as f64)
}

#[test]
fn intervals_contain_the_truth_as_often_as_they_state() {
    for family in [Family::Gev, Family::Gpd] {
        let (shape, level) = coverage(family, 0.1, 120, 1.0, 300, 1000.0);
        assert!(
            (0.91..=0.99).contains(&shape) && (0.91..=0.99).contains(&level),
            "{family:?} {shape} {level}"
        );
    }
}

#[test]
#[ignore = "minutes; prints a table"]
fn long_table_of_coverage() {
    for family in [Family::Gev, Family::Gpd] {
        for shape in [-0.2, 0.0, 0.2] {
            for (count, width) in [(120, 0.0), (120, 2.0), (500, 0.0), (500, 2.0), (2000, 2.0)] {
                let (of_shape, of_level) = coverage(family, shape, count, width, 2000, 1000.0);
                println!(
                    "{family:?} shape {shape:4} n={count:4} bins of {:.1} scales: 95 % interval of the shape {:.1} %, of the level \
                     of 1000 {:.1} %",
                    width / 2.0,
                    100.0 * of_shape,
                    100.0 * of_level
                );
                assert!(of_level >= 0.93, "{of_level}");
            }
        }
    }
}

/// Prints how long a fit of 4,096 maxima with its intervals takes; run it in the release profile.
#[test]
#[ignore = "prints times"]
fn long_time_of_a_fit() {
    use super::super::refuse::{Circumstances, judge_maxima};
    use super::super::test_data::{binned, simulate};
    use crate::random::Random;
    let values = simulate(Family::Gev, (30_000.0, 2_000.0, 0.1), 4096, &mut Random::new(1));
    let log_linear: Vec<Bin> = values
        .iter()
        .map(|value| {
            let width = libm::pow(2.0, libm::log2(*value).floor()) / 128.0;
            let low = (value / width).floor() * width;
            Bin::one(low, low + width)
        })
        .collect();
    for (name, bins) in
        [("exact", binned(&values, 0.0)), ("of 1 ns", binned(&values, 1.0)), ("log-linear", log_linear)]
    {
        let begin = std::time::Instant::now();
        let fit = gev(&bins).unwrap();
        let fitted = begin.elapsed();
        let horizon = Horizon::of_blocks(40_960.0).unwrap();
        let ends = (fit.shape_interval(0.95), fit.level_interval(horizon, 0.95).unwrap());
        let with_intervals = begin.elapsed();
        let begin = std::time::Instant::now();
        let judged =
            judge_maxima(&bins, &Circumstances { extrapolation: 10.0, ..Circumstances::default() }, 1)
                .unwrap();
        println!(
            "4096 maxima, {name}: fit {fitted:.1?}, with both intervals {with_intervals:.1?}, all checks {:.1?}; {ends:?} {}",
            begin.elapsed(),
            judged.is_supported()
        );
    }
}

/// At every end the likelihood of the best other parameters is as far below the maximum as the confidence states: no end is a
/// place where the search failed.
#[test]
fn ends_are_where_the_likelihood_has_dropped() {
    use super::super::test_data::simulate;
    use crate::distributions::likelihood_drop;
    use crate::random::Random;
    let mut random = Random::new(21);
    for (family, shape) in [
        (Family::Gev, -0.45),
        (Family::Gev, -0.2),
        (Family::Gev, 0.3),
        (Family::Gpd, -0.3),
        (Family::Gpd, 0.4),
    ] {
        for _ in 0..8 {
            let values = simulate(family, (10.0, 1.0, shape), 60, &mut random);
            let bins: Vec<Bin> = values.into_iter().map(Bin::exact).collect();
            let (fit, horizon) = match family {
                Family::Gev => (gev(&bins).unwrap(), Horizon::of_blocks(1e4).unwrap()),
                Family::Gpd => (gpd(&bins, 10.0).unwrap(), Horizon::of_observations(1e4, 1.0, 1.0).unwrap()),
            };
            let ends = fit.level_interval(horizon, 0.95).unwrap();
            for end in [ends.low, ends.high].into_iter().flatten() {
                let level = (end - fit.sample.shift) / fit.sample.scale;
                let lowest = lowest_by_sections(&fit, horizon.y, level);
                let drop = 2.0 * (lowest - fit.lowest);
                let expected = likelihood_drop(0.95);
                assert!((drop - expected).abs() < 0.002, "{family:?} {shape} {end} {drop} {expected}");
            }
        }
    }
}

/// The lowest negative log-likelihood with this level, by golden sections of the shape and, within, of the scale.
fn lowest_by_sections(fit: &Fit, y: f64, level: f64) -> f64 {
    let value = |rest: Vector| {
        fit.with_level(y, level, &rest)
            .and_then(|(at, _)| fit.negative_log_likelihood_at(&at))
            .map_or(f64::INFINITY, |value| value.value)
    };
    golden_section(-0.95, 2.0, |shape| match fit.model.family() {
        Family::Gev => golden_section(-2.0, 4.0, |log_scale| value([log_scale, shape, 0.0])),
        Family::Gpd => value([shape, 0.0, 0.0]),
    })
}

/// The lowest value between two ends. If both inner points are impossible, the search continues on the upper side, where a scale
/// is larger.
fn golden_section(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    const SHARE: f64 = 0.618_033_988_75;
    let mut best = f64::INFINITY;
    for _ in 0..60 {
        let (left, right) = (high - SHARE * (high - low), low + SHARE * (high - low));
        let (at_left, at_right) = (function(left), function(right));
        best = best.min(at_left).min(at_right);
        if at_left < at_right { high = right } else { low = left }
    }
    best
}
