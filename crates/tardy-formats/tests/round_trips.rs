//! Exports runs and imports them again: counts, extremes and names must be the same.

use proptest::prelude::*;
use tardy_formats::{EXPORTS, ExportContent, ExportOptions, ImportOptions, Unit, export, import_bytes};
use tardy_record::foreign::{ForeignPlan, ForeignSeries};
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{PhasePlan, Plan, ProbePlan, Span};
use tardy_record::run::{Origin, Phase, State};
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::{Histogram, Knowable, Run, file};

/// A run of series with these values, which are whole multiples of the unit. With `reach`, values from there on are
/// beyond the histogram.
fn run_of(all: &[Vec<u64>], unit: Unit, reach: Option<i64>) -> Run {
    let plan = Plan {
        phases: vec![PhasePlan {
            label: "made".to_owned(),
            round: 1,
            loads: vec![LoadSpec::Unrecognised("unknown".to_owned())],
            warmup_ns: 0,
            span: Span::Unknown,
            probe: ProbePlan::Foreign(ForeignPlan::default()),
        }],
        ..Plan::default()
    };
    let mut run = Run::begun(Origin { id: "made".to_owned(), ..Origin::default() }, plan, Default::default());
    run.phases.push(Phase { label: "made".to_owned(), end_ns: Some(0), ..Phase::default() });
    run.progress.state = State::Complete;
    for (cpu, values) in all.iter().enumerate() {
        let mut builder = SeriesBuilder::new(0, None, 0, &[]).of_unit(unit.ns() as u32);
        for value in values {
            let value_ns = *value as i64 * unit.ns();
            builder.record(Reading { value_ns, at_ns: 0, cycle: builder.recorded(), missed: 0 });
        }
        let kind =
            ForeignSeries { cpu: Knowable::Known(cpu as u32), resolution_ns: 1, ..ForeignSeries::default() };
        let kind = SeriesKind::Foreign(Box::new(kind));
        let mut series = builder.series(format!("cpu {cpu}"), 0, Quantity::Latency, Level::UserThread, kind);
        if let Some(reach) = reach {
            open_from(&mut series.measured, reach * unit.ns());
        }
        run.series.push(series);
    }
    run.validity.valid = true;
    file::check(&run).expect("the generated run is valid");
    run
}

/// Puts everything from `reach` on into one open bin.
fn open_from(histogram: &mut Histogram, reach: i64) {
    let (below, beyond): (Vec<_>, Vec<_>) = histogram.bins().iter().partition(|bin| bin.upper_ns <= reach);
    let mut bins: Vec<tardy_record::Bin> = below;
    if let Some(first) = beyond.first() {
        let count = beyond.iter().map(|bin| bin.count).sum();
        bins.push(tardy_record::Bin { lower_ns: first.lower_ns, upper_ns: i64::MAX, count });
    }
    *histogram = Histogram::from_bins(bins).expect("in order");
}

type Told = (String, u64, Option<i64>, Option<i64>);

fn told(run: &Run) -> Vec<Told> {
    let of = |one: &tardy_record::Series| (one.label.clone(), one.tally.recorded, one.min_ns, one.max_ns);
    run.series.iter().map(of).collect()
}

fn round_trip(run: &Run, name: &str, unit: Unit, states_unit: bool) -> Run {
    let format = EXPORTS.iter().find(|format| format.name == name).expect("a known format");
    let parts =
        export(run, format, &ExportOptions { unit, limit_ns: None, outlier: 1 }).expect("nothing early");
    let options = ImportOptions { unit: (!states_unit).then_some(unit), ..ImportOptions::default() };
    let imported = import_bytes(&parts[0].1, "made", None, &options);
    imported.unwrap_or_else(|error| panic!("{name}: {error}\n{}", String::from_utf8_lossy(&parts[0].1))).run
}

fn values() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let value = prop_oneof![0u64..60, 0u64..2000, 0u64..5_000_000];
    prop::collection::vec(prop::collection::vec(value, 1..60), 1..5)
}

