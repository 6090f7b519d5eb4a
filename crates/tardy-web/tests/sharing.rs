//! Runs go into a link and back with the same first screen.

use serde_json::{Value, json};
use tardy_present::report::first_screen;
use tardy_record::series::SeriesKind;
use tardy_record::{Histogram, Run};
use tardy_redact::redact_except;
use tardy_share::{link, shared};
use tardy_web::{Options, Session, answer};

use crate::files::{file, fixtures, run_files};

/// Every fixture, with a unit if it needs one, and every run file.
fn runs() -> Vec<(String, Run)> {
    let mut runs = Vec::new();
    for (name, bytes) in fixtures().into_iter().chain(run_files()) {
        let mut session = Session::new();
        let mut added = session.add(&name, &bytes.as_slice(), &Options::default());
        if added.refused.iter().any(|refusal| refusal.asks.contains(&"unit")) {
            added = session.add(
                &name,
                &bytes.as_slice(),
                &Options { unit: "us".to_owned(), ..Options::default() },
            );
        }
        runs.extend(added.runs.iter().map(|run| (name.clone(), session.run(run.number).unwrap().clone())));
    }
    runs
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// A run of up to four CPUs with an idle and a loaded phase has as many series.
const FEW_SERIES: usize = 8;

#[test]
fn a_link_has_the_first_screen_of_its_run_and_is_short() {
    links_of_every(6);
}

#[test]
#[ignore = "takes a minute; run by `make long-tests`"]
fn long_every_link_has_the_first_screen_of_its_run_and_is_short() {
    links_of_every(1);
}

/// Puts every `n`th run into a link and back.
fn links_of_every(n: usize) {
    let mut lengths = Vec::new();
    for (name, run) in runs().into_iter().step_by(n) {
        let shared =
            shared(&[&run], &[], link::BASE, &first_screen).unwrap_or_else(|error| panic!("{name}: {error}"));
        let opened = link::runs(&shared.link).unwrap();
        let redacted = redact_except(&run, &[]).unwrap().run;
        assert_eq!(sorted(first_screen(&opened[0])), sorted(first_screen(&redacted)), "{name}");
        assert_eq!(opened[0].redacted, redacted.redacted, "{name}: a link says what was taken out");
        let is_of_frames = run.series.iter().any(|series| series.flow().is_some());
        let most = if run.series.len() <= FEW_SERIES && !is_of_frames { 4_000 } else { 16_000 };
        lengths.push((shared.link.len(), run.series.len(), most, name));
    }
    lengths.sort();
    let table: Vec<String> =
        lengths.iter().map(|(length, series, _, name)| format!("| {name} | {series} | {length} |")).collect();
    println!("| run | series | characters |\n|---|---|---|\n{}", table.join("\n"));
    for (length, series, most, name) in &lengths {
        assert!(length <= most, "{name}: {length} characters for {series} series");
    }
}

/// A link of at most so many characters has the first screen of `run`.
fn has_its_first_screen_in(most: usize, run: &Run) {
    let shared = shared(&[run], &[], link::BASE, &first_screen).unwrap();
    let opened = link::runs(&shared.link).unwrap();
    let redacted = redact_except(run, &[]).unwrap().run;
    assert_eq!(sorted(first_screen(&opened[0])), sorted(first_screen(&redacted)));
    println!("{} series: {} characters", run.series.len(), shared.link.len());
    assert!(shared.link.len() <= most, "{}", shared.link.len());
}

/// A run whose late readings cluster needs its distribution over time, since its intervals depend on it.
#[test]
fn a_run_of_four_cpus_whose_late_readings_cluster_fits_into_a_short_link() {
    let mut run =
        tardy_record::file::from_text(&file("crates/tardy-present/tests/runs/standard.run.json")).unwrap();
    let two = run.series.clone();
    for (cpu, mut series) in (2..).zip(two) {
        // The same stretches of time in another order: as many clusters, at other times.
        let histograms: Vec<Histogram> = series.slices.iter().map(|slice| slice.histogram.clone()).collect();
        let from = 17 * cpu as usize;
        for (place, slice) in series.slices.iter_mut().enumerate() {
            slice.histogram = histograms[(from + place) % histograms.len()].clone();
        }
        series.label = format!("cpu {cpu}");
        let SeriesKind::Timer(timer) = &mut series.kind else { panic!("{:?}", series.kind) };
        timer.cpu = cpu;
        run.series.push(series);
    }
    has_its_first_screen_in(4_000, &run);
}

/// `histogram` with some readings below `limit_ns` in the next bin, other ones for each `seed`.
fn with_moved_readings(histogram: &Histogram, limit_ns: i64, seed: u64) -> Histogram {
    let mut bins = histogram.bins().to_vec();
    let below = bins.partition_point(|bin| bin.upper_ns <= limit_ns);
    for (place, pair) in (0u64..).zip(bins[..below].chunks_exact_mut(2)) {
        let wanted = (seed * 2_654_435_761 + place * 40_503) % 13;
        let moved = wanted.min(pair[0].count / 2);
        (pair[0].count, pair[1].count) = (pair[0].count - moved, pair[1].count + moved);
    }
    Histogram::from_bins(bins).unwrap()
}

#[test]
#[ignore = "takes half a minute; run by `make long-tests`"]
fn long_a_run_of_64_cpus_fits_into_a_link() {
    let mut run =
        tardy_record::file::from_text(&file("crates/tardy/tests/run_files/timer.run.json")).unwrap();
    let two = std::mem::take(&mut run.series);
    for cpu in 0..64 {
        let mut series = two[cpu as usize % 2].clone();
        let lowest = series.thresholds.iter().map(|threshold| threshold.limit_ns).min().unwrap();
        let moved = |histogram| with_moved_readings(histogram, lowest as i64, cpu.into());
        series.label = format!("cpu {cpu}");
        (series.measured, series.corrected) = (moved(&series.measured), series.corrected.as_ref().map(moved));
        let SeriesKind::Timer(timer) = &mut series.kind else { panic!("{:?}", series.kind) };
        timer.cpu = cpu;
        run.series.push(series);
    }
    has_its_first_screen_in(16_000, &run);
}

#[test]
fn names_are_taken_out_unless_they_are_kept() {
    let mut session = Session::new();
    session.add(
        "my-secret-board.json",
        &file("crates/tardy/tests/run_files/timer.run.json").as_slice(),
        &Options::default(),
    );
    let host = session.run(0).unwrap().origin.host.clone();
    assert!(!host.is_empty());
    let mut share = |keep: &[&str]| {
        let request = json!({"do": "share", "runs": [0], "keep": keep, "base": "https://example.org/"});
        answer(&mut session, &request.to_string(), &()).map(|answer| answer.value)
    };
    let of = |value: &Value| link::runs(value["shared"]["link"].as_str().unwrap()).unwrap().remove(0);
    let without = share(&[]).unwrap();
    assert_eq!(of(&without).origin.host, "redacted");
    assert!(without["shared"]["redacted"]["origin.host"].is_u64(), "{}", without["shared"]);
    assert!(!without["markdown"].as_str().unwrap().contains("secret"), "{}", without["markdown"]);
    let with = share(&["origin"]).unwrap();
    assert_eq!(of(&with).origin.host, host);
    let message = share(&["origin.shoe_size"]).unwrap_err();
    assert!(
        message.contains("nothing is removed from 'origin.shoe_size'") && message.contains("origin.host"),
        "{message}"
    );
}

#[test]
fn four_runs_are_compared_from_a_link_and_five_are_refused() {
    let mut session = Session::new();
    for _ in 0..5 {
        session.add("rt.run.json", &file("examples/rt.run.json").as_slice(), &Options::default());
    }
    let mut share = |runs: &[usize]| {
        let request = json!({"do": "share", "runs": runs, "keep": [], "base": link::BASE});
        answer(&mut session, &request.to_string(), &()).map(|answer| answer.value)
    };
    let four = share(&[0, 1, 2, 3]).unwrap();
    let text = four["shared"]["link"].as_str().unwrap().to_owned();
    assert!(four["markdown"].as_str().unwrap().contains("```text\n"), "{}", four["markdown"]);
    assert!(share(&[0, 1, 2, 3, 4]).unwrap_err().contains("one run to 4, not 5"));
    let mut other = Session::new();
    let opened = answer(&mut other, &json!({"do": "open", "link": text}).to_string(), &()).unwrap().value;
    assert_eq!(opened["runs"].as_array().unwrap().len(), 4);
    let report = answer(&mut other, &json!({"do": "report", "runs": [0, 1, 2, 3]}).to_string(), &()).unwrap();
    assert!(String::from_utf8(report.content).unwrap().contains("4 runs compared"));
}
