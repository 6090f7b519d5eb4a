//! `tardy lab explain` names what took the CPU: tardy's own kernel module takes it in known ways, for a known time.

use std::collections::BTreeSet;
use std::path::Path;

use tardy_record::census::{Context, SectionKind, Sections};
use tardy_record::explanation::{Call, Explanations};

use crate::explain::{adds_up, explained};
use crate::{guests, own_modules};

/// Ways in which a module takes the CPU, and the function that a late wake-up is put down to.
type Ways = &'static [(&'static str, &'static str)];
/// A spinlock holds preemption off here, and only here do soft interrupts delay a thread.
const ON_STANDARD: Ways = &[
    ("irqsoff", "spin_with_interrupts_off"),
    ("hog", "spin_in_a_thread"),
    ("hardirq", "__hrtimer_run_queues"),
    ("spinlock", "spin_with_a_lock"),
    ("softirq", "hrtimer_run_softirq"),
];
const ON_REAL_TIME: Ways = &[
    ("irqsoff", "spin_with_interrupts_off"),
    ("preemptoff", "spin_with_preemption_off"),
    ("hog", "spin_in_a_thread"),
    ("hardirq", "__hrtimer_run_queues"),
];
const HOLD_NS: u64 = 150_000;
/// How much longer than [`HOLD_NS`] a disturbance may be: the last turn of its loop, and the interrupt's own instructions.
const AROUND_NS: u64 = 3_000;
const PERIOD_NS: u64 = 9_800_000;
/// The loops of the warm-up, whose wake-ups the observer sees too, and those that are recorded, and their distance.
const LOOPS: [u64; 2] = [100, 400];
const INTERVAL_NS: u64 = 500_000;
/// Later than what the kernels do by themselves when nothing else runs, and a third of what the module does.
const LATE_NS: u64 = 50_000;

/// The explanations of all wake-ups of a run that is disturbed in these ways, and what was shown.
fn disturbed(guests: &Path, ways: Ways, kernel: &str) -> (Explanations, String) {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let ways: Vec<&str> = ways.iter().map(|(way, _)| *way).collect();
    let recipe = place.join("disturbed.toml");
    let module = format!(
        "tardy_disturb how={} hold_us={} every_us={}",
        ways.join(","),
        HOLD_NS / 1000,
        PERIOD_NS / 1000
    );
    // Below the hog's priority of 50.
    let text = format!(
        "about = \"known disturbances\"\n[run]\nwarmup = \"{}us\"\nloops = {}\n[timer]\ninterval = \"{}us\"\npriority = 40\n\
         [lab]\nmodules_at_rest = [{module:?}]\n",
        LOOPS[0] * INTERVAL_NS / 1000,
        LOOPS[1],
        INTERVAL_NS / 1000
    );
    std::fs::write(&recipe, text).unwrap();
    let mut lab = guests::lab(guests, "x86_64", "run");
    lab.arg(&recipe).args(["--kernel", kernel, "-o"]).arg(place);
    guests::expect_alone(&lab, 0);
    let path = place.join(format!("{}.run.json", kernel.replace(':', "-")));
    explained(guests, &path, &["--census", "--coverage", "--at", &format!("0-{}", LOOPS[1] - 1)])
}

/// The functions that call one of the module's for at least half of what makes a wake-up late, and that one: by how it is called one sees in
/// which way the module took the CPU.
fn ways_to_the_module<'c>(
    calls: &'c [Call],
    least: u64,
    callers: &mut Vec<&'c str>,
    found: &mut BTreeSet<String>,
) {
    for call in calls.iter().filter(|call| call.total >= least) {
        callers.push(&call.name);
        if call.name.ends_with("[tardy_disturb]") {
            found.extend(callers.iter().map(|name| name.trim_end_matches(" [tardy_disturb]").to_owned()));
        }
        ways_to_the_module(&call.calls, least, callers, found);
        callers.pop();
    }
}

/// Each late wake-up is put down to the module, and each way of the module to take the CPU is named. The parts of every wake-up add up.
fn each_is_named(explanations: &Explanations, ways: Ways, shown: &str) {
    assert_eq!(explanations.wakeups.len() as u64, LOOPS[1]);
    let mut all = BTreeSet::new();
    for wakeup in &explanations.wakeups {
        adds_up(&wakeup.explanation, shown);
        if wakeup.explanation.latency_ns <= LATE_NS {
            continue;
        }
        let mut found = BTreeSet::new();
        ways_to_the_module(
            &wakeup.explanation.calls,
            wakeup.explanation.instructions / 2,
            &mut Vec::new(),
            &mut found,
        );
        assert!(!found.is_empty(), "cycle {}: {shown}", wakeup.cycle);
        all.append(&mut found);
    }
    for (way, function) in ways {
        assert!(all.contains(*function), "{way}: {all:?} of {} wake-ups", explanations.wakeups.len());
    }
}

/// The sections in which the module has interrupts off are as many and as long as it made them.
fn sections_are_as_made(explanations: &Explanations, shown: &str) {
    let name = format!("{} [tardy_disturb]", ON_REAL_TIME[0].1);
    let census = explanations.census.as_ref().unwrap();
    let is_it = |one: &&Sections| one.kind == SectionKind::InterruptsOff && one.from == name;
    let seen = census.sections.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {shown}"));
    assert_eq!(seen.context, Context::Thread);
    let expected = LOOPS.iter().sum::<u64>() * INTERVAL_NS / PERIOD_NS;
    assert!(seen.count.abs_diff(expected) <= 1, "{expected} were made: {seen:?}");
    let ns = |instructions: u64| instructions * explanations.ns_per_instruction;
    assert!((HOLD_NS..HOLD_NS + AROUND_NS).contains(&(ns(seen.total) / seen.count)), "{seen:?}");
    assert!((HOLD_NS..HOLD_NS + AROUND_NS).contains(&ns(seen.longest)), "{seen:?}");
}

/// Disturbances are named by their functions, and the observer's sections are as long and as many as the module made them.
#[test]
fn known_disturbances_are_named_and_are_as_long_as_they_were_made() {
    let Some(guests) = guests::directory() else { return };
    if !own_modules::are_there() {
        return;
    }
    let [standard, real_time] = own_modules::KERNELS;
    let boots = [(standard, ON_STANDARD), (real_time, ON_REAL_TIME)];
    let explained = boots.map(|(kernel, ways)| {
        let (explanations, shown) = disturbed(&guests, ways, kernel);
        each_is_named(&explanations, ways, &shown);
        sections_are_as_made(&explanations, &shown);
        let census = explanations.census.as_ref().unwrap();
        let timer =
            census.interrupts.iter().find(|one| one.name == "asm_sysvec_apic_timer_interrupt").unwrap();
        assert!(timer.longest * explanations.ns_per_instruction >= HOLD_NS, "{timer:?}");
        explanations
    });
    // What a load does not exercise is listed, and no longer once it does.
    let function = "spin_with_preemption_off [tardy_disturb]".to_owned();
    let [without, with] = explained.each_ref().map(|one| one.coverage.as_ref().unwrap());
    assert!(without.never.contains(&function) && !without.ran.contains(&function), "{:?}", without.never);
    assert!(with.ran.contains(&function) && !with.never.contains(&function), "{:?}", with.ran);
}
