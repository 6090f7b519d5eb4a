//! The wiggle probe on the command line, with synthetic toggles and wake-ups.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tardy_sys::shared_map::{self, SharedMap};

use crate::bench::{Bench, wait_until, without_own_cost};
use crate::killed::{counted_in, kill, map_of};

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-host/tests/kernels/rpi3-4.9-rt");

fn fake<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--fake", "7", "--kernel-root", KERNEL, "--quiet", "-o", output];
    arguments.extend(more);
    arguments
}

fn wiggle<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = fake(output, &["--probe", "gpio-wiggle", "--out", "GPIO17"]);
    arguments.extend(more);
    arguments
}

/// The fake's toggles take 250 ns and its holes come every 125 us and every 4 ms. The article's figures are shown next
/// to them.
#[test]
fn the_fastest_wiggle_shows_its_toggles_and_the_period_of_its_holes() {
    let bench = Bench::new();
    let printed = bench
        .run(&wiggle("a.run.json", &["--wake", "busy", "--duration", "2s", "--report", "a.html"]))
        .exits(0);
    insta::assert_snapshot!(without_own_cost(&printed.out));
    assert!(printed.err.contains("out: gpiochip0:17 (GPIO17), pinctrl-bcm2835: pin 11 of the 40-pin header"));
    let html = fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(html.contains("Duration of a toggle") && html.contains("rpi1-gpio-wiggle-busy"));
    assert!(!html.contains("Latency distribution"));
}

/// However the supervisor and the probe are scheduled, every hole is counted as a toggle, and no hole loses its time.
#[test]
fn the_fastest_wiggle_is_the_same_every_time_and_loses_no_hole() {
    let bench = Bench::new();
    let series = |name: &str| {
        bench.run(&wiggle(name, &["--wake", "busy", "--duration", "2s"])).exits(0);
        bench.json(name)["series"].clone()
    };
    let (a, b) = (series("a.run.json"), series("b.run.json"));
    assert_eq!(a, b);
    let recorded = |index: usize| a[index]["tally"]["recorded"].as_u64().unwrap();
    assert_eq!((a[0]["kind"]["kind"].as_str(), a[1]["kind"]["kind"].as_str()), (Some("edges"), Some("gaps")));
    assert_eq!(a[1]["kind"]["loops"].as_u64(), Some(recorded(0)));
    assert_eq!(a[1]["kind"]["times_lost"].as_u64(), Some(0));
    let threshold_ns = a[1]["kind"]["threshold_ns"].as_i64().unwrap();
    let bins = a[0]["measured"].as_array().unwrap();
    let bin = |bin: &Value, which: usize| bin[which].as_i64().unwrap();
    let holes: i64 = bins.iter().filter(|one| bin(one, 0) >= threshold_ns).map(|one| bin(one, 2)).sum();
    assert_eq!(holes as u64, recorded(1));
    let run = bench.json("a.run.json");
    let schema: Value = serde_json::from_str(&bench.run(&["schema"]).exits(0).out).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&run));
}

/// With an interval it is the timer probe's thread: every deadline is an edge or is counted as missed.
#[test]
fn an_edge_at_each_deadline_is_counted_as_wake_ups_are() {
    let bench = Bench::new();
    let printed = bench.run(&wiggle("a.run.json", &["--interval", "20us", "--duration", "1s"])).exits(0);
    assert!(
        printed.out.contains("gpiochip0:17 through chardev, clock_nanosleep every 20us, SCHED_FIFO 90"),
        "{}",
        printed.out
    );
    let run = bench.json("a.run.json");
    let count = |what: &str| run["series"][0]["tally"][what].as_u64().unwrap();
    assert!(count("missed") > 0, "the fake falls behind now and then");
    assert_eq!((count("recorded") + count("missed"), count("attempted")), (50_000, 50_000));
    assert_eq!(run["plan"]["phases"][0]["probe"]["kind"], "wiggle");
}

/// If the period is shorter than a toggle, periods without a toggle are counted, and the run is valid.
#[test]
fn a_period_shorter_than_a_toggle_is_missed_and_counted() {
    let bench = Bench::new();
    bench
        .run(&wiggle("a.run.json", &["--wake", "busy", "--interval", "1us", "--duration", "100ms"]))
        .exits(0);
    let tally = bench.json("a.run.json")["series"][0]["tally"].clone();
    let count = |what: &str| tally[what].as_u64().unwrap();
    assert!(count("missed") > count("recorded"), "{tally}");
    assert_eq!(count("recorded") + count("missed"), 100_000);
}

