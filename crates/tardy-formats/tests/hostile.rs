//! Hostile and damaged files: every import returns an error that names the place, or a valid run file.

use std::io::Read;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tardy_formats::{FORMATS, Format, ImportOptions, Unit, detect, import, import_bytes};
use tardy_record::file;
use tardy_record::reason;
use tardy_record::run::State;
use tardy_unpack::Content;

fn options() -> ImportOptions {
    ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() }
}

/// Imports `bytes`. The result must be a run that can be written and read again, or an error with a message.
fn survives(bytes: &[u8], format: Option<&'static Format>) {
    match import_bytes(bytes, "hostile", format, &options()) {
        Ok(imported) => {
            let text = file::to_text(&imported.run);
            let again = file::from_text(text.as_bytes()).expect("an imported run can be read again");
            assert_eq!(again.series.len(), imported.run.series.len());
        }
        Err(error) => assert!(error.to_string().len() > 10, "{error}"),
    }
}

/// The fixtures with their formats.
fn fixtures() -> Vec<(&'static Format, Vec<u8>)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        (detect::of(&bytes).unwrap_or_else(|| panic!("{}: no format", path.display())), bytes)
    };
    paths.iter().map(read).collect()
}

#[test]
fn every_format_has_a_fixture() {
    let known = fixtures();
    for format in FORMATS {
        assert!(known.iter().any(|(of, _)| of.name == format.name), "{} has none", format.name);
    }
}

/// `make fuzz` has a target for each format, with the name of the format.
#[test]
fn every_format_has_a_fuzz_target() {
    for format in FORMATS {
        let path = format!("{}/../../fuzz/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), format.name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(text.contains(&format!("import_as(\"{}\", bytes)", format.name)), "{path}");
    }
}

/// Damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(u8),
    Cut(usize),
    Double(usize),
    Insert(&'static str),
    End,
}

const INSERTIONS: [&str; 16] = [
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "-1",
    "-9223372036854775808",
    "0",
    "1e308",
    "nan",
    "\u{0}",
    "\u{1b}[2J",
    "\n",
    "é",
    "{[\"",
    "</a>",
    "T:4095 (0) P:99 I:1 C:1 Min:0 Act:0 Avg:0 Max:0\n",
];

fn damages() -> impl Strategy<Value = Vec<(usize, Damage)>> {
    let damage = prop_oneof![
        any::<u8>().prop_map(Damage::Flip),
        (1usize..200).prop_map(Damage::Cut),
        (1usize..200).prop_map(Damage::Double),
        (0..INSERTIONS.len()).prop_map(|index| Damage::Insert(INSERTIONS[index])),
        Just(Damage::End),
    ];
    prop::collection::vec((any::<usize>(), damage), 1..6)
}

fn damaged(bytes: &[u8], damages: &[(usize, Damage)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, damage) in damages {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match damage {
            Damage::Flip(with) => bytes[at] ^= with,
            Damage::Cut(length) => drop(bytes.drain(at..(at + length).min(bytes.len()))),
            Damage::Double(length) => {
                let again = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            Damage::Insert(text) => drop(bytes.splice(at..at, text.bytes())),
            Damage::End => bytes.truncate(at),
        }
    }
    bytes
}

/// Damages every fixture, so that every importer is tested, in `ways`.
fn import_damaged(ways: u32) {
    let known = fixtures();
    let tested = TestRunner::new(ProptestConfig::with_cases(ways)).run(&damages(), |damages| {
        for (format, bytes) in &known {
            let bytes = damaged(bytes, &damages);
            survives(&bytes, Some(format));
            survives(&bytes, None);
        }
        Ok(())
    });
    tested.unwrap();
}

#[test]
fn damaged_files_are_errors_or_runs() {
    import_damaged(2);
}

#[test]
#[ignore = "twenty times as many ways to damage a file; `make long-tests` runs it"]
fn long_damaged_files_are_errors_or_runs() {
    import_damaged(40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_bytes_are_errors_or_runs(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        survives(&bytes, None);
        for format in FORMATS {
            survives(&bytes, Some(format));
        }
    }
}

/// A reader that repeats the same bytes.
struct Endless<'a> {
    head: &'a [u8],
    /// Many of them, since each read returns the rest of this.
    body: Vec<u8>,
    left: usize,
    at: usize,
}

impl<'a> Endless<'a> {
    fn of(head: &'a str, body: &str, length: usize) -> Self {
        Self { head: head.as_bytes(), body: body.repeat(1 << 16).into_bytes(), left: length, at: 0 }
    }
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.head.is_empty() {
            return self.head.read(buffer);
        }
        let count = buffer.len().min(self.left).min(self.body.len() - self.at);
        buffer[..count].copy_from_slice(&self.body[self.at..self.at + count]);
        self.at = (self.at + count) % self.body.len();
        self.left -= count;
        Ok(count)
    }
}

