//! What doload does, held against the rule that makes a run invalid.

use std::time::{Duration, Instant};

use tardy_measure::load::Loads;
use tardy_record::run::Phase;
use tardy_record::validity::{Validity, judge_loads};

use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[("three_seconds_of_doload_are_valid", three_seconds_of_doload_are_valid)];

/// Those that look for what only time brings out.
pub(crate) const SOAKS: &[Test] =
    &[("soak_ten_minutes_of_doload_are_valid", soak_ten_minutes_of_doload_are_valid)];

fn three_seconds_of_doload_are_valid() {
    let validity = run(Duration::from_secs(3));
    assert!(validity.valid, "{:?}", validity.spoilt_by);
    assert_eq!(validity.limits, ["load doload: no network-card interrupts: the data went over loopback"]);
}

/// On a machine with nothing else to do: another load that starts meanwhile is a stall to this one.
fn soak_ten_minutes_of_doload_are_valid() {
    let validity = run(Duration::from_secs(600));
    assert!(validity.valid, "{:?}", validity.spoilt_by);
}

/// Runs doload for a phase of this length, read once a second as a run does it.
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
