//! What `tardy lab run` shows and records.

use std::process::{Command, Stdio};

use tardy_record::lab::LabClock;
use tardy_record::run::Origin;
use tardy_record::{Knowable, Run};

use crate::{documented, explain, guests};

/// The highest latency of the phase with that label.
pub(crate) fn worst_ns(run: &Run, label: &str) -> i64 {
    let phase = run.phases.iter().position(|phase| phase.label == label).expect("the phase is there");
    run.series.iter().filter(|series| series.phase == phase).filter_map(|series| series.max_ns).max().unwrap()
}

/// Cycles of each phase of the rounds, whose load lacks the network part of README's: that takes three times as long as all the rest.
const LOOPS: u64 = 300;

/// The articles' experiment without a board, as README has it. Its figures are README's if the identity is the same.
#[test]
#[ignore = "takes a minute; a part of long-tests"]
fn long_the_articles_experiment_has_readmes_figures() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.arg("-o").arg(results.path());
    guests::expect_alone(&lab, 0);
    let [standard, real_time] = ["debian-6.12", "debian-6.12-rt"]
        .map(|kernel| guests::run(&results.path().join(format!("{kernel}.run.json"))));
    for run in [&standard, &real_time] {
        is_measured(run, [1000, 8000]);
        documented::check(run);
    }
    assert!(worst_ns(&real_time, "loaded") < worst_ns(&standard, "loaded"));
}

/// Asserts that a run in the guest's own time has these cycles, idle and under load.
fn is_measured(run: &Run, cycles: [u64; 2]) {
    assert!(run.validity.valid, "{:?}", run.validity);
    let lab = run.lab.as_ref().unwrap();
    assert_eq!(lab.clock, LabClock::Instructions { shift: 1 });
    assert!(lab.settled.quiet, "{:?}", lab.settled);
    assert!(lab.kernel.package.as_ref().is_some_and(|package| package.contains("6.12")));
    let attempted: Vec<_> = run.series.iter().map(|series| series.tally.attempted).collect();
    assert_eq!(attempted, cycles.map(Knowable::Known));
    // Without load the worst is a tick of the kernel that comes while it switches, if a wake-up meets one.
    let (idle, loaded) = (worst_ns(run, "idle"), worst_ns(run, "loaded"));
    assert!(idle < loaded * 3 / 2, "the watchers delay the probe: {idle} ns idle, {loaded} ns loaded");
    its_origin_is_the_hosts(run);
}

/// Asserts that the host and its time are in the origin only, and the guest's are not there.
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

/// The board of two of the articles.
#[test]
fn an_emulated_raspberry_pi_3_boots_and_measures() {
    let Some(guests) = guests::directory() else { return };
    if !guests.join("tardy-guest-aarch64").is_file() {
        return eprintln!(
            "skipped: there is no tardy for arm64 guests here; `make guests` prints the reason"
        );
    }
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "aarch64", "run");
    // The recipe's second of warm-up in each phase would take three quarters of the guest's time.
    lab.args(["lab-rpi3", "--kernel", "debian:6.1-rt", "--loops", "500", "--warmup", "100ms", "-o"])
        .arg(results.path());
    guests::expect_alone(&lab, 0);
    let run = guests::run(&results.path().join("debian-6.1-rt.run.json"));
    assert!(run.validity.valid, "{:?}", run.validity);
    assert_eq!(run.lab.as_ref().unwrap().machine, "raspi3b");
    assert_eq!(run.facts.machine.board.get().map(String::as_str), Some("Raspberry Pi 3 Model B"));
    assert_eq!(run.series.len(), 2);
}

/// Boots of one kernel differ as boots of a machine do: each has its own seed, and begins at another time. Standard error is closed, which
/// must not end a run.
#[test]
fn rounds_compare_kernels_idle_and_under_load_over_boots_with_seeds_of_their_own() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["lab-quick", "--loops", &LOOPS.to_string(), "--rounds", "2", "-o"]).arg(results.path());
    let shown = {
        let turn = guests::Turn::on_one(1);
        let mut tardy = turn.pinned(&lab).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        drop(tardy.stderr.take());
        guests::text_of(&tardy.wait_with_output().unwrap())
    };
    assert!(shown.contains("Too few boots: with 2 against 2"), "{shown}");
    assert!(shown.contains("loaded"), "{shown}");
    assert!(results.path().join("report.html").is_file());
    let file = |name: &str| results.path().join(format!("{name}.run.json"));
    let runs: Vec<Run> = ["debian-6.12", "debian-6.12-rt"]
        .iter()
        .flat_map(|kernel| (1..=2).map(move |round| format!("{kernel}-round-{round}")))
        .map(|name| guests::run(&file(&name)))
        .collect();
    let options_differ = results.path().join("options.html");
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy
        .arg("report")
        .args(["debian-6.12-round-1", "debian-6.12-rt-round-1"].map(file))
        .arg("-o")
        .arg(&options_differ);
    guests::expect_alone(&tardy, 0);
    let report = std::fs::read_to_string(options_differ).unwrap();
    assert!(report.contains("PREEMPT_LAZY"), "the kernels' options are compared");
    let mut seeds: Vec<u64> = runs.iter().map(|run| run.plan.seed).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, [1, 2, 3, 4]);
    let trial = |run: &Run| run.origin.trial.clone().map(|trial| (trial.side, trial.round, trial.rounds));
    assert_eq!(trial(&runs[0]), Some(("debian:6.12".to_owned(), 1, 2)));
    assert_eq!(trial(&runs[3]), Some(("debian:6.12-rt".to_owned(), 2, 2)));
    runs.iter().for_each(|run| is_measured(run, [LOOPS; 2]));
    let identity = |run: &Run| run.lab.as_ref().unwrap().identity.clone();
    assert_ne!(identity(&runs[0]), identity(&runs[1]));
    assert_ne!(runs[0].series[0].measured, runs[1].series[0].measured, "two boots with the same latencies");
    for (name, run) in [("debian-6.12-round-1", &runs[0]), ("debian-6.12-rt-round-2", &runs[3])] {
        explain::its_wakeups_add_up(&guests, &file(name), run);
    }
}

/// A functional run: the host's time, several CPUs, and a warning.
#[test]
fn a_run_in_the_hosts_time_warns_that_its_latencies_mean_nothing() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args([
        "lab-quick",
        "--kernel",
        "debian:6.12-rt",
        "--realtime",
        "--load",
        "none",
        "--loops",
        "200",
        "-o",
    ]);
    lab.arg(results.path());
    let _turn = guests::Turn::on_all();
    let shown = guests::text_of(&lab.output().unwrap());
    let run = guests::run(&results.path().join("debian-6.12-rt.run.json"));
    assert_eq!(run.lab.as_ref().unwrap().clock, LabClock::RealtimeEmulated);
    assert_eq!(run.plan.measured_cpus(), [0, 1]);
    assert!(shown.contains("MEANINGLESS"), "{shown}");
}
