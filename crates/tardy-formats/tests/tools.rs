//! What tools write in special cases: a run that ended early, no readings, options that change the meaning of a bin.

use tardy_formats::{ImportOptions, Unit, import_bytes};
use tardy_record::{Bin, Knowable, Run};

fn import(text: &str) -> Run {
    let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
    import_bytes(text.as_bytes(), "x", None, &options).unwrap_or_else(|error| panic!("{error}: {text}")).run
}

fn duration_ns(run: &Run) -> Knowable<u64> {
    run.plan.phases[0].probe.foreign().unwrap().duration_ns
}

const BREAK: &str = include_str!("fixtures/cyclictest-2.4-break.json");

/// With -D 60 and -b 2, cyclictest ended in its first second.
#[test]
fn a_run_that_ended_early_does_not_have_the_duration_of_its_options() {
    let run = import(BREAK);
    assert_eq!(duration_ns(&run), Knowable::Unknown);
    assert!(run.series.iter().all(|series| series.foreign().unwrap().skipped_share.is_none()));
    assert!(!run.validity.limits.iter().any(|limit| limit.contains("have no reading")), "{:?}", run.validity);
    let later = |seconds: u32| import(&BREAK.replacen("09:28:28", &format!("09:27:{seconds:02}"), 1));
    assert_eq!(duration_ns(&later(31)), Knowable::Known(57_000_000_000), "after 57 of 60 s");
    assert_eq!(duration_ns(&later(27)), Knowable::Known(60_000_000_000), "the dates have whole seconds");
    let text = include_str!("fixtures/cyclictest-2.8-break.txt");
    let command = Some("cyclictest -t2 -h200 -q -D60 -b 700".to_owned());
    let options = ImportOptions { command, ..ImportOptions::default() };
    let run = import_bytes(text.as_bytes(), "x", None, &options).unwrap().run;
    assert_eq!(duration_ns(&run), Knowable::Unknown);
}

/// C programs print the mean of no readings as a number that JSON does not have.
#[test]
fn a_mean_of_no_readings_is_not_an_error() {
    for nan in ["-nan", "nan", "inf", "-inf"] {
        let text = BREAK.replacen("\"cycles\": 1", "\"cycles\": 0", 1).replacen(
            "\"avg\": 1640.00",
            &format!("\"avg\": {nan}"),
            1,
        );
        let run = import(&text);
        assert_eq!((run.series[0].tally.recorded, run.series[0].mean_ns()), (0, None), "{nan}");
        assert_eq!(run.series[1].tally.recorded, 1);
    }
    let jitterdebugger = r#"{"version": 3, "sysinfo": {"resolution_in_ns": 1000}, "cpu": {
        "0": {"histogram": {}, "count": 0, "min": 18446744073709551615, "max": 0, "avg": -nan},
        "1": {"histogram": {"7": 2}, "count": 2, "min": 7, "max": 7, "avg": 7.00}}}"#;
    assert_eq!(import(jitterdebugger).series[1].tally.recorded, 2);
    let named = BREAK.replacen("\"nodename\": \"board\"", "\"nodename\": \"a: -nan\"", 1);
    assert_eq!(import(&named).origin.host, "a: -nan", "inside of a text it is text");
}

#[test]
fn the_lines_of_spikes_are_not_threads() {
    let run = import(include_str!("fixtures/cyclictest-2.4-spike.txt"));
    assert_eq!(run.series.len(), 2);
    assert!(
        run.validity.limits.iter().any(|limit| limit.contains("single readings (--spike)")),
        "{:?}",
        run.validity
    );
}

/// rt-migrate-test does not write its number of rounds, but totals and means.
#[test]
fn rounds_of_rt_migrate_test_are_those_of_its_totals() {
    let rounds =
        |text: &str| -> Vec<u64> { import(text).series.iter().map(|one| one.tally.recorded).collect() };
    let text = include_str!("fixtures/rt-migrate-test-2.4.json");
    assert_eq!(rounds(text), [5, 5, 5]);
    assert_eq!(rounds(&text.replacen(" -l 5", "", 1)), [5, 5, 5], "the command line may be elsewhere");
    assert_eq!(rounds(&text.replacen(" -l 5", " --loops=5", 1)), [5, 5, 5]);
    let contradicted = import(&text.replacen(" -l 5", " -l 50", 1));
    assert!(!contradicted.validity.valid && contradicted.series[0].tally.recorded == 5);
    let error = import_bytes(
        text.replacen("\"avg\": 59", "\"avg\": 58", 1).as_bytes(),
        "x",
        None,
        &ImportOptions::default(),
    );
    assert!(error.unwrap_err().to_string().contains("one number of rounds"));
}

/// With -B, oslat's lowest bin has all shorter lengths, down to 0.
#[test]
fn the_lowest_bin_of_a_biased_oslat_begins_at_0() {
    let json = include_str!("fixtures/oslat-2.4-bias.json");
    let text = include_str!("fixtures/oslat-2.4-bias.txt");
    let quiet: String =
        text.lines().filter(|line| !line.starts_with("Global")).map(|line| format!("{line}\n")).collect();
    for file in [json, text, &quiet, &json.replacen(" -B", "", 1)] {
        let run = import(file);
        let bins = run.series[1].measured.bins();
        assert_eq!(bins[0], Bin { lower_ns: 0, upper_ns: 2001, count: 27_704_980 }, "{file}");
        assert_eq!(bins[1], Bin { lower_ns: 2001, upper_ns: 3001, count: 2 });
        assert_eq!(run.series[1].min_ns, Some(1000));
    }
    let unbiased = import(include_str!("fixtures/oslat-2.4.json"));
    assert_eq!(unbiased.series[0].measured.bins()[0].upper_ns, 1001);
}

#[test]
fn the_remark_on_samples_of_stress_ng_is_a_sentence() {
    let log = include_str!("fixtures/stress-ng-cyclic.log");
    let note = "stress-ng: info:  [12311] cyclic: Note: --cyclic-samples needed to be 80792 to capture all the data for this run\n";
    let run = import(&format!("{log}{note}"));
    let expected = "the figures cover only the first samples; with --cyclic-samples 80792, they would have covered the run";
    assert!(run.validity.limits.iter().any(|limit| limit == expected), "{:?}", run.validity.limits);
}
