use tardy_record::environment::{EnvSeries, Merge};
use tardy_record::facts::{Fact, Facts};
use tardy_record::gaps::{Counter, Gap, GapKeeper, GapSeries, KeptGaps};
use tardy_record::plan::{Plan, Policy};
use tardy_record::run::{Origin, Phase};
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use super::*;

/// Gaps of `length_ns` every `period_ns`, with a jitter of some hundred ns, in the first `span_ns`.
fn pulses(period_ns: u64, length_ns: u64, span_ns: u64, at_ns: u64) -> Vec<Gap> {
    let wobble = |n: u64| (n * 7_919) % 401;
    (0..(span_ns - at_ns).div_ceil(period_ns))
        .map(|n| Gap { at_ns: at_ns + n * period_ns + wobble(n), length_ns: length_ns + wobble(n * 31) % 40 })
        .collect()
}

fn run(mut gaps: Vec<Gap>, span_ns: u64, policy: Policy) -> Run {
    gaps.sort_by_key(|gap| gap.at_ns);
    let (mut builder, mut keeper) = (SeriesBuilder::new(0, None, span_ns, &[]), GapKeeper::new(span_ns));
    for (cycle, gap) in (0..).zip(&gaps) {
        builder.record(Reading { value_ns: gap.length_ns as i64, at_ns: gap.at_ns, cycle, missed: 0 });
        keeper.add(*gap);
    }
    let KeptGaps { first, windows, longest, longest_from_ns } = keeper.kept();
    let kind = GapSeries {
        cpu: 0,
        policy,
        priority: 0,
        of_pin: false,
        counter: Counter::Tsc,
        threshold_ns: 500,
        loops: span_ns / 20,
        shortest_loop_ps: 9_000,
        blind_ns: 0,
        rate_before_hz: 2.4e9,
        rate_whole_hz: Some(2.4e9),
        first,
        windows,
        longest,
        longest_from_ns,
        times_lost: 0,
    };
    let kind = SeriesKind::Gaps(Box::new(kind));
    let mut run = Run::begun(Origin::default(), Plan::default(), Facts::default());
    run.phases.push(Phase { label: "noise".into(), end_ns: Some(span_ns), ..Phase::default() });
    let series = builder.series("cpu 0".into(), 0, Quantity::Noise, Level::UserThread, kind);
    run.series.push(Series { counted_ns: span_ns, ..series });
    run
}

fn interrupts(of: &str, per_second: f64) -> EnvSeries {
    EnvSeries {
        name: "interrupts".into(),
        of: of.into(),
        cpu: Some(0),
        unit: "1/s".into(),
        merge: Merge::Mean,
        at_ns: vec![1_000_000_000],
        values: vec![per_second],
    }
}

fn only(run: &Run) -> Source {
    let found = of(run);
    let sources = &found[0].cpus[0].sources;
    assert_eq!(sources.len(), 1, "{sources:#?}");
    sources[0].clone()
}

const ARTICLE_NS: u64 = 100_000_000;

/// The trace of the Raspberry Pi 1 article: 4.5 us every 125 us, and 100 ms of it.
fn article() -> Run {
    run(pulses(125_000, 4_500, ARTICLE_NS, 10_000), ARTICLE_NS, Policy::Other)
}

#[test]
fn the_articles_trace_is_a_usb_micro_frame_of_125_us_and_4_5_us() {
    let source = only(&article());
    assert!((source.period.period_ns - 125_000.0).abs() < 2.0, "{}", source.period.period_ns);
    assert!((4_500..4_540).contains(&source.period.length_ns), "{}", source.period.length_ns);
    assert!(source.share_of_noise > 0.999);
    assert!((source.share_of_time - 0.036).abs() < 0.001, "{}", source.share_of_time);
    assert_eq!(source.cause.certainty, Certainty::Guess, "a period alone is not evidence of a cause");
    assert!(source.cause.name.unwrap().contains("dwc_otg"));
}

