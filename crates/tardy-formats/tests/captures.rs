//! Logic analyser captures: the same signals in every format, defective files, and sigrok-cli as a reference.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use tardy_formats::{ImportError, ImportOptions, TimeUnit, detect, import, import_bytes};
use tardy_record::capture::{Edge, Interval, ResolvedBy};
use tardy_record::run::State;
use tardy_record::{Run, Series};
use tardy_unpack::Content;

/// The program that converts between formats. The test that uses it is skipped if it is not installed.
const SIGROK: &str = "sigrok-cli";

/// Edges of two channels in ticks: an answer to almost every stimulus, with random widths and distances.
struct Signals {
    /// Time, channel, and the channel's level from then on.
    edges: Vec<(u64, usize, bool)>,
    end: u64,
}

impl Signals {
    fn made(seed: u64, stimuli: u64) -> Self {
        let mut state = seed;
        let mut random = |below: u64| {
            // Knuth's multiplier (MMIX); only its high bits are random enough.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut edges = Vec::new();
        let mut at = 0;
        for number in 0..stimuli {
            at += 2000 + random(500);
            let (high, answer, width) = (100 + random(50), 1 + random(90), 200 + random(20));
            edges.extend([(at, 0, true), (at + high, 0, false)]);
            if number % 97 != 13 {
                edges.extend([(at + answer, 1, true), (at + answer + width, 1, false)]);
            }
        }
        edges.sort_unstable();
        Self { edges, end: at + 5000 }
    }

    /// The signals as a VCD with ticks of one microsecond.
    fn vcd(&self) -> String {
        let mut text =
            "$timescale 1 us $end\n$scope module m $end\n$var wire 1 ! D0 $end\n$var wire 1 \" D1 $end\n\
                        $upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n0!\n0\"\n$end\n"
                .to_owned();
        let mut last = 0;
        for (at, channel, high) in &self.edges {
            if *at != last {
                writeln!(text, "#{at}").unwrap();
                last = *at;
            }
            writeln!(text, "{}{}", u8::from(*high), ['!', '"'][*channel]).unwrap();
        }
        writeln!(text, "#{}", self.end).unwrap();
        text
    }

    /// From each stimulus to the answer before the next stimulus, in ns.
    fn reactions(&self) -> Vec<i64> {
        let rising = |channel: usize| {
            let of = move |(at, of, high): &(u64, usize, bool)| (*of == channel && *high).then_some(*at);
            self.edges.iter().filter_map(of).collect::<Vec<_>>()
        };
        let (stimuli, answers) = (rising(0), rising(1));
        let ends = stimuli.iter().skip(1).copied().chain([u64::MAX]);
        let answer =
            |(from, to): (&u64, u64)| answers.iter().find(|at| (*from..to).contains(at)).map(|at| at - from);
        stimuli.iter().zip(ends).filter_map(answer).map(|ticks| ticks as i64 * 1000).collect()
    }

    /// The widths of a channel's levels, in ns, in the order of time.
    fn widths(&self, channel: usize, high: bool) -> Vec<i64> {
        let edges: Vec<(u64, bool)> =
            self.edges.iter().filter(|edge| edge.1 == channel).map(|edge| (edge.0, edge.2)).collect();
        let pairs = edges.windows(2).filter(|pair| pair[0].1 == high);
        pairs.map(|pair| (pair[1].0 - pair[0].0) as i64 * 1000).collect()
    }
}

fn named(input: &str, output: &str) -> ImportOptions {
    ImportOptions {
        input: Some(input.to_owned()),
        output: Some(output.to_owned()),
        ..ImportOptions::default()
    }
}

fn imported(bytes: &[u8], options: &ImportOptions) -> Run {
    import_bytes(bytes, "capture", None, options).unwrap_or_else(|error| panic!("{error}")).run
}

fn refused(bytes: &[u8], format: &str, options: &ImportOptions) -> String {
    let format = detect::by_name(format);
    import_bytes(bytes, "capture", format, options).map(|_| ()).unwrap_err().to_string()
}

fn series<'a>(run: &'a Run, channel: &str, interval: Interval) -> &'a Series {
    let is_it = |series: &&Series| {
        series.capture().is_some_and(|one| one.interval == interval && one.channel == channel)
    };
    run.series.iter().find(is_it).unwrap_or_else(|| panic!("{channel} has no {interval:?}"))
}

