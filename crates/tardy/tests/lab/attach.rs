//! `tardy lab attach` watches a program in a guest, and `tardy lab explain` explains its wake-ups and cycles. It repeats the run and compares both
//! to the byte.

use std::path::Path;

use tardy_record::Run;
use tardy_record::explanation::{Call, Explanations, Extent, Part, PartKind};
use tardy_record::program::Timing;

use crate::explain::{adds_up, explained};
use crate::{c_program, guests};

pub(crate) const CHAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/chain.c");
pub(crate) const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
const KERNEL: &str = "debian:6.12-rt";
const RUN: &str = "debian-6.12-rt.run.json";

/// The threads of `sleepers.h`, what the kernel calls when their timer expires, and whether the latest wake-up is late because the cycle
/// before took longer than a period.
const SLEEPERS: [(&str, &str, bool); 8] = [
    ("timerfd", "timerfd_tmrproc", false),
    ("timerfd-late", "timerfd_tmrproc", true),
    ("poll", "timerfd_tmrproc", false),
    ("epoll", "timerfd_tmrproc", false),
    ("epoll-late", "timerfd_tmrproc", true),
    ("signal", "posix_timer_fn", false),
    ("signal-late", "posix_timer_fn", true),
    ("deadline", "dl_task_timer", false),
];

/// The period of these threads.
const PERIOD_NS: u64 = 4_000_000;
/// From a system call of a thread to the kernel's event of it, at most.
const EVENT_NS: i64 = 3_000;

/// Whether a function whose name begins so is among what was called.
fn calls(call: &Call, function: &str) -> bool {
    call.name.starts_with(function) || call.calls.iter().any(|one| calls(one, function))
}

/// Watches the chain with the sleepers. Its run file is [`RUN`] in `place`.
fn watched(guests: &Path, place: &Path) -> Run {
    let mut lab = guests::lab(guests, "x86_64", "attach");
    lab.args(["--quiet", "--kernel", KERNEL, "--warmup", "500ms", "-o"]).arg(place).arg("--");
    lab.arg(place.join("chain")).args(["pipe", "probe", "2000", "900", "50", "log", "sleepers"]);
    guests::expect_alone(&lab, 0);
    guests::run(&place.join(RUN))
}

#[test]
fn a_program_is_watched_and_its_cycles_are_explained() {
    let Some(guests) = guests::directory() else { return };
    let Some(program) = c_program::compiled_with(CHAIN, &["-pthread", "-I", HEADERS]) else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("chain"), program).unwrap();
    let run = watched(&guests, place.path());
    let file = place.path().join(RUN);
    let timing =
        |wanted: Timing| run.series.iter().filter(move |one| one.program().unwrap().timing == wanted);
    let chain = timing(Timing::Chain).next().expect("a chain");
    assert_eq!(chain.label, "sensor > control > bus");
    let known = chain.program().unwrap().chain.as_ref().unwrap();
    // Nothing else runs in the guest: every cycle passes.
    assert!(chain.tally.recorded > 50 && known.first_cycles.abs_diff(chain.tally.recorded) <= 1, "{known:?}");
    let mark = timing(Timing::Marked).next().expect("a marked stretch");
    assert!(mark.tally.recorded.abs_diff(chain.tally.recorded) <= 1, "{}", mark.label);
    // The run measures what the program does: the marked work takes a twentieth of 2 ms of its own CPU time.
    assert!(mark.min_ns.unwrap() >= 100_000);
    let (explanations, shown) = explained(&guests, &file, &[]);
    let worst = explanations.wakeups.iter().find(|one| one.series == "sensor").unwrap();
    assert_eq!(worst.explanation.thread, "sensor", "{shown}");
    adds_up(&worst.explanation, &shown);
    // From the kernel's event of the wake-up, it goes back to the program.
    let measured = run.series.iter().find(|one| one.label == "sensor").unwrap().max_ns.unwrap();
    let later = worst.explanation.latency_ns as i64 - measured;
    assert!((0..10_000).contains(&later), "{later}: {shown}");
    assert!(shown.contains("hrtimer_wakeup") && shown.contains("clock_nanosleep"), "{shown}");
    for (thread, function, is_late) in SLEEPERS {
        let label = format!("sensor/{thread}");
        let wakeup = explanations.wakeups.iter().find(|one| one.series == label);
        let explanation = &wakeup.unwrap_or_else(|| panic!("{label}: {shown}")).explanation;
        assert_eq!(explanation.thread, thread);
        adds_up(explanation, &shown);
        assert!(explanation.calls.iter().any(|task| calls(task, function)), "{label}: {shown}");
        // The call that takes the expiry afterwards does not belong to the wake-up.
        let takes = |task: &Call| task.name.starts_with(thread) && calls(task, "timerfd_read");
        let is_asked = thread.contains("poll");
        assert!(!is_asked || !explanation.calls.iter().any(takes), "{label}: {shown}");
        let before = explanation.parts.iter().find(|part| part.kind == PartKind::CycleBefore);
        assert_eq!(before.is_some(), is_late, "{label}: {shown}");
        let series = run.series.iter().find(|one| one.label == label).unwrap();
        let later = explanation.latency_ns as i64 - series.max_ns.unwrap();
        // An ordinary thread may lose the CPU in between.
        assert!(later >= 0 && (is_late || later < 10_000), "{label}: {later}, {shown}");
        its_cycle_adds_up(&run, &explanations, &format!("{label}, response"), is_late, &shown);
    }
    a_disturbed_cycle_names_what_it_did(&explanations, &shown);
    // A cycle by its number, which only a first repetition shows.
    let (explanations, shown) = explained(&guests, &file, &["--at", "3"]);
    assert!(explanations.wakeups.len() > 2 * SLEEPERS.len() && shown.contains("(cycle 3)"), "{shown}");
    for wakeup in &explanations.wakeups {
        adds_up(&wakeup.explanation, &shown);
        let late_ns = wakeup.explanation.latency_ns as i64;
        let series = run.series.iter().find(|one| one.label == wakeup.series).unwrap();
        let least_ns = series.min_ns.unwrap() - EVENT_NS;
        assert!(wakeup.cycle == 3 && late_ns > least_ns, "{}: {shown}", wakeup.series);
    }
}

