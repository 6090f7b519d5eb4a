//! The output of `--causes`, on a fake probe.

use crate::bench::Bench;

fn traced<'a>(output: &'a str, causes: &'a str) -> Vec<&'a str> {
    vec!["run", "--fake", "3", "--cpus", "0", "--loops", "2000", "--quiet", "-o", output, causes]
}

#[test]
fn the_worst_wake_ups_have_causes_and_the_run_keeps_their_moments() {
    let bench = Bench::new();
    let printed = bench.run(&traced("a.run.json", "--causes")).exits(0).out;
    assert!(printed.contains("worst traced wake-ups"), "{printed}");
    let run = bench.json("a.run.json");
    let worst = run["series"][0]["worst"].as_array().unwrap();
    assert!(worst[0]["moment"]["events"].as_array().unwrap().len() > 3);
    assert_eq!(run["plan"]["phases"][0]["probe"]["causes"]["over_ns"], 0);
    let report = bench.run(&["report", "a.run.json", "-o", "a.html"]);
    report.exits(0);
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("Causes of late wake-ups") && page.contains("after the deadline"));
}

#[test]
fn a_limit_leaves_earlier_wake_ups_out() {
    let bench = Bench::new();
    bench.run(&traced("a.run.json", "--causes=1s")).exits(0);
    let run = bench.json("a.run.json");
    let worst = run["series"][0]["worst"].as_array().unwrap();
    assert!(worst.iter().all(|outlier| outlier.get("moment").is_none()));
}

#[test]
fn a_traced_run_is_not_compared_with_an_untraced_one_unless_asked() {
    let bench = Bench::new();
    bench.run(&traced("a.run.json", "--causes")).exits(0);
    bench.run(&traced("b.run.json", "--causes=off")).exits(0);
    let refused = bench.run(&["compare", "a.run.json", "b.run.json"]).exits(1);
    assert!(refused.err.contains("was traced for causes"), "{}", refused.err);
    assert!(refused.err.contains("a.run.json and b.run.json are not comparable: "), "{}", refused.err);
    for anyway in ["--anyway", "--force"] {
        let compared = bench.run(&["compare", "a.run.json", "b.run.json", anyway]).exits(0);
        assert!(compared.out.contains("NOT COMPARABLE"), "{}", compared.out);
    }
}

#[test]
fn a_traced_wake_up_is_exported_for_trace_viewers() {
    let bench = Bench::new();
    bench.run(&traced("a.run.json", "--causes")).exits(0);
    let export = |more: &[&str]| bench.run(&[&["export", "a.run.json"], more].concat());
    let text = export(&["--to", "ftrace"]).exits(0).out;
    assert!(text.starts_with("# tracer: nop\n") && text.contains(": sched_switch: prev_comm="), "{text}");
    let second = export(&["--to", "ftrace", "--outlier", "2"]).exits(0).out;
    assert_ne!(text, second);
    export(&["--to", "trace.dat", "-o", "a.dat"]).exits(0);
    let file = std::fs::read(bench.path("a.dat")).unwrap();
    assert!(
        file.starts_with(b"\x17\x08\x44tracing6\0") && file.len().is_multiple_of(4096),
        "{} bytes",
        file.len()
    );
    let beyond = export(&["--to", "ftrace", "--outlier", "99"]).exits(1).err;
    assert!(beyond.contains("24 late wake-ups were traced; use --outlier 1 to 24"), "{beyond}");
    let unused = export(&["--to", "csv", "--outlier", "1"]).exits(2).err;
    assert!(unused.contains("csv holds no trace"), "{unused}");
    bench.run(&traced("b.run.json", "--causes=off")).exits(0);
    let untraced = bench.run(&["export", "b.run.json", "--to", "trace.dat", "-o", "b.dat"]).exits(1).err;
    assert!(untraced.contains("measure with --causes"), "{untraced}");
}
