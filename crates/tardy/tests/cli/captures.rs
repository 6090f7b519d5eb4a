//! Import of logic analysers' captures: channels by name, the summary, and the comparison with published results.

use std::fs;
use std::path::PathBuf;

use crate::bench::Bench;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tardy-formats/tests/fixtures").join(name)
}

fn bench_with(names: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    for (name, to) in names {
        let to = bench.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture(name), to).unwrap();
    }
    bench
}

/// The text without its line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_capture_is_a_run_like_any_other() {
    let bench = bench_with(&[("capture.vcd", "c.vcd"), ("capture.sr", "c.sr")]);
    let import = ["import", "c.vcd", "--in", "stimulus", "--out", "answer", "-o", "vcd.run.json"];
    let told = bench.run(&import).exits(0).err;
    assert!(told.contains("worst 618us"), "{told}");
    bench.run(&["import", "c.sr", "--in", "0", "--out", "1", "-o", "sr.run.json"]).exits(0);
    let shown = words(&bench.run(&["show", "vcd.run.json"]).exits(0).out);
    for expected in [
        "raised to answered on the wire 60 1 31.0",
        "answer has 1 hole, the longest of 877 us.",
        "Times between edges are known to ±1 us: the time scale of the file",
        "Of 60 edges over 61ms under an unknown load, 59 were answered, the latest after 618 us",
    ] {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    // The run is ranked among the articles' oscilloscope readings by its times on the wire.
    let json: serde_json::Value =
        serde_json::from_str(&bench.run(&["show", "--json", "vcd.run.json"]).exits(0).out).unwrap();
    let placed = json["placed"]["rows"].as_array().expect("it has a place");
    assert!(placed.iter().any(|row| row["what"] == "this run"), "{placed:?}");
    assert!(placed.len() > 1, "{placed:?}");
    // The other file has the same signals, sample for sample.
    let compared = bench.run(&["compare", "vcd.run.json", "sr.run.json"]).exits(0).out;
    assert!(compared.contains("distribution functions differ by at most 0"), "{compared}");
    bench.run(&["report", "vcd.run.json", "sr.run.json", "-o", "both.html"]).exits(0);
    bench.run(&["report", "vcd.run.json", "-o", "one.html"]).exits(0);
    let page = fs::read_to_string(bench.path("one.html")).unwrap();
    assert!(
        page.contains("answer has 1 hole") && page.contains("stimulus period"),
        "the channels are in the report"
    );
}

#[test]
fn unknown_channels_and_useless_options_are_refused() {
    let bench = bench_with(&[("capture.vcd", "c.vcd"), ("cyclictest-2.4.json", "c.json")]);
    let refused = bench.run(&["import", "c.vcd", "--in", "D7", "-o", "x.run.json"]).exits(1).err;
    assert!(
        refused.contains("--in D7: there is no such channel; the channels are stimulus, answer"),
        "{refused}"
    );
    let refused = bench.run(&["import", "c.json", "--out", "answer", "-o", "x.run.json"]).exits(2).err;
    assert!(refused.contains("only logic analyser captures have channels"), "{refused}");
    let refused = bench.run(&["import", "c.vcd", "--time-unit", "us", "-o", "x.run.json"]).exits(2).err;
    assert!(refused.contains("c.vcd: line 4 has $timescale 1us; remove it"), "{refused}");
    bench.run(&["import", "c.vcd", "-o", "x.run.json"]).exits(0);
    let shown = words(&bench.run(&["show", "x.run.json"]).exits(0).out);
    assert!(shown.contains("stimulus is taken as the stimulus and answer as the answer"), "{shown}");
}

/// A truncated file is reported at import, not only when the run is shown.
#[test]
fn a_truncated_capture_is_reported() {
    let bench = bench_with(&[("capture.vcd", "c.vcd")]);
    let whole = bench.run(&["import", "c.vcd", "-o", "whole.run.json"]).exits(0).err;
    assert!(!whole.contains("cut short"), "{whole}");
    let text = fs::read_to_string(bench.path("c.vcd")).unwrap();
    // Within the number of the last time stamp.
    fs::write(bench.path("cut.vcd"), &text[..=text.rfind('#').unwrap() + 1]).unwrap();
    let told = bench.run(&["import", "cut.vcd", "-o", "cut.run.json"]).exits(0).err;
    assert!(told.contains("cut.vcd: cut short (the imported file ends in the middle)"), "{told}");
}

/// Saleae's export of two channels is one run.
#[test]
fn a_directory_of_saleae_files_is_one_capture() {
    let names =
        [("saleae-digital-0.bin", "raw/digital_0.bin"), ("saleae-digital-0.bin", "raw/digital_1.bin")];
    let bench = bench_with(&names);
    let told = bench.run(&["import", "raw", "--in", "0", "--out", "1", "-o", "out"]).exits(0).err;
    assert!(told.contains("raw/digital_1.bin: is not the channel with the stimulus"), "{told}");
    assert_eq!(fs::read_dir(bench.path("out")).unwrap().count(), 1);
    let named = bench.run(&["import", "raw/digital_1.bin", "--in", "0", "--out", "1"]).exits(1).err;
    assert!(named.contains("import digital_0.bin from the same directory"), "{named}");
}
