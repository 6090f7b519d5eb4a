//! `tardy tsn bounds`: its table, its reasons and its exit status.

use std::fs;

use crate::bench::Bench;

const SWITCHES: &str = include_str!("../../../tardy-synthesis/tests/two_switches.toml");

fn json(bench: &Bench, more: &[&str], exit: i32) -> serde_json::Value {
    let printed =
        bench.run(&[&["tsn", "bounds", "./net.toml", "--for", "50ms", "--json"], more].concat()).exits(exit);
    serde_json::from_str(&printed.out).unwrap()
}

#[test]
fn scheduled_flows_keep_their_deadlines_and_unsynchronised_ones_do_not() {
    let bench = Bench::new();
    fs::write(bench.path("file.toml"), SWITCHES).unwrap();
    bench.run(&["tsn", "synthesize", "./file.toml", "-o", "net.toml"]).exits(0);
    let known = json(&bench, &["--mode", "standard", "--ports", "hardware"], 0);
    let any = json(&bench, &["--mode", "standard", "--ports", "hardware", "--any-phase"], 3);
    let flows = |answer: &serde_json::Value| answer["flows"].as_array().unwrap().clone();
    for (known, any) in flows(&known).iter().zip(flows(&any)) {
        if known["deadline_ns"].is_null() {
            continue;
        }
        let ns = |flow: &serde_json::Value, key: &str| flow[key].as_u64().unwrap();
        assert!(ns(known, "simulated_ns") <= ns(known, "delay_ns"), "{known}");
        assert!(ns(known, "delay_ns") <= ns(known, "deadline_ns"), "{known}");
        // Without known phases a frame may miss its window, and a window of exactly one flow's frames may fit none.
        assert!(
            any["delay_ns"].as_u64().is_none_or(|any_ns| ns(known, "delay_ns") < any_ns),
            "{known} {any}"
        );
    }
    let text = bench.run(&["tsn", "bounds", "./net.toml", "--for", "50ms", "--mode", "standard"]);
    assert!(text.out.contains("of 4 flows have a bound") && text.out.contains("torque"), "{}", text.out);
}

#[test]
fn a_flow_without_a_bound_has_a_reason() {
    let bench = Bench::new();
    let printed =
        bench.run(&["tsn", "bounds", "tsn-two-flows", "--mode", "standard", "--for", "50ms"]).exits(0);
    assert!(printed.out.contains("1 of 2 flows have a bound."), "{}", printed.out);
    assert!(printed.out.contains("has no rate"), "{}", printed.out);
}
