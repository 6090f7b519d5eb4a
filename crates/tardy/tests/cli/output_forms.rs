//! The forms of output that every command has: JSON on request, ASCII where the locale asks for it, advice after the numbers.

use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Bench, Printed};

#[test]
fn lists_of_formats_are_printed_as_json() {
    let bench = Bench::new();
    for (command, expected) in [("import", "rt-tests-json"), ("export", "openmetrics")] {
        let text = bench.run(&[command, "--list"]).exits(0).out;
        let json = bench.run(&[command, "--list", "--json"]).exits(0).out;
        let formats: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(formats.len(), text.lines().count());
        assert!(
            formats.iter().any(|format| format["name"] == expected && format["about"].is_string()),
            "{json}"
        );
        bench.run(&[command, "a.run.json", "--json"]).exits(2);
    }
}

#[test]
fn a_load_prints_its_work_as_json() {
    let bench = Bench::new();
    let printed = bench.run(&["load", "cpu", "--duration", "200ms", "--json"]).exits(0);
    let loads: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(loads[0]["spec"], "cpu");
    assert!(loads[0]["parts"][0]["done"].as_array().is_some_and(|done| done.len() >= 2), "{loads}");
    assert!(bench.run(&["load", "cpu", "--duration", "200ms"]).exits(0).out.is_empty());
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn commands_that_change_or_write_files_print_their_result_as_json() {
    let bench = Bench::new();
    let measure = ["run", "-q", "--fake", "1", "--loops", "1000", "--interval", "1ms", "-o", "a.run.json"];
    bench.run(&measure).exits(0);
    let named = |name: &str| bench.run(&["name", "a.run.json", name, "--json"]).exits(0);
    assert_eq!(json(&named("one").out), json!({ "file": "a.run.json", "name": "one", "previous": null }));
    let again = named("");
    assert_eq!(json(&again.out), json!({ "file": "a.run.json", "name": null, "previous": "one" }));
    assert!(again.err.is_empty(), "the result is printed once: {}", again.err);

    let recovered = json(&bench.run(&["recover", "--json", "a.run.json", "missing"]).exits(1).out);
    assert_eq!(recovered[0]["file"], "a.run.json");
    assert_eq!((&recovered[0]["outcome"], &recovered[1]["outcome"]), (&json!("unchanged"), &json!("failed")));
    assert!(recovered[1]["message"].as_str().unwrap().contains("missing cannot be read"), "{recovered}");

    let plot = ["plot", "a.run.json", "--json", "--kind", "exceedance", "-o", "a.svg", "--data", "a.csv"];
    let expected = json!({
        "kind": "exceedance", "format": "svg", "plot": "a.svg", "data": "a.csv", "undrawn": []
    });
    assert_eq!(json(&bench.run(&plot).exits(0).out), expected);

    let root = bench.path("root");
    std::fs::create_dir(&root).unwrap();
    let restored = bench.run(&["restore", "--json", "--kernel-root", root.to_str().unwrap()]).exits(0);
    assert_eq!(json(&restored.out), json!({ "entries": [], "trials_removed": false }));
}

#[test]
fn a_switch_that_the_kernel_would_refuse_is_reported_as_json() {
    let bench = Bench::new();
    let switch = include_str!("../../../../recipes/tsn-two-flows.toml");
    std::fs::write(bench.path("refused.toml"), switch.replace("for = \"800us\"", "for = \"1us\"")).unwrap();
    let applied = bench.run(&["tsn", "apply", "./refused.toml", "--json"]).exits(3);
    let answer = json(&applied.out);
    assert_eq!(answer["file"], "./refused.toml");
    let findings = answer["findings"].as_array().unwrap();
    assert!(!findings.is_empty(), "{answer}");
    let checked = json(&bench.run(&["tsn", "check", "./refused.toml", "--json"]).exits(3).out);
    let all = checked["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| all.contains(finding)), "{answer}\n{checked}");
}

/// `apply` reports what the kernel accepts and gets wrong before it changes anything; its interfaces are not on this machine.
#[test]
fn apply_reports_what_the_kernel_gets_wrong_and_refuses_preemption() {
    let bench = Bench::new();
    let switch = include_str!("../../../../recipes/tsn-two-flows.toml").replace("swp", "nowhere");
    let wrong = switch.replace("cycle_time = \"1ms\"", "cycle_time = \"15ms\"");
    std::fs::write(bench.path("wrong.toml"), wrong).unwrap();
    let applied = bench.run(&["tsn", "apply", "./wrong.toml"]).exits(1);
    let report = "tardy: WRONG ./wrong.toml:";
    assert!(applied.err.contains(report), "{}", applied.err);
    assert!(applied.err.contains("[cycle-longer-than-sum]"), "{}", applied.err);
    assert_eq!(applied.out, "");
    let preempts = include_str!("../../../tardy-tsn/tests/switches/inet-frame-preemption.toml");
    std::fs::write(bench.path("preempts.toml"), preempts).unwrap();
    for words in [&["tsn", "apply", "./preempts.toml"][..], &["tsn", "check", "./preempts.toml", "--offline"]]
    {
        let refused = bench.run(words).exits(3);
        assert!(refused.out.contains("[preemption-without-mac-merge]"), "{words:?}: {}", refused.out);
        // Lines are broken where the terminal's width wants it.
        let text = refused.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("tardy does not set up 1 setting"), "{words:?}: {text}");
    }
}

#[test]
fn a_locale_without_utf_8_gets_ascii_and_json_stays_utf_8() {
    let bench = Bench::new();
    std::fs::write(bench.path("own.toml"), "about = \"50 µs\"\n[run]\nduration = \"1s\"\n").unwrap();
    let run = |arguments: &[&str], locale: [&str; 3]| {
        let mut command = bench.command(arguments);
        for (name, value) in ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().zip(locale) {
            command.env(name, value);
        }
        Printed::from(command.output().unwrap())
    };
    run(&["run", "./own.toml", "--fake", "1", "-q", "-o", "a.run.json"], ["C.UTF-8", "", ""]).exits(0);
    let shown = |locale| run(&["show", "a.run.json"], locale).exits(0).out;
    for locale in
        [["C", "C.UTF-8", "C.UTF-8"], ["", "POSIX", "C.UTF-8"], ["", "", "de_DE.ISO-8859-1"], ["", "", ""]]
    {
        let text = shown(locale);
        assert!(text.is_ascii() && text.contains(" |#"), "{locale:?}: {text}");
    }
    let utf8 = shown(["", "", "C.UTF-8"]);
    assert!(utf8.contains('│') && utf8.contains('█'), "{utf8}");
    let dry = ["run", "./own.toml", "--fake", "1", "--dry-run"];
    assert!(run(&dry, ["C", "", ""]).exits(0).out.contains("50 us"));
    assert!(run(&[&dry[..], &["--json"]].concat(), ["C", "", ""]).exits(0).out.contains("50 µs"));
}

/// A user without privileges. `None` if the test cannot become one.
fn without_privileges(bench: &Bench, arguments: &[&str]) -> Option<Printed> {
    let tardy = bench.command(arguments);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]);
    command
        .arg(tardy.get_program())
        .args(tardy.get_args())
        .current_dir(bench.path(""))
        .env("LC_ALL", "C.UTF-8");
    command.output().ok().map(Printed::from)
}

#[test]
fn advice_on_permissions_comes_once_and_after_the_numbers() {
    let bench = Bench::new();
    let arguments = ["run", "--duration", "300ms", "-o", "a.run.json"];
    let Some(printed) = without_privileges(&bench, &arguments) else { return };
    let refusal = "SCHED_FIFO was refused";
    if !printed.err.contains(refusal) {
        // The kernel grants the policy to everyone, or setpriv is not permitted.
        return;
    }
    let folded = printed.out.replace("\n  ", " ");
    assert_eq!(
        format!("{}{folded}", printed.err).matches("; grant it with").count(),
        1,
        "{}{folded}",
        printed.err
    );
    let advice = folded.find("grant it with").expect("the summary has the advice");
    assert!(folded.find("recorded").is_some_and(|numbers| numbers < advice), "{folded}");
    assert_eq!(folded.matches(refusal).count(), 1, "{folded}");
}

#[test]
fn the_recipe_of_kernel_4_14_promises_one_kernel() {
    let bench = Bench::new();
    let plan = bench.run(&["run", "rpi3-4.14", "--fake", "1", "--dry-run"]).exits(0).out;
    assert!(plan.contains("article on kernel 4.14") && !plan.contains("both"), "{plan}");
}
