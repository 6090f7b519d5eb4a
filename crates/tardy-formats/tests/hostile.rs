//! Files that an enemy wrote, or a disk: whatever is in them, there is an error that says where, or a run that holds.

use std::io::Read;

use proptest::prelude::*;
use tardy_formats::archive::Content;
use tardy_formats::{FORMATS, Format, ImportOptions, Unit, detect, import, import_bytes};
use tardy_record::file;

fn options() -> ImportOptions {
    ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() }
}

/// Imports `bytes`; what comes of it must be a sound run that survives its own file, or an error with words in it.
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

/// Fixtures with the formats that they are in.
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

/// The long fuzzing (`make fuzz`) has a target for each format, named for it.
#[test]
fn every_format_has_a_fuzz_target() {
    for format in FORMATS {
        let path = format!("{}/../../fuzz/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), format.name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(text.contains(&format!("import_as(\"{}\", bytes)", format.name)), "{path}");
    }
}

/// What is put into a file.
#[derive(Clone, Debug)]
enum Wound {
    Flip(u8),
    Cut(usize),
    Double(usize),
    Insert(&'static str),
    End,
}

const POISON: [&str; 16] = [
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

fn wounds() -> impl Strategy<Value = Vec<(usize, Wound)>> {
    let wound = prop_oneof![
        any::<u8>().prop_map(Wound::Flip),
        (1usize..200).prop_map(Wound::Cut),
        (1usize..200).prop_map(Wound::Double),
        (0..POISON.len()).prop_map(|index| Wound::Insert(POISON[index])),
        Just(Wound::End),
    ];
    prop::collection::vec((any::<usize>(), wound), 1..6)
}

fn wounded(bytes: &[u8], wounds: &[(usize, Wound)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, wound) in wounds {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match wound {
            Wound::Flip(with) => bytes[at] ^= with,
            Wound::Cut(length) => drop(bytes.drain(at..(at + length).min(bytes.len()))),
            Wound::Double(length) => {
                let again = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            Wound::Insert(text) => drop(bytes.splice(at..at, text.bytes())),
            Wound::End => bytes.truncate(at),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Each case wounds every fixture, so that every importer has its share.
    #[test]
    fn wounded_files_are_errors_or_runs(wounds in wounds()) {
        for (format, bytes) in fixtures() {
            let bytes = wounded(&bytes, &wounds);
            survives(&bytes, Some(format));
            survives(&bytes, None);
        }
    }

    #[test]
    fn noise_is_no_measurement(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        survives(&bytes, None);
        for format in FORMATS {
            survives(&bytes, Some(format));
        }
    }
}

/// A reader of the same bytes over and over.
struct Endless<'a> {
    head: &'a [u8],
    body: &'a [u8],
    left: usize,
    at: usize,
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
    let reader = Endless { head: head.as_bytes(), body: body.as_bytes(), left: 64 << 20, at: 0 };
    let mut content = Content::open(reader).unwrap();
    import(&mut content, "endless", None, &options()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_line_without_end_is_an_error_that_names_it() {
    let error = of_endless("# Histogram\n000001 000001\n", "7 ");
    assert!(error.contains("line 3") && error.contains("65536 bytes"), "{error}");
    let error = of_endless("       0:       0:      56\n", "7");
    assert!(error.contains("line 2") && error.contains("65536 bytes"), "{error}");
}

#[test]
fn a_document_without_end_is_not_read_to_its_end() {
    let reader = Endless { head: b"{\"rt_test_version:\": \"", body: b"x", left: 300 << 20, at: 0 };
    let mut content = Content::open(reader).unwrap();
    let error = import(&mut content, "endless", None, &options()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("256 MiB"), "{error}");
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{{\"rt_test_version:\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let error = import_bytes(deep.as_bytes(), "deep", None, &options()).unwrap_err().to_string();
    assert!(error.contains("nested"), "{error}");
    let deep = format!("<rteval>{}", "<a>".repeat(100_000));
    let error = import_bytes(deep.as_bytes(), "deep", None, &options()).unwrap_err().to_string();
    assert!(error.contains("nested"), "{error}");
}

/// What fuzzing found, or would have.
#[test]
fn headers_behind_their_rows_are_errors() {
    let rtla =
        "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n0\nIndex   IRQ-000\n1  2\nover: 0\n";
    let oslat = "oslat V 2.40\nCore: 0\n001 (us): 5\nCore: 0 1\nMinimum: 1 1 (us)\nMaximum: 1 1 (us)\n";
    for (text, expected) in [(rtla, "line 4, Index"), (oslat, "line 4, Core")] {
        let error = import_bytes(text.as_bytes(), "x", None, &options()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn counts_that_no_machine_can_make_are_errors() {
    let most = u64::MAX;
    for (text, expected) in [
        (
            format!("# Histogram\n000001 {most}\n000002 {most}\n# Min Latencies: 1\n# Max Latencies: 2\n"),
            "2^64",
        ),
        (format!("# Histogram\n{} 000001\n", 1u64 << 63), "line 2, latency"),
        ("1 1\n999999999999999999 2\n".to_owned(), "longer than any measurement"),
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