proptest! {
    #[test]
    fn counts_extremes_and_names_are_preserved(all in values(), reach in prop::option::of(1i64..3000), ns: bool) {
        let unit = if ns { Unit::Ns } else { Unit::Us };
        let run = run_of(&all, unit, reach);
        for (name, states_unit) in [("cyclictest", false), ("cyclictest-json", true)] {
            let back = round_trip(&run, name, unit, states_unit);
            prop_assert_eq!(told(&back), told(&run), "{}", name);
        }
        // A series that is completely beyond the histogram has no distribution.
        let beyond = |series: &tardy_record::Series| series.measured.has_no_distribution();
        if !run.series.iter().any(beyond) {
            prop_assert_eq!(told(&round_trip(&run, "hdr-log", unit, true)), told(&run), "hdr-log");
        }
        if !ns && !run.series.iter().all(beyond) {
            prop_assert_eq!(told(&round_trip(&run, "osadl", unit, true)), told(&run), "osadl");
        }
    }

    /// Runs with only counts and extremes, as from a file with thread lines: these are preserved, and no distribution
    /// is invented.
    #[test]
    fn runs_without_a_distribution_are_preserved(all in values(), ns: bool) {
        let unit = if ns { Unit::Ns } else { Unit::Us };
        let run = without_distribution(run_of(&all, unit, None), Some(unit));
        for (name, states_unit) in [("cyclictest", false), ("cyclictest-json", true)] {
            let back = round_trip(&run, name, unit, states_unit);
            prop_assert_eq!(told(&back), told(&run), "{}", name);
            for (ours, theirs) in run.series.iter().zip(&back.series) {
                prop_assert!(theirs.measured.has_no_distribution());
                prop_assert_eq!(theirs.mean_ns(), ours.mean_ns());
            }
        }
    }

    /// Readings in ns, exported to formats in whole us: counts are in us, and extremes stay exact.
    #[test]
    fn exact_extremes_are_preserved_in_whole_us(
        all in prop::collection::vec(prop::collection::vec(0u64..3_000_000, 1..40), 1..4),
        reach in prop::option::of(1i64..2000),
    ) {
        let mut run = run_of(&all, Unit::Ns, None);
        for series in &mut run.series {
            if let Some(reach) = reach {
                open_from(&mut series.measured, reach * 1000);
            }
        }
        file::check(&run).expect("the generated run is valid");
        let nothing_to_plot = run.series.iter().all(|series| series.measured.has_no_distribution());
        for (name, states_unit) in [("cyclictest", false), ("cyclictest-json", true), ("osadl", true)] {
            if name == "osadl" && nothing_to_plot {
                continue;
            }
            let back = round_trip(&run, name, Unit::Us, states_unit);
            prop_assert_eq!(told(&back), told(&run), "{}", name);
            prop_assert!(back.validity.valid, "{}: {:?}", name, back.validity.spoilt_by);
        }
    }

    /// A bin as wide as the unit keeps its count.
    #[test]
    fn bins_of_the_unit_are_preserved(all in prop::collection::vec(prop::collection::vec(0u64..127, 1..80), 1..4)) {
        let run = run_of(&all, Unit::Us, None);
        for name in ["cyclictest", "cyclictest-json", "osadl"] {
            let back = round_trip(&run, name, Unit::Us, name != "cyclictest");
            for (ours, theirs) in run.series.iter().zip(&back.series) {
                prop_assert_eq!(&ours.measured, &theirs.measured, "{}", name);
            }
        }
    }

    /// Special characters in names do not break the syntax of any format.
    #[test]
    fn special_characters_in_names_are_escaped(label in "\\PC{0,30}", host in "[\"<>&\\\\,\n\t a-z]{0,20}") {
        let mut run = run_of(&[vec![5, 7], vec![9]], Unit::Us, None);
        run.series[0].label = label;
        run.origin.host = host;
        for format in EXPORTS.iter().filter(|format| format.content == ExportContent::Counts) {
            let options = ExportOptions { unit: Unit::Us, limit_ns: Some(6000), outlier: 1 };
            for (suffix, content) in export(&run, format, &options).unwrap() {
                let text = String::from_utf8(content).unwrap();
                match format.name {
                    "json" | "cyclictest-json" => {
                        serde_json::from_str::<serde_json::Value>(&text).unwrap();
                    }
                    "csv" => prop_assert!(text.lines().count() >= 4),
                    "junit" => prop_assert_eq!(text.matches("<failure").count(), 2),
                    "openmetrics" => prop_assert!(text.ends_with("# EOF\n")),
                    "osadl" if suffix == ".gp" => prop_assert_eq!(text.matches("histeps").count(), 2),
                    _ => {}
                }
            }
        }
    }
}

/// All readings are beyond the histogram, so the file has no rows.
#[test]
fn readings_beyond_the_histogram_are_preserved() {
    let run = run_of(&[vec![900, 905], vec![901]], Unit::Us, Some(1));
    for name in ["cyclictest", "cyclictest-json"] {
        let back = round_trip(&run, name, Unit::Us, name != "cyclictest");
        assert_eq!(told(&back), told(&run), "{name}");
    }
    refused(&run, &["osadl", "hdr-log"]);
}

