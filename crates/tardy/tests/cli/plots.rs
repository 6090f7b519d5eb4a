//! `tardy plot`: kinds, formats, names and data; and runs of many CPUs.

use std::fmt::Write as _;
use std::fs;

use crate::bench::Bench;

fn measured() -> Bench {
    let bench = Bench::new();
    for file in ["a.run.json", "b.run.json"] {
        bench.run(&["run", "-q", "--fake", "2", "--loops", "2000", "--interval", "1ms", "-o", file]).exits(0);
    }
    bench
}

#[test]
fn the_ending_of_the_file_or_the_option_is_the_format() {
    let bench = measured();
    let plot = |arguments: &[&str]| bench.run(&[&["plot", "a.run.json"], arguments].concat()).exits(0);
    plot(&["--kind", "exceedance", "-o", "a.svg"]);
    plot(&["--kind", "timeline", "-o", "a.png", "--scale", "3", "--width", "500"]);
    plot(&["--kind", "heatmap", "-o", "a.pdf"]);
    plot(&["--format", "csv", "-o", "a.data", "--data", "also.csv"]);
    plot(&["--format", "pdf"]);
    let read = |name: &str| fs::read(bench.path(name)).unwrap();
    assert!(read("a.svg").starts_with(b"<svg "));
    let png = read("a.png");
    assert_eq!((&png[1..4], &png[16..20]), (&b"PNG"[..], &1500u32.to_be_bytes()[..]));
    assert!(read("a.pdf").starts_with(b"%PDF-") && read("tardy-plot.pdf").starts_with(b"%PDF-"));
    assert!(read("a.data").starts_with(b"curve,from_ns,to_ns,count\n"));
    assert_eq!(read("a.data"), read("also.csv"));
}

#[test]
fn names_are_those_of_the_command_line() {
    let bench = measured();
    let both = ["a.run.json", "b.run.json", "--kind", "compare", "--name", "before", "--name", "after"];
    bench.run(&[&["plot", "-o", "both.svg"][..], &both].concat()).exits(0);
    let svg = fs::read_to_string(bench.path("both.svg")).unwrap();
    assert!(svg.contains(">before") && svg.contains(">after"), "{svg}");
    bench.run(&["plot", "a.run.json", "--name", "Figure 1", "-o", "one.svg"]).exits(0);
    assert!(fs::read_to_string(bench.path("one.svg")).unwrap().contains(">Figure 1</text>"));
}

#[test]
fn a_mistake_is_reported_with_what_to_do() {
    let bench = measured();
    for (arguments, expected) in [
        (&["a.run.json", "-o", "a.jpg"][..], "end the name with .svg, .png, .pdf or .csv, or give --format"),
        (&["a.run.json", "--name", "x", "--name", "y"], "names: 2, runs: 1; give --name once for each run"),
        (&["a.run.json", "-o", "a.svg", "--data", "a.svg"], "choose another --data"),
    ] {
        let refused = bench.run(&[&["plot"], arguments].concat()).exits(2).err;
        assert!(refused.contains(expected), "{refused}");
    }
    let refused = bench.run(&["plot", "a.run.json", "--kind", "compare"]).exits(1).err;
    assert!(refused.contains("--kind compare draws two or more runs, and one is given"), "{refused}");
    assert!(!bench.path("tardy-plot.svg").exists());
}

/// A histogram of cyclictest with a column for each of 128 CPUs; CPU 62 is the worst.
fn histogram_of_128_cpus() -> String {
    let mut text = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n".to_owned();
    for us in 0..60u64 {
        let count = |cpu: u64| match us {
            3..=9 => 100_000 / (us - 2),
            _ => u64::from(us == 20 + cpu % 9 || (us == 55 && cpu == 62)),
        };
        let _ = writeln!(
            text,
            "{us:06} {}",
            (0..128).map(|cpu| format!("{:06}", count(cpu))).collect::<Vec<_>>().join("\t")
        );
    }
    let total = (3..=9).map(|us| 100_000 / (us - 2)).sum::<u64>() + 1;
    let row = |value: &dyn Fn(u64) -> u64| {
        (0..128).map(|cpu| format!("{:05}", value(cpu))).collect::<Vec<_>>().join(" ")
    };
    let _ = writeln!(text, "# Total: {}", row(&|cpu| total + u64::from(cpu == 62)));
    let _ = writeln!(text, "# Min Latencies: {}", row(&|_| 3));
    let _ = writeln!(text, "# Avg Latencies: {}", row(&|_| 4));
    let _ = writeln!(text, "# Max Latencies: {}", row(&|cpu| if cpu == 62 { 55 } else { 20 + cpu % 9 }));
    let _ = writeln!(text, "# Histogram Overflows: {}", row(&|_| 0));
    text
}

#[test]
fn an_imported_run_of_128_threads_shows_the_worst() {
    let bench = Bench::new();
    fs::write(bench.path("h.txt"), histogram_of_128_cpus()).unwrap();
    bench.run(&["import", "h.txt", "--unit", "us", "-o", "h.run.json"]).exits(0);
    let shown = bench.run(&["show", "h.run.json"]).exits(0).out;
    assert!(shown.contains("118 more") && shown.contains(": worst 20 us to 28 us; "), "{shown}");
    bench.run(&["report", "h.run.json", "-o", "h.html"]).exits(0);
    let page = fs::read_to_string(bench.path("h.html")).unwrap();
    assert!(page.len() < 1_000_000 && page.contains("<details class=\"folded\">"), "{} bytes", page.len());
}

#[test]
fn curves_of_long_names_are_distinct_in_data_and_legend() {
    let bench = Bench::new();
    let names =
        ["board 7, before the new kernel was installed", "board 7, before the new kernel was removed"];
    for (file, name) in ["a.run.json", "b.run.json"].into_iter().zip(names) {
        let measure = ["run", "-q", "--fake", "1", "--loops", "2000", "--interval", "1ms", "-o", file];
        bench.run(&[&measure[..], &["--name", name]].concat()).exits(0);
    }
    let plot = ["plot", "a.run.json", "b.run.json", "-o", "both.svg", "--data", "both.csv"];
    bench.run(&plot).exits(0);
    let data = fs::read_to_string(bench.path("both.csv")).unwrap();
    let svg = fs::read_to_string(bench.path("both.svg")).unwrap();
    for name in names {
        assert!(data.contains(&format!("\n\"{name}\",")), "{data}");
        let tail: String = name.chars().skip(name.chars().count() - 10).collect();
        assert!(svg.contains(&format!("{tail} ")), "{tail}: {svg}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_with_a_remedy() {
    let bench = measured();
    let refused = |arguments: &[&str], status| bench.run(&[&["plot"], arguments].concat()).exits(status).err;
    let short = refused(&["a.run.json", "--x-max", "1ns"], 2);
    assert!(short.contains("give at least 100ns"), "{short}");
    for kind in ["timeline", "heatmap", "distribution", "quantiles", "return-levels", "shift"] {
        let end = refused(&["a.run.json", "--kind", kind, "--x-max", "1ms"], 2);
        assert!(end.contains(&format!("cannot be chosen for --kind {kind}")), "{end}");
    }
    let directory = refused(&["."], 1);
    assert!(directory.contains(". is a directory") && directory.contains("'tardy list .'"), "{directory}");
}
