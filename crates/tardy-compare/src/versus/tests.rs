//! Comparisons of synthetic boots.

use tardy_record::facts::Fact;
use tardy_record::reason::Reason;

use super::made::{self, Random, boot};
use super::*;

fn boots(random: &mut Random, first: usize, count: usize, mean_ns: f64) -> Vec<Run> {
    (first..first + count).map(|number| boot(&number.to_string(), random, mean_ns, 0.05)).collect()
}

fn with_kernel(mut runs: Vec<Run>, release: &str) -> Vec<Run> {
    for run in &mut runs {
        run.facts.kernel.release = Fact::known(release.to_owned(), "uname -r");
    }
    runs
}

fn compared(base: &[Run], candidate: &[Run], factor: &str) -> Result<Versus, String> {
    let options = Options { factor: factor.parse().unwrap(), limit_ns: Some(100_000) };
    of(&base.iter().collect::<Vec<_>>(), &candidate.iter().collect::<Vec<_>>(), &options)
}

#[test]
fn a_difference_between_kernels_is_shown_with_its_size() {
    let mut random = Random(1);
    let base = with_kernel(boots(&mut random, 0, 5, 20_000.0), "6.12");
    let candidate = with_kernel(boots(&mut random, 5, 5, 4_000.0), "6.12-rt");
    let versus = compared(&base, &candidate, "kernel").unwrap();
    assert_eq!(versus.strength, Strength::Tested);
    assert_eq!((versus.unit, versus.base.observations.len()), (Unit::Boot, 5));
    assert_eq!((versus.base.name.as_str(), versus.candidate.name.as_str()), ("6.12", "6.12-rt"));
    let primary = &versus.experiments[versus.primary.unwrap()];
    assert_eq!((primary.label.as_str(), versus.primary_statistic), ("loaded", Some("p99.9")));
    let statistic = primary.statistic("p99.9").unwrap();
    let ratio = statistic.ratio.unwrap();
    assert!((ratio.estimate / 0.2 - 1.0).abs() < 0.15, "{ratio:?}");
    assert!(ratio.low.unwrap() < 0.2 && ratio.high.unwrap() > 0.17, "{ratio:?}");
    let test = statistic.test.unwrap();
    // Two of the (10 choose 5) assignments separate the groups.
    assert!((test.p - 2.0 / 252.0).abs() < 1e-12 && test.p_corrected.is_none() && test.exact, "{test:?}");
    let worst = primary.statistic("worst").unwrap().test.unwrap();
    // Three secondary tests, all with the smallest p-value.
    assert!((worst.p_corrected.unwrap() - 3.0 * 2.0 / 252.0).abs() < 1e-12, "{worst:?}");
    assert!(primary.statistic("p50").unwrap().test.is_none());
    assert_eq!(versus.differences.under_test.len(), 1);
    let worst = primary.worst.unwrap();
    assert_eq!((worst.of_each, worst.time_ns), (5, made::MEASURED_NS));
    assert!(worst.base_ns > worst.candidate_ns);
    assert_eq!(primary.shift.band, Band::Observations);
    assert!(primary.shape.unwrap().later < 0.3);
    let exceedance = primary.exceedance.as_ref().unwrap();
    assert!(
        exceedance.late[0] > 0 && exceedance.late[1] == 0 && exceedance.high.unwrap() < 1.0,
        "{exceedance:?}"
    );
}

/// At 5 %, without a difference, in 400 comparisons. Correct tests reject in 20 ± 4.4 of them.
#[test]
fn equal_kernels_are_seldom_called_different() {
    assert!((0.02..=0.06).contains(&share_of_rejections(400, 5)));
}

/// `make coverage` prints the table of docs/statistics.md.
#[test]
#[ignore = "minutes; prints a table"]
fn long_table_of_rejections_of_equal_kernels() {
    for boots_of_each in [4, 5, 6, 8, 12, 13] {
        let repetitions = if boots_of_each < 10 { 4000 } else { 300 };
        let share = share_of_rejections(repetitions, boots_of_each);
        println!("{boots_of_each:2} boots of each kernel: a difference in {:.1} %", 100.0 * share);
        assert!(share <= 0.06, "{share}");
    }
}

/// The share of comparisons of equal kernels whose headline is a difference. The smallest p-values are multiples of
/// 1/(2n choose n), so fewer than 5 % may be.
fn share_of_rejections(repetitions: u64, boots_of_each: usize) -> f64 {
    let rejected = (0..repetitions).filter(|repetition| {
        let mut random = Random(repetition * 7919 + boots_of_each as u64);
        let base = boots(&mut random, 0, boots_of_each, 20_000.0);
        let candidate = boots(&mut random, boots_of_each, boots_of_each, 20_000.0);
        let versus = compared(&base, &candidate, "kernel").unwrap();
        let primary = &versus.experiments[versus.primary.unwrap()];
        primary.statistic("p99.9").unwrap().test.unwrap().shows_a_difference()
    });
    rejected.count() as f64 / repetitions as f64
}

