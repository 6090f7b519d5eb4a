//! Imports real files of other tools. For versions without a real file, the fixtures follow the tool's source code.
//!
//! To add a fixture, put a file into tests/fixtures and run the tests with `INSTA_UPDATE=always`. Review the snapshot.

use std::fmt::Write;
use std::path::PathBuf;

use tardy_formats::{FORMATS, ImportOptions, Unit, import_bytes};
use tardy_record::run::State;
use tardy_record::{Knowable, Run, Series, file};
use tardy_unpack::{Content, Tar};

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}

fn options(name: &str) -> ImportOptions {
    let unit = if name.contains("-ns") || name.ends_with(".hlog") { Unit::Ns } else { Unit::Us };
    ImportOptions { unit: Some(unit), ..ImportOptions::default() }
}

fn fixture(name: &str) -> Vec<u8> {
    fixtures().into_iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no fixture {name}")).1
}

fn import(name: &str) -> Run {
    import_bytes(&fixture(name), name, None, &options(name)).unwrap().run
}

/// A summary line of a capture.
fn captured(text: &mut String, series: &Series, mean: &str) {
    let capture = series.capture().unwrap();
    writeln!(
        text,
        "  '{}': {} {:?} of {:?}, missed {:?}, dropped {:?}, min {:?}, mean {mean}, max {:?}, within {} ps by {:?}",
        series.label,
        series.tally.recorded,
        capture.interval,
        series.level,
        series.tally.missed,
        series.tally.dropped,
        series.min_ns,
        series.max_ns,
        capture.resolution_ps,
        capture.resolved_by
    )
    .unwrap();
}