/// Checks that a series has these values: count, extremes, sum and sum of squares.
fn agrees(series: &Series, values: &[i64]) {
    let label = &series.label;
    assert_eq!(series.tally.recorded, values.len() as u64, "{label}");
    assert_eq!(
        (series.min_ns, series.max_ns),
        (values.iter().min().copied(), values.iter().max().copied()),
        "{label}"
    );
    assert_eq!(series.sum_ns.get(), Some(values.iter().sum()), "{label}");
    let squares = values.iter().map(|value| u128::from(value.unsigned_abs()).pow(2)).sum();
    assert_eq!(series.sum_of_squares_ns2.get(), Some(squares), "{label}");
    // The times of the worst readings are those of the edges, which also checks their order.
    let mut worst: Vec<i64> = values.to_vec();
    worst.sort_unstable_by(|a, b| b.cmp(a));
    worst.truncate(series.worst.len());
    assert_eq!(series.worst.iter().map(|one| one.latency_ns).collect::<Vec<_>>(), worst, "{label}");
}

fn agrees_with(run: &Run, signals: &Signals) {
    agrees(series(run, "D0", Interval::Reaction), &signals.reactions());
    for (channel, name) in ["D0", "D1"].into_iter().enumerate() {
        agrees(series(run, name, Interval::High), &signals.widths(channel, true));
        agrees(series(run, name, Interval::Low), &signals.widths(channel, false));
    }
}

