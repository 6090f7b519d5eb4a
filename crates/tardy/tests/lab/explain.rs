//! `tardy lab explain`: on runs that other tests have measured, and on one whose disturbances are known.

use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_record::Run;
use tardy_record::census::{Context, SectionKind, Sections};
use tardy_record::explanation::{Explanations, PartKind};

use crate::{guests, own_modules};

/// Between the timer's time and its interrupt, no more than one block of instructions may lack an explanation.
const BLOCK: u64 = 40;

/// Explains a run, and returns the explanations and what was shown.
fn explained(guests: &Path, path: &Path, arguments: &[&str]) -> (Explanations, String) {
    let json = path.with_extension("explained.json");
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", "explain", "--quiet", "--observer"]).arg(guests.join("tardy-observer-qemu7.so"));
    tardy.arg(path).args(arguments).arg("--force").arg("-o").arg(&json);
    let shown = guests::text_of(&guests::expect_alone(&tardy, 0));
    (serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap(), shown)
}

/// Explains the worst wake-up of each series. That the run was the same, and that the observer saw as many wake-ups in each bin of the
/// histogram, tardy checks itself.
pub(crate) fn its_worst_wakeups_add_up(guests: &Path, path: &Path, run: &Run) {
    let page = path.with_extension("html");
    let (explanations, shown) = explained(guests, path, &["--census", "-o", page.to_str().unwrap()]);
    assert_eq!(explanations.wakeups.len(), run.series.len());
    for (wakeup, series) in explanations.wakeups.iter().zip(&run.series) {
        let explanation = &wakeup.explanation;
        assert_eq!(Some(explanation.latency_ns as i64), series.max_ns, "{shown}");
        assert_eq!(wakeup.cycle, series.worst[0].cycle);
        assert!(explanation.latency_ns.abs_diff(explanation.instructions * 2) <= 4, "{shown}");
        let parts: u64 = explanation.parts.iter().map(|part| part.instructions).sum();
        assert_eq!(parts, explanation.instructions, "{shown}");
        assert!(explanation.unexplained <= BLOCK, "{shown}");
        for kind in
            [PartKind::Timer, PartKind::WakeUp, PartKind::Scheduling, PartKind::Switch, PartKind::Return]
        {
            assert!(explanation.parts.iter().any(|part| part.kind == kind), "{kind:?}: {shown}");
        }
        let own: u64 = explanation.calls.iter().map(of_all).sum();
        let waited: u64 = explanation.instructions - own;
        assert!(
            waited <= 100,
            "only the timer's hardware takes time without instructions: {waited}, {shown}"
        );
    }
    for function in ["hrtimer_wakeup", "try_to_wake_up", "__schedule", "do_nanosleep"] {
        assert!(shown.contains(function), "{function}: {shown}");
    }
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("data-kind=\"icicle\"") && page.contains("data-name=\"hrtimer_interrupt\""));
    let census = explanations.census.unwrap();
    let is_rt = run.facts.kernel.real_time.get() == Some(&true);
    assert_eq!(census.bound.is_some(), is_rt, "{shown}");
    if let Some(bound) = census.bound {
        assert!(bound.observed <= bound.instructions, "{shown}");
        let latest = run.series.iter().filter_map(|series| series.max_ns).max().unwrap();
        let all = bound.instructions + bound.timer + bound.to_reading;
        assert!(latest as u64 <= all * explanations.ns_per_instruction, "{shown}");
        assert!(shown.contains("it is not a bound for a board"), "{shown}");
    }
    let timer = census.interrupts.iter().find(|one| one.name == "asm_sysvec_apic_timer_interrupt").unwrap();
    let wakeups: u64 = run.series.iter().map(|series| series.tally.recorded).sum();
    assert!(timer.count >= wakeups, "each wake-up has an interrupt: {shown}");
}

/// The instructions of a function and of all that it called, added up.
fn of_all(call: &tardy_record::explanation::Call) -> u64 {
    call.own + call.calls.iter().map(of_all).sum::<u64>()
}

