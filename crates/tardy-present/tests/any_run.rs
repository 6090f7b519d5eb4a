//! Every run can be shown without a panic and without NaN.

use crate::recorded;
use crate::recorded::run;
use proptest::prelude::*;
use tardy_analyse::findings;
use tardy_analyse::tail::Depth;
use tardy_compare::side_by_side;
use tardy_plot::{self as plot, Options, curve};
use tardy_present::sections::extremes;
use tardy_present::{report, summary};
use tardy_record::{Bin, Histogram, Knowable, Run};

/// The largest amount that a run file may have.
const LARGEST_NS: i64 = 1 << 60;

/// Any occupied bins, the extreme ones too.
fn histograms() -> impl Strategy<Value = Histogram> {
    let edges = prop::collection::btree_set(
        prop_oneof![-10_000i64..10_000, 0i64..3_000_000_000, Just(i64::MAX), Just(-i64::MAX)],
        2..60,
    );
    let counts = prop::collection::vec(prop_oneof![1u64..10, Just(1 << 52)], 60);
    (edges, counts).prop_map(|(edges, counts)| {
        let edges: Vec<i64> = edges.into_iter().collect();
        let bins =
            edges.windows(2).zip(counts).map(|(pair, count)| (pair[0], pair[1], count).into()).collect();
        Histogram::from_bins(bins).unwrap()
    })
}

/// A run whose first series holds `histogram`.
fn holding(histogram: Histogram) -> Run {
    let mut run = run("cut-short");
    let series = &mut run.series[0];
    // The lowest bin may have no end, and a reading has one.
    let lowest = |bin: &Bin| bin.lower_ns.max(-LARGEST_NS);
    series.min_ns = histogram.bins().first().map(lowest);
    series.max_ns = histogram.bins().last().map(lowest);
    series.tally.recorded = histogram.total();
    series.tally.attempted = Knowable::Known(histogram.total());
    series.max_at_ns = Some(1 << 62);
    series.slices.truncate(2);
    for slice in &mut series.slices {
        slice.histogram = histogram.clone();
    }
    series.corrected = Some(histogram.clone());
    series.measured = histogram;
    // What the run before had of its own values.
    series.sum_ns = Knowable::Unknown;
    series.block_maxima.maxima_ns.clear();
    series.thresholds.clear();
    run
}

fn finite(text: &str) -> Result<(), TestCaseError> {
    for bad in ["NaN", "inf\"", "inf ", "-inf", "\"inf"] {
        prop_assert!(!text.contains(bad), "{bad} in {text:.2000}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_histogram_is_drawn(histogram in histograms(), limit in prop_oneof![Just(None), (1u64..u64::MAX).prop_map(Some)], width in 300.0f64..2000.0) {
        let run = holding(histogram);
        prop_assert!(tardy_record::file::check(&run).is_ok());
        let options = Options { width, limit_ns: limit, ..Options::default() };
        finite(&tardy_present::plot_file::histogram(&[&run], &options))?;
        finite(&plot::exceedance::draw("e", &curve::curves(&[&run]), &options))?;
        finite(&plot::timeline::draw("t", &run, "highest latency", &options))?;
        finite(&plot::heat::draw("h", &run, &options).unwrap_or_default())?;
    }

    #[test]
    fn any_histogram_is_summarised(histogram in histograms(), limit_ns in prop_oneof![Just(None), (0u64..u64::MAX).prop_map(Some)], width in 0usize..200) {
        let mut run = holding(histogram);
        run.validity.valid = true;
        let options = findings::Options { limit_ns, tails: Depth::Diagnostics, ..findings::Options::default() };
        finite(&summary::text(&run, &findings::of(&run, &options), width, true))?;
        let other = recorded::run("rt");
        finite(&tardy_present::compare::text(&side_by_side::of(&[&run, &other]).unwrap(), width))?;
        report::html(&[&run, &other], &options);
        report::html(&[&run], &options);
    }

    #[test]
    fn any_maxima_are_judged(values in prop::collection::vec(prop_oneof![
        prop::option::of(0i64..100_000),
        Just(Some(-(1 << 52))),
        (-(1i64 << 50)..1 << 50).prop_map(Some),
        Just(None),
    ], 1..300)) {
        let mut run = recorded::run("steady");
        for series in &mut run.series {
            let max_ns = series.max_ns.unwrap();
            series.block_maxima.maxima_ns = values.iter().map(|value| value.map(|ns| ns.min(max_ns))).collect();
        }
        prop_assert!(tardy_record::file::check(&run).is_ok());
        let options = findings::Options { tails: Depth::Diagnostics, ..findings::Options::default() };
        let found = findings::of(&run, &options);
        finite(&summary::text(&run, &found, 80, false))?;
        finite(&extremes::whole(&run, &found.tails, 80, false))?;
        report::html(&[&run], &options);
    }

    #[test]
    fn any_readings_are_drawn(values in prop::collection::vec(prop_oneof![Just(f64::MAX), Just(f64::MIN), Just(0.0), -1e9f64..1e9], 1..50)) {
        let mut run = run("rt");
        let series = &mut run.environment.series[0];
        series.at_ns = (0..values.len() as u64).collect();
        series.values = values;
        finite(&plot::timeline::draw("t", &run, "highest latency", &Options::default()))?;
    }
}