#[test]
fn too_few_boots_are_not_tested() {
    let mut random = Random(2);
    let base = boots(&mut random, 0, 3, 20_000.0);
    let candidate = boots(&mut random, 3, 3, 4_000.0);
    let versus = compared(&base, &candidate, "kernel").unwrap();
    let Strength::TooFew { smallest_p, needed } = versus.strength else { panic!("{:?}", versus.strength) };
    assert!((smallest_p - 0.1).abs() < 1e-12 && needed == 4);
    assert!(versus.experiments.iter().flat_map(|one| &one.statistics).all(|one| one.test.is_none()));
    let one = compared(&base[..1], &candidate[..1], "kernel").unwrap();
    assert_eq!(one.strength, Strength::DescriptiveOnly);
    assert!(one.experiments[1].statistic("p99.9").unwrap().ratio.unwrap().low.is_none());
    let nine_against_one = compared(&boots(&mut random, 10, 9, 1e4), &candidate[..1], "kernel").unwrap();
    assert!(matches!(nine_against_one.strength, Strength::TooFew { .. }));
}

#[test]
fn what_differs_besides_the_factor_forbids_a_test() {
    let mut random = Random(3);
    let base = with_kernel(boots(&mut random, 0, 4, 20_000.0), "6.12");
    let candidate = || with_kernel(boots(&mut Random(4), 4, 4, 4_000.0), "6.12-rt");
    let obstacles = |change: &dyn Fn(&mut Run), factor: &str, which: std::ops::Range<usize>| {
        let mut runs = candidate();
        runs[which].iter_mut().for_each(change);
        let versus = compared(&base, &runs, factor).unwrap();
        let tested = versus.experiments.iter().flat_map(|one| &one.statistics).any(|one| one.test.is_some());
        assert_eq!(tested, versus.strength == Strength::Tested);
        let names: Vec<String> = versus.differences.obstacles.into_iter().map(|one| one.name).collect();
        (names, versus.differences.reasons)
    };
    let none = (Vec::<String>::new(), Vec::<String>::new());
    assert_eq!(obstacles(&|_| (), "kernel", 0..4), none);
    let model = |run: &mut Run| run.facts.cpu.model = Fact::known("Cortex-A76".to_owned(), "");
    assert_eq!(obstacles(&model, "kernel", 0..4).0, ["cpu: model"]);
    assert_eq!(obstacles(&model, "kernel", 1..2).0, ["cpu: model"]);
    assert_eq!(obstacles(&model, "model", 0..4).0, ["kernel: release"]);
    // What follows from a kernel may differ between the groups, but not within one.
    let driver = |run: &mut Run| run.facts.cpu.idle_driver = Fact::known("menu".to_owned(), "");
    assert_eq!(obstacles(&driver, "kernel", 0..4), none);
    assert_eq!(obstacles(&driver, "kernel", 0..2).0, ["cpu: idle driver"]);
    let release = |run: &mut Run| run.facts.kernel.release = Fact::known("6.13".to_owned(), "");
    assert_eq!(obstacles(&release, "kernel", 0..1).0, ["kernel: release"]);
    let line = |run: &mut Run| {
        run.facts.kernel.command_line = Fact::known("quiet BOOT_IMAGE=/vmlinuz isolcpus=1".to_owned(), "");
    };
    assert_eq!(obstacles(&line, "kernel", 0..4).0, ["command line: isolcpus"]);
    let priority = |run: &mut Run| {
        for series in &mut run.series {
            if let tardy_record::series::SeriesKind::Timer(timer) = &mut series.kind {
                timer.priority = 1;
            }
        }
    };
    assert_eq!(obstacles(&priority, "kernel", 0..4).1, ["policy and priority: fifo 80 and fifo 1"]);
    assert_eq!(obstacles(&priority, "recipe", 0..4).0, ["kernel: release"]);
    let error = compared(&base, &candidate(), "no such fact").unwrap_err();
    assert!(error.contains("'no such fact' is not a fact") && error.contains("cpu: model"), "{error}");
}

#[test]
fn runs_of_one_boot_are_one_observation() {
    let mut random = Random(5);
    let mut base = boots(&mut random, 0, 8, 20_000.0);
    for (number, run) in base.iter_mut().enumerate() {
        run.origin.boot_id = format!("boot-{}", number / 2);
    }
    let candidate = boots(&mut random, 8, 4, 20_000.0);
    let versus = compared(&base, &candidate, "kernel").unwrap();
    assert_eq!(versus.base.observations.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2, 2]);
    let loaded = versus.experiments[1].statistic("worst").unwrap();
    assert_eq!((loaded.base.len(), loaded.candidate.len()), (4, 4));
    // Twice the time of the candidate's boots, and nobody knows when the highest values were.
    assert_eq!(loaded.base[0], Some(base[0].series[1].max_ns.unwrap() as f64));
}

