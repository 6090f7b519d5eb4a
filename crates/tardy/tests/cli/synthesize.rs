//! `tardy tsn synthesize`: its verdicts, its files and its errors.

use std::fs;

use crate::bench::Bench;

const TASK: &str = include_str!("../../../tardy-synthesis/tests/tsnkit/5_task.csv");
const TOPOLOGY: &str = include_str!("../../../tardy-synthesis/tests/tsnkit/5_topo.csv");
const SWITCHES: &str = include_str!("../../../tardy-synthesis/tests/two_switches.toml");

fn bench(task: &str) -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("task.csv"), task).unwrap();
    fs::write(bench.path("topo.csv"), TOPOLOGY).unwrap();
    bench
}

const TABLES: [&str; 5] = ["tsn", "synthesize", "--tsnkit", "task.csv", "topo.csv"];

#[test]
fn tables_are_scheduled_and_four_tables_are_written() {
    let bench = bench(TASK);
    let printed = bench.run(&[&TABLES[..], &["-o", "out"]].concat()).exits(0);
    assert!(printed.out.contains("Scheduled: 40 of 40 flows"), "{}", printed.out);
    for table in ["GCL", "OFFSET", "ROUTE", "QUEUE"] {
        assert!(bench.path(&format!("out-{table}.csv")).exists(), "{table}");
    }
    let again = bench.run(&[&TABLES[..], &["-o", "out"]].concat()).exits(1);
    assert!(again.err.contains("out-GCL.csv exists; use --force"), "{}", again.err);
    let few = ["--max-entries", "4", "--best-effort", "0", "--json"];
    let short = bench.run(&[&TABLES[..], &few].concat()).exits(0);
    let json: serde_json::Value = serde_json::from_str(&short.out).unwrap();
    assert_eq!(json["verdict"], "scheduled");
    assert!(json["ports"].as_array().unwrap().iter().all(|port| port["entries"].as_u64().unwrap() <= 4));
    let lines = bench.run(&[&TABLES[..], &["--csv"]].concat()).exits(0);
    assert_eq!(lines.out.lines().count(), 41);
}

#[test]
fn a_deadline_that_ends_before_the_gap_is_met() {
    let bench = Bench::new();
    let text = include_str!("../../../tardy-tsn/tests/switches/gap-within-deadline.toml");
    fs::write(bench.path("net.toml"), text).unwrap();
    let printed = bench.run(&["tsn", "synthesize", "./net.toml", "--json"]).exits(0);
    let json: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(json["placements"][0]["latency_ns"], 115_200);
    assert_eq!(json["verified"]["flows"][0]["simulated_ns"], 115_200);
    fs::write(bench.path("late.toml"), text.replace("120us", "115us")).unwrap();
    let late = bench.run(&["tsn", "synthesize", "./late.toml"]).exits(3);
    assert!(late.out.contains("115200 ns at the earliest"), "{}", late.out);
}

#[test]
fn flows_that_leave_too_little_for_best_effort_are_refused_with_the_share_that_would_do() {
    let bench = Bench::new();
    let text = include_str!("../../../tardy-tsn/tests/switches/inet-gate-scheduling.toml");
    fs::write(bench.path("net.toml"), text).unwrap();
    let words = ["tsn", "synthesize", "./net.toml"];
    let printed = bench.run(&[&words[..], &["-o", "out.toml"]].concat()).exits(3);
    assert!(printed.out.contains("--best-effort is 10 %. --best-effort 0% would do"), "{}", printed.out);
    assert!(!bench.path("out.toml").exists());
    let json = bench.run(&[&words[..], &["--json"]].concat()).exits(3);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["verdict"], &json["starved"]["possible_ppm"]), (&"starved".into(), &0.into()));
    bench.run(&[&words[..], &["--best-effort", "0%", "-o", "out.toml"]].concat()).exits(0);
    for share in ["100%", "1.5", "-1", "much"] {
        let wrong = bench.run(&[&words[..], &[&format!("--best-effort={share}")]].concat()).exits(2);
        assert!(wrong.err.contains("is not a share from 0 to below 100 %"), "{}", wrong.err);
    }
}

