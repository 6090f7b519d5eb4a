//! `tardy share`, and `tardy show` with its links.

use serde_json::Value;
use tardy_present::report::first_screen;
use tardy_record::Run;
use tardy_redact::redact_except;
use tardy_share::link;

use crate::bench::Bench;

const STANDARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/standard.run.json");
const RT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rt.run.json");

#[test]
fn a_link_is_shown_as_its_run_is() {
    let bench = Bench::new();
    let shared = bench.run(&["share", RT, "--base", "https://example.org/tardy.html"]).exits(0);
    let link = shared.out.trim();
    assert!(link.starts_with("https://example.org/tardy.html#r1.") && link.len() < 4_000, "{link}");
    assert!(shared.err.contains("left out: ") && shared.err.contains("origin.host: 1"), "{}", shared.err);
    let (of_link, of_run) = (bench.run(&["show", link]).exits(0).out, bench.run(&["show", RT]).exits(0).out);
    let first = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first(&of_link), first(&of_run));
    let both = bench.run(&["share", STANDARD, RT]).exits(0).out;
    let shown = bench.run(&["show", both.trim()]).exits(0).out;
    assert_eq!(shown.matches("This is ").count(), 2, "{shown}");
}

#[test]
fn what_is_kept_and_what_is_not_is_listed() {
    let bench = Bench::new();
    let printed = bench.run(&["share", RT, "--keep", "origin.host", "--markdown", "--json"]).exits(0).out;
    let answer: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer["redacted"]["origin.host"], Value::Null, "{answer}");
    assert_eq!(answer["characters"], answer["link"].as_str().unwrap().len());
    assert!(answer["markdown"].as_str().unwrap().contains("```text\n"), "{answer}");
    let error = bench.run(&["share", RT, "--keep", "origin.shoe_size"]).exits(2).err;
    assert!(
        error.contains("keep: nothing is removed from 'origin.shoe_size'") && error.len() < 500,
        "{error}"
    );
    let error = bench.run(&["share", RT, RT, RT, RT, RT]).exits(1).err;
    assert!(error.contains("one run to 4, not 5"), "{error}");
}

#[test]
fn a_damaged_link_has_its_message() {
    let bench = Bench::new();
    let link = bench.run(&["share", RT]).exits(0).out.trim().to_owned();
    let error = |link: &str| bench.run(&["show", link]).exits(1).err;
    assert!(error(&link[..link.len() - 5]).contains("the link was cut short: "));
    assert!(error(&link.replace("#r1.", "#r2.")).contains("the link is of version 2"));
    let other = bench.run(&["report", &link]).exits(1).err;
    assert!(other.contains("'tardy show LINK'"), "{other}");
}

/// Recipes that simulated readings (`--fake`) cannot stand for: pins, Xenomai's program, and a switch.
const NOT_SIMULATED: [&str; 4] = ["at91-gpio", "at91-xenomai", "lab-at91-gpio", "tsn-two-flows"];

/// Runs recipes with simulated readings but real loads, and puts the runs into links and back.
fn runs_fit_into_links(recipes: &[&str]) {
    let bench = Bench::new();
    for name in recipes {
        let file = format!("{name}.run.json");
        let measured = bench.run(&["run", name, "--fake", "3", "--scale", "0.01", "--quiet", "-o", &file]);
        let text = std::fs::read(bench.path(&file)).unwrap_or_else(|_| panic!("{name}: {}", measured.err));
        let run = tardy_record::file::from_text(&text).unwrap();
        let shared = tardy_share::shared(&[&run], &[], link::BASE, &first_screen)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let opened = link::runs(&shared.link).unwrap();
        let sorted = |run: &Run| {
            let mut sentences = first_screen(run);
            sentences.sort();
            sentences
        };
        assert_eq!(sorted(&opened[0]), sorted(&redact_except(&run, &[]).unwrap().run), "{name}");
        println!("| {name} | {} | {} |", run.series.len(), shared.link.len());
        let most = if run.phases.len() <= 2 { 4_000 } else { 16_000 };
        assert!(shared.link.len() <= most, "{name}: {} characters", shared.link.len());
    }
}

/// These have no load that needs a port, which another test may have.
#[test]
fn a_recipes_run_fits_into_a_link() {
    runs_fit_into_links(&["lab-quick", "noise"]);
}

#[test]
#[ignore = "takes a minute; run by `make long-tests`"]
fn long_every_recipes_run_fits_into_a_link() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes");
    let name = |file: std::fs::DirEntry| file.path().file_stem().unwrap().to_string_lossy().into_owned();
    let mut names: Vec<String> =
        std::fs::read_dir(directory).unwrap().map(|file| name(file.unwrap())).collect();
    names.retain(|name| !NOT_SIMULATED.contains(&name.as_str()));
    names.sort();
    assert!(names.len() >= 14, "{names:?}");
    runs_fit_into_links(&names.iter().map(String::as_str).collect::<Vec<_>>());
}
