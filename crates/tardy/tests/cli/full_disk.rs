//! A full disk is reported before the measurement. If the disk fills up later, the result is still shown.

use std::fs;
use std::process::Command;

use crate::bench::Bench;

/// Runs `script` with a tmpfs of `size` at ./disk, in a separate mount namespace; `None` if this user may not create
/// one.
pub(crate) fn on_a_small_disk(bench: &Bench, size: &str, script: &str) -> Option<crate::bench::Printed> {
    fs::create_dir(bench.path("disk")).unwrap();
    let script = format!("mount -t tmpfs -o size={size} none disk || exit 77; {script}");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .current_dir(bench.path("."))
        .env("TARDY", env!("CARGO_BIN_EXE_tardy"))
        .env("NO_COLOR", "1")
        .output()
        .ok()?;
    let printed = crate::bench::Printed::from(output);
    let refused = printed.code == Some(77) || printed.err.starts_with("unshare:");
    if refused {
        println!("skipped: a mount namespace takes root ({})", printed.err.trim());
        return None;
    }
    Some(printed)
}

#[test]
fn a_full_disk_is_an_error_before_the_measurement() {
    let bench = Bench::new();
    let script =
        "dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null; exec $TARDY run --duration 1h -o disk/a.run.json";
    let Some(printed) = on_a_small_disk(&bench, "256k", script) else { return };
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.err.contains("disk/a.run.json cannot be written"), "{}", printed.err);
    assert!(printed.err.contains("No space left"), "{}", printed.err);
    assert_eq!(printed.out, "");
}

#[test]
fn a_disk_that_fills_up_does_not_lose_the_result() {
    let bench = Bench::new();
    // The load fills the disk once the measurement has begun and the first checkpoint is written.
    let script = "$TARDY run --duration 2s --warmup 0s --load 'cmd:until test -s disk/a.run.json; do :; done; \
                  dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null; sleep 60' -o disk/a.run.json; status=$?; \
                  rm disk/rest; $TARDY show disk/a.run.json >disk/shown; echo \"then show: $?\"; exit $status";
    let Some(printed) = on_a_small_disk(&bench, "256k", script) else { return };
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("recorded"), "the summary is shown all the same: {}", printed.out);
    assert!(printed.err.contains("The whole run is in /dev/shm/tardy-"), "{}", printed.err);
    assert!(printed.out.contains("then show: 0"), "what was on the disk is still a run: {}", printed.out);
    let rescued = printed.err.split("The whole run is in ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(bench.run(&["show", rescued]).exits(0).out.contains("recorded"));
    fs::remove_file(rescued).unwrap();
}

#[test]
fn a_disk_that_fills_up_loses_neither_the_run_nor_the_words_where_it_is_if_a_report_was_asked_for() {
    let bench = Bench::new();
    let script = "$TARDY run --duration 2s --warmup 0s --report --load 'cmd:until test -s disk/a.run.json; do :; done; \
                  dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null; sleep 60' -o disk/a.run.json";
    let Some(printed) = on_a_small_disk(&bench, "256k", script) else { return };
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(!printed.err.contains("run file disk/a.run.json"), "it does not hold the run: {}", printed.err);
    let rescued = printed.err.split("The whole run is in ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(bench.run(&["show", rescued]).exits(0).out.contains("recorded"));
    fs::remove_file(rescued).unwrap();
    assert!(printed.err.contains("disk/a.html"), "the report is missing, too: {}", printed.err);
}

#[test]
fn a_disk_that_fills_up_with_samples_loses_lines_and_not_the_result() {
    let bench = Bench::new();
    let script = "$TARDY run --duration 3s --warmup 0s -o a.run.json --samples disk/a.csv; status=$?; \
                  cp disk/a.csv .; exit $status";
    let Some(printed) = on_a_small_disk(&bench, "64k", script) else { return };
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert_eq!(printed.err.matches("disk/a.csv can no longer be written (No space left").count(), 1);
    let run = bench.json("a.run.json");
    let count = |key: &str| run["samples"][key].as_u64().unwrap();
    let series = run["series"].as_array().unwrap();
    let recorded: u64 = series.iter().map(|series| series["tally"]["recorded"].as_u64().unwrap()).sum();
    assert_eq!(count("kept") + count("lost"), recorded);
    assert!(count("lost") > 0);
    let text = fs::read_to_string(bench.path("a.csv")).unwrap();
    assert!(text.ends_with('\n'), "the last line is complete");
    assert_eq!(text.lines().count() as u64, 1 + count("kept"));
    assert!(text.lines().all(|line| line.split(',').count() == 5));
    assert!(
        printed.err.contains(&format!("{} kept, {} lost", count("kept"), count("lost"))),
        "{}",
        printed.err
    );
    let warned = |event: &&serde_json::Value| event["kind"] == "warning";
    assert_eq!(run["events"].as_array().unwrap().iter().filter(warned).count(), 1);
    assert!(
        run["validity"]["limits"].to_string().contains("samples are not in disk/a.csv"),
        "{}",
        run["validity"]
    );
}
