//! Files with two measurements, files with wrong totals, and files that look complete but were cut off.

use tardy_formats::{ImportOptions, Unit, import_bytes};
use tardy_record::run::State;
use tardy_record::{Run, Series};

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn import(text: &str) -> Result<Run, String> {
    let options = ImportOptions { unit: Some(Unit::Ns), ..ImportOptions::default() };
    import_bytes(text.as_bytes(), "x", None, &options)
        .map(|imported| imported.run)
        .map_err(|error| error.to_string())
}

/// The error of an import, or the reasons why the run is invalid.
fn told(text: &str) -> String {
    import(text).map_or_else(|error| error, |run| tardy_record::reason::joined(&run.validity.spoilt_by))
}

/// As [`told`], for a fixture with one change.
fn changed(name: &str, from: &str, to: &str) -> String {
    let text = fixture(name);
    assert!(text.contains(from), "{name}: {from}");
    told(&text.replacen(from, to, 1))
}

#[test]
fn a_second_measurement_is_not_read_as_the_end_of_the_first() {
    for (name, from, to, expected) in [
        (
            "rtla-timerlat-top.txt",
            "#60001",
            "#501",
            "line 11, count of CPU 0: it goes back from 60001 to 501",
        ),
        (
            "rtla-timerlat-top.txt",
            "        51\n",
            "        50\n",
            "line 11, max of CPU 0: it goes back from 51 us",
        ),
        ("rtla-timerlat-top.txt", "         3         8", "         4         8", "line 11, min of CPU 0"),
        ("rtla-timerlat-top.txt", "00:01:00", "00:00:59", "line 9, duration: it goes back from 60 s to 59 s"),
        ("rtla-osnoise-top.txt", "          88", "          87", "line 10, max of CPU 1"),
        ("stress-ng-cyclic.log", "[12311]", "[12400]", "line 19, process: line 16 ends a run of stress-ng"),
        ("stress-ng-cyclic.log", "7952", "7951", "line 19, samples: the same process printed another value"),
    ] {
        let first = fixture(name);
        assert_eq!(told(&(first.clone() + &first)), "", "{name}: a screen twice is one measurement");
        let second = if from == "[12311]" { first.replace(from, to) } else { first.replacen(from, to, 1) };
        let error = told(&(first + &second));
        assert!(error.contains(expected) && error.contains("split the file"), "{name}, {to}: {error}");
    }
    let hwlatdetect = fixture("hwlatdetect.txt");
    let error = told(&hwlatdetect.repeat(2));
    assert!(error.contains("line 18, hwlatdetect: a measurement began in line 1"), "{error}");
    let samples = &hwlatdetect[hwlatdetect.find("ts:").unwrap()..];
    assert_eq!(told(samples), "");
    let error = told(&samples.repeat(2));
    assert!(error.contains("line 4, ts: a CPU's time does not ascend"), "{error}");
    let hdr = fixture("hdr.hlog");
    let interval = &hdr[hdr.find("Tag=").unwrap()..];
    let error = told(&(hdr.clone() + interval));
    assert!(error.contains("line 6, StartTimestamp: tag A begins at 0.127 s"), "{error}");
    assert_eq!(told(&(hdr.clone() + &interval.replace("A,0.127", "A,1.134"))), "");
    assert_eq!(told(&(hdr.clone() + &interval.replace("A,0.127", "B,0.127"))), "");
    let invalid = told(&(hdr.clone() + &interval.replace("A,0.127", "A,1.100")));
    assert!(invalid.contains("line 6, StartTimestamp: tag A begins at 1.1 s, before"), "{invalid}");
}

