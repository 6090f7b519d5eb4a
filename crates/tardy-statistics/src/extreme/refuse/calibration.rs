//! How often all checks together refuse: simulated samples of one distribution, and of several.

use std::collections::BTreeMap;

use super::*;
use crate::extreme::likelihood::Family;
use crate::extreme::test_data::{binned, simulate};
use crate::random::Random;

/// A kind of sample, from a generator of its values with location 30, scale 2.
struct Source {
    name: &'static str,
    is_clean: bool,
    family: Family,
    values: fn(usize, &mut Random) -> Vec<f64>,
}

const LOCATION: f64 = 30.0;
const SCALE: f64 = 2.0;

fn of_shape(shape: f64, count: usize, random: &mut Random) -> Vec<f64> {
    simulate(Family::Gev, (LOCATION, SCALE, shape), count, random)
}

fn excesses(shape: f64, count: usize, random: &mut Random) -> Vec<f64> {
    simulate(Family::Gpd, (LOCATION, SCALE, shape), count, random)
}

/// A share of the values is moved to a second mechanism.
fn mixed(mut values: Vec<f64>, share: f64, distance: f64, random: &mut Random) -> Vec<f64> {
    let count = (share * values.len() as f64).round() as usize;
    random.shuffle(&mut values);
    values[..count].iter_mut().for_each(|value| *value += distance);
    random.shuffle(&mut values);
    values
}

fn trend(mut values: Vec<f64>, total: f64) -> Vec<f64> {
    let n = values.len() as f64;
    values.iter_mut().enumerate().for_each(|(i, value)| *value += total * i as f64 / n);
    values
}

fn step(mut values: Vec<f64>, height: f64) -> Vec<f64> {
    let half = values.len() / 2;
    values[half..].iter_mut().for_each(|value| *value += height);
    values
}

const SOURCES: &[Source] = &[
    Source {
        name: "maxima, shape -0.15",
        is_clean: true,
        family: Family::Gev,
        values: |n, r| of_shape(-0.15, n, r),
    },
    Source {
        name: "maxima, shape 0",
        is_clean: true,
        family: Family::Gev,
        values: |n, r| of_shape(0.0, n, r),
    },
    Source {
        name: "maxima, shape 0.15",
        is_clean: true,
        family: Family::Gev,
        values: |n, r| of_shape(0.15, n, r),
    },
    Source {
        name: "excesses, shape -0.15",
        is_clean: true,
        family: Family::Gpd,
        values: |n, r| excesses(-0.15, n, r),
    },
    Source {
        name: "excesses, shape 0",
        is_clean: true,
        family: Family::Gpd,
        values: |n, r| excesses(0.0, n, r),
    },
    Source {
        name: "excesses, shape 0.15",
        is_clean: true,
        family: Family::Gpd,
        values: |n, r| excesses(0.15, n, r),
    },
    Source {
        name: "maxima, 10 % of a second mechanism",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| mixed(of_shape(0.0, n, r), 0.1, 10.0 * SCALE, r),
    },
    Source {
        name: "maxima, 10 % of a nearer one",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| mixed(of_shape(0.0, n, r), 0.1, 5.0 * SCALE, r),
    },
    Source {
        name: "maxima, trend of one scale",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| trend(of_shape(0.0, n, r), SCALE),
    },
    Source {
        name: "maxima, one at 150",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| {
            let mut values = of_shape(0.0, n, r);
            let at = r.below(n);
            values[at] = 150.0;
            values
        },
    },
    Source {
        name: "maxima, three at 150",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| {
            let mut values = of_shape(0.0, n, r);
            for _ in 0..3 {
                let at = r.below(n);
                values[at] = 150.0 + SCALE * r.normal();
            }
            values
        },
    },
    Source {
        name: "maxima, trend of two scales",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| trend(of_shape(0.0, n, r), 2.0 * SCALE),
    },
    Source {
        name: "maxima, step of 1.5 scales",
        is_clean: false,
        family: Family::Gev,
        values: |n, r| step(of_shape(0.0, n, r), 1.5 * SCALE),
    },
    Source {
        name: "excesses, 10 % of a second mechanism",
        is_clean: false,
        family: Family::Gpd,
        values: |n, r| mixed(excesses(0.0, n, r), 0.1, 10.0 * SCALE, r),
    },
    Source {
        name: "excesses, 2 % of a second mechanism",
        is_clean: false,
        family: Family::Gpd,
        values: |n, r| mixed(excesses(0.0, n, r), 0.02, 30.0 * SCALE, r),
    },
];

/// How many of `repetitions` samples are refused, and by which checks.
fn refused(source: &Source, count: usize, width: f64, repetitions: u64) -> (u64, BTreeMap<String, u64>) {
    let circumstances = Circumstances { extrapolation: 5.0, ..Circumstances::default() };
    let mut random = Random::new(1000 + count as u64);
    let mut refused = 0;
    let mut by_kind = BTreeMap::new();
    for seed in 0..repetitions {
        let bins = binned(&(source.values)(count, &mut random), width);
        let judgement = match source.family {
            Family::Gev => judge_maxima(&bins, &circumstances, seed),
            Family::Gpd => judge_excesses(&bins, LOCATION, &circumstances, seed),
        };
        let kinds: Vec<Kind> = judgement.map_or_else(
            |_| vec![Kind::GoodnessOfFit],
            |judgement| judgement.refusals().map(|check| check.kind).collect(),
        );
        refused += u64::from(!kinds.is_empty());
        for kind in kinds {
            *by_kind.entry(format!("{kind:?}")).or_insert(0) += 1;
        }
    }
    (refused, by_kind)
}

/// Prints a table, and returns the share of clean samples that are refused and of the others.
fn table(counts: &[usize], widths: &[f64], repetitions: u64) -> (f64, f64) {
    let mut sums = [(0, 0); 2];
    for source in SOURCES {
        for &count in counts {
            for &width in widths {
                let (refused, by_kind) = refused(source, count, width, repetitions);
                println!(
                    "{:38} n={count:5} width={width:3} refused {:5.1} %  {by_kind:?}",
                    source.name,
                    100.0 * refused as f64 / repetitions as f64
                );
                let sum = &mut sums[usize::from(!source.is_clean)];
                *sum = (sum.0 + refused, sum.1 + repetitions);
            }
        }
    }
    let share = |(refused, all): (u64, u64)| refused as f64 / all as f64;
    println!("clean: {:.1} %  others: {:.1} %", 100.0 * share(sums[0]), 100.0 * share(sums[1]));
    (share(sums[0]), share(sums[1]))
}

#[test]
fn clean_samples_are_rarely_refused_and_others_mostly() {
    let (clean, others) = table(&[120], &[1.0], 20);
    assert!(clean <= 0.14 && others >= 0.8, "{clean} {others}");
}

/// The table of docs/statistics.md; `make coverage` prints it.
#[test]
#[ignore = "minutes; prints a table"]
fn long_table_of_refusals() {
    let (clean, others) = table(&[120, 500, 2000], &[0.0, 1.0], 200);
    assert!(clean <= 0.1 && others >= 0.8, "{clean} {others}");
}
