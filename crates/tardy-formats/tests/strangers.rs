//! Files as people bring them: of old versions, shortened, without a part. Their layouts are those of real files; the numbers
//! are not.

use tardy_formats::{ImportError, ImportOptions, Unit, import_bytes};
use tardy_record::plan::Policy;
use tardy_record::run::State;
use tardy_record::series::Level;
use tardy_record::{Knowable, Run, file};

fn options(unit: Option<Unit>) -> ImportOptions {
    ImportOptions { unit, ..ImportOptions::default() }
}

fn import_as(text: &str, unit: Option<Unit>) -> Result<Run, ImportError> {
    let run = import_bytes(text.as_bytes(), "x", None, &options(unit))?.run;
    Ok(file::from_text(file::to_text(&run).as_bytes()).unwrap())
}

fn import(text: &str) -> Run {
    import_as(text, None).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn limits(run: &Run) -> String {
    run.validity.limits.join("\n")
}

#[test]
fn the_latency_that_stopped_rtla_is_that_of_its_cpu_or_a_bound_for_each() {
    let line =
        "  1 #12322     |        0         0         1        15 |       10         3         9        31\n";
    let two = TOP_WITH_ANALYSIS.replace(line, &format!("{line}{}", line.replacen("1 #", "2 #", 1)));
    let maxima = |text: &str| {
        let run = import(text);
        let threads = run.series.iter().filter(|series| series.level == Level::KernelThread);
        threads.map(|series| (series.max_ns, series.max_at_least)).collect::<Vec<_>>()
    };
    assert_eq!(maxima(&two), [(Some(31_000), true); 2]);
    let named =
        two.replace("rtla timerlat hit", "## CPU 2 hit stop tracing, analyzing it ##\nrtla timerlat hit");
    assert_eq!(maxima(&named), [(Some(31_000), false), (Some(41_960), false)]);
}

#[test]
fn rows_of_single_wake_ups_are_not_a_histogram() {
    let error =
        import_as(include_str!("strangers/14-ros2-rttest.txt"), Some(Unit::Ns)).unwrap_err().to_string();
    assert!(error.contains("the first line names a column 'iteration'"), "{error}");
}

const EIGHT_COLUMNS: &str = include_str!("strangers/01-cyclictest-0.x-us-eight-columns.txt");

#[test]
fn eight_columns_of_the_first_cyclictest_are_us() {
    assert_eq!(import(EIGHT_COLUMNS).series[0].max_ns, Some(170_000));
    assert_eq!(import(EIGHT_COLUMNS).series[0].min_ns, Some(14_000));
}

#[test]
fn a_given_unit_decides_and_a_unit_that_two_versions_share_is_asked_for() {
    let run = import_as(EIGHT_COLUMNS, Some(Unit::Ns)).unwrap();
    assert_eq!(run.series[0].max_ns, Some(170));
    assert!(limits(&run).contains("because of --unit"), "{}", limits(&run));
    // rt-tests 0.32 printed us as later versions print ns.
    let both = EIGHT_COLUMNS.replace("I:    1000 C:   10000 Min:      14", "I:1000 C:  10000 Min:     14");
    assert!(matches!(import_as(&both, None), Err(ImportError::UnitUnknown { .. })));
    assert_eq!(import_as(&both, Some(Unit::Us)).unwrap().series[0].max_ns, Some(170_000));
    assert_eq!(import_as(&both, Some(Unit::Ns)).unwrap().series[0].max_ns, Some(170));
}

const TOP_WITH_ANALYSIS: &str = include_str!("strangers/02-rtla-top-auto-analysis.txt");

#[test]
fn the_analysis_below_rtlas_table_is_not_its_end() {
    for text in [TOP_WITH_ANALYSIS, TOP_WITH_ANALYSIS.trim_end()] {
        let run = import(text);
        assert_eq!(run.progress.state, State::Complete, "{text}");
        assert!(run.series.iter().all(|series| !series.max_at_least));
        // The table has 12,322 readings of at most 31 us. The analysis has the one that stopped rtla.
        let thread = run.series.last().unwrap();
        assert_eq!((thread.max_ns, thread.tally.recorded), (Some(41_960), 12_323));
        assert_eq!(run.series[0].max_ns, Some(15_000));
        assert!(limits(&run).contains("stopped at the first latency above the threshold"));
    }
    // The line of dashes within a table precedes the line ALL.
    let table = include_str!("fixtures/rtla-timerlat-top.txt");
    let cut = &table[..table.find("ALL").unwrap()];
    assert_eq!(import(cut).progress.state, State::CutShort);
}

const EMPTY_COLUMN: &str = include_str!("strangers/04-rtla-hist-empty-column.txt");

#[test]
fn a_column_of_rtlas_histogram_without_readings_is_empty() {
    let run = import(EMPTY_COLUMN);
    assert!(run.validity.valid, "{:?}", run.validity);
    let of = |level: Level| run.series.iter().find(|series| series.level == level).unwrap();
    assert_eq!(of(Level::KernelThread).max_ns, Some(33_000));
    assert!(run.series.iter().all(|series| series.level != Level::UserThread));
    assert!(limits(&run).contains("there is no reading of the user thread on CPU 1"), "{}", limits(&run));
    let is_beside = |level: Level| of(level).foreign().unwrap().beside;
    assert_eq!([Level::Irq, Level::KernelThread].map(is_beside), [true, false]);
    // A CPU without a reading where another has some measured nothing.
    let two = EMPTY_COLUMN.replace("Usr-001", "Thr-002");
    let run = import(&two);
    let empty = run.series.iter().find(|series| series.cpu() == 2).unwrap();
    assert_eq!((empty.tally.recorded, empty.min_ns, empty.max_ns), (0, None, None));
    assert!(!run.validity.valid);
}

#[test]
fn a_minimum_that_a_tool_does_not_print_is_unknown() {
    let run = import(include_str!("strangers/05-osnoise-top-minimum.txt"));
    assert_eq!(
        (run.series[0].tally.recorded, run.series[0].min_ns, run.series[0].max_ns),
        (58, None, Some(60_000))
    );
    let hwlatdetect = "hwlatdetect:  test duration 60 seconds\n   parameters:\n        Latency threshold: 10us\n\
        Starting test\ntest finished\nMax Latency: 35us\nSamples recorded: 2\nSamples exceeding threshold: 2\n";
    let run = import(hwlatdetect);
    assert_eq!(
        (run.series[0].tally.recorded, run.series[0].min_ns, run.series[0].max_ns),
        (2, None, Some(35_000))
    );
}

#[test]
fn columns_may_have_a_line_of_names() {
    let run = import_as(include_str!("strangers/06-osadl-csv-with-header.csv"), Some(Unit::Us)).unwrap();
    let labels: Vec<&str> = run.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["core1", "core2"]);
    assert_eq!([&run.series[0], &run.series[1]].map(|series| series.tally.recorded), [104 + 794, 62 + 32]);
}

