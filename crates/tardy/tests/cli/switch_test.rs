//! `tardy tsn test` in network namespaces of this machine, without the shaper, which few kernels have.

use crate::bench::Bench;

#[test]
fn a_switch_is_tested_under_load() {
    let bench = Bench::new();
    let test = ["tsn", "test", "tsn-two-flows", "--netns", "--without-shaper", "--for", "200ms", "-q"];
    let words = [&test[..], &["--load", "cpu", "-o", "loaded.run.json"]].concat();
    let tested = bench.run(&words);
    if tested.err.contains("not permitted") || tested.err.contains("must be root") {
        println!("skipped: {}", tested.err);
        return;
    }
    let run = bench.json("loaded.run.json");
    assert_eq!(run["plan"]["phases"][0]["loads"], serde_json::json!(["cpu"]), "{}", tested.err);
    let done = run["loads"][0]["parts"][0]["done"].as_array().unwrap();
    assert!(done.last().and_then(serde_json::Value::as_u64) > Some(0), "the load worked: {}", tested.out);
    let twice = bench.run(&[&test[..], &["--load", "cpu", "--load", "none"]].concat()).exits(2);
    assert!(twice.err.contains("'none' contradicts another load"), "{}", twice.err);
}
