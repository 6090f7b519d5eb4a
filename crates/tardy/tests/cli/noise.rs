//! The noise probe on the command line: a run, its summary, its report, a comparison, and a run after kill -9.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tardy_sys::shared_map::{self, SharedMap};

use crate::bench::{Bench, wait_until, without_own_cost};
use crate::killed::{counted_in, kill_all, map_of};

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-host/tests/kernels/rpi3-4.9-rt");

fn fake<'a>(seed: &'a str, output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--fake", seed, "--kernel-root", KERNEL, "--quiet", "-o", output];
    arguments.extend(more);
    arguments
}

#[test]
fn the_summary_names_periods_and_causes() {
    let bench = Bench::new();
    let printed = bench
        .run(&fake("7", "a.run.json", &["--probe", "noise", "--duration", "3s", "--cpus", "1"]))
        .exits(0);
    insta::assert_snapshot!(without_own_cost(&printed.out));
}

/// The same seed gives the same gaps in the run file, however the supervisor and the probe are scheduled.
#[test]
fn a_fake_run_is_the_same_every_time_and_holds_more_gaps_than_it_keeps() {
    let bench = Bench::new();
    let series = |name: &str| {
        bench.run(&fake("7", name, &["--probe", "noise", "--duration", "20s"])).exits(0);
        bench.json(name)["series"].clone()
    };
    let (a, b) = (series("a.run.json"), series("b.run.json"));
    assert_eq!(a, b);
    let count = |value: &Value| value.as_array().map_or(0, Vec::len);
    for one in a.as_array().unwrap() {
        let kind = &one["kind"];
        assert_eq!((kind["kind"].as_str(), kind["times_lost"].as_u64()), (Some("gaps"), Some(0)));
        assert_eq!(count(&kind["first"]["length_ns"]), 8192);
        assert_eq!(count(&kind["windows"]), 15);
        assert!(one["tally"]["recorded"].as_u64().unwrap() > 160_000);
    }
}

/// A recipe with a phase of noise and one of a timer. The timer of 1 ms is in step with the fake's tick and USB
/// controller: one warning reports that, with the remedy. With dither there is no warning.
#[test]
fn a_timer_in_step_with_found_noise_is_warned_about_once() {
    let bench = Bench::new();
    let summary = |name: &str, more: &[&str]| {
        let all = [&["noise", "--duration", "3s"], more].concat();
        bench.run(&fake("7", name, &all)).exits(0).out
    };
    let plain = summary("a.run.json", &[]).replace("\n  ", " ");
    assert_eq!(plain.matches("is in step with periodic noise").count(), 1, "{plain}");
    assert!(plain.contains("1 interval for 8 periods of 125.00 us"), "{plain}");
    assert!(plain.contains("4 intervals for 1 period of 4.000 ms"), "{plain}");
    assert!(plain.contains("--dither 900us"), "{plain}");
    let dithered = summary("b.run.json", &["--dither", "900us"]);
    assert!(!dithered.contains("in step"), "{dithered}");
}

#[test]
fn reports_and_comparisons_show_noise() {
    let bench = Bench::new();
    for (seed, name) in [("7", "a.run.json"), ("8", "b.run.json")] {
        bench.run(&fake(seed, name, &["--probe", "noise", "--duration", "2s"])).exits(0);
    }
    let compared = bench.run(&["compare", "a.run.json", "b.run.json"]).exits(0).out;
    assert!(
        compared.contains("candidate, gaps/s") && compared.contains("For a random gap of each run"),
        "{compared}"
    );
    bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(0);
    bench.run(&["report", "a.run.json", "b.run.json", "-o", "both.html"]).exits(0);
    let page = fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("data-kind=\"strip\"") && page.contains("data-kind=\"gaps\""));
    assert!(page.contains("USB micro-frame") && !page.contains("Latency distribution"));
    let both = fs::read_to_string(bench.path("both.html")).unwrap();
    assert!(both.contains(">Noise<"));
    bench.run(&["plot", "a.run.json", "-o", "a.svg"]).exits(0);
}

