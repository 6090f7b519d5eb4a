//! How often the intervals and bounds that tardy prints contain the true value, by simulation.
//!
//! `make test` runs a few hundred simulated runs of each case and fails if the coverage is below the nominal one by more than
//! chance allows. `make coverage` runs thousands and prints the table of docs/statistics.md.

use tardy_analyse::share_limits::{self, Length};
use tardy_analyse::{dependence, late, row, until};
use tardy_record::facts::Facts;
use tardy_record::plan::{PhasePlan, Plan, ProbePlan, Span, Tracer, TracerPlan};
use tardy_record::run::{Origin, Phase};
use tardy_record::series::{Level, Quantity, SeriesKind, TraceSeries, TraceSource};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::stop_rule::{Decision, StopAt, StopRule};
use tardy_record::{Run, Series};

const CONFIDENCE: f64 = 0.95;
const LIMIT_NS: u64 = 50_000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// Uniform between 0 and 1, neither included.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.uniform())
    }
}

/// A process of late wake-ups.
#[derive(Clone, Copy)]
enum Late {
    /// Independent, with this probability each.
    Independent(f64),
    /// Groups of adjacent ones, geometric with this mean; so many begin per second.
    Groups { mean: f64, per_second: f64 },
    /// Groups of so many adjacent ones; so many begin per second.
    Bursts { size: u64, per_second: f64 },
    /// Within episodes of this mean length in seconds, with so many seconds between, one in ten.
    Episodes { length_s: f64, pause_s: f64 },
}

/// Cycles per second of the simulated runs for limits.
const RATE: u64 = 100;

impl Late {
    /// For each cycle of a run, whether it is late.
    fn cycles(self, random: &mut Random, seconds: u64) -> Vec<bool> {
        let count = (seconds * RATE) as usize;
        match self {
            Self::Independent(share) => (0..count).map(|_| random.uniform() < share).collect(),
            Self::Groups { mean, per_second } => {
                let starts = per_second / RATE as f64;
                let mut left = 0.0;
                let mut cycle = || {
                    if left < 1.0 && random.uniform() < starts {
                        left = 1.0 + (libm::log(random.uniform()) / libm::log(1.0 - 1.0 / mean)).floor();
                    }
                    let is_late = left >= 1.0;
                    left -= 1.0;
                    is_late
                };
                (0..count).map(|_| cycle()).collect()
            }
            Self::Bursts { size, per_second } => {
                let mut left = 0;
                let mut cycle = || {
                    if left == 0 && random.uniform() < per_second / RATE as f64 {
                        left = size;
                    }
                    let is_late = left > 0;
                    left = left.saturating_sub(1);
                    is_late
                };
                (0..count).map(|_| cycle()).collect()
            }
            Self::Episodes { length_s, pause_s } => {
                let mut within = random.uniform() < length_s / (length_s + pause_s);
                let length = |random: &mut Random, within: bool| {
                    random.exponential(if within { length_s } else { pause_s }) * RATE as f64
                };
                let mut left = length(random, within);
                let mut cycle = || {
                    left -= 1.0;
                    if left < 0.0 {
                        within = !within;
                        left = length(random, within);
                    }
                    within && random.uniform() < 0.1
                };
                (0..count).map(|_| cycle()).collect()
            }
        }
    }

    /// The share of late cycles in the long run.
    fn share(self) -> f64 {
        match self {
            Self::Independent(share) => share,
            // A group of G cycles, then a pause that is geometric with mean (1 − s)/s.
            Self::Groups { mean, per_second } => {
                let starts = per_second / RATE as f64;
                mean / (mean + (1.0 - starts) / starts)
            }
            Self::Bursts { size, per_second } => Self::Groups { mean: size as f64, per_second }.share(),
            Self::Episodes { length_s, pause_s } => 0.1 * length_s / (length_s + pause_s),
        }
    }
}

fn kind(interval_ns: u64) -> SeriesKind {
    SeriesKind::Trace(TraceSeries {
        cpu: 0,
        source: TraceSource::Events,
        interval_ns,
        beside: false,
        lost_events: 0,
    })
}

