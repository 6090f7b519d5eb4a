//! Run files with numbers that no measurement has: every command refuses them in a line, or shows them, and none is ended by them.

use serde_json::{Value, json};

use crate::bench::Bench;

const RUN_FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run_files");
const PRESENT_RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-present/tests/runs");

/// A change of one value of a run file.
struct Hostile {
    file: &'static str,
    pointer: &'static str,
    value: Value,
}

fn hostile() -> Vec<Hostile> {
    let of = |file, pointer, value| Hostile { file, pointer, value };
    vec![
        of("present/steady", "/progress/measured_ns", json!(u64::MAX)),
        of("lab-causes", "/series/0/kind/causes/cost/traced_ns", json!(i64::MIN)),
        of("present/steady", "/series/0/corrected/0/0", json!(i64::MIN)),
        of("present/steady", "/series/0/max_at_ns", json!(u64::MAX)),
        of("present/rt", "/loads/0/parts/0/done/0", json!(u64::MAX)),
        of("noise", "/series/0/kind/blind_ns", json!(u64::MAX)),
        of("timer-1ms", "/plan/phases/0/span/duration_ns", json!(u64::MAX)),
        of("switch-simulated", "/series/0/kind/frames/reordered", json!(u64::MAX)),
    ]
}

#[test]
fn no_command_is_ended_by_the_numbers_of_a_run_file() {
    let bench = Bench::new();
    for Hostile { file, pointer, value } in hostile() {
        let path = match file.strip_prefix("present/") {
            Some(name) => format!("{PRESENT_RUNS}/{name}.run.json"),
            None => format!("{RUN_FILES}/{file}.run.json"),
        };
        let mut run = crate::bench::json(path.as_ref());
        let place = run.pointer_mut(pointer);
        *place.unwrap_or_else(|| panic!("{file} has no {pointer}")) = value;
        bench.write_run("h.run.json", run);
        let commands: [&[&str]; 8] = [
            &["show", "h.run.json"],
            &["report", "h.run.json", "-o", "h.html", "--force"],
            &["compare", &path, "h.run.json"],
            &["plot", "latency", "h.run.json", "-o", "h.svg", "--force"],
            &["gate", "h.run.json", "--require", "max<1ms"],
            &["history", "h.run.json", &path],
            &["archive", "add", "A", "h.run.json"],
            &["list", "."],
        ];
        for command in commands {
            let printed = bench.run(command);
            let err = &printed.err;
            assert!(printed.code.is_some_and(|code| code != 101), "{command:?} of {pointer}: {err}");
            assert!(!err.contains("panicked") && !err.contains("a fault of tardy"), "{command:?}: {err}");
        }
        let refused = bench.run(&["show", "h.run.json"]).exits(1).err;
        let name = pointer.rsplit('/').find(|part| part.parse::<u32>().is_err()).unwrap();
        assert!(refused.contains(name) && refused.contains("copy it again"), "{pointer}: {refused}");
    }
}
