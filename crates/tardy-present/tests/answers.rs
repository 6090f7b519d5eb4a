//! A report that is asked in a real browser answers with the numbers of its run, and is as before when it is reset.
//!
//! `make report-test` runs these tests; `make test` checks the values that the script draws from (`script_data.rs`).
//! Without Chromium they report that they are skipped and pass, except in CI.

use crate::browser;
use crate::synthetic;
use std::path::Path;

use crate::browser::Browser;
use crate::recorded::run;
use serde_json::Value;
use tardy_analyse::findings;
use tardy_analyse::quantile::{self, LEVELS};
use tardy_plot::numbers::{count, microseconds};
use tardy_plot::{Options, curve};
use tardy_present::plot_file::{Kind, Plot};
use tardy_present::report;
use tardy_record::{Histogram, Run};

const QUESTIONS: &str = include_str!("answers/questions.js");

/// What the page of `run` answers.
fn answers(browser: &Browser, run: &Run) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("asked.html");
    let page = report::html(&[run], &findings::Options::default());
    std::fs::write(&path, browser::with_script(&page, QUESTIONS)).unwrap();
    let (dom, log) = browser.open(&path, 1200);
    let result = dom.split_once("id=\"answers\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let (json, _) = result.unwrap_or_else(|| panic!("no answer: {log}"));
    serde_json::from_str(json).unwrap()
}