#[test]
fn a_measurement_without_a_priority_has_a_warning() {
    let text = include_str!("strangers/07-no-real-time-priority.txt");
    let run = import(text);
    assert_eq!(run.series[0].foreign().unwrap().policy, Knowable::Known(Policy::Other));
    let warning = "without a real-time priority";
    assert!(limits(&run).contains(warning), "{}", limits(&run));
    let priority = text.replace("policy: other", "policy: fifo").replace("P: 0", "P:80");
    assert!(!limits(&import(&priority)).contains(warning));
    let two = priority.clone()
        + "T: 1 (   13) P: 0 I:1000 C:   1000 Min:      5 Act:   50 Avg:   60 Max:   12000\n";
    assert!(
        limits(&import(&two)).contains("cyclictest (thread 1) measured without"),
        "{}",
        limits(&import(&two))
    );
}

const WITHOUT_ROWS: &str = include_str!("strangers/11-summary-without-rows.txt");

#[test]
fn the_totals_of_a_histogram_without_rows_are_read() {
    let run = import_as(WITHOUT_ROWS, Some(Unit::Us)).unwrap();
    assert!(run.validity.valid, "{:?}", run.validity);
    let series = &run.series[0];
    assert_eq!((series.tally.recorded, series.min_ns, series.max_ns), (18_000_000, Some(6000), Some(19_000)));
    assert_eq!(run.series[1].tally.recorded, 17_999_947);
    assert!(limits(&run).contains("the rows of the histogram are missing"));
    let beyond = WITHOUT_ROWS.replace("Overflows: 00000 00000", "Overflows: 00000 00003");
    assert_eq!(import_as(&beyond, Some(Unit::Us)).unwrap().series[1].tally.recorded, 17_999_950);
}

#[test]
fn a_mean_that_its_maximum_excludes_makes_the_run_invalid() {
    let text = include_str!("strangers/12-mean-excludes-maximum.txt");
    let run = import(text);
    assert!(!run.validity.valid);
    assert!(
        run.validity.spoilt_by[0].to_string().contains("the mean, 60 us, is not possible"),
        "{:?}",
        run.validity
    );
    // 1,000 readings of at least 5 us with one of 55,000 us have a mean of at least 59.995 us.
    assert!(import(&text.replace("4294967", "  55000")).validity.valid);
    assert!(!import(&text.replace("4294967", "  58000")).validity.valid);
}

#[test]
fn a_warning_about_the_timers_resolution_stays() {
    let run = import(include_str!("strangers/13-warning-no-high-resolution.txt"));
    assert!(limits(&run).contains("high-resolution timers are not available"), "{}", limits(&run));
}

#[test]
fn results_of_jitterdebugger_without_the_machine_need_a_unit() {
    let text = include_str!("strangers/15-jitterdebugger-without-sysinfo.json");
    assert!(matches!(import_as(text, None), Err(ImportError::UnitUnknown { .. })));
    let run = import_as(text, Some(Unit::Us)).unwrap();
    assert_eq!((run.series[0].tally.recorded, run.series[0].max_ns), (3899, Some(11_000)));
}

#[test]
fn an_error_of_cyclictest_is_not_a_format_that_is_unknown() {
    let text = include_str!("strangers/16-cyclictest-error-only.txt");
    let error = import_as(text, None).unwrap_err().to_string();
    assert!(error.contains("cyclictest measured nothing") && error.contains("CAP_SYS_NICE"), "{error}");
}

#[test]
fn the_latency_that_stopped_rtla_is_part_of_its_histogram() {
    let stopped = |us: &str| {
        format!("{EMPTY_COLUMN}rtla timerlat hit stop tracing\n  Thread latency:        {us} us (100%)\n")
    };
    let thread = |text: &str| {
        let run = import(text);
        assert!(run.validity.valid, "{:?}", run.validity);
        let series = run.series.iter().find(|series| series.level == Level::KernelThread).unwrap();
        (series.max_ns, series.tally.recorded, series.max_at_least)
    };
    assert_eq!(thread(&stopped("141.96")), (Some(141_960), 2, false));
    // The histogram has it, in whole us.
    assert_eq!(thread(&stopped("33.96")), (Some(33_000), 1, false));
}