/// What the module tardy_disturb does, by its parameter, with the function that does it.
const WAYS: [(&str, &str); 6] = [
    ("irqsoff", "disturb_irqsoff [tardy_disturb]"),
    ("preemptoff", "disturb_preemptoff [tardy_disturb]"),
    ("spinlock", "disturb_spinlock [tardy_disturb]"),
    ("hog", "disturb_hog [tardy_disturb]"),
    ("hardirq", "tardy_disturb_spin [tardy_disturb]"),
    ("softirq", "tardy_disturb_spin [tardy_disturb]"),
];
/// A thread above the module's, but below its hog. It measures from 1.2 s after the module was loaded, for 0.6 s.
const RECIPE: &str = "about = \"known disturbances\"\n[run]\nwarmup = \"50ms\"\nloops = 1200\n[timer]\ninterval = \"500us\"\npriority = 40\n\
                      [lab]\nmodules_at_rest = [\"tardy_disturb how=HOW hold_us=700 every_us=9800 times=4 after_us=1350000\"]\n";
/// The latest wake-ups that are explained: some are of each way that delays the thread.
const LATE: usize = 20;

/// Runs `how` of the module on these kernels, and returns the run files.
fn disturbed(guests: &Path, directory: &Path, how: &str, kernels: &[&str]) -> Vec<PathBuf> {
    let recipe = directory.join("disturbed.toml");
    std::fs::write(&recipe, RECIPE.replace("HOW", how)).unwrap();
    let mut lab = guests::lab(guests, "x86_64", "run");
    lab.arg(&recipe).arg("--force").arg("-o").arg(directory);
    lab.args(kernels.iter().flat_map(|kernel| ["--kernel", kernel]));
    guests::expect_alone(&lab, 0);
    let file = |kernel: &&str| directory.join(format!("{}.run.json", kernel.replace(':', "-")));
    kernels.iter().map(file).collect()
}