/// sigrok-cli reads the generated VCD and writes its own formats. tardy must read the same edges, exact to the sample,
/// from each. A mistake in either program shows as a difference.
#[test]
fn edges_match_after_conversion_by_sigrok_cli() {
    if Command::new(SIGROK).arg("--version").output().is_err() {
        eprintln!("skipped: {SIGROK} is not installed (apt-get install {SIGROK})");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let convert = |from: &Path, input: Option<&str>, to: &Path, output: &str| {
        let mut command = Command::new(SIGROK);
        command.args(input.map(|format| ["-I", format]).into_iter().flatten());
        command.arg("-i").arg(from).arg("-O").arg(output).arg("-o").arg(to);
        let done = command.output().unwrap();
        assert!(done.status.success() && to.is_file(), "{}", String::from_utf8_lossy(&done.stderr));
        std::fs::read(to).unwrap()
    };
    let signals = Signals::made(7, 1000);
    std::fs::write(path("made.vcd"), signals.vcd()).unwrap();
    agrees_with(&imported(signals.vcd().as_bytes(), &named("D0", "D1")), &signals);
    let session = convert(&path("made.vcd"), Some("vcd"), &path("made.sr"), "srzip");
    let vcd = convert(&path("made.sr"), None, &path("again.vcd"), "vcd");
    let changes = convert(&path("made.sr"), None, &path("made.csv"), "csv:time=true:dedup=true");
    let samples = convert(&path("made.sr"), None, &path("samples.csv"), "csv");
    for (bytes, format, resolved_by) in [
        (session, "sigrok", ResolvedBy::SampleRate),
        (vcd, "vcd", ResolvedBy::TimeScale),
        (changes, "level-csv", ResolvedBy::Digits),
        (samples, "level-csv", ResolvedBy::SampleRate),
    ] {
        let imported = import_bytes(&bytes, "capture", None, &named("D0", "D1"))
            .unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(imported.format, format);
        let run = imported.run;
        assert_eq!(run.progress.state, State::Complete, "{format}");
        agrees_with(&run, &signals);
        let capture = series(&run, "D0", Interval::Reaction).capture().unwrap();
        assert_eq!((capture.resolution_ps, capture.resolved_by), (1_000_000, resolved_by), "{format}");
    }
}

const HEAD: &str = "$timescale 10 ns $end $scope module top $end $var wire 1 ! a $end $var reg 4 # bus [3:0] $end $scope \
                    module cpu $end $var wire 1 ab a $end $var wire 1 ! same $end $upscope $end $upscope $end \
                    $enddefinitions $end\n";

#[test]
fn names_in_scopes_and_bits_of_vectors_are_channels() {
    let body = "#0 0! b0 # 0ab\n#10 1! 1ab\n#15 0!\n#20 b1x00 # 1!\n#30 b1000 # 0!\n#45 b0000 #\n#50 1! b11000 #\n#60 0!\n#70\n";
    let text = format!("{HEAD}{body}");
    let one = |name: &str| ImportOptions { output: Some(name.to_owned()), ..ImportOptions::default() };
    let error = refused(text.as_bytes(), "vcd", &one("a"));
    assert!(error.contains("several channels have this name: top.a, top.cpu.a"), "{error}");
    let error = refused(text.as_bytes(), "vcd", &one("bus"));
    assert!(error.contains("4 bits wide") && error.contains("bus[0]"), "{error}");
    let error = refused(text.as_bytes(), "vcd", &one("bus[4]"));
    assert!(error.contains("there is no such channel"), "{error}");
    let run = imported(text.as_bytes(), &one("top.a"));
    agrees(series(&run, "top.a", Interval::High), &[50, 100, 100]);
    assert_eq!(imported(text.as_bytes(), &one("same")).series[0].tally.recorded, 3, "by another name");
    let run = imported(text.as_bytes(), &one("bus[3]"));
    agrees(series(&run, "bus[3]", Interval::High), &[250]);
    // Of b1x00 only bit 2 is unknown.
    let run = imported(text.as_bytes(), &one("bus[2]"));
    assert!(
        run.validity.limits.iter().any(|limit| limit.contains("became unknown once")),
        "{:?}",
        run.validity
    );
}

#[test]
fn every_scale_of_a_vcd_is_exact() {
    for (scale, high_ns) in
        [("1 s", 3_000_000_000), ("100ms", 300_000_000), ("10 us", 30_000), ("1ns", 3), ("100 ps", 0)]
    {
        let text = format!(
            "$timescale {scale} $end $var wire 1 ! d $end $enddefinitions $end #1000000 0! #1000001 1! #1000004 0! #1000009 1! #1000010\n"
        );
        let run = imported(text.as_bytes(), &ImportOptions::default());
        agrees(series(&run, "d", Interval::High), &[high_ns]);
    }
    for (scale, expected) in [
        ("2 ns", "is not a time scale"),
        ("1 h", "is not a time scale"),
        ("0 ns", "is not a time scale"),
        ("", "is not a time scale"),
        ("1 us $end $timescale 1 ns", "but this line has 1ns"),
    ] {
        let text = format!("$timescale {scale} $end $var wire 1 ! d $end $enddefinitions $end #0 0! #1\n");
        let error = refused(text.as_bytes(), "vcd", &ImportOptions::default());
        assert!(error.contains("line 1, $timescale") && error.contains(expected), "{scale}: {error}");
    }
    let text = b"$var wire 1 ! d $end $enddefinitions $end #0 0! #1 1! #4 0! #5\n";
    let error = refused(text, "vcd", &ImportOptions::default());
    assert!(error.contains("--time-unit"), "{error}");
    let told = ImportOptions { time_unit: Some(TimeUnit::Us), ..ImportOptions::default() };
    agrees(series(&imported(text, &told), "d", Interval::High), &[3000]);
}

#[test]
fn errors_in_a_vcd_name_the_line() {
    let head = "$timescale 1 us $end\n$var wire 1 ! d $end\n$enddefinitions $end\n";
    for (body, expected) in [
        ("#0\n0!\n#20\n1!\n#19\n0!\n", "line 8, time: 19 is before 20"),
        ("#0\n0!\n#x\n", "line 6, time: '#x' is not a time"),
        ("#0\n0!\n#99999999999999999999\n", "line 6, time"),
        ("#0\n0!\n#18446744073709551\n1!\n", "further from 0 than a capture"),
        ("#0\n?!\n", "line 5, value: '?!' is not a value change"),
        ("#0\n1 !\n", "line 5, value: '1' is a value without a code"),
        ("#0\n$dump\n", "line 5, keyword"),
        ("1!\n", "no time stamp"),
    ] {
        let error = refused(format!("{head}{body}").as_bytes(), "vcd", &ImportOptions::default());
        assert!(error.contains(expected), "{body}: {error}");
    }
    let error = refused(b"$timescale 1 us $end\n$var wire 1 ! d $end\n", "vcd", &ImportOptions::default());
    assert!(error.contains("before $enddefinitions"), "{error}");
    let cut = format!("{head}#0\n0!\n#5\n1!\n#9\n0!\n#12");
    let run = imported(cut.as_bytes(), &ImportOptions::default());
    assert_eq!(run.progress.state, State::CutShort);
    agrees(series(&run, "d", Interval::High), &[4000]);
}

fn limits(run: &Run) -> String {
    run.validity.limits.join("; ")
}

#[test]
fn scales_below_a_nanosecond_are_truncated_to_whole_ns() {
    for (scale, high_ns, resolution_ps, is_told) in
        [("1 fs", 1, 1000, true), ("10 ps", 15_000, 1000, true), ("1 ns", 1_500_000, 1000, false)]
    {
        let text = format!(
            "$timescale {scale} $end $var wire 1 ! d $end $enddefinitions $end #0 0! #1000000 1! #2500000 0! #3000000\n"
        );
        let run = imported(text.as_bytes(), &ImportOptions::default());
        agrees(series(&run, "d", Interval::High), &[high_ns]);
        assert_eq!(series(&run, "d", Interval::High).capture().unwrap().resolution_ps, resolution_ps);
        assert_eq!(limits(&run).contains("readings are truncated to whole ns"), is_told, "{}", limits(&run));
    }
}

#[test]
fn changes_of_undeclared_codes_are_counted() {
    let body = "#0 0! 0ab b0 #\n#10 1! 1% 1\" b1 abcd \n#15 0! 1ab 1zz\n#20\n";
    let d = ImportOptions { output: Some("same".to_owned()), ..ImportOptions::default() };
    let run = imported(format!("{HEAD}{body}").as_bytes(), &d);
    agrees(series(&run, "same", Interval::High), &[50]);
    let told = "4 value changes have codes (the first is '%') that the header does not declare";
    assert!(limits(&run).contains(told), "{}", limits(&run));
    let run = imported(format!("{HEAD}#0 0! 0ab b0 #\n#10 1!\n#15 0!\n#20\n").as_bytes(), &d);
    assert!(!limits(&run).contains("declare"), "{}", limits(&run));
}

#[test]
fn a_pulse_within_a_time_stamp_is_an_answer() {
    let head = "$timescale 1 us $end $var wire 1 ! in $end $var wire 1 # out $end $enddefinitions $end\n";
    let text = format!("{head}#0 0! 0#\n#10 1!\n#15 1# 0#\n#20 0!\n#30 1!\n#37 1#\n#40 0#\n");
    let run = imported(text.as_bytes(), &named("in", "out"));
    agrees(series(&run, "in", Interval::Reaction), &[5000, 7000]);
    assert!(limits(&run).contains("out: 1 pulse begins and ends at one time stamp"), "{}", limits(&run));
    // The same as CSV rows, of which only the last one of a time has the level.
    let rows = "time_us,in,out\n0,0,0\n10,1,0\n15,1,1\n15,1,0\n20,0,0\n30,1,0\n37,1,1\n40,1,0\n";
    let run = imported(rows.as_bytes(), &named("in", "out"));
    agrees(series(&run, "in", Interval::Reaction), &[5000, 7000]);
    assert!(limits(&run).contains("out: 1 pulse begins and ends at one time stamp"), "{}", limits(&run));
}

#[test]
fn an_unknown_unit_is_not_read_as_seconds() {
    let rows = "0,0\n1,1\n3,0\n10,1\n";
    for head in ["Time [min]", "Time [h]", "Time [samples]", "Time [furlong]", "time_ticks", "ticks"] {
        let text = format!("{head},d\n{rows}");
        let error = refused(text.as_bytes(), "level-csv", &ImportOptions::default());
        let expected = format!("line 1, head: '{head}' does not name a known unit");
        assert!(error.contains(&expected) && error.contains("--time-unit"), "{error}");
        let in_us = ImportOptions { time_unit: Some(TimeUnit::Us), ..ImportOptions::default() };
        let run = import_bytes(text.as_bytes(), "c.csv", detect::by_name("level-csv"), &in_us).unwrap();
        assert!(run.used.time_unit && run.time_unit_stated.is_none());
        agrees(series(&run.run, "d", Interval::High), &[2000]);
    }
    let assumed = "they are read as seconds";
    let run = imported(format!("Time,d\n{rows}").as_bytes(), &ImportOptions::default());
    agrees(series(&run, "d", Interval::High), &[2_000_000_000]);
    assert!(limits(&run).contains(assumed), "{}", limits(&run));
    let text = format!("Time [s],d\n{rows}");
    let said = import_bytes(text.as_bytes(), "c.csv", None, &ImportOptions::default()).unwrap();
    assert!(!limits(&said.run).contains(assumed), "{}", limits(&said.run));
    assert_eq!(said.time_unit_stated.as_deref(), Some("line 1 has 'Time [s]'"));
}

#[test]
fn csv_keeps_its_digits_and_its_unit() {
    let heads = "time_us,in,out\n-1.5,0,0\n0,1,0\n2.25,1,1\n10,0,0\n";
    let run = imported(heads.as_bytes(), &named("in", "out"));
    agrees(series(&run, "in", Interval::Reaction), &[2250]);
    assert_eq!(series(&run, "in", Interval::Reaction).capture().unwrap().resolution_ps, 10_000);
    let bare = "0.0,0\n0.000001,1\n4e-6,0\n0.000010,1\n";
    let run = imported(bare.as_bytes(), &ImportOptions::default());
    agrees(series(&run, "column 0", Interval::High), &[3000]);
    let in_ms = ImportOptions { time_unit: Some(TimeUnit::Ms), ..ImportOptions::default() };
    agrees(series(&imported(bare.as_bytes(), &in_ms), "column 0", Interval::High), &[3]);
    let falling = ImportOptions { edge: Some(Edge::Falling), ..named("in", "out") };
    agrees(series(&imported(heads.as_bytes(), &falling), "in", Interval::Reaction), &[0]);
    for (text, expected) in [
        ("time,d\n0,0\n2,1\n1,0\n", "line 4, time"),
        ("time,d\n0,0\n2,7\n", "line 3, column 1: '7' is not a level"),
        ("time,d\n0,0\n2\n", "line 3, row: it has 1 columns"),
        ("time,d\n0,0\nnan,1\n", "line 3, time"),
        ("time,d\n0,0\n1e30,1\n", "line 3, time"),
        ("time,d\n", "no row"),
    ] {
        let error = refused(text.as_bytes(), "level-csv", &ImportOptions::default());
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn quoted_csv_cells_may_hold_commas_quotes_and_line_breaks() {
    let text = "\"Time [s]\",\"in, the \"\"input\"\"\",\"out\nput\"\n\"0\",0,0\n0.000001,\"1\",\"0\"\n0.000004,1,\"1\"\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let run = import_bytes(text.as_bytes(), "c.csv", None, &named("in, the \"input\"", "output"))
            .unwrap_or_else(|error| panic!("{text:?}: {error}"))
            .run;
        agrees(series(&run, "in, the \"input\"", Interval::Reaction), &[3000]);
    }
    for (text, expected) in [
        ("time,d\n0,0\n1,\"0\n2,1\n", "line 3, record: a quotation mark is opened and not closed"),
        ("time,\"d\ne\"\n0,0\n1,7\n", "line 4, column 1: '7' is not a level"),
    ] {
        let error = refused(text.as_bytes(), "level-csv", &ImportOptions::default());
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// A zip of stored and deflated members, with or without the mark of its end.
fn zip(members: &[(&str, &[u8], bool)], end: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content, deflated) in members {
        let mut sum = flate2::Crc::new();
        sum.update(content);
        let packed = if *deflated {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.to_vec()
        };
        archive.extend(b"PK\x03\x04\x14\0\0\0");
        archive.extend(if *deflated { [8u8, 0] } else { [0, 0] });
        archive.extend([0; 4]);
        archive.extend(sum.sum().to_le_bytes());
        archive.extend((packed.len() as u32).to_le_bytes());
        archive.extend((content.len() as u32).to_le_bytes());
        archive.extend((name.len() as u16).to_le_bytes());
        archive.extend([0, 0]);
        archive.extend(name.as_bytes());
        archive.extend(packed);
    }
    if end {
        archive.extend(b"PK\x05\x06");
        archive.extend([0; 18]);
    }
    archive
}

const METADATA: &str = "[global]\nsigrok version=0.5.2\n[device 1]\ncapturefile=logic-1\ntotal probes=2\nsamplerate=1 MHz\n\
                        total analog=0\nprobe1=in\nprobe2=out\nunitsize=1\n";

/// The stimulus rises at 10 and 40, the answer at 13 and 41. Both fall at 20 and 50.
fn samples() -> Vec<u8> {
    let level = |at: u32| match at % 30 {
        _ if at >= 60 => 0,
        10 if at >= 30 => 1,
        10..13 if at < 30 => 1,
        11..20 if at >= 30 => 3,
        13..20 => 3,
        _ => 0,
    };
    (0..80).map(level).collect()
}

#[test]
fn members_of_a_session_come_in_any_order() {
    let samples = samples();
    let (one, two, three) = (&samples[..7], &samples[7..45], &samples[45..]);
    let metadata = METADATA.as_bytes();
    let orders: [&[(&str, &[u8], bool)]; 3] = [
        &[
            ("version", b"2", false),
            ("metadata", metadata, true),
            ("logic-1-1", one, true),
            ("logic-1-2", two, false),
            ("logic-1-3", three, true),
        ],
        &[
            ("logic-1-1", one, true),
            ("logic-1-3", three, true),
            ("logic-1-2", two, true),
            ("metadata", metadata, false),
            ("version", b"2", false),
        ],
        &[
            ("version", b"2", false),
            ("metadata", metadata, false),
            ("logic-1-3", three, false),
            ("logic-1-2", two, true),
            ("logic-1-1", one, true),
        ],
    ];
    for members in orders {
        let run = imported(&zip(members, true), &named("in", "out"));
        agrees(series(&run, "in", Interval::Reaction), &[3000, 1000]);
        assert_eq!(run.progress.state, State::Complete);
        assert!(run.validity.valid, "{:?}", run.validity);
    }
}

#[test]
fn the_whole_part_of_a_cut_off_session_is_imported() {
    let samples = samples();
    let whole = zip(
        &[
            ("version", b"2", false),
            ("metadata", METADATA.as_bytes(), true),
            ("logic-1-1", &samples[..30], false),
            ("logic-1-2", &samples[30..], false),
        ],
        true,
    );
    // First the end of the archive is missing, then some of the samples.
    for (length, expected) in
        [(whole.len() - 10, None), (whole.len() - 22, Some(80)), (whole.len() - 22 - 35, Some(45))]
    {
        let run = imported(&whole[..length], &named("in", "out"));
        let is_cut = run.progress.state == State::CutShort;
        assert_eq!(is_cut, expected.is_some(), "{length}");
        if let Some(count) = expected {
            let told = format!("what is before that is imported, samples: {count}");
            assert!(run.validity.limits.iter().any(|limit| limit.contains(&told)), "{:?}", run.validity);
        }
        agrees(series(&run, "in", Interval::Reaction), &[3000, 1000]);
    }
    let error = refused(&whole[..40], "sigrok", &named("in", "out"));
    assert!(error.contains("metadata: it is missing in the part before the archive was cut off"), "{error}");
}

#[test]
fn metadata_that_contradict_the_samples_are_rejected() {
    let samples = samples();
    let with = |from: &str, to: &str| {
        assert!(METADATA.contains(from));
        let metadata = METADATA.replace(from, to);
        zip(
            &[
                ("version", b"2", false),
                ("metadata", metadata.as_bytes(), true),
                ("logic-1-1", &samples[..79], true),
            ],
            true,
        )
    };
    for (from, to, expected) in [
        ("samplerate=1 MHz", "samplerate=0 Hz", "samplerate: '0 Hz' is not a sample rate"),
        ("samplerate=1 MHz\n", "", "metadata, samplerate: it is missing"),
        ("unitsize=1", "unitsize=2", "logic-1-1: it ends with 1 of 2 bytes of a sample"),
        ("unitsize=1", "unitsize=99999", "unitsize: '99999' is not a number up to"),
        ("total probes=2", "total probes=17", "unitsize: 1 bytes are too few for 17 channels"),
        ("total probes=2", "total probes=1", "total probes: it is 1, but there is a probe2"),
        ("probe1=in\nprobe2=out\n", "", "no digital channel"),
    ] {
        let error = refused(&with(from, to), "sigrok", &ImportOptions::default());
        assert!(error.contains(expected), "{to}: {error}");
    }
    let version = zip(&[("version", b"3", false), ("metadata", METADATA.as_bytes(), true)], true);
    assert!(refused(&version, "sigrok", &ImportOptions::default()).contains("version '3' is not supported"));
    // A missing member and a wrong checksum make the run invalid.
    let hole = zip(
        &[
            ("metadata", METADATA.as_bytes(), true),
            ("logic-1-1", &samples[..50], true),
            ("logic-1-3", &samples[50..], true),
        ],
        true,
    );
    let run = imported(&hole, &named("in", "out"));
    assert!(
        run.validity
            .spoilt_by
            .iter()
            .any(|reason| reason.to_string().contains("between 1 and 3 are missing")),
        "{:?}",
        run.validity
    );
    let mut damaged = zip(&[("metadata", METADATA.as_bytes(), true), ("logic-1-1", &samples, false)], true);
    let last = damaged.len() - 22 - 3;
    damaged[last] ^= 1;
    let run = imported(&damaged, &named("in", "out"));
    assert!(
        run.validity.spoilt_by.iter().any(|reason| reason.to_string().contains("checksum")),
        "{:?}",
        run.validity
    );
}

/// A gigabyte of samples in a megabyte of zip. No sample is kept in memory.
#[test]
fn samples_of_a_zip_bomb_are_not_kept_in_memory() {
    let zeros = vec![0u8; 64 << 20];
    let bomb = zip(&[("metadata", METADATA.as_bytes(), true), ("logic-1-1", &zeros, true)], true);
    let run = imported(&bomb, &named("in", "out"));
    assert!(!run.validity.valid, "without an edge there is no measurement");
    // Samples out of order must be kept, within a bound.
    let chunks: Vec<String> = (2..7).map(|number| format!("logic-1-{number}")).collect();
    let members: Vec<(&str, &[u8], bool)> =
        chunks.iter().map(|name| (name.as_str(), zeros.as_slice(), true)).collect();
    let error = refused(&zip(&members, true), "sigrok", &named("in", "out"));
    assert!(error.contains("256 MiB"), "{error}");
}

/// Saleae's export of one channel, version 0.
fn saleae(begin: f64, end: f64, edges: &[f64]) -> Vec<u8> {
    let mut bytes = b"<SALEAE>".to_vec();
    bytes.extend([0i32, 0, 0].iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend([begin, end].iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend((edges.len() as u64).to_le_bytes());
    bytes.extend(edges.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

#[test]
fn saleae_channels_are_files_in_one_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = |number: u32| directory.path().join(format!("digital_{number}.bin"));
    std::fs::write(path(0), saleae(-1e-3, 1e-2, &[0.0, 1e-4, 2e-3, 2.1e-3])).unwrap();
    std::fs::write(path(3), saleae(-1e-3, 1e-2, &[0.000_012_5, 1e-4, 2.013e-3, 2.1e-3])).unwrap();
    let of = |number: u32, options: ImportOptions| {
        let options = ImportOptions { path: Some(path(number)), ..options };
        let mut content = Content::open(std::fs::File::open(path(number)).unwrap()).unwrap();
        import(&mut content, "digital", None, &options)
    };
    let run = of(0, named("0", "digital_3.bin")).unwrap().run;
    agrees(series(&run, "0", Interval::Reaction), &[12_500, 13_000]);
    let alone = of(3, ImportOptions::default()).unwrap().run;
    agrees(series(&alone, "3", Interval::High), &[87_500, 87_000]);
    // The file of the answer is not a capture by itself, so that an import of the directory gives one run.
    let error = of(3, named("0", "3")).unwrap_err();
    assert!(matches!(&error, ImportError::OtherChannel(file) if file == "digital_0.bin"), "{error}");
    let error = of(0, named("0", "1")).unwrap_err().to_string();
    assert!(error.contains("the channels are 0, 3"), "{error}");
}

#[test]
fn errors_in_saleae_files_are_reported() {
    let of = |bytes: &[u8]| import_bytes(bytes, "digital_0.bin", None, &ImportOptions::default());
    let whole = saleae(0.0, 1.0, &[0.1, 0.2, 0.3]);
    let cut = of(&whole[..whole.len() - 9]).unwrap().run;
    assert_eq!(cut.progress.state, State::CutShort);
    assert!(
        cut.validity.limits.iter().any(|limit| limit.contains("its header states 3 edges, but it has 1")),
        "{:?}",
        cut.validity
    );
    for (bytes, expected) in [
        (saleae(0.0, 1.0, &[0.1, 0.05]), "edge 2 is before the previous edge"),
        (saleae(0.0, 1.0, &[0.1, 1.5]), "edge 2 is before the previous edge or after the end"),
        (saleae(f64::NAN, 1.0, &[]), "NaN s is not a valid time"),
        (saleae(0.0, 1e300, &[]), "is not a valid time"),
        (saleae(1.0, 0.0, &[]), "it ends before it begins"),
        (whole[..20].to_vec(), "shorter than its header"),
    ] {
        let error = of(&bytes).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(!limits(&of(&whole).unwrap().run).contains("after the last edge"));
    let surplus = of(&[whole.as_slice(), &[7; 13]].concat()).unwrap().run;
    assert_eq!((surplus.progress.state, surplus.series[0].tally.recorded), (State::Complete, 1));
    let told = "the file: 13 bytes follow after the last edge";
    assert!(limits(&surplus).contains(told), "{}", limits(&surplus));
    let mut analog = whole.clone();
    analog[12] = 1;
    assert!(of(&analog).unwrap_err().to_string().contains("analog channel"));
    let mut later = whole;
    later[8] = 9;
    assert!(of(&later).unwrap_err().to_string().contains("version 9"));
}
