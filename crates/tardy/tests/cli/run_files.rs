//! Run files of an older build show the same numbers in this one. `tests/run_files/README.md` lists how each was made.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::{Bench, json};

/// Keys whose strings are prose. Their words may change; the numbers in them may not.
const PROSE: [&str; 12] = [
    "base",
    "candidate",
    "headline",
    "limits",
    "meaningless_because",
    "not_comparable_because",
    "paired",
    "remarks",
    "spoilt_by",
    "text",
    "unmatched",
    "what",
];

/// Keys of later builds: whether a flow of a switch held, and its limits; whether CPUs that were late together stopped; whether
/// a run was stationary, what it may not have met, and its tail; what is unknown of both runs.
const ADDED: [&str; 15] = [
    "clustered",
    "counted_ns",
    "declared",
    "episodes",
    "held",
    "inflation",
    "is_late",
    "is_one_stop",
    "judged",
    "limits",
    "stationarity",
    "tails",
    "unknown",
    "unknown_machine",
    "unseen",
];

/// The beginnings of reasons of later builds against a comparison: the CPUs and policies that other tools' files state.
const ADDED_REASONS: [&str; 2] = ["CPUs: ", "policy"];

const PROBES: [&str; 8] = ["foreign", "kernel", "noise", "reaction", "switch", "timer", "tracer", "wiggle"];
const SERIES: [&str; 9] =
    ["capture", "edges", "flow", "foreign", "gaps", "noise", "reaction", "timer", "trace"];
const STATES: [&str; 3] = ["complete", "cut_short", "interrupted"];

/// Rows of facts that were renamed: the old name and the new one.
const RENAMED: [(&str, &str); 2] =
    [("ticks a second", "ticks per second"), ("kernel: ticks a second", "kernel: ticks per second")];

/// Whether the older build wrote a default for a value that the phase does not have: the wake method or the period of a
/// phase in which no thread waits for a timer. The value is `null` now.
fn is_false_default(phase: &serde_json::Map<String, Value>, name: &str, before: &Value) -> bool {
    let waits = matches!(phase.get("probe").and_then(Value::as_str), Some("timer" | "kernel"));
    match name {
        "wake" => !waits && before == "clock_nanosleep",
        "period_ns" => !waits && before == 0,
        _ => false,
    }
}

/// Whether this is the name of a run in a comparison. It was the run's id, and is the name of its file now.
fn is_name_of_a_run(side: &serde_json::Map<String, Value>, name: &str) -> bool {
    name == "name" && side.contains_key("headline") && side.get("name") == side.get("id")
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_files")
}

/// The names of the files that end in `suffix`, without it, in order.
fn names(suffix: &str) -> Vec<String> {
    let entries = fs::read_dir(directory()).expect("the directory of run files");
    let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        files.filter_map(|file| file.strip_suffix(suffix).map(ToOwned::to_owned)).collect();
    names.sort();
    names
}

/// The absolute path of a file in the directory. Tests read these files and never write them.
fn file(name: &str, suffix: &str) -> String {
    directory().join(format!("{name}{suffix}")).into_os_string().into_string().expect("a path in UTF-8")
}

/// The numbers in a text, sorted: words may be put in another order.
fn numbers(text: &str) -> Vec<&str> {
    let mut numbers: Vec<&str> =
        text.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty()).collect();
    numbers.sort_unstable();
    numbers
}

/// Whether a number that was wrong is different in the right way: an end of a confidence interval or a bound is where it was, or
/// farther from the value, since it accounts for values that are not independent.
fn is_mended(key: &str, place: &str, old: &Value, new: &Value) -> bool {
    let is_within =
        |share: f64| old.as_f64().zip(new.as_f64()).is_some_and(|(old, new)| (new / old - 1.0).abs() < share);
    match (key, old.as_i64(), new.as_i64()) {
        ("confidence_lower_ns", Some(old), Some(new)) => new <= old,
        ("confidence_upper_ns", Some(old), Some(new)) => new >= old,
        ("confidence_upper_ns", Some(_), None) => new.is_null(),
        // Jitter and missing pulses of periods are estimated by another method; the periods are the same.
        (
            "jitter_ns" | "missing" | "period_error_ns" | "events" | "length_ns" | "total_ns" | "first_ns"
            | "longest_ns",
            _,
            _,
        ) => {
            (place.contains(".sources[") || place.contains(".period.")) && old.is_number() && new.is_number()
        }
        ("period_ns", _, _) => is_within(1e-5),
        // Values are evenly distributed in their bins, instead of in the middle: where the functions cross, the area is smaller.
        ("wasserstein_ns", _, _) => is_within(2e-2),
        ("share_of_noise" | "share_of_time", _, _) => is_within(1e-2),
        // More of the noise is explained.
        ("rest_share", _, _) => old.as_f64().zip(new.as_f64()).is_some_and(|(old, new)| new <= old * 1.01),
        // A block that has only begun is left out, which can make them a little smaller.
        ("dispersion" | "upper", _, _) => {
            old.as_f64().zip(new.as_f64()).is_some_and(|(old, new)| new >= old * 0.9)
        }
        _ => false,
    }
}

