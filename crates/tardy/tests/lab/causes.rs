//! The cause that tardy names for a late wake-up is the one that was injected: tardy's own kernel module takes the CPU in a
//! known way, on the standard and on the real-time kernel.

use tardy_analyse::causes::{self, Cause, How};
use tardy_record::Run;

use crate::own_modules;
use crate::scripted::Scene;

/// Below the module's hog, which has the kernel's default of 50; above what the kernel itself uses by default.
const PRIORITY: u32 = 40;
/// The number of outliers that the test needs.
const OUTLIERS_MIN: usize = 20;
/// How many in [`OUTLIERS_MIN`] may have another cause: a worker of the standard kernel can hold preemption off for 300 us itself, which
/// happened in 2 of 24 outliers of one boot.
const OTHERS_MAX: usize = 2;
const RECIPE: &str = "disturbed.toml";

/// The ways to take the CPU, and the scenes' names.
const WAYS: [(&str, &str); 5] = [
    ("irqsoff", "late-irqsoff"),
    ("preemptoff", "late-preemptoff"),
    ("hog", "late-hog"),
    ("hardirq", "late-hardirq"),
    ("softirq", "late-softirq"),
];

/// The scenes of this file.
pub(crate) fn scenes() -> impl Iterator<Item = Scene> {
    let recipe = format!(
        "about = \"a known disturbance\"\n[run]\nduration = \"1s\"\nwarmup = \"500ms\"\n\
         [timer]\ninterval = \"1ms\"\npriority = {PRIORITY}\ncauses = \"100us\"\n"
    );
    WAYS.into_iter().map(move |(way, name)| Scene {
        name,
        script: format!(
            "with_modules 'tardy_disturb.ko how={way} hold_us=400 every_us=9700' -- \
             tardy run \"$FILES/{RECIPE}\" -o /lab/results/{way}.run.json\n"
        ),
        own_modules: true,
        files: vec![(RECIPE.to_owned(), recipe.clone())],
        ..Scene::default()
    })
}

/// Runs on both kernels while the module disturbs in this way: the standard kernel's first.
fn disturbed(way: &str) -> Option<[Run; 2]> {
    let (_, scene) = WAYS.into_iter().find(|(known, _)| *known == way).unwrap();
    let both = own_modules::on_both_kernels(scene)?;
    both.iter().for_each(|printed| println!("{}", printed.text()));
    Some(both.map(|printed| printed.run(&format!("{way}.run.json"))))
}

/// Asserts that at least 18 in 20 outliers have this cause, and that there are enough of them.
fn names_the_cause(run: &Run, is_it: impl Fn(&Cause) -> bool) {
    let causes = causes::of(run);
    assert!(causes.len() >= OUTLIERS_MIN, "only {} outliers were traced", causes.len());
    let wrong: Vec<&Cause> = causes.iter().filter(|cause| !is_it(cause)).collect();
    println!("the cause of {} of {} traced wake-ups is right", causes.len() - wrong.len(), causes.len());
    assert!(wrong.len() <= OTHERS_MAX * causes.len() / OUTLIERS_MIN, "{wrong:#?}");
    let cost =
        run.series[0].timer().unwrap().causes.as_ref().unwrap().cost.expect("the warm-up was long enough");
    assert!(cost.cost_ns() > 0, "tracing is not free: {cost:?}");
}

fn is(cause: &Cause, how: How, name: &str) -> bool {
    cause.how == how && cause.occupant.name() == name
}

#[test]
fn the_thread_that_holds_interrupts_off_is_named() {
    let Some(runs) = disturbed("irqsoff") else { return };
    for run in &runs {
        names_the_cause(run, |cause| is(cause, How::InterruptsOff, "disturb-irqsoff"));
    }
}

#[test]
fn the_thread_that_holds_preemption_off_is_named() {
    let Some(runs) = disturbed("preemptoff") else { return };
    for run in &runs {
        names_the_cause(run, |cause| is(cause, How::PreemptionOff, "disturb-preempt"));
    }
}

#[test]
fn a_thread_of_higher_priority_is_named() {
    let Some(runs) = disturbed("hog") else { return };
    for run in &runs {
        names_the_cause(run, |cause| is(cause, How::HigherPriority, "disturb-hog"));
    }
}

#[test]
fn the_function_that_delays_the_timers_interrupt_is_named() {
    let Some(runs) = disturbed("hardirq") else { return };
    for run in &runs {
        names_the_cause(run, |cause| is(cause, How::TimerFunction, "timer function tardy_disturb_spin"));
    }
}

/// On the real-time kernel a thread of lower priority than the probe runs soft interrupts, so they delay no probe.
#[test]
fn a_soft_interrupt_is_named_on_the_kernel_where_it_preempts_threads() {
    let Some([standard, real_time]) = disturbed("softirq") else { return };
    names_the_cause(&standard, |cause| is(cause, How::Softirq, "timer function tardy_disturb_spin"));
    let late = causes::of(&real_time);
    assert!(late.is_empty(), "a soft interrupt below the probe's priority cannot delay it here: {late:#?}");
}