/// Every way to disturb is named by its function, and the sections that the observer saw are those that the module recorded itself.
#[test]
fn known_disturbances_are_found_and_are_as_long_as_the_module_says() {
    let Some(guests) = guests::directory() else { return };
    if !own_modules::are_there() {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let how = WAYS.map(|(way, _)| way).join("+");
    for path in disturbed(&guests, results.path(), &how, &own_modules::KERNELS) {
        let run = guests::run(&path);
        let latest: Vec<String> =
            run.series[0].worst.iter().take(LATE).map(|worst| format!("--at={}", worst.cycle)).collect();
        let mut arguments: Vec<&str> = latest.iter().map(String::as_str).collect();
        arguments.extend(["--census", "--coverage"]);
        let (explanations, shown) = explained(&guests, &path, &arguments);
        let is_rt = run.facts.kernel.real_time.get() == Some(&true);
        for (way, function) in WAYS {
            // On PREEMPT_RT a thread with a spinlock can be preempted, and so can the soft interrupt's thread.
            let delays = !is_rt || !matches!(way, "spinlock" | "softirq");
            assert!(!delays || shown.contains(function), "{way}: {shown}");
        }
        let census = explanations.census.unwrap();
        let console =
            std::fs::read_to_string(path.to_str().unwrap().replace(".run.json", ".console.log")).unwrap();
        for (way, kind) in
            [("irqsoff", SectionKind::InterruptsOff), ("preemptoff", SectionKind::PreemptionOff)]
        {
            let (_, function) = WAYS.into_iter().find(|(known, _)| *known == way).unwrap();
            let seen = census.sections.iter().find(|one| one.kind == kind && one.from == function);
            is_as_recorded(seen.unwrap_or_else(|| panic!("{way}: {shown}")), way, &console);
        }
        let coverage = explanations.coverage.unwrap();
        // An RT kernel's spinlock turns nothing off.
        assert!(
            is_rt || coverage.ran.iter().any(|name| name == "disturb_spinlock [tardy_disturb]"),
            "{:?}",
            coverage.ran
        );
    }
    // The same without the spinlock: then its function is one that never ran.
    let standard = disturbed(&guests, results.path(), "irqsoff", &own_modules::KERNELS[..1]);
    let (explanations, _) = explained(&guests, &standard[0], &["--coverage"]);
    let coverage = explanations.coverage.unwrap();
    assert!(
        coverage.never.iter().any(|name| name == "disturb_spinlock [tardy_disturb]"),
        "{:?}",
        coverage.never
    );
    assert!(coverage.ran.iter().any(|name| name == "disturb_irqsoff [tardy_disturb]"), "{:?}", coverage.ran);
}

/// The module reads the clock after it has turned off and before it turns on: the section is longer by what is between.
fn is_as_recorded(seen: &Sections, way: &str, console: &str) {
    const AROUND: u64 = 1_000;
    let line = console
        .lines()
        .find_map(|line| line.split_once(&format!("tardy_disturb: {way} from ")))
        .expect(console);
    let (from, to) = line.1.trim_end_matches(" ns").split_once(" to ").unwrap();
    let [from, to]: [u64; 2] =
        [from, to].map(|number| number.trim().trim_end_matches(" ns").parse().unwrap());
    let recorded = to - from;
    assert_eq!((seen.count, seen.context), (4, Context::Thread), "{way}: {seen:?}");
    assert!((recorded..recorded + AROUND).contains(&(2 * seen.longest)), "{way}: {recorded} ns and {seen:?}");
    assert!(from.abs_diff(seen.longest_at_ns) < AROUND, "{way}: from {from} ns and {seen:?}");
}

/// docs/explain.md names these functions for the two ways of the standard kernel to be preempted.
const ONLY_FULL: [&str; 2] = ["preempt_schedule", "preempt_schedule_irq"];
const ONLY_NONE: &str = "__cond_resched";

/// Of one kernel with two command lines, the difference names what only one of them executes, and the page draws it.
#[test]
fn what_only_one_of_two_command_lines_executes_is_named() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["lab-quick", "--loops", "200", "-o"]).arg(results.path());
    lab.args(["-k", "debian:6.12,append=preempt=none", "-k", "debian:6.12,append=preempt=full"]);
    guests::expect_alone(&lab, 0);
    let run = |way: &str| results.path().join(format!("debian-6.12-preempt={way}.run.json"));
    let page = results.path().join("difference.html");
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", "explain", "--quiet", "--phase", "loaded", "--coverage", "--observer"]);
    tardy.arg(guests.join("tardy-observer-qemu7.so")).args([run("none"), run("full")]).arg("-o").arg(&page);
    let shown = guests::text_of(&guests::expect_alone(&tardy, 0));
    let (_, only) = shown.split_once("ran in A only:").unwrap();
    let (only_none, only_full) = only.split_once("ran in B only:").unwrap();
    assert!(only_none.contains(ONLY_NONE), "{shown}");
    for function in ONLY_FULL {
        assert!(only_full.split_whitespace().any(|name| name == function), "{function}: {shown}");
    }
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(
        page.contains("only-a") && page.contains("only-b") && page.contains("data-name=\"hrtimer_wakeup\"")
    );
}

/// Debian 13's QEMU has another form of the interface, and so another variant of the observer: it sees what the guest measures too.
#[test]
fn a_newer_emulator_loads_the_other_observer() {
    let Some(guests) = guests::directory() else { return };
    let emulators = std::env::var_os("TARDY_NEWER_QEMU").map(PathBuf::from).filter(|path| path.is_dir());
    let Some(emulators) = emulators else {
        return eprintln!("skipped: TARDY_NEWER_QEMU names no directory; scripts/fetch-newer-qemu says why");
    };
    let path = std::env::join_paths(
        [emulators].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["lab-quick", "--loops", "50", "-k", "debian:6.12-rt", "-o"])
        .arg(results.path())
        .env("PATH", &path);
    guests::expect_alone(&lab, 0);
    let file = results.path().join("debian-6.12-rt.run.json");
    let emulator = guests::run(&file).lab.unwrap().emulator;
    assert!(!emulator.starts_with("7.") && !emulator.starts_with("8."), "{emulator}");
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", "explain", "--quiet", "--census"]).arg(&file).env("PATH", &path);
    tardy.arg("--observer").arg(guests.join("tardy-observer-qemu9.so"));
    let shown = guests::text_of(&guests::expect_alone(&tardy, 0));
    assert!(shown.contains("hrtimer_wakeup") && shown.contains("Bound of the model"), "{shown}");
}
