//! `tardy tsn simulate` on the article's switch and on random ones.

use std::fs;

use crate::bench::Bench;

#[test]
fn the_articles_switch_holds_its_slots_and_the_run_is_the_same_every_time() {
    let bench = Bench::new();
    let simulate = |output: &str| {
        let words =
            ["tsn", "simulate", "tsn-two-flows", "--for", "100ms", "--talker-jitter", "10us", "-o", output];
        let printed = bench.run(&words).exits(0);
        assert!(printed.out.contains("The slot of blue held"), "{}", printed.out);
        assert!(printed.out.contains("Without the shaper"), "{}", printed.out);
        fs::read(bench.path(output)).unwrap()
    };
    assert_eq!(simulate("one.run.json"), simulate("two.run.json"));
    let series = bench.json("one.run.json")["series"].as_array().unwrap().len();
    assert_eq!(series, 4, "two flows in two phases");
    bench.run(&["show", "one.run.json"]).exits(0);
    bench.run(&["report", "one.run.json", "-o", "one.html"]).exits(0);
}

#[test]
fn every_frame_can_be_written_to_a_file() {
    let bench = Bench::new();
    let words =
        ["tsn", "simulate", "tsn-two-flows", "--for", "10ms", "--queue", "5", "--frames", "frames.csv"];
    bench.run(&words).exits(0);
    let text = fs::read_to_string(bench.path("frames.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("phase,flow,sequence,sent_ns,arrived_ns,wire_bytes,lost"));
    // 1038 bytes at 100 Mbit/s into the switch, and as long out of it.
    assert_eq!(lines.next(), Some("shaped,\"blue\",0,0,166080,1038,"));
    let lines: Vec<&str> = lines.collect();
    let arrived =
        |phase: &str| lines.iter().filter(|line| line.starts_with(phase) && line.ends_with(',')).count();
    // Nine or ten frames in a window of 800 us, two in one of 200 us; without windows one frame every 83 us.
    assert!((60..=120).contains(&arrived("shaped")), "{}", arrived("shaped"));
    assert!((100..=121).contains(&arrived("unshaped")), "{}", arrived("unshaped"));
    let dropped: Vec<&&str> = lines.iter().filter(|line| line.ends_with(",,1038,queue-full")).collect();
    assert!(dropped.len() > 10 && dropped.iter().all(|line| line.starts_with("shaped")), "{dropped:?}");
}

#[test]
fn random_files_are_simulated() {
    let bench = Bench::new();
    for seed in ["1", "2"] {
        let file = bench.run(&["tsn", "generate", "--seed", seed]).exits(0).out;
        fs::write(bench.path("made.toml"), file).unwrap();
        for mode in ["standard", "linux"] {
            let words =
                ["tsn", "simulate", "./made.toml", "--mode", mode, "--ports", "virtual", "--for", "50ms"];
            bench.run(&words).exits(0);
        }
    }
}

#[test]
fn a_plan_that_the_kernel_would_refuse_begins_with_the_reason() {
    let bench = Bench::new();
    let switch = include_str!("../../../../recipes/tsn-two-flows.toml");
    fs::write(bench.path("refused.toml"), switch.replace("for = \"800us\"", "for = \"1us\"")).unwrap();
    let planned = bench.run(&["tsn", "plan", "./refused.toml"]).exits(0);
    let warning = "the kernel would refuse this: ./refused.toml:";
    assert!(planned.err.contains(warning), "{}", planned.err);
    assert!(planned.out.starts_with(&format!("#!/bin/sh\n# {warning}")), "{}", planned.out);
    let sound = bench.run(&["tsn", "plan", "tsn-two-flows"]).exits(0);
    assert!(sound.err.is_empty() && !sound.out.contains("refuse"), "{}", sound.err);
}