/// Whether a source of noise had a multiple of its true period, so that its events were counted a few times too rarely.
fn had_a_multiple_of_its_period(old: &Value, new: &Value) -> bool {
    let period = |source: &Value| source["period_ns"].as_f64();
    let Some((old, new)) = period(old).zip(period(new)) else { return false };
    let times = old / new;
    times > 1.5 && times < 8.5 && (times - times.round()).abs() < 1e-3
}

/// Whether two numbers differ by no more than the rounding of sums in doubles.
fn is_rounding(old: &serde_json::Number, new: &serde_json::Number) -> bool {
    let of = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::NAN);
    (of(old) / of(new) - 1.0).abs() < 1e-8
}

/// A pair whose unknown conditions are reasons against the comparison, as in older builds, and in their order.
fn with_unknown_conditions(before: &Value, new: &serde_json::Map<String, Value>) -> Value {
    let mut new = new.clone();
    let unknown = new.remove("unknown_conditions").unwrap();
    let old = before["not_comparable_because"].as_array().unwrap();
    let reasons = new["not_comparable_because"].as_array_mut().unwrap();
    reasons.extend(unknown.as_array().unwrap().iter().cloned());
    reasons.sort_by_key(|reason| old.iter().position(|one| one == reason));
    Value::Object(new)
}

/// Adds every difference between `before` and `now` to `differences`. `key` is the name of the field that holds both.
fn compare(before: &Value, now: &Value, key: &str, place: &str, differences: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(_), Value::Object(_))
            if place.contains(".sources[") && had_a_multiple_of_its_period(before, now) => {}
        (Value::Object(_), Value::Object(new)) if new.contains_key("unknown_conditions") => {
            compare(before, &with_unknown_conditions(before, new), key, place, differences);
        }
        (Value::Object(old), Value::Object(new)) => {
            for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
                let inner = format!("{place}.{name}");
                match (old.get(name), new.get(name)) {
                    (Some(before), Some(Value::Null)) if is_false_default(old, name, before) => {}
                    (Some(_), Some(Value::String(_))) if is_name_of_a_run(old, name) => {}
                    (Some(before), Some(now)) => compare(before, now, name, &inner, differences),
                    (Some(_), None) => differences.push(format!("{inner} is gone")),
                    (None, _) if ADDED.contains(&name.as_str()) => {}
                    (None, _) => differences.push(format!("{inner} is new")),
                }
            }
        }
        (Value::Array(old), Value::Array(new))
            if key == "not_comparable_because" && old.len() < new.len() =>
        {
            let is_added = |reason: &Value| {
                let text = reason.as_str().unwrap_or_default();
                ADDED_REASONS.iter().any(|begin| text.starts_with(begin)) && !old.contains(reason)
            };
            let kept: Vec<Value> = new.iter().filter(|reason| !is_added(reason)).cloned().collect();
            match kept.len() == old.len() {
                true => compare(before, &kept.into(), key, place, differences),
                false => differences.push(format!("{place}: {before} became {now}")),
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (before, now)) in old.iter().zip(new).enumerate() {
                compare(before, now, key, &format!("{place}[{index}]"), differences);
            }
        }
        (Value::String(old), Value::String(new)) if RENAMED.contains(&(old, new)) => {}
        (Value::String(old), Value::String(new)) if PROSE.contains(&key) && numbers(old) == numbers(new) => {}
        // Durations are rounded to milliseconds.
        (Value::String(old), Value::String(new))
            if [old, new]
                .iter()
                .all(|reason| reason.starts_with("duration: ") && reason.contains("s and ")) => {}
        _ if is_mended(key, place, before, now) => {}
        // Exact integers are summed now, and rounded once; distances are summed in another order.
        (Value::Number(old), Value::Number(new))
            if ["deviation_ns", "later", "kolmogorov_smirnov"].contains(&key) && is_rounding(old, new) => {}
        _ if before == now => {}
        _ => differences.push(format!("{place}: {before} became {now}")),
    }
}

fn differences(before: &Value, now: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    compare(before, now, "", "", &mut differences);
    differences
}

/// Runs tardy for its JSON and compares that with `NAME.SUFFIX` of the directory.
#[track_caller]
fn assert_same(arguments: &[&str], code: i32, name: &str, suffix: &str) {
    let printed = Bench::new().run(arguments).exits(code);
    let now: Value = serde_json::from_str(&printed.out).expect("JSON on standard output");
    let before = json(Path::new(&file(name, suffix)));
    let differences = differences(&before, &now);
    assert!(differences.is_empty(), "{name}{suffix}:\n{}", differences.join("\n"));
}

