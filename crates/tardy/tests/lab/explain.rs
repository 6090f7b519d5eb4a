//! `tardy lab explain` on runs that other tests have measured, of two command lines, and with a newer emulator.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_record::Run;
use tardy_record::explanation::{Boot, Call, ExplainedWakeup, Explanation, Explanations, PartKind};

use crate::guests;

/// Between the timer's time and its interrupt, no more than one block of instructions may lack an explanation.
const BLOCK: u64 = 40;
/// The instructions of a boot of Debian's 6.12 without modules and programs: 582 million on PREEMPT_RT (docs/adr/0026-shorter-boots.md).
const BOOT_MAX: u64 = 650_000_000;

/// Explains a run, and returns the explanations and what was shown.
pub(crate) fn explained(guests: &Path, path: &Path, arguments: &[&str]) -> (Explanations, String) {
    let json = path.with_extension("explained.json");
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", "explain", "--quiet", "--observer"]).arg(guests.join("tardy-observer-qemu7.so"));
    tardy.arg(path).args(arguments).arg("--force").arg("-o").arg(&json);
    let shown = guests::text_of(&guests::expect_alone(&tardy, 0));
    (serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap(), shown)
}

/// The parts of a wake-up are all of its latency, within the rounding of the clock's conversion.
pub(crate) fn adds_up(explanation: &Explanation, shown: &str) {
    assert!(explanation.latency_ns.abs_diff(explanation.instructions * 2) <= 4, "{shown}");
    let parts: u64 = explanation.parts.iter().map(|part| part.instructions).sum();
    assert_eq!(parts, explanation.instructions, "{shown}");
    assert!(explanation.unexplained <= BLOCK, "{shown}");
}

/// Explains all wake-ups of each series. That the run was the same, and that the observer saw as many wake-ups in each bin of the
/// histogram, tardy checks itself.
pub(crate) fn its_wakeups_add_up(guests: &Path, path: &Path, run: &Run) {
    let page = path.with_extension("html");
    let all = format!("0-{}", run.series[0].tally.recorded - 1);
    let (explanations, shown) =
        explained(guests, path, &["--census", "--boot", "--at", &all, "-o", page.to_str().unwrap()]);
    let recorded: u64 = run.series.iter().map(|series| series.tally.recorded).sum();
    assert_eq!(explanations.wakeups.len() as u64, recorded);
    for wakeup in &explanations.wakeups {
        adds_up(&wakeup.explanation, &shown);
    }
    for series in &run.series {
        let phase = &run.phases[series.phase].label;
        let is_worst = |one: &&ExplainedWakeup| one.phase == *phase && one.cycle == series.worst[0].cycle;
        let wakeup = explanations.wakeups.iter().find(is_worst).expect("the worst is among all");
        let explanation = &wakeup.explanation;
        assert_eq!(Some(explanation.latency_ns as i64), series.max_ns, "{shown}");
        for kind in
            [PartKind::Timer, PartKind::WakeUp, PartKind::Scheduling, PartKind::Switch, PartKind::Return]
        {
            assert!(explanation.parts.iter().any(|part| part.kind == kind), "{kind:?}: {shown}");
        }
        let of_supervisor = explanation.calls.iter().filter(|task| task.name.starts_with("tardy "));
        let by_supervisor: u64 = of_supervisor.map(|task| task.total).sum();
        assert!(
            wakeup.phase != "idle" || by_supervisor * 2 < explanation.instructions,
            "the supervisor delays the thread (docs/adr/0030): {shown}"
        );
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
    its_boot_adds_up(explanations.boot.as_ref().unwrap(), run, &shown);
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

/// The boot is all that the guest executed before its first program, which reads the clock at once. The clock also counts the sleep, while
/// the kernel waits for its own threads.
fn its_boot_adds_up(boot: &Boot, run: &Run, shown: &str) {
    let lab = run.lab.as_ref().unwrap();
    let booted_ns = lab.settled.booted_at_ns;
    assert!(
        boot.instructions * 2 <= booted_ns && boot.instructions * 2 > booted_ns * 3 / 4,
        "{booted_ns}: {shown}"
    );
    let own: u64 = boot.functions.iter().map(|function| function.instructions).sum();
    assert_eq!(own, boot.instructions, "{shown}");
    for function in ["start_kernel", "setup_boot_APIC_clock", "__orc_find"] {
        assert!(boot.functions.iter().any(|one| one.name == function), "{function}: {shown}");
    }
    let has_additions = !lab.command_line.contains("trace_eval_init,load_system_certificate_list");
    assert!(has_additions || boot.instructions < BOOT_MAX, "{}: {shown}", boot.instructions);
}

/// The instructions of a function and of all that it called, added up.
fn of_all(call: &Call) -> u64 {
    call.own + call.calls.iter().map(of_all).sum::<u64>()
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
    lab.args(["lab-quick", "--loops", "100", "-o"]).arg(results.path());
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
    let newer = std::env::var_os("TARDY_NEWER_QEMU").map(PathBuf::from).filter(|path| path.is_dir());
    let Some(newer) = newer else {
        return eprintln!("skipped: TARDY_NEWER_QEMU names no directory; scripts/fetch-newer-qemu says why");
    };
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return eprintln!("skipped: only root can put another emulator in the place of the installed one");
    }
    let results = tempfile::tempdir().unwrap();
    let file = results.path().join("debian-6.12-rt.run.json");
    let tardy = |words: &[&std::ffi::OsStr]| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", IN_ITS_PLACE, "sh"])
            .arg(&newer)
            .arg(env!("CARGO_BIN_EXE_tardy"));
        guests::text_of(&guests::expect_alone(command.arg("lab").args(words), 0))
    };
    let guest = guests.join("tardy-guest-x86_64");
    let run = ["run", "lab-quick", "--loops", "50", "-k", "debian:6.12-rt", "--guest-tardy"]
        .map(std::ffi::OsStr::new);
    tardy(&[&run[..], &[guest.as_os_str(), "-o".as_ref(), results.path().as_os_str()]].concat());
    let emulator = guests::run(&file).lab.unwrap().emulator;
    assert!(!emulator.starts_with("7.") && !emulator.starts_with("8."), "{emulator}");
    let observer = guests.join("tardy-observer-qemu9.so");
    let explain = ["explain", "--quiet", "--census", "--observer"].map(std::ffi::OsStr::new);
    let shown = tardy(&[&explain[..], &[observer.as_os_str(), file.as_os_str()]].concat());
    assert!(shown.contains("hrtimer_wakeup") && shown.contains("Bound of the model"), "{shown}");
}

/// Runs a command in a name space in which the emulator of the directory `$1` has the place of the installed one: root's programs come
/// from fixed directories.
const IN_ITS_PLACE: &str = "mount --bind \"$1/usr/bin/qemu-system-x86_64\" /usr/bin/qemu-system-x86_64 &&
     mount --bind \"$1/usr/share/qemu\" /usr/share/qemu && shift && exec \"$@\"";
