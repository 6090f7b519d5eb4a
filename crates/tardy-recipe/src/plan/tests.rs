use super::*;
use crate::parsed_flags;
use crate::recipe_text::RecipeText;
use tardy_host::cpus::Cpus;
use tardy_host::trace::tracefs::Offer;
use tardy_record::stop_rule::{StopAt, StopRule};

fn machine() -> Machine {
    let co_kernel = Err("none here".to_owned());
    Machine {
        cpus: Cpus::alike(vec![0, 1, 2, 3]),
        trace: Offer::none(),
        co_kernel,
        pins: Pins::Known(Vec::new()),
    }
}

fn plan_of(recipe: Recipe, flags: &[&str], machine: &Machine) -> Result<Plan, String> {
    let recipe = recipe.overridden_by(&parsed_flags(flags));
    resolve(&recipe, Extras::NONE, machine).map_err(|error| error.to_string())
}

fn plan(flags: &[&str]) -> Result<Plan, String> {
    plan_of(Recipe::default(), flags, &machine())
}

#[test]
fn the_default_is_a_minute_on_every_cpu() {
    let plan = plan(&[]).unwrap();
    assert_eq!(plan.phases.len(), 1);
    assert_eq!(plan.phases[0].span, Span::DurationNs(60_000_000_000));
    let timer = plan.phases[0].probe.timer().unwrap();
    assert_eq!(timer.threads.iter().map(|thread| thread.cpu).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(timer.threads.iter().all(|thread| thread.priority == 90 && thread.interval_ns == 200_000));
}

#[test]
fn the_supervisor_runs_on_a_cpu_that_is_not_measured_if_there_is_one() {
    assert_eq!(plan(&["--cpus=0-2"]).unwrap().housekeeping_cpu, 3);
    assert_eq!(plan(&["--cpus=3"]).unwrap().housekeeping_cpu, 2);
    assert_eq!(plan(&["--cpus=all"]).unwrap().housekeeping_cpu, 0);
}

#[test]
fn each_round_of_each_wake_method_is_a_phase() {
    let plan = plan(&["--repeat=2", "--wake=nanosleep,timerfd"]).unwrap();
    let labels: Vec<String> = plan.phases.into_iter().map(|phase| phase.label).collect();
    assert_eq!(labels, ["nanosleep, round 1", "nanosleep, round 2", "timerfd, round 1", "timerfd, round 2"]);
}

#[test]
fn phases_of_a_recipe_have_their_own_loads_and_lengths_unless_a_flag_overrides_them() {
    let text = "about = \"x\"\n[run]\nduration = \"2s\"\n[[phase]]\nname = \"idle\"\nload = [\"none\"]\n[[phase]]\n\
                name = \"loaded\"\nloops = 7\nload = [\"copy\", \"listing\"]\n";
    let recipe = Recipe::of(&RecipeText::new("x", "x.toml", text)).unwrap();
    let phases = plan_of(recipe.clone(), &[], &machine()).unwrap().phases;
    let found: Vec<_> =
        phases.iter().map(|phase| (phase.label.as_str(), phase.span, phase.loads.len())).collect();
    assert_eq!(found, [("idle", Span::DurationNs(2_000_000_000), 0), ("loaded", Span::Loops(7), 2)]);
    let phases = plan_of(recipe, &["--loops=3", "--load=doload"], &machine()).unwrap().phases;
    assert!(phases.iter().all(|phase| phase.span == Span::Loops(3) && phase.loads == ["doload"]));
}

#[test]
fn errors_name_the_option_and_what_is_expected() {
    for (flags, expected) in [
        (&["--interval=5us"][..], "interval: 5us is shorter than 20us"),
        (&["--interval=2h"], "interval: 2h is longer than an hour"),
        (&["--cpus=7"], "cpus: CPU 7 cannot be measured: it does not exist or is offline; online: 0-3"),
        (&["--priority=100"], "priority: 100 for CPU 0 is out of range"),
        (&["--priority-step=40"], "priority: 0 for CPU 3 is out of range"),
        (&["--dither=200us"], "dither: 200us is not below the interval"),
        (&["--loops=0"], "loops: must be at least 1"),
        (&["--duration=400d"], "duration: 400d is more than a year"),
        (&["--repeat=0"], "repeat: 0 rounds are out of range"),
        (&["--wake=busy,busy"], "wake: busy is given twice"),
    ] {
        let error = plan(flags).unwrap_err();
        assert!(error.starts_with(expected), "{error}\nexpected {expected}");
    }
}

#[test]
fn a_deadline_task_is_pinned_only_if_the_kernel_allows_it() {
    let pinned = |allowed: Vec<u32>| {
        let plan = plan_of(
            Recipe::default(),
            &["--policy=deadline"],
            &Machine { cpus: Cpus::alike(allowed), ..machine() },
        );
        plan.unwrap().phases[0].probe.timer().unwrap().threads[0].pinned
    };
    assert!(!pinned(vec![0, 1]));
    assert!(pinned(vec![2]));
}

#[test]
fn the_rule_that_ends_phases_comes_from_a_recipe_or_from_flags() {
    let text = "about = \"x\"\n[run]\nlimit = \"100us\"\nuntil = \"supported\"\nprobability = 1e-5\nconfidence = \"99%\"\ncluster = 4\n";
    let recipe = Recipe::of(&RecipeText::new("x", "x.toml", text)).unwrap();
    let rule = |flags: &[&str]| plan_of(recipe.clone(), flags, &machine()).unwrap().until;
    let of_recipe = StopRule {
        at: StopAt::Supported,
        limit_ns: 100_000,
        probability: 1e-5,
        confidence: 0.99,
        cluster: 4,
    };
    assert_eq!(rule(&[]), Some(of_recipe));
    let flags = ["--until=decided", "--limit=1ms", "--probability=0.1%", "--cluster=20"];
    let changed =
        StopRule { at: StopAt::Decided, limit_ns: 1_000_000, probability: 1e-3, cluster: 20, ..of_recipe };
    assert_eq!(rule(&flags), Some(changed));
    let defaults = plan(&["--until=refuted", "--limit=1ms"]).unwrap();
    assert_eq!(
        defaults.until.map(|rule| (rule.probability, rule.confidence, rule.cluster)),
        Some((1e-6, 0.95, 1))
    );
    assert_eq!(defaults.thresholds_ns, [1_000_000], "the limit is counted exactly");
    assert_eq!(plan(&["--limit=1ms"]).unwrap().until, None);
}

#[test]
fn a_rule_without_a_limit_or_for_another_probe_is_refused() {
    for (flags, expected) in [
        (&["--until=decided"][..], "until: nothing is to be decided; add a limit"),
        (&["--until=decided", "--limit=1ms", "--probe=noise"], "until: --probe noise has no wake-ups"),
        (&["--limit=1ms", "--probability=1e-3"], "probability: only --until uses it"),
        (&["--confidence=99%"], "confidence: only --until uses it"),
        (&["--cluster=2"], "cluster: only --until uses it"),
    ] {
        let error = plan(flags).unwrap_err();
        assert!(error.starts_with(expected), "{flags:?}: {error}");
    }
}