#[test]
fn a_switch_file_gets_a_schedule_that_check_accepts_and_the_flows_keep() {
    let bench = Bench::new();
    fs::write(bench.path("net.toml"), SWITCHES).unwrap();
    let printed = bench.run(&["tsn", "synthesize", "./net.toml", "-o", "switches.toml"]).exits(0);
    assert!(printed.out.contains("Scheduled: 3 of 3 flows"), "{}", printed.out);
    assert!(
        printed.err.contains("flow 'video' sends as fast as it can: it is best effort"),
        "{}",
        printed.err
    );
    bench.run(&["tsn", "check", "./switches.toml", "--offline"]).exits(0);
    let simulated = bench.run(&["tsn", "simulate", "./switches.toml", "--for", "100ms", "--with-shaper"]);
    for flow in ["torque", "pressure", "position"] {
        assert!(simulated.out.contains(&format!("The slot of {flow} held")), "{}", simulated.out);
    }
    let itself = bench.run(&["tsn", "synthesize", "./net.toml", "-o", "net.toml", "--force"]).exits(1);
    assert!(itself.err.contains("is read by this command"), "{}", itself.err);
}

#[test]
fn the_answer_has_bounds_and_simulated_maxima_of_every_flow_and_a_page() {
    let bench = Bench::new();
    fs::write(bench.path("net.toml"), SWITCHES).unwrap();
    let words = ["tsn", "synthesize", "./net.toml"];
    let printed = bench.run(&[&words[..], &["--json", "--html", "page.html"]].concat()).exits(0);
    let json: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    let flows = json["verified"]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 4);
    for flow in flows {
        let name = flow["flow"].as_str().unwrap();
        let time = |key: &str| flow[key].as_u64();
        let (simulated, bound) = (time("simulated_ns").unwrap(), time("bound_ns"));
        assert!(bound.is_none_or(|bound| bound >= simulated), "{flow}");
        assert_eq!(time("planned_ns").is_some(), name != "video", "{flow}");
        assert_eq!(bound.is_some(), name != "video", "{flow}");
        assert_eq!(flow["why_no_bound"].is_string(), name == "video", "{flow}");
        assert!(name == "video" || bound <= time("deadline_ns"), "{flow}");
    }
    assert!(
        json["ports"]
            .as_array()
            .unwrap()
            .iter()
            .all(|port| port["best_effort_wait_ns"].as_u64().is_some_and(|ns| ns > 0))
    );
    let text = bench.run(&words).exits(0).out;
    assert!(text.contains("Simulated for 10ms, and bounds by network calculus, with "), "{text}");
    assert!(text.contains("No bound for video: "), "{text}");
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    for part in [
        "net.toml</title>",
        "Frames of 7 links in 1ms",
        "The way of 3 flows",
        "Latency as a share of the deadline",
        "4 flows held.",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let again = bench.run(&[&words[..], &["--html", "page.html"]].concat()).exits(1);
    assert!(again.err.contains("page.html exists; use --force"), "{}", again.err);
    bench.run(&[&words[..], &["--html", "again.html"]].concat()).exits(0);
    assert_eq!(fs::read_to_string(bench.path("again.html")).unwrap(), page, "the same page, byte for byte");
}

