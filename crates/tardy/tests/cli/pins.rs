//! The reaction probe on the command line, with synthetic edges.

use std::fs;

use crate::bench::{Bench, without_own_cost};

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-host/tests/kernels/rpi3-4.9-rt");

fn fake<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--fake", "7", "--kernel-root", KERNEL, "--probe", "gpio-reaction"];
    arguments.extend(["--in", "GPIO17", "--duration", "3s", "--quiet", "-o", output]);
    if !more.contains(&"--out") {
        arguments.extend(["--out", "gpiochip0:27"]);
    }
    arguments.extend(more);
    arguments
}

#[test]
fn the_summary_shows_every_span_of_each_way() {
    let bench = Bench::new();
    let printed = bench.run(&fake("a.run.json", &["--answer-by", "events,busy"])).exits(0);
    insta::assert_snapshot!(without_own_cost(&printed.out));
    assert!(printed.err.contains("in: gpiochip0:17 (GPIO17), pinctrl-bcm2835: pin 11 of the 40-pin header"));
}

/// The fake probe loses some edges and answers others too late. Each edge is counted once, and equally in every span.
#[test]
fn every_edge_is_counted() {
    let bench = Bench::new();
    bench.run(&fake("a.run.json", &[])).exits(0);
    let run = bench.json("a.run.json");
    let series = run["series"].as_array().unwrap();
    assert_eq!(series.len(), 3);
    for one in series {
        let count = |what: &str| one["tally"][what].as_u64().unwrap();
        assert!(count("missed") > 0 && count("dropped") > 0, "{}", one["tally"]);
        assert_eq!(count("recorded") + count("missed") + count("dropped"), count("attempted"));
        assert_eq!(one["tally"], series[0]["tally"]);
    }
    assert_eq!(run["validity"]["valid"], true, "{}", run["validity"]);
}

#[test]
fn the_report_has_the_spans() {
    let bench = Bench::new();
    bench.run(&fake("a.run.json", &["--report", "a.html"])).exits(0);
    let html = fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(html.contains("From the edge to the answer") && html.contains("edge to running"));
}

/// The pin is named before it is driven, with a warning if its name suggests another purpose.
#[test]
fn a_dry_run_names_the_pins() {
    let bench = Bench::new();
    let printed = bench.run(&fake("a.run.json", &["--out", "WLAN_ON", "--dry-run"])).exits(0);
    assert!(
        printed.err.contains("out: gpiochip0:28 (WLAN_ON), pinctrl-bcm2835: pin unknown"),
        "{}",
        printed.err
    );
    assert!(printed.err.contains("warning: gpiochip0:28 is named WLAN_ON"), "{}", printed.err);
    assert!(!bench.path("a.run.json").exists());
}

/// With tardy's stimulus, every answer method is timed from end to end, and its missed edges are counted.
#[test]
fn a_stimulus_of_its_own_is_timed_from_its_writing_to_its_echo() {
    let bench = Bench::new();
    let own =
        ["--answer-by", "events,sysfs", "--stimulus", "GPIO22", "--echo", "GPIO23", "--stimulus-cpu", "0"];
    let printed = bench.run(&fake("a.run.json", &own)).exits(0);
    insta::assert_snapshot!(without_own_cost(&printed.out));
    assert!(printed.err.contains("stimulus: gpiochip0:22 (GPIO22)"), "{}", printed.err);
    let run = bench.json("a.run.json");
    let series = run["series"].as_array().unwrap();
    assert_eq!(series.len(), 6 + 4, "the spans of both, and an echo each");
    assert!(series.iter().all(|one| one["tally"]["attempted"].as_u64() > Some(0)), "{series:?}");
}

#[test]
fn impossible_options_of_a_stimulus_are_refused() {
    let bench = Bench::new();
    let refused = |more: &[&str], words: &str| {
        let printed = bench.run(&fake("a.run.json", more)).exits(2);
        assert!(printed.err.contains(words), "{more:?}: {}", printed.err);
    };
    refused(&["--echo", "GPIO23"], "name its line with --stimulus");
    refused(&["--stimulus", "GPIO17"], "gpiochip0:17 is already used by another option");
    refused(&["--stimulus", "GPIO22", "--echo", "GPIO22"], "gpiochip0:22 is already used by another option");
    refused(&["--stimulus", "STATUS_LED"], "in use by 'heartbeat'");
    refused(&["--stimulus", "pwmchip0:0", "--echo", "GPIO23"], "an echo cannot be timed");
    refused(&["--stimulus", "pwmchip0:0", "--stimulus-dither", "1us"], "has no dither");
    refused(&["--stimulus", "GPIO22", "--stimulus-period", "10us"], "expected 50us to 1s");
    refused(&["--stimulus", "GPIO22", "--stimulus-dither", "600us"], "more than half of the period");
    refused(
        &["--stimulus", "GPIO22", "--stimulus-cpu", "4711"],
        "CPU 4711 cannot be measured: it does not exist",
    );
}

/// An unanswered edge may have exceeded any limit. Late answers are counted although edges have no schedule.
#[test]
fn a_limit_applies_to_late_and_to_unanswered_edges() {
    let bench = Bench::new();
    for (limit, words, status) in
        [("13us", "were later", 3), ("1ms", "Whether the limit of 1ms was kept is unknown: 12 of", 0)]
    {
        let name = format!("{limit}.run.json");
        let printed = bench.run(&fake(&name, &["--limit", limit, "--thresholds", "12us"])).exits(status);
        let unfolded = printed.out.replace("\n  ", " ");
        assert!(unfolded.contains(words) && unfolded.contains("edges went unanswered"), "{unfolded}");
    }
}
