//! Loads as text: what is parsed, what is refused and why.

use tardy_record::load_spec::{CATALOGUE, CatalogueEntry, LoadSpec, LoadSpecError, LoadTask};

fn parse(text: &str) -> Result<LoadSpec, LoadSpecError> {
    text.parse()
}

#[test]
fn every_form_of_a_load_is_parsed_into_its_tasks() {
    for (text, tasks) in [
        ("none", 0),
        ("doload", 4),
        (" listing ", 1),
        ("sink:10.0.0.1", 1),
        ("sink 10.0.0.1", 1),
        ("cmd: a:b", 1),
        ("scheduler:4,10,64", 1),
        ("memory:64", 1),
        ("ipi", 2),
        ("net:7000", 2),
        ("io:/mnt/card", 1),
        ("ping-flood", 1),
        ("ping-flood-in", 1),
        ("hackbench", 1),
        ("hackbench:-g 2 -l 10", 1),
        ("stress-ng:--cpu 2", 1),
        ("iperf3:-s", 1),
    ] {
        let spec = parse(text).unwrap();
        assert_eq!((spec.text(), spec.tasks().len()), (text.trim(), tasks));
        assert_eq!(parse(&spec.to_string()), Ok(spec), "{text}");
    }
    assert_eq!(parse("cmd: a:b").unwrap().tasks(), [LoadTask::Command { line: "a:b".to_owned() }]);
    assert!(parse("none").unwrap().is_none());
}

#[test]
fn an_unknown_load_is_refused_with_the_loads_that_exist() {
    for text in [
        "",
        "Doload",
        "doload2",
        "doload:",
        "cmds",
        "sinks:a",
        "none:",
        ":",
        "cmd :x",
        "cmd x",
        "cpu:2",
        "cpus",
        "memory:",
        "memory 64",
        "fork:",
        "ipi:1",
        "ping",
        "ping-flood:in",
        "hackbench -g 2",
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains("none, doload,") && error.contains("cmd:COMMAND"), "{text}: {error}");
    }
}

#[test]
fn a_missing_argument_is_refused_with_an_example() {
    for (text, example) in [
        ("cmd:", "cmd:ping"),
        ("cmd:  ", "cmd:ping"),
        ("cmd", "cmd:ping"),
        ("cmd:a\0b", "cmd:ping"),
        ("sink", "sink:10"),
        ("sink:", "sink:10"),
        ("stress-ng", "--cpu 2"),
        ("stress-ng:", "--cpu 2"),
        ("iperf3", "-c 10.0.0.2"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(example), "{text}: {error}");
    }
}

#[test]
fn an_invalid_argument_is_refused_with_the_reason() {
    for (text, reason) in [
        ("scheduler:0", "receivers"),
        ("scheduler:1,20,x", "'x' is not a number"),
        ("memory:0", "MiB"),
        ("memory:lots", "MiB"),
        ("timers:-1", "timers"),
        ("net:http", "not a port"),
        ("io:a\0b", "zero byte"),
        ("stress-ng:--cpu 1 -t 5", "leave out -t"),
        ("iperf3:--bidir", "-c HOST"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, LoadSpecError::Argument { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
}

#[test]
fn a_run_file_keeps_the_text_of_any_load() {
    for text in ["doload", "unknown", "memory:lots", " listing ", "a load of next year:7"] {
        let json = serde_json::to_string(text).unwrap();
        let load: LoadSpec = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&load).unwrap(), json);
        assert_eq!(matches!(load, LoadSpec::Known(_)), text == "doload", "{text}");
    }
}

#[test]
fn loads_and_tasks_have_distinct_names() {
    let words: Vec<&str> = CATALOGUE.iter().map(CatalogueEntry::name).collect();
    // Loads that need an argument.
    let arguments = [("cmd", "ping"), ("sink", "10.0.0.1"), ("stress-ng", "--cpu 2"), ("iperf3", "-s")];
    let example = |entry: &CatalogueEntry| {
        let argument = arguments.iter().find(|(name, _)| *name == entry.name());
        let text =
            argument.map_or_else(|| entry.name().to_owned(), |(name, argument)| format!("{name}:{argument}"));
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    };
    let loads: Vec<LoadSpec> =
        CATALOGUE.iter().filter(|entry| entry.name() != "doload").map(example).collect();
    let tasks: Vec<&str> = loads.iter().flat_map(|load| load.tasks().iter().map(LoadTask::name)).collect();
    for list in [&words, &tasks] {
        let mut unique = list.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), list.len(), "{list:?}");
    }
}