#[test]
fn a_run_is_read_from_a_pipe() {
    let bench = Bench::new();
    let path = directory().join("timer.run.json");
    let of_file = bench.run(&["show", &path.display().to_string()]);
    let piped = std::process::Command::new("sh")
        .args(["-c", "cat \"$1\" | \"$2\" show /dev/stdin", "sh"])
        .args([&path, std::path::Path::new(env!("CARGO_BIN_EXE_tardy"))])
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let piped = crate::bench::Printed::from(piped);
    assert_eq!((piped.code, &piped.out, &piped.err), (of_file.code, &of_file.out, &of_file.err));
}

#[test]
fn run_files_of_an_older_build_show_the_same_numbers() {
    let names = names(".run.json");
    assert_eq!(names, self::names(".show.json"), "every run file has its findings");
    for name in &names {
        let run = file(name, ".run.json");
        let content = fs::read(&run).unwrap();
        let valid = json(Path::new(&run))["validity"]["valid"].as_bool().unwrap();
        let is_late = {
            let findings = json(Path::new(&file(name, ".show.json")));
            findings["verdict"]["share_of_limit"].as_f64().is_some_and(|share| share > 1.0)
        };
        let code = match (valid, is_late) {
            (false, _) => 5,
            (true, true) => 3,
            (true, false) => 0,
        };
        assert_same(&["show", "--json", &run], code, name, ".show.json");
        let shown = Bench::new().run(&["show", &run]).exits(code).out;
        assert_eq!(shown.contains("INVALID"), !valid, "{name}: {shown}");
        assert!(content == fs::read(&run).unwrap(), "{name}: showing a sealed run does not write its file");
    }
}

#[test]
fn run_files_of_an_older_build_compare_with_the_same_numbers() {
    let pairs = names(".compare.json");
    assert!(!pairs.is_empty());
    for pair in &pairs {
        let (base, candidate) = pair.split_once("-and-").expect("BASE-and-CANDIDATE");
        let (base, candidate) = (file(base, ".run.json"), file(candidate, ".run.json"));
        assert_same(&["compare", "--json", "--anyway", &base, &candidate], 0, pair, ".compare.json");
    }
}