/// Parts of a recipe may differ in their timers; a timer in step with the holes that another part found is warned about.
#[test]
fn parts_of_a_recipe_may_have_their_own_timers() {
    let bench = Bench::new();
    let recipe = "about = \"parts\"\npublished = [\"rpi1-gpio-wiggle-busy\", \"rpi1-gpio-wiggle-xenomai-30us\"]\n\
                  [run]\nprobe = \"gpio-wiggle\"\nduration = \"1s\"\n[gpio]\nout = \"GPIO17\"\n\
                  [[phase]]\nname = \"busy\"\ntimer = { wake = [\"busy\"], policy = \"other\" }\n\
                  [[phase]]\nname = \"30 us\"\ntimer = { interval = \"30us\" }\n\
                  [[phase]]\nname = \"25 us\"\nrepeat = 2\ntimer = { interval = \"25us\" }\n";
    fs::write(bench.path("parts.toml"), recipe).unwrap();
    let printed = bench.run(&fake("a.run.json", &["./parts.toml"])).exits(0).out;
    for told in [
        "Phase 1: busy, gpiochip0:17 through chardev, as fast as possible, SCHED_OTHER",
        "Phase 2: 30 us, gpiochip0:17 through chardev, clock_nanosleep every 30us, SCHED_FIFO 90",
        "Phase 4: 25 us, round 2, gpiochip0:17 through chardev, clock_nanosleep every 25us",
        "The timer of 25us is in step with periodic noise: 5 intervals for 1 period of 125.00 us",
        "rpi1-gpio-wiggle-xenomai-30us",
    ] {
        let folded = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(folded.contains(told), "{told}\n{printed}");
    }
    // Options on the command line apply to every part.
    bench.run(&fake("b.run.json", &["./parts.toml", "--interval", "50us", "--repeat", "1"])).exits(0);
    let run = bench.json("b.run.json");
    let phases = run["plan"]["phases"].as_array().unwrap();
    let intervals: Vec<u64> = (phases.iter())
        .map(|phase| phase["probe"]["pace"]["threads"][0]["interval_ns"].as_u64().unwrap())
        .collect();
    assert_eq!(intervals, [50_000; 3]);
}

#[test]
fn a_dry_run_names_the_pin_that_will_be_driven() {
    let bench = Bench::new();
    let dry = fake("a.run.json", &["--probe", "gpio-wiggle", "--out", "WLAN_ON", "--dry-run"]);
    let printed = bench.run(&dry).exits(0);
    assert!(printed.err.contains("out: gpiochip0:28 (WLAN_ON)"), "{}", printed.err);
    assert!(printed.err.contains("warning: gpiochip0:28 is named WLAN_ON"), "{}", printed.err);
    assert!(!bench.path("a.run.json").exists());
}

/// Toggles and holes are both in the map, and so survive.
#[test]
fn after_kill_9_every_toggle_is_still_counted() {
    let bench = Bench::new();
    let arguments = wiggle("a.run.json", &["--wake", "busy", "--duration", "5m"]);
    let mut supervisor = bench.start(&arguments);
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = map_of(&path);
    wait_until("toggles", || SharedMap::open(Path::new(&map)).is_ok() && counted_in(&map) > 100_000);
    // The probe dies with the supervisor.
    kill(supervisor.id());
    supervisor.wait().unwrap();
    wait_until("the map's release", || !shared_map::is_in_use(Path::new(&map)).unwrap());
    let shown = bench.run(&["show", "a.run.json"]).exits(0);
    assert!(shown.out.contains("Cut short") && shown.out.contains("toggles"), "{}", shown.out);
    bench.run(&["recover", "a.run.json"]).exits(0);
    let run = bench.json("a.run.json");
    let kinds = [0, 1].map(|index| run["series"][index]["kind"]["kind"].as_str().unwrap().to_owned());
    assert_eq!(kinds, ["edges", "gaps"]);
    assert!(run["progress"]["cycles"].as_u64().unwrap() > 100_000);
}

