//! The named cause of a late wake-up is the one that was injected: our own kernel module takes the CPU in a known way, on
//! the standard and on the real-time kernel.

use tardy_analyse::causes::{self, Cause, How};
use tardy_record::Run;

use crate::guests;
use crate::own_modules::{self, KERNELS};

/// Below the module's hog, whose priority is the kernel's choice, 50; above what the kernel itself uses by default.
const PRIORITY: u32 = 40;
/// As many outliers as a judgement needs, and how many of them may be named wrongly.
const OUTLIERS_MIN: usize = 20;
const WRONG_MAX: usize = 1;

/// Runs on both kernels while the module disturbs in the way `how`: the runs, the standard kernel's first.
fn disturbed(how: &str) -> Option<[Run; 2]> {
    let guests = guests::directory()?;
    own_modules::are_there().then_some(())?;
    let results = tempfile::tempdir().unwrap();
    let recipe = results.path().join("disturbed.toml");
    let text = format!(
        "about = \"a known disturbance\"\n[run]\nduration = \"3s\"\nwarmup = \"500ms\"\n\
         [timer]\ninterval = \"1ms\"\npriority = {PRIORITY}\ncauses = \"100us\"\n\
         [lab]\nmodules_at_rest = [\"tardy_disturb how={how} hold_us=400 every_us=9700\"]\n"
    );
    std::fs::write(&recipe, text).unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.arg(&recipe).args(KERNELS.iter().flat_map(|kernel| ["--kernel", kernel]));
    lab.arg("-o").arg(results.path().join("out"));
    println!("{}", guests::said(&guests::expect(lab, 0)));
    let run = |name: &str| guests::run(&results.path().join(format!("out/{name}.run.json")));
    Some([run("debian-6.12"), run("debian-6.12-rt")])
}

/// Of enough outliers all but one in twenty are named so.
fn names_the_cause(run: &Run, is_it: impl Fn(&Cause) -> bool) {
    let causes = causes::of(run);
    assert!(causes.len() >= OUTLIERS_MIN, "only {} outliers were traced", causes.len());
    let wrong: Vec<&Cause> = causes.iter().filter(|cause| !is_it(cause)).collect();
    println!(
        "{} of {} traced wake-ups are named as what they were",
        causes.len() - wrong.len(),
        causes.len()
    );
    assert!(wrong.len() <= WRONG_MAX * causes.len() / OUTLIERS_MIN, "{wrong:#?}");
    let cost =
        run.series[0].timer().unwrap().causes.as_ref().unwrap().cost.expect("the warm-up was long enough");
    assert!(cost.cost_ns() > 0, "tracing is not free: {cost:?}");
}

fn is(cause: &Cause, how: How, name: &str) -> bool {
    cause.how == how && cause.occupant.name() == name
}

#[test]
fn whoever_holds_interrupts_off_is_named() {
    let Some(runs) = disturbed("irqsoff") else { return };
    runs.iter()
        .for_each(|run| names_the_cause(run, |cause| is(cause, How::InterruptsOff, "disturb-irqsoff")));
}

#[test]
fn whoever_cannot_be_preempted_is_named() {
    let Some(runs) = disturbed("preemptoff") else { return };
    runs.iter()
        .for_each(|run| names_the_cause(run, |cause| is(cause, How::PreemptionOff, "disturb-preempt")));
}

#[test]
fn whoever_goes_before_the_thread_is_named() {
    let Some(runs) = disturbed("hog") else { return };
    runs.iter().for_each(|run| names_the_cause(run, |cause| is(cause, How::HigherPriority, "disturb-hog")));
}

#[test]
fn the_function_that_holds_up_the_timers_interrupt_is_named() {
    let Some(runs) = disturbed("hardirq") else { return };
    let name = "timer function tardy_disturb_spin";
    runs.iter().for_each(|run| names_the_cause(run, |cause| is(cause, How::TimerFunction, name)));
}

/// On the real-time kernel soft interrupts are a thread's, below the probe's priority, and hold nobody up.
#[test]
fn a_soft_interrupt_is_named_on_the_kernel_where_it_goes_before_threads() {
    let Some([standard, real_time]) = disturbed("softirq") else { return };
    names_the_cause(&standard, |cause| is(cause, How::Softirq, "timer function tardy_disturb_spin"));
    let late = causes::of(&real_time);
    assert!(late.is_empty(), "a soft interrupt below the probe's priority cannot delay it here: {late:#?}");
    println!("softirq: the real-time kernel runs it in a thread, which cannot delay the probe");
}
