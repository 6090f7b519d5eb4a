//! `tardy show --limit` and `--tail`, and the plots of quantiles and return levels.

use serde_json::Value;

use crate::bench::Bench;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/standard.run.json");
const STEADY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-present/tests/runs/steady.run.json");

#[test]
fn another_limit_is_judged_without_a_new_run() {
    let bench = Bench::new();
    let unfolded = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = unfolded(bench.run(&["show", STEADY, "--limit", "40us"]).exits(0).out);
    assert!(kept.contains("The limit of 40us was kept"), "{kept}");
    assert!(kept.contains("later than 40us under this load, on"), "{kept}");
    let exceeded = unfolded(bench.run(&["show", STEADY, "--limit", "20us"]).exits(3).out);
    assert!(exceeded.contains("The limit of 20us was exceeded"), "{exceeded}");
    assert!(exceeded.contains("maxima of blocks of 100ms"), "{exceeded}");
    let json = bench.run(&["show", STEADY, "--limit", "20us", "--json"]).exits(3).out;
    let found: Value = serde_json::from_str(&json).unwrap();
    let bound = &found["verdict"]["bound"];
    assert_eq!((found["limit_ns"].as_u64(), bound["declared"].as_bool()), (Some(20_000), Some(false)));
    assert!(bound["episodes"]["per_hour_lower"].as_f64() < bound["episodes"]["per_hour"].as_f64());
    assert_eq!(found["stationarity"][0]["stationary"], true);
    // 400 s / 2.996.
    assert_eq!(found["unseen"]["once_per_ns"].as_u64().map(|ns| ns / 100_000_000), Some(1335));
}

#[test]
fn the_tail_has_a_level_or_reasons() {
    let bench = Bench::new();
    let text = bench.run(&["show", STEADY, "--tail"]).exits(0).out;
    assert!(text.contains("once per 10m.") && text.contains("exceeded once per"), "{text}");
    let refused = bench.run(&["show", EXAMPLE, "--tail"]).out;
    assert!(
        refused.contains("No latency beyond this run is predicted: there are too few values"),
        "{refused}"
    );
    let json = bench.run(&["show", STEADY, "--json"]).exits(0).out;
    let found: Value = serde_json::from_str(&json).unwrap();
    let tail = &found["tails"][0];
    let (level, lower, upper) =
        (&tail["next"]["level_ns"], &tail["next"]["lower_ns"], &tail["next"]["upper_ns"]);
    assert!(lower.as_i64() < level.as_i64() && level.as_i64() < upper.as_i64(), "{tail}");
    assert_eq!(tail["maxima"]["method"]["name"], "block_maxima");
    assert_eq!(tail["maxima"]["checks"].as_array().map(Vec::len), Some(16));
    assert!(tail["excesses"]["diagnostics"]["curve"].as_array().is_some_and(|curve| curve.len() > 8));
}

#[test]
fn a_limit_and_a_tail_need_one_run() {
    let bench = Bench::new();
    for option in [&["--tail"][..], &["--limit", "1ms"]] {
        let error = bench.run(&[&["show", "."], option].concat()).exits(2).err;
        let name = option[0].trim_start_matches('-');
        assert!(error.contains(name) && error.contains("give a run file"), "{error}");
    }
}

#[test]
fn quantiles_and_levels_are_plotted() {
    let bench = Bench::new();
    bench.run(&["plot", STEADY, EXAMPLE, "--kind", "quantiles", "-o", "q.csv"]).exits(0);
    let csv = std::fs::read_to_string(bench.path("q.csv")).unwrap();
    assert!(
        csv.starts_with("curve,quantile,from_ns,to_ns,confidence_lower_ns,confidence_upper_ns\nsteady,p50,"),
        "{csv}"
    );
    bench.run(&["plot", STEADY, "--kind", "return-levels", "-o", "l.svg"]).exits(0);
    let refused = bench.run(&["plot", EXAMPLE, "--kind", "return-levels", "-o", "e.svg"]).exits(1).err;
    assert!(refused.contains("No latency beyond this run is predicted"), "{refused}");
    assert!(!bench.path("e.svg").exists());
}
