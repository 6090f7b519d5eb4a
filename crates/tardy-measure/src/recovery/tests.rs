//! Counters and run files that no tardy has written.

use std::fs;

use tardy_probe::cells::{self, Stage, THRESHOLDS, Threshold, Total};
use tardy_record::Knowable;

use super::*;

/// A killed run with one timer's series, and its counters, which `fill` changes.
fn killed(change: impl FnOnce(&mut Run), fill: impl Fn(&[tardy_sys::cell64::Cell64])) -> Opened {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.run.json");
    let mut run = run();
    run.progress.state = State::Running;
    change(&mut run);
    fs::write(&path, file::to_text(&run)).unwrap();
    let counters = SharedMap::create(&counters_of_phase(&path, 0), 1, CELLS).unwrap();
    fill(counters.block(0).cells());
    open(&path).unwrap()
}

fn run() -> Run {
    let text = include_bytes!("../../../tardy/tests/run_files/recovered-timer.run.json");
    file::from_text(text).unwrap()
}

/// A thread that attempted `count` cycles with the latency 5 ns.
fn fill_soundly(cells: &[tardy_sys::cell64::Cell64], count: u64) {
    cells[Total::Stage as usize].set(Stage::Counting as u64);
    cells[Total::Attempted as usize].set(count);
    cells[cells::MEASURED + 5].set(count);
    for total in [Total::Min, Total::Max] {
        cells[total as usize].set(5);
    }
    cells[Total::Sum as usize].set(5 * count);
    let start_ns = run().phases[0].start_ns;
    cells[Total::CountedFrom as usize].set(start_ns);
    // After the slices of the last checkpoint.
    cells[Total::CountedTo as usize].set(start_ns + 60_000_000_000);
    cells[Total::MaximaBlock as usize].set(100_000_000);
}

fn is_recovered(opened: &Opened) -> bool {
    opened.remark.as_ref().is_some_and(|remark| remark.contains("its counters were on the disk"))
}

#[test]
fn counters_that_agree_are_recovered() {
    let opened = killed(|_| (), |cells| fill_soundly(cells, 7));
    assert!(is_recovered(&opened), "{:?}", opened.remark);
    assert_eq!(opened.run.series[0].tally.recorded, 7);
}

#[test]
fn counters_without_a_sum_or_that_contradict_each_other_are_ignored() {
    let changes: [&[(usize, u64)]; 5] = [
        &[(cells::MEASURED + 9, u64::MAX), (cells::FILLED + 9, 1)],
        &[(Total::Missed as usize, u64::MAX)],
        &[(THRESHOLDS + Threshold::Limit as usize, 1), (THRESHOLDS + Threshold::InBlock as usize, u64::MAX)],
        &[(Total::Attempted as usize, 8)],
        &[(Total::Max as usize, 4)],
    ];
    let recorded = run().series[0].tally.recorded;
    for change in changes {
        let opened = killed(
            |_| (),
            |cells| {
                fill_soundly(cells, 7);
                change.iter().for_each(|(index, value)| cells[*index].set(*value));
            },
        );
        assert!(!is_recovered(&opened), "{change:?}");
        assert_eq!(opened.run.series[0].tally.recorded, recorded, "{change:?}");
    }
}

#[test]
fn slices_of_another_layout_are_dropped() {
    let narrow = |run: &mut Run| {
        let fine = run.series[0].measured.clone();
        let slices = &mut run.series[0].slices;
        slices.truncate(1);
        slices[0].histogram = fine;
    };
    let opened = killed(narrow, |cells| fill_soundly(cells, 7));
    assert!(is_recovered(&opened), "{:?}", opened.remark);
    assert_eq!(opened.run.series[0].slices.len(), 1, "the one that was recovered");
}

#[test]
fn a_run_whose_series_have_no_common_sum_is_refused() {
    let mut run = run();
    run.series[0].tally.attempted = Knowable::Unknown;
    run.series[0].counted_ns = 1 << 60;
    for label in ["another", "a third", "a fourth", "a fifth"] {
        let other = Series { label: label.to_owned(), ..run.series[0].clone() };
        run.series.push(other);
    }
    let error = file::from_text(file::to_text(&run).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("series[4].counted_ns: the sum"), "{error}");
}
