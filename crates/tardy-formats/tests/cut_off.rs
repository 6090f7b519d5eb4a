//! A file that lacks lines never has a better verdict than the whole file: its maximum is as high, or a lower bound, from
//! which no verdict follows.

use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tardy_formats::{EXPORTS, ExportOptions, ImportOptions, Unit, export, import_bytes};
use tardy_record::Run;
use tardy_record::run::State;

/// Fixtures of all text formats that carry a total, a maximum or an end mark.
const CARRYING: [&str; 29] = [
    "columns-osadl.txt",
    "cyclicdeadline-2.10-hist.txt",
    "cyclicdeadline-2.10.json",
    "cyclictest-1.0-hist.txt",
    "cyclictest-2.10-hist-all.txt",
    "cyclictest-2.10.json",
    "cyclictest-2.4-beyond.json",
    "cyclictest-2.4-hist.txt",
    "cyclictest-2.4.json",
    "cyclictest-2.7-hist-all.txt",
    "hwlatdetect.txt",
    "jitterdebugger-results.json",
    "latmus-plot.txt",
    "latmus.txt",
    "oslat-2.4.txt",
    "oslat-2.5.json",
    "rteval-summary.xml",
    "rtla-osnoise-hist.txt",
    "rtla-timerlat-hist.txt",
    "stress-ng-cyclic.log",
    "cyclicdeadline-2.10-quiet.txt",
    "oslat-2.10-half-us.txt",
    "pmqtest-2.4.json",
    "rtla-osnoise-top.txt",
    "rtla-timerlat-top.txt",
    "signaltest-2.10-quiet.txt",
    "xenomai-plot-early.txt",
    "xenomai-plot.txt",
    "xenomai3-latency-h.txt",
];

/// Fixtures of formats from which a missing end cannot be recognised: their runs state that.
const SILENT: [&str; 6] = [
    "capture-saleae.csv",
    "capture.vcd",
    "cyclictest-2.4-samples.txt",
    "hdr.hlog",
    "isochron-report.txt",
    "jitterdebugger-samples.raw",
];

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn import(bytes: &[u8]) -> Option<Run> {
    let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
    Some(import_bytes(bytes, "x", None, &options).ok()?.run)
}

/// The text without the lines at which `is_missing` is true.
fn without(text: &str, is_missing: impl Fn(usize) -> bool) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.filter(|(number, _)| !is_missing(*number)).map(|(_, line)| line).collect()
}

/// Whether the run states that its file does not show whether it is complete.
fn is_silent(run: &Run) -> bool {
    run.validity.limits.iter().any(|limit| limit.contains("neither an end mark nor a total"))
}

/// Checks that every maximum in `text` that is not a lower bound is that of the whole file. What is left may be a file of
/// another format, which is silent: hwlatdetect's report has the samples only.
fn check(name: &str, whole: &Run, text: &str) {
    let Some(run) = import(text.as_bytes()).filter(|run| run.validity.valid && !is_silent(run)) else {
        return;
    };
    for series in run.series.iter().filter(|series| !series.max_at_least && series.tally.recorded > 0) {
        let same = whole.series.iter().filter(|other| {
            (&other.label, other.level, other.quantity) == (&series.label, series.level, series.quantity)
        });
        let highest = same.filter_map(|other| other.max_ns).max();
        assert!(
            highest.is_none() || series.max_ns >= highest,
            "{name}, {}: the maximum was {highest:?} and is {:?}:\n{text}",
            series.label,
            series.max_ns
        );
    }
}

/// Cuts each file off at about `places` lines, and leaves each of these lines out. The last `last` lines are always among them.
fn cut_off_at(places: usize, last: usize) {
    for name in CARRYING {
        let text = String::from_utf8(fixture(name)).unwrap();
        let whole = import(text.as_bytes()).unwrap();
        let count = text.lines().count();
        let step = count.div_ceil(places);
        for line in (0..count).step_by(step).chain(count.saturating_sub(last)..count) {
            check(name, &whole, &without(&text, |number| number >= line));
            check(name, &whole, &without(&text, |number| number == line));
        }
    }
}

/// The end of a file carries its totals.
#[test]
fn a_file_without_its_end_or_one_line_has_no_better_verdict() {
    cut_off_at(7, 4);
}