/// The longest cycle goes up to the call of which the run has the event, and it has the program's work.
fn its_cycle_adds_up(run: &Run, explanations: &Explanations, label: &str, is_late: bool, shown: &str) {
    let wakeup = explanations.wakeups.iter().find(|one| one.series == label);
    let explanation = &wakeup.unwrap_or_else(|| panic!("{label}: {shown}")).explanation;
    assert_eq!(explanation.extent, Extent::Cycle);
    adds_up(explanation, shown);
    let series = run.series.iter().find(|one| one.label == label).unwrap();
    let later = series.max_ns.unwrap() - explanation.latency_ns as i64;
    assert!((0..EVENT_NS).contains(&later), "{label}: {later}, {shown}");
    assert_eq!(wakeup.unwrap().cycle, series.worst[0].cycle, "{label}: {shown}");
    // It reads the clock until its work has taken that long, which here is a system call.
    let works = [PartKind::Program, PartKind::SystemCall, PartKind::Interrupt, PartKind::Preempted];
    let all = explanation.kinds();
    let worked_ns: u64 =
        all.iter().filter(|one| works.contains(&one.kind)).map(|one| 2 * one.instructions).sum();
    let wanted_ns = if is_late { PERIOD_NS } else { PERIOD_NS / 200 };
    assert!(worked_ns >= wanted_ns, "{label}: {worked_ns}, {shown}");
    let is_named = all.iter().any(|one| {
        one.kind == PartKind::SystemCall && one.named.iter().any(|(name, _)| *name == "clock_gettime")
    });
    assert!(is_named, "{label}: {shown}");
    let is_preempted = all.iter().any(|one| one.kind == PartKind::Preempted);
    assert!(is_preempted || !is_late, "an ordinary thread: {label}: {shown}");
}

/// The thread takes sixteen page faults, and sleeps for a fortieth of its period.
fn a_disturbed_cycle_names_what_it_did(explanations: &Explanations, shown: &str) {
    let wakeup = explanations.wakeups.iter().find(|one| one.series == "sensor/disturbed, response");
    let explanation =
        &wakeup.unwrap_or_else(|| panic!("no cycle of the disturbed thread: {shown}")).explanation;
    adds_up(explanation, shown);
    let named = |kind: PartKind, name: &str| {
        let is_it = |part: &&Part| part.kind == kind && part.name.as_deref() == Some(name);
        explanation.parts.iter().filter(is_it).map(|part| part.instructions).collect::<Vec<_>>()
    };
    assert_eq!(named(PartKind::Exception, "page fault").len(), 16, "{shown}");
    assert!(!named(PartKind::SystemCall, "mmap").is_empty(), "{shown}");
    let slept_ns = 2 * named(PartKind::Blocked, "clock_nanosleep").iter().sum::<u64>();
    assert!((PERIOD_NS / 40..PERIOD_NS / 20).contains(&slept_ns), "{slept_ns}: {shown}");
}