/// The lines of a plot's data without the heads, as cells.
fn data(run: &Run, kind: Kind) -> Vec<Vec<String>> {
    let options = Options { width: 860.0, ..Options::default() };
    let csv = Plot { kind, runs: &[run], versus: None, title: None, options }.csv().unwrap();
    csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The position, in ns or px, and the lines of an answer.
fn answer(value: &Value) -> (f64, f64, Vec<&str>) {
    let texts = value["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    (value["x"].as_f64().unwrap(), value["y"].as_f64().unwrap(), texts.collect())
}

fn list(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

#[test]
#[ignore = "needs a browser; make report-test"]
fn reports_print_on_few_pages() {
    let Some(browser) = Browser::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let options = findings::Options::default();
    for (name, run, most) in
        [("many-cpus", synthetic::many_cpus::many_cpus(128, 24), 8), ("standard", run("standard"), 8)]
    {
        let page = directory.path().join(format!("{name}.html"));
        std::fs::write(&page, report::html(&[&run], &options)).unwrap();
        let pages = browser.printed_pages(&page);
        assert!((2..=most).contains(&pages), "{name}: {pages} pages");
    }
}

#[test]
#[ignore = "needs a browser; make report-test"]
fn the_page_answers_with_the_numbers_of_the_run() {
    let Some(browser) = Browser::find() else { return };
    let run = run("standard");
    let answers = answers(&browser, &run);
    reads_the_histogram(&run, &answers["latency"]);
    reads_the_tail(&run, &answers["exceedance"]);
    reads_the_timeline(&run, &answers["timeline"]);
    reads_the_distribution_over_time(&run, &answers["heat"]);
    let panel = list(&answers["panel"]);
    assert!(
        panel[0].contains("load doload") && panel[1].ends_with('k') || panel[1].contains(','),
        "{panel:?}"
    );
    changes_and_resets(&answers);
    shows_the_histogram_of_a_span(&run, &answers);
}

fn reads_the_histogram(run: &Run, answers: &Value) {
    let columns = data(run, Kind::Histogram);
    let mut nonzero = 0;
    for (ns, _, lines) in answers.as_array().unwrap().iter().map(answer) {
        for cpu in ["cpu 0", "cpu 1"] {
            let edge = |column: &[String], place: usize| column[place].parse::<f64>().unwrap();
            let holds =
                |column: &&Vec<String>| column[0] == cpu && edge(column, 1) <= ns && ns < edge(column, 2);
            let expected = columns.iter().find(holds).map_or(0, |column| column[3].parse().unwrap());
            assert!(lines.contains(&&*format!("{cpu}: {}", count(expected))), "{ns}: {lines:?}, {expected}");
            nonzero += u32::from(expected > 0);
        }
    }
    assert!(nonzero > 20, "{nonzero} columns with a reading");
}

fn reads_the_tail(run: &Run, answers: &Value) {
    let curves = curve::curves(&[run]);
    for (ns, _, lines) in answers.as_array().unwrap().iter().map(answer) {
        for curve in &curves {
            let beyond = curve.histogram.bins().iter().filter(|bin| bin.upper_ns as f64 > ns);
            let beyond: u64 = beyond.map(|bin| bin.count).sum();
            let line = lines.iter().find(|line| line.starts_with(&format!("{}: ", curve.label))).unwrap();
            let expected = if beyond == 0 { "none".to_owned() } else { format!("({})", count(beyond)) };
            assert!(line.ends_with(&expected), "{ns}: {line}, {expected}");
        }
    }
}

fn reads_the_timeline(run: &Run, answers: &Value) {
    let mut known = 0;
    for (ns, _, lines) in answers.as_array().unwrap().iter().map(answer) {
        for series in run.own_series() {
            let blocks = &series.block_maxima;
            let index = ((ns - blocks.start_ns as f64) / blocks.block_ns as f64).floor();
            let max =
                (index >= 0.0).then(|| blocks.maxima_ns.get(index as usize)).flatten().copied().flatten();
            let line = lines.iter().find(|line| line.starts_with(&format!("{}: ", series.label))).unwrap();
            let Some(max) = max else {
                assert!(line.ends_with("nothing"), "{line}");
                continue;
            };
            let value: f64 = line.split([' ', '\u{a0}']).nth(2).unwrap().replace(',', "").parse().unwrap();
            assert!((value * 1e3 - max as f64).abs() <= max as f64 * 0.006 + 5.0, "{ns}: {line}, {max}");
            known += 1;
        }
    }
    assert!(known > 100, "{known} maxima");
}

fn reads_the_distribution_over_time(run: &Run, answers: &Value) {
    let cells = data(run, Kind::Distribution);
    let mut nonzero = 0;
    for (ns, latency_ns, lines) in answers.as_array().unwrap().iter().map(answer) {
        let number = |cell: &[String], place: usize| cell[place].parse::<f64>().unwrap();
        let holds = |cell: &&Vec<String>| {
            (number(cell, 0)..number(cell, 1)).contains(&ns)
                && (number(cell, 2)..number(cell, 3)).contains(&latency_ns)
        };
        let expected = cells.iter().find(holds).map_or(0, |cell| cell[4].parse().unwrap());
        let is_known = lines[1].ends_with(&format!(": {} wake-ups", count(expected)));
        assert!(is_known || lines[1] == "nothing recorded", "{ns} {latency_ns}: {lines:?}, {expected}");
        nonzero += u32::from(expected > 0);
    }
    assert!(nonzero > 20, "{nonzero} cells with a reading");
}

fn changes_and_resets(answers: &Value) {
    let hidden = &answers["hidden"];
    assert_eq!((hidden["label"].as_str(), hidden["pressed"].as_str()), (Some("cpu 0"), Some("false")));
    assert!(hidden["before"].as_array().unwrap().iter().all(|curves| curves.as_u64() >= Some(1)), "{hidden}");
    assert_eq!(hidden["after"], serde_json::json!([0, 0, 0]));
    assert!(hidden["others"].as_u64() >= Some(1));
    assert!(list(&hidden["texts"]).iter().all(|text| !text.contains("cpu 0")), "{hidden}");
    for (axis, found) in answers["axes"].as_object().unwrap() {
        assert!(found["changed"] == true && found["bad"] == false, "{axis}: {found}");
        assert!(found["ticks"].as_array().unwrap().len() >= 8, "{axis}: {found}");
    }
    let pressed = |axis: &str| answers["axes"][axis]["pressed"].as_str().map(str::to_owned);
    assert_eq!(pressed("latency, logarithmic latency").as_deref(), Some("true"));
    assert_eq!(pressed("exceedance, logarithmic shares").as_deref(), Some("false"));
    let zoomed = list(&answers["zoomed"]["ticks"]);
    assert!(
        ["20", "40", "60"].iter().all(|tick| zoomed.contains(tick)) && !zoomed.contains(&"100"),
        "{zoomed:?}"
    );
    for (found, expected) in
        ["dragged", "expectedOfDrag"].map(|name| answers[name].as_array().unwrap()).map(|pair| pair.iter())[0]
            .clone()
            .zip(answers["expectedOfDrag"].as_array().unwrap())
    {
        let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
        assert!((found - expected).abs() < expected * 0.01, "{found} {expected}");
    }
    let slider = &answers["slider"];
    assert!(
        slider["text"] == slider["shown"] && slider["text"].as_str().unwrap().contains("cpu 1: "),
        "{slider}"
    );
    assert_eq!(answers["afterSlider"], serde_json::json!([]));
    for step in ["Reading", "Toggling", "Axes", "Zoom"] {
        assert_eq!(answers[format!("changedBy{step}")], serde_json::json!([]), "after {step}");
    }
}

fn shows_the_histogram_of_a_span(run: &Run, answers: &Value) {
    let span = &answers["span"];
    let (from, to) = (10_500_000_000, 19_500_000_000);
    for (series, row) in run.own_series().zip(span["rows"].as_array().unwrap()) {
        let mut histogram = Histogram::default();
        let mut ends = (u64::MAX, 0);
        for slice in series.slices.iter().filter(|slice| slice.start_ns < to && slice.end_ns > from) {
            histogram.merge(&slice.histogram).unwrap();
            ends = (ends.0.min(slice.start_ns), ends.1.max(slice.end_ns));
        }
        let worst = series.worst.iter().filter(|one| (ends.0..ends.1).contains(&one.at_ns));
        let worst = worst.map(|one| one.latency_ns).max().expect("the run has a late wake-up in this span");
        let of = |level: usize| quantile::of(&histogram, LEVELS[level], Some(worst), |_| 1.0).value;
        let us = |level: usize| {
            of(level).map_or_else(|| "n/a".to_owned(), |value| microseconds(value.quoted_ns() as f64))
        };
        let max = microseconds(worst as f64);
        assert_eq!(list(row), [&series.label, &count(histogram.total()), &us(1), &us(2), &max]);
    }
    assert_eq!(span["rows"].as_array().unwrap().len(), 2);
    assert!(span["drawn"].as_u64() >= Some(2) && span["marked"] == serde_json::json!([1, 1]), "{span}");
    assert!(span["status"].as_str().unwrap().starts_with("10\u{a0}s to 20\u{a0}s"), "{span}");
    for plot in ["timeline", "heat"] {
        let ticks = list(&answers["zoomedTime"][plot]);
        assert!(ticks.contains(&"12\u{a0}s") && !ticks.contains(&"60\u{a0}s"), "{plot}: {ticks:?}");
    }
    assert_eq!(answers["changedInPrint"], serde_json::json!([]), "a page is printed as it was at first");
    assert_eq!(answers["afterPrint"], serde_json::json!(["timeline", "heat"]));
    assert_eq!(answers["changedBySpan"], serde_json::json!([]));
    assert_eq!(answers["spansLeft"], 0);
}

/// With TARDY_AXE, the path of axe-core's axe.min.js, which is not a part of this repository.
#[test]
#[ignore = "needs a browser and axe-core; make report-test"]
fn axe_has_no_complaint() {
    let Some(browser) = Browser::find() else { return };
    let Some(axe) = std::env::var_os("TARDY_AXE") else {
        eprintln!("skipped: TARDY_AXE does not name axe-core's axe.min.js");
        return;
    };
    let axe = std::fs::read_to_string(Path::new(&axe)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let many = synthetic::many_cpus::many_cpus(32, 1);
    let (standard, rt, slots) = (run("standard"), run("rt"), run("slots"));
    let pages: [(&str, Vec<&Run>); 4] = [
        ("one", vec![&standard]),
        ("two", vec![&standard, &rt]),
        ("many", vec![&many]),
        ("switch", vec![&slots]),
    ];
    for (name, runs) in pages {
        let html = report::html(&runs, &findings::Options::default());
        let path = directory.path().join(format!("{name}.html"));
        let script = format!("{axe};{}", include_str!("answers/axe.js"));
        std::fs::write(&path, browser::with_script(&html, &script)).unwrap();
        for (scheme, option) in [("light", "preferredColorScheme=1"), ("dark", "preferredColorScheme=0")] {
            for width in [1200, 520] {
                let (dom, log) = browser.open_with(
                    &path,
                    width,
                    &[&format!("--blink-settings={option}"), "--virtual-time-budget=60000"],
                );
                let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
                let title = title.map_or("", |(title, _)| title);
                assert_eq!(title, format!("AXE {scheme}"), "{name} at {width}: {log:.2000}");
            }
        }
    }
}
