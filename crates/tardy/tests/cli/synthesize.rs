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
    let short = bench.run(&[&TABLES[..], &["--max-entries", "4", "--json"]].concat()).exits(0);
    let json: serde_json::Value = serde_json::from_str(&short.out).unwrap();
    assert_eq!(json["verdict"], "scheduled");
    assert!(json["ports"].as_array().unwrap().iter().all(|port| port["entries"].as_u64().unwrap() <= 4));
    let lines = bench.run(&[&TABLES[..], &["--csv"]].concat()).exits(0);
    assert_eq!(lines.out.lines().count(), 41);
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