#[test]
fn an_interrupt_line_of_the_same_rate_confirms_a_guess() {
    let mut run = article();
    run.environment.series.extend([interrupts("LOC", 251.0), interrupts("39 dwc_otg", 7_993.0)]);
    let cause = only(&run).cause;
    assert_eq!((cause.interrupt.as_deref(), cause.certainty), (Some("39 dwc_otg"), Certainty::Found));
    run.environment.series[1] = interrupts("39 dwc_otg", 4_000.0);
    assert_eq!(only(&run).cause.certainty, Certainty::Guess);
    // The same rate on another CPU is not evidence for this one.
    run.environment.series[1] = EnvSeries { cpu: Some(1), ..interrupts("39 dwc_otg", 8_000.0) };
    assert_eq!(only(&run).cause.interrupt, None);
}

#[test]
fn the_kernels_configuration_confirms_and_excludes_a_tick() {
    let span_ns = 2_000_000_000;
    let mut run = run(pulses(4_000_000, 2_000, span_ns, 700_000), span_ns, Policy::Other);
    let cause = |run: &Run| {
        let Cause { name, certainty, .. } = only(run).cause;
        (name.unwrap_or_default(), certainty)
    };
    assert_eq!(cause(&run), ("CONFIG_HZ=250 tick".into(), Certainty::Guess));
    run.facts.kernel.hz = Fact::known(250, "test");
    assert_eq!(cause(&run), ("CONFIG_HZ=250 tick".into(), Certainty::Found));
    run.facts.kernel.hz = Fact::known(1000, "test");
    assert_eq!(cause(&run), ("every 4 ticks of CONFIG_HZ=1000".into(), Certainty::Guess));
    run.facts.kernel.hz = Fact::known(300, "test");
    assert_eq!(cause(&run), (String::new(), Certainty::Unknown));
}

#[test]
fn the_noise_is_divided_among_its_sources_and_the_rest() {
    let span_ns = 1_000_000_000;
    let mut gaps = pulses(125_000, 4_500, span_ns, 10_000);
    gaps.extend(pulses(4_000_000, 20_000, span_ns, 1_070_000));
    let mut state = 0x5eed_u64;
    gaps.extend((0..1_000).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Gap { at_ns: state % span_ns, length_ns: 1_000 }
    }));
    let found = of(&run(gaps, span_ns, Policy::Other));
    let cpu = &found[0].cpus[0];
    let shares: Vec<(u64, u64)> = (cpu.sources.iter())
        .map(|one| {
            ((one.period.period_ns / 1000.0).round() as u64, (one.share_of_noise * 100.0).round() as u64)
        })
        .collect();
    // 36 ms, 5 ms and 1 ms of 42 ms.
    assert_eq!(shares, [(125, 86), (4000, 12)]);
    // A few random gaps fall on a source's teeth and count as its own.
    assert!((0.012..0.024).contains(&cpu.rest_share.unwrap()), "{:?}", cpu.rest_share);
    assert!((cpu.share - 0.042).abs() < 0.001, "{}", cpu.share);
}

/// Stops of 50 ms once per second are attributed to throttling if its settings match and the loop was real-time.
#[test]
fn real_time_throttling_is_named() {
    let span_ns = 10_000_000_000;
    let mut gaps = pulses(4_000_000, 2_000, span_ns, 700_000);
    gaps.extend((0..10u64).map(|n| Gap { at_ns: 951_000_000 + n * 1_000_000_000, length_ns: 49_500_000 }));
    let mut run = run(gaps, span_ns + 1, Policy::Fifo);
    let throttled = |run: &Run| {
        let found = of(run);
        let sources = found[0].cpus[0].sources.clone();
        sources.into_iter().find(|source| source.period.length_ns > 1_000_000)
    };
    assert_eq!(throttled(&run), None, "too few stops to find a period without the rule");
    run.facts.scheduling.rt_runtime_us = Fact::known(950_000, "test");
    run.facts.scheduling.rt_period_us = Fact::known(1_000_000, "test");
    let source = throttled(&run).unwrap();
    assert!((source.period.period_ns / 1e9 - 1.0).abs() < 1e-3);
    assert_eq!((source.period.length_ns, source.cause.certainty), (49_500_000, Certainty::Found));
    assert!(source.cause.name.unwrap().contains("sched_rt_runtime_us"));
}

#[test]
fn a_run_without_gaps_has_a_share_of_0() {
    let found = of(&run(Vec::new(), ARTICLE_NS, Policy::Other));
    let cpu = &found[0].cpus[0];
    assert_eq!((cpu.share, cpu.gaps, cpu.longest_ns, cpu.rest_share), (0.0, 0, None, None));
}
