//! Misreadings by sceptical readers, each fixed once.

use crate::recorded;
use crate::recorded::run;
use tardy_analyse::findings;
use tardy_compare::side_by_side;
use tardy_plot as plot;
use tardy_present::{report, summary};
use tardy_record::facts::Fact;
use tardy_record::plan::{Policy, ProbePlan, Wake};
use tardy_record::series::SeriesKind;
use tardy_record::{Knowable, Run};

fn shown(run: &Run) -> String {
    summary::text(run, &findings::of(run, &findings::Options::default()), 400, false)
}

fn page(runs: &[&Run]) -> String {
    report::html(runs, &findings::Options::default())
}

#[test]
fn without_a_schedule_nothing_counts_as_missed() {
    let mut run = run("rt");
    run.series[0].tally.missed = Knowable::Known(0);
    run.series[0].corrected = None;
    let text = shown(&run);
    let line = |label: &str| text.lines().find(|line| line.starts_with(label)).unwrap().to_owned();
    let missed = |label: &str| line(label).split_whitespace().rev().nth(7).unwrap().to_owned();
    assert_eq!([missed("cpu 0"), missed("cpu 1"), missed("all")], ["-", "0", "-"], "{text}");
    let page = page(&[&run]);
    assert_eq!(page.matches("<td data-name=\"missed\">–</td>").count(), 2);
}

/// The run `rt` with two SCHED_DEADLINE threads, which cannot be pinned.
fn roaming() -> Run {
    let mut run = run("rt");
    for series in &mut run.series {
        let SeriesKind::Timer(timer) = &mut series.kind else { unreachable!("synthetic runs are of timers") };
        (timer.pinned, timer.wake, timer.policy, timer.priority) =
            (false, Wake::Deadline, Policy::Deadline, 0);
    }
    run
}

#[test]
fn an_unpinned_thread_is_not_named_after_a_cpu() {
    let run = roaming();
    let (text, page) = (shown(&run), page(&[&run]));
    let measured = text.split("tardy itself").next().unwrap();
    for shown in [measured, &page] {
        assert!(shown.contains("thread 0, unpinned") && shown.contains("thread 1, unpinned"), "{shown}");
        assert!(shown.contains("migrates between CPUs") && shown.contains("infers it from the earliest"));
    }
    assert!(!measured.contains("cpu 0") && !measured.contains("cpu 1"), "{measured}");
    assert!(text.contains("on 2 unpinned threads under doload"), "{text}");
    assert!(text.contains("on any thread is late"), "{text}");
    assert!(!page.contains("timer, cpu") && !page.contains("<th scope=\"row\">cpu 0"));
    let timeline = plot::timeline::draw(
        "t",
        &run,
        "highest latency",
        &plot::Options { width: 360.0, ..Default::default() },
    );
    assert!(timeline.contains(">thread 0, unpinned<"), "{timeline}");
    assert!(
        tardy_present::plot_file::histogram(&[&run], &plot::Options::default())
            .contains("thread 0, unpinned")
    );
    let pinned = shown(&recorded::run("rt"));
    assert!(!pinned.contains("unpinned") && !pinned.contains("infers"));
}

/// The run with only the series of CPU 1.
fn one_cpu(mut run: Run) -> Run {
    run.series.retain(|series| series.label == "cpu 1");
    run
}

#[test]
fn only_the_cpus_of_both_runs_are_compared() {
    let (base, candidate) = (run("rt"), one_cpu(run("rt")));
    let comparison = side_by_side::of(&[&base, &candidate]).unwrap();
    let all = comparison.candidates[0].rows.iter().find(|row| row.label == "all").unwrap();
    assert_eq!(all.base, all.candidate);
    let (text, page) = (tardy_present::compare::text(&comparison, 400), page(&[&base, &candidate]));
    assert!(text.contains("NOT COMPARABLE:\n") && text.contains("  - CPUs: 0-1 and 1"), "{text}");
    for shown in [&text, &page] {
        assert!(shown.contains("only cpu 1, which both have") && !shown.contains("all CPUs"), "{shown}");
    }
    assert!(page.contains("Only cpu 1, which all runs have"));
    let curves = plot::curve::curves(&[&base, &candidate]);
    assert_eq!(curves[0].histogram, curves[1].histogram);
}

#[test]
fn a_policy_without_priorities_shows_none() {
    let text = tardy_present::compare::text(&side_by_side::of(&[&run("rt"), &roaming()]).unwrap(), 400);
    assert!(text.contains("policy and priority: fifo 80 and deadline\n"), "{text}");
    assert!(text.contains("CPUs: 0-1 and any (2 unpinned)"), "{text}");
    assert!(text.contains("cpu 0 / thread 0, unpinned"), "{text}");
}

#[test]
fn spinning_does_not_hide_the_cost_of_other_methods() {
    let mut run = run("wakes");
    let ProbePlan::Timer(timer) = &mut run.plan.phases[1].probe else {
        unreachable!("synthetic runs are of timers")
    };
    timer.wake = Wake::Busy;
    for cost in run.self_cost.iter_mut().filter(|cost| cost.phase == Some(1)) {
        cost.cpu_ns = cost.cycles.unwrap() * 1_000_000;
    }
    let text = shown(&run);
    assert!(text.contains(
        "clock_nanosleep 1.87 us of CPU time per cycle, busy 1,000 us of CPU time per cycle, spinning"
    ));
}

