use std::convert::Infallible;
use std::sync::LazyLock;

use tardy_analyse::outcome;
use tardy_record::Run;

use super::*;

/// A run of the example, which started in minute `minute` and whose latencies are `factor` times those.
fn run(minute: u32, factor: f64) -> Run {
    static EXAMPLE: LazyLock<Run> = LazyLock::new(|| {
        let text = include_bytes!("../../../../examples/standard.run.json");
        tardy_record::file::from_text(text).unwrap()
    });
    let mut run = EXAMPLE.clone();
    run.origin.id = format!("run-{minute}");
    run.origin.name = Some(format!("nightly {minute}"));
    run.origin.started_at = format!("2026-11-01T00:{minute:02}:00Z");
    for series in &mut run.series {
        for maximum in series.block_maxima.maxima_ns.iter_mut().flatten() {
            *maximum = (*maximum as f64 * factor) as i64;
        }
    }
    run
}

/// Maxima that differ by a few per cent from run to run, always the same.
fn wobble(minute: u32) -> f64 {
    1.0 + 0.02 * f64::from((minute * 7) % 5)
}

fn entries(of: impl Fn(u32) -> f64, count: u32) -> Vec<Entry> {
    (0..count)
        .map(|minute| Entry::of(&run(minute, of(minute) * wobble(minute)), &format!("{minute}.run.json")))
        .collect()
}

fn maxima(history: &History) -> Vec<&Line> {
    history.lines.iter().filter(|line| line.figure == Figure::MaximumOfSeconds).collect()
}

#[test]
fn a_change_is_found_at_its_run_with_its_size() {
    let history = of(entries(|minute| if minute < 12 { 1.0 } else { 1.4 }, 20), 0.001, 0.05);
    assert!(
        !maxima(&history).is_empty(),
        "{:?}",
        history.lines.iter().map(|line| line.figure).collect::<Vec<_>>()
    );
    for line in maxima(&history) {
        let [change] = &line.changes[..] else { panic!("{:?}", line.changes) };
        assert_eq!((change.before, change.after, change.runs_on_the_shorter_side), (11, 12, 8));
        assert!((change.to / change.from - 1.4).abs() < 0.02, "{change:?}");
        assert!(change.certain, "{change:?}");
    }
    let others = history.lines.iter().filter(|line| line.figure == Figure::P999);
    assert!(others.clone().count() > 0 && others.clone().all(|line| line.changes.is_empty()));
}

#[test]
fn runs_are_in_the_order_of_their_start() {
    let mut entries = entries(|minute| if minute < 5 { 1.0 } else { 3.0 }, 10);
    entries.reverse();
    let history = of(entries, 0.001, 0.05);
    assert!(history.by_time);
    assert_eq!(history.runs[0].name, "nightly 0");
    assert_eq!(maxima(&history)[0].changes[0].after, 5);
}

#[test]
fn without_a_change_none_is_found_and_small_changes_are_left_out() {
    for size in [1.0, 1.03] {
        let history = of(entries(|minute| if minute < 10 { 1.0 } else { size }, 20), 0.001, 0.05);
        assert!(history.changes().is_empty(), "{:?}", history.changes());
    }
}

#[test]
fn a_change_with_two_later_runs_is_not_certain() {
    let history = of(entries(|minute| if minute < 18 { 1.0 } else { 2.0 }, 20), 0.001, 0.05);
    let changes = history.changes();
    assert!(!changes.is_empty() && changes.iter().all(|(_, change)| change.after == 18 && !change.certain));
}

#[test]
fn invalid_runs_and_other_experiments_are_kept_apart() {
    let mut entries = entries(|_| 1.0, 4);
    let mut invalid = run(4, 9.0);
    invalid.validity.valid = false;
    entries.push(Entry::of(&invalid, "invalid.run.json"));
    let mut slower = run(5, 1.0);
    for series in &mut slower.series {
        if let tardy_record::series::SeriesKind::Timer(timer) = &mut series.kind {
            timer.priority = 10;
        }
    }
    entries.push(Entry::of(&slower, "slower.run.json"));
    let history = of(entries, 0.001, 0.05);
    assert!(history.runs[4].unusable_because.is_some());
    let (of_five, of_one): (Vec<&Line>, Vec<&Line>) =
        history.lines.iter().partition(|line| line.points.len() == 4);
    assert!(!of_five.is_empty() && of_five.len() == of_one.len());
    assert!(
        of_one.iter().all(|line| line.points[0].run == 5 && line.experiment.contains("10")),
        "{of_one:?}"
    );
}

#[test]
fn differences_are_looked_up_once_for_each_pair() {
    let mut history = of(entries(|minute| if minute < 6 { 1.0 } else { 2.0 }, 12), 0.001, 0.05);
    let again = maxima(&history)[0].clone();
    history.lines.push(again);
    let mut asked = Vec::new();
    let explained: Result<(), Infallible> = history.explain(|before, after| {
        asked.push((before.file.clone(), after.file.clone()));
        Ok(Differences::default())
    });
    assert!(explained.is_ok() && history.changes().len() > 1);
    assert_eq!(asked, [("5.run.json".to_owned(), "6.run.json".to_owned())]);
    assert!(history.changes().iter().all(|(_, change)| change.differences.is_some()));
}

#[test]
fn figures_are_those_of_the_run() {
    let run = run(0, 1.0);
    for outcome in outcome::of(&run) {
        let figures = Figure::of(&run, &outcome);
        let p999 = figures.iter().find(|(figure, _)| *figure == Figure::P999).map(|(_, value)| *value);
        assert_eq!(p999, outcome.quantile("p99.9").map(|value| value.quoted_ns() as f64));
    }
}

/// Runs of one kernel whose maxima have outliers, in many orders: without ranks, one in ten orders had a change.
#[test]
fn a_far_value_of_an_unchanged_kernel_is_no_change() {
    // The maxima of ten seeds of the lab under load, in us (`tardy lab run --seeds 10`).
    let maxima = [61.2, 579.6, 263.5, 511.4, 656.0, 162.2, 273.7, 189.5, 247.5, 319.2];
    let mut possible = 0;
    for (stride, start) in
        [1, 3, 7, 9].into_iter().flat_map(|stride| (0..10).map(move |start| (stride, start)))
    {
        let of_minute = |minute: u32| maxima[((minute * stride + start) % 10) as usize] / 100.0;
        let entry = |minute: u32| Entry::of(&run(minute, of_minute(minute)), &format!("{minute}.run.json"));
        let history = of((0..10).map(entry).collect(), 0.001, 0.05);
        assert!(history.changes().iter().all(|(_, change)| !change.certain), "{stride}, {start}");
        possible += usize::from(!history.changes().is_empty());
    }
    assert!(possible <= 4, "{possible} of 40 orders");
}