#[test]
fn a_schedule_is_extended_and_the_flows_that_stay_are_counted() {
    let bench = Bench::new();
    fs::write(bench.path("net.toml"), SWITCHES).unwrap();
    bench.run(&["tsn", "synthesize", "./net.toml", "-o", "old.toml"]).exits(0);
    let added = "[[flow]]\nname = \"heat\"\ntalker = \"valve\"\nlistener = \"controller\"\nsize = 300\nperiod = \"1ms\"\npcp = 6\nvlan = 5\n";
    let changed = SWITCHES.replacen("name = \"pressure\"", "name = \"level\"", 1) + added;
    fs::write(bench.path("next.toml"), &changed).unwrap();
    let words = ["tsn", "synthesize", "./next.toml", "--keep", "./old.toml"];
    let printed = bench.run(&[&words[..], &["-o", "new.toml"]].concat()).exits(0);
    assert!(
        printed
            .out
            .contains("Kept: 2 of 3 flows of the old schedule. Added: level, heat. Removed: pressure."),
        "{}",
        printed.out
    );
    assert!(printed.out.contains("`tardy tsn apply` replaces "), "{}", printed.out);
    assert!(!printed.out.contains("set again"), "{}", printed.out);
    let offsets = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(bench.path(file)).unwrap();
        let flow = |name: &str| {
            let (_, rest) = text.split_once(&format!("name = \"{name}\"\n")).unwrap();
            rest.lines().next().unwrap().to_owned()
        };
        ["torque", "position"].map(flow).to_vec()
    };
    assert_eq!(offsets("old.toml"), offsets("new.toml"));
    assert!(offsets("new.toml")[0].starts_with("offset = "), "{:?}", offsets("new.toml"));
    let json = bench.run(&[&words[..], &["--json"]].concat()).exits(0);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["kept"]["kept"], 2, "{}", json["kept"]);

    let other = bench.run(&["tsn", "synthesize", "./next.toml", "--keep", "tsn-two-flows"]).exits(2);
    assert!(
        other.err.contains(
            "tsn-two-flows has the schedule of another network than ./next.toml: there is no switch tsn0"
        ),
        "{}",
        other.err
    );
    let itself = bench.run(&[&words[..], &["-o", "old.toml", "--force"]].concat()).exits(1);
    assert!(itself.err.contains("is read by this command"), "{}", itself.err);
}

#[test]
fn a_proof_ends_with_3_and_flows_that_are_left_out_with_4() {
    let header = "stream,src,dst,size,period,deadline,jitter\n";
    let flow = |number: usize, source: usize, bytes: usize, period: u64| {
        format!("{number},{source},[8],{bytes},{period},{period},{period}\n")
    };
    let overloaded: String = (0..9).map(|number| flow(number, 9 + number % 2, 1500, 100_000)).collect();
    let infeasible = bench(&format!("{header}{overloaded}"));
    let printed = infeasible.run(&[&TABLES[..], &["-o", "out"]].concat()).exits(3);
    assert!(printed.out.contains("No schedule exists: link 0→8 is overloaded"), "{}", printed.out);
    assert!(!infeasible.path("out-GCL.csv").exists());

    // Any two periods have a greatest common divisor of 30 us, in which two frames of 12 us have space and three do not.
    let periods = [60_000, 90_000, 150_000];
    let crowded: String =
        periods.iter().enumerate().map(|(number, period)| flow(number, 9 + number, 1500, *period)).collect();
    let undecided = bench(&format!("{header}{crowded}"));
    let printed = undecided.run(&[&TABLES[..], &["--effort", "2", "-o", "out"]].concat()).exits(4);
    assert!(printed.out.contains("Left out: "), "{}", printed.out);
    assert!(printed.out.contains("Effort 2 of 2"), "{}", printed.out);
    assert!(undecided.path("out-GCL.csv").exists());
    let limited = undecided.run(&[&TABLES[..], &["--time-limit", "1ns"]].concat()).exits(4);
    assert!(
        limited.out.contains("--time-limit ended the search, and --effort 1 repeats it"),
        "{}",
        limited.out
    );
}

#[test]
fn invalid_input_ends_with_2_and_names_the_line() {
    let bench = bench(&TASK.replacen("[13]", "[77]", 1));
    let printed = bench.run(&TABLES).exits(2);
    assert!(printed.err.contains("task.csv:2: there is no node 77"), "{}", printed.err);
    let missing = bench.run(&["tsn", "synthesize", "--tsnkit", "task.csv", "none.csv"]).exits(2);
    assert!(missing.err.contains("none.csv: cannot read"), "{}", missing.err);
    bench.run(&["tsn", "synthesize"]).exits(2);
    let best_effort = bench.run(&["tsn", "synthesize", "tsn-two-flows"]).exits(1);
    assert!(best_effort.err.contains("no flow to schedule"), "{}", best_effort.err);
}
