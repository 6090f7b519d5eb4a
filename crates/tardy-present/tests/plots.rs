//! The plots of each recorded run: what they name, how many curves they have, and one of them to the byte.

use crate::recorded::run;
use tardy_plot::{self as plot, Options, curve};
use tardy_present::plot_file;

/// The texts of a plot.
fn texts(svg: &str) -> Vec<String> {
    let parts = svg.split("<text").skip(1);
    parts.filter_map(|part| Some(part.split_once('>')?.1.split_once('<')?.0.to_owned())).collect()
}

/// The drawn paths of this class, none of which is empty.
fn paths(svg: &str, class: &str) -> usize {
    let paths = svg.split("<path").skip(1).filter(|path| path.contains(&format!("class=\"{class}")));
    paths.inspect(|path| assert!(path.contains("d=\"M"), "{path:.200}")).count()
}

#[track_caller]
fn has(svg: &str, expected: &[&str]) {
    let texts = texts(svg);
    for text in expected {
        assert!(texts.iter().any(|one| one.contains(text)), "'{text}' is not among {texts:?}");
    }
}

#[test]
fn a_latency_plot_names_each_curve_with_its_maximum() {
    for (name, curves, expected) in [
        ("standard", 2, &["cpu 0", "cpu 1", "max 3,412", "wake-ups per", "latency, µs"][..]),
        ("rt", 2, &["cpu 0 · max 42.7", "cpu 1 · max 38.5"]),
        ("wakes", 6, &["nanosleep, round 2 · max 97"]),
        ("cut-short", 1, &["max 154"]),
    ] {
        let svg = plot_file::histogram(&[&run(name)], &Options::default());
        assert_eq!(paths(&svg, "curve thin"), curves, "{name}");
        has(&svg, expected);
    }
}

/// A single small plot, to notice any change of the drawing itself.
#[test]
fn an_empty_latency_plot_is_drawn_like_this() {
    insta::assert_snapshot!(
        "latency-nothing-yet",
        plot_file::histogram(&[&run("nothing-yet")], &Options::default())
    );
}

#[test]
fn a_latency_plot_of_two_runs_has_a_curve_for_each() {
    let mut named = run("rt");
    named.origin.name = Some("with isolcpus".to_owned());
    let both = plot_file::histogram(&[&run("standard"), &named], &Options::default());
    has(&both, &["Latency of 2 runs", "standard", "with isolcpus"]);
    let marked = plot_file::histogram(&[&run("lab-realtime"), &run("lab-rt")], &Options::default());
    has(&marked, &["some of these mean nothing", "debian:6.12, meaningless"]);
}

#[test]
fn other_plots_show_limit_axes_and_curves() {
    let options = Options { limit_ns: Some(1_000_000), ..Options::default() };
    let standard = run("standard");
    let exceedance = plot::exceedance::draw("e", &curve::curves(&[&standard]), &options);
    assert_eq!(paths(&exceedance, "curve"), 4, "two curves, and a key for each");
    has(
        &exceedance,
        &["limit 1ms", "share of wake-ups at least this late", "1 in 1,000", "cpu 0", "latency, µs"],
    );
    let timeline = plot::timeline::draw("t", &standard, "highest latency", &options);
    has(
        &timeline,
        &[
            "highest latency of each block, µs",
            "limit 1ms",
            "3,412\u{a0}µs",
            "load doload: scheduler",
            "temperature",
        ],
    );
    let heat = plot::heat::draw("h", &standard, &options).unwrap();
    has(&heat, &["latency, µs", "time from the start", "wake-ups", "limit 1ms"]);
    let shades = (1..=8).filter(|shade| heat.contains(&format!("class=\"h{shade}\" d=\"M"))).count();
    assert!(shades >= 6, "{shades} shades");
    assert_eq!(plot::heat::draw("h", &run("nothing-yet"), &options), None);
}

#[test]
fn the_plots_of_a_switch_show_each_flow_and_its_slots() {
    let options = Options::default();
    let slots = run("slots");
    let flows = tardy_analyse::flows::of(&slots);
    let cycle = plot::cycle::draw("c", &slots, &flows, &options).unwrap();
    assert_eq!(paths(&cycle, "curve"), 4, "two flows in two phases");
    has(
        &cycle,
        &["without the shaper", "with the shaper", "blue", "red", "Mbit/s", "phase in the cycle, µs"],
    );
    assert!(cycle.matches("class=\"slot").count() >= 4 && cycle.contains("class=\"guard"));
    let drift = plot::drift::draw("d", &slots, &flows, &options).unwrap();
    assert_eq!(paths(&drift, "curve"), 4);
    has(&drift, &["blue", "red", "phase in the cycle, µs", "time from the start"]);
    assert_eq!(plot::cycle::draw("c", &run("standard"), &[], &options), None);
    assert_eq!(plot::drift::draw("d", &run("standard"), &[], &options), None);
}
