//! What is made of runs: reports, judgements, figures, tables, exports.

use serde_json::{Value, json};
use tardy_web::{Answer, Options, Session, answer};

use crate::files::{file, run_files};

fn session(names: &[&str]) -> Session {
    let mut session = Session::new();
    for name in names {
        let bytes = file(&format!("examples/{name}.run.json"));
        let added = session.add(&format!("dir/{name}.run.json"), &bytes.as_slice(), &Options::default());
        assert_eq!(added.runs.len(), 1, "{added:?}");
    }
    session
}

fn ask(session: &mut Session, request: Value) -> Result<Answer, String> {
    answer(session, &request.to_string(), &())
}

#[test]
fn a_report_is_that_of_the_command_line() {
    let mut session = session(&["standard", "rt"]);
    let html = ask(&mut session, json!({"do": "report", "runs": [0, 1], "published": []})).unwrap().content;
    let of = |name: &str| tardy_record::file::from_text(&file(&format!("examples/{name}.run.json"))).unwrap();
    let options = tardy_analyse::findings::Options {
        published: tardy_analyse::published::built_in(),
        ..Default::default()
    };
    let expected = tardy_present::report::html(&[&of("standard"), &of("rt")], &options);
    assert!(html == expected.as_bytes());
    let id = "rpi3-4.9-rt-idle";
    let request = json!({"do": "report", "runs": [1], "published": [id]});
    let next_to = String::from_utf8(ask(&mut session, request).unwrap().content).unwrap();
    assert!(next_to.contains(id));
    let text = ask(&mut session, json!({"do": "published", "runs": [1], "published": [id]})).unwrap();
    assert!(text.value["text"].as_str().unwrap().contains("Raspberry"), "{}", text.value["text"]);
}

#[test]
fn requirements_are_judged_as_tardy_gate_does() {
    let mut session = session(&["rt"]);
    let mut judge = |require: &str, form: &str| {
        ask(&mut session, json!({"do": "gate", "runs": [0], "require": require, "form": form}))
    };
    let passed = judge("p99<100us\n--require 'max<10ms'\n", "text").unwrap().value;
    assert_eq!(passed["outcome"], "passed", "{passed}");
    assert_eq!(judge("p99<1us", "text").unwrap().value["outcome"], "failed");
    let rare = judge("P(>1ms)<1e-9", "junit").unwrap().value;
    assert_eq!(rare["outcome"], "inconclusive", "a second cannot show this: {rare}");
    assert!(rare["text"].as_str().unwrap().starts_with("<?xml"));
    assert!(judge("p99", "text").unwrap_err().contains("p99"));
    assert!(judge(" \n", "text").unwrap_err().contains("nothing is required"));
}

#[test]
fn an_invalid_run_never_passes() {
    let bytes = file("crates/tardy/tests/run_files/invalid.run.json");
    let mut session = Session::new();
    session.add("invalid.run.json", &bytes.as_slice(), &Options::default());
    let request = json!({"do": "gate", "runs": [0], "require": "max<1h", "form": "text"});
    assert_eq!(ask(&mut session, request).unwrap().value["outcome"], "invalid");
}

#[test]
fn every_figure_is_drawn_or_has_a_reason() {
    let mut session = session(&["standard", "rt"]);
    let about = ask(&mut session, json!({"do": "about"})).unwrap().value;
    let mut drawn = 0;
    for kind in about["kinds"].as_array().unwrap() {
        for runs in [json!([0]), json!([0, 1])] {
            let mut figure = |data: bool| {
                ask(&mut session, json!({"do": "figure", "runs": runs, "kind": kind, "data": data}))
            };
            match (figure(false), figure(true)) {
                (Ok(svg), Ok(csv)) => {
                    assert!(svg.content.starts_with(b"<svg ") && csv.content.contains(&b'\n'), "{kind}");
                    drawn += 1;
                }
                (Err(reason), Err(same)) => assert!(!reason.is_empty() && reason == same, "{kind}"),
                other => panic!("{kind}: only one of SVG and CSV: {other:?}"),
            }
        }
    }
    assert!(drawn >= 9, "{drawn}");
}

#[test]
fn tables_and_exports_are_written() {
    let mut session = session(&["standard", "rt"]);
    let tables = ask(&mut session, json!({"do": "tables", "runs": [0, 1]})).unwrap().value;
    let tables = tables.as_array().unwrap();
    assert!(
        tables.len() > 5
            && tables
                .iter()
                .any(|one| one["csv"].as_str().unwrap().starts_with("µs,debian:6.12,debian:6.12-rt\n"))
    );
    let about = ask(&mut session, json!({"do": "about"})).unwrap().value;
    for format in about["exports"].as_array().unwrap() {
        let request = json!({"do": "export", "run": 1, "to": format["name"], "unit": "us", "limit": "1ms", "outlier": 1});
        match ask(&mut session, request) {
            Ok(answer) => {
                let files = answer.value["files"].as_array().unwrap();
                let length: u64 = files.iter().map(|file| file["length"].as_u64().unwrap()).sum();
                assert!(length > 0 && length == answer.content.len() as u64, "{format}");
            }
            Err(reason) => assert!(reason.contains("trace"), "{format}: {reason}"),
        }
    }
    let text = ask(&mut session, json!({"do": "run-file", "run": 1})).unwrap().content;
    assert!(tardy_record::file::from_text(&text).is_ok());
}

#[test]
fn every_kind_of_run_has_a_report_and_tables() {
    for (name, bytes) in run_files() {
        let mut session = Session::new();
        if session.add(&name, &bytes.as_slice(), &Options::default()).runs.is_empty() {
            continue;
        }
        let report = ask(&mut session, json!({"do": "report", "runs": [0]})).unwrap();
        assert!(report.content.ends_with(b"</html>\n") || report.content.ends_with(b"</html>"), "{name}");
        assert!(ask(&mut session, json!({"do": "tables", "runs": [0]})).unwrap().value.is_array(), "{name}");
    }
}