fn of_endless(head: &str, body: &str) -> String {
    let mut content = Content::open(Endless::of(head, body, 64 << 20)).unwrap();
    import(&mut content, "endless", None, &options()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_line_without_end_is_an_error_that_names_it() {
    let error = of_endless("# Histogram\n000001 000001\n", "7 ");
    assert!(error.contains("line 3") && error.contains("65536 bytes"), "{error}");
    let error = of_endless("time,d\n0,0\n", "7,");
    assert!(error.contains("line 3") && error.contains("65536 bytes"), "{error}");
    // An open quotation mark makes one record of all lines.
    let error = of_endless("time,d\n0,0\n1,\"0\n", "2,1\n");
    assert!(error.contains("line 3, record") && error.contains("65536 bytes"), "{error}");
    let error = of_endless("       0:       0:      56\n", "7");
    assert!(error.contains("line 2") && error.contains("65536 bytes"), "{error}");
}

#[test]
fn a_document_without_end_is_not_read_to_its_end() {
    for (head, body, expected) in [
        ("{\"rt_test_version:\": \"", "x", "a text is longer than 4 MiB"),
        ("{\"rt_test_version:\": 1, \"thread\": {\"0\": ", "7", "is not a value"),
        ("<rteval>", " ", "256 MiB"),
    ] {
        let mut content = Content::open(Endless::of(head, body, 300 << 20)).unwrap();
        let error = import(&mut content, "endless", None, &options()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{{\"rt_test_version:\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let error = import_bytes(deep.as_bytes(), "deep", None, &options()).unwrap_err().to_string();
    assert!(error.contains("levels of nesting"), "{error}");
    let deep = format!("<rteval>{}", "<a>".repeat(100_000));
    let error = import_bytes(deep.as_bytes(), "deep", None, &options()).unwrap_err().to_string();
    assert!(error.contains("levels of nesting"), "{error}");
}

/// Cases found by fuzzing.
#[test]
fn headers_after_their_rows_are_errors() {
    let rtla =
        "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n0\nIndex   IRQ-000\n1  2\nover: 0\n";
    let oslat = "oslat V 2.40\nCore: 0\n001 (us): 5\nCore: 0 1\nMinimum: 1 1 (us)\nMaximum: 1 1 (us)\n";
    for (text, expected) in [(rtla, "line 4, Index"), (oslat, "line 4, Core")] {
        let error = import_bytes(text.as_bytes(), "x", None, &options()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn impossible_counts_are_errors() {
    let most = u64::MAX;
    for (text, expected) in [
        (
            format!("# Histogram\n000001 {most}\n000002 {most}\n# Min Latencies: 1\n# Max Latencies: 2\n"),
            "2^64",
        ),
        (format!("# Histogram\n{} 000001\n", 1u64 << 63), "line 2, latency"),
        ("1 1\n999999999999999999 2\n".to_owned(), "is longer than a measurement can be"),
        (
            "RTT|  00:00:01  (user, 1 us period, priority 9)\nRTD|\nRTS| 99999999999999999999| 1| 2| 0|\n"
                .to_owned(),
            "line 3, lat min",
        ),
    ] {
        let format = detect::of(text.as_bytes());
        let error = import_bytes(text.as_bytes(), "x", format, &options()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// A contradiction is an error that names the place, or makes the run invalid with a reason that names it.
#[test]
fn contradictions_are_reported_with_their_place() {
    let hist = |overflows: &str, listed: &str| {
        format!(
            "# Histogram\n000001 000004\n000002 000001\n# Min Latencies: 00001\n# Avg Latencies: 00001\n# Max Latencies: \
             00009\n# Histogram Overflows: {overflows}\n# Histogram Overflow at cycle number:\n# Thread 0: {listed}\n"
        )
    };
    let json = |thread: &str| {
        format!(
            "{{\"cmdline:\": \"cyclictest\", \"rt_test_version:\": \"2.10\", \"num_threads\": 1, \
         \"resolution_in_ns\": 0, \"thread\": {{{thread}}}}}\n"
        )
    };
    let counts = "\"cycles\": 5, \"min\": 3, \"max\": 9, \"cpu\": 0";
    let sample_at = |second: u8| {
        let mut record = [0u8; 28];
        (record[4], record[20]) = (second, 7);
        record
    };
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (hist("00002", "00001 00003").into(), ""),
        (hist("00002", "00001 # 00001 others").into(), ""),
        (hist("00002", "00001").into(), "line 9, thread 0: 1 cycles beyond the histogram are listed"),
        (hist("00002", "00001 # 00007 others").into(), "has 2"),
        (hist("00002", "00001 00077").into(), "cycle 77 is listed, but there were 7"),
        (json(&format!("\"0\": {{{counts}, \"avg\": 4.5}}")).into(), ""),
        (json(&format!("\"0\": {{{counts}, \"avg\": 40.5}}")).into(), "thread.0.min, max: the mean, 40.5 us"),
        (json(&format!("\"0\": {{{counts}}}, \"0\": {{{counts}}}")).into(), "the key '0' appears twice"),
        (json(&format!("\"0\": {{{counts}}}, \"00\": {{{counts}}}")).into(), "thread 0 appears twice"),
        (json(&format!("\"0\": {{{counts}, \"min_ns\": 3400, \"max_ns\": 9999}}")).into(), ""),
        (json(&format!("\"0\": {{{counts}, \"min_ns\": 4400, \"max_ns\": 9999}}")).into(), "exact minimum of '0' is 4400 ns"),
        (
            b"T: 0 (1) P:80 I:1000 C: 5 Min: 3 Act: 3 Avg: 99 Max: 9\n".to_vec(),
            "line 1, thread 0: the mean, 99 us, is not between",
        ),
        (
            b"T: 0 (1) P:80 I:1000 C: 5 Min: 3 Act: 3 Avg: 4 Max: 9\nT: 0 (1) P:80 I:1000 C: 4 Min: 3 Act: 3 Avg: 4 \
             Max: 9\n".to_vec(),
            "line 2, C: thread 0 goes back from 5 to 4",
        ),
        (
            b"T: 0 (1) P:80 I:1000 C: 9 Min: 1 Act: 1 Avg: 1 Max: 2\n# Histogram\n000001 000004\n# Min Latencies: 00001\n\
              # Max Latencies: 00001\n# Histogram Overflows: 00000\n".to_vec(),
            "line 1, C, thread 0: it is 9, but the histogram has 4 readings",
        ),
        (
            b"       0:       0:      15\n       0:       1:      14\n       0:       1:      14\n".to_vec(),
            "line 3, cycle: thread 0 goes back to 1",
        ),
        ([sample_at(5), sample_at(6), sample_at(7)].concat(), ""),
        ([sample_at(5), sample_at(6), sample_at(5)].concat(), "record 3, time: thread 0 goes back by"),
        ([sample_at(5), sample_at(6), [0; 28]].concat(), "record 3, time: it is not a time"),
    ];
    for (bytes, expected) in cases {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let format =
            detect::of(&bytes).or_else(|| FORMATS.iter().find(|one| one.name == "jitterdebugger-samples"));
        let told = match import_bytes(&bytes, "x", format, &options()) {
            Ok(imported) => reason::joined(&imported.run.validity.spoilt_by),
            Err(error) => error.to_string(),
        };
        assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{text}: {told}");
    }
}

/// 200 MB of zeros are a hole in a file, not samples of a machine that has just booted.
#[test]
fn zeros_are_not_samples() {
    let reader = Endless { head: b"", body: vec![0; 4096], left: 200_000_000, at: 0 };
    let mut content = Content::open(reader).unwrap();
    let error = import(&mut content, "zeros", None, &options()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no format"), "{error}");
}

/// The whole part of a compressed file is imported, and the run reports that the rest is missing.
#[test]
fn the_whole_part_of_a_cut_off_compressed_file_is_imported() {
    let text: String =
        (0..40_000).map(|cycle| format!("{:8}:{cycle:8}:{:8}\n", 0, cycle * 7919 % 997)).collect();
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let zstd =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    for (packed, name) in [(gzip, "the gzip file is cut off"), (zstd, "the zstd file is cut off")] {
        let whole = import_bytes(&packed, "x", None, &options()).unwrap().run;
        assert_eq!(whole.series[0].tally.recorded, 40_000);
        assert_eq!(whole.progress.state, State::Complete);
        // A gzip file ends with a checksum: all readings are there, but they cannot be verified.
        for length in [packed.len() - 3, packed.len() * 2 / 3] {
            let run = import_bytes(&packed[..length], "x", None, &options()).unwrap().run;
            let recorded = run.series[0].tally.recorded;
            assert!((1_000..=40_000).contains(&recorded), "{name}: {recorded}");
            assert_eq!(run.progress.state, State::CutShort, "{name}");
            assert!(
                run.validity.limits.iter().any(|limit| limit.contains(name)),
                "{:?}",
                run.validity.limits
            );
        }
        let error = import_bytes(&packed[..12], "x", None, &options()).unwrap_err().to_string();
        assert!(error.contains("cut off") && error.contains("0 bytes"), "{error}");
    }
}

/// With --report, hwlatdetect's text has only the count and the longest sample. The report can be imported separately.
#[test]
fn hwlatdetect_with_a_report_has_a_count_and_a_maximum() {
    let import = |text: &str| import_bytes(text.as_bytes(), "x", None, &options()).unwrap().run;
    let head = "hwlatdetect:  test duration 60 seconds\n   parameters:\n        Latency threshold: 10us\n";
    let run = import(&format!("{head}test finished\nMax Latency: 19us\nSamples recorded: 60\n"));
    let series = &run.series[0];
    assert_eq!((series.tally.recorded, series.max_ns), (60, Some(19_000)));
    let run = import(&format!("{head}test finished\nMax Latency: Below threshold\nSamples recorded: 0\n"));
    assert_eq!(run.series[0].tally.recorded, 0);
    let run = import("ts: 1.5, inner:17, outer:1, cpu:0\nts: 2.5, inner:0, outer:13, cpu:5, count:4\n");
    let told: Vec<_> = run.series.iter().map(|one| (one.tally.recorded, one.max_ns)).collect();
    assert_eq!(told, [(1, Some(17_000)), (1, Some(13_000))]);
    assert!(run.validity.limits.iter().any(|limit| limit.starts_with("5 gaps")), "{:?}", run.validity.limits);
}

/// rteval's results for a single sample, for a spread near zero, and for a maximum equal to the number of buckets.
#[test]
fn special_cases_of_rtevals_statistics_are_accepted() {
    let core = |id: u32, statistics: &str, buckets: &str| {
        format!(
            "<core id=\"{id}\" priority=\"95\"><statistics>{statistics}</statistics><histogram \
             nbuckets=\"9\">{buckets}</histogram></core>"
        )
    };
    let statistics = |samples: u64, min: u64, max: u64, mean: &str, deviation: &str| {
        format!(
            "<samples>{samples}</samples><minimum unit=\"us\">{min}</minimum><maximum unit=\"us\">{max}</maximum><mean \
             unit=\"us\">{mean}</mean><standard_deviation unit=\"us\">{deviation}</standard_deviation>"
        )
    };
    let bucket = |index: u64, value: u64| format!("<bucket index=\"{index}\" value=\"{value}\"/>");
    let cores = [
        core(0, &statistics(1, 12, 12, "0.0", "0"), &bucket(12, 1)),
        core(
            1,
            &statistics(900_000_000, 0, 1, "2.2e-09", "4.7e-05"),
            &(bucket(0, 899_999_998) + &bucket(1, 2)),
        ),
        core(2, &statistics(8, 3, 3500, "3.5", "0.5"), &(bucket(3, 4) + &bucket(4, 4))),
    ];
    let text = format!(
        "<rteval version=\"3.8\"><Measurements><cyclictest command_line=\"cyclictest -i100 -qmu -h 3500 -p95 -t3 \
         -a0-2\">{}</cyclictest></Measurements></rteval>\n",
        cores.concat()
    );
    let run = import_bytes(text.as_bytes(), "x", None, &options()).unwrap().run;
    assert!(run.validity.valid, "{:?}", run.validity.spoilt_by);
    let told: Vec<_> = run.series.iter().map(|one| (one.tally.recorded, one.min_ns, one.max_ns)).collect();
    let expected = [
        (1, Some(12_000), Some(12_000)),
        (900_000_000, Some(0), Some(1000)),
        (9, Some(3000), Some(3_500_000)),
    ];
    assert_eq!(told, expected);
}

/// osnoise's extremes are truncated to the bin, so a mean above the maximum is not a contradiction.
#[test]
fn a_mean_in_the_bin_of_the_maximum_is_valid() {
    let text = "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:10\nIndex   CPU-000\n\
                5             4\n10            3\n15            2\nover:         0\ncount:        9\nmin:          5\n\
                avg:      17.50\nmax:         15\n";
    let import = |text: &str| import_bytes(text.as_bytes(), "x", None, &options());
    assert_eq!(import(text).unwrap().run.series[0].max_ns, Some(15_000));
    let error = import(&text.replace("17.50", "27.50")).unwrap_err().to_string();
    assert!(error.contains("the mean, 27.5 us"), "{error}");
}
