//! Applies the rule that makes a run invalid to real loads.

use std::time::{Duration, Instant};

use tardy_load::Loads;
use tardy_record::run::Phase;
use tardy_record::run::Validity;
use tardy_record::validity::judge_loads;
use tardy_sys::child::{send, signal};

use crate::processes::{eventually, is_stopped, own_descendants};
use crate::{Test, built_in, context, specs};

pub(crate) const TESTS: &[Test] = &[
    ("three_seconds_of_doload_are_valid", three_seconds_of_doload_are_valid),
    (
        "every_load_that_is_stopped_makes_its_phase_invalid",
        every_load_that_is_stopped_makes_its_phase_invalid,
    ),
];

/// Tests that take long.
pub(crate) const SOAKS: &[Test] =
    &[("soak_ten_minutes_of_doload_are_valid", soak_ten_minutes_of_doload_are_valid)];

fn three_seconds_of_doload_are_valid() {
    let validity = run(Duration::from_secs(3));
    assert!(validity.valid, "{:?}", validity.spoilt_by);
    assert_eq!(validity.limits, ["load doload: no network-card interrupts: the data went over loopback"]);
}

/// All processes are stopped: they are alive but do nothing, as if a disk did not respond or a probe used every CPU.
fn every_load_that_is_stopped_makes_its_phase_invalid() {
    const SECOND: u64 = 1_000_000_000;
    // The times are arguments, so the test does not take ten seconds.
    for (text, parts) in built_in::TRIED {
        if !built_in::can_run(text) {
            continue;
        }
        let mut loads = Loads::start(&specs(&[text]), &context()).unwrap();
        let mut attempts = 0u32;
        eventually("everything is stopped", || {
            let all = own_descendants();
            // A parent that waits for its child's exec (vfork(2)) does not stop, and never will if the child was stopped before it:
            // such a pair is let go from time to time.
            attempts += 1;
            if attempts.is_multiple_of(50) {
                all.iter().for_each(|process| drop(send(process.pid, signal::CONTINUE)));
                return false;
            }
            let working: Vec<_> = all.iter().filter(|process| process.name != "tardy-loads").collect();
            working.iter().for_each(|process| drop(send(process.pid, signal::STOP)));
            working.iter().all(|process| is_stopped(process))
        });
        loads.begin_phase(0, SECOND);
        (2..12).for_each(|second| loads.read(second * SECOND));
        loads.end_phase(12 * SECOND);
        let phase =
            Phase { label: "p".to_owned(), start_ns: SECOND, end_ns: Some(12 * SECOND), ..Phase::default() };
        let validity = judge_loads(&loads.stop(), &[phase]);
        assert!(!validity.valid, "{text}");
        let expected =
            parts.iter().map(|part| format!("load {text} ({part}) in phase 'p': it did nothing for 11.0 s"));
        assert_eq!(validity.spoilt_by, expected.collect::<Vec<_>>());
        assert_eq!(own_descendants(), [], "{text}");
    }
}

/// Needs an idle machine, because another load can stall this one.
fn soak_ten_minutes_of_doload_are_valid() {
    let validity = run(Duration::from_secs(600));
    assert!(validity.valid, "{:?}", validity.spoilt_by);
}

/// Runs doload for a phase of this length and reads it once per second, as a run does.
fn run(length: Duration) -> Validity {
    let mut loads = Loads::start(&specs(&["doload"]), &context()).unwrap();
    let begin = Instant::now();
    loads.begin_phase(0, 0);
    while begin.elapsed() < length {
        std::thread::sleep(Duration::from_secs(1));
        loads.read(begin.elapsed().as_nanos() as u64);
    }
    let end_ns = begin.elapsed().as_nanos() as u64;
    loads.end_phase(end_ns);
    let results = loads.stop();
    for part in &results[0].parts {
        println!("  {}: {} {}, slowest {:?}", part.name, part.done.last().unwrap(), part.unit, part.slowest);
    }
    judge_loads(
        &results,
        &[Phase { label: "doload".to_owned(), start_ns: 0, end_ns: Some(end_ns), ..Phase::default() }],
    )
}