#[test]
fn runs_are_observations_if_all_are_of_one_boot() {
    let mut random = Random(6);
    let mut all = boots(&mut random, 0, 10, 20_000.0);
    all.iter_mut().for_each(|run| run.origin.boot_id = "one".to_owned());
    let (base, candidate) = all.split_at(5);
    let versus = compared(base, candidate, "recipe").unwrap();
    assert_eq!((versus.unit, versus.strength), (Unit::Run, Strength::Tested));
    assert!(versus.assumptions.iter().any(|one| one.contains("--ab")), "{:?}", versus.assumptions);
    assert_eq!((versus.base.name.as_str(), versus.candidate.name.as_str()), ("A", "B"));
}

#[test]
fn recipes_are_compared_although_they_wait_in_different_ways() {
    let mut random = Random(7);
    let base = boots(&mut random, 0, 4, 20_000.0);
    let mut candidate = boots(&mut random, 4, 4, 4_000.0);
    for run in &mut candidate {
        for (phase, series) in run.plan.phases.iter_mut().zip(&mut run.series) {
            if let tardy_record::plan::ProbePlan::Timer(timer) = &mut phase.probe {
                timer.wake = tardy_record::plan::Wake::Timerfd;
            }
            if let tardy_record::series::SeriesKind::Timer(timer) = &mut series.kind {
                timer.wake = tardy_record::plan::Wake::Timerfd;
            }
        }
    }
    let versus = compared(&base, &candidate, "recipe").unwrap();
    assert_eq!((versus.strength, versus.experiments.len()), (Strength::Tested, 2));
    let error = compared(&base, &candidate, "kernel").unwrap_err();
    assert!(error.contains("nothing in common"), "{error}");
}

#[test]
fn a_run_counts_once_and_only_if_it_is_valid() {
    let mut random = Random(8);
    let (base, mut candidate) = (boots(&mut random, 0, 4, 1e4), boots(&mut random, 4, 5, 1e4));
    candidate[0].validity.valid = false;
    candidate[0].validity.spoilt_by = vec![Reason::Suspended { for_ns: 1, at_ns: 2 }];
    candidate.push(candidate[1].clone());
    let mut empty = candidate[2].clone();
    empty.origin.id = "empty".to_owned();
    empty.series.iter_mut().for_each(|series| series.tally.recorded = 0);
    candidate.push(empty);
    let versus = compared(&base, &candidate, "kernel").unwrap();
    assert_eq!(versus.candidate.observations.len(), 4);
    assert_eq!(versus.left_out.len(), 3, "{:?}", versus.left_out);
    assert!(versus.left_out[2].ends_with("recorded nothing"), "{:?}", versus.left_out);
    let error = compared(&base, &base[2..], "kernel").unwrap_err();
    assert!(error.contains("is in both groups"), "{error}");
    let error = compared(&base, &candidate[..1], "kernel").unwrap_err();
    assert!(error.contains("no run that can be used") && error.contains("suspended"), "{error}");
}

#[test]
fn one_run_each_has_a_band_of_its_slices() {
    let mut random = Random(9);
    let mut pair: Vec<Run> =
        [20_000.0, 40_000.0].map(|mean| boot(&mean.to_string(), &mut random, mean, 0.0)).to_vec();
    for run in &mut pair {
        for series in &mut run.series {
            series.slices = (0..20)
                .map(|slice| {
                    let mean = series.sum_ns.get().unwrap() as f64 / 1000.0;
                    let part = made::series("", &made::exponential(&mut random, 500, mean), 0);
                    tardy_record::slice::Slice {
                        start_ns: slice * 1000,
                        end_ns: (slice + 1) * 1000,
                        histogram: part.measured,
                    }
                })
                .collect();
        }
    }
    let versus = compared(&pair[..1], &pair[1..], "kernel").unwrap();
    let shift = &versus.experiments[1].shift;
    assert_eq!(shift.band, Band::Slices);
    let p99 = shift.levels.iter().find(|at| at.name == "p99").unwrap();
    // The 99 % quantile of an exponential distribution is 4.6 times its mean.
    let expected = 4.605 * 20_000.0;
    assert!(p99.difference.low.unwrap() < expected && expected < p99.difference.high.unwrap(), "{p99:?}");
    assert!(p99.difference.low.unwrap() > 0.0, "{p99:?}");
}