#[test]
#[ignore = "twenty times as many lines; `make long-tests` runs it"]
fn long_a_file_without_its_end_or_one_line_has_no_better_verdict() {
    cut_off_at(200, 20);
}

/// Leaves one to three random ranges of lines out of random files.
fn leave_out(files: u32) {
    let ranges = prop::collection::vec((0.0..1.0f64, 0usize..20), 1..4);
    let mut runner = TestRunner::new(ProptestConfig { cases: files, ..ProptestConfig::default() });
    let tested = runner.run(&(0..CARRYING.len(), ranges), |(name, ranges)| {
        let text = String::from_utf8(fixture(CARRYING[name])).unwrap();
        let whole = import(text.as_bytes()).unwrap();
        let count = text.lines().count();
        let is_missing = |number: usize| {
            ranges.iter().any(|(share, length)| {
                let from = (share * count as f64) as usize;
                (from..=from + length).contains(&number)
            })
        };
        check(CARRYING[name], &whole, &without(&text, is_missing));
        Ok(())
    });
    tested.unwrap();
}

#[test]
fn a_file_without_some_lines_has_no_better_verdict() {
    leave_out(20);
}

#[test]
#[ignore = "twenty times as many files; `make long-tests` runs it"]
fn long_a_file_without_some_lines_has_no_better_verdict() {
    leave_out(400);
}

#[test]
fn formats_without_an_end_state_that() {
    for name in SILENT {
        let options = ImportOptions {
            unit: Some(Unit::Us),
            output: name.starts_with("capture").then(|| "0".to_owned()),
            ..ImportOptions::default()
        };
        let run = import_bytes(&fixture(name), "x", None, &options)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .run;
        assert!(is_silent(&run), "{name}: {:?}", run.validity.limits);
    }
}

/// 70 lines of a histogram whose worst reading is 12 ms.
fn cut_off() -> Run {
    let text = String::from_utf8(fixture("cyclictest-2.4-hist.txt")).unwrap();
    let run = import(without(&text, |number| number >= 70).as_bytes()).unwrap();
    assert!(run.series.iter().all(|series| series.max_at_least));
    run
}

#[test]
fn a_maximum_that_is_a_lower_bound_is_exported_as_one() {
    let run = cut_off();
    assert!(run.validity.limits[0].contains("does not establish the maximum"), "{:?}", run.validity.limits);
    let exported = |format: &str, run: &Run| {
        let format = EXPORTS.iter().find(|known| known.name == format).unwrap();
        export(run, format, &ExportOptions { unit: Unit::Us, limit_ns: Some(1_000_000), outlier: 1 })
            .unwrap()
            .remove(0)
            .1
    };
    let exported = |format: &str, run: &Run| String::from_utf8(exported(format, run)).unwrap();
    let junit = exported("junit", &run);
    assert!(
        junit.contains("failures=\"0\" errors=\"3\"") && junit.contains("does not establish the maximum"),
        "{junit}"
    );
    for format in ["cyclictest", "hdr-log", "osadl"] {
        let text = exported(format, &run);
        assert!(!text.contains("Max Latencies"), "{text}");
        let again = import_bytes(
            text.as_bytes(),
            "x",
            None,
            &ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() },
        );
        let again = again.unwrap_or_else(|error| panic!("{format}: {error}\n{text}")).run;
        assert!(again.series.iter().all(|series| series.max_at_least), "{format}: {text}");
    }
    let json = exported("cyclictest-json", &run);
    assert!(!json.contains("\"max\"") && !json.contains("max_ns"), "{json}");
    let metrics = exported("openmetrics", &run);
    assert!(!metrics.contains("tardy_latency_max_seconds{") && !metrics.contains("le=\"1\""), "{metrics}");
    assert!(exported("json", &run).contains("\"max_at_least\": true"));
}

#[test]
fn a_missing_thread_is_noticed() {
    let text = fixture("signaltest-2.10-quiet.txt");
    let text = format!("# /dev/cpu_dma_latency set to 0us\n{}", String::from_utf8(text).unwrap());
    assert_eq!(import(text.as_bytes()).unwrap().progress.state, State::Complete);
    let run = import(without(&text, |number| number == 1).as_bytes()).unwrap();
    assert_eq!((run.progress.state, run.series.len()), (State::CutShort, 1));
    assert!(
        run.validity.limits.iter().any(|limit| limit.contains("thread 0 is missing")),
        "{:?}",
        run.validity
    );
}
