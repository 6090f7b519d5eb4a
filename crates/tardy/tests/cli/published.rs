//! The published results on the command line: listed, shown, and compared with a run.

use crate::bench::Bench;

#[test]
fn every_result_is_listed_and_shown_with_its_source() {
    let bench = Bench::new();
    let listed = bench.run(&["list", "--published"]).exits(0).out;
    let all: serde_json::Value =
        serde_json::from_str(&bench.run(&["list", "--published", "--json"]).exits(0).out).unwrap();
    let all = all.as_array().unwrap();
    assert!(all.len() >= 31, "{}", all.len());
    for result in all {
        let id = result["id"].as_str().unwrap();
        assert!(listed.lines().any(|line| line.split_whitespace().next() == Some(id)), "{id}");
    }
    // One of each kind, among them a misnamed wake method, Xenomai, pins and a switch.
    for (id, expected) in [
        ("g20-standard-none", "20.5 % of the periods have no sample"),
        ("g20-rt-n", "but its command used clock_nanosleep"),
        ("g20-xenomai-irq", "timer IRQ"),
        ("rpi1-gpio-wiggle-busy", "hole every"),
        ("tsn-switch-two-flows", "cycle"),
        ("rpi3-4.9-standard-idle", "about 500 us"),
    ] {
        let shown = bench.run(&["show", &format!("published:{id}")]).exits(0).out.replace("\n  ", " ");
        assert!(shown.contains(expected) && shown.contains("From \""), "{id}: {shown}");
        assert!(shown.contains("not a bound"), "it states the limits of the result: {shown}");
    }
}

#[test]
fn a_run_is_compared_with_a_result_and_ranked_among_all() {
    let bench = Bench::new();
    let run = ["run", "-q", "--fake", "3", "--loops", "2000", "-o", "a.run.json", "--report"];
    bench.run(&run).exits(0);
    let shown = bench.run(&["compare", "published:rpi3-4.14-rt", "a.run.json"]).exits(0).out;
    assert!(shown.contains("rpi3-4.14-rt") && shown.contains("147"), "{shown}");
    assert!(shown.contains("wake method") && shown.contains("different"), "{shown}");
    let other_way = bench.run(&["compare", "a.run.json", "published:rpi3-4.14-rt"]).exits(0).out;
    assert_eq!(shown, other_way);
    let report = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(
        report.contains("the articles' ") || report.contains("the articles&#x27; "),
        "placed in the report"
    );
    let found = bench.run(&["show", "--json", "a.run.json"]).exits(0).out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let rows = found["placed"]["rows"].as_array().unwrap();
    let highest = |row: &serde_json::Value| {
        row["figures"]["max_us"].as_f64().or_else(|| row["figures"]["max_at_least_us"].as_f64()).unwrap()
    };
    assert_eq!(rows.iter().filter(|row| row["id"].is_null()).count(), 1);
    assert!(rows.windows(2).all(|pair| highest(&pair[0]) <= highest(&pair[1])));
    assert!(rows.iter().any(|row| row["id"] == "g20-rt-n"), "clock_nanosleep's");
    assert!(rows.iter().all(|row| row["id"] != "g20-rt-none"), "not timer_settime's");
}

#[test]
fn an_unknown_id_is_an_error_with_similar_ids() {
    let bench = Bench::new();
    let error = bench.run(&["show", "published:rpi3-4.14"]).exits(1).err;
    assert!(error.contains("rpi3-4.14-rt") && error.contains("tardy list --published"), "{error}");
    let error = bench.run(&["compare", "published:rpi3-4.14-rt", "published:g20-rt-n"]).exits(1).err;
    assert!(error.contains("published results can only be compared with a run"), "{error}");
}

