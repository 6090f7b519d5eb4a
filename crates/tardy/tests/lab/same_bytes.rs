//! The same bytes every time, and other bytes for anything else.

use std::path::Path;

use tardy_record::Run;
use tardy_record::run::Origin;

use crate::guests;

/// Few cycles: what makes runs differ does so from the first ones on.
const SHORT: [&str; 6] = ["lab-quick", "--kernel", "debian:6.12-rt", "--loops", "300", "--quiet"];

fn short_run(guests: &Path, more: &[&str]) -> Run {
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(guests, "x86_64", "run");
    lab.args(SHORT).args(more).arg("-o").arg(results.path());
    guests::expect_alone(&lab, 0);
    let name = std::fs::read_dir(results.path()).unwrap().flatten().map(|entry| entry.path());
    let run = name.into_iter().find(|path| path.to_string_lossy().ends_with(".run.json")).unwrap();
    guests::run(&run)
}

/// Alone, beside another guest, and with a hog on the CPU.
#[test]
fn a_run_is_the_same_to_the_byte_whatever_else_the_host_does() {
    let Some(guests) = guests::directory() else { return };
    let mut lab = guests::lab(&guests, "x86_64", "verify");
    // Four boots: one alone, two beside each other, one with a hog.
    lab.args(&SHORT[..5]).args(["--rounds", "3"]);
    let shown = guests::said(&guests::expect(lab, 0));
    assert!(shown.contains("4 boots in 3 rounds, the same bytes every time"), "{shown}");
}

/// Loads draw on nothing but the seed.
#[test]
fn every_built_in_load_is_the_same_to_the_byte() {
    let Some(guests) = guests::directory() else { return };
    let place = tempfile::tempdir().unwrap();
    let recipe = place.path().join("loads.toml");
    std::fs::write(&recipe, EVERY_LOAD).unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "verify");
    let results = place.path().join("results");
    lab.arg(&recipe).args(["--kernel", "debian:6.12-rt", "--rounds", "2", "-o"]).arg(&results);
    let shown = guests::said(&guests::expect(lab, 0));
    assert!(shown.contains("3 boots in 2 rounds, the same bytes every time"), "{shown}");
    let run = guests::run(&results.join("debian-6.12-rt.run.json"));
    assert!(run.validity.valid, "{:?}", run.validity);
    assert_eq!(run.loads.len(), 10);
    for part in run.loads.iter().flat_map(|load| &load.parts) {
        assert!(part.done.last() > part.done.first(), "{}", part.name);
    }
}

/// Those that need neither a compiler nor another tool.
const EVERY_LOAD: &str = r#"
about = "Every built-in load in a guest."
[run]
duration = "300ms"
warmup = "100ms"
[timer]
interval = "1ms"
[[phase]]
name = "this machine"
load = ["scheduler:2,3,64", "cpu", "memory:1", "io:/run", "fork", "timers:4", "signals", "ipi"]
[[phase]]
name = "its network"
load = ["net", "ping-flood"]
"#;

#[test]
fn another_seed_and_another_recipe_are_other_runs() {
    let Some(guests) = guests::directory() else { return };
    let readings = |run: &Run| serde_json::to_string(&run.series).unwrap();
    let first = short_run(&guests, &["--load", "none"]);
    let identity = |run: &Run| run.lab.as_ref().unwrap().identity.clone();
    let dithered = ["--load", "none", "--dither", "100us"];
    let seeded = ["--load", "none", "--dither", "100us", "--seed", "7"];
    let (second, third) = (short_run(&guests, &dithered), short_run(&guests, &seeded));
    assert_ne!(identity(&second), identity(&third));
    assert_ne!(readings(&second), readings(&third), "the seed decides the dither");
    assert_ne!(identity(&first), identity(&second));
    its_origin_is_the_hosts(&first);
}

/// What names the host and its time sits apart, and is the host's and not the guest's.
fn its_origin_is_the_hosts(run: &Run) {
    assert!(run.origin.command.iter().any(|word| word == "lab"), "{:?}", run.origin.command);
    assert!(!run.origin.started_at.starts_with("2020"), "{}", run.origin.started_at);
    let hostless = tardy_record::file::to_text(&Run { origin: Origin::default(), ..run.clone() });
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(
        host.trim().len() < 4 || !hostless.contains(host.trim()),
        "the host's name is elsewhere in the run"
    );
}