/// An echo adds a series of the edges on the wire. With another program (`--by`) it is the only series.
#[test]
fn an_echo_is_a_separate_series() {
    let bench = Bench::new();
    let echo = ["--echo", "GPIO27", "--interval", "100us", "--duration", "1s"];
    let printed = bench.run(&wiggle("a.run.json", &echo)).exits(0);
    assert!(printed.err.contains("echo: gpiochip0:27 (GPIO27)"), "{}", printed.err);
    assert!(printed.out.contains("clock_nanosleep, echo"), "{}", printed.out);
    assert!(!printed.out.contains("rpi1-gpio-wiggle"), "nothing of the kind was published: {}", printed.out);
    let run = bench.json("a.run.json");
    let echo = &run["series"][1];
    assert_eq!((&echo["quantity"], &echo["level"]), (&"spacing".into(), &"irq".into()));
    assert_eq!((&echo["kind"]["seen"]["by"], &echo["kind"]["beside"]), (&"echoed".into(), &true.into()));
    assert_eq!(echo["tally"]["recorded"], 9_999, "between 10,000 edges");
    // The echo does not add to the run's cycles.
    assert_eq!(run["progress"]["cycles"], run["series"][0]["tally"]["attempted"]);

    let by = "python3 'my wiggle.py' --out {line}";
    let printed =
        bench.run(&wiggle("b.run.json", &["--by", by, "--echo", "GPIO27", "--duration", "1s"])).exits(0);
    let folded = printed.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(folded.contains("gpiochip0:17 by python3 my wiggle.py --out gpiochip0:17"), "{}", printed.out);
    let run = bench.json("b.run.json");
    assert_eq!(run["series"].as_array().unwrap().len(), 1);
    assert_eq!(run["series"][0]["kind"]["beside"], Value::Null);
    assert_eq!(run["validity"]["valid"], true, "{}", run["validity"]);
    bench.run(&["report", "b.run.json", "-o", "b.html"]).exits(0);
}

/// The article's recipe runs all its parts, and the summary shows the published results.
#[test]
fn the_recipe_of_the_article_runs() {
    let bench = Bench::new();
    let printed = bench.run(&fake("a.run.json", &["rpi1-wiggle", "--scale", "0.01"])).exits(0).out;
    let run = bench.json("a.run.json");
    let labels: Vec<&str> =
        run["phases"].as_array().unwrap().iter().map(|phase| phase["label"].as_str().unwrap()).collect();
    let compiles = [1, 2, 3].map(|round| format!("20 us, compiles, round {round}"));
    assert_eq!(labels[..4], ["busy", "Python", "20 us, idle", "30 us, idle"]);
    assert_eq!(labels[4..], compiles);
    for told in ["rpi1-gpio-wiggle-busy", "Python, echo", "rpi1-gpio-wiggle-xenomai-20us"] {
        assert!(printed.contains(told), "{told}\n{printed}");
    }
}

/// Runs `examples/wiggle.py` with a fake gpiod module that prints its calls.
fn python(bench: &Bench, gpiod: &str, words: &[&str]) -> std::process::Output {
    fs::create_dir_all(bench.path("modules/gpiod")).unwrap();
    fs::write(bench.path("modules/gpiod/__init__.py"), gpiod).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wiggle.py");
    std::process::Command::new("python3")
        .arg(program)
        .args(words)
        .env("PYTHONPATH", bench.path("modules"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 starts")
}

const GPIOD_2: &str = "
import enum, types

class Value(enum.Enum):
    INACTIVE = 0
    ACTIVE = 1

line = types.SimpleNamespace(Direction=types.SimpleNamespace(OUTPUT='output'), Value=Value)

class LineSettings:
    def __init__(self, direction, output_value):
        self.told = (direction, output_value)

class Request:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        print('released')
    def set_value(self, offset, value):
        print(offset, value.name)

def request_lines(path, consumer, config):
    if path == '/dev/gpiochip9':
        raise OSError('there is none')
    print(path, consumer, {offset: settings.told[1].name for offset, settings in config.items()})
    return Request()
";

#[test]
fn wiggle_py_toggles_its_line_and_releases_it() {
    let bench = Bench::new();
    let output = python(&bench, GPIOD_2, &["--out", "gpiochip0:17", "--period-us", "100", "--edges", "3"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = "/dev/gpiochip0 wiggle.py {17: 'INACTIVE'}\n17 ACTIVE\n17 INACTIVE\n17 ACTIVE\nreleased\n";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
    let output = python(&bench, GPIOD_2, &["--out", "/dev/gpiochip0:4", "--edges", "2"]);
    assert!(output.status.success());
    for (gpiod, words, told) in [
        (GPIOD_2, &["--out", "gpiochip0"][..], "is not a line"),
        (GPIOD_2, &["--out", "gpiochip0:17", "--period-us", "0"], "is not a period"),
        (GPIOD_2, &["--out", "gpiochip9:17"], "/dev/gpiochip9, line 17, is not available: there is none"),
        ("class Chip: pass\n", &["--out", "gpiochip0:17"], "version 1 (Debian 12's python3-libgpiod)"),
        ("raise ImportError\n", &["--out", "gpiochip0:17"], "pip install gpiod"),
    ] {
        let output = python(&bench, gpiod, words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(told), "{told}: {said}");
    }
}
