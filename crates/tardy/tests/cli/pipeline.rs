//! The whole pipeline on a fake probe and fake kernel files: no privileges, no waiting, the same bytes every time.

use crate::bench::{Bench, without_own_cost};
use serde_json::Value;

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-host/tests/kernels/rpi3-4.9-rt");

fn fake<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--fake", "7", "--kernel-root", KERNEL, "--quiet", "-o", output];
    arguments.extend(more);
    arguments
}

#[test]
fn the_summary_of_an_hour_takes_no_time() {
    let bench = Bench::new();
    let printed = bench.run(&fake("a.run.json", &["--duration", "1h", "--limit", "500us"])).exits(3);
    insta::assert_snapshot!(without_own_cost(&printed.out));
}

#[test]
fn rounds_and_methods_are_compared() {
    let bench = Bench::new();
    let wakes = ["--duration", "2s", "--repeat", "3", "--wake", "clock_nanosleep,nanosleep"];
    let printed = bench.run(&fake("a.run.json", &wakes)).exits(0);
    insta::assert_snapshot!(without_own_cost(&printed.out));
}

#[test]
fn runs_with_the_same_seed_differ_in_origin_and_cost_only() {
    let bench = Bench::new();
    let strip = |name: &str| {
        let mut run = bench.json(name);
        let object = run.as_object_mut().unwrap();
        for real in ["origin", "self_cost"] {
            object.remove(real).expect("it is there");
        }
        for watcher in run["environment"]["watchers"].as_array_mut().unwrap() {
            watcher.as_object_mut().unwrap().retain(|key, _| key == "name" || key == "left_out");
        }
        run
    };
    bench.run(&fake("a.run.json", &["--duration", "10s"])).exits(0);
    bench.run(&fake("b.run.json", &["--duration", "10s"])).exits(0);
    let (a, b) = (strip("a.run.json"), strip("b.run.json"));
    assert_eq!(a, b);
    let other =
        ["run", "--fake", "8", "--kernel-root", KERNEL, "--quiet", "--duration", "10s", "-o", "c.run.json"];
    bench.run(&other).exits(0);
    assert_ne!(a, strip("c.run.json"), "another seed is another run");
}

#[test]
fn a_dry_run_prints_the_plan_and_measures_nothing() {
    let bench = Bench::new();
    let arguments =
        fake("a.run.json", &["--dry-run", "--scale", "0.001", "--priority", "80", "--load", "doload"]);
    let mut with_recipe = arguments.clone();
    with_recipe.insert(1, "rpi3-4.9");
    let text = bench.run(&with_recipe).exits(0).out;
    let expected = "\
recipe rpi3-4.9: 100 million cycles at 200 us on every CPU, without load: the Raspberry Pi 3 article on kernel 4.9.
1 phase, about 21s in total, scaled by 0.001; seed 1
CPU 0-1 measured; the supervisor runs on CPU 0
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains(" fifo ") && text.contains("100,000 cycles") && text.contains("doload"), "{text}");
    with_recipe.push("--json");
    let plan: Value = serde_json::from_str(&bench.run(&with_recipe).exits(0).out).unwrap();
    assert_eq!(plan["recipe"], "rpi3-4.9");
    assert_eq!(plan["phases"][0]["span"]["loops"], 100_000);
    assert_eq!(plan["phases"][0]["loads"][0], "doload");
    assert_eq!(plan["phases"][0]["probe"]["threads"][0]["priority"], 80);
    assert!(!bench.path("a.run.json").exists());
}

#[test]
fn a_run_can_be_shown_reported_plotted_and_compared_again() {
    let bench = Bench::new();
    bench.run(&fake("a.run.json", &["--duration", "10s"])).exits(0);
    bench.run(&fake("b.run.json", &["--duration", "10s", "--interval", "1ms"])).exits(0);
    let shown = bench.run(&["show", "a.run.json"]).exits(0).out;
    assert!(shown.starts_with("This is a real-time kernel"), "{shown}");
    let findings: Value =
        serde_json::from_str(&bench.run(&["show", "--json", "a.run.json"]).exits(0).out).unwrap();
    assert_eq!(findings["validity"]["valid"], true);
    bench.run(&["report", "a.run.json", "b.run.json", "-o", "both.html"]).exits(0);
    let html = std::fs::read_to_string(bench.path("both.html")).unwrap();
    assert!(html.contains("<svg") && html.trim_end().ends_with("</html>"), "a whole page with plots");
    bench.run(&["plot", "a.run.json", "-o", "a.svg"]).exits(0);
    assert!(std::fs::read_to_string(bench.path("a.svg")).unwrap().contains("</svg>"));
    let compared = bench.run(&["compare", "a.run.json", "b.run.json"]).exits(1).out;
    assert!(compared.contains("interval: 200us and 1ms") && !compared.contains("p99"), "{compared}");
}

#[test]
fn a_file_name_that_is_not_utf_8_is_accepted() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.run.json");
    let mut command = bench.command(&["run", "--fake", "1", "--duration", "1s", "--quiet", "-o"]);
    let status =
        command.arg(name).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert!(bench.path(".").join(name).exists());
}

#[test]
fn a_report_is_replaced_only_with_force() {
    let bench = Bench::new();
    bench.run(&fake("a.run.json", &["--duration", "1s"])).exits(0);
    bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(0);
    assert!(
        bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(1).err.contains("exists; use --force")
    );
    bench.run(&["report", "a.run.json", "-o", "a.html", "--force"]).exits(0);
}

#[test]
fn a_users_recipe_file_works_like_a_built_in_one() {
    let bench = Bench::new();
    let recipe = "about = \"mine\"\n[run]\nloops = 1000\n[timer]\ninterval = \"1ms\"\n";
    std::fs::write(bench.path("mine.toml"), recipe).unwrap();
    let mut arguments = fake("a.run.json", &[]);
    arguments.insert(1, "mine.toml");
    bench.run(&arguments).exits(0);
    let run = bench.json("a.run.json");
    assert_eq!(run["plan"]["recipe"], "mine");
    assert_eq!(run["progress"]["cycles"], 2000);
}

#[test]
fn help_begins_with_examples_and_man_pages_are_generated_from_it() {
    let bench = Bench::new();
    let help = bench.run(&["--help"]).exits(0).out;
    assert!(help.starts_with("Examples:"), "{help}");
    bench.run(&["__generate", "generated"]).exits(0);
    for name in ["tardy.1", "tardy-run.1", "tardy.bash", "_tardy", "tardy.fish"] {
        assert!(bench.path("generated").join(name).exists(), "{name}");
    }
    let completions = bench.run(&["completions", "bash"]).exits(0).out;
    assert!(completions.contains("--housekeeping-cpu"));
    let page = std::fs::read_to_string(bench.path("generated/tardy-run.1")).unwrap();
    assert!(page.contains("housekeeping\\-cpu"), "the page escapes dashes");
    assert!(!page.contains("kernel\\-root"), "hidden flags stay hidden");
    for name in ["tardy", "tardy-run", "tardy-lab-run", "tardy-tsn-check", "tardy-gpio-list"] {
        let page = std::fs::read_to_string(bench.path(&format!("generated/{name}.1"))).unwrap();
        for section in [".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH \"SEE ALSO\"", ".SH NAME", ".SH SYNOPSIS"]
        {
            assert_eq!(page.matches(section).count(), 1, "{name}: {section}\n{page}");
        }
        assert!(!page.contains(".SH EXTRA"), "{name}");
    }
    assert!(page.contains("tardy(1)") && page.contains("sched(7)"), "{page}");
}