/// The files contain every kind of measurement, of series and of final state.
#[test]
fn there_is_a_run_file_of_each_kind() {
    let runs: Vec<Value> =
        names(".run.json").iter().map(|name| json(Path::new(&file(name, ".run.json")))).collect();
    let kinds = |list: &str, key: &str| {
        let lists = runs.iter().map(|run| run.pointer(list).and_then(Value::as_array).expect("a list"));
        let mut kinds: Vec<&str> = lists.flatten().map(|one| one[key]["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds("/plan/phases", "probe"), PROBES);
    assert_eq!(kinds("/series", "kind"), SERIES);
    let mut states: Vec<&str> = runs.iter().map(|run| run["progress"]["state"].as_str().unwrap()).collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states, STATES);
}

#[test]
fn changed_numbers_and_keys_are_differences_and_changed_words_of_prose_are_not() {
    let before = serde_json::json!({"text": "1 in 20 is late", "max_ns": 5, "label": "a", "rows": [1, 2]});
    let now = |key: &str, value: Value| {
        let mut now = before.clone();
        now[key] = value;
        differences(&before, &now).len()
    };
    assert_eq!(now("text", "of 20 wake-ups 1 is late".into()), 0);
    assert_eq!(now("text", "1 in 21 is late".into()), 1);
    assert_eq!(now("text", Value::Null), 1);
    assert_eq!(now("max_ns", 6.into()), 1);
    assert_eq!(now("label", "b".into()), 1);
    assert_eq!(now("rows", serde_json::json!([1])), 1);
    assert_eq!(now("more", 1.into()), 1);
}

/// Damaged or edited run files are errors that name the field, and a long text in a file does not make a long error.
#[test]
fn damaged_run_files_are_rejected() {
    let bench = Bench::new();
    let timer = json(&directory().join("timer.run.json"));
    let foreign = json(&directory().join("xenomai-plot.run.json"));
    let max = timer["series"][0]["max_ns"].as_i64().unwrap();
    let recorded = timer["series"][0]["tally"]["recorded"].as_i64().unwrap();
    let changed = |of: &Value, change: &dyn Fn(&mut Value)| {
        let mut run = of.clone();
        change(&mut run);
        run
    };
    let long = "x".repeat(300_000);
    let cases = [
        (changed(&timer, &|run| run["schema_version"] = 0.into()), "schema_version is 0"),
        (
            changed(&timer, &|run| {
                let first = run["series"][0].clone();
                run["series"].as_array_mut().unwrap().push(first);
            }),
            "series[2].label: 'cpu 0' is there more often than it was measured",
        ),
        (
            changed(&foreign, &|run| {
                let first = run["series"][0].clone();
                run["series"].as_array_mut().unwrap().push(first);
            }),
            "series[1].label: 'thread 0' is there",
        ),
        (
            changed(&timer, &|run| run["series"][0]["sum_ns"] = (max * recorded + 1).into()),
            "series[0].sum_ns: the mean of",
        ),
        (
            changed(&timer, &|run| run["series"][0]["block_maxima"]["maxima_ns"][0] = (max + 1).into()),
            "series[0].block_maxima: the highest is",
        ),
        (
            changed(&timer, &|run| {
                run["series"][0]["thresholds"] = serde_json::json!([{
                    "limit_ns": 0, "measured": recorded + 1, "corrected": null, "clusters": 1,
                    "cluster_gap_cycles": 10, "sum_of_squared_block_counts": 0, "blocks": 1,
                    "block_ns": 1_000_000_000
                }]);
            }),
            "series[0].thresholds:",
        ),
        (changed(&timer, &|run| run["series"][0]["counted_ns"] = 0.into()), "series[0].counted_ns: 0, but"),
        (
            changed(&timer, &|run| run["series"][1]["counted_ns"] = u64::MAX.into()),
            "series[1].counted_ns: 18446744073709551615 is beyond",
        ),
        (
            changed(&timer, &|run| run["series"][0]["block_maxima"]["block_ns"] = 0.into()),
            "series[0].block_maxima.block_ns: 0, but there are",
        ),
        (
            changed(&timer, &|run| run["series"][0]["block_maxima"]["block_ns"] = (u64::MAX / 2).into()),
            "series[0].block_maxima.block_ns: 9223372036854775807 is beyond",
        ),
        (
            changed(&timer, &|run| run["series"][0]["slices"][0]["end_ns"] = 0.into()),
            "series[0].slices.end_ns: 0 is before the start,",
        ),
        (
            changed(&timer, &|run| run["series"][0]["thresholds"][0]["block_ns"] = 0.into()),
            "series[0].thresholds.block_ns: 0, but there are",
        ),
        (
            changed(&timer, &|run| {
                run["phases"][0]["start_ns"] = 1.into();
                run["phases"][0]["end_ns"] = 0.into();
            }),
            "phases[0].end_ns: 0 is before the start, 1; the file is damaged or was edited",
        ),
        (
            changed(&timer, &|run| run["phases"][0]["end_ns"] = u64::MAX.into()),
            "phases[0].end_ns: 18446744073709551615 is beyond",
        ),
        (
            changed(&foreign, &|run| run["series"][0]["kind"]["stated_mean_ns"] = 88_003.0.into()),
            "series[0].kind.stated_mean_ns: 88003 is not between",
        ),
        (
            changed(&timer, &|run| {
                run["plan"]["until"] = serde_json::json!({
                    "at": "decided", "limit_ns": 1000, "probability": 1.5, "confidence": 0.95
                });
            }),
            "plan.until.probability: out of range",
        ),
        (
            changed(&timer, &|run| run["plan"]["phases"][0]["probe"]["kind"] = long.as_str().into()),
            "unknown variant",
        ),
        (changed(&timer, &|run| run["series"][0]["kind"]["kind"] = long.as_str().into()), "unknown variant"),
    ];
    for (run, expected) in cases {
        fs::write(bench.path("x.run.json"), run.to_string()).unwrap();
        let shown = bench.run(&["show", "x.run.json"]).exits(1);
        assert!(shown.err.contains(expected) && shown.err.len() < 1000, "{expected}: {:.2000}", shown.err);
    }
    let key = fs::read_to_string(directory().join("timer.run.json")).unwrap();
    let key = key.replacen('{', &format!("{{\"{long}\": 1, \"{long}\": 2, "), 1).replacen(
        "\"progress\"",
        "\"x\"",
        1,
    );
    fs::write(bench.path("x.run.json"), key).unwrap();
    let shown = bench.run(&["show", "x.run.json"]).exits(1);
    assert!(shown.err.len() < 1000, "{:.2000}", shown.err);
    let import = format!(
        r#"{{"rt_test_version:": "2.40", "cmdline:": "oslat", "thread": {{"{long}": {{"{long}": 7}}}}}}"#
    );
    fs::write(bench.path("x.json"), import).unwrap();
    let shown = bench.run(&["import", "x.json"]);
    assert!(shown.code != Some(0) && shown.err.len() < 1000, "{:.2000}", shown.err);
}
