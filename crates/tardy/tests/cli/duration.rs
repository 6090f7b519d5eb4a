//! `tardy duration`.

use serde_json::Value;

use crate::bench::Bench;

#[test]
fn the_time_to_measure_is_that_of_the_formula() {
    let bench = Bench::new();
    let json = |words: &[&str]| -> Value {
        let printed = bench.run(&[&["duration", "--json"], words].concat()).exits(0);
        serde_json::from_str(&printed.out).unwrap()
    };
    // research: 3/p at 95 %, 4.6/p at 99 %; with late ones the χ² quantiles.
    let answer = json(&["--probability", "1e-6", "--interval", "1ms"]);
    assert_eq!(answer["wakeups"], 2_995_731);
    assert_eq!(answer["duration_ns"], 2_995_731_000_000u64);
    let plan = bench.run(&["run", "--dry-run", "--json", "--cpus", "0", "--duration", "1s"]).exits(0).out;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let interval = &plan["phases"][0]["probe"]["threads"][0]["interval_ns"];
    assert!(interval.is_u64(), "{plan:#}");
    assert_eq!(json(&[])["interval_ns"], *interval, "the interval of a run without the option");
    let answer = json(&["--probability", "1e-9", "--confidence", "0.99", "--interval", "200us"]);
    assert_eq!(answer["wakeups"].as_f64().map(|n| (n / 1e6).round()), Some(4_605.0));
    let answer = json(&["--late", "3"]);
    assert!((answer["wakeups"].as_f64().unwrap() / 7.7537e6 - 1.0).abs() < 1e-3, "{answer}");
    let text = bench
        .run(&["duration", "--limit", "100us", "--probability", "1e-9", "--interval", "200us"])
        .exits(0)
        .out;
    assert!(text.contains("later than 100us") && text.contains("1 in 1 billion"), "{text}");
    let text = bench.run(&["duration", "--probability", "0.99", "--confidence", "0.999999"]).exits(0).out;
    assert!(text.contains("99.9999 % confidence"), "{text}");
}

#[test]
fn a_comparison_names_the_smallest_difference_that_it_can_show() {
    let bench = Bench::new();
    let text = bench.run(&["duration", "--boots", "3"]).exits(0).out;
    assert!(text.contains("cannot show any difference"), "{text}");
    let of = |boots: &str| -> f64 {
        let printed = bench.run(&["duration", "--json", "--boots", boots]).exits(0).out;
        serde_json::from_str::<Value>(&printed).unwrap()["deviations"].as_f64().unwrap()
    };
    assert!(of("5") > of("10") && of("10") > of("20"));
}

#[test]
fn impossible_questions_are_refused() {
    let bench = Bench::new();
    for (words, part) in [
        (&["--probability", "2"][..], "not a share"),
        (&["--confidence", "100%"], "not a confidence"),
        (&["--probability", "1e-16"], "not a share from 1e-15"),
        (&["--late", "1000000000000000000"], "late: 1000000000000000000 late wake-ups"),
        (&["--boots", "5", "--late", "1"], "cannot be used with"),
    ] {
        let printed = bench.run(&[&["duration"], words].concat()).exits(2);
        assert!(printed.err.contains(part), "{words:?}: {}", printed.err);
    }
}
