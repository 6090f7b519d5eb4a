//! The TSN bench.

use serde_json::{Value, json};
use tardy_web::{Session, answer};

fn ask(request: Value) -> Result<Value, String> {
    answer(&mut Session::new(), &request.to_string(), &()).map(|answer| answer.value)
}

fn example() -> String {
    ask(json!({"do": "example", "name": "tsn-two-flows"})).unwrap()["text"].as_str().unwrap().to_owned()
}

#[test]
fn every_example_is_checked_and_simulated_in_both_models() {
    for name in ask(json!({"do": "about"})).unwrap()["switches"].as_array().unwrap() {
        let text = ask(json!({"do": "example", "name": name})).unwrap()["text"].clone();
        let checked = ask(json!({"do": "check", "text": text, "name": "a.toml"})).unwrap();
        assert!(checked["gates"].as_str().unwrap().starts_with("<svg "), "{name}: {checked}");
        let both = ask(json!({"do": "simulate", "text": text, "name": "a.toml", "talk": "20ms"})).unwrap();
        for mode in ["linux", "standard"] {
            let one = &both[mode];
            assert!(one["error"].is_string() || one["plot"].is_string(), "{name} {mode}: {one}");
            // More bars than the gates alone: the stretches in which frames arrived.
            let bars = |svg: &Value| svg.as_str().unwrap_or_default().matches("class=\"gate s").count();
            assert!(
                one["error"].is_string() || bars(&one["gates"]) > bars(&checked["gates"]),
                "{name} {mode}: {one}"
            );
        }
        assert!(both["standard"]["summary"].is_string(), "{name}: {}", both["standard"]);
    }
}

#[test]
fn a_mistake_and_a_finding_have_their_line() {
    let mistake = example().replace("cycle_time = \"1ms\"", "cicle_time = \"1ms\"");
    let line = mistake.lines().position(|line| line.starts_with("cicle_time")).unwrap() + 1;
    let checked = ask(json!({"do": "check", "text": mistake, "name": "a.toml"})).unwrap();
    assert_eq!(checked["problems"][0]["line"], line, "{checked}");
    assert!(checked["problems"][0]["what"].as_str().unwrap().contains("cycle_time"), "{checked}");
    let short = example().replace("for = \"800us\"", "for = \"1us\"");
    let line = short.lines().position(|line| line.contains("\"1us\"")).unwrap() + 1;
    let checked = ask(json!({"do": "check", "text": short, "name": "a.toml"})).unwrap();
    let findings = checked["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["line"] == line), "{checked}");
}

#[test]
fn the_plan_is_that_of_the_command_line_and_a_link_holds_the_file() {
    let text = example();
    let plan = ask(json!({"do": "plan", "text": text, "switch": "tsn0"})).unwrap();
    assert!(plan["text"].as_str().unwrap().contains("taprio"), "{plan}");
    let link = ask(json!({"do": "share-switch", "text": text, "base": "tardy.html"})).unwrap();
    let back = ask(json!({"do": "open-switch", "link": link["link"]})).unwrap();
    assert_eq!(back["text"], text);
    assert!(
        ask(json!({"do": "plan", "text": "nonsense", "switch": ""})).unwrap_err().starts_with("line 1: ")
    );
    let long = ask(json!({"do": "simulate", "text": text, "name": "a", "talk": "1h"})).unwrap_err();
    assert!(long.contains("give up to 10s"), "{long}");
}

#[test]
fn a_schedule_is_computed_with_its_pictures_and_the_file_that_has_it() {
    let text = include_str!("../../tardy-synthesis/tests/two_switches.toml");
    let value = ask(json!({"do": "synthesize", "text": text})).unwrap();
    assert!(value["summary"].as_str().unwrap().starts_with("Scheduled: 3 of 3 flows"), "{value}");
    assert!(value["remarks"][0].as_str().unwrap().contains("video"), "{value}");
    for picture in value["pictures"].as_array().unwrap() {
        assert!(picture.as_str().is_some_and(|svg| svg.starts_with("<svg ")), "{value}");
    }
    let checked = ask(json!({"do": "check", "text": value["file"], "name": "a.toml"})).unwrap();
    assert!(checked["gates"].is_string(), "{checked}");
    let again = ask(json!({"do": "synthesize", "text": value["file"]})).unwrap();
    assert_eq!(again["file"], value["file"], "the same schedule replaces it");
    let late = text.replacen("deadline = \"100us\"", "deadline = \"1us\"", 1);
    let value = ask(json!({"do": "synthesize", "text": late})).unwrap();
    assert!(
        value["file"].is_null() && value["summary"].as_str().unwrap().contains("No schedule exists"),
        "{value}"
    );
    let error = ask(json!({"do": "synthesize", "text": example()})).unwrap_err();
    assert!(error.contains("no flow to schedule"), "{error}");
}