#[test]
fn housekeeping_is_a_share_of_the_whole_run() {
    let mut run = run("rt");
    run.progress.measured_ns = 20_000_000;
    run.phases[0].end_ns = Some(1_020_000_000);
    run.events.truncate(0);
    for series in &mut run.series {
        series.counted_ns = 20_000_000;
    }
    run.self_cost.last_mut().unwrap().cpu_ns = 483_000_000;
    run.self_cost[0].involuntary_switches = 1;
    run.self_cost[1].involuntary_switches = 0;
    let text = shown(&run);
    assert!(text.contains("housekeeping took 47.4 % of cpu 0 over the 1.02s of the whole run"), "{text}");
    assert!(text.contains(" 1 involuntary switch,"), "{text}");
}

#[test]
fn a_stop_by_the_throttle_is_attributed_to_the_kernel() {
    let mut run = run("rt");
    run.facts.kernel.release = Fact::known("6.6.51-rt".into(), "synthetic");
    run.facts.scheduling.rt_runtime_us = Fact::known(950_000, "synthetic");
    run.facts.scheduling.rt_period_us = Fact::known(1_000_000, "synthetic");
    for series in &mut run.series {
        let SeriesKind::Timer(timer) = &mut series.kind else { unreachable!("synthetic runs are of timers") };
        timer.wake = Wake::Busy;
    }
    let note = "spins for more than 950ms of each 1s. Its maxima of about 50 ms are caused by that rule";
    assert!(!shown(&run).contains(note), "no thread stopped for so long");
    run.series[1].max_ns = Some(49_800_000);
    assert!(shown(&run).contains(note), "{}", shown(&run));
    assert!(page(&[&run]).contains("spins for more than 950ms of each 1s"));
    run.facts.scheduling.rt_runtime_us = Fact::known(-1, "synthetic");
    assert!(!shown(&run).contains("spins for more than"));
}

fn compared(base: &Run, candidate: &Run) -> String {
    tardy_present::compare::text(&side_by_side::of(&[base, candidate]).unwrap(), 400)
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let rt = run("rt");
    assert!(compared(&rt, &rt).contains("the same run twice, rt"));
    assert!(page(&[&rt, &rt]).contains("the same run twice, rt"));
    assert!(!compared(&rt, &run("standard")).contains("same run twice"));
}

#[test]
fn a_phase_without_series_has_no_table() {
    let mut run = run("rt");
    run.series.clear();
    let text = shown(&run);
    assert!(text.contains("Nothing was measured in this phase.") && !text.contains("missed"), "{text}");
    assert!(page(&[&run]).contains("<p>Nothing was measured in this phase.</p>"));
}

#[test]
fn phases_of_the_same_label_are_numbered() {
    let mut run = run("wakes");
    for (index, phase) in run.plan.phases.iter_mut().enumerate() {
        let ProbePlan::Timer(timer) = &mut phase.probe else { unreachable!("synthetic runs are of timers") };
        phase.label = timer.wake.name().to_owned();
        timer.dither_ns = index as u64;
        run.phases[index].label = phase.label.clone();
    }
    let text = shown(&run);
    assert!(
        text.contains("\nclock_nanosleep, phase 1 ") && text.contains("\nclock_nanosleep, phase 4 "),
        "{text}"
    );
    let labels: Vec<String> = plot::curve::curves(&[&run]).into_iter().map(|curve| curve.label).collect();
    assert_eq!(labels[3], "clock_nanosleep, phase 4");
}

#[test]
fn one_round_is_compared_with_the_first_of_several() {
    let several = run("wakes");
    let mut one = run("wakes");
    one.phases.truncate(3);
    one.plan.phases.truncate(3);
    one.series.retain(|series| series.phase < 3);
    for index in 0..3 {
        let label = one.phases[index].label.replace(", round 1", "");
        one.plan.phases[index].label = label.clone();
        one.phases[index].label = label;
    }
    let text = compared(&one, &several);
    assert!(text.contains("\nclock_nanosleep, all CPUs") && text.contains("\nnanosleep, all CPUs"), "{text}");
    assert!(
        text.contains("'nanosleep, round 2' is in the candidate only") && !text.contains("the base only")
    );
}

#[test]
fn a_bound_of_100_percent_is_not_stated() {
    let run = run("rt");
    let options = findings::Options { limit_ns: Some(1), ..findings::Options::default() };
    let text = summary::text(&run, &findings::of(&run, &options), 400, false);
    assert!(text.contains("Nearly all wake-ups on cpu"), "{text}");
    assert!(!text.contains("at most 100 %"), "{text}");
}

#[test]
fn parts_without_a_difference_are_one_line() {
    let text = compared(&run("rt"), &run("wakes"));
    assert!(
        text.contains("No difference: machine and kernel, kernel command line, kernel configuration.\n"),
        "{text}"
    );
    assert_eq!(text.matches("difference:").count(), 1, "{text}");
}