fn series_of_late(late: &[bool], declared: bool) -> Series {
    let interval_ns = 1_000_000_000 / RATE;
    let end_ns = late.len() as u64 * interval_ns;
    let thresholds: &[u64] = if declared { &[LIMIT_NS] } else { &[] };
    let mut builder = SeriesBuilder::new(0, None, end_ns, thresholds);
    for (cycle, is_late) in (0..).zip(late) {
        let value_ns = if *is_late { 2 * LIMIT_NS as i64 } else { LIMIT_NS as i64 / 2 };
        builder.record(Reading { value_ns, at_ns: cycle * interval_ns, cycle, missed: 0 });
    }
    finish(builder, end_ns, interval_ns)
}

fn finish(builder: SeriesBuilder, end_ns: u64, interval_ns: u64) -> Series {
    let mut series =
        builder.series("cpu 0".into(), 0, Quantity::Latency, Level::UserThread, kind(interval_ns));
    series.counted_ns = end_ns;
    series
}

/// The share of `sets` simulated runs whose 95 % bound is not below the true share of late wake-ups.
fn bounds(process: Late, seconds: u64, sets: u64, declared: bool) -> f64 {
    let mut random = Random(seconds ^ sets);
    let holds = |_: &u64| {
        let series = series_of_late(&process.cycles(&mut random, seconds), declared);
        let late = late::beyond(&series, LIMIT_NS);
        let inflation = dependence::inflation(late.dependence);
        share_limits::upper(&late, inflation, CONFIDENCE, Length::Planned) >= process.share()
    };
    (0..sets).filter(holds).count() as f64 / sets as f64
}

/// The plan of a run of two CPUs that ends as soon as its data decide whether the share of late wake-ups is at most
/// `probability`, where an event makes at most `cluster` wake-ups late.
fn plan_until(probability: f64, cluster: u64) -> Plan {
    let tracer = TracerPlan {
        tracer: Tracer::Timerlat,
        cpus: vec![0, 1],
        period_ns: 1_000_000_000 / RATE,
        runtime_ns: None,
        priority: None,
        threshold_ns: None,
    };
    let phase = PhasePlan {
        label: "only".to_owned(),
        round: 1,
        loads: Vec::new(),
        warmup_ns: 0,
        span: Span::Unknown,
        probe: ProbePlan::Tracer(tracer),
    };
    let rule =
        StopRule { at: StopAt::Decided, limit_ns: LIMIT_NS, probability, confidence: CONFIDENCE, cluster };
    Plan { until: Some(rule), phases: vec![phase], ..Plan::default() }
}

/// The shares of `sets` runs of at most `seconds` that end as supported and as refuted, if their data are looked at once per second.
/// The claim is `claimed` times the true share. Both CPUs have the
/// same process, independently of each other, but if the claim is too low, one of them is never late.
fn stops(process: Late, cluster: u64, claimed: f64, seconds: u64, sets: u64) -> [f64; 2] {
    let mut random = Random(seconds ^ sets ^ claimed.to_bits());
    let mut run =
        Run::begun(Origin::default(), plan_until(claimed * process.share(), cluster), Facts::default());
    run.phases.push(Phase::default());
    let interval_ns = 1_000_000_000 / RATE;
    let mut ended = [0u64; 2];
    for _ in 0..sets {
        let mut cycles = [0, 1].map(|_| process.cycles(&mut random, seconds));
        if claimed < 1.0 {
            // A wrong support is most probable if only one CPU refutes it, a wrong refutation if both may.
            cycles[1].fill(false);
        }
        // Slices begin as short as those of a run with such a rule.
        let mut builders = [0, 1].map(|_| SeriesBuilder::new(0, None, 0, &[LIMIT_NS]));
        for second in 0..seconds {
            for (builder, cycles) in builders.iter_mut().zip(&cycles) {
                for cycle in second * RATE..(second + 1) * RATE {
                    let value_ns =
                        if cycles[cycle as usize] { 2 * LIMIT_NS as i64 } else { LIMIT_NS as i64 / 2 };
                    builder.record(Reading { value_ns, at_ns: cycle * interval_ns, cycle, missed: 0 });
                }
            }
            run.series =
                (0..2u32).zip(&builders).map(|(cpu, builder)| so_far(builder, cpu, second + 1)).collect();
            match until::decision(&run, 0) {
                Decision::Undecided => continue,
                Decision::Supported => ended[0] += 1,
                Decision::Refuted => ended[1] += 1,
            }
            break;
        }
    }
    ended.map(|count| count as f64 / sets as f64)
}