/// Removes the distribution of each series, as in a file without one. Truncates means to whole units or removes them.
fn without_distribution(mut run: Run, means_of: Option<Unit>) -> Run {
    for series in &mut run.series {
        let whole = |unit: Unit| {
            (series.mean_ns().expect("there are readings") as i64 / unit.ns() * unit.ns()) as f64
        };
        let mean_ns = means_of.map(whole);
        let bin = tardy_record::Bin { lower_ns: 0, upper_ns: i64::MAX, count: series.tally.recorded };
        series.measured = Histogram::from_bins(vec![bin]).expect("one bin");
        (series.sum_ns, series.sum_of_squares_ns2) = (Knowable::Unknown, Knowable::Unknown);
        let SeriesKind::Foreign(foreign) = &mut series.kind else { panic!("the generated run is foreign") };
        foreign.stated_mean_ns = mean_ns;
    }
    file::check(&run).expect("the generated run is valid");
    run
}

/// Checks that exactly the formats `names` reject `run`.
fn refused(run: &Run, names: &[&str]) {
    for format in EXPORTS.iter().filter(|format| format.content == ExportContent::Counts) {
        let result = export(run, format, &ExportOptions { unit: Unit::Us, limit_ns: None, outlier: 1 });
        assert_eq!(result.is_err(), names.contains(&format.name), "{}", format.name);
    }
}

#[test]
fn unknown_values_are_left_out_or_rejected_and_never_zero() {
    let run = without_distribution(run_of(&[vec![5, 9], vec![700]], Unit::Us, None), None);
    refused(&run, &["cyclictest", "hdr-log", "osadl"]);
    let text = |name: &str| {
        let format = EXPORTS.iter().find(|format| format.name == name).unwrap();
        export(&run, format, &ExportOptions { unit: Unit::Us, limit_ns: None, outlier: 1 })
            .unwrap()
            .remove(0)
            .1
    };
    let text = |name: &str| String::from_utf8(text(name)).unwrap();
    let metrics = text("openmetrics");
    assert!(!metrics.contains("_bucket") && !metrics.contains("mean_seconds{"), "{metrics}");
    assert!(metrics.contains("max_seconds{") && metrics.contains("readings_total{"), "{metrics}");
    let json: serde_json::Value = serde_json::from_str(&text("cyclictest-json")).unwrap();
    let thread = &json["thread"]["0"];
    assert_eq!((&thread["min"], &thread["max"], &thread["cycles"]), (&5.into(), &9.into(), &2.into()));
    assert!(thread.get("avg").is_none() && json["sysinfo"].get("realtime").is_none(), "{json:#}");
    let flat: serde_json::Value = serde_json::from_str(&text("json")).unwrap();
    assert_eq!(flat["series"][0]["measured"], serde_json::json!([[0, null, 2]]));
    assert_eq!(flat["series"][0]["mean_ns"], serde_json::Value::Null);
}

/// The histogram ends at 400 us and the maximum is 12 ms: counts in between are unknown.
#[test]
fn buckets_with_unknown_counts_are_not_written() {
    let mut run = run_of(&[vec![7, 60, 900, 12_000]], Unit::Us, None);
    open_from(&mut run.series[0].measured, 400_000);
    let format = EXPORTS.iter().find(|format| format.name == "openmetrics").unwrap();
    let text = export(&run, format, &ExportOptions { unit: Unit::Us, limit_ns: None, outlier: 1 })
        .unwrap()
        .remove(0)
        .1;
    let text = String::from_utf8(text).unwrap();
    let count = |limit: &str| {
        let line = text.lines().find(|line| line.contains(&format!("le=\"{limit}\"")))?;
        line.rsplit(' ').next()?.parse::<u64>().ok()
    };
    let counts = ["0.00001", "0.0002", "0.0005", "0.001", "0.01", "0.02", "10.0", "+Inf"].map(count);
    assert_eq!(counts, [Some(1), Some(2), Some(2), None, None, Some(4), Some(4), Some(4)], "{text}");
}

#[test]
fn early_wake_ups_are_rejected_by_formats_without_negative_values() {
    let mut run = run_of(&[vec![5]], Unit::Ns, None);
    run.series[0].measured = Histogram::from_bins(vec![(-7, -6, 1).into()]).unwrap();
    (run.series[0].min_ns, run.series[0].max_ns) = (Some(-7), Some(-7));
    refused(&run, &["cyclictest", "cyclictest-json", "hdr-log", "osadl"]);
}
