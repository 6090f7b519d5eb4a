use super::*;
use crate::stationarity;
use crate::test_runs::{Random, run};

/// The only tail of a run.
fn tail_of(run: &Run) -> Tail {
    let mut tails = of(run, &stationarity::of(run), Depth::Diagnostics);
    assert_eq!(tails.len(), 1);
    tails.remove(0)
}

/// The level that readings of two CPUs every 2 ms exceed once per so many seconds.
fn true_level_ns(seconds: f64) -> f64 {
    (4.0 + 2.0 * libm::log(seconds * 1000.0)) * 1000.0
}

fn contains(level: &Level) -> bool {
    let truth = true_level_ns(level.once_per_ns as f64 / 1e9);
    level.lower_ns.is_none_or(|lower| lower as f64 <= truth)
        && level.upper_ns.is_none_or(|upper| truth <= upper as f64)
}

fn refusing_checks(tail: &Tail) -> Vec<&'static str> {
    tail.refusals.iter().map(|one| one.check).collect()
}

#[test]
fn an_exponential_tail_has_levels_by_both_methods() {
    let tail = tail_of(&run(400, 7, |random, _| random.latency_us()));
    assert!(tail.supported, "{:?}", tail.refusals);
    let next = tail.next.unwrap();
    assert_eq!((next.once_per_ns, next.extrapolation), (600_000_000_000, 1.5));
    let maxima = tail.maxima.as_ref().unwrap();
    for estimate in [maxima, tail.excesses.as_ref().unwrap()] {
        assert!(estimate.levels.iter().all(contains), "{:?}", estimate.levels);
        let times: Vec<u64> = estimate.levels.iter().map(|level| level.once_per_ns / 1_000_000_000).collect();
        assert_eq!(times, [60, 600, 3600], "from a twentieth of the run to a hundred times");
        let diagnostics = estimate.diagnostics.as_ref().unwrap();
        assert!(diagnostics.curve.len() > 8 && diagnostics.shapes.len() > 2);
        assert!(diagnostics.quantiles.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }
    assert_eq!(maxima.method, Method::BlockMaxima { block_ns: 800_000_000, blocks: 500 });
    let Method::Excesses { over, of, extremal_index, .. } = tail.excesses.as_ref().unwrap().method else {
        panic!()
    };
    assert!(
        (400..=500).contains(&over) && of == 400_000 && extremal_index > 0.9,
        "{:?}",
        tail.excesses.as_ref().unwrap().method
    );
}

#[test]
fn clusters_lower_the_extremal_index() {
    // Each late value is read four times.
    let mut repeated = (0, 0.0);
    let tail = tail_of(&run(400, 3, |random, _| {
        if repeated.0 == 0 {
            repeated = (4, random.latency_us());
        }
        repeated.0 -= 1;
        repeated.1
    }));
    let Method::Excesses { extremal_index, .. } = tail.excesses.as_ref().unwrap().method else { panic!() };
    assert!((extremal_index - 0.25).abs() < 0.05, "{extremal_index}");
}

#[test]
fn a_run_that_becomes_slower_is_refused_with_the_reason() {
    let run = run(200, 5, |random, passed| random.latency_us() * (1.0 + 0.5 * passed));
    let tail = tail_of(&run);
    assert!(!tail.supported && tail.next.is_none());
    let checks = refusing_checks(&tail);
    assert!(checks.contains(&"constant conditions") && checks.contains(&"constant level"), "{checks:?}");
    assert!(tail.maxima.unwrap().levels.is_empty());
    let brief = of(&run, &stationarity::of(&run), Depth::Quoted).remove(0);
    assert!(brief.excesses.is_none() && brief.refusals == tail.refusals);
    let change = tail.refusals.iter().find(|one| one.check == "constant conditions").unwrap();
    assert_eq!(change.found, "the conditions changed during the measurement");
    assert_eq!(change.help, Some("find what changed, and measure again without that change"));
}

#[test]
fn a_second_mechanism_is_refused_with_the_reason() {
    let late = |random: &mut Random, _: f64| {
        let is_second = random.uniform() < 2e-4;
        random.latency_us() + if is_second { 100.0 } else { 0.0 }
    };
    let tail = tail_of(&run(400, 11, late));
    assert!(!tail.supported);
    let help: Vec<&str> = tail.refusals.iter().filter_map(|one| one.help).collect();
    assert!(
        help.contains(&"find the causes of the highest values, and measure each mechanism on its own"),
        "{help:?}"
    );
    let reasons: Vec<&str> = tail.refusals.iter().map(|one| one.reason.as_str()).collect();
    assert!(reasons.contains(&"the highest values do not have one distribution"), "{reasons:?}");
}

#[test]
fn a_short_run_is_refused_with_what_is_missing() {
    let tail = tail_of(&run(6, 2, |random, _| random.latency_us()));
    assert_eq!(refusing_checks(&tail), ["count"]);
    let Refusal { found, help, reason, .. } = &tail.refusals[0];
    assert_eq!(reason, "there are too few values");
    assert_eq!(found, "60 values were fitted; this level needs at least 100");
    assert!(*help == Some("measure for longer"));
}

#[test]
fn without_block_maxima_the_highest_values_decide() {
    let mut run = run(400, 7, |random, _| random.latency_us());
    for series in &mut run.series {
        series.block_maxima.maxima_ns.clear();
    }
    let tail = tail_of(&run);
    assert!(tail.supported && tail.maxima.is_none() && contains(&tail.next.unwrap()), "{tail:?}");
}

#[test]
fn a_run_without_readings_has_no_tail() {
    let mut run = run(6, 2, |random, _| random.latency_us());
    for series in &mut run.series {
        series.max_ns = None;
    }
    assert_eq!(of(&run, &stationarity::of(&run), Depth::Levels), []);
}

/// How often runs of one distribution are refused, and how often the interval of the quoted level contains the true one.
#[test]
#[ignore = "a minute; prints a table of docs/statistics.md"]
fn long_coverage_of_quoted_levels() {
    const RUNS: u64 = 300;
    for seconds in [60, 400] {
        let (mut refused, mut contained, mut of_excesses) = (0, 0, 0);
        for seed in 0..RUNS {
            let run = run(seconds, 1000 + seed, |random, _| random.latency_us());
            let tail = of(&run, &stationarity::of(&run), Depth::Levels).remove(0);
            refused += u64::from(!tail.supported);
            contained += u64::from(tail.next.is_some_and(|level| contains(&level)));
            let next = tail.next.map(|level| level.once_per_ns);
            let excess =
                tail.excesses.as_ref().unwrap().levels.iter().find(|level| Some(level.once_per_ns) == next);
            of_excesses += u64::from(excess.is_some_and(contains));
        }
        let supported = RUNS - refused;
        let per_cent = |count: u64, of: u64| 100.0 * count as f64 / of as f64;
        println!(
            "{seconds} s: {:.1} % refused; the level is in the interval of maxima in {:.1} %, of excesses in {:.1} %",
            per_cent(refused, RUNS),
            per_cent(contained, supported),
            per_cent(of_excesses, supported)
        );
        assert!(per_cent(refused, RUNS) <= 15.0 && per_cent(contained, supported) >= 92.0);
    }
}