/// The snapshot has a few lines for each fixture: its numbers and its remarks.
#[test]
fn every_fixture_has_its_numbers() {
    let mut text = String::new();
    for (name, bytes) in fixtures() {
        let imported =
            import_bytes(&bytes, &name, None, &options(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let run = &imported.run;
        file::from_text(file::to_text(run).as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        writeln!(text, "{name}: {}, valid {}, {:?}", imported.format, run.validity.valid, run.progress.state)
            .unwrap();
        let plan = run.plan.phases[0].probe.foreign().unwrap();
        writeln!(
            text,
            "  {} {:?}, late periods {:?}, period {:?}, duration {:?}",
            plan.tool, plan.version, plan.late_periods, plan.period_ns, plan.duration_ns
        )
        .unwrap();
        for series in &run.series {
            let mean = series.mean_ns().map_or_else(|| "-".to_owned(), |mean| format!("{mean:.0}"));
            let Some(foreign) = series.foreign() else {
                captured(&mut text, series, &mean);
                continue;
            };
            writeln!(
                text,
                "  {} '{}': {} of {:?}, missed {:?}, min {:?}, mean {mean}, max {:?}, beyond {:?}, prio {:?}, {} bins",
                run.phases[series.phase].label,
                series.label,
                series.tally.recorded,
                series.level,
                series.tally.missed,
                series.min_ns,
                series.max_ns,
                foreign.overflows,
                foreign.priority,
                series.measured.bins().len()
            )
            .unwrap();
        }
        for line in run.validity.spoilt_by.iter().map(ToString::to_string).chain(run.validity.limits.clone())
        {
            writeln!(text, "  - {line}").unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

/// Totals counted independently: with awk from the file, or from the tool's summary.
#[test]
fn totals_match_those_of_the_tools() {
    let recorded =
        |name: &str| import(name).series.iter().map(|series| series.tally.recorded).collect::<Vec<_>>();
    assert_eq!(recorded("cyclictest-2.4.json"), [49_730, 49_744]);
    assert_eq!(recorded("cyclictest-2.4-hist.txt"), [49_730, 49_744]);
    assert_eq!(recorded("cyclictest-2.4-quiet.txt"), [49_964, 14_276]);
    assert_eq!(recorded("jitterdebugger-results.json"), [49_939, 49_880]);
    assert_eq!(recorded("rtla-osnoise-hist.txt"), [1_818_137]);
    assert_eq!(recorded("rtla-timerlat-hist.txt"), [3000, 3000]);
    assert_eq!(recorded("xenomai3-latency-h.txt"), [7970]);
    assert_eq!(recorded("cyclictest-2.7-hist-all.txt"), [207 + 3240 + 3 + 2, 170 + 1745 + 5]);
    assert_eq!(recorded("cyclictest-2.10-hist-all.txt"), [1000, 1000]);
    assert_eq!(recorded("cyclictest-2.10.json"), [1000, 995]);
    assert_eq!(recorded("cyclictest-1.0-hist.txt"), [1000, 1000]);
    assert_eq!(recorded("cyclicdeadline-2.10-hist.txt"), [401, 334]);
    assert_eq!(recorded("cyclicdeadline-2.10.json"), [401, 334]);
    assert_eq!(recorded("oslat-2.10-half-us.txt"), recorded("oslat-2.10-half-us.json"));
}

#[test]
fn a_file_without_a_unit_is_an_error_that_names_the_option() {
    for name in ["cyclictest-2.4-hist.txt", "cyclictest-2.4-samples.txt", "columns-osadl.txt"] {
        let error =
            import_bytes(&fixture(name), name, None, &ImportOptions::default()).unwrap_err().to_string();
        assert!(error.contains("--unit us"), "{name}: {error}");
    }
    let command = Some("cyclictest -m -Sp90 -i200 -h400 -q -D5h33m".to_owned());
    let told = ImportOptions { command, ..ImportOptions::default() };
    let imported = import_bytes(&fixture("cyclictest-2.4-hist.txt"), "x", None, &told).unwrap();
    assert!(imported.used.command && !imported.used.unit);
    let series = &imported.run.series[1];
    assert_eq!((series.label.as_str(), series.max_ns), ("cpu 1", Some(12_097_000)));
    assert_eq!(series.foreign().unwrap().interval_ns, Knowable::Known(200_000));
}

#[test]
fn the_lines_of_threads_show_the_unit() {
    let worst_ns = |name: &str, unit| {
        let options = ImportOptions { unit, ..ImportOptions::default() };
        let imported = import_bytes(&fixture(name), name, None, &options).unwrap();
        (imported.run.series[0].max_ns.unwrap(), imported.used.unit)
    };
    assert_eq!(worst_ns("cyclictest-2.4-quiet.txt", None), (1_933_000, false));
    assert_eq!(worst_ns("cyclictest-2.4-quiet-ns.txt", None), (51_681, false));
    assert_eq!(worst_ns("cyclictest-1.0-quiet.txt", Some(Unit::Us)), (1_392_000, true));
    assert_eq!(worst_ns("cyclictest-2.4-quiet-ns.txt", Some(Unit::Us)), (51_681_000, true), "--unit decides");
    assert_eq!(worst_ns("signaltest-2.10-quiet.txt", None), (4_215_000, false));
}

#[test]
fn contradicting_options_are_rejected() {
    let options = ImportOptions {
        unit: Some(Unit::Us),
        command: Some("cyclictest -N -p80".to_owned()),
        ..ImportOptions::default()
    };
    let error = import_bytes(&fixture("cyclictest-2.4-hist.txt"), "x", None, &options).unwrap_err();
    assert!(error.to_string().contains("contradict"), "{error}");
}

#[test]
fn contradictions_name_line_and_field() {
    let text = String::from_utf8(fixture("cyclictest-2.7-hist-all.txt")).unwrap();
    let import = |text: &str| import_bytes(text.as_bytes(), "x", None, &options("x"));
    for (from, to, expected) in [
        ("004985", "004986", "line 4, row 8: the total column is 4986"),
        (
            "# Min Latencies: 00007",
            "# Min Latencies: 00026",
            "the minimum, 26 us, is above the maximum, 25 us",
        ),
        (
            "# Min Latencies: 00007",
            "# Min Latencies: 00005",
            "the minimum is 5 us, but the lowest bin with a count begins at 7 us",
        ),
        ("# Max Latencies: 00025 02093 02093", "# Max Latencies: 00011 02093 02093", "the maximum is 11 us"),
        (" 02093 02093", " 02093 09999", "line 8, Max Latencies: the value of all threads is 9999"),
        (" 02093 02093", "", "line 8, Max Latencies: 1 values for 2 threads"),
        ("00005 00007", "00005 00999", "line 9, Histogram Overflows: the value of all threads is 999"),
        ("000012 000003", "000008 000003", "line 5, latency: 8 follows 8"),
        ("000012 000003", "000012 0000x3", "line 5, column 1: '0000x3' is not a count"),
        ("000012 000003", "000012 18446744073709551616", "line 5, column 1"),
    ] {
        assert!(text.contains(from));
        let error = import(&text.replacen(from, to, 1)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} → {to}: {error}");
    }
    let headless: String = text.split_inclusive('\n').skip(1).take(4).collect();
    assert_eq!(import(&headless).unwrap().run.series.len(), 2, "the column of all is not a thread");
    let mean = text.replacen("# Avg Latencies: 00009", "# Avg Latencies: 00020", 1);
    let run = import(&mean).unwrap().run;
    assert!(
        run.validity.spoilt_by[0].to_string().contains("thread 0: the mean, 20 us, is not possible"),
        "{:?}",
        run.validity
    );
    let old = String::from_utf8(fixture("cyclictest-2.4-hist.txt")).unwrap();
    let changed = old.replacen("000014 003914", "000014 003915", 1);
    assert_ne!(old, changed);
    let run = import(&changed).unwrap().run;
    assert!(
        !run.validity.valid && run.validity.spoilt_by[0].to_string().contains("Total, thread 0"),
        "{:?}",
        run.validity
    );
    let json = String::from_utf8(fixture("cyclictest-2.4.json")).unwrap();
    let error = import(&json.replacen("\"cycles\": 49730", "\"cycles\": 40000", 1)).unwrap_err().to_string();
    assert!(error.contains("thread.0.cycles: it is 40000, but the histogram holds"), "{error}");
}

#[test]
fn the_whole_part_of_a_cut_off_file_is_imported() {
    let text = fixture("cyclictest-2.4-hist.txt");
    let cut = text.windows(7).position(|window| window == b"000021 ").unwrap() + 12;
    let run = import_bytes(&text[..cut], "x", None, &options("x")).unwrap().run;
    assert_eq!(run.progress.state, tardy_record::run::State::CutShort);
    assert_eq!(run.series[0].max_ns, Some(20_000), "row 21 is not whole");
    assert!(
        run.validity.limits.iter().any(|limit| limit.contains("the file is cut off in line")),
        "{:?}",
        run.validity
    );
    let json = fixture("cyclictest-2.4.json");
    let error = import_bytes(&json[..json.len() / 2], "x", None, &options("x")).unwrap_err();
    assert!(error.to_string().contains("the document is incomplete"), "{error}");
    let raw = fixture("jitterdebugger-samples.raw");
    let run = import_bytes(&raw[..raw.len() - 5], "x", None, &options("x")).unwrap().run;
    assert_eq!(run.series.iter().map(|series| series.tally.recorded).sum::<u64>(), 79);
    assert_eq!(run.progress.state, tardy_record::run::State::CutShort);
}

#[test]
fn samples_keep_their_times_and_worst() {
    let run = import("jitterdebugger-samples.raw");
    let series = &run.series[0];
    assert_eq!((series.tally.recorded, series.min_ns, series.max_ns), (40, Some(7000), Some(907_000)));
    assert_eq!(series.worst[0].cycle, 20);
    assert_eq!(series.max_at_ns, Some(40 * 101_003));
    assert_eq!(series.sum_ns, Knowable::Known(40 * 7000 + 900_000));
    let run = import("cyclictest-2.4-samples.txt");
    assert!(
        run.series.iter().all(|series| series.worst.is_empty() && series.slices.is_empty()),
        "no time is invented"
    );
    assert_eq!(run.series[0].tally.missed, Knowable::Unknown);
}

#[test]
fn compressed_and_plain_files_give_the_same_run() {
    use std::io::Write;
    let plain = fixture("rtla-timerlat-hist.txt");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd =
        ruzstd::encoding::compress_to_vec(plain.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    let twice =
        ruzstd::encoding::compress_to_vec(gzip.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    let series = |bytes: &[u8]| import_bytes(bytes, "x", None, &ImportOptions::default()).unwrap().run.series;
    for packed in [&gzip, &zstd, &twice] {
        assert_eq!(series(packed), series(&plain));
    }
    let error = import_bytes(&gzip[..gzip.len() / 2], "x", None, &ImportOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the gzip file is cut off"), "{error}");
}

#[test]
fn a_compression_bomb_is_rejected() {
    use std::io::Write;
    let mut zeros = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mut text = b"# Histogram\n".to_vec();
    text.resize(1 << 20, b'0');
    for _ in 0..256 {
        zeros.write_all(&text).unwrap();
    }
    let once = zeros.finish().unwrap();
    let mut twice = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    twice.write_all(&once).unwrap();
    let error = import_bytes(&twice.finish().unwrap(), "x", None, &options("x")).unwrap_err().to_string();
    assert!(error.contains("bytes"), "{error}");
}

/// An archive with its end mark.
fn tar_of(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in members {
        let mut header = [0u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// The complete part of an archive is imported. A member that is cut off and a missing end mark are reported.
#[test]
fn a_cut_off_archive_is_reported_with_its_place() {
    let samples: String = (0..2000).map(|cycle| format!("{:8}:{cycle:8}:{:8}\n", 0, cycle % 97)).collect();
    let whole = tar_of(&[("a.txt", samples.clone().into()), ("b/b.txt", samples.clone().into())]);
    let second = 512 + samples.len().next_multiple_of(512);
    let import_members = |archive: &[u8]| {
        let mut tar = Tar::new(archive);
        let mut runs = Vec::new();
        loop {
            match tar.next_member() {
                Ok(Some(member)) => {
                    let mut content = Content::open(&mut tar).unwrap();
                    let imported = tardy_formats::import(&mut content, &member.name, None, &options("x"));
                    runs.push(imported.unwrap().run);
                }
                Ok(None) => return (runs, Ok(tar.has_end_mark())),
                Err(error) => return (runs, Err(error.to_string())),
            }
        }
    };
    let recorded = |runs: &[Run]| runs.iter().map(|run| run.series[0].tally.recorded).collect::<Vec<_>>();
    let (runs, end) = import_members(&whole);
    assert_eq!((recorded(&runs), end), (vec![2000, 2000], Ok(true)));
    let (runs, end) = import_members(&whole[..second + 512 + samples.len() / 2]);
    assert_eq!(recorded(&runs), [2000, 1000]);
    assert_eq!(runs[1].progress.state, State::CutShort);
    assert!(runs[1].validity.limits.iter().any(|limit| limit.contains("the archive is cut off")));
    let error = end.unwrap_err();
    assert!(error.contains("member b/b.txt") && error.contains("missing"), "{error}");
    let (runs, end) = import_members(&whole[..second]);
    assert_eq!((recorded(&runs), end), (vec![2000], Ok(false)));
}

#[test]
fn members_of_an_archive_are_read_one_by_one() {
    let mut archive =
        tar_of(&[("a/hist.txt", fixture("columns-osadl.txt")), ("b.json", fixture("pmqtest-2.4.json"))]);
    let mut tar = Tar::new(archive.as_slice());
    let mut names = Vec::new();
    while let Some(member) = tar.next_member().unwrap() {
        names.push((member.name, member.size));
    }
    assert_eq!(
        names,
        [("a/hist.txt".to_owned(), 36), ("b.json".to_owned(), fixture("pmqtest-2.4.json").len() as u64)]
    );
    archive[10] ^= 1;
    assert!(Tar::new(archive.as_slice()).next_member().is_err(), "a damaged header is noticed");
}

/// A wrong `--as` gives an error or a valid run file.
#[test]
fn a_wrong_format_is_an_error_or_a_run() {
    for (name, bytes) in fixtures() {
        for format in FORMATS {
            if let Ok(imported) = import_bytes(&bytes, &name, Some(format), &options(&name)) {
                file::check(&imported.run)
                    .unwrap_or_else(|error| panic!("{name} as {}: {error}", format.name));
            }
        }
    }
}
