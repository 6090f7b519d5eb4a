//! `tardy lab attach` watches a program in a guest, and `tardy lab explain` explains its wake-ups. It repeats the run and compares both
//! to the byte.

use std::path::Path;

use tardy_record::Run;
use tardy_record::explanation::{Call, PartKind};
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
fn a_program_is_watched_and_its_wakeups_are_explained() {
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
    } // A wake-up by its number, which only a first repetition shows.
    let (explanations, shown) = explained(&guests, &file, &["--at", "3"]);
    assert!(explanations.wakeups.len() > SLEEPERS.len() && shown.contains("(cycle 3)"), "{shown}");
    for wakeup in &explanations.wakeups {
        adds_up(&wakeup.explanation, &shown);
        let late_ns = wakeup.explanation.latency_ns as i64;
        let series = run.series.iter().find(|one| one.label == wakeup.series).unwrap();
        assert!(wakeup.cycle == 3 && late_ns > series.min_ns.unwrap(), "{}: {shown}", wakeup.series);
    }
}
