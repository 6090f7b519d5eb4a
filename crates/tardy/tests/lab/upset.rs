//! What can happen to a machine during a measurement, and is harmless in a guest only: its clock is set.

use tardy_record::Run;
use tardy_record::units::parse_duration_ns;

use crate::scripted::{Printed, Scene};
use crate::switch;

/// By how much the script sets the clock, in ns.
const STEP_NS: u64 = 7200 * 1_000_000_000;
/// busybox sets the clock to a whole second.
const ROUNDING_NS: u64 = 1_000_000_000;

pub(crate) fn scene() -> Scene {
    Scene { name: "upset", script: include_str!("upset.sh").to_owned(), ..Scene::default() }
}

/// The first reason for which the run `name` is invalid.
fn reason(printed: &Printed, name: &str) -> String {
    assert_eq!(printed.part(name).status(), 5, "{}", printed.text());
    let run = printed.run(&format!("{name}.run.json"));
    assert!(!run.validity.valid);
    let reasons: Vec<String> = run.validity.spoilt_by.iter().map(ToString::to_string).collect();
    println!("{name}: {reasons:?}");
    reasons.into_iter().next().unwrap_or_default()
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let found = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    found.unwrap_or_else(|| panic!("no '{before}' and '{after}' in {text}")).0
}

#[test]
fn a_clock_that_is_set_makes_a_run_that_waits_for_it_invalid() {
    let Some(printed) = switch::classified("upset") else { return };
    for (name, direction) in [("clock-forward", "forward"), ("clock-back", "back")] {
        let reason = reason(printed, name);
        let by = between(&reason, &format!("CLOCK_REALTIME was set {direction} by "), ", noticed at ");
        let by_ns = parse_duration_ns(by).unwrap();
        assert!(by_ns.abs_diff(STEP_NS) <= ROUNDING_NS, "{reason}");
        let (_, at_s) = reason.split_once(", noticed at ").unwrap();
        assert!(at_s.strip_suffix(" s").unwrap().parse::<f64>().unwrap() > 0.0, "{reason}");
    }
    let run = printed.run("clock-unused.run.json");
    assert!(run.validity.valid, "{:?}", run.validity);
}

/// Debian's kernel lets root read its log, and has no real-time groups.
#[test]
fn a_kernel_that_does_not_report_rt_throttling_is_named() {
    let Some(printed) = switch::classified("upset") else { return };
    let run: Run = printed.run("clock-unused.run.json");
    let watcher = run.environment.watchers.iter().find(|watcher| watcher.name == "RT throttling").unwrap();
    let left_out = watcher.left_out.as_deref().unwrap_or_default();
    assert!(left_out.starts_with("since Linux 6.12 "), "{left_out}");
    assert!(watcher.readings > 0);
}