fn so_far(builder: &SeriesBuilder, cpu: u32, seconds: u64) -> Series {
    let (quantity, level) = (Quantity::Latency, Level::UserThread);
    let mut series = builder.series(format!("cpu {cpu}"), 0, quantity, level, kind(1_000_000_000 / RATE));
    series.counted_ns = seconds * 1_000_000_000;
    series
}

/// The share of `sets` runs of independent late wake-ups that are called clustered.
fn called_clustered(share: f64, seconds: u64, sets: u64) -> f64 {
    let mut random = Random(sets);
    let is_clustered = |_: &u64| {
        let series = series_of_late(&Late::Independent(share).cycles(&mut random, seconds), true);
        dependence::of(&series, LIMIT_NS as i64).is_some_and(|dependence| dependence.clustered)
    };
    (0..sets).filter(is_clustered).count() as f64 / sets as f64
}

/// A run at 1 kHz with stalls at random times, one a second, exponential with a mean of 5 ms; the periods that
/// they swallow are filled in.
fn series_with_stalls(random: &mut Random, seconds: u64) -> Series {
    const INTERVAL_NS: u64 = 1_000_000;
    let end_ns = seconds * 1_000_000_000;
    let mut builder = SeriesBuilder::new(0, Some(INTERVAL_NS), end_ns, &[]);
    let mut stall_ns = random.exponential(1e9) as u64;
    let mut cycle = 0;
    while cycle * INTERVAL_NS < end_ns {
        let due_ns = cycle * INTERVAL_NS;
        let mut value_ns = (random.uniform() * 10_000.0) as u64;
        let mut missed = 0;
        if stall_ns <= due_ns {
            value_ns = random.exponential(5e6) as u64;
            missed = value_ns / INTERVAL_NS;
            stall_ns = due_ns + value_ns + random.exponential(1e9) as u64;
        }
        builder.record(Reading { value_ns: value_ns as i64, at_ns: due_ns + value_ns, cycle, missed });
        cycle += 1 + missed;
    }
    finish(builder, end_ns, INTERVAL_NS)
}

/// The true quantile of [`series_with_stalls`] at each level, from one run as long as many.
fn true_quantiles() -> Vec<i64> {
    let long = row::of_series(&series_with_stalls(&mut Random(99), 20_000));
    long.quantiles.iter().map(|quantile| quantile.value.expect("many values").quoted_ns()).collect()
}

/// For p99 and p99.9, the share of runs whose 95 % interval contains the true quantile, of those with an interval.
fn quantile_intervals(seconds: u64, sets: u64, truth: &[i64]) -> Vec<(f64, f64)> {
    let mut random = Random(seconds);
    let runs: Vec<_> = (0..sets).map(|_| row::of_series(&series_with_stalls(&mut random, seconds))).collect();
    let of_level = |level: usize| {
        let values = runs.iter().filter_map(|row| row.quantiles[level].value);
        let ends: Vec<_> = values
            .map(|value| (value.confidence_lower_ns.unwrap_or(i64::MIN), value.confidence_upper_ns))
            .collect();
        let holds = |(lower, upper): &&(i64, Option<i64>)| {
            *lower <= truth[level] && upper.is_none_or(|upper| truth[level] <= upper)
        };
        let closed = ends.iter().filter(|(_, upper)| upper.is_some()).count();
        (ends.iter().filter(holds).count() as f64 / ends.len() as f64, closed as f64 / ends.len() as f64)
    };
    [1, 2].into_iter().map(of_level).collect()
}

