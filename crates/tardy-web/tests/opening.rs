//! Files are opened, or refused with the command line's message and the options that it names.

use serde_json::{Value, json};
use tardy_web::{Options, Session, answer};

use crate::files::{file, fixtures, run_files};

fn unit(unit: &str) -> Options {
    Options { unit: unit.to_owned(), ..Options::default() }
}

#[test]
fn every_fixture_is_read_once_its_unit_is_known() {
    let mut without_unit = 0;
    for (name, bytes) in fixtures() {
        let mut session = Session::new();
        let mut added = session.add(&name, &bytes.as_slice(), &Options::default());
        if let [refusal] = &added.refused[..] {
            assert_eq!(refusal.asks[..1], ["unit"], "{name}: {}", refusal.message);
            without_unit += 1;
            added = session.add(&name, &bytes.as_slice(), &unit("us"));
        }
        assert_eq!((added.runs.len(), added.refused.len()), (1, 0), "{name}: {:?}", added.refused);
        assert!(session.run(added.runs[0].number).is_ok());
    }
    assert!(without_unit > 5, "{without_unit}");
}

#[test]
fn every_run_file_is_opened_as_such() {
    for (name, bytes) in run_files() {
        let added = Session::new().add(&name, &bytes.as_slice(), &Options::default());
        let is_running = String::from_utf8_lossy(&bytes).contains("\"state\":\"running\"");
        match &added.runs[..] {
            [one] => assert_eq!(one.format, "run file", "{name}"),
            _ => assert!(
                is_running && added.refused[0].message.contains("'tardy recover'"),
                "{name}: {added:?}"
            ),
        }
    }
}

#[test]
fn the_samples_take_the_unit_from_the_results_in_their_directory() {
    let mut session = Session::new();
    let samples = file("crates/tardy-formats/tests/fixtures/jitterdebugger-samples.raw");
    let results = file("crates/tardy-formats/tests/fixtures/jitterdebugger-results.json");
    let add =
        |session: &mut Session, name: &str, bytes: &[u8]| session.add(name, &bytes, &Options::default());
    assert_eq!(add(&mut session, "a/samples.raw", &samples).refused[0].asks, ["unit", "command"]);
    assert_eq!(add(&mut session, "a/results.json", &results).runs.len(), 1);
    assert_eq!(add(&mut session, "b/samples.raw", &samples).runs.len(), 0, "another directory");
    assert_eq!(add(&mut session, "a/samples.raw", &samples).runs.len(), 1);
}

#[test]
fn what_is_not_a_measurement_has_a_clear_message() {
    let of = |bytes: &[u8], options: &Options| Session::new().add("file", &bytes, options).refused.remove(0);
    let refusal = of(&[0, 159, 146, 150, 7, 7, 7], &Options::default());
    assert!(refusal.message.starts_with("file has no format that tardy knows"), "{}", refusal.message);
    assert!(refusal.other && refusal.asks == ["as"], "{refusal:?}");
    assert!(of(b" \n", &Options::default()).message.starts_with("file is empty"));
    let text = file("examples/rt.run.json");
    let cut = of(&text[..text.len() / 2], &Options::default());
    assert!(cut.message.contains("truncated at line 1"), "{}", cut.message);
    let newer = String::from_utf8(text).unwrap().replacen("\"schema_version\":1", "\"schema_version\":99", 1);
    let newer = of(newer.as_bytes(), &Options::default());
    assert!(newer.message.contains("written in version 99"), "{}", newer.message);
    let capture = file("crates/tardy-formats/tests/fixtures/capture.vcd");
    let wrong = of(&capture, &Options { out: "nowhere".to_owned(), ..Options::default() });
    assert!(wrong.message.contains("there is no such channel") && wrong.asks.contains(&"out"), "{wrong:?}");
    let format = of(&capture, &Options { r#as: "excel".to_owned(), ..Options::default() });
    assert!(format.message.contains("'excel' is not a format"), "{}", format.message);
}

#[test]
fn a_closed_run_and_a_wrong_request_are_errors() {
    let mut session = Session::new();
    let ask = |session: &mut Session, request: Value| answer(session, &request.to_string(), &()).unwrap_err();
    assert!(ask(&mut session, json!({"do": "run-file", "run": 3})).contains("run 3 is closed"));
    assert!(ask(&mut session, json!({"do": "report", "runs": []})).contains("no run is chosen"));
    assert!(ask(&mut session, json!({"do": "dance"})).contains("the page's request is wrong"));
}

#[test]
fn an_archive_has_several_runs() {
    let name = "crates/tardy-formats/tests/fixtures/cyclictest-2.10.json";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("two.tar");
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = std::process::Command::new("tar")
        .args([
            "-cf",
            path.to_str().unwrap(),
            "-C",
            source.to_str().unwrap(),
            name,
            "examples/rt.run.json",
            "LICENSE-MIT",
        ])
        .status();
    assert!(made.unwrap().success());
    let added = Session::new().add("two.tar", &std::fs::read(path).unwrap().as_slice(), &Options::default());
    let names: Vec<&str> = added.runs.iter().map(|run| run.format).collect();
    assert_eq!(names, ["rt-tests-json", "run file"]);
    assert!(added.refused.iter().all(|refusal| refusal.other) && added.refused.len() == 1, "{added:?}");
}