/// If a command needs a run, the error names the command that accepts a published result. A report shows the result
/// next to a run, even if the run's recipe does not repeat it.
#[test]
fn a_published_result_is_not_a_run_but_is_compared_with_one() {
    let bench = Bench::new();
    for words in [&["plot"][..], &["export", "--to", "csv"], &["export", "--to", "json"]] {
        let error = bench.run(&[words, &["published:rpi3-4.14-rt", "-o", "x"]].concat()).exits(1).err;
        assert!(error.contains("tardy report RUN published:rpi3-4.14-rt"), "{error}");
    }
    let error = bench.run(&["report", "published:rpi3-4.14-rt"]).exits(2).err;
    assert!(error.contains("needs at least one run"), "{error}");
    let fixture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-formats/tests/fixtures/cyclictest-2.4-quiet.txt");
    bench.run(&["import", fixture, "--unit", "us", "-o", "x.run.json"]).exits(0);
    bench.run(&["report", "x.run.json", "published:rpi3-4.14-rt", "-o", "x.html"]).exits(0);
    let page = std::fs::read_to_string(bench.path("x.html")).unwrap();
    assert!(page.contains("rpi3-4.14-rt"), "it is shown next to the run");
    let compared =
        bench.run(&["compare", "x.run.json", "published:rpi3-4.14-rt", "published:rpi3-4.9-rt-idle"]);
    let compared = compared.exits(0).out;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let row = compared.lines().map(words).find(|row| row.first().is_some_and(|id| id == "rpi3-4.14-rt"));
    assert_eq!(row.unwrap()[1..], ["147", "2,003", "n/a"], "{compared}");
    // An answer on a pin is not a wake-up.
    bench.run(&["compare", "x.run.json", "published:g45-gpio-rt"]).exits(1);
}

/// An imported run is compared with published results of the same wake method.
#[test]
fn an_imported_run_is_compared_with_a_result() {
    let bench = Bench::new();
    let fixtures = format!("{}/../tardy-formats/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let row = |shown: &str, name: &str| {
        let rows: Vec<&str> = shown.lines().filter(|line| line.trim_start().starts_with(name)).collect();
        assert_eq!(rows.len(), 1, "{name}: {shown}");
        rows[0].split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let import = |file: &str, more: &[&str]| {
        let path = format!("{fixtures}/{file}");
        bench.run(&[&["import", &path, "-o", "a.run.json", "--force"], more].concat()).exits(0);
        let compared = bench.run(&["compare", "published:rpi3-4.14-standard", "a.run.json"]);
        let nothing = compared.out.contains("nothing comparable");
        compared.exits(i32::from(nothing)).out
    };
    // cyclictest's JSON has its command line and its version.
    let shown = import("cyclictest-2.4.json", &[]);
    assert_eq!(row(&shown, "wake method"), "wake method clock_nanosleep clock_nanosleep same");
    assert_eq!(row(&shown, "interval"), "interval 200us 200us same");
    assert!(!shown.contains("nothing comparable") && shown.contains("12,109"), "{shown}");
    let found = bench.json("a.run.json");
    assert_eq!(found["plan"]["phases"][0]["probe"]["wake"], "clock_nanosleep");
    // Its text has neither: they are known only from --command.
    let shown = import("cyclictest-2.4-quiet.txt", &["--command", "cyclictest -m -n -t2 -p90 -i200 -q"]);
    assert_eq!(row(&shown, "wake method"), "wake method clock_nanosleep clock_nanosleep same");
    let shown = import("cyclictest-2.4-quiet.txt", &["--unit", "us"]);
    assert_eq!(row(&shown, "wake method"), "wake method clock_nanosleep not known unknown");
    assert!(!shown.contains("nothing comparable"), "{shown}");
    // Results of another wake method are not compared.
    let shown = import("cyclictest-2.4-quiet.txt", &["--command", "cyclictest -x -t2 -p90 -i200 -q"]);
    assert!(shown.contains("nothing comparable"), "{shown}");
    let shown = import("oslat-2.4.json", &[]);
    assert!(shown.contains("nothing comparable"), "{shown}");
}