/// Simulated processes: name, process, seconds of a run, and the least accepted coverage of the 95 % bound in many runs.
const PROCESSES: [(&str, Late, u64, f64); 7] = [
    ("independent, 60 expected in 60 s", Late::Independent(0.01), 60, 0.93),
    ("independent, 6 expected in 60 s", Late::Independent(0.001), 60, 0.93),
    ("groups of 10, 12 expected in 60 s", Late::Groups { mean: 10.0, per_second: 0.2 }, 60, 0.93),
    ("groups of 10, 3 expected in 60 s", Late::Groups { mean: 10.0, per_second: 0.05 }, 60, 0.90),
    ("episodes of 10 s, one a minute, 10 min", Late::Episodes { length_s: 10.0, pause_s: 50.0 }, 600, 0.90),
    ("episodes of 10 s, one a minute, 1 h", Late::Episodes { length_s: 10.0, pause_s: 50.0 }, 3600, 0.93),
    ("episodes of 30 s, one in 2 min, 1 h", Late::Episodes { length_s: 30.0, pause_s: 90.0 }, 3600, 0.93),
];

/// Processes of runs that their data end, the size of a cluster that their rule allows for, and the most seconds of a run.
const STOPPED: [(&str, Late, u64, u64); 5] = [
    ("independent, 2 per second", Late::Independent(0.02), 1, 120),
    ("independent, 0.2 per second", Late::Independent(0.002), 1, 120),
    ("independent, 0.2 per second", Late::Independent(0.002), 1, 300),
    ("groups of exactly 3, one in 5 s", Late::Bursts { size: 3, per_second: 0.2 }, 3, 300),
    ("groups of exactly 10, one in 5 s", Late::Bursts { size: 10, per_second: 0.2 }, 10, 300),
];
/// The same where the rule assumes smaller clusters than there are: printed, not required.
const STOPPED_CLUSTERED: [(&str, Late, u64, u64); 5] = [
    ("groups of exactly 3, one in 5 s", Late::Bursts { size: 3, per_second: 0.2 }, 1, 300),
    ("groups of exactly 10, one in 5 s", Late::Bursts { size: 10, per_second: 0.2 }, 1, 300),
    ("groups of 3 on average, one in 5 s", Late::Groups { mean: 3.0, per_second: 0.2 }, 1, 300),
    ("groups of 3 on average, one in 5 s", Late::Groups { mean: 3.0, per_second: 0.2 }, 6, 300),
    ("episodes of 10 s, one a minute", Late::Episodes { length_s: 10.0, pause_s: 50.0 }, 1, 300),
];

/// Three standard errors of a share near `share` in `sets` runs.
fn slack(share: f64, sets: u64) -> f64 {
    3.0 * (share * (1.0 - share) / sets as f64).sqrt()
}

#[test]
fn bounds_hold_for_late_wakeups_in_groups_and_in_episodes() {
    for (name, process, seconds, least) in PROCESSES {
        let sets = if seconds > 600 { 60 } else { 200 };
        for declared in [true, false] {
            let coverage = bounds(process, seconds, sets, declared);
            assert!(
                coverage >= least - slack(least, sets),
                "{name}, limit declared before the run: {declared}: the 95 % bound holds in {coverage:.3} of {sets} runs"
            );
        }
    }
}

#[test]
fn independent_late_wakeups_are_seldom_called_clustered() {
    for expected in [10.0, 30.0, 60.0] {
        let share = called_clustered(expected / 6000.0, 60, 300);
        assert!(
            share <= 0.05 + slack(0.05, 300),
            "{expected} expected: {share} of 300 runs are called clustered"
        );
    }
}

#[test]
fn intervals_of_quantiles_hold_where_missed_periods_are_filled_in() {
    let truth = true_quantiles();
    for (seconds, sets) in [(5, 300), (60, 100)] {
        for (level, (coverage, _)) in ["p99", "p99.9"].iter().zip(quantile_intervals(seconds, sets, &truth)) {
            assert!(
                coverage >= 0.93 - slack(0.93, sets),
                "{level} in {seconds} s: the interval holds in {coverage:.3} of {sets} runs"
            );
        }
    }
}