#[test]
fn totals_are_checked_against_their_parts() {
    for (name, from, to, expected) in [
        (
            "rtla-timerlat-top.txt",
            "#120001 e0",
            "#120002 e0",
            "line 7, ALL, count: it is 120002, but the CPUs",
        ),
        ("rtla-timerlat-top.txt", "#120001 e0", "#120001 e1", "line 7, ALL, count: it is 120001e1"),
        ("rtla-timerlat-top.txt", "#120001 e0", "#12000 e1", ""),
        ("rtla-timerlat-top.txt", "0         1        14 | ", "0         1        90 | ", "ALL, max of "),
        ("rtla-timerlat-top.txt", "3         7        51", "2         7        51", "ALL, min of "),
        ("rtla-timerlat-top.txt", "3         7        51", "3         9        51", "ALL, avg of "),
        ("rtla-timerlat-hist-3-columns.txt", "count:       20", "count:       21", "ALL, count of "),
        (
            "rtla-timerlat-hist-3-columns.txt",
            "min:       1000      2010      3001 \navg:       1250",
            "min:       1000      2011      3001 \navg:       1250",
            "ALL, min of ",
        ),
        (
            "rtla-timerlat-hist-3-columns.txt",
            "max:       2600     44001     52020",
            "max:       2600     44001     62020",
            "ALL, max of ",
        ),
        (
            "rtla-timerlat-hist-3-columns.txt",
            "avg:       1250",
            "avg:       2250",
            "it is 2250, but the columns have 1200 to 1300",
        ),
        (
            "rteval-summary.xml",
            "<samples>30",
            "<samples>31",
            "line 11 ff., system, samples: it is 31, but the cores give 30",
        ),
        (
            "rteval-summary.xml",
            "<maximum unit=\"us\">14",
            "<maximum unit=\"us\">99",
            "system, maximum: it is 99 us, but the cores give 14 us",
        ),
        (
            "rteval-summary.xml",
            "<minimum unit=\"us\">3",
            "<minimum unit=\"us\">2",
            "system, minimum: it is 2 us",
        ),
        ("rteval-summary.xml", "<maximum unit=\"us\">14", "<maximum unit=\"ns\">14000", ""),
        (
            "rteval-summary.xml",
            "<maximum unit=\"us\">14",
            "<maximum unit=\"fortnights\">14",
            "line 11, maximum unit: 'fortnights' is not a unit",
        ),
        (
            "hwlatdetect.txt",
            "recorded: 3",
            "recorded: 2",
            "line 13, Samples recorded: it is 2, but 3 are listed",
        ),
        ("isochron-report.txt", "seqid 4 ", "seqid 3 ", "line 4, seqid: it follows 3; a second measurement"),
        ("isochron-report.txt", "seqid 4 sched", "seqid 4 Sched", "line 4, whole line: 'seqid 4 Sched"),
        (
            "isochron-report.txt",
            "0.030000000, TX",
            "0.020000000, TX",
            "line 4, scheduled for: it is not after",
        ),
        (
            "isochron-report.txt",
            "hw 0.000000000 sw 1790000000.03",
            "hw 1790000000.03 sw 1790000000.03",
            "line 4, RX hw",
        ),
        ("hdr.hlog", "1.007,2.769", "1.007,2.969", "line 5, Interval_Max: it is 2.969"),
        ("hdr.hlog", "1.007,2.769", "1.007,2768.895", ""),
        (
            "stress-ng-cyclic.log",
            "118757 ns",
            "218757 ns",
            "line 14, 99.9 %: 218757 ns is not between the minimum, 9664 ns",
        ),
        (
            "stress-ng-cyclic.log",
            "40969 ns",
            "20969 ns",
            "line 12, 99 %: 20969 ns is less than the 24299 ns of 95.4 %",
        ),
    ] {
        let told = changed(name, from, to);
        assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{name}, {to}: {told}");
    }
}

#[test]
fn a_cut_off_screen_is_reported() {
    let limits = |text: &str, state: State, cpus: usize| {
        let run = import(text).unwrap();
        assert_eq!((run.progress.state, run.series.len()), (state, cpus), "{text}");
        run.validity.limits.join("; ")
    };
    let osnoise = fixture("rtla-osnoise-top.txt");
    let said = limits(&osnoise[..osnoise.len() - 3], State::CutShort, 1);
    assert!(said.contains("the file is cut off in line 5"), "{said}");
    let timerlat = fixture("rtla-timerlat-top.txt");
    let said = limits(&timerlat[..timerlat.find("     9 |").unwrap()], State::CutShort, 2);
    assert!(said.contains("the file is cut off in line 5"), "{said}");
    let said = limits(&timerlat[..timerlat.find("ALL").unwrap()], State::CutShort, 4);
    assert!(said.contains("the file is cut off in line 6"), "{said}");
    let second = timerlat.clone() + &timerlat[..timerlat.find("  3 #").unwrap()];
    let said = limits(&second, State::CutShort, 4);
    assert!(said.contains("no line for CPU 3; its numbers are from an earlier screen"), "{said}");
    limits(&timerlat.repeat(2), State::Complete, 4);
}

#[test]
fn a_log_without_its_last_line_end_is_imported_if_complete() {
    let hdr = fixture("hdr.hlog");
    let whole = import(hdr.trim_end()).unwrap();
    assert_eq!(whole.progress.state, State::Complete);
    assert_eq!(whole.series, import(&hdr).unwrap().series);
    let error = import(&hdr[..hdr.len() - 20]).unwrap_err();
    assert!(error.contains("line 5, whole line: the file ends in this line"), "{error}");
    let more = hdr.clone() + &hdr[hdr.find("Tag=").unwrap()..hdr.len() - 20].replace("A,0.127", "A,2.127");
    let run = import(&more).unwrap();
    let whole: Vec<Series> =
        whole.series.into_iter().map(|series| Series { max_at_least: true, ..series }).collect();
    assert_eq!((run.progress.state, run.series), (State::CutShort, whole));
}