/// A real measurement: the counts add up, and the file follows the schema.
#[test]
fn a_real_run_adds_up() {
    let bench = Bench::new();
    bench
        .run(&["run", "-q", "--probe", "noise", "--duration", "1s", "--warmup", "100ms", "-o", "a.run.json"])
        .exits(0);
    let run = bench.json("a.run.json");
    for series in run["series"].as_array().unwrap() {
        let number = |key: &str| series["tally"][key].as_u64().unwrap();
        assert_eq!(number("recorded"), number("attempted"));
        let kind = &series["kind"];
        let number = |key: &str| kind[key].as_u64().unwrap();
        let counted = series["counted_ns"].as_u64().unwrap();
        assert!(counted >= 999_000_000, "{counted}");
        let spent = series["sum_ns"].as_u64().unwrap() + number("blind_ns");
        assert!(spent <= counted + counted / 1000, "{spent} of {counted}");
        assert!(number("loops") > 1000 && number("shortest_loop_ps") > 0);
        let rates = [&kind["rate_before_hz"], &kind["rate_whole_hz"]].map(|rate| rate.as_f64().unwrap());
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
    }
    let schema: Value = serde_json::from_str(&bench.run(&["schema"]).exits(0).out).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&run));
}

/// Counts are in the map, and so survive; the times of gaps are those of the last checkpoint.
#[test]
fn after_kill_9_every_gap_is_still_counted() {
    let bench = Bench::new();
    let arguments =
        ["run", "-q", "--probe", "noise", "--duration", "1h", "--warmup", "0s", "-o", "a.run.json"];
    let mut supervisor = bench.start(&arguments);
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = map_of(&path);
    wait_until("gaps", || SharedMap::open(Path::new(&map)).is_ok() && counted_in(&map) > 10);
    kill_all(supervisor.id());
    supervisor.wait().unwrap();
    wait_until("the map's release", || !shared_map::is_in_use(Path::new(&map)).unwrap());
    let counted = counted_in(&map);
    let shown = bench.run(&["show", "a.run.json"]).exits(0);
    assert!(shown.out.contains("Cut short") && shown.out.contains("Noise"), "{}", shown.out);
    bench.run(&["recover", "a.run.json"]).exits(0);
    let run = bench.json("a.run.json");
    assert_eq!(run["progress"]["cycles"].as_u64().unwrap(), counted);
    assert_eq!(run["series"][0]["kind"]["kind"], "gaps");
}

/// Gaps that contradict themselves or exceed a bound are refused when the file is read, with a reason.
#[test]
fn hostile_gaps_are_refused() {
    let bench = Bench::new();
    bench.run(&fake("7", "a.run.json", &["--probe", "noise", "--duration", "1s"])).exits(0);
    let good = bench.json("a.run.json");
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut run = good.clone();
        change(&mut run["series"][0]["kind"]);
        fs::write(bench.path("bad.run.json"), run.to_string()).unwrap();
        let printed = bench.run(&["show", "bad.run.json"]);
        assert_eq!(printed.code, Some(1), "{}", printed.out);
        printed.err
    };
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Value));
    let cases: [Case<'_>; 7] = [
        ("distances for", &|kind| kind["first"]["apart_ns"] = serde_json::json!([0, 1])),
        ("which no measurement exceeds", &|kind| kind["first"]["start_ns"] = u64::MAX.into()),
        ("threshold of 0", &|kind| kind["threshold_ns"] = 0.into()),
        ("not positive", &|kind| kind["rate_before_hz"] = (-1.0).into()),
        ("the maximum is", &|kind| {
            let many = serde_json::json!(vec![1; 9000]);
            kind["first"] = serde_json::json!({"start_ns": 0, "apart_ns": many, "length_ns": many});
        }),
        ("windows; the maximum is 16", &|kind| {
            let window = serde_json::json!({"start_ns": 0, "apart_ns": [], "length_ns": []});
            kind["windows"] = vec![window; 17].into();
        }),
        ("among the longest", &|kind| kind["longest_from_ns"] = 1_000_000_000_000u64.into()),
    ];
    for (expected, change) in cases {
        let err = refused(change);
        assert!(err.contains(expected), "expected '{expected}': {err}");
    }
}