/// The claims are just below and just above the true share, so every decision for the wrong one of them is an error.
#[test]
fn runs_that_their_data_end_are_rarely_wrong() {
    let sets = 100;
    for (name, process, cluster, seconds) in STOPPED.into_iter().filter(|one| one.3 <= 120 || one.2 == 3) {
        let [wrong, _] = stops(process, cluster, 0.99, seconds, sets);
        assert!(wrong <= 0.05 + slack(0.05, sets), "{name}: supported although it is not so in {wrong}");
        let [_, wrong] = stops(process, cluster, 1.01, seconds, sets);
        assert!(wrong <= 0.01 + slack(0.01, sets), "{name}: refuted although it is so in {wrong}");
    }
    // They do end.
    let [supported, _] = stops(Late::Independent(0.02), 1, 4.0, 60, sets);
    let [_, refuted] = stops(Late::Independent(0.02), 1, 0.25, 60, sets);
    assert!(supported > 0.9 && refuted > 0.9, "{supported} {refuted}");
}

/// In a run of 2.0001 s, the third block of 100 us is not a block.
#[test]
fn a_block_that_has_only_begun_is_not_counted() {
    let end_ns = 2_000_100_000;
    let mut builder = SeriesBuilder::new(0, None, end_ns, &[LIMIT_NS]);
    for cycle in 0..2001 {
        let value_ns = if cycle % 10 == 0 && cycle < 2000 { 2 * LIMIT_NS } else { 1000 } as i64;
        builder.record(Reading { value_ns, at_ns: cycle * 1_000_000 + 100_000, cycle, missed: 0 });
    }
    let series = finish(builder, end_ns, 1_000_000);
    assert_eq!(series.thresholds[0].blocks, 3, "the file counts the block that has begun");
    let dependence = dependence::of(&series, LIMIT_NS as i64).expect("two blocks");
    assert_eq!((dependence.dispersion, dependence.clustered), (0.0, false));
}

#[test]
#[ignore = "a long test: make coverage"]
fn coverage_of_every_interval() {
    println!("| late wake-ups | declared before | not declared |\n|---|---|---|");
    for (name, process, seconds, least) in PROCESSES {
        let sets = if seconds > 600 { 1000 } else { 4000 };
        let [declared, not] = [true, false].map(|declared| bounds(process, seconds, sets, declared));
        println!("| {name} | {:.1} % | {:.1} % |", declared * 100.0, not * 100.0);
        assert!(declared.min(not) >= least, "{name}");
    }
    println!("\n| independent, called clustered | of runs |\n|---|---|");
    for expected in [10.0, 30.0, 60.0] {
        let share = called_clustered(expected / 6000.0, 60, 4000);
        println!("| {expected} expected in 60 s | {:.1} % |", share * 100.0);
        assert!(share <= 0.06, "{expected} expected");
    }
    println!(
        "\n| quantiles with stalls filled in | p99 | upper end known | p99.9 | upper end known |\n|---|---|---|---|---|"
    );
    let truth = true_quantiles();
    for (seconds, sets) in [(5, 2000), (60, 1000), (600, 200)] {
        let [p99, p99_9] = quantile_intervals(seconds, sets, &truth).try_into().expect("two levels");
        let cell =
            |(coverage, closed): (f64, f64)| format!("{:.1} % | {:.0} %", coverage * 100.0, closed * 100.0);
        println!("| {seconds} s | {} | {} |", cell(p99), cell(p99_9));
        assert!(p99.0.min(p99_9.0) >= 0.90, "{seconds} s");
    }
}

#[test]
#[ignore = "a long test: make coverage"]
fn coverage_of_runs_that_their_data_end() {
    println!(
        "| late wake-ups, at most so many seconds | `--cluster` | claim 1 % too low: supported | claim 1 % too high: refuted |"
    );
    println!("|---|---|---|---|");
    for (all, is_required) in [(STOPPED, true), (STOPPED_CLUSTERED, false)] {
        for (name, process, cluster, seconds) in all {
            let sets = 300;
            let [supported, _] = stops(process, cluster, 0.99, seconds, sets);
            let [_, refuted] = stops(process, cluster, 1.01, seconds, sets);
            println!(
                "| {name}, {seconds} s | {cluster} | {:.1} % | {:.1} % |",
                supported * 100.0,
                refuted * 100.0
            );
            let most = |error| error + slack(error, sets);
            assert!(!is_required || (supported <= most(0.05) && refuted <= most(0.01)), "{name}");
        }
    }
}
